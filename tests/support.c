/* support.c: what tests of the engine share. See support.h. */
#include "support.h"

void rig_path(char path[1024], const char *model) {
    bool absolute = model[0] == '/';
    snprintf(path, 1024, "%s%s%s", absolute ? "" : SHOHIN_SOURCE_DIR, absolute ? "" : "/", model);
}

sh_status rig_engine(const rig_options *options, sh_engine **out) {
    char path[1024];
    rig_path(path, options->model);
    sh_engine_options engine;
    sh_engine_options_default(&engine);
    engine.path = path;
    engine.device = options->device ? options->device : "ref";
    engine.threads = options->threads ? options->threads : 2;
    engine.rope_scaling = options->yarn_factor > 0 ? "yarn" : NULL;
    engine.yarn_factor = options->yarn_factor;
    engine.yarn_original_context = options->yarn_context;
    return sh_engine_open(&engine, out);
}

rig rig_open(rig_options options) {
    rig r = {0};
    assert_ok(rig_engine(&options, &r.engine));
    sh_engine_info info;
    sh_engine_describe(r.engine, &info);
    r.vocabulary = info.vocabulary;
    if (options.session.rows == 0) {
        bool unmerged = options.session.unmerged;
        sh_session_options_default(&options.session);
        options.session.unmerged = unmerged;
        options.session.context = 512;
    }
    assert_ok(sh_session_open(r.engine, &options.session, &r.session));
    return r;
}

void rig_close(rig *r) {
    sh_session_close(r->session);
    sh_engine_close(r->engine);
    *r = (rig){0};
}

sh_seq rig_sequence(rig *r) {
    sh_seq seq = 0;
    assert_ok(sh_seq_new(r->session, &seq));
    return seq;
}

void rig_feed(rig *r, sh_seq seq, int32_t token, uint32_t want) {
    uint32_t length = 0;
    assert_ok(sh_seq_length(r->session, seq, &length));
    sh_row row = {token, length, seq, want};
    assert_ok(sh_pass(r->session, &row, 1, &r->result));
}

sh_session_stats rig_stats(const rig *r) {
    sh_session_stats stats;
    sh_session_get_stats(r->session, &stats);
    return stats;
}
