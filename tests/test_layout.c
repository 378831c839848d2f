/* test_layout.c: which format each tensor has, what a file is refused for, and the public sh_file.
 *
 * Files are built byte by byte. Every refusal and every error is held against its whole text: it must name the tensor
 * or key, both numbers and a way out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/layout.h"
#include "support/gguf_bytes.h"

/* ---- building files ------------------------------------------------------------------------------------- */

static uint64_t random_state = 7;

static uint32_t random_bits(void) { /* splitmix64 */
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

typedef enum contents {
    ZEROS,
    SCALE_FIRST, /* blocks of a half and codes 0 to 2 */
    CODES_FIRST,
    NOISE,
} contents;

typedef struct spec {
    const char *name;
    uint32_t type;
    uint64_t cols, rows;
    uint64_t bytes; /* that its data takes in the file */
    contents contents;
} spec;

typedef struct recipe {
    spec tensors[8]; /* as far as they have a name */
    void (*keys)(gguf_bytes *b);
    uint32_t n_keys;
    bool unpadded;
} recipe;

static void put_block(gguf_bytes *b, size_t codes, bool scale_first) {
    uint16_t scale = (uint16_t)(0x2000 + random_bits() % 0x0800); /* 0.0078 to 0.031 */
    if (scale_first) gb_u16(b, scale);
    for (size_t i = 0; i < codes; i++) {
        uint8_t byte = 0;
        for (int k = 0; k < 4; k++) byte = (uint8_t)(byte << 2 | random_bits() % 3);
        gb_u8(b, byte);
    }
    if (!scale_first) gb_u16(b, scale);
}

static void put_contents(gguf_bytes *b, const spec *s, size_t block) {
    size_t end = b->n + s->bytes;
    while (b->n < end && s->contents != ZEROS) {
        if (s->contents == NOISE) {
            gb_u8(b, (uint8_t)random_bits());
        } else {
            put_block(b, block - 2, s->contents == SCALE_FIRST);
        }
    }
    if (b->n > end) b->n = end; /* where no whole blocks fill it */
    gb_fill(b, 0, end - b->n);
}

static gguf_bytes build(const recipe *r) {
    gguf_bytes b = {0};
    uint64_t offset = 0;
    uint32_t n = 0;
    while (n < 8 && r->tensors[n].name) n++;
    gb_head(&b, 3, n, r->n_keys);
    if (r->keys) r->keys(&b);
    for (uint32_t i = 0; i < n; i++) {
        const spec *s = &r->tensors[i];
        gb_tensor(&b, s->name, s->type, s->cols, s->rows, offset);
        offset += s->bytes;
        if (!r->unpadded) offset = (offset + 31) / 32 * 32;
    }
    gb_pad(&b, 32);
    for (uint32_t i = 0; i < n; i++) {
        const spec *s = &r->tensors[i];
        put_contents(&b, s, s->bytes * 64 == s->cols * (s->rows ? s->rows : 1) * 18 ? 18 : 34);
        if (!r->unpadded) gb_pad(&b, 32);
    }
    return b;
}

typedef struct opened {
    gguf_bytes bytes;
    sh_gguf *gguf;
    sh_layout layout;
    sh_status status;
} opened;

static opened open_bytes(gguf_bytes bytes, sh_q2_layout wanted) {
    opened o = {.bytes = bytes};
    if (sh_gguf_parse(bytes.data, bytes.n, &o.gguf)) fail_msg("%s", sh_error_text());
    o.status = sh_layout_open(o.gguf, wanted, &o.layout);
    return o;
}

static void close_opened(opened *o) {
    sh_layout_close(&o->layout);
    sh_gguf_close(o->gguf);
    gb_free(&o->bytes);
}

/* `text` with NUMBERS replaced by what the blocks of type 42 in the file hold under both orders, counted here one code
 * at a time. Files of more than 4096 blocks are sampled, and not for this. */
static void fill_in_numbers(const gguf_bytes *bytes, const char *text, char *out, size_t capacity) {
    unsigned blocks = 0, threes[2] = {0}, scales[2] = {0};
    const char *hole = strstr(text, "NUMBERS");
    sh_gguf *gguf;
    uint64_t n;
    uint32_t n_parts;
    if (sh_gguf_parse(bytes->data, bytes->n, &gguf)) fail_msg("%s", sh_error_text());
    const sh_gguf_tensor *tensors = sh_gguf_tensors(gguf, &n);
    for (uint64_t i = 0; hole && i < n; i++) {
        if (tensors[i].type != 42) continue;
        const uint8_t *block = sh_gguf_parts(gguf, &n_parts)[0].data + tensors[i].offset;
        for (uint64_t k = 0; k < tensors[i].dims[0] * tensors[i].dims[1] / 128; k++, block += 34, blocks++) {
            for (int codes_first = 0; codes_first < 2; codes_first++) {
                const uint8_t *codes = codes_first ? block : block + 2, *scale = codes_first ? block + 32 : block;
                for (int j = 0; j < 128; j++)
                    threes[codes_first] += codes[j / 4] >> j % 4 * 2 & 1 && codes[j / 4] >> j % 4 * 2 & 2;
                scales[codes_first] += scale[0] + 256 * scale[1] > 0x4000; /* as a half: 2; negative ones are above */
            }
        }
    }
    sh_gguf_close(gguf);
    if (!hole) {
        snprintf(out, capacity, "%s", text);
        return;
    }
    snprintf(out, capacity,
             "%.*sof %u blocks scale-first gives %u codes 3 and %u impossible scales, codes-first %u and %u%s",
             (int)(hole - text), text, blocks, threes[0], scales[0], threes[1], scales[1], hole + 7);
}

static void check_error(gguf_bytes bytes, sh_q2_layout wanted, const char *pattern) {
    char text[1024];
    fill_in_numbers(&bytes, pattern, text, sizeof text);
    opened o = open_bytes(bytes, wanted);
    assert_string_equal(o.status ? sh_error_text() : "opened", text);
    assert_int_equal(o.status, SH_ERR_FORMAT);
    assert_null(o.layout.tensors);
    close_opened(&o);
}

static void check_refusal(gguf_bytes bytes, const char *text) {
    opened o = open_bytes(bytes, SH_Q2_AUTO);
    if (o.status) fail_msg("%s", sh_error_text());
    assert_string_equal(o.layout.refusal, text);
    close_opened(&o);
}

static void check_q2(gguf_bytes bytes, sh_q2_layout wanted, sh_q2_layout expected, const char *pattern) {
    char reason[1024];
    fill_in_numbers(&bytes, pattern, reason, sizeof reason);
    static const sh_format formats[] = {SH_FORMATS, SH_Q2_0_G64, SH_Q2_0_G128, SH_Q2_0_CODES_FIRST};
    opened o = open_bytes(bytes, wanted);
    if (o.status) fail_msg("%s", sh_error_text());
    assert_string_equal(o.layout.q2_reason, reason);
    assert_int_equal(o.layout.q2, expected);
    assert_string_equal(o.layout.refusal, "");
    for (uint64_t i = 0; i < o.layout.n; i++) {
        const sh_tensor *t = &o.layout.tensors[i];
        if (t->type == 42) assert_int_equal(t->format, formats[expected]);
    }
    close_opened(&o);
}

/* ---- formats -------------------------------------------------------------------------------------------- */

static void test_every_format(void **state) {
    (void)state;
    static const struct {
        uint32_t type;
        sh_format format;
    } cases[] = {
        {0, SH_F32},   {1, SH_F16},   {30, SH_BF16},  {8, SH_Q8_0},   {2, SH_Q4_0},    {3, SH_Q4_1},
        {14, SH_Q6_K}, {41, SH_Q1_0}, {34, SH_TQ1_0}, {35, SH_TQ2_0}, {142, SH_PQ2_0}, {143, SH_PTQ1_0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sh_format_info *info = sh_format_get(cases[i].format);
        uint64_t bytes = 256 * 3 / info->group * info->bytes;
        recipe r = {.tensors = {{"first", 0, 5, 0, 20, NOISE},
                                {"w", cases[i].type, 256, 3, bytes, NOISE},
                                {"last", 0, 1, 0, 4, NOISE}}};
        opened o = open_bytes(build(&r), SH_Q2_AUTO);
        if (o.status) fail_msg("%s: %s", info->name, sh_error_text());
        assert_string_equal(o.layout.refusal, "");
        assert_int_equal(o.layout.q2, SH_Q2_AUTO);
        assert_string_equal(o.layout.q2_reason, "");
        const sh_tensor *t = sh_layout_find(&o.layout, "w");
        assert_ptr_equal(t, &o.layout.tensors[1]);
        assert_int_equal(t->format, cases[i].format);
        assert_string_equal(t->format_name, info->name);
        assert_int_equal(t->bytes, bytes);
        assert_int_equal(t->dims[0], 256);
        assert_int_equal(t->dims[1], 3);
        assert_int_equal(t->dims[3], 1);
        assert_int_equal(t->n_dims, 2);
        assert_ptr_equal(t->data, o.bytes.data + t->offset);
        assert_int_equal(t->offset % 32, 0);
        assert_null(sh_layout_find(&o.layout, "absent"));
        close_opened(&o);
    }
}

static void keys_oxi_version(gguf_bytes *b) {
    gb_key_string(b, "general.quantization_version", "TQ2_0_G128");
}

static void keys_oxi_format(gguf_bytes *b) {
    gb_key_string(b, "oxibonsai.quant_format", "TQ2_0_G128");
}

static void keys_llm(gguf_bytes *b) {
    gb_key_u32(b, "llm.block_count", 28);
}

static void keys_usual_version(gguf_bytes *b) {
    gb_key_u32(b, "general.quantization_version", 2);
}

/* Number 35 is ggml's unless the file is OxiBonsai's: its bytes cannot tell. */
static void test_type_35(void **state) {
    (void)state;
    static const struct {
        void (*keys)(gguf_bytes *b);
        sh_format format;
    } cases[] = {
        {NULL, SH_TQ2_0},
        {keys_usual_version, SH_TQ2_0},
        {keys_oxi_version, SH_TQ2_0_OXI},
        {keys_oxi_format, SH_TQ2_0_OXI},
        {keys_llm, SH_TQ2_0_OXI},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recipe r = {.tensors = {{"w", 35, 256, 2, 132, NOISE}}, .keys = cases[i].keys, .n_keys = cases[i].keys != NULL};
        opened o = open_bytes(build(&r), SH_Q2_AUTO);
        assert_int_equal(o.status, SH_OK);
        assert_int_equal(o.layout.tensors[0].format, cases[i].format);
        assert_string_equal(o.layout.refusal, "");
        close_opened(&o);
    }
}

/* ---- type 42 -------------------------------------------------------------------------------------------- */

#define OVERRIDE "; if you know the layout, give it as q2-layout (64, 128 or codes-first)"

/* Two tensors of type 42, the larger of 1280 blocks of 128, between plain ones. */
static recipe q2_recipe(uint32_t bytes_a_block, contents filled) {
    uint64_t blocks = bytes_a_block == 18 ? 2 : 1; /* in 128 elements */
    return (recipe){.tensors = {{"norm", 0, 128, 0, 512, NOISE},
                                {"a", 42, 256, 640, 1280 * blocks * bytes_a_block, filled},
                                {"b", 42, 128, 3, 3 * blocks * bytes_a_block, filled},
                                {"last", 0, 8, 0, 32, NOISE}}};
}

static void test_q2_auto(void **state) {
    (void)state;
    recipe r = q2_recipe(18, SCALE_FIRST);
    check_q2(build(&r), SH_Q2_AUTO, SH_Q2_64,
             "offsets fit groups of 64 (18 bytes) for 2 of 2 tensors, groups of 128 (34 bytes) for 1");
    r = q2_recipe(34, SCALE_FIRST);
    check_q2(build(&r), SH_Q2_AUTO, SH_Q2_128, "offsets fit groups of 128, not of 64; NUMBERS");
    r = q2_recipe(34, CODES_FIRST);
    check_q2(build(&r), SH_Q2_AUTO, SH_Q2_CODES_FIRST, "offsets fit groups of 128, not of 64; NUMBERS");
}

static void test_q2_marks(void **state) {
    (void)state;
    static const struct {
        void (*keys)(gguf_bytes *b);
        const char *key;
        bool names_it; /* its value is the layout's name; the other only says who wrote the file */
    } cases[] = {
        {keys_oxi_version, "general.quantization_version", true},
        {keys_oxi_format, "oxibonsai.quant_format", true},
        {keys_llm, "llm.block_count", false},
    };
    for (size_t i = 0; i < 3; i++) {
        char text[400];
        recipe r = q2_recipe(34, CODES_FIRST);
        r.keys = cases[i].keys;
        r.n_keys = 1;
        snprintf(text, sizeof text, "offsets fit groups of 128; key '%s' marks OxiBonsai; NUMBERS", cases[i].key);
        check_q2(build(&r), SH_Q2_AUTO, SH_Q2_CODES_FIRST, text);
        /* contents that fit both orders: the mark decides */
        r = q2_recipe(34, ZEROS);
        r.keys = cases[i].keys;
        r.n_keys = 1;
        snprintf(text, sizeof text, "offsets fit groups of 128; key '%s' marks OxiBonsai; NUMBERS", cases[i].key);
        check_q2(build(&r), SH_Q2_AUTO, SH_Q2_CODES_FIRST, text);
        /* contents against the mark */
        r = q2_recipe(34, SCALE_FIRST);
        r.keys = cases[i].keys;
        r.n_keys = 1;
        snprintf(text, sizeof text,
                 "key '%s' says that type 42 is codes-first, the contents say that it is not: NUMBERS" OVERRIDE,
                 cases[i].key);
        if (cases[i].names_it) {
            check_error(build(&r), SH_Q2_AUTO, text);
        } else {
            check_q2(build(&r), SH_Q2_AUTO, SH_Q2_128, "offsets fit groups of 128, not of 64; NUMBERS");
        }
        /* offsets against the mark */
        r = q2_recipe(18, SCALE_FIRST);
        r.keys = cases[i].keys;
        r.n_keys = 1;
        snprintf(text, sizeof text,
                 "key '%s' says TQ2_0_G128, type 42 in groups of 128, but the offsets fit groups of 64 only" OVERRIDE,
                 cases[i].key);
        if (cases[i].names_it) {
            check_error(build(&r), SH_Q2_AUTO, text);
        } else {
            check_q2(build(&r), SH_Q2_AUTO, SH_Q2_64,
                     "offsets fit groups of 64 (18 bytes) for 2 of 2 tensors, groups of 128 (34 bytes) for 1");
        }
    }
}

/* Early OxiBonsai files: each tensor begins where the one before it ends. */
static void test_q2_unpadded(void **state) {
    (void)state;
    recipe r = q2_recipe(34, CODES_FIRST);
    r.unpadded = true;
    check_q2(build(&r), SH_Q2_AUTO, SH_Q2_CODES_FIRST, "offsets fit groups of 128, not of 64; NUMBERS");
    /* type 41 in a file that is marked, and in one that is not */
    recipe marked = {.tensors = {{"a", 41, 128, 1, 18, NOISE}, {"b", 41, 128, 1, 18, NOISE}},
                     .keys = keys_llm,
                     .n_keys = 1,
                     .unpadded = true};
    opened o = open_bytes(build(&marked), SH_Q2_AUTO);
    assert_int_equal(o.status, SH_OK);
    assert_ptr_equal(o.layout.tensors[1].data, o.layout.tensors[0].data + 18);
    close_opened(&o);
    marked.n_keys = 0;
    marked.keys = NULL;
    check_error(
        build(&marked), SH_Q2_AUTO,
        "tensor 'b' has offset 18, no multiple of the alignment 32: the file is damaged; download or convert it again");
    /* a gap that neither padding nor its absence explains */
    recipe gap = {.tensors = {{"a", 41, 128, 1, 20, NOISE}, {"b", 41, 128, 1, 18, NOISE}},
                  .keys = keys_llm,
                  .n_keys = 1,
                  .unpadded = true};
    check_error(
        build(&gap), SH_Q2_AUTO,
        "tensor 'b' has offset 20, no multiple of the alignment 32: the file is damaged; download or convert it again");
}

static void test_q2_ends(void **state) {
    (void)state;
    /* the only tensor: the end of the file tells, padded or not */
    recipe alone = {.tensors = {{"a", 42, 128, 100, 3400, CODES_FIRST}}, .keys = NULL, .n_keys = 0, .unpadded = true};
    check_q2(build(&alone), SH_Q2_AUTO, SH_Q2_CODES_FIRST, "offsets fit groups of 128, not of 64; NUMBERS");
    alone.unpadded = false;
    check_q2(build(&alone), SH_Q2_AUTO, SH_Q2_CODES_FIRST, "offsets fit groups of 128, not of 64; NUMBERS");
    alone.tensors[0].bytes = 3600;
    check_q2(build(&alone), SH_Q2_AUTO, SH_Q2_64,
             "offsets fit groups of 64 (18 bytes) for 1 of 1 tensors, groups of 128 (34 bytes) for 0");
    alone.tensors[0].bytes = 3000;
    check_error(
        build(&alone), SH_Q2_AUTO,
        "no reading of type 42 fits the offsets: in groups of 64 what follows 'a' would be at offset 3616, but the end "
        "of the file is at 3008; in groups of 128 what follows 'a' would be at offset 3424, but the end of the file is "
        "at 3008: the file is damaged" OVERRIDE);
    /* what follows the last tensor is no evidence where another tensor has some, and a last tensor that is cut short is
     * reported as such */
    recipe two = {.tensors = {{"a", 42, 256, 64, 4608, SCALE_FIRST}, {"b", 42, 256, 64, 6000, NOISE}}};
    check_q2(build(&two), SH_Q2_AUTO, SH_Q2_64,
             "offsets fit groups of 64 (18 bytes) for 1 of 2 tensors, groups of 128 (34 bytes) for 0");
    two.tensors[1].bytes = 4096;
    check_error(
        build(&two), SH_Q2_AUTO,
        "tensor 'b' (Q2_0_G64) takes 4608 bytes at byte 4736, but the file ends at 8832: it is cut short or damaged; "
        "download it again");
}

static void test_q2_contradictions(void **state) {
    (void)state;
    /* too small to tell: 36 or 34 bytes, each padded to 64 */
    recipe small = {.tensors = {{"a", 42, 128, 1, 36, SCALE_FIRST}, {"b", 42, 128, 1, 36, SCALE_FIRST}}};
    check_error(
        build(&small), SH_Q2_AUTO,
        "tensors of type 42 fit their offsets in groups of 64 and of 128 alike, being so few or so small" OVERRIDE);
    /* one tensor of each kind */
    recipe mixed = q2_recipe(34, SCALE_FIRST);
    mixed.tensors[2] = (spec){"b", 42, 256, 64, 4608, SCALE_FIRST};
    check_error(
        build(&mixed), SH_Q2_AUTO,
        "no reading of type 42 fits the offsets: in groups of 64 what follows 'a' would be at offset 46592, but 'b' is "
        "at "
        "44032; in groups of 128 what follows 'b' would be at offset 48384, but 'last' is at 48640: the file is "
        "damaged" OVERRIDE);
    /* rows that groups of 128 cannot have, and offsets that groups of 64 do not fit */
    recipe rows = {.tensors = {{"a", 42, 192, 64, 9999, SCALE_FIRST}, {"last", 0, 8, 0, 32, NOISE}}};
    check_error(build(&rows), SH_Q2_AUTO,
                "no reading of type 42 fits the offsets: in groups of 64 what follows 'a' would be at offset 3456, but "
                "'last' is "
                "at 10016; 'a' has rows of 192, no multiple of 128: the file is damaged" OVERRIDE);
    /* contents */
    recipe zeros = q2_recipe(34, ZEROS);
    check_error(build(&zeros), SH_Q2_AUTO,
                "the contents of type 42 in groups of 128 fit both orders: NUMBERS" OVERRIDE);
    recipe noise = q2_recipe(34, NOISE);
    check_error(build(&noise), SH_Q2_AUTO,
                "no reading of type 42 in groups of 128 fits the contents: NUMBERS: the file is damaged" OVERRIDE);
    /* of a large tensor some thousand blocks are looked at, all over it: here only its second half tells */
    recipe large = {.tensors = {{"a", 42, 128, 20001, 680034, SCALE_FIRST}, {"last", 0, 8, 0, 32, NOISE}}};
    gguf_bytes bytes = build(&large);
    memset(bytes.data + bytes.n - 32 - 680064, 0, 10000 * 34);
    opened o = open_bytes(bytes, SH_Q2_AUTO);
    assert_int_equal(o.status, SH_OK);
    assert_int_equal(o.layout.q2, SH_Q2_128);
    unsigned sampled;
    assert_int_equal(sscanf(o.layout.q2_reason, "offsets fit groups of 128, not of 64; of %u blocks", &sampled), 1);
    assert_in_range(sampled, 2000, 5000);
    close_opened(&o);
}

static char last_line[1200];

static void keep_line(void *user, sh_log_level level, const char *line) {
    (void)user;
    assert_int_equal(level, SH_LOG_WARN);
    snprintf(last_line, sizeof last_line, "%s", line);
}

static void test_q2_override(void **state) {
    (void)state;
    sh_log_set(keep_line, NULL);
    recipe r = q2_recipe(34, SCALE_FIRST);
    last_line[0] = 0;
    check_q2(build(&r), SH_Q2_128, SH_Q2_128, "as asked; the offsets fit groups of 128");
    check_q2(build(&r), SH_Q2_CODES_FIRST, SH_Q2_CODES_FIRST, "as asked; the offsets fit groups of 128");
    assert_string_equal(last_line, "");
    r = q2_recipe(18, SCALE_FIRST);
    check_q2(build(&r), SH_Q2_64, SH_Q2_64, "as asked; the offsets fit groups of 64");
    check_q2(build(&r), SH_Q2_128, SH_Q2_128, "as asked, though the offsets fit groups of 64");
    assert_string_equal(last_line, "type 42 is read as 128 as asked, though the offsets fit groups of 64");
    r = q2_recipe(34, SCALE_FIRST);
    check_error(build(&r), SH_Q2_64,
                "tensor 'a' (Q2_0_G64) takes 46080 bytes at byte 704, but 'b' begins at 44224: the file is damaged; "
                "download or "
                "convert it again");
    r.tensors[1].bytes += 1000;
    check_q2(build(&r), SH_Q2_CODES_FIRST, SH_Q2_CODES_FIRST, "as asked, though the offsets fit no reading");
    r = (recipe){.tensors = {{"a", 42, 192, 2, 108, SCALE_FIRST}}};
    check_error(build(&r), SH_Q2_128,
                "tensor 'a' has rows of 192 elements, but Q2_0_G128 has groups of 128: the file is damaged; download "
                "or convert "
                "it again");
    sh_log_set(NULL, NULL);

    sh_q2_layout layout;
    static const char *const texts[] = {"auto", "64", "128", "codes-first"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(sh_q2_layout_from_text(texts[i], &layout), SH_OK);
        assert_int_equal(layout, i);
    }
    assert_int_equal(sh_q2_layout_from_text(NULL, &layout), SH_OK);
    assert_int_equal(layout, SH_Q2_AUTO);
    assert_int_equal(sh_q2_layout_from_text("32", &layout), SH_ERR_ARGUMENT);
    assert_string_equal(sh_error_text(), "q2-layout is '32', but should be auto, 64, 128 or codes-first");
}

/* ---- sound, but not run --------------------------------------------------------------------------------- */

#define OURS     "Q1_0, Q2_0, PQ2_0, PTQ1_0, TQ1_0, TQ2_0, Q4_0, Q4_1, Q8_0, Q6_K, F16, BF16 or F32"
#define BY_LLAMA ", which is not run here; run the file with llama.cpp, or take one of the model in " OURS
#define BY_IK                                                                                                          \
    ", of ik_llama.cpp, which is not run here; run the file with ik_llama.cpp, or take one of the model in " OURS
#define BY_BITNET                                                                                                      \
    ", of BitNet, whose arrangement depends on the machine and the version that wrote it and is not recorded in the "  \
    "file; run the file with BitNet, or convert the original model to TQ2_0 with llama.cpp"

static void test_refused_types(void **state) {
    (void)state;
    static const struct {
        uint32_t type;
        uint64_t bytes; /* of 256 elements */
        const char *text;
    } cases[] = {
        {6, 176, "type 6 (Q5_0)" BY_LLAMA},
        {7, 192, "type 7 (Q5_1)" BY_LLAMA},
        {9, 288, "type 9 (Q8_1)" BY_LLAMA},
        {10, 84, "type 10 (Q2_K)" BY_LLAMA},
        {11, 110, "type 11 (Q3_K)" BY_LLAMA},
        {12, 144, "type 12 (Q4_K)" BY_LLAMA},
        {13, 176, "type 13 (Q5_K)" BY_LLAMA},
        {15, 292, "type 15 (Q8_K)" BY_LLAMA},
        {16, 66, "type 16 (IQ2_XXS)" BY_LLAMA},
        {17, 74, "type 17 (IQ2_XS)" BY_LLAMA},
        {18, 98, "type 18 (IQ3_XXS)" BY_LLAMA},
        {19, 50, "type 19 (IQ1_S)" BY_LLAMA},
        {20, 144, "type 20 (IQ4_NL)" BY_LLAMA},
        {21, 110, "type 21 (IQ3_S)" BY_LLAMA},
        {22, 82, "type 22 (IQ2_S)" BY_LLAMA},
        {23, 136, "type 23 (IQ4_XS)" BY_LLAMA},
        {29, 56, "type 29 (IQ1_M)" BY_LLAMA},
        {4, 144, "type 4 (Q4_2), which llama.cpp itself no longer reads; convert the original model again, to " OURS},
        {31, 144,
         "type 31 (Q4_0_4_4), which llama.cpp itself no longer reads; convert the original model again, to " OURS},
        {26, 1024, "type 26 (I32), which no weight of a known model has; convert the original model again"},
        {36, 96, "type 36 (I2_S)" BY_BITNET},
        {37, 256, "type 37 (I8_S)" BY_BITNET},
        {38, 96, "type 38 (TL1)" BY_BITNET},
        {39, 136,
         "type 39 (MXFP4 or TL2), MXFP4 if llama.cpp wrote it, TL2 if BitNet did, neither of which is run here; run "
         "the file "
         "with the program that wrote it, or take one of the model in " OURS},
        {40, 144,
         "type 40 (NVFP4 or Q1_0_G32), NVFP4 if llama.cpp wrote it, Q1_0 in groups of 32 if PrismML's first fork did, "
         "neither of "
         "which is run here; take the publisher's current file, or one of the model in " OURS},
        {134, 54, "type 134 (IQ1_BN)" BY_IK},
        {135, 68, "type 135 (IQ2_BN)" BY_IK},
        {335, 68, "type 335 (IQ2_BN_R4)" BY_IK},
        {139, 144, "type 139 (IQ4_K)" BY_IK},
        {144, 140, "type 144 (IQ4_KS)" BY_IK},
        {43, 64,
         "type 43 (unknown), a number that no known program writes; look for a newer release of this program, or "
         "download the "
         "file again"},
        {4000000000u, 64,
         "type 4000000000 (unknown), a number that no known program writes; look for a newer release of this program, "
         "or "
         "download the file again"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[600];
        recipe r = {
            .tensors = {{"norm", 0, 8, 0, 32, NOISE}, {"blk.0.w", cases[i].type, 256, 1, cases[i].bytes, NOISE}}};
        snprintf(text, sizeof text, "tensor 'blk.0.w': %s", cases[i].text);
        check_refusal(build(&r), text);
        r.tensors[2] = (spec){"blk.1.w", cases[i].type, 256, 1, cases[i].bytes, NOISE};
        r.tensors[3] = (spec){"blk.2.w", cases[i].type, 256, 1, cases[i].bytes, NOISE};
        snprintf(text, sizeof text, "tensor 'blk.0.w' and 2 more: %s", cases[i].text);
        check_refusal(build(&r), text);
    }
}

/* The numbers of PQ2_0 and PTQ1_0, with the sizes that ik_llama.cpp's types of old had. */
static void test_ik_142_and_143(void **state) {
    (void)state;
    static const struct {
        uint32_t type;
        uint64_t cols, bytes;
        const char *name;
    } cases[] = {
        {142, 4096, 4 * (1024 + 4), "IQ2_TN"}, {142, 4096, 4 * 16 * 66, "IQ2_TN"},
        {143, 4096, 4 * (832 + 2), "IQ1_TN"},  {143, 4096, 4 * 16 * 54, "IQ1_TN"},
        {143, 4160, 4 * (845 + 2), "IQ1_TN"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[600];
        recipe r = {
            .tensors = {{"w", cases[i].type, cases[i].cols, 4, cases[i].bytes, NOISE}, {"n", 0, 8, 0, 32, NOISE}}};
        snprintf(text, sizeof text, "tensor 'w': type %u (%s)" BY_IK, cases[i].type, cases[i].name);
        check_refusal(build(&r), text);
    }
    recipe damaged = {.tensors = {{"w", 142, 4096, 4, 4000, NOISE}, {"n", 0, 8, 0, 32, NOISE}}};
    check_error(
        build(&damaged), SH_Q2_AUTO,
        "tensor 'w' (PQ2_0) takes 4352 bytes at byte 128, but 'n' begins at 4128: the file is damaged; download or "
        "convert it again");
}

static void keys_hadamard(gguf_bytes *b) {
    gb_key_u32(b, "general.file_type", 41);
    gb_key_u32(b, "prism.hadamard.block_size", 1024);
    gb_key_u32(b, "prism.hadamard.version", 1);
}

static void keys_prism(gguf_bytes *b) {
    gb_key_u32(b, "prism.release", 7);
}

static void test_hadamard(void **state) {
    (void)state;
    recipe r = q2_recipe(18, SCALE_FIRST);
    r.keys = keys_hadamard;
    r.n_keys = 3;
    check_refusal(build(&r),
                  "key 'prism.hadamard.block_size' says that the weights are in a Hadamard basis (Bonsai 2), which is "
                  "not undone here; run the file with PrismML's fork of llama.cpp, or take a model of the first "
                  "Bonsai family");
    r.keys = keys_prism;
    r.n_keys = 1;
    check_refusal(build(&r), "");
}

/* ---- damaged -------------------------------------------------------------------------------------------- */

static gguf_bytes raw(uint64_t n, const char *const *names, const uint32_t *types, const uint64_t *cols,
                      const uint64_t *offsets, size_t data) {
    gguf_bytes b = {0};
    gb_head(&b, 3, n, 0);
    for (uint64_t i = 0; i < n; i++) gb_tensor(&b, names[i], types[i], cols[i], 0, offsets[i]);
    gb_pad(&b, 32);
    gb_fill(&b, 0, data);
    return b;
}

static void test_extents(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b"};
    static const uint32_t f32[] = {0, 0};
#define RAW(cols0, cols1, offset0, offset1, data)                                                                      \
    raw(2, names, f32, (uint64_t[]){cols0, cols1}, (uint64_t[]){offset0, offset1}, data)
    check_error(RAW(8, 8, 0, 16, 64), SH_Q2_AUTO,
                "tensor 'a' (F32) takes 32 bytes at byte 96, but 'b' begins at 112: the file is damaged; download or "
                "convert it "
                "again");
    check_error(
        RAW(8, 8, 0, 0, 64), SH_Q2_AUTO,
        "tensor 'a' (F32) takes 32 bytes at byte 96, but 'b' begins at 96: the file is damaged; download or convert it "
        "again");
    check_error(RAW(8, 16, 64, 32, 96), SH_Q2_AUTO,
                "tensor 'b' (F32) takes 64 bytes at byte 128, but 'a' begins at 160: the file is damaged; download or "
                "convert it "
                "again");
    check_error(RAW(8, 8, 0, 32, 63), SH_Q2_AUTO,
                "tensor 'b' (F32) takes 32 bytes at byte 128, but the file ends at 159: it is cut short or damaged; "
                "download it "
                "again");
    check_error(RAW(8, 8, 0, 96, 64), SH_Q2_AUTO,
                "tensor 'b' has offset 96, but the tensor data ends at offset 64: the file is cut short or damaged; "
                "download it "
                "again");
    check_error(RAW(8, 8, 0, 65, 64), SH_Q2_AUTO,
                "tensor 'b' has offset 65, but the tensor data ends at offset 64: the file is cut short or damaged; "
                "download it "
                "again");
    check_error(
        RAW(8, 8, 0, UINT64_MAX - 31, 64), SH_Q2_AUTO,
        "tensor 'b' has offset 18446744073709551584, but the tensor data ends at offset 64: the file is cut short or "
        "damaged; download it again");
    check_error(
        RAW(8, 8, 0, 33, 80), SH_Q2_AUTO,
        "tensor 'b' has offset 33, no multiple of the alignment 32: the file is damaged; download or convert it again");
    check_error(
        RAW(8, INT64_MAX, 0, 32, 64), SH_Q2_AUTO,
        "tensor 'b' (F32) takes 18446744073709551615 bytes at byte 128, but the file ends at 160: it is cut short or "
        "damaged; download it again");
    /* any order and gaps are allowed */
    opened o = open_bytes(RAW(8, 8, 128, 32, 160), SH_Q2_AUTO);
    assert_int_equal(o.status, SH_OK);
    assert_int_equal(o.layout.tensors[0].offset, 96 + 128);
    close_opened(&o);
    /* known types that are not run are held against their extents, too */
    static const uint32_t q5_k[] = {13, 0};
    check_error(raw(2, names, q5_k, (uint64_t[]){512, 8}, (uint64_t[]){0, 320}, 352), SH_Q2_AUTO,
                "tensor 'a' (Q5_K) takes 352 bytes at byte 96, but 'b' begins at 416: the file is damaged; download or "
                "convert it "
                "again");
    static const struct {
        uint32_t type;
        uint64_t cols;
        const char *text;
    } rows[] = {
        {41, 64,
         "tensor 'a' has rows of 64 elements, but Q1_0 has groups of 128: the file is damaged; download or convert it "
         "again"},
        {2, 40,
         "tensor 'a' has rows of 40 elements, but Q4_0 has groups of 32: the file is damaged; download or convert it "
         "again"},
        {34, 128,
         "tensor 'a' has rows of 128 elements, but TQ1_0 has groups of 256: the file is damaged; download or convert "
         "it "
         "again"},
        {12, 128,
         "tensor 'a' has rows of 128 elements, but Q4_K has groups of 256: the file is damaged; download or convert it "
         "again"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_error(raw(1, names, &rows[i].type, &rows[i].cols, (uint64_t[]){0}, 512), SH_Q2_AUTO, rows[i].text);
    /* no tensors at all */
    o = open_bytes(raw(0, NULL, NULL, NULL, NULL, 0), SH_Q2_AUTO);
    assert_int_equal(o.status, SH_OK);
    assert_int_equal(o.layout.n, 0);
    close_opened(&o);
}

/* ---- the public sh_file --------------------------------------------------------------------------------- */

static const char *model(const char *name, char path[512]) {
    snprintf(path, 512, "%s/models/%s", SHOHIN_SOURCE_DIR, name);
    return path;
}

static void test_demo_models(void **state) {
    (void)state;
    static const struct {
        const char *file, *q2;
        const char *format; /* of the embedding */
    } cases[] = {{"stories-q1_0.gguf", NULL, "Q1_0"}, {"stories-q2_0_g64.gguf", "64", "Q2_0_G64"}};
    for (size_t i = 0; i < 2; i++) {
        char path[512], key[100], value[200];
        sh_file *file;
        sh_file_info info;
        sh_tensor_info tensor;
        struct stat about;
        if (sh_file_open(model(cases[i].file, path), NULL, &file)) fail_msg("%s", sh_error_text());
        assert_int_equal(stat(path, &about), 0);
        sh_file_describe(file, &info);
        assert_int_equal(info.version, 3);
        assert_int_equal(info.parts, 1);
        assert_int_equal(info.bytes, about.st_size);
        assert_int_equal(info.parameters, 27272704);
        assert_int_equal(info.n_tensors, 90);
        assert_int_equal(info.n_metadata, 22);
        assert_string_equal(info.architecture, "qwen3");
        assert_non_null(strstr(info.name, "Stories"));
        assert_null(info.refusal);
        if (cases[i].q2) {
            assert_string_equal(info.q2_layout, cases[i].q2);
            assert_string_equal(
                info.q2_reason,
                "offsets fit groups of 64 (18 bytes) for 57 of 57 tensors, groups of 128 (34 bytes) for 0");
        } else {
            assert_null(info.q2_layout);
            assert_null(info.q2_reason);
        }
        assert_int_equal(sh_file_tensor(file, 0, &tensor), SH_OK);
        assert_int_equal(tensor.name_length, 17);
        assert_memory_equal(tensor.name, "token_embd.weight", 17);
        assert_string_equal(tensor.format, cases[i].format);
        assert_int_equal(tensor.n_dims, 2);
        assert_int_equal(tensor.dims[0], 512);
        assert_int_equal(tensor.dims[1], 4096);
        assert_int_equal(tensor.dims[2], 1);
        assert_int_equal(tensor.part, 0);
        assert_int_equal(sh_file_tensor(file, 90, &tensor), SH_ERR_ARGUMENT);
        assert_string_equal(sh_error_text(), "tensor 90 was asked for, but the file has 90");
        assert_int_equal(sh_file_metadata(file, 0, key, sizeof key, value, sizeof value), SH_OK);
        assert_string_equal(key, "general.architecture");
        assert_string_equal(value, "qwen3");
        assert_int_equal(sh_file_metadata(file, 0, key, 8, value, 3), SH_OK);
        assert_string_equal(key, "general");
        assert_string_equal(value, "qw");
        assert_int_equal(sh_file_metadata(file, 22, key, sizeof key, value, sizeof value), SH_ERR_ARGUMENT);
        assert_string_equal(sh_error_text(), "metadata 22 was asked for, but the file has 22");
        sh_file_close(file);
    }
}

/* A real file cut at some length is an error wherever it is cut, until nothing but padding is missing. */
static void test_demo_model_cut(void **state) {
    (void)state;
    char path[512];
    sh_gguf *gguf;
    sh_layout layout;
    uint32_t n_parts;
    if (sh_gguf_open(model("stories-q1_0.gguf", path), &gguf)) fail_msg("%s", sh_error_text());
    const sh_gguf_part *part = sh_gguf_parts(gguf, &n_parts);
    const uint8_t *bytes = part->data - part->start;
    size_t whole = (size_t)(part->start + part->size);
    assert_int_equal(sh_layout_open(gguf, SH_Q2_AUTO, &layout), SH_OK);
    size_t end = 0;
    for (uint64_t i = 0; i < layout.n; i++)
        if (layout.tensors[i].offset + layout.tensors[i].bytes > end)
            end = layout.tensors[i].offset + layout.tensors[i].bytes;
    sh_layout_close(&layout);
    for (size_t n = 0; n <= whole; n += n < part->start ? 13 : 20011) {
        sh_gguf *cut;
        sh_status status = sh_gguf_parse(bytes, n, &cut);
        if (!status) status = sh_layout_open(cut, SH_Q2_AUTO, &layout);
        assert_int_equal(status, n >= end ? SH_OK : SH_ERR_FORMAT);
        if (!status) sh_layout_close(&layout);
        sh_gguf_close(cut);
    }
    sh_gguf_close(gguf);
}

static void test_file_errors(void **state) {
    (void)state;
    char folder[256], path[400], wanted[700];
    sh_file *file;
    sh_file_options options;
    sh_file_info info;
    sh_file_options_default(&options);
    assert_string_equal(options.q2_layout, "auto");
    assert_int_equal(sh_file_open(NULL, NULL, &file), SH_ERR_ARGUMENT);
    assert_int_equal(sh_file_open("x", NULL, NULL), SH_ERR_ARGUMENT);
    options.q2_layout = "130";
    assert_int_equal(sh_file_open("x", &options, &file), SH_ERR_ARGUMENT);
    assert_string_equal(sh_error_text(), "q2-layout is '130', but should be auto, 64, 128 or codes-first");
    sh_file_close(NULL);

    gb_folder_open(folder);
    snprintf(path, sizeof path, "%s/m.gguf", folder);
    recipe r = {.tensors = {{"w", 41, 128, 2, 30, NOISE}, {"n", 0, 8, 0, 32, NOISE}}};
    gguf_bytes b = build(&r);
    gb_save(&b, path);
    gb_free(&b);
    assert_int_equal(sh_file_open(path, NULL, &file), SH_ERR_FORMAT);
    assert_null(file);
    snprintf(wanted, sizeof wanted,
             "%s: tensor 'w' (Q1_0) takes 36 bytes at byte 128, but 'n' begins at 160: the file is damaged; download "
             "or convert it "
             "again",
             path);
    assert_string_equal(sh_error_text(), wanted);

    /* what is sound but not run opens, to be described */
    r = (recipe){.tensors = {{"w", 36, 256, 2, 160, NOISE}}};
    b = build(&r);
    gb_save(&b, path);
    gb_free(&b);
    assert_int_equal(sh_file_open(path, NULL, &file), SH_OK);
    sh_file_describe(file, &info);
    assert_string_equal(info.architecture, "");
    assert_string_equal(info.name, "");
    assert_string_equal(info.refusal, "tensor 'w': type 36 (I2_S)" BY_BITNET);
    sh_tensor_info tensor;
    assert_int_equal(sh_file_tensor(file, 0, &tensor), SH_OK);
    assert_string_equal(tensor.format, "I2_S");
    assert_int_equal(tensor.bytes, 0);
    sh_file_close(file);

    /* the option reaches the layout */
    r = q2_recipe(34, SCALE_FIRST);
    b = build(&r);
    gb_save(&b, path);
    gb_free(&b);
    options.q2_layout = "codes-first";
    assert_int_equal(sh_file_open(path, &options, &file), SH_OK);
    sh_file_describe(file, &info);
    assert_string_equal(info.q2_layout, "codes-first");
    sh_file_close(file);
    gb_folder_close(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_format),      cmocka_unit_test(test_type_35),
        cmocka_unit_test(test_q2_auto),           cmocka_unit_test(test_q2_marks),
        cmocka_unit_test(test_q2_unpadded),       cmocka_unit_test(test_q2_ends),
        cmocka_unit_test(test_q2_contradictions), cmocka_unit_test(test_q2_override),
        cmocka_unit_test(test_refused_types),     cmocka_unit_test(test_ik_142_and_143),
        cmocka_unit_test(test_hadamard),          cmocka_unit_test(test_extents),
        cmocka_unit_test(test_demo_models),       cmocka_unit_test(test_demo_model_cut),
        cmocka_unit_test(test_file_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
