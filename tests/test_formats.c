/* test_formats.c: the format table against golden blocks, and every element in its place.
 *
 * Golden blocks (tests/golden/formats) hold what other programs read and write. They cannot show an element in the
 * wrong place if both sides err alike, so each layout is also held against its bit positions, computed here from the
 * written description alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "format/formats.h"

enum { MAX_ELEMENTS = 256, MAX_BYTES = 256 };

/* ---- golden blocks -------------------------------------------------------------------------------------- */

typedef enum encoder {
    ENCODER_NONE,
    ENCODER_BYTES,  /* writes the golden bytes */
    ENCODER_QUALITY /* errs at most a tenth more */
} encoder;

typedef struct golden {
    const char *name;
    sh_format format;
    encoder encoder;
    int blocks; /* at least so many: an emptied file must not pass */
} golden;

static const golden goldens[] = {
    {"f16", SH_F16, ENCODER_BYTES, 20},
    {"bf16", SH_BF16, ENCODER_BYTES, 20},
    {"q8_0", SH_Q8_0, ENCODER_BYTES, 40},
    {"q4_0", SH_Q4_0, ENCODER_BYTES, 40},
    {"q4_1", SH_Q4_1, ENCODER_BYTES, 40},
    {"q6_k", SH_Q6_K, ENCODER_QUALITY, 15},
    {"q1_0", SH_Q1_0, ENCODER_BYTES, 30},
    {"q2_0_g64", SH_Q2_0_G64, ENCODER_BYTES, 40},
    {"q2_0_g128", SH_Q2_0_G128, ENCODER_BYTES, 20},
    {"q2_0_codes_first", SH_Q2_0_CODES_FIRST, ENCODER_BYTES, 20},
    {"pq2_0", SH_PQ2_0, ENCODER_BYTES, 20},
    {"ptq1_0", SH_PTQ1_0, ENCODER_BYTES, 20},
    {"tq1_0", SH_TQ1_0, ENCODER_BYTES, 15},
    {"tq2_0", SH_TQ2_0, ENCODER_BYTES, 15},
    {"tq2_0_oxi", SH_TQ2_0_OXI, ENCODER_BYTES, 15},
};

static int read_floats(const char *text, float *out) {
    int n = 0, used;
    for (uint32_t bits; sscanf(text, "%x%n", &bits, &used) == 1; text += used) {
        assert_true(n < MAX_ELEMENTS);
        out[n++] = sh_float_from_bits(bits);
    }
    return n;
}

static int read_hex(const char *text, uint8_t *out) {
    int n = 0;
    for (unsigned byte; sscanf(text, "%2x", &byte) == 1; text += 2) {
        assert_true(n < MAX_BYTES);
        out[n++] = (uint8_t)byte;
    }
    return n;
}

static double error_of(const float *x, const float *y, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += ((double)y[i] - x[i]) * ((double)y[i] - x[i]);
    return sqrt(sum / n);
}

static void check_encoder(const golden *g, const float *x, int n, const uint8_t *block, int n_bytes, const float *v) {
    uint8_t made[MAX_BYTES] = {0};
    float decoded[MAX_ELEMENTS];
    sh_format_encode(g->format, x, (size_t)n, made);
    if (g->encoder == ENCODER_BYTES) {
        assert_memory_equal(made, block, n_bytes);
        return;
    }
    sh_format_decode(g->format, made, (size_t)n, decoded);
    assert_true(error_of(x, decoded, n) <= 1.1 * error_of(x, v, n));
}

