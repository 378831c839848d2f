/* test_pass.c: what a pass promises, on every device that is there, for a 1-bit file, a ternary one and one that mixes
 * formats.
 *
 * docs/TESTING.md has the table; each row of it is one function here. */
#include "remake.h"
#include "support.h"

#include "engine/engine.h"

#include <math.h>
#include <pthread.h>

typedef struct subject {
    const char *device, *model;
} subject;

enum { CONTEXT = 1024, ROWS = 512, MANY = 600 };

static rig open_subject(const subject *s, bool unmerged) {
    return rig_open((rig_options){
        .model = s->model,
        .device = s->device,
        .session = {.context = CONTEXT, .sequences = 4, .positions = 3 * CONTEXT, .rows = ROWS, .unmerged = unmerged},
    });
}

/* Tokens without a pattern, the same each time. */
static int32_t token_at(const rig *r, size_t i) {
    return (int32_t)((i * 7919 + 13) % r->vocabulary);
}

static void fill_rows(const rig *r, sh_row *rows, sh_seq seq, size_t from, size_t n) {
    for (size_t i = 0; i < n; i++)
        rows[i] = (sh_row){token_at(r, from + i), (uint32_t)(from + i), seq, SH_WANT_NOTHING};
}

/* Feeds tokens [from, from + n) of the fixed text, the last wanting `want`. The result is in r->result. */
static void feed(rig *r, sh_seq seq, size_t from, size_t n, uint32_t want) {
    static sh_row rows[ROWS];
    static sh_result results[ROWS];
    while (n) {
        size_t now = n < ROWS ? n : ROWS;
        fill_rows(r, rows, seq, from, now);
        if (now == n) rows[now - 1].want = want;
        assert_ok(sh_pass(r->session, rows, now, results));
        r->result = results[now - 1];
        from += now;
        n -= now;
    }
}

static float *copy_logits(const rig *r, const float *logits) {
    assert_non_null(logits);
    float *copy = malloc(r->vocabulary * sizeof *copy);
    memcpy(copy, logits, r->vocabulary * sizeof *copy);
    return copy;
}

/* The logits behind `n` tokens of the fixed text, from a sequence of their own; the caller frees them. */
static float *logits_after(rig *r, size_t n) {
    sh_seq seq = rig_sequence(r);
    feed(r, seq, 0, n, SH_WANT_LOGITS);
    float *copy = copy_logits(r, r->result.logits);
    assert_ok(sh_seq_free(r->session, seq));
    return copy;
}

static void assert_same_logits(const rig *r, const float *a, const float *b) {
    assert_non_null(a);
    assert_non_null(b);
    assert_memory_equal(a, b, r->vocabulary * sizeof *a);
}

static int32_t argmax(const float *x, size_t n) {
    int32_t best = -1;
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i]) && (best < 0 || x[i] > x[best])) best = (int32_t)i;
    return best;
}

/* ---- the table ------------------------------------------------------------------------------------------- */

static void prefill(rig *r, const subject *s) {
    (void)s;
    for (uint32_t want = 1; want <= (SH_WANT_LOGITS | SH_WANT_ARGMAX); want++) {
        sh_seq seq = rig_sequence(r);
        sh_session_stats before = rig_stats(r);
        feed(r, seq, 0, 70, want);
        sh_session_stats after = rig_stats(r);
        assert_int_equal(after.head_rows - before.head_rows, 1);
        uint64_t logits = want & SH_WANT_LOGITS ? 4ull * r->vocabulary : 0, id = want & SH_WANT_ARGMAX ? 4 : 0;
        assert_int_equal(after.bytes_down - before.bytes_down, logits + id);
        assert_true((r->result.logits != NULL) == (logits != 0));
        if (logits && id) assert_int_equal(r->result.argmax, argmax(r->result.logits, r->vocabulary));
        if (!id) assert_int_equal(r->result.argmax, -1);
        assert_ok(sh_seq_free(r->session, seq));
    }
}

