// Makes golden blocks with ggml's own library, as the first source of truth for the formats that ggml has.
//
// For each format it writes DIR/<name>.txt with blocks of two origins:
//   - floats drawn here, quantized by ggml's reference quantizer and decoded by ggml (lines x, b, v);
//   - random block bytes with finite scales, decoded by ggml (lines b, v), so that every code value is met.
// Everything is drawn from fixed seeds with integer arithmetic, so a second run writes the same bytes. It reads nothing
// and includes no code of this project; it links a prebuilt libggml-base. README.md in formats/ has the commands.
//
//   usage: from_ggml DIR "NAME AND VERSION OF THE PACKAGE THAT BROUGHT THE LIBRARY"

#include "ggml.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_WEIGHTS = 256,
    MAX_BYTES = 256,
    NO_FIELD = -1,
};

struct format {
    const char *name;
    enum ggml_type type;
    int weights;   // in one golden block; for F16 and BF16 a run of 32 elements
    int bytes;     // of one golden block
    int scale[2];  // byte offsets of the fp16 fields, or NO_FIELD
    float levels;  // largest code magnitude: sources at multiples of 1/2 up to it meet the quantizer's ties
    int quantized; // blocks of the first origin
    int random;    // blocks of the second
};

static const struct format formats[] = {
    {"f16", GGML_TYPE_F16, 32, 64, {NO_FIELD, NO_FIELD}, 2047.5f, 14, 14},
    {"bf16", GGML_TYPE_BF16, 32, 64, {NO_FIELD, NO_FIELD}, 255.0f, 14, 14},
    {"q8_0", GGML_TYPE_Q8_0, 32, 34, {0, NO_FIELD}, 127.0f, 28, 16},
    {"q4_0", GGML_TYPE_Q4_0, 32, 18, {0, NO_FIELD}, 8.0f, 28, 16},
    {"q4_1", GGML_TYPE_Q4_1, 32, 20, {0, 2}, 7.5f, 28, 16},
    {"q6_k", GGML_TYPE_Q6_K, 256, 210, {208, NO_FIELD}, 32.0f, 8, 7},
    {"q1_0", GGML_TYPE_Q1_0, 128, 18, {0, NO_FIELD}, 1.0f, 14, 16},
    {"q2_0_g64", GGML_TYPE_Q2_0, 64, 18, {0, NO_FIELD}, 1.0f, 28, 16},
    {"tq1_0", GGML_TYPE_TQ1_0, 256, 54, {52, NO_FIELD}, 1.0f, 8, 8},
    {"tq2_0", GGML_TYPE_TQ2_0, 256, 66, {64, NO_FIELD}, 1.0f, 8, 8},
};

// ---- deterministic numbers ------------------------------------------------------------------------------------------

static uint32_t random_state;

// Marsaglia's xorshift32.
static uint32_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

static void random_seed(enum ggml_type type) {
    random_state = 0x9e3779b9u + 0x01000193u * (uint32_t)type;
}

// Code bytes come from a shuffled deck of all 256 values, so that 256 draws meet every value.
static uint8_t deck[256];
static int deck_left;

static uint8_t deck_byte(void) {
    if (deck_left == 0) {
        for (int i = 0; i < 256; i++) deck[i] = (uint8_t)i;
        for (int i = 255; i > 0; i--) {
            const uint32_t k = random_bits() % (uint32_t)(i + 1);
            const uint8_t t = deck[i];
            deck[i] = deck[k];
            deck[k] = t;
        }
        deck_left = 256;
    }
    return deck[--deck_left];
}

static float uniform(void) { // [0, 1)
    return (float)(random_bits() >> 8) * 0x1p-24f;
}

static float bell(void) { // about normal, deviation 1: the sum of twelve uniforms
    int64_t sum = 0;
    for (int i = 0; i < 12; i++) sum += random_bits() >> 8;
    return (float)((double)(sum - ((int64_t)6 << 24)) * 0x1p-24);
}

// ---- sources for the quantizer --------------------------------------------------------------------------------------