static void check_golden(const golden *g) {
    static char line[1 << 16];
    float x[MAX_ELEMENTS], v[MAX_ELEMENTS], decoded[MAX_ELEMENTS];
    uint8_t block[MAX_BYTES];
    int n_x = 0, n_bytes = 0, blocks = 0, encoded = 0;
    const sh_format_info *info = sh_format_get(g->format);
    snprintf(line, sizeof line, "%s/tests/golden/formats/%s.txt", SHOHIN_SOURCE_DIR, g->name);
    FILE *file = fopen(line, "r");
    if (!file) fail_msg("%s is missing", line);
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#' || line[0] == '\n') continue;
        assert_int_equal(line[1], ' ');
        if (line[0] == 'x') {
            n_x = read_floats(line + 2, x);
        } else if (line[0] == 'b') {
            n_bytes = read_hex(line + 2, block);
        } else {
            assert_int_equal(line[0], 'v');
            int n = read_floats(line + 2, v);
            assert_int_equal(n_bytes, n / (int)info->group * (int)info->bytes);
            sh_format_decode(g->format, block, (size_t)n, decoded);
            assert_memory_equal(decoded, v, (size_t)n * sizeof *v);
            blocks++;
            if (n_x) {
                assert_int_equal(n_x, n);
                check_encoder(g, x, n, block, n_bytes, v);
                encoded++;
            }
            n_x = 0;
        }
    }
    fclose(file);
    assert_true(blocks >= g->blocks);
    assert_true(encoded >= 5);
}

static void test_golden_blocks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof goldens / sizeof goldens[0]; i++) check_golden(&goldens[i]);
}

/* ---- the example blocks --------------------------------------------------------------------------------- */

/* Weights (i * i + i / 7) % 3 - 1 with scale 1, packed by hand from the drawings in docs/FORMATS.md. */
static void test_example_blocks(void **state) {
    (void)state;
    static const struct {
        sh_format format;
        const char *hex;
    } examples[] = {
        {SH_PTQ1_0, "1567a805705c22e3ac7bcab6a1e429ee29dd05523b76a739ab3d003c"},
        {SH_PQ2_0, "003c1485a6892050149a26824051689a080245a16922081485a6892050149a268240"},
    };
    float x[128], decoded[128];
    for (int i = 0; i < 128; i++) x[i] = (float)((i * i + i / 7) % 3 - 1);
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        uint8_t block[MAX_BYTES], made[MAX_BYTES];
        int n = read_hex(examples[i].hex, block);
        assert_int_equal(n, sh_format_get(examples[i].format)->bytes);
        sh_format_decode(examples[i].format, block, 128, decoded);
        assert_memory_equal(decoded, x, sizeof x);
        sh_format_encode(examples[i].format, x, 128, made);
        assert_memory_equal(made, block, (size_t)n);
    }
}

/* ---- element maps --------------------------------------------------------------------------------------- */

/* Writes the block in which every element is at rest (0; in Q1_0: -scale) but element j, which is lit: by the positions
 * in the written description. Returns the value of the lit element. */
typedef float light_fn(int j, uint8_t *block);

static void put_half(uint8_t *p, uint16_t half) {
    p[0] = (uint8_t)(half & 255);
    p[1] = (uint8_t)(half >> 8);
}

enum { ONE = 0x3c00 }; /* as a half */

static float light_f32(int j, uint8_t *b) {
    (void)j;
    memcpy(b, "\0\0\x80\x3f", 4);
    return 1;
}

static float light_f16(int j, uint8_t *b) {
    (void)j;
    put_half(b, ONE);
    return 1;
}

static float light_bf16(int j, uint8_t *b) {
    (void)j;
    put_half(b, 0x3f80);
    return 1;
}

static float light_q8_0(int j, uint8_t *b) {
    put_half(b, ONE);
    b[2 + j] = 127;
    return 127;
}

static float light_q4_0(int j, uint8_t *b) { /* nibbles at rest hold 8, the lit one 0 */
    put_half(b, ONE);
    memset(b + 2, 0x88, 16);
    b[2 + j % 16] = j < 16 ? 0x80 : 0x08;
    return -8;
}

static float light_q4_1(int j, uint8_t *b) {
    put_half(b, ONE);
    b[4 + j % 16] = j < 16 ? 0x0f : 0xf0;
    return 15;
}

/* Codes at rest hold 32, whose low nibble is 0 and whose high bits are 2; the lit one 0. Its scale is -128, all others
 * 0. */
static float light_q6_k(int j, uint8_t *b) {
    memset(b + 128, 0xaa, 64);
    int l = j % 128;
    b[128 + j / 128 * 32 + l % 32] &= (uint8_t) ~(3 << l / 32 * 2);
    b[192 + j / 16] = 0x80;
    put_half(b + 208, 0xa000); /* -1/128 */
    return -32;
}

