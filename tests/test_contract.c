/* test_contract.c: a row's result depends on its past only, bit for bit.
 *
 * The logits of every row of a text are recorded fed in one pass on one thread, then compared with the same text fed in
 * every other way: one by one, in chunks of many sizes, beside other sequences, after rollbacks, from forked sequences,
 * by 1 to 8 threads. */
#include "remake.h"
#include "support.h"

#include <math.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { N = 70, MOST_THREADS = 3 }; /* a sanitizer is after memory, not bits, and ref is ten times slower with it */
#else
enum { N = 140, MOST_THREADS = 8 }; /* past two page edges */
#endif
enum { CONTEXT = 256, ROWS = 192 };

static const char *const models[] = {"tests/oracle/odd-q1_0.gguf", "tests/oracle/odd-q2_0_g128.gguf"};

typedef struct text {
    int32_t tokens[N];
    float *logits; /* [N][vocabulary] */
} text;

static rig open_rig(const char *device, const char *model, uint32_t threads) {
    return rig_open((rig_options){
        .device = device,
        .model = model,
        .threads = threads,
        .session = {.context = CONTEXT, .sequences = 6, .positions = 6 * CONTEXT, .rows = ROWS},
    });
}

/* Feeds tokens [from, from + n) of the text in one pass, all wanting logits, and compares them with the record. */
static void feed(rig *r, const text *t, sh_seq seq, size_t from, size_t n) {
    static sh_row rows[ROWS];
    static sh_result results[ROWS];
    for (size_t i = 0; i < n; i++) rows[i] = (sh_row){t->tokens[from + i], (uint32_t)(from + i), seq, SH_WANT_LOGITS};
    assert_ok(sh_pass(r->session, rows, n, results));
    for (size_t i = 0; i < n; i++)
        if (memcmp(results[i].logits, t->logits + (from + i) * r->vocabulary, r->vocabulary * sizeof(float)) != 0)
            fail_msg("row %zu of a pass of %zu from position %zu differs", i, n, from);
}

static text record(rig *r, uint32_t seed) {
    static sh_row rows[ROWS];
    static sh_result results[ROWS];
    text t = {.logits = malloc((size_t)N * r->vocabulary * sizeof(float))};
    sh_seq seq = rig_sequence(r);
    for (size_t i = 0; i < N; i++) {
        t.tokens[i] = (int32_t)((i * 7919 + seed * 104729 + 13) % r->vocabulary);
        rows[i] = (sh_row){t.tokens[i], (uint32_t)i, seq, SH_WANT_LOGITS};
    }
    assert_ok(sh_pass(r->session, rows, N, results));
    for (size_t i = 0; i < N; i++)
        memcpy(t.logits + i * r->vocabulary, results[i].logits, r->vocabulary * sizeof(float));
    assert_ok(sh_seq_free(r->session, seq));
    return t;
}

static void in_chunks(rig *r, const text *t, size_t chunk) {
    sh_seq seq = rig_sequence(r);
    for (size_t at = 0; at < N; at += chunk) feed(r, t, seq, at, N - at < chunk ? N - at : chunk);
    assert_ok(sh_seq_free(r->session, seq));
}

/* Two texts whose rows alternate within each pass, in runs of different lengths. */
static void beside_others(rig *r, const text *a, const text *b) {
    static sh_row rows[ROWS];
    static sh_result results[ROWS];
    const text *texts[2] = {a, b};
    sh_seq seqs[2] = {rig_sequence(r), rig_sequence(r)};
    size_t at[2] = {0, 0};
    for (size_t pass = 0; at[0] < N || at[1] < N; pass++) {
        size_t n = 0, of[ROWS], position[ROWS];
        for (size_t run = 0; run < 6; run++) {
            size_t w = run % 2, length = (pass * 3 + run * 5) % 11;
            for (size_t i = 0; i < length && at[w] < N && n < ROWS; i++, n++) {
                rows[n] = (sh_row){texts[w]->tokens[at[w]], (uint32_t)at[w], seqs[w], SH_WANT_LOGITS};
                of[n] = w;
                position[n] = at[w]++;
            }
        }
        if (n == 0) continue;
        assert_ok(sh_pass(r->session, rows, n, results));
        for (size_t i = 0; i < n; i++)
            assert_memory_equal(results[i].logits, texts[of[i]]->logits + position[i] * r->vocabulary,
                                r->vocabulary * sizeof(float));
    }
    assert_ok(sh_seq_free(r->session, seqs[0]));
    assert_ok(sh_seq_free(r->session, seqs[1]));
}

/* Other tokens are fed, forgotten, and the text's own fed in their place. */
static void after_rollback(rig *r, const text *t, const text *other) {
    sh_seq seq = rig_sequence(r);
    static const size_t back[] = {0, 1, 60, 63, 64, 65, 127, 128, 129};
    static sh_row rows[ROWS];
    for (size_t i = 0; i < sizeof back / sizeof back[0] && back[i] < N; i++) {
        uint32_t length;
        assert_ok(sh_seq_length(r->session, seq, &length));
        if (length < back[i]) feed(r, t, seq, length, back[i] - length);
        for (size_t j = 0; back[i] + j < N; j++)
            rows[j] = (sh_row){other->tokens[j], (uint32_t)(back[i] + j), seq, SH_WANT_NOTHING};
        assert_ok(sh_pass(r->session, rows, N - back[i], NULL));
        assert_ok(sh_seq_truncate(r->session, seq, (uint32_t)back[i]));
        feed(r, t, seq, back[i], N - back[i]);
        assert_ok(sh_seq_truncate(r->session, seq, (uint32_t)back[i]));
    }
    assert_ok(sh_seq_free(r->session, seq));
}

