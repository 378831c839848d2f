/* test_session.c: every public call on sessions and sequences checks what it is given, says both numbers, and leaves
 * the session unharmed; page accounting; the default context; cancelling. */
#include "support.h"

#include "engine/engine.h"

#include <pthread.h>
#include <time.h>

static const char *const model = "tests/oracle/odd-q1_0.gguf";

enum { CONTEXT = 200 };

static rig open_rig(void) {
    return rig_open(
        (rig_options){.model = model, .session = {.context = CONTEXT, .sequences = 3, .positions = 256, .rows = 128}});
}

static float *logits_of(rig *r, sh_seq seq, int32_t token) {
    rig_feed(r, seq, token, SH_WANT_LOGITS);
    float *copy = malloc(r->vocabulary * sizeof *copy);
    memcpy(copy, r->result.logits, r->vocabulary * sizeof *copy);
    return copy;
}

static void engine_options(void **state) {
    (void)state;
    sh_engine *engine = (sh_engine *)1;
    sh_engine_options o;
    sh_engine_options_default(&o);
    assert_fails(SH_ERR_ARGUMENT, sh_engine_open(NULL, &engine), "no model file");
    assert_null(engine);
    assert_fails(SH_ERR_ARGUMENT, sh_engine_open(&o, &engine), "no model file");
    assert_fails(SH_ERR_ARGUMENT, sh_engine_open(&o, NULL), "no place");
    o.path = SHOHIN_SOURCE_DIR "/models/stories-q1_0.gguf";
    o.device = "abacus";
    assert_fails(SH_ERR_ARGUMENT, sh_engine_open(&o, &engine), "'abacus'", "auto", "ref");
    o.device = "ref";
    o.threads = 1025;
    assert_fails(SH_ERR_ARGUMENT, sh_engine_open(&o, &engine), "1025", "1024");
    o.threads = 1;
    o.q2_layout = "sideways";
    assert_fails(SH_ERR_ARGUMENT, sh_engine_open(&o, &engine), "sideways");
    o.q2_layout = NULL;
    o.rope_scaling = "elastic";
    assert_fails(SH_ERR_ARGUMENT, sh_engine_open(&o, &engine), "elastic", "yarn");
    o.rope_scaling = NULL;
    o.yarn_factor = 4; /* the file has no scaling to override */
    assert_fails(SH_ERR_ARGUMENT, sh_engine_open(&o, &engine), "YaRN");
    o.rope_scaling = "yarn";
    o.yarn_factor = 0.5f;
    assert_fails(SH_ERR_ARGUMENT, sh_engine_open(&o, &engine), "0.5", "10000");
    sh_engine_options_default(&o);
    o.path = SHOHIN_SOURCE_DIR "/models/no-such-file.gguf";
    assert_fails(SH_ERR_IO, sh_engine_open(&o, &engine), "no-such-file.gguf", "No such file");
    o.path = SHOHIN_SOURCE_DIR "/models";
    assert_fails(SH_ERR_IO, sh_engine_open(&o, &engine), "not a regular file");
    assert_null(engine);
    sh_engine_close(NULL);
    sh_engine_describe(NULL, NULL);
    assert_null(sh_engine_tokenizer(NULL));
}