static float light_q1_0(int j, uint8_t *b) {
    put_half(b, ONE);
    b[2 + j / 8] = (uint8_t)(1 << j % 8);
    return 1;
}

static void light_two_bits(int j, int n, uint8_t *codes) { /* at rest 1, lit 2 */
    memset(codes, 0x55, (size_t)n / 4);
    codes[j / 4] = (uint8_t)(0x55 + (1 << j % 4 * 2));
}

static float light_q2_0_g64(int j, uint8_t *b) {
    put_half(b, ONE);
    light_two_bits(j, 64, b + 2);
    return 1;
}

static float light_q2_0_g128(int j, uint8_t *b) {
    put_half(b, ONE);
    light_two_bits(j, 128, b + 2);
    return 1;
}

static float light_codes_first(int j, uint8_t *b) {
    light_two_bits(j, 128, b);
    put_half(b + 32, ONE);
    return 1;
}

static float light_tq2_0_oxi(int j, uint8_t *b) {
    light_two_bits(j, 256, b);
    put_half(b + 64, ONE);
    return 1;
}

static float light_tq2_0(int j, uint8_t *b) {
    int h = j / 128, n = j / 32 % 4, m = j % 32;
    memset(b, 0x55, 64);
    b[32 * h + m] = (uint8_t)(0x55 + (1 << 2 * n));
    put_half(b + 64, ONE);
    return 1;
}

/* A byte of base-3 digits: at rest all 1, digit `lit` 2; of `digits` digits, the most significant first. */
static uint8_t base3_byte(int digits, int lit) {
    static const int weight[5] = {81, 27, 9, 3, 1};
    int q = 0;
    for (int n = 0; n < digits; n++) q += weight[n] * (n == lit ? 2 : 1);
    return (uint8_t)((q * 256 + 242) / 243);
}

static float light_ptq1_0(int j, uint8_t *b) {
    memset(b, base3_byte(5, -1), 24);
    memset(b + 24, base3_byte(4, -1), 2);
    if (j < 80) {
        b[j % 16] = base3_byte(5, j / 16);
    } else if (j < 120) {
        b[16 + (j - 80) % 8] = base3_byte(5, (j - 80) / 8);
    } else {
        b[24 + (j - 120) % 2] = base3_byte(4, (j - 120) / 2);
    }
    put_half(b + 26, ONE);
    return 1;
}

static float light_tq1_0(int j, uint8_t *b) {
    memset(b, base3_byte(5, -1), 48);
    memset(b + 48, base3_byte(4, -1), 4);
    if (j < 160) {
        b[j % 32] = base3_byte(5, j / 32);
    } else if (j < 240) {
        b[32 + (j - 160) % 16] = base3_byte(5, (j - 160) / 16);
    } else {
        b[48 + (j - 240) % 4] = base3_byte(4, (j - 240) / 4);
    }
    put_half(b + 52, ONE);
    return 1;
}

static light_fn *const lights[SH_FORMATS] = {
    [SH_F32] = light_f32,
    [SH_F16] = light_f16,
    [SH_BF16] = light_bf16,
    [SH_Q8_0] = light_q8_0,
    [SH_Q4_0] = light_q4_0,
    [SH_Q4_1] = light_q4_1,
    [SH_Q6_K] = light_q6_k,
    [SH_Q1_0] = light_q1_0,
    [SH_Q2_0_G64] = light_q2_0_g64,
    [SH_Q2_0_G128] = light_q2_0_g128,
    [SH_Q2_0_CODES_FIRST] = light_codes_first,
    [SH_PQ2_0] = light_q2_0_g128,
    [SH_PTQ1_0] = light_ptq1_0,
    [SH_TQ1_0] = light_tq1_0,
    [SH_TQ2_0] = light_tq2_0,
    [SH_TQ2_0_OXI] = light_tq2_0_oxi,
};

