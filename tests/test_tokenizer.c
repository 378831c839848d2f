/* test_tokenizer.c: text to ids and back: recorded ids of another implementation, round trips, streams cut anywhere,
 * what is never a control token, and time linear in the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/vocabulary.h"
#include "text/tokenizer.h"

#define MODEL SHOHIN_SOURCE_DIR "/models/stories-q1_0.gguf"
#define TEXTS SHOHIN_SOURCE_DIR "/tests/text/"

/* ---- texts ---------------------------------------------------------------------------------------------- */

typedef struct blob {
    char *data;
    size_t n;
} blob;

static blob blob_of(const void *data, size_t n) {
    blob b = {malloc(n + 1), n};
    assert_non_null(b.data);
    if (n) memcpy(b.data, data, n);
    b.data[n] = 0;
    return b;
}

static blob read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("cannot open %s", path);
    blob b = {malloc(1 << 20), 0};
    assert_non_null(b.data);
    b.n = fread(b.data, 1, (1 << 20) - 1, file);
    b.data[b.n] = 0;
    fclose(file);
    return b;
}

static blob repeat(const char *unit, size_t bytes) {
    size_t n = strlen(unit);
    blob b = {malloc(bytes + 1), 0};
    assert_non_null(b.data);
    for (; b.n + n <= bytes; b.n += n) memcpy(b.data + b.n, unit, n);
    b.data[b.n] = 0;
    return b;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c - 'a' + 10;
}

/* \n \r \t \\ and \xHH, in place. */
static void unescape(blob *b) {
    size_t to = 0;
    for (size_t i = 0; i < b->n; i++) {
        char c = b->data[i];
        if (c == '\\') {
            c = b->data[++i];
            if (c == 'x') {
                c = (char)(hex_digit(b->data[i + 1]) << 4 | hex_digit(b->data[i + 2]));
                i += 2;
            } else if (c != '\\') {
                c = c == 'n' ? '\n' : c == 'r' ? '\r' : '\t';
            }
        }
        b->data[to++] = c;
    }
    b->n = to;
}

/* Line `line` (from 1) of a text file; 0 is the whole. */
static blob text_of(const blob *file, int line, bool escaped) {
    const char *at = file->data, *end = at + file->n;
    if (line == 0) return blob_of(at, file->n);
    for (int i = 1; i < line; i++) at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    blob b = blob_of(at, (size_t)((stop ? stop : end) - at));
    if (escaped) unescape(&b);
    return b;
}

/* A text of the corpus with the ids that another implementation gave it. */
typedef struct expected {
    char name[16];
    int line;
    uint32_t flags;
    blob text;
    int32_t *ids;
    size_t n;
} expected;

static struct {
    sh_file *file;
    sh_tokenizer *tokenizer;
    expected *list;
    size_t n;
} demo;

static void load_expected(void) {
    static const char *const names[] = {"cases", "english", "code", "scripts"};
    blob files[4], all = read_file(TEXTS "expected-demo.txt");
    for (int i = 0; i < 4; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s%s.txt", TEXTS, names[i]);
        files[i] = read_file(path);
    }
    demo.list = calloc(4096, sizeof *demo.list);
    assert_non_null(demo.list);
    for (char *line = strtok(all.data, "\n"); line; line = strtok(NULL, "\n")) {
        if (*line == '#') continue;
        expected *e = &demo.list[demo.n++];
        int used = 0;
        assert_int_equal(sscanf(line, "%15s %d %u:%n", e->name, &e->line, &e->flags, &used), 3);
        assert_true(used > 0);
        e->ids = malloc(strlen(line) * sizeof *e->ids);
        assert_non_null(e->ids);
        char *at = line + used;
        for (char *end; *at; at = end) e->ids[e->n++] = (int32_t)strtol(at, &end, 10);
        for (int i = 0; i < 4; i++)
            if (strcmp(names[i], e->name) == 0) e->text = text_of(&files[i], e->line, i == 0);
        assert_non_null(e->text.data);
    }
    for (int i = 0; i < 4; i++) free(files[i].data);
    free(all.data);
    assert_true(demo.n > 250);
}

static int open_demo(void **state) {
    (void)state;
    require_ok(sh_file_open(MODEL, NULL, &demo.file));
    require_ok(sh_tokenizer_open(demo.file, &demo.tokenizer));
    load_expected();
    return 0;
}