static void verify(rig *r, const subject *s) {
    (void)s;
    enum { N = 9 };
    sh_row rows[N];
    sh_result results[N];
    sh_seq seq = rig_sequence(r);
    feed(r, seq, 0, 60, SH_WANT_NOTHING); /* the draft crosses a page's edge */
    fill_rows(r, rows, seq, 60, N);
    for (size_t i = 0; i < N; i++) rows[i].want = SH_WANT_ARGMAX;
    sh_session_stats before = rig_stats(r);
    assert_ok(sh_pass(r->session, rows, N, results));
    sh_session_stats after = rig_stats(r);
    assert_int_equal(after.head_rows - before.head_rows, N);
    assert_int_equal(after.bytes_down - before.bytes_down, 4 * N);
    int32_t ids[N];
    for (size_t i = 0; i < N; i++) ids[i] = results[i].argmax;
    assert_ok(sh_seq_truncate(r->session, seq, 60));
    for (size_t i = 0; i < N; i++) rows[i].want = SH_WANT_LOGITS;
    assert_ok(sh_pass(r->session, rows, N, results));
    for (size_t i = 0; i < N; i++) assert_int_equal(ids[i], argmax(results[i].logits, r->vocabulary));
    assert_ok(sh_seq_free(r->session, seq));
}

static void rows_that_want_nothing(rig *r, const subject *s) {
    (void)s;
    float *expected = logits_after(r, 81);
    sh_row rows[80];
    sh_result results[80];
    sh_seq seq = rig_sequence(r);
    fill_rows(r, rows, seq, 0, 80);
    memset(results, 0x5a, sizeof results);
    sh_session_stats before = rig_stats(r);
    assert_ok(sh_pass(r->session, rows, 80, results));
    sh_session_stats after = rig_stats(r);
    assert_int_equal(after.head_rows, before.head_rows);
    assert_int_equal(after.bytes_down, before.bytes_down);
    for (size_t i = 0; i < 80; i++) {
        assert_null(results[i].logits);
        assert_int_equal(results[i].argmax, -1);
    }
    feed(r, seq, 80, 1, SH_WANT_LOGITS); /* their keys and values are there */
    assert_same_logits(r, expected, r->result.logits);
    sh_row row = {token_at(r, 81), 81, seq, SH_WANT_NOTHING};
    assert_ok(sh_pass(r->session, &row, 1, NULL)); /* no place for results is needed */
    free(expected);
    assert_ok(sh_seq_free(r->session, seq));
}

static void single_submission(rig *r, const subject *s) {
    (void)s;
    static const size_t sizes[] = {1, 8, 512};
    for (size_t i = 0; i < 3; i++) {
        sh_seq seq = rig_sequence(r);
        sh_session_stats before = rig_stats(r);
        feed(r, seq, 0, sizes[i], SH_WANT_ARGMAX);
        sh_session_stats after = rig_stats(r);
        assert_int_equal(after.submissions - before.submissions, 1);
        assert_int_equal(after.waits - before.waits, 1);
        assert_int_equal(after.rows - before.rows, sizes[i]);
        assert_ok(sh_seq_free(r->session, seq));
    }
}

static void buffers(rig *r, const subject *s) {
    (void)s;
    static const struct {
        size_t rows;
        uint64_t allocations;
    } passes[] = {{20, 1}, {20, 0}, {20, 0}, {100, 1}, {100, 0}, {1, 0}, {20, 0}, {128, 0}, {100, 0}};
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        sh_seq seq = rig_sequence(r);
        uint64_t before = rig_stats(r).scratch_allocations;
        feed(r, seq, 0, passes[i].rows, SH_WANT_LOGITS);
        assert_int_equal(rig_stats(r).scratch_allocations - before, passes[i].allocations);
        assert_ok(sh_seq_free(r->session, seq));
    }
}

static void starts(rig *r, const subject *s) {
    (void)s;
    static const size_t lengths[] = {0, 1, 63, 64, 65, CONTEXT - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        sh_seq seq = rig_sequence(r);
        feed(r, seq, 0, lengths[i], SH_WANT_NOTHING);
        feed(r, seq, lengths[i], 1, SH_WANT_LOGITS);
        float *whole = logits_after(r, lengths[i] + 1);
        sh_row last = {token_at(r, lengths[i]), (uint32_t)lengths[i], seq, SH_WANT_LOGITS};
        assert_ok(sh_seq_truncate(r->session, seq, (uint32_t)lengths[i]));
        sh_result result;
        assert_ok(sh_pass(r->session, &last, 1, &result));
        assert_same_logits(r, whole, result.logits);
        free(whole);
        if (lengths[i] + 1 == CONTEXT) {
            sh_row past = {1, CONTEXT, seq, SH_WANT_LOGITS};
            uint64_t submissions = rig_stats(r).submissions;
            assert_fails(SH_ERR_CONTEXT, sh_pass(r->session, &past, 1, &result), "position 1024", "context of 1024");
            assert_int_equal(rig_stats(r).submissions, submissions);
            uint32_t length;
            assert_ok(sh_seq_length(r->session, seq, &length));
            assert_int_equal(length, CONTEXT);
        }
        assert_ok(sh_seq_free(r->session, seq));
    }
}