/* Nothing at all where something is needed: a status or an empty answer. */
static void nothing(void **state) {
    (void)state;
    sh_file *file = NULL;
    sh_file_info file_info;
    sh_tensor_info tensor;
    sh_tokenizer *tokenizer = NULL;
    sh_tokenizer_info tokenizer_info;
    sh_text *text = NULL;
    int32_t *ids = NULL;
    size_t n = 0;
    char key[8], value[8];
    const char *bytes = NULL;
    assert_fails(SH_ERR_ARGUMENT, sh_file_open(NULL, NULL, &file), "");
    assert_fails(SH_ERR_ARGUMENT, sh_file_open("x", NULL, NULL), "");
    assert_fails(SH_ERR_ARGUMENT, sh_file_tensor(NULL, 0, &tensor), "");
    assert_fails(SH_ERR_ARGUMENT, sh_file_metadata(NULL, 0, key, sizeof key, value, sizeof value), "");
    assert_fails(SH_ERR_ARGUMENT, sh_tokenizer_open(NULL, &tokenizer), "");
    assert_fails(SH_ERR_ARGUMENT, sh_tokenize(NULL, "a", 1, 0, &ids, &n), "");
    assert_fails(SH_ERR_ARGUMENT, sh_token_bytes(NULL, 0, &bytes, &n), "");
    assert_fails(SH_ERR_ARGUMENT, sh_text_open(NULL, 0, &text), "");
    assert_fails(SH_ERR_ARGUMENT, sh_text_push(NULL, 0, &bytes, &n), "");
    assert_false(sh_token_is_control(NULL, 0));
    sh_file_describe(NULL, &file_info);
    sh_file_describe(NULL, NULL);
    sh_tokenizer_describe(NULL, &tokenizer_info);
    sh_tokenizer_describe(NULL, NULL);
    sh_text_finish(NULL, &bytes, &n);
    sh_file_options_default(NULL);
    sh_engine_options_default(NULL);
    sh_session_options_default(NULL);
    sh_gen_options_default(NULL, NULL);
    sh_file_close(NULL);
    sh_tokenizer_close(NULL);
    sh_text_close(NULL);
    sh_gen_close(NULL);
    sh_free(NULL);

    assert_ok(sh_file_open(SHOHIN_SOURCE_DIR "/models/stories-q1_0.gguf", NULL, &file));
    assert_fails(SH_ERR_ARGUMENT, sh_file_tensor(file, 90, &tensor), "90");
    assert_fails(SH_ERR_ARGUMENT, sh_file_tensor(file, 0, NULL), "");
    assert_fails(SH_ERR_ARGUMENT, sh_file_metadata(file, 22, key, sizeof key, value, sizeof value), "22");
    assert_ok(sh_tokenizer_open(file, &tokenizer));
    assert_fails(SH_ERR_ARGUMENT, sh_tokenize(tokenizer, NULL, 1, 0, &ids, &n), "");
    assert_fails(SH_ERR_ARGUMENT, sh_tokenize(tokenizer, "a", 1, 0, NULL, &n), "");
    assert_fails(SH_ERR_ARGUMENT, sh_tokenize(tokenizer, "a", 1, 0, &ids, NULL), "");
    assert_fails(SH_ERR_ARGUMENT, sh_tokenize(tokenizer, "a", 1, 64, &ids, &n), "0x40", "0x3");
    assert_fails(SH_ERR_ARGUMENT, sh_token_bytes(tokenizer, 4096, &bytes, &n), "4096");
    assert_fails(SH_ERR_ARGUMENT, sh_token_bytes(tokenizer, -1, &bytes, &n), "-1");
    assert_ok(sh_text_open(tokenizer, 0, &text));
    assert_fails(SH_ERR_ARGUMENT, sh_text_push(text, 4096, &bytes, &n), "4096", "4096");
    assert_fails(SH_ERR_ARGUMENT, sh_text_push(text, 5, NULL, &n), "");
    sh_text_close(text);
    sh_tokenizer_close(tokenizer);
    sh_file_close(file);
}

static void session_options(void **state) {
    (void)state;
    rig r = open_rig();
    sh_session *session = (sh_session *)1;
    sh_session_options o;
    sh_session_options_default(&o);
    assert_fails(SH_ERR_ARGUMENT, sh_session_open(NULL, &o, &session), "no engine");
    assert_fails(SH_ERR_ARGUMENT, sh_session_open(r.engine, &o, NULL), "no place");
    o.rows = 0;
    assert_fails(SH_ERR_ARGUMENT, sh_session_open(r.engine, &o, &session), "0 rows", "65536");
    assert_null(session);
    o.rows = 65537;
    assert_fails(SH_ERR_ARGUMENT, sh_session_open(r.engine, &o, &session), "65537 rows", "65536");
    sh_session_options_default(&o);
    o.sequences = 4097;
    assert_fails(SH_ERR_ARGUMENT, sh_session_open(r.engine, &o, &session), "4097", "4096");
    sh_session_options_default(&o);
    o.context = (1 << 20) + 1;
    assert_fails(SH_ERR_ARGUMENT, sh_session_open(r.engine, &o, &session), "1048577", "1048576");
    sh_session_close(NULL);
    sh_session_describe(NULL, NULL);
    sh_session_get_stats(NULL, NULL);
    sh_cancel(NULL);
    rig_close(&r);
}

/* `ref` on a machine with as much free memory as a test wants. */
static uint64_t pretended;

