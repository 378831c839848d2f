/* support.h: what tests of the engine share: an open model with a session, and checks that print the library's own
 * error. */
#ifndef SH_TESTS_SUPPORT_H
#define SH_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shohin.h"

#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        sh_status status_ = (call);                                                                                    \
        if (status_ != SH_OK) fail_msg("%s: %s: %s", #call, sh_status_text(status_), sh_error_text());                 \
    } while (0)

/* The call fails with this status, and its text has each of the parts in it. */
#define assert_fails(status, call, ...)                                                                                \
    do {                                                                                                               \
        sh_status status_ = (call);                                                                                    \
        const char *parts_[] = {__VA_ARGS__};                                                                          \
        if (status_ != (status))                                                                                       \
            fail_msg("%s: %s (%s), expected %s", #call, sh_status_text(status_), sh_error_text(),                      \
                     sh_status_text(status));                                                                          \
        for (size_t i_ = 0; i_ < sizeof parts_ / sizeof parts_[0]; i_++)                                               \
            if (!strstr(sh_error_text(), parts_[i_]))                                                                  \
                fail_msg("%s: '%s' has no '%s'", #call, sh_error_text(), parts_[i_]);                                  \
    } while (0)

typedef struct rig_options {
    const char *model;  /* below the source folder, or absolute */
    const char *device; /* NULL: ref */
    uint32_t threads;   /* 0: 2 */
    float yarn_factor;
    uint32_t yarn_context;
    sh_session_options session; /* all zero: the defaults, with a context of 512 where the file has more */
} rig_options;

typedef struct rig {
    sh_engine *engine;
    sh_session *session;
    uint32_t vocabulary;
    sh_result result; /* of rig_feed */
} rig;

/* The path of a model below the source folder; an absolute one as it is. */
void rig_path(char path[1024], const char *model);
sh_status rig_engine(const rig_options *options, sh_engine **out);
rig rig_open(rig_options options);
void rig_close(rig *r);

sh_seq rig_sequence(rig *r);
/* One row at the sequence's end. */
void rig_feed(rig *r, sh_seq seq, int32_t token, uint32_t want);

sh_session_stats rig_stats(const rig *r);

#endif