static void one_row_and_none(rig *r, const subject *s) {
    (void)s;
    float *expected = logits_after(r, 100); /* the last row of one pass of 100 */
    sh_seq seq = rig_sequence(r);
    for (size_t i = 0; i < 100; i++) feed(r, seq, i, 1, SH_WANT_LOGITS);
    assert_same_logits(r, expected, r->result.logits);
    sh_row row = {0};
    sh_result result;
    assert_fails(SH_ERR_ARGUMENT, sh_pass(r->session, &row, 0, &result), "0 rows", "512");
    free(expected);
    assert_ok(sh_seq_free(r->session, seq));
}

/* Two equal head rows, one of them NaN in another file: made of the subject's own file with a head in float32. */
typedef struct head_edit {
    uint32_t low, high, nan;
} head_edit;

static bool is_head(const sh_tensor *tensor) {
    return sh_view_is(tensor->name, "output.weight");
}

static sh_format float_head(const sh_tensor *tensor, void *user) {
    (void)user;
    return is_head(tensor) ? SH_F32 : tensor->format;
}

static void edit_head(const sh_tensor *tensor, float *values, void *user) {
    const head_edit *edit = user;
    if (!is_head(tensor)) return;
    size_t width = tensor->dims[0], rows = tensor->dims[1];
    memcpy(values + edit->low * width, values + edit->high * width, width * sizeof *values);
    if (edit->nan == UINT32_MAX) { /* all of them */
        for (size_t i = 0; i < rows; i++) values[i * width] = NAN;
    } else if (edit->nan) {
        values[edit->nan * width + 5] = NAN;
    }
}

static void ties_and_nan(rig *r, const subject *s) {
    sh_seq seq = rig_sequence(r);
    feed(r, seq, 0, 10, SH_WANT_ARGMAX);
    uint32_t best = (uint32_t)r->result.argmax, low = best > 5 ? best - 5 : best + 5;
    assert_ok(sh_seq_free(r->session, seq));
    uint32_t first = low < best ? low : best;
    head_edit edits[] = {{low, best, 0}, {low, best, low}, {low, best, best}, {low, best, UINT32_MAX}};
    int32_t expected[] = {(int32_t)first, (int32_t)best, (int32_t)low, -1};
    for (size_t i = 0; i < 4; i++) {
        remake change = {.from = s->model, .user = &edits[i], .format = float_head, .edit = edit_head};
        subject edited = {s->device, remake_model(&change, "head.gguf")};
        rig other = open_subject(&edited, false);
        sh_seq its = rig_sequence(&other);
        feed(&other, its, 0, 10, SH_WANT_ARGMAX | SH_WANT_LOGITS);
        assert_int_equal(other.result.argmax, expected[i]);
        if (i == 0) assert_true(other.result.logits[low] == other.result.logits[best]);
        rig_close(&other);
    }
}

/* One tensor of the copy gets one more row (or element). */
typedef struct wrong_shape {
    uint64_t index, at;
    char name[128], found[64], expected[64];
} wrong_shape;

static void add_a_row(const sh_tensor *tensor, uint64_t dims[4], uint32_t *n_dims, void *user) {
    wrong_shape *wrong = user;
    if (wrong->at++ != wrong->index) return;
    uint32_t last = *n_dims - 1;
    snprintf(wrong->name, sizeof wrong->name, "%.*s", SH_VIEW_ARG(tensor->name));
    snprintf(wrong->expected, sizeof wrong->expected, "%llu]", (unsigned long long)dims[last]);
    dims[last] += 1;
    snprintf(wrong->found, sizeof wrong->found, "%llu]", (unsigned long long)dims[last]);
}