static uint64_t pretended_memory(sh_device *device) {
    (void)device;
    return pretended;
}

/* The file's context, as far as half of the free memory holds it; what could never be committed is refused with the
 * numbers. */
static void memory(void **state) {
    (void)state;
    sh_backend small = *sh_backend_find("ref");
    small.free_memory = pretended_memory;
    sh_engine_options options;
    sh_engine_options_default(&options);
    options.path = SHOHIN_SOURCE_DIR "/tests/oracle/odd-q1_0.gguf";
    sh_engine *engine = NULL;
    assert_ok(sh_engine_open_on(&small, &options, &engine));
    sh_engine_info about;
    sh_engine_describe(engine, &about);
    const uint64_t page = 64 * 3 * 2 * 2 * 128 * 4; /* positions, layers, K and V, heads, dimensions, float32 */
    assert_int_equal(about.kv_page_bytes, page);
    assert_int_equal(about.context, 65536);
    const struct {
        uint64_t free;
        uint32_t context, cut_from;
    } cases[] = {
        {3000 * page, 65536, 0}, {2048 * page, 65536, 0}, {2046 * page, 1023 * 64, 65536}, {2 * page, 64, 65536}};
    sh_session *session = NULL;
    for (size_t i = 0; i < 4; i++) {
        pretended = cases[i].free;
        sh_session_info info;
        assert_ok(sh_session_open(engine, NULL, &session));
        sh_session_describe(session, &info);
        assert_int_equal(info.context, cases[i].context);
        assert_int_equal(info.cut_from, cases[i].cut_from);
        assert_int_equal(info.free_memory, cases[i].free);
        assert_int_equal(info.kv_bytes, (cases[i].context / 64 + 15) * page); /* 16 sequences */
        sh_session_close(session);
    }
    pretended = 2 * page - 1;
    assert_fails(SH_ERR_MEMORY, sh_session_open(engine, NULL, &session), "64 positions", "half");
    assert_null(session);
    pretended = 100 * page;
    sh_session_options o;
    sh_session_options_default(&o);
    o.context = 6400; /* all of it, as asked for */
    assert_ok(sh_session_open(engine, &o, &session));
    sh_session_close(session);
    o.context = 6401;
    assert_fails(SH_ERR_MEMORY, sh_session_open(engine, &o, &session), "6401 positions", "6400 positions", "-c");
    o.context = 100;
    o.positions = 6401;
    assert_fails(SH_ERR_MEMORY, sh_session_open(engine, &o, &session), "6401 positions", "6400 positions");
    o.positions = UINT64_MAX;
    assert_fails(SH_ERR_MEMORY, sh_session_open(engine, &o, &session), "18446744073709551615 positions");
    sh_engine_close(engine);

    assert_ok(rig_engine(&(rig_options){.model = model}, &engine)); /* and the machine's own */
    sh_session_info info;
    assert_ok(sh_session_open(engine, NULL, &session));
    sh_session_describe(session, &info);
    assert_true(info.free_memory > 0 && info.free_memory != UINT64_MAX);
    sh_session_close(session);
    sh_engine_close(engine);
}

