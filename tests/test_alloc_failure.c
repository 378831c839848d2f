/* test_alloc_failure.c: every allocation fails in turn.
 *
 * The linker puts the functions below in front of malloc and its kin (--wrap). A scenario that opens, tokenizes,
 * scores, generates and closes is run with its first allocation failing, then its second, and so on until none fails:
 * each time it ends with a status and leaves nothing behind (the sanitizers' leak check sees to that). */
#include "support.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);

/* Allocations until one fails; negative: none does. All after it succeed, so that one failure is seen at a time. */
static atomic_long countdown = -1;
static atomic_long allocations;

static bool fails(void) {
    atomic_fetch_add(&allocations, 1);
    return atomic_load(&countdown) >= 0 && atomic_fetch_sub(&countdown, 1) == 0;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *block, size_t size) {
    return fails() ? NULL : __real_realloc(block, size);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
    return fails() ? ENOMEM : __real_posix_memalign(out, alignment, size);
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    if (!fails()) return __real_mmap(address, size, protection, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

/* Without cmocka's asserts, which would leave the scenario by longjmp. */
static sh_status text(const sh_engine *engine, int32_t **ids, size_t *n) {
    static const char story[] = "Once upon a time there was a cafe\xcc\x81 \xf0\x9f\x98\x80 <|im_end|> 1234";
    const sh_tokenizer *tokenizer = sh_engine_tokenizer(engine);
    sh_text *stream = NULL;
    const char *utf8;
    size_t length;
    sh_status status = sh_tokenize(tokenizer, story, sizeof story - 1, SH_TOKENIZE_SPECIAL | SH_TOKENIZE_BOS, ids, n);
    if (status == SH_OK) status = sh_text_open(tokenizer, SH_TEXT_CONTROL, &stream);
    for (size_t i = 0; status == SH_OK && i < *n; i++) status = sh_text_push(stream, (*ids)[i], &utf8, &length);
    if (status == SH_OK) sh_text_finish(stream, &utf8, &length);
    sh_text_close(stream);
    return status;
}

static sh_status score(sh_session *session, const int32_t *ids, size_t n) {
    sh_row rows[64];
    sh_result results[64];
    sh_seq seq = 0, fork = 0;
    sh_status status = sh_seq_new(session, &seq);
    for (size_t i = 0; i < n && i < 64; i++) rows[i] = (sh_row){ids[i], (uint32_t)i, seq, SH_WANT_LOGITS};
    if (status == SH_OK) status = sh_pass(session, rows, n, results);
    if (status == SH_OK) status = sh_seq_fork(session, seq, (uint32_t)n - 1, &fork);
    rows[0] = (sh_row){1, (uint32_t)n - 1, fork, SH_WANT_ARGMAX};
    if (status == SH_OK) status = sh_pass(session, rows, 1, results);
    return status; /* the sequences go with the session */
}

static sh_status generate(sh_session *session, const sh_engine *engine, const int32_t *ids, size_t n) {
    sh_gen_options options;
    sh_gen_options_default(engine, &options);
    options.prompt = ids;
    options.n_prompt = n;
    options.max_tokens = 3;
    sh_gen *gen = NULL;
    sh_event events[3];
    sh_status status = sh_gen_open(session, &options, &gen);
    for (size_t told = 1; status == SH_OK && told;) status = sh_step(session, events, 3, &told);
    sh_gen_close(gen);
    return status;
}

static sh_status scenario(const char *path) {
    sh_engine *engine = NULL;
    sh_session *session = NULL;
    int32_t *ids = NULL;
    size_t n = 0;
    sh_engine_options engine_options;
    sh_engine_options_default(&engine_options);
    engine_options.path = path;
    engine_options.threads = 2;
    sh_session_options session_options = {.context = 128, .sequences = 3, .rows = 64};
    sh_status status = sh_engine_open(&engine_options, &engine);
    if (status == SH_OK) status = sh_session_open(engine, &session_options, &session);
    if (status == SH_OK) status = text(engine, &ids, &n);
    if (status == SH_OK) status = score(session, ids, n);
    if (status == SH_OK) status = generate(session, engine, ids, n);
    sh_free(ids);
    sh_session_close(session);
    sh_engine_close(engine);
    return status;
}

static void each_in_turn(const char *path) {
    assert_ok(scenario(path)); /* what is allocated once a process is allocated now */
    atomic_store(&allocations, 0);
    assert_ok(scenario(path));
    long n = atomic_load(&allocations);
    assert_true(n > 50);
    long failed = 0;
    for (long i = 0; i < n; i++) {
        atomic_store(&countdown, i);
        sh_status status = scenario(path);
        bool reached = atomic_load(&countdown) < 0;
        atomic_store(&countdown, -1);
        failed += status != SH_OK;
        if (!reached) fail_msg("allocation %ld of %ld was not reached: %s", i, n, sh_error_text());
        /* PCRE2's JIT may do without, so a failure need not be one of the whole; but what is told is told in words. */
        if (status != SH_OK) {
            assert_true(status == SH_ERR_MEMORY || status == SH_ERR_IO);
            assert_true(sh_error_text()[0]);
        }
    }
    print_message("  %ld allocations, %ld of them fatal\n", n, failed);
    assert_true(n - failed <= 16); /* what PCRE2 asks for to compile its patterns */
}

static void plain_file(void **state) {
    (void)state;
    each_in_turn(SHOHIN_SOURCE_DIR "/tests/oracle/odd-q1_0.gguf");
}

static void type_42(void **state) {
    (void)state;
    each_in_turn(SHOHIN_SOURCE_DIR "/tests/oracle/odd-q2_0_g128.gguf");
}

/* Once a generator writes, nothing is allocated a token: not by the step, not by the sampler, not by the text. */
static void nothing_a_token(void **state) {
    (void)state;
    rig r = rig_open((rig_options){.model = "models/stories-q1_0.gguf"});
    int32_t prompt[] = {0, 533};
    sh_gen_options options;
    sh_gen_options_default(r.engine, &options);
    options.prompt = prompt;
    options.n_prompt = 2;
    options.ignore_ends = true;
    sh_gen *gen = NULL;
    sh_text *stream = NULL;
    assert_ok(sh_gen_open(r.session, &options, &gen));
    assert_ok(sh_text_open(sh_engine_tokenizer(r.engine), 0, &stream));
    long before = 0;
    for (int i = 0; i < 60; i++) {
        sh_event events[3];
        size_t n, length;
        const char *utf8;
        if (i == 10) before = atomic_load(&allocations);
        assert_ok(sh_step(r.session, events, 3, &n));
        for (size_t j = 0; j < n; j++)
            if (events[j].kind == SH_EVENT_TOKEN) assert_ok(sh_text_push(stream, events[j].token, &utf8, &length));
    }
    assert_int_equal(atomic_load(&allocations), before);
    assert_true(before > 0);
    sh_text_close(stream);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plain_file), cmocka_unit_test(type_42),
                                       cmocka_unit_test(nothing_a_token)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
