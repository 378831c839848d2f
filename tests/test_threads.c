/* test_threads.c: what several threads may do at once, small enough to run under ThreadSanitizer: sessions of one engine, one
 * tokenizer, sh_cancel. tests/test_pass.c and test_session.c check the same at length, for bits. */
#include "support.h"

#include <pthread.h>
#include <time.h>

enum { THREADS = 3, LENGTH = 6 };

typedef struct errand {
    sh_engine *engine;
    sh_session *session;
    uint32_t chunk;
    int32_t drawn[LENGTH];
    size_t n;
    char error[256];
} errand;

/* Tokenizes, continues, detokenizes. Without cmocka's asserts: they may not be called from another thread. */
static void *run_errand(void *argument) {
    errand *e = argument;
    static const char story[] = "Once upon a time there was a cafe\xcc\x81 by the river";
    int32_t *ids = NULL;
    size_t n_ids = 0, n = 1, length;
    const char *utf8;
    sh_gen *gen = NULL;
    sh_text *text = NULL;
    sh_event events[3];
    sh_gen_options options;
    sh_gen_options_default(e->engine, &options);
    options.max_tokens = LENGTH;
    options.ignore_ends = true;
    options.sampling.seed = 5;
    const sh_tokenizer *tokenizer = sh_engine_tokenizer(e->engine);
    sh_status status = sh_tokenize(tokenizer, story, sizeof story - 1, SH_TOKENIZE_BOS, &ids, &n_ids);
    options.prompt = ids;
    options.n_prompt = n_ids;
    if (status == SH_OK) status = sh_gen_open(e->session, &options, &gen);
    if (status == SH_OK) status = sh_text_open(tokenizer, 0, &text);
    while (status == SH_OK && n) {
        status = sh_step(e->session, events, 3, &n);
        for (size_t i = 0; status == SH_OK && i < n; i++) {
            if (events[i].kind != SH_EVENT_TOKEN) continue;
            e->drawn[e->n++] = events[i].token;
            status = sh_text_push(text, events[i].token, &utf8, &length);
        }
    }
    if (status != SH_OK) snprintf(e->error, sizeof e->error, "%s", sh_error_text());
    sh_text_close(text);
    sh_gen_close(gen);
    sh_free(ids);
    return NULL;
}

static void sessions(void **state) {
    (void)state;
    sh_engine *engine = NULL;
    assert_ok(rig_engine(&(rig_options){.model = "tests/oracle/odd-q1_0.gguf", .threads = 2}, &engine));
    errand errands[THREADS] = {{.chunk = 64}, {.chunk = 1}, {.chunk = 5}};
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        sh_session_options options = {.context = 128, .sequences = 1, .rows = errands[i].chunk};
        errands[i].engine = engine;
        assert_ok(sh_session_open(engine, &options, &errands[i].session));
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_errand, &errands[i]), 0);
    for (size_t i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < THREADS; i++) {
        assert_string_equal(errands[i].error, "");
        assert_int_equal(errands[i].n, LENGTH);
        assert_memory_equal(errands[i].drawn, errands[0].drawn, sizeof errands[0].drawn);
        sh_session_close(errands[i].session);
    }
    sh_engine_close(engine);
}

static void *cancel_soon(void *session) {
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    sh_cancel(session);
    return NULL;
}

static void cancelling(void **state) {
    (void)state;
    rig r = rig_open((rig_options){.model = "tests/oracle/odd-q1_0.gguf"});
    sh_seq seq = rig_sequence(&r);
    static sh_row rows[64];
    for (size_t i = 0; i < 64; i++) rows[i] = (sh_row){1, (uint32_t)i, seq, SH_WANT_NOTHING};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, r.session), 0);
    sh_status status = sh_pass(r.session, rows, 64, NULL);
    assert_int_equal(pthread_join(thread, NULL), 0);
    uint32_t length;
    assert_ok(sh_seq_length(r.session, seq, &length));
    assert_int_equal(length, status == SH_OK ? 64 : 0);
    assert_true(status == SH_OK || status == SH_ERR_CANCELLED);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sessions), cmocka_unit_test(cancelling)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