static void rows_are_checked(void **state) {
    (void)state;
    rig r = open_rig();
    sh_seq seq = rig_sequence(&r), gone = rig_sequence(&r);
    assert_ok(sh_seq_free(r.session, gone));
    sh_seq again = rig_sequence(&r); /* in the same place */
    assert_true(again != gone);
    for (int i = 0; i < 5; i++) rig_feed(&r, seq, 7 + i, SH_WANT_NOTHING);
    float *expected = logits_of(&r, seq, 99);
    assert_ok(sh_seq_truncate(r.session, seq, 5));
    sh_session_stats before = rig_stats(&r);

    static sh_row many[129];
    sh_row two[2] = {{1, 5, seq, 0}, {2, 6, seq, SH_WANT_ARGMAX}};
    sh_result results[2];
    assert_fails(SH_ERR_ARGUMENT, sh_pass(NULL, two, 2, results), "no session");
    assert_fails(SH_ERR_ARGUMENT, sh_pass(r.session, NULL, 2, results), "0 rows");
    assert_fails(SH_ERR_ARGUMENT, sh_pass(r.session, two, 0, results), "0 rows", "128");
    assert_fails(SH_ERR_ARGUMENT, sh_pass(r.session, many, 129, results), "129 rows", "128");
    assert_fails(SH_ERR_ARGUMENT, sh_pass(r.session, two, 2, NULL), "row 1", "no place");
    two[1].token = -1;
    assert_fails(SH_ERR_ARGUMENT, sh_pass(r.session, two, 2, results), "row 1", "token -1", "4096");
    two[1].token = 4096;
    assert_fails(SH_ERR_ARGUMENT, sh_pass(r.session, two, 2, results), "row 1", "token 4096", "4096");
    two[1] = (sh_row){2, 5, seq, 0}; /* both at one position */
    assert_fails(SH_ERR_ARGUMENT, sh_pass(r.session, two, 2, results), "row 1", "position 5", "is 6");
    two[1].position = 7;
    assert_fails(SH_ERR_ARGUMENT, sh_pass(r.session, two, 2, results), "position 7", "is 6");
    two[0].position = 4;
    assert_fails(SH_ERR_ARGUMENT, sh_pass(r.session, two, 1, results), "position 4", "is 5");
    two[0] = (sh_row){1, 5, gone, 0};
    assert_fails(SH_ERR_ARGUMENT, sh_pass(r.session, two, 1, results), "does not exist", "has 2");
    two[0].seq = 0;
    assert_fails(SH_ERR_ARGUMENT, sh_pass(r.session, two, 1, results), "sequence 0 does not exist");
    two[0] = (sh_row){1, 5, seq, 8};
    assert_fails(SH_ERR_ARGUMENT, sh_pass(r.session, two, 1, results), "want 8");

    sh_session_stats after = rig_stats(&r);
    assert_int_equal(after.submissions, before.submissions);
    assert_int_equal(after.pages_used, before.pages_used);
    float *found = logits_of(&r, seq, 99);
    assert_memory_equal(expected, found, r.vocabulary * sizeof *found);
    free(expected);
    free(found);
    rig_close(&r);
}

static void sequences_are_checked(void **state) {
    (void)state;
    rig r = open_rig();
    sh_seq seq = rig_sequence(&r), other = 0;
    uint32_t length;
    for (int i = 0; i < 3; i++) rig_feed(&r, seq, i, 0);
    assert_fails(SH_ERR_ARGUMENT, sh_seq_truncate(r.session, seq, 4), "has 3", "4");
    assert_fails(SH_ERR_ARGUMENT, sh_seq_fork(r.session, seq, 4, &other), "has 3", "4");
    assert_int_equal(other, 0);
    assert_fails(SH_ERR_ARGUMENT, sh_seq_fork(r.session, seq, 2, NULL), "no place");
    assert_fails(SH_ERR_ARGUMENT, sh_seq_fork(r.session, 12345, 0, &other), "12345", "has 1");
    assert_fails(SH_ERR_ARGUMENT, sh_seq_free(r.session, 12345), "12345");
    assert_fails(SH_ERR_ARGUMENT, sh_seq_length(r.session, 12345, &length), "12345");
    assert_fails(SH_ERR_ARGUMENT, sh_seq_length(r.session, seq, NULL), "no place");
    assert_fails(SH_ERR_ARGUMENT, sh_seq_new(NULL, &other), "no session");
    assert_fails(SH_ERR_ARGUMENT, sh_seq_new(r.session, NULL), "no place");
    assert_fails(SH_ERR_ARGUMENT, sh_seq_truncate(NULL, seq, 0), "no session");
    rig_sequence(&r);
    rig_sequence(&r);
    assert_fails(SH_ERR_MEMORY, sh_seq_new(r.session, &other), "all 3 sequences");
    assert_ok(sh_seq_length(r.session, seq, &length));
    assert_int_equal(length, 3);
    rig_close(&r);
}

/* A pool of 256 positions (and a page for each further sequence): the third long sequence does not fit, and says so;
 * what it had taken comes back. */