enum source {
    ALL_ZERO,
    BELL,
    OUTLIER,      // one weight 400 times the others
    SMALL,        // scales that are denormal as fp16
    TERNARY,      // exact, the scale not a half
    TIES,         // multiples of half a step
    SIGNED_ZEROS, // +0, -0 and a few others
    TINY,         // scales that are zero as fp16
    UNIFORM,
    TERNARY_HALF, // exact, the scale a half
    ALL_EQUAL,
    POSITIVE,
    LARGE,
    BELL_AGAIN,
    SOURCE_COUNT,
};

static void draw_source(enum source kind, const struct format *f, float *x) {
    const int n = f->weights;
    for (int i = 0; i < n; i++) {
        switch (kind) {
        case ALL_ZERO: x[i] = 0.0f; break;
        case BELL:
        case BELL_AGAIN:
        case OUTLIER: x[i] = 0.02f * bell(); break;
        case SMALL: x[i] = 4e-6f * bell(); break;
        case TERNARY: x[i] = 0.0371f * (float)((int)(random_bits() % 3) - 1); break;
        case TERNARY_HALF: x[i] = 0.03125f * (float)((int)(random_bits() % 3) - 1); break;
        case TIES: x[i] = -f->levels + 0.5f * (float)(random_bits() % (uint32_t)(4 * f->levels + 1)); break;
        case SIGNED_ZEROS: x[i] = i % 5 == 4 ? 0.5f * bell() : random_bits() & 1 ? 0.0f : -0.0f; break;
        case TINY: x[i] = 1e-12f * bell(); break;
        case UNIFORM: x[i] = 2.0f * uniform() - 1.0f; break;
        case ALL_EQUAL: x[i] = -0.3f; break;
        case POSITIVE: x[i] = 0.5f + uniform(); break;
        case LARGE: x[i] = 1000.0f * bell(); break;
        case SOURCE_COUNT: break;
        }
    }
    if (kind == OUTLIER) {
        const uint32_t at = random_bits() % (uint32_t)n;
        x[at] = random_bits() & 1 ? 8.0f : -8.0f;
    }
    if (kind == TIES) {
        const int first = (int)(random_bits() & 1);
        x[first] = -f->levels;
        x[!first] = f->levels;
    }
}

// ---- random blocks --------------------------------------------------------------------------------------------------

static void put_u16(uint8_t *at, uint32_t v) {
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
}

// One, zero, the smallest and the largest half, a negative one; then ordinary ones, 2^-12 <= |d| < 2^2.
static uint32_t scale_of(int block, int field) {
    static const uint16_t edges[] = {0x3c00, 0x0000, 0x0001, 0x7bff, 0xa5c3};
    const int edge_count = (int)(sizeof edges / sizeof edges[0]);
    if (field == 0 && block < edge_count) return edges[block];
    const uint32_t sign = field == 0 ? 0 : (random_bits() & 1) << 15;
    const uint32_t exponent = 3 + random_bits() % 14;
    return sign | exponent << 10 | (random_bits() & 0x3ff);
}

static void draw_scaled_block(const struct format *f, int block, uint8_t *b) {
    int is_scale[MAX_BYTES] = {0};
    for (int k = 0; k < 2; k++) {
        const int at = f->scale[k];
        if (at == NO_FIELD) continue;
        put_u16(b + at, scale_of(block, k));
        is_scale[at] = is_scale[at + 1] = 1;
    }
    for (int i = 0; i < f->bytes; i++)
        if (!is_scale[i]) b[i] = deck_byte();
}

