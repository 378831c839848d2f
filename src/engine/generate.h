/* generate.h: prompts being continued. The public calls are in shohin.h. */
#ifndef SH_ENGINE_GENERATE_H
#define SH_ENGINE_GENERATE_H

#include "engine/session.h"

struct sh_gen {
    sh_session *session;
    sh_gen *previous, *next; /* the session's ring */
    sh_gen_options options;  /* its prompt is not the caller's but the copy below */
    sh_seq seq;
    int32_t *prompt; /* [n_prompt] */
    size_t fed;      /* of the prompt */
    int32_t token;   /* the latest drawn, to be fed next */
    uint64_t drawn;
    bool ended;
    bool waiting;             /* got no rows in the last step */
    size_t first_row, n_rows; /* of the step that runs */
};

#endif