static void dimension_errors(rig *r, const subject *s) {
    float *expected = logits_after(r, 40);
    uint64_t submissions = rig_stats(r).submissions;
    for (uint64_t i = 0;; i++) {
        wrong_shape wrong = {.index = i};
        remake change = {.from = s->model, .user = &wrong, .shape = add_a_row};
        const char *path = remake_model(&change, "shape.gguf");
        if (!wrong.name[0]) {
            assert_true(i > 30); /* every tensor had its turn */
            break;
        }
        sh_engine *engine = NULL;
        sh_status status = rig_engine(&(rig_options){.model = path, .device = s->device}, &engine);
        if (status == SH_OK) fail_msg("%s with one more row was opened", wrong.name);
        assert_int_equal(status, SH_ERR_FORMAT);
        assert_null(engine);
        /* The vocabulary is what the embedding's rows say: there the head is the one that no longer fits. */
        if (strcmp(wrong.name, "token_embd.weight") == 0) snprintf(wrong.name, sizeof wrong.name, "output.weight");
        if (!strstr(sh_error_text(), wrong.name) || !strstr(sh_error_text(), wrong.found) ||
            !strstr(sh_error_text(), wrong.expected))
            fail_msg("'%s' does not name %s, %s and %s", sh_error_text(), wrong.name, wrong.found, wrong.expected);
    }
    assert_int_equal(rig_stats(r).submissions, submissions);
    float *again = logits_after(r, 40);
    assert_same_logits(r, expected, again);
    free(expected);
    free(again);
}

static void kv_stays_on_the_device(rig *r, const subject *s) {
    (void)s;
    sh_seq seq = rig_sequence(r);
    uint64_t up[3], pages[3];
    static const size_t depths[] = {5, 130, 900};
    size_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        feed(r, seq, at, depths[i] - at, SH_WANT_NOTHING);
        sh_session_stats before = rig_stats(r);
        feed(r, seq, depths[i], 1, SH_WANT_ARGMAX);
        sh_session_stats after = rig_stats(r);
        up[i] = after.bytes_up - before.bytes_up;
        pages[i] = after.bytes_up_pages - before.bytes_up_pages;
        at = depths[i] + 1;
    }
    assert_true(up[0] > 0);
    assert_int_equal(up[0], up[1]);
    assert_int_equal(up[0], up[2]);
    assert_true(pages[2] <= 4 * (900 / 64 + 1)); /* at most an entry a page */
    assert_ok(sh_seq_free(r->session, seq));
}

/* That there is something merged at all: how often each merge is made of the real list, a layer and in the tail. */
static void assert_merged(const rig *r) {
    static const uint32_t a_layer[SH_MERGES] = {
        [SH_MERGE_NORM_ACT] = 2,    [SH_MERGE_QK_STORE] = 1, [SH_MERGE_ATTENTION_ACT] = 1,
        [SH_MERGE_PRODUCT_ADD] = 2, [SH_MERGE_GATED] = 1,    [SH_MERGE_NONE] = 3, /* q, k, v */
    };
    uint32_t found[SH_MERGES] = {0}, layers = r->engine->list.net.n_layers;
    sh_steps steps;
    assert_ok(sh_steps_compile(&r->engine->list, (1u << SH_MERGES) - 1, &steps));
    for (uint32_t i = 0; i < steps.n; i++) found[steps.steps[i].merge]++;
    for (uint32_t m = 0; m < SH_MERGES; m++) {
        uint32_t once = m == SH_MERGE_NONE       ? 4
                        : m == SH_MERGE_NORM_ACT ? 1
                                                 : 0; /* embed, select, head, argmax; last norm */
        assert_int_equal(found[m], layers * a_layer[m] + once);
    }
    sh_steps_close(&steps);
}

static void merged_is_unmerged(rig *r, const subject *s) {
    assert_merged(r);
    rig plain = open_subject(s, true);
    for (size_t n = 1; n <= 150; n += 149) {
        float *a = logits_after(r, n), *b = logits_after(&plain, n);
        assert_same_logits(r, a, b);
        free(a);
        free(b);
    }
    rig_close(&plain);
}