static int close_demo(void **state) {
    (void)state;
    for (size_t i = 0; i < demo.n; i++) {
        free(demo.list[i].text.data);
        free(demo.list[i].ids);
    }
    free(demo.list);
    sh_tokenizer_close(demo.tokenizer);
    sh_file_close(demo.file);
    return 0;
}

static void check_ids(const expected *e, const char *how, const int32_t *ids, size_t n) {
    for (size_t i = 0; i < n && i < e->n; i++)
        if (ids[i] != e->ids[i])
            fail_msg("%s %d flags %u, %s: id %zu is %d, expected %d", e->name, e->line, e->flags, how, i, ids[i],
                     e->ids[i]);
    if (n != e->n) fail_msg("%s %d flags %u, %s: %zu ids, expected %zu", e->name, e->line, e->flags, how, n, e->n);
}

/* ---- ids ------------------------------------------------------------------------------------------------ */

static void recorded_ids(void **state) {
    (void)state;
    for (size_t i = 0; i < demo.n; i++) {
        const expected *e = &demo.list[i];
        int32_t *ids;
        size_t n;
        require_ok(sh_tokenize(demo.tokenizer, e->text.data, e->text.n, e->flags, &ids, &n));
        check_ids(e, "the call", ids, n);
        sh_free(ids);
    }
}

/* Short words are merged one way and long ones another, and a pattern is compiled or interpreted: all the same. */
static void every_way_gives_the_same_ids(void **state) {
    (void)state;
    sh_tokenizer *interpreting;
    require_ok(sh_tokenizer_open(demo.file, &interpreting));
    sh_pretokenizer_interpret(interpreting->pretokenizer);
    for (size_t i = 0; i < demo.n; i++) {
        const expected *e = &demo.list[i];
        for (int way = 0; way < 3; way++) {
            sh_encoder encoder;
            require_ok(sh_encoder_open(way == 2 ? interpreting : demo.tokenizer, &encoder));
            if (way < 2) encoder.bpe.scan = way ? SIZE_MAX : 0;
            require_ok(sh_encoder_text(&encoder, (sh_view){e->text.data, e->text.n}, e->flags));
            check_ids(e,
                      way == 0   ? "all by heap"
                      : way == 1 ? "all by scan"
                                 : "interpreted",
                      encoder.ids.data, encoder.ids.n);
            sh_encoder_close(&encoder);
        }
    }
    sh_tokenizer_close(interpreting);
}

static void beginning_of_text(void **state) {
    (void)state;
    int32_t *ids;
    size_t n;
    require_ok(sh_tokenize(demo.tokenizer, "", 0, SH_TOKENIZE_BOS, &ids, &n));
    assert_int_equal(n, 1);
    assert_int_equal(ids[0], 0);
    sh_free(ids);
    require_ok(sh_tokenize(demo.tokenizer, NULL, 0, 0, &ids, &n));
    assert_int_equal(n, 0);
    assert_null(ids);

    vocabulary *v = vocabulary_new(); /* has a BOS, but does not want it in front */
    v->bos = vocabulary_token(v, "<s>", 3);
    sh_tokenizer *t;
    require_ok(vocabulary_open(v, &t));
    assert_tokens(t, "a", SH_TOKENIZE_BOS, 'a');
    sh_tokenizer_close(t);
    vocabulary_free(v);
}

/* Oniguruma, with which the models' own library cuts texts, folds case as Unicode does: the long s is an s. */
static void the_long_s_is_an_s(void **state) {
    (void)state;
    vocabulary *v = vocabulary_new();
    int32_t s = vocabulary_merge(v, "\xc3\x85 \xc2\xbf", "\xc3\x85\xc2\xbf"); /* the bytes c5 bf */
    int32_t se = vocabulary_merge(v, "\xc3\x85\xc2\xbf e",
                                  "\xc3\x85\xc2\xbf"
                                  "e");
    sh_tokenizer *t;
    require_ok(vocabulary_open(v, &t));
    assert_tokens(t,
                  "x\xc5\xbf"
                  "e",
                  0, 'x', se);
    assert_tokens(t,
                  "x'\xc5\xbf"
                  "e",
                  0, 'x', '\'', s, 'e');
    assert_tokens(t,
                  "\"\xc5\xbf"
                  "e",
                  0, '"', se);
    sh_tokenizer_close(t);
    vocabulary_free(v);
}