static void test_element_maps(void **state) {
    (void)state;
    for (int f = 0; f < SH_FORMATS; f++) {
        const sh_format_info *info = sh_format_get((sh_format)f);
        float rest = f == SH_Q1_0 ? -1.0f : 0.0f;
        for (int j = 0; j < (int)info->group; j++) {
            uint8_t block[MAX_BYTES] = {0}, made[MAX_BYTES] = {0};
            float x[MAX_ELEMENTS], decoded[MAX_ELEMENTS];
            float lit = lights[f](j, block);
            for (int i = 0; i < (int)info->group; i++) x[i] = i == j ? lit : rest;
            info->decode(block, decoded);
            for (int i = 0; i < (int)info->group; i++)
                if (decoded[i] != x[i])
                    fail_msg("%s: element %d lit alone: element %d is %g, expected %g", info->name, j, i,
                             (double)decoded[i], (double)x[i]);
            info->encode(x, made);
            if (memcmp(made, block, info->bytes) != 0)
                fail_msg("%s: element %d alone is encoded otherwise", info->name, j);
        }
    }
}

/* ---- what any bytes and any floats do ------------------------------------------------------------------- */

static uint64_t random_state = 1;

static uint32_t random_bits(void) { /* splitmix64 */
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

/* What is ternary (or binary) with a half as its scale survives encoding and decoding as it is. */
static void test_exact_round_trips(void **state) {
    (void)state;
    for (int f = 0; f < SH_FORMATS; f++) {
        const sh_format_info *info = sh_format_get((sh_format)f);
        if (!info->ternary_or_binary) continue;
        for (int round = 0; round < 200; round++) {
            float x[4 * MAX_ELEMENTS], decoded[4 * MAX_ELEMENTS];
            uint8_t blocks[4 * MAX_BYTES], again[4 * MAX_BYTES];
            size_t n = 4 * info->group;
            for (size_t i = 0; i < n; i++) {
                static float d;
                if (i % info->group == 0) d = sh_float_from_half((uint16_t)(1 + random_bits() % 0x7bff));
                int code = f == SH_Q1_0 ? (int)(random_bits() & 1) * 2 - 1 : (int)(random_bits() % 3) - 1;
                x[i] = (float)code * d;
            }
            sh_format_encode((sh_format)f, x, n, blocks);
            sh_format_decode((sh_format)f, blocks, n, decoded);
            for (size_t i = 0; i < n; i++) assert_true(decoded[i] == x[i]);
            sh_format_encode((sh_format)f, decoded, n, again);
            assert_memory_equal(again, blocks, 4 * info->bytes);
        }
    }
}

/* Every byte value gives digits 0 to 2, and every combination of digits comes back from its byte. */
static void test_base3_bytes(void **state) {
    (void)state;
    for (int value = 0; value < 256; value++) {
        uint8_t block[54];
        float x[256];
        memset(block, value, sizeof block);
        put_half(block + 52, ONE);
        sh_format_decode(SH_TQ1_0, block, 256, x);
        for (int i = 0; i < 256; i++) assert_true(x[i] == -1 || x[i] == 0 || x[i] == 1);
    }
    for (int combination = 0; combination < 243; combination++) {
        float x[128] = {0}, decoded[128];
        uint8_t block[28];
        int digits = combination;
        for (int n = 4; n >= 0; n--, digits /= 3) x[16 * n + 5] = (float)(digits % 3 - 1);
        x[127] = 1; /* so that the scale is 1 */
        sh_format_encode(SH_PTQ1_0, x, 128, block);
        sh_format_decode(SH_PTQ1_0, block, 128, decoded);
        assert_memory_equal(decoded, x, sizeof x);
        assert_int_equal(block[5], (combination * 256 + 242) / 243);
    }
}

/* Code 3 is twice the scale for ggml and PrismML, nothing for OxiBonsai. */
static void test_code_three(void **state) {
    (void)state;
    static const struct {
        sh_format format;
        int scale;
        float value;
    } cases[] = {
        {SH_Q2_0_G64, 0, 2}, {SH_Q2_0_G128, 0, 2},  {SH_PQ2_0, 0, 2},
        {SH_TQ2_0, 64, 2},   {SH_TQ2_0_OXI, 64, 0}, {SH_Q2_0_CODES_FIRST, 32, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        uint8_t block[MAX_BYTES];
        float x[MAX_ELEMENTS];
        uint32_t group = sh_format_get(cases[c].format)->group;
        memset(block, 0xff, sizeof block);
        put_half(block + cases[c].scale, ONE);
        sh_format_decode(cases[c].format, block, group, x);
        for (uint32_t i = 0; i < group; i++) assert_true(x[i] == cases[c].value);
    }
}

/* The sanitizers watch: no float is converted that no integer holds, no byte written past the block. */
static void test_strange_floats(void **state) {
    (void)state;
    static const float strange[] = {NAN,     -NAN,     INFINITY, -INFINITY, 1e-45f, -1e-45f,
                                    3.4e38f, -3.4e38f, 1e-40f,   0.0f,      -0.0f,  1};
    for (int f = 0; f < SH_FORMATS; f++) {
        const sh_format_info *info = sh_format_get((sh_format)f);
        for (int round = 0; round < 300; round++) {
            uint8_t block[MAX_BYTES + 1];
            float x[MAX_ELEMENTS], decoded[MAX_ELEMENTS];
            memset(block, 0xee, sizeof block);
            for (uint32_t i = 0; i < info->group; i++)
                x[i] = round < 12  ? strange[round]
                       : round & 1 ? strange[random_bits() % 12]
                                   : sh_float_from_bits(random_bits());
            info->encode(x, block);
            assert_int_equal(block[info->bytes], 0xee);
            info->decode(block, decoded);
            for (uint32_t i = 0; i < info->bytes; i++) block[i] = (uint8_t)random_bits();
            info->decode(block, decoded);
        }
    }
}

static void test_table(void **state) {
    (void)state;
    static const struct {
        sh_format format;
        const char *name;
        uint32_t type, group, bytes;
    } rows[] = {
        {SH_F32, "F32", 0, 1, 4},
        {SH_F16, "F16", 1, 1, 2},
        {SH_BF16, "BF16", 30, 1, 2},
        {SH_Q8_0, "Q8_0", 8, 32, 34},
        {SH_Q4_0, "Q4_0", 2, 32, 18},
        {SH_Q4_1, "Q4_1", 3, 32, 20},
        {SH_Q6_K, "Q6_K", 14, 256, 210},
        {SH_Q1_0, "Q1_0", 41, 128, 18},
        {SH_Q2_0_G64, "Q2_0_G64", 42, 64, 18},
        {SH_Q2_0_G128, "Q2_0_G128", 42, 128, 34},
        {SH_Q2_0_CODES_FIRST, "TQ2_0_G128", 42, 128, 34},
        {SH_PQ2_0, "PQ2_0", 142, 128, 34},
        {SH_PTQ1_0, "PTQ1_0", 143, 128, 28},
        {SH_TQ1_0, "TQ1_0", 34, 256, 54},
        {SH_TQ2_0, "TQ2_0", 35, 256, 66},
        {SH_TQ2_0_OXI, "TQ2_0_OXI", 35, 256, 66},
    };
    assert_int_equal(sizeof rows / sizeof rows[0], SH_FORMATS);
    for (size_t i = 0; i < SH_FORMATS; i++) {
        const sh_format_info *info = sh_format_get(rows[i].format);
        assert_string_equal(info->name, rows[i].name);
        assert_int_equal(info->ggml_type, rows[i].type);
        assert_int_equal(info->group, rows[i].group);
        assert_int_equal(info->bytes, rows[i].bytes);
        assert_int_equal(sh_format_bytes(rows[i].format, 512), 512 / rows[i].group * rows[i].bytes);
        assert_int_equal(sh_format_bytes(rows[i].format, 0), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_golden_blocks),
        cmocka_unit_test(test_example_blocks),
        cmocka_unit_test(test_element_maps),
        cmocka_unit_test(test_exact_round_trips),
        cmocka_unit_test(test_base3_bytes),
        cmocka_unit_test(test_code_three),
        cmocka_unit_test(test_strange_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