/* ---- a device that fails --------------------------------------------------------------------------------- */

static sh_backend failing;
static const sh_backend *sound;
static int fail_submit, fail_wait, fail_scratch, fail_copy;

static sh_status failing_submit(sh_device *device, sh_submission *submission) {
    sh_status status = sound->submit(device, submission); /* the pass may have run before the device failed */
    return fail_submit && status == SH_OK ? SH_ERR_DEVICE : status;
}

static sh_status failing_wait(sh_device *device, sh_submission *submission) {
    return fail_wait ? SH_ERR_DEVICE : sound->wait(device, submission);
}

static sh_status failing_scratch(sh_device *device, const sh_plan *plan, const sh_shape *shape, sh_scratch **out) {
    return fail_scratch ? SH_ERR_MEMORY : sound->scratch_open(device, plan, shape, out);
}

static sh_status failing_copy(sh_device *device, sh_kv *kv, uint32_t to, uint32_t from, uint32_t positions) {
    return fail_copy ? SH_ERR_DEVICE : sound->kv_copy(device, kv, to, from, positions);
}

static void device_failure(rig *r, const subject *s) {
    float *expected = logits_after(r, 130);
    sound = sh_backend_find(s->device);
    failing = *sound;
    failing.submit = failing_submit;
    failing.wait = failing_wait;
    failing.scratch_open = failing_scratch;
    failing.kv_copy = failing_copy;
    char path[1024];
    rig_path(path, s->model);
    sh_engine_options engine_options;
    sh_engine_options_default(&engine_options);
    engine_options.path = path;
    engine_options.threads = 2;
    rig other = {.vocabulary = r->vocabulary};
    assert_ok(sh_engine_open_on(&failing, &engine_options, &other.engine));
    sh_session_options options = {.context = CONTEXT, .sequences = 4, .rows = ROWS};
    assert_ok(sh_session_open(other.engine, &options, &other.session));

    sh_seq seq = rig_sequence(&other), fork = 0;
    feed(&other, seq, 0, 70, SH_WANT_NOTHING);
    assert_ok(sh_seq_fork(other.session, seq, 70, &fork)); /* so that the next pass has a page to copy */
    int *const switches[] = {&fail_scratch, &fail_copy, &fail_submit,
                             &fail_wait}; /* in the order of a pass: each gets a step further */
    static const sh_status statuses[] = {SH_ERR_MEMORY, SH_ERR_DEVICE, SH_ERR_DEVICE, SH_ERR_DEVICE};
    static sh_row rows[ROWS];
    static sh_result results[ROWS];
    for (size_t i = 0; i < 4; i++) {
        uint64_t used = rig_stats(&other).pages_used;
        *switches[i] = 1;
        /* A failure anywhere in a pass that needs two new pages (and, for scratch, larger buffers). */
        size_t n = 200;
        for (size_t j = 0; j < n; j++) rows[j] = (sh_row){1, (uint32_t)(70 + j), seq, SH_WANT_NOTHING};
        assert_int_equal(sh_pass(other.session, rows, n, results), statuses[i]);
        *switches[i] = 0;
        uint32_t length;
        assert_ok(sh_seq_length(other.session, seq, &length));
        assert_int_equal(length, 70);
        assert_true(rig_stats(&other).pages_used <= used + 1); /* at most the copy of the shared page stays */
    }
    feed(&other, seq, 70, 60, SH_WANT_LOGITS);
    assert_same_logits(r, expected, other.result.logits);
    feed(&other, fork, 70, 60, SH_WANT_LOGITS);
    assert_same_logits(r, expected, other.result.logits);
    rig_close(&other);
    free(expected);
}

/* ---- two threads ----------------------------------------------------------------------------------------- */

typedef struct errand {
    rig r;
    size_t n, chunk;
    float *logits;
    char error[256];
} errand;