/* The lowest rank first, then the leftmost, whatever order the file gave its merges: here a longer one ranks lower. */
static void merges_go_by_rank(void **state) {
    (void)state;
    vocabulary *v = vocabulary_new();
    int32_t aaa = vocabulary_merge(v, "aa a", "aaa");
    int32_t bc = vocabulary_merge(v, "b c", "bc");
    int32_t ab = vocabulary_merge(v, "a b", "ab");
    int32_t aa = vocabulary_merge(v, "a a", "aa");
    sh_tokenizer *t;
    require_ok(vocabulary_open(v, &t));
    assert_tokens(t, "aaaaaaaa", 0, aaa, aaa, aa);
    assert_tokens(t, "aaaaaaa", 0, aaa, aaa, 'a');
    assert_tokens(t, "abc", 0, 'a', bc);
    assert_tokens(t, "abab", 0, ab, ab);
    blob many = repeat("a", 3000);
    for (int scan = 0; scan < 2; scan++) {
        sh_encoder encoder;
        require_ok(sh_encoder_open(t, &encoder));
        encoder.bpe.scan = scan ? SIZE_MAX : 0;
        require_ok(sh_encoder_text(&encoder, (sh_view){many.data, many.n}, 0));
        assert_int_equal(encoder.ids.n, 1000);
        for (size_t i = 0; i < 1000; i++) assert_int_equal(encoder.ids.data[i], aaa);
        sh_encoder_close(&encoder);
    }
    free(many.data);
    sh_tokenizer_close(t);
    vocabulary_free(v);
}

/* ---- added tokens --------------------------------------------------------------------------------------- */

static void user_text_never_becomes_a_control_token(void **state) {
    (void)state;
    size_t with_names = 0;
    for (size_t i = 0; i < demo.n; i++) {
        const expected *e = &demo.list[i];
        int32_t *ids;
        size_t n;
        require_ok(sh_tokenize(demo.tokenizer, e->text.data, e->text.n, 0, &ids, &n));
        for (size_t k = 0; k < n; k++) assert_false(sh_token_is_control(demo.tokenizer, ids[k]));
        sh_free(ids);
        with_names += e->flags == SH_TOKENIZE_SPECIAL;
    }
    assert_true(with_names > 10);
    assert_tokens(demo.tokenizer, "<|im_end|>", SH_TOKENIZE_SPECIAL, 2);
}

static void the_longest_added_token_at_the_leftmost_place(void **state) {
    (void)state;
    vocabulary *v = vocabulary_new();
    int32_t a = vocabulary_token(v, "<a>", 4), ab = vocabulary_token(v, "<a><b>", 4), b = vocabulary_token(v, "<b>", 3);
    int32_t marked = vocabulary_token(v, "e\xcc\x81!", 4), mark = vocabulary_token(v, "<|mark|>", 4),
            unknown = vocabulary_token(v, "<unk>", 2);
    int32_t ba = vocabulary_token(v, "<b><a", 4);
    vocabulary_token(v, "[PAD]", 5);
    sh_tokenizer *t;
    require_ok(vocabulary_open(v, &t));
    assert_tokens(t, "<a>x<a><b>", 0, a, 'x', ab);
    assert_tokens(t, "<a><b", 0, a, '<', 'b');
    assert_tokens(t, "<<a>", 0, '<', a);
    assert_tokens(t, "<b>", 0, '<', 'b', '>');
    assert_tokens(t, "<b>", SH_TOKENIZE_SPECIAL, b);
    assert_tokens(t, "<b><a>", 0, ba, '>');
    assert_tokens(t, "<a><b><a>", 0, ab, a);
    /* Found before normalization, which the text around them still gets. */
    assert_tokens(t, "e\xcc\x81!e\xcc\x81", 0, marked, 0xc3, 0xa9);
    assert_tokens(t, "<unk>", SH_TOKENIZE_SPECIAL, unknown);
    assert_tokens(t, "<unk>", 0, '<', 'u', 'n', 'k', '>');
    /* User-defined by the file, but of the look of a control token. */
    assert_tokens(t, "<|mark|>", SH_TOKENIZE_SPECIAL, mark);
    assert_tokens(t, "<|", 0, '<', '|');
    assert_tokens(t, "<|mark|>", 0, '<', '|', 'm', 'a', 'r', 'k', '|', '>');
    assert_true(sh_token_is_control(t, mark));
    assert_false(sh_token_is_control(t, a));
    /* Padding is nobody's text. */
    assert_tokens(t, "[PAD]", SH_TOKENIZE_SPECIAL, '[', 'P', 'A', 'D', ']');
    assert_true(sh_token_is_control(t, (int32_t)v->n_tokens - 1));
    sh_tokenizer_close(t);
    vocabulary_free(v);
}

