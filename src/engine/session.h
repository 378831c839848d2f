/* session.h: sequences, their KV pages and working buffers; what a pass needs that outlives it. */
#ifndef SH_ENGINE_SESSION_H
#define SH_ENGINE_SESSION_H

#include "engine/engine.h"
#include "engine/kv_cache.h"
#include "engine/sampler.h"

/* The inputs and results of a pass in the form a backend takes. All are allocated with the session but scratch, which
 * grows to the largest pass so far. */
typedef struct sh_pass_buffers {
    int32_t *tokens;       /* [rows] */
    uint32_t *positions;   /* [rows] */
    uint32_t *tables;      /* [rows] */
    uint32_t *head_rows;   /* [rows] */
    uint8_t *head_wants;   /* [rows] */
    float *angles;         /* [rows][head_dim] */
    uint32_t *page_tables; /* [sequences in a pass][max_pages] */
    sh_sequence **touched; /* [sequences in a pass] whose table is the index */

    const float **logits; /* [rows] of head rows, in scratch */
    int32_t *argmax;      /* [rows] of head rows */

    sh_shape shape; /* what scratch is large enough for */
    sh_scratch *scratch;
} sh_pass_buffers;

struct sh_session {
    sh_engine *engine;
    sh_session_info info;
    sh_session_stats stats;
    sh_plan *plan;
    sh_cache cache;
    sh_pass_buffers buffers;
    atomic_bool cancel;

    sh_gen *generators; /* a ring in the order in which they get rows; see generate.c */
    sh_sampler sampler;
    sh_row *step_rows;       /* [rows] of sh_step */
    sh_result *step_results; /* [rows] */
};

#endif