static void full_pool(void **state) {
    (void)state;
    rig r = open_rig();
    static sh_row rows[128];
    sh_seq seqs[3] = {rig_sequence(&r), rig_sequence(&r), rig_sequence(&r)};
    sh_status status = SH_OK;
    size_t fed = 0;
    for (size_t s = 0; s < 3 && status == SH_OK; s++) {
        for (size_t i = 0; i < 128; i++) rows[i] = (sh_row){1, (uint32_t)i, seqs[s], 0};
        status = sh_pass(r.session, rows, 128, NULL);
        fed += status == SH_OK;
    }
    assert_int_equal(fed, 3);
    for (size_t i = 0; i < 72; i++) rows[i] = (sh_row){1, (uint32_t)(128 + i), seqs[0], 0};
    for (size_t i = 0; i < 2; i++) rows[72 + i] = (sh_row){1, (uint32_t)(128 + i), seqs[1], 0};
    uint64_t used = rig_stats(&r).pages_used;
    assert_int_equal(used, 6);
    assert_fails(SH_ERR_MEMORY, sh_pass(r.session, rows, 74, NULL), "6 pages", "3 sequences");
    assert_int_equal(rig_stats(&r).pages_used, used);
    assert_ok(sh_seq_free(r.session, seqs[2]));
    assert_fails(SH_ERR_MEMORY, sh_pass(r.session, rows, 74, NULL), "6 pages", "2 sequences");
    assert_int_equal(rig_stats(&r).pages_used, 4);
    assert_ok(sh_pass(r.session, rows, 64, NULL)); /* one page more does fit */
    assert_int_equal(rig_stats(&r).pages_used, 5);
    rig_close(&r);
}

/* Pages of forks are shared; only the partly filled last one is copied, when it is written. */
static void pages_are_shared(void **state) {
    (void)state;
    rig r = open_rig();
    static sh_row rows[100];
    sh_seq seq = rig_sequence(&r), fork = 0, whole = 0;
    for (size_t i = 0; i < 100; i++) rows[i] = (sh_row){1, (uint32_t)i, seq, 0};
    assert_ok(sh_pass(r.session, rows, 100, NULL));
    assert_ok(sh_seq_fork(r.session, seq, 100, &fork));
    assert_ok(sh_seq_fork(r.session, seq, 64, &whole));
    assert_int_equal(rig_stats(&r).pages_used, 2);
    rig_feed(&r, whole, 5, 0); /* begins a page of its own: nothing to copy */
    assert_int_equal(rig_stats(&r).pages_copied, 0);
    assert_int_equal(rig_stats(&r).pages_used, 3);
    rig_feed(&r, fork, 5, 0);
    assert_int_equal(rig_stats(&r).pages_copied, 1);
    assert_int_equal(rig_stats(&r).pages_used, 4);
    rig_feed(&r, seq, 5, 0); /* its page is its own again */
    assert_int_equal(rig_stats(&r).pages_copied, 1);
    assert_ok(sh_seq_free(r.session, seq));
    assert_int_equal(rig_stats(&r).pages_used, 3);
    assert_ok(sh_seq_free(r.session, fork));
    assert_ok(sh_seq_free(r.session, whole));
    assert_int_equal(rig_stats(&r).pages_used, 0);
    rig_close(&r);
}