/* A file without token types, or with careless ones, still has its chat marks apart from text. */
static void chat_marks_are_control_whatever_their_type(void **state) {
    (void)state;
    for (int32_t type = 0; type < 5; type += 4) {
        vocabulary *v = vocabulary_new();
        int32_t start = vocabulary_token(v, "<|im_start|>", type), end = vocabulary_token(v, "<|im_end|>", type);
        if (type == 0) v->n_types = 0;
        sh_tokenizer *t;
        require_ok(vocabulary_open(v, &t));
        assert_true(sh_token_is_control(t, start));
        assert_tokens(t, "<|im_end|>", 0, '<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>');
        assert_tokens(t, "<|im_end|>", SH_TOKENIZE_SPECIAL, end);
        sh_tokenizer_close(t);
        vocabulary_free(v);
    }
}

static void description(void **state) {
    (void)state;
    sh_tokenizer_info info;
    sh_tokenizer_describe(demo.tokenizer, &info);
    assert_int_equal(info.n_tokens, 4096);
    assert_int_equal(info.bos, 0);
    assert_int_equal(info.eos, 0);
    assert_true(info.add_bos);
    assert_int_equal(info.n_ends, 2);
    assert_int_equal(info.ends[0], 0);
    assert_int_equal(info.ends[1], 2);

    vocabulary *v = vocabulary_new();
    v->eot = vocabulary_token(v, "<eot>", 3);
    v->eos = vocabulary_token(v, "<eos>", 3);
    int32_t text = vocabulary_token(v, "<|endoftext|>", 3), mark = vocabulary_token(v, "<|im_end|>", 3);
    sh_tokenizer *t;
    require_ok(vocabulary_open(v, &t));
    sh_tokenizer_describe(t, &info);
    assert_int_equal(info.bos, -1);
    assert_false(info.add_bos);
    const int32_t ends[] = {(int32_t)v->eos, (int32_t)v->eot, mark, text};
    assert_int_equal(info.n_ends, 4);
    assert_memory_equal(info.ends, ends, sizeof ends);
    sh_tokenizer_close(t);
    vocabulary_free(v);
}

/* ---- text again ----------------------------------------------------------------------------------------- */

static blob text_from(const sh_tokenizer *t, uint32_t flags, const int32_t *ids, size_t n) {
    sh_text *text;
    const char *utf8;
    size_t length;
    blob all = {malloc(1 << 20), 0};
    assert_non_null(all.data);
    require_ok(sh_text_open(t, flags, &text));
    for (size_t i = 0; i <= n; i++) {
        if (i < n)
            require_ok(sh_text_push(text, ids[i], &utf8, &length));
        else
            sh_text_finish(text, &utf8, &length);
        assert_true(all.n + length <= 1 << 20);
        memcpy(all.data + all.n, utf8, length);
        all.n += length;
    }
    sh_text_close(text);
    return all;
}

static void assert_blob(const blob *b, const void *data, size_t n) {
    assert_int_equal(b->n, n);
    assert_memory_equal(b->data, data, n);
}

/* Prose and code are NFC; of other texts the normalized form comes back. */
static void text_comes_back(void **state) {
    (void)state;
    size_t same = 0;
    for (size_t i = 0; i < demo.n; i++) {
        const expected *e = &demo.list[i];
        sh_bytes valid = {0};
        sh_normalizer normalizer = {0};
        sh_view wanted;
        require_ok(sh_sanitize((sh_view){e->text.data, e->text.n}, &valid, &wanted));
        if (!e->flags) require_ok(sh_normalize(demo.tokenizer->inert, &normalizer, wanted, &wanted));
        blob back = text_from(demo.tokenizer, 0, e->ids, e->n);
        if (strcmp(e->name, "english") == 0 || strcmp(e->name, "code") == 0) {
            assert_blob(&back, e->text.data, e->text.n);
            same++;
        }
        if (!e->flags) assert_blob(&back, wanted.data, wanted.length);
        free(back.data);
        sh_normalizer_close(&normalizer);
        sh_free(valid.data);
    }
    assert_true(same > 40);
}