// 16-bit floats: the named values first, then any bits but NaN.
static void draw_float16s(const struct format *f, int block, uint8_t *b) {
    static const uint16_t half_named[] = {
        0x0000, 0x8000, 0x0001, 0x8001, 0x0002, 0x0200, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x0401,
        0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x3555, 0x2e66, 0x4000,
    };
    static const uint16_t brain_named[] = {
        0x0000, 0x8000, 0x0001, 0x8001, 0x0040, 0x007f, 0x807f, 0x0080, 0x8080, 0x0081,
        0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x3f80, 0xbf80, 0x3f7f, 0x3f81, 0x3eab, 0x4000,
    };
    const int is_half = f->type == GGML_TYPE_F16;
    const uint16_t *named = is_half ? half_named : brain_named;
    const int named_count = (int)(is_half ? sizeof half_named : sizeof brain_named) / 2;
    const uint32_t exponent = is_half ? 0x7c00 : 0x7f80;
    const uint32_t fraction = is_half ? 0x03ff : 0x007f;

    for (int i = 0; i < f->weights; i++) {
        uint32_t v = random_bits() >> 16;
        if (block == 0 && i < named_count)
            v = named[i];
        else if ((v & exponent) == exponent)
            v &= ~fraction;
        put_u16(b + 2 * i, v);
    }
}

// ---- writing --------------------------------------------------------------------------------------------------------

static void write_floats(FILE *out, char tag, const float *v, int n) {
    fputc(tag, out);
    for (int i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, v + i, sizeof bits);
        fprintf(out, " %08x", (unsigned)bits);
    }
    fputc('\n', out);
}

static void write_bytes(FILE *out, const uint8_t *b, int n) {
    fputs("b ", out);
    for (int i = 0; i < n; i++) fprintf(out, "%02x", b[i]);
    fputc('\n', out);
}

static int write_format(const struct format *f, const char *dir, const char *package) {
    const struct ggml_type_traits *traits = ggml_get_type_traits(f->type);
    if (f->weights % traits->blck_size != 0 ||
        f->weights / traits->blck_size * (int64_t)traits->type_size != f->bytes) {
        fprintf(stderr, "from_ggml: %s: library has %d weights in %d bytes a block, expected a part of %d in %d\n",
                f->name, (int)traits->blck_size, (int)traits->type_size, f->weights, f->bytes);
        return 1;
    }
    if (!traits->to_float || !traits->from_float_ref) {
        fprintf(stderr, "from_ggml: %s: library has no reference functions\n", f->name);
        return 1;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.txt", dir, f->name);
    FILE *out = fopen(path, "w");
    if (!out) {
        perror(path);
        return 1;
    }
    fprintf(out, "# %s: ggml type %d \"%s\", %d weights in %d bytes a block\n", f->name, (int)f->type,
            traits->type_name, f->weights, f->bytes);
    fprintf(out, "# made by tests/golden/from_ggml.c with the libggml-base of %s (ggml %s, commit %s)\n", package,
            ggml_version(), ggml_commit());
    fprintf(out, "# x float32 bits of a source that ggml quantized, b block bytes, v float32 bits that ggml decodes\n");
    fprintf(out, "# command: from_ggml tests/golden/formats \"%s\" (built as README.md here says)\n", package);

    float x[MAX_WEIGHTS], v[MAX_WEIGHTS];
    uint8_t b[MAX_BYTES];
    random_seed(f->type);
    deck_left = 0;
    for (int k = 0; k < f->quantized; k++) {
        draw_source((enum source)(k % SOURCE_COUNT), f, x);
        traits->from_float_ref(x, b, f->weights);
        traits->to_float(b, v, f->weights);
        write_floats(out, 'x', x, f->weights);
        write_bytes(out, b, f->bytes);
        write_floats(out, 'v', v, f->weights);
    }
    for (int k = 0; k < f->random; k++) {
        if (f->scale[0] == NO_FIELD)
            draw_float16s(f, k, b);
        else
            draw_scaled_block(f, k, b);
        traits->to_float(b, v, f->weights);
        write_bytes(out, b, f->bytes);
        write_floats(out, 'v', v, f->weights);
    }
    if (fclose(out) != 0) {
        perror(path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: from_ggml DIR \"NAME AND VERSION OF THE PACKAGE THAT BROUGHT THE LIBRARY\"\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (write_format(&formats[i], argv[1], argv[2])) return 1;
    return 0;
}