/* Random walks of feeding, forking, truncating and freeing against a recomputation from the tokens alone. */
static void random_walk(void **state) {
    (void)state;
    enum { WALK = 250, LONGEST = 150 };
    rig r = rig_open(
        (rig_options){.model = model, .session = {.context = CONTEXT, .sequences = 6, .positions = 2048, .rows = 128}});
    struct {
        sh_seq seq;
        size_t n;
        int32_t tokens[LONGEST];
    } live[5] = {0};
    uint32_t random = 12345;
    static sh_row rows[128];
    static sh_result results[128];
    for (size_t step = 0; step < WALK; step++) {
        random = random * 1664525 + 1013904223;
        size_t which = (random >> 24) % 5, other = (random >> 20) % 5, amount = (random >> 8) % 40;
        if (!live[which].seq) {
            live[which].n = 0;
            if (live[other].seq && amount % 2) {
                live[which].n = amount * live[other].n / 40;
                memcpy(live[which].tokens, live[other].tokens, live[which].n * sizeof(int32_t));
                assert_ok(sh_seq_fork(r.session, live[other].seq, (uint32_t)live[which].n, &live[which].seq));
            } else {
                live[which].seq = rig_sequence(&r);
            }
        } else if (amount < 3) {
            assert_ok(sh_seq_free(r.session, live[which].seq));
            live[which].seq = 0;
        } else if (amount < 12) {
            live[which].n -= live[which].n * amount / 24;
            assert_ok(sh_seq_truncate(r.session, live[which].seq, (uint32_t)live[which].n));
        } else if (live[which].n + amount <= LONGEST) {
            for (size_t i = 0; i < amount; i++) {
                int32_t token = (int32_t)((random >> 3) * (i + 1) % r.vocabulary);
                live[which].tokens[live[which].n] = token;
                rows[i] = (sh_row){token, (uint32_t)live[which].n++, live[which].seq, SH_WANT_NOTHING};
            }
            rows[amount - 1].want = SH_WANT_LOGITS;
            assert_ok(sh_pass(r.session, rows, amount, results));
            float *kept = malloc(r.vocabulary * sizeof *kept);
            memcpy(kept, results[amount - 1].logits, r.vocabulary * sizeof *kept);
            sh_seq fresh = rig_sequence(&r);
            for (size_t at = 0; at < live[which].n;) { /* in passes that are cut elsewhere */
                size_t n = 0;
                for (; at < live[which].n && n < 47; n++, at++)
                    rows[n] = (sh_row){live[which].tokens[at], (uint32_t)at, fresh, SH_WANT_LOGITS};
                assert_ok(sh_pass(r.session, rows, n, results));
                if (at == live[which].n) assert_memory_equal(kept, results[n - 1].logits, r.vocabulary * sizeof *kept);
            }
            assert_ok(sh_seq_free(r.session, fresh));
            free(kept);
        }
    }
    for (size_t i = 0; i < 5; i++)
        if (live[i].seq) assert_ok(sh_seq_free(r.session, live[i].seq));
    assert_int_equal(rig_stats(&r).pages_used, 0);
    rig_close(&r);
}

static void *cancel_soon(void *session) {
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    sh_cancel(session);
    return NULL;
}

static void cancelling(void **state) {
    (void)state;
    rig r = open_rig();
    sh_seq seq = rig_sequence(&r);
    rig_feed(&r, seq, 3, 0);
    float *expected = logits_of(&r, seq, 4);
    assert_ok(sh_seq_truncate(r.session, seq, 1));
    sh_row row = {4, 1, seq, SH_WANT_LOGITS};
    sh_result result;
    sh_cancel(r.session); /* before a pass: that one */
    assert_fails(SH_ERR_CANCELLED, sh_pass(r.session, &row, 1, &result), "cancelled");
    assert_ok(sh_pass(r.session, &row, 1, &result)); /* and no other */
    assert_memory_equal(expected, result.logits, r.vocabulary * sizeof *expected);

    static sh_row rows[128];
    size_t cancelled = 0;
    for (int attempt = 0; attempt < 20 && !cancelled; attempt++) { /* during a pass, from another thread */
        pthread_t thread;
        assert_ok(sh_seq_truncate(r.session, seq, 1));
        for (size_t i = 0; i < 128; i++) rows[i] = (sh_row){1, (uint32_t)i + 1, seq, 0};
        assert_int_equal(pthread_create(&thread, NULL, cancel_soon, r.session), 0);
        sh_status status = sh_pass(r.session, rows, 128, NULL);
        assert_int_equal(pthread_join(thread, NULL), 0);
        uint32_t length;
        assert_ok(sh_seq_length(r.session, seq, &length));
        assert_int_equal(length, status == SH_OK ? 129 : 1);
        if (status != SH_OK) {
            assert_int_equal(status, SH_ERR_CANCELLED);
            cancelled++;
        } else { /* it came too late, and meets the next pass */
            assert_ok(sh_seq_truncate(r.session, seq, 1));
            assert_int_equal(sh_pass(r.session, rows, 1, NULL), SH_ERR_CANCELLED);
        }
    }
    assert_int_equal(cancelled, 1);
    row.position = 1;
    assert_ok(sh_pass(r.session, &row, 1, &result));
    assert_memory_equal(expected, result.logits, r.vocabulary * sizeof *expected);
    free(expected);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engine_options), cmocka_unit_test(nothing),          cmocka_unit_test(session_options),
        cmocka_unit_test(memory),         cmocka_unit_test(rows_are_checked), cmocka_unit_test(sequences_are_checked),
        cmocka_unit_test(full_pool),      cmocka_unit_test(pages_are_shared), cmocka_unit_test(random_walk),
        cmocka_unit_test(cancelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