/* Each byte by itself is a token of the demo vocabulary: no character survives but by being held back. */
static void streams_cut_anywhere(void **state) {
    (void)state;
    for (size_t i = 0; i < demo.n; i++) {
        const expected *e = &demo.list[i];
        int32_t *ids = malloc((e->text.n + 1) * sizeof *ids);
        assert_non_null(ids);
        for (size_t k = 0; k < e->text.n; k++) ids[k] = (int32_t)demo.tokenizer->byte_tokens[(uint8_t)e->text.data[k]];
        blob streamed = text_from(demo.tokenizer, 0, ids, e->text.n);
        sh_bytes valid = {0};
        sh_view whole;
        require_ok(sh_sanitize((sh_view){e->text.data, e->text.n}, &valid, &whole));
        assert_blob(&streamed, whole.data, whole.length);
        sh_free(valid.data);
        free(streamed.data);
        free(ids);
    }
}

/* What the encoding standard says, by hand. */
static void invalid_bytes_become_replacements(void **state) {
    (void)state;
#define R "\xef\xbf\xbd"
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        {"a", "a"},
        {"\x80", R},
        {"\xc3", R},
        {"\xc0\x80", R R},
        {"\xe0\x80\x80", R R R},
        {"\xe0\xa0", R},
        {"\xe2\x82z", R "z"},
        {"\xe2\x82\xe2\x82\xac", R "\xe2\x82\xac"},
        {"\xed\xa0\x80", R R R},
        {"\xed\x9f", R},
        {"\xf0\x9f\x98", R},
        {"\xf0\x9f\x98z", R "z"},
        {"\xf0\x9f\xf0\x9f\x98\x80", R "\xf0\x9f\x98\x80"},
        {"\xf0\x8f\xbf\xbf", R R R R},
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
        {"\xf4\x90\x80\x80", R R R R},
        {"\xf5\xff\xfe", R R R},
        {"\xef\xbb\xbf"
         "a",
         "\xef\xbb\xbf"
         "a"},
        {"\xe4\xb8\xad\xff\xe4\xb8", "\xe4\xb8\xad" R R},
    };
#undef R
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sh_bytes valid = {0};
        sh_view text;
        require_ok(sh_sanitize((sh_view){cases[i].bytes, strlen(cases[i].bytes)}, &valid, &text));
        assert_int_equal(text.length, strlen(cases[i].text));
        assert_memory_equal(text.data, cases[i].text, text.length);
        sh_free(valid.data);
    }
}

static void control_tokens_in_a_stream(void **state) {
    (void)state;
    const uint32_t *byte = demo.tokenizer->byte_tokens;
    const int32_t ids[] = {1, (int32_t)byte[0xc3], 2, (int32_t)byte[0xa9], 0, (int32_t)byte[0xe2], (int32_t)byte[0x82]};
    blob plain = text_from(demo.tokenizer, 0, ids, 7);
    assert_blob(&plain, "\xc3\xa9\xef\xbf\xbd", 5);
    blob shown = text_from(demo.tokenizer, SH_TEXT_CONTROL, ids, 7);
    const char wanted[] = "<|im_start|>\xef\xbf\xbd<|im_end|>\xef\xbf\xbd<|endoftext|>\xef\xbf\xbd";
    assert_blob(&shown, wanted, sizeof wanted - 1);
    free(plain.data);
    free(shown.data);
}