/* A fork goes its own way; neither it nor its origin sees what the other writes; and the fork outlives its origin. */
static void from_fork(rig *r, const text *t, const text *other) {
    static const size_t lengths[] = {0, 1, 63, 64, 65, 100, 128};
    static sh_row rows[ROWS];
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0] && lengths[i] < N - 10; i++) {
        size_t length = lengths[i];
        sh_seq seq = rig_sequence(r), fork = 0, stray = 0;
        feed(r, t, seq, 0, N - 10);
        assert_ok(sh_seq_fork(r->session, seq, (uint32_t)length, &fork));
        assert_ok(sh_seq_fork(r->session, seq, (uint32_t)length, &stray));
        for (size_t j = 0; j < 30; j++)
            rows[j] = (sh_row){other->tokens[j], (uint32_t)(length + j), stray, SH_WANT_NOTHING};
        assert_ok(sh_pass(r->session, rows, 30, NULL));
        feed(r, t, seq, N - 10, 10);
        assert_ok(sh_seq_free(r->session, seq));
        feed(r, t, fork, length, N - length);
        assert_ok(sh_seq_free(r->session, fork));
        assert_ok(sh_seq_free(r->session, stray));
    }
    assert_int_equal(rig_stats(r).pages_used, 0);
}

static void check_model(const char *device, const char *model) {
    rig first = open_rig(device, model, 1);
    text t = record(&first, 1), other = record(&first, 2);
    rig_close(&first);
    for (uint32_t threads = 1; threads <= MOST_THREADS; threads++) {
        rig r = open_rig(device, model, threads);
        static const size_t chunks[] = {N, 1, 2, 3, 5, 7, 63, 64, 65, 128};
        size_t n = threads == 2 ? sizeof chunks / sizeof chunks[0] : 1; /* every chunk size once, every thread count */
        for (size_t i = 0; i < n; i++) in_chunks(&r, &t, chunks[i]);
        in_chunks(&r, &t, 33);
        if (threads == 3) {
            beside_others(&r, &t, &other);
            after_rollback(&r, &t, &other);
            from_fork(&r, &t, &other);
        }
        rig_close(&r);
    }
    free(t.logits);
    free(other.logits);
}

enum { SPOILT = 4095 }; /* the token whose embedding is NaN */

static sh_format float_embedding(const sh_tensor *tensor, void *user) {
    (void)user;
    return sh_view_is(tensor->name, "token_embd.weight") ? SH_F32 : tensor->format;
}

static void spoil_a_row(const sh_tensor *tensor, float *values, void *user) {
    (void)user;
    if (sh_view_is(tensor->name, "token_embd.weight")) values[SPOILT * tensor->dims[0] + 3] = NAN;
}

/* One pass of the text's next row, then `n` rows of NaN; the first is as ever, the others are NaN. */
static void feed_then_spoil(rig *r, const text *t, sh_seq seq, size_t at, size_t n) {
    static sh_row rows[ROWS];
    static sh_result results[ROWS];
    rows[0] = (sh_row){t->tokens[at], (uint32_t)at, seq, SH_WANT_LOGITS};
    for (size_t i = 1; i <= n; i++)
        rows[i] = (sh_row){SPOILT, (uint32_t)(at + i), seq, SH_WANT_LOGITS | SH_WANT_ARGMAX};
    assert_ok(sh_pass(r->session, rows, n + 1, results));
    assert_memory_equal(results[0].logits, t->logits + at * r->vocabulary, r->vocabulary * sizeof(float));
    for (size_t i = 1; i <= n; i++) {
        assert_true(isnan(results[i].logits[0]) && isnan(results[i].logits[r->vocabulary - 1]));
        assert_int_equal(results[i].argmax, -1);
    }
}

/* NaN rows leave their neighbours alone: those of the same pass, those in the same page before them, those that take their
 * place, and those that get their pages. */
static void beside_nan(const char *device) {
    remake damage = {.from = models[0], .format = float_embedding, .edit = spoil_a_row};
    rig r = open_rig(device, remake_model(&damage, "nan.gguf"), 2);
    text t = record(&r, 5);
    sh_seq seq = rig_sequence(&r), other = rig_sequence(&r);
    feed_then_spoil(&r, &t, other, 0, 100); /* two pages full of NaN */
    feed(&r, &t, seq, 0, 60);
    feed_then_spoil(&r, &t, seq, 60, 20); /* over a page's edge */
    assert_ok(sh_seq_truncate(r.session, seq, 61));
    feed(&r, &t, seq, 61, 1); /* NaN still lies behind it in its page */
    feed(&r, &t, seq, 62, N - 62);
    assert_ok(sh_seq_free(r.session, other));
    assert_ok(sh_seq_truncate(r.session, seq, 0));
    feed(&r, &t, seq, 0, N); /* in pages that held NaN */
    rig_close(&r);
    free(t.logits);
}

static void contract(void **state) {
    (void)state;
    for (size_t d = 0; sh_device_name(d); d++) {
        for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) check_model(sh_device_name(d), models[m]);
        remake mix = {.from = models[0], .format = mixed_format};
        check_model(sh_device_name(d), remake_model(&mix, "mixed.gguf"));
        beside_nan(sh_device_name(d));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(contract)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