/* Without cmocka's asserts: they may not be called from another thread. */
static void *run_errand(void *argument) {
    errand *e = argument;
    sh_row row;
    sh_result result = {0};
    sh_seq seq = 0;
    sh_status status = sh_seq_new(e->r.session, &seq);
    sh_row rows[64];
    sh_result results[64];
    for (size_t at = 0; status == SH_OK && at + 1 < e->n; at += e->chunk) {
        size_t n = e->n - 1 - at < e->chunk ? e->n - 1 - at : e->chunk;
        fill_rows(&e->r, rows, seq, at, n);
        status = sh_pass(e->r.session, rows, n, results);
    }
    row = (sh_row){token_at(&e->r, e->n - 1), (uint32_t)e->n - 1, seq, SH_WANT_LOGITS};
    if (status == SH_OK) status = sh_pass(e->r.session, &row, 1, &result);
    if (status == SH_OK) memcpy(e->logits, result.logits, e->r.vocabulary * sizeof *e->logits);
    snprintf(e->error, sizeof e->error, "%s", status == SH_OK ? "" : sh_error_text());
    return NULL;
}

static void two_threads(rig *r, const subject *s) {
    (void)s;
    enum { N = 150 };
    float *expected = logits_after(r, N);
    errand errands[2] = {{.n = N, .chunk = 7}, {.n = N, .chunk = 64}};
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++) {
        sh_session_options options = {.context = CONTEXT, .sequences = 1, .rows = 64};
        errands[i].r = (rig){.engine = r->engine, .vocabulary = r->vocabulary};
        errands[i].logits = malloc(r->vocabulary * sizeof(float));
        assert_ok(sh_session_open(r->engine, &options, &errands[i].r.session));
    }
    for (size_t i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_errand, &errands[i]), 0);
    for (size_t i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(errands[i].error, "");
        assert_same_logits(r, expected, errands[i].logits);
        sh_session_close(errands[i].r.session);
        free(errands[i].logits);
    }
    free(expected);
}

/* ---- all of it for each subject -------------------------------------------------------------------------- */

static const struct promise {
    const char *name;
    void (*check)(rig *r, const subject *s);
} promises[] = {
    {"prefill", prefill},
    {"verify", verify},
    {"rows that want nothing", rows_that_want_nothing},
    {"single submission", single_submission},
    {"buffers", buffers},
    {"start", starts},
    {"1 row, 0 rows", one_row_and_none},
    {"ties and NaN", ties_and_nan},
    {"dimension errors", dimension_errors},
    {"KV on the device", kv_stays_on_the_device},
    {"merged = unmerged", merged_is_unmerged},
    {"a device failure", device_failure},
    {"two threads, two sessions", two_threads},
};

enum { PROMISES = sizeof promises / sizeof promises[0], MODELS = 3, MAX_TESTS = 4 * MODELS * PROMISES };

typedef struct promise_of {
    const struct promise *promise;
    subject subject;
    char name[128];
} promise_of;

static void check_promise(void **state) {
    const promise_of *p = *state;
    rig r = open_subject(&p->subject, false);
    p->promise->check(&r, &p->subject);
    rig_close(&r);
}

static const char *mixed_model(void) {
    static char path[1024];
    remake mix = {.from = "tests/oracle/odd-q1_0.gguf", .format = mixed_format};
    snprintf(path, sizeof path, "%s", remake_model(&mix, "mixed.gguf"));
    return path;
}

/* An argument is a pattern of names: "*two threads*". */
int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    static promise_of states[MAX_TESTS];
    static struct CMUnitTest tests[MAX_TESTS];
    struct {
        const char *name, *path;
    } models[MODELS] = {
        {"1-bit", "tests/oracle/odd-q1_0.gguf"},
        {"ternary", "tests/oracle/odd-q2_0_g64.gguf"},
        {"mixed", mixed_model()},
    };
    size_t n = 0, first = 0;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    first = 2; /* ref is ten times slower with a sanitizer; the mixed file goes everywhere that the others go */
#endif
    for (size_t d = 0; sh_device_name(d); d++)
        for (size_t m = first; m < MODELS; m++)
            for (size_t p = 0; p < PROMISES && n < MAX_TESTS; p++, n++) {
                states[n] = (promise_of){&promises[p], {sh_device_name(d), models[m].path}, ""};
                snprintf(states[n].name, sizeof states[n].name, "%s, %s: %s", sh_device_name(d), models[m].name,
                         promises[p].name);
                tests[n] = (struct CMUnitTest){states[n].name, check_promise, NULL, NULL, &states[n]};
            }
    return _cmocka_run_group_tests("pass", tests, n, NULL, NULL);
}