static void a_finished_stream_is_as_new(void **state) {
    (void)state;
    sh_text *text;
    const char *utf8;
    size_t n;
    require_ok(sh_text_open(demo.tokenizer, 0, &text));
    for (int i = 0; i < 2; i++) {
        require_ok(sh_text_push(text, (int32_t)demo.tokenizer->byte_tokens[0xe2], &utf8, &n));
        assert_int_equal(n, 0);
        require_fails(SH_ERR_ARGUMENT, "token 4096 is not in the vocabulary, which has 4096",
                      sh_text_push(text, 4096, &utf8, &n));
        require_ok(sh_text_push(text, (int32_t)demo.tokenizer->byte_tokens[0x82], &utf8, &n));
        assert_int_equal(n, 0);
        sh_text_finish(text, &utf8, &n);
        assert_int_equal(n, 3);
        assert_memory_equal(utf8, "\xef\xbf\xbd", 3);
        sh_text_finish(text, &utf8, &n);
        assert_int_equal(n, 0);
        require_ok(sh_text_push(text, (int32_t)demo.tokenizer->byte_tokens['a'], &utf8, &n));
        assert_int_equal(n, 1);
    }
    sh_text_close(text);
    sh_text_close(NULL);
}

static void bytes_of_tokens(void **state) {
    (void)state;
    const char *bytes;
    size_t n;
    require_ok(sh_token_bytes(demo.tokenizer, 2, &bytes, &n));
    assert_int_equal(n, 10);
    assert_memory_equal(bytes, "<|im_end|>", 10);
    require_ok(sh_token_bytes(demo.tokenizer, (int32_t)demo.tokenizer->byte_tokens[0xff], &bytes, &n));
    assert_int_equal(n, 1);
    assert_int_equal((uint8_t)bytes[0], 0xff);
    int32_t *ids;
    size_t n_ids;
    require_ok(sh_tokenize(demo.tokenizer, " the", 4, 0, &ids, &n_ids));
    assert_int_equal(n_ids, 1);
    require_ok(sh_token_bytes(demo.tokenizer, ids[0], &bytes, &n));
    assert_int_equal(n, 4);
    assert_memory_equal(bytes, " the", 4);
    sh_free(ids);
    require_fails(SH_ERR_ARGUMENT, "token -1 is not in the vocabulary, which has 4096",
                  sh_token_bytes(demo.tokenizer, -1, &bytes, &n));
    require_fails(SH_ERR_ARGUMENT, "token 4096 is not in the vocabulary, which has 4096",
                  sh_token_bytes(demo.tokenizer, 4096, &bytes, &n));
    assert_false(sh_token_is_control(demo.tokenizer, -1));
    assert_false(sh_token_is_control(demo.tokenizer, 4096));
}

static void arguments_out_of_range(void **state) {
    (void)state;
    int32_t *ids;
    size_t n;
    sh_text *text;
    require_fails(SH_ERR_ARGUMENT, "flags to tokenize with are 0x4, but only 0x3 are known",
                  sh_tokenize(demo.tokenizer, "a", 1, 4, &ids, &n));
    require_fails(SH_ERR_ARGUMENT, "a text of 1073741825 bytes is too long to tokenize at once: at most 1073741824",
                  sh_tokenize(demo.tokenizer, "a", ((size_t)1 << 30) + 1, 0, &ids, &n));
    require_fails(SH_ERR_ARGUMENT, "flags of a text stream are 0x2, but only 0x1 is known",
                  sh_text_open(demo.tokenizer, 2, &text));
    assert_null(text);
}

/* ---- normalization -------------------------------------------------------------------------------------- */

static void assert_normalized(const char *from, size_t n, const char *to, size_t n_to) {
    sh_normalizer work = {0};
    sh_view out;
    require_ok(sh_normalize(demo.tokenizer->inert, &work, (sh_view){from, n}, &out));
    assert_int_equal(out.length, n_to);
    assert_memory_equal(out.data, to, n_to);
    if (n == n_to && memcmp(from, to, n) == 0) assert_ptr_equal(out.data, from); /* not copied */
    sh_normalizer_close(&work);
}

static void normal_form(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"", ""},
        {"plain ASCII", "plain ASCII"},
        {"\xc3\xa9\xe6\xbc\xa2\xed\x95\x9c\xf0\x9f\x98\x80", "\xc3\xa9\xe6\xbc\xa2\xed\x95\x9c\xf0\x9f\x98\x80"},
        {"xe\xcc\x81y", "x\xc3\xa9y"},
        {"\xcc\x81", "\xcc\x81"},
        {"a\xcc\x81\xcc\xa3"
         "b",
         "\xe1\xba\xa1\xcc\x81"
         "b"},                                        /* the dot below goes first */
        {"\xe2\x84\xab", "\xc3\x85"},                 /* the angstrom sign is a letter */
        {"\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc"}, /* excluded from composition */
        {"\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", "\xed\x95\x9c"},
        {"\xea\xb0\x80\xe1\x86\xa7", "\xea\xb0\x80\xe1\x86\xa7"}, /* U+11A7 is no final consonant */
        {"\xe0\xa7\x87\xe0\xa6\xbe", "\xe0\xa7\x8b"},             /* composes with a starter */
        {"\xe3\x81\x8b\xe3\x82\x99", "\xe3\x81\x8c"},
        {"e\xcc\x81 e\xcc\x81", "\xc3\xa9 \xc3\xa9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_normalized(cases[i].from, strlen(cases[i].from), cases[i].to, strlen(cases[i].to));
}

/* Long enough that the marks are counted rather than inserted. */
static void many_marks_in_the_wrong_order(void **state) {
    (void)state;
    enum { EACH = 500 };
    char from[1 + 4 * EACH], to[3 + 4 * EACH];
    from[0] = 'e';
    memcpy(to, "\xe1\xba\xb9", 3); /* e with a dot below */
    for (int i = 0; i < EACH; i++) {
        memcpy(from + 1 + 2 * i, "\xcc\x81", 2);
        memcpy(from + 1 + 2 * EACH + 2 * i, "\xcc\xa3", 2);
        memcpy(to + 3 + 2 * (EACH - 1) + 2 * i, "\xcc\x81", 2);
        if (i < EACH - 1) memcpy(to + 3 + 2 * i, "\xcc\xa3", 2);
    }
    assert_normalized(from, sizeof from, to, 3 + 2 * (EACH - 1) + 2 * EACH);
}

/* ---- time ----------------------------------------------------------------------------------------------- */

static double seconds_for(const char *unit, size_t bytes) {
    blob text = repeat(unit, bytes);
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        struct timespec begin, end;
        int32_t *ids;
        size_t n;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        require_ok(sh_tokenize(demo.tokenizer, text.data, text.n, SH_TOKENIZE_SPECIAL, &ids, &n));
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        sh_free(ids);
        double took = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
        if (took < best) best = took;
    }
    free(text.data);
    return best;
}

/* Eight times the text may take twenty-four times as long, where what is quadratic takes sixty-four times; and a moment
 * more, as the memory of long texts is mapped anew each time, which is slow on some machines. */
static void time_is_linear(void **state) {
    (void)state;
    static const char *const units[] = {
        "a",
        " ",
        "\n",
        " \n",
        "\r\n",
        "\xf0\x9f\x98\x80",
        "a b",
        "!",
        "\xe4\xb8\xad",
        "\xff",
        "\xcc\x81\xcc\xa3",
        "\xcc\xa3\xcc\xa3\xcc\x81",
        "\xe1\x84\x80\xe1\x85\xa1",
        "<|im_end|",
        "<|im_end|>",
        "'s",
        "1",
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        double small = seconds_for(units[i], 1 << 17), large = seconds_for(units[i], 1 << 20);
        if (large > 24 * small + 0.25)
            fail_msg("1 MB of unit %zu takes %.1f ms, 128 KB %.2f ms", i, 1e3 * large, 1e3 * small);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_ids),
        cmocka_unit_test(every_way_gives_the_same_ids),
        cmocka_unit_test(beginning_of_text),
        cmocka_unit_test(the_long_s_is_an_s),
        cmocka_unit_test(merges_go_by_rank),
        cmocka_unit_test(user_text_never_becomes_a_control_token),
        cmocka_unit_test(the_longest_added_token_at_the_leftmost_place),
        cmocka_unit_test(chat_marks_are_control_whatever_their_type),
        cmocka_unit_test(description),
        cmocka_unit_test(text_comes_back),
        cmocka_unit_test(streams_cut_anywhere),
        cmocka_unit_test(invalid_bytes_become_replacements),
        cmocka_unit_test(control_tokens_in_a_stream),
        cmocka_unit_test(a_finished_stream_is_as_new),
        cmocka_unit_test(bytes_of_tokens),
        cmocka_unit_test(arguments_out_of_range),
        cmocka_unit_test(normal_form),
        cmocka_unit_test(many_marks_in_the_wrong_order),
        cmocka_unit_test(time_is_linear),
    };
    return cmocka_run_group_tests(tests, open_demo, close_demo);
}
