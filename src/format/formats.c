/* formats.c: the format table and the reference decoder and encoder of each format. See formats.h.
 *
 * Plain C, one block at a time: the specification that faster code is tested against. docs/FORMATS.md draws the blocks.
 * A decoded element is the float32 product of its code and the scale, in that order of operations which ggml uses, so
 * that the bits agree; the encoders of ggml's formats give ggml's bytes (Q6_K: its quality, by a search of our own).
 * Refuses nothing: any bytes decode, any floats encode, NaN and infinity too, though not to anything useful. */
#include "format/formats.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "format/cursor.h"

/* ---- shared pieces -------------------------------------------------------------------------------------- */

static float read_half(const uint8_t *p) {
    return sh_float_from_half(sh_read_u16(p));
}

static void write_half(uint8_t *p, float value) {
    sh_write_u16(p, sh_half_from_float(value));
}

static float largest_magnitude(const float *x, int n) {
    float largest = 0;
    for (int i = 0; i < n; i++)
        if (fabsf(x[i]) > largest) largest = fabsf(x[i]);
    return largest;
}

static float inverse(float d) {
    return d != 0 ? 1.0f / d : 0.0f;
}

/* Clamps before converting: a float outside an int's range has no int. A NaN gives `low`. */
static int int_from_float(float value, int low, int high) {
    if (!(value > (float)low)) return low;
    return value < (float)high ? (int)value : high;
}

/* ---- plain numbers -------------------------------------------------------------------------------------- */

static void decode_f32(const uint8_t *block, float *x) {
    x[0] = sh_float_from_bits(sh_read_u32(block));
}

static void encode_f32(const float *x, uint8_t *block) {
    sh_write_u32(block, sh_bits_from_float(x[0]));
}

static void decode_f16(const uint8_t *block, float *x) {
    x[0] = read_half(block);
}

static void encode_f16(const float *x, uint8_t *block) {
    write_half(block, x[0]);
}

static void decode_bf16(const uint8_t *block, float *x) {
    x[0] = sh_float_from_bf16(sh_read_u16(block));
}

static void encode_bf16(const float *x, uint8_t *block) {
    sh_write_u16(block, sh_bf16_from_float(x[0]));
}

/* ---- Q8_0, Q4_0, Q4_1: 32 elements ---------------------------------------------------------------------- */

static void decode_q8_0(const uint8_t *block, float *x) {
    float d = read_half(block);
    for (int j = 0; j < 32; j++) x[j] = (float)(int8_t)block[2 + j] * d;
}

static void encode_q8_0(const float *x, uint8_t *block) {
    float d = largest_magnitude(x, 32) / 127.0f, scale = inverse(d);
    write_half(block, d);
    for (int j = 0; j < 32; j++) block[2 + j] = (uint8_t)int_from_float(roundf(x[j] * scale), -127, 127);
}

/* Element j is the low nibble of byte j, element j + 16 the high one. */
static void decode_q4_0(const uint8_t *block, float *x) {
    float d = read_half(block);
    for (int j = 0; j < 16; j++) {
        x[j] = (float)((block[2 + j] & 15) - 8) * d;
        x[j + 16] = (float)((block[2 + j] >> 4) - 8) * d;
    }
}

/* The element of largest magnitude, with its sign, becomes -8: the side that has one code more. */
static void encode_q4_0(const float *x, uint8_t *block) {
    float extreme = 0;
    for (int j = 0; j < 32; j++)
        if (fabsf(x[j]) > fabsf(extreme)) extreme = x[j];
    float d = extreme / -8.0f, scale = inverse(d);
    write_half(block, d);
    for (int j = 0; j < 16; j++) {
        int low = int_from_float(x[j] * scale + 8.5f, 0, 15);
        int high = int_from_float(x[j + 16] * scale + 8.5f, 0, 15);
        block[2 + j] = (uint8_t)(low | high << 4);
    }
}

static void decode_q4_1(const uint8_t *block, float *x) {
    float d = read_half(block), minimum = read_half(block + 2);
    for (int j = 0; j < 16; j++) {
        x[j] = (float)(block[4 + j] & 15) * d + minimum;
        x[j + 16] = (float)(block[4 + j] >> 4) * d + minimum;
    }
}

static void encode_q4_1(const float *x, uint8_t *block) {
    float minimum = x[0], maximum = x[0];
    for (int j = 1; j < 32; j++) {
        if (x[j] < minimum) minimum = x[j];
        if (x[j] > maximum) maximum = x[j];
    }
    float d = (maximum - minimum) / 15.0f, scale = inverse(d);
    write_half(block, d);
    write_half(block + 2, minimum);
    for (int j = 0; j < 16; j++) {
        int low = int_from_float((x[j] - minimum) * scale + 0.5f, 0, 15);
        int high = int_from_float((x[j + 16] - minimum) * scale + 0.5f, 0, 15);
        block[4 + j] = (uint8_t)(low | high << 4);
    }
}

/* ---- Q6_K: 256 elements, 16 scales of one byte, one half over them -------------------------------------- */

enum { Q6_K_HIGH = 128, Q6_K_SCALES = 192, Q6_K_D = 208, Q6_K_SUB = 16 };

/* Where element j is: the low four bits of its code in a nibble of byte `low`, the high two in byte `high`. */
typedef struct q6_k_place {
    int low, low_shift, high, high_shift;
} q6_k_place;

static q6_k_place place_q6_k(int j) {
    int half = j / 128, quarter = j % 128 / 32, l = j % 32;
    return (q6_k_place){
        .low = 64 * half + 32 * (quarter & 1) + l,
        .low_shift = quarter / 2 * 4,
        .high = Q6_K_HIGH + 32 * half + l,
        .high_shift = 2 * quarter,
    };
}

static void decode_q6_k(const uint8_t *block, float *x) {
    float d = read_half(block + Q6_K_D);
    for (int j = 0; j < 256; j++) {
        q6_k_place at = place_q6_k(j);
        int code = (block[at.low] >> at.low_shift & 15) | (block[at.high] >> at.high_shift & 3) << 4;
        x[j] = d * (float)(int8_t)block[Q6_K_SCALES + j / Q6_K_SUB] * (float)(code - 32);
    }
}

static int q6_k_code(float x, float scale_inverse) {
    return int_from_float(rintf(x * scale_inverse), -32, 31);
}

/* The scale, of either sign, with which 16 elements have the least squared error. For given codes q the best scale is
 * sum(xq) / sum(qq), and lessens the error by sum(xq)^2 / sum(qq); codes come from scales around that which gives the
 * largest magnitude the code -32. */
static float q6_k_best_scale(const float *x) {
    float extreme = 0, best = 0, best_gain = 0;
    for (int i = 0; i < Q6_K_SUB; i++)
        if (fabsf(x[i]) > fabsf(extreme)) extreme = x[i];
    if (extreme == 0) return 0;
    for (int step = -12; step <= 12; step++) {
        float scale_inverse = (-32.0f + 0.1f * (float)step) / extreme, xq = 0, qq = 0;
        for (int i = 0; i < Q6_K_SUB; i++) {
            float q = (float)q6_k_code(x[i], scale_inverse);
            xq += x[i] * q;
            qq += q * q;
        }
        if (qq > 0 && xq * xq > best_gain * qq) {
            best_gain = xq * xq / qq;
            best = xq / qq;
        }
    }
    return best;
}

static float q6_k_error(const float *x, float scale) {
    float scale_inverse = inverse(scale), error = 0;
    for (int i = 0; i < Q6_K_SUB; i++) {
        float difference = x[i] - scale * (float)q6_k_code(x[i], scale_inverse);
        error += difference * difference;
    }
    return error;
}

/* The scales' common factor makes the largest of them -128; each is then rounded to the neighbour with less error. */
static void encode_q6_k(const float *x, uint8_t *block) {
    float scales[Q6_K_SUB], extreme = 0;
    memset(block, 0, Q6_K_D + 2);
    for (int s = 0; s < Q6_K_SUB; s++) {
        scales[s] = q6_k_best_scale(x + Q6_K_SUB * s);
        if (fabsf(scales[s]) > fabsf(extreme)) extreme = scales[s];
    }
    write_half(block + Q6_K_D, extreme / -128.0f);
    float d = read_half(block + Q6_K_D), d_inverse = inverse(d); /* as it will be read back */
    for (int s = 0; s < Q6_K_SUB; s++) {
        const float *sub = x + Q6_K_SUB * s;
        int near = int_from_float(rintf(scales[s] * d_inverse), -128, 127), best = near;
        float best_error = q6_k_error(sub, d * (float)near);
        for (int code = near - 2; code <= near + 2; code++) {
            if (code < -128 || code > 127) continue;
            float error = q6_k_error(sub, d * (float)code);
            if (error < best_error) {
                best_error = error;
                best = code;
            }
        }
        block[Q6_K_SCALES + s] = (uint8_t)best;
        float scale_inverse = inverse(d * (float)best);
        for (int i = 0; i < Q6_K_SUB; i++) {
            q6_k_place at = place_q6_k(Q6_K_SUB * s + i);
            int code = q6_k_code(sub[i], scale_inverse) + 32;
            block[at.low] |= (uint8_t)((code & 15) << at.low_shift);
            block[at.high] |= (uint8_t)(code >> 4 << at.high_shift);
        }
    }
}

/* ---- Q1_0: 128 elements, one bit each ------------------------------------------------------------------- */

static void decode_q1_0(const uint8_t *block, float *x) {
    /* Four signs at a time: this is the inner loop of the reference backend, and a branch on random bits is its cost. */
    static const uint32_t flips[16][4] = {
#define S 0x80000000u
        {S, S, S, S}, {0, S, S, S}, {S, 0, S, S}, {0, 0, S, S}, {S, S, 0, S}, {0, S, 0, S}, {S, 0, 0, S}, {0, 0, 0, S},
        {S, S, S, 0}, {0, S, S, 0}, {S, 0, S, 0}, {0, 0, S, 0}, {S, S, 0, 0}, {0, S, 0, 0}, {S, 0, 0, 0}, {0, 0, 0, 0},
#undef S
    };
    uint32_t d = sh_bits_from_float(read_half(block));
    for (int j = 0; j < 128; j += 4) {
        const uint32_t *flip = flips[block[2 + j / 8] >> j % 8 & 15];
        for (int k = 0; k < 4; k++) x[j + k] = sh_float_from_bits(d ^ flip[k]);
    }
}

/* The scale that has the least squared error is the mean magnitude. */
static void encode_q1_0(const float *x, uint8_t *block) {
    float sum = 0;
    for (int j = 0; j < 128; j++) sum += fabsf(x[j]);
    memset(block, 0, 18);
    write_half(block, sum / 128.0f);
    for (int j = 0; j < 128; j++)
        if (x[j] >= 0) block[2 + j / 8] |= (uint8_t)(1 << j % 8);
}

/* ---- ternary --------------------------------------------------------------------------------------------
 *
 * Codes 0, 1, 2 stand for -1, 0, +1. The scale is the largest magnitude: exact for what is ternary already. */

static int ternary_code(float x, float scale_inverse) {
    return int_from_float(roundf(x * scale_inverse), -1, 1) + 1;
}

/* Two bits each, four consecutive elements a byte, the first in the lowest bits. `three` is what code 3 stands for. */
static void decode_consecutive(const uint8_t *codes, int n, float d, int three, float *x) {
    const float values[4] = {-1.0f * d, 0.0f * d, 1.0f * d, (float)three * d};
    for (int j = 0; j < n; j++) x[j] = values[codes[j / 4] >> 2 * (j % 4) & 3];
}

static void encode_consecutive(const float *x, int n, uint8_t *codes, uint8_t *scale) {
    float d = largest_magnitude(x, n), scale_inverse = inverse(d);
    write_half(scale, d);
    memset(codes, 0, (size_t)n / 4);
    for (int j = 0; j < n; j++) codes[j / 4] |= (uint8_t)(ternary_code(x[j], scale_inverse) << 2 * (j % 4));
}

static void decode_q2_0_g64(const uint8_t *block, float *x) {
    decode_consecutive(block + 2, 64, read_half(block), 2, x);
}

static void encode_q2_0_g64(const float *x, uint8_t *block) {
    encode_consecutive(x, 64, block + 2, block);
}

static void decode_q2_0_g128(const uint8_t *block, float *x) {
    decode_consecutive(block + 2, 128, read_half(block), 2, x);
}

static void encode_q2_0_g128(const float *x, uint8_t *block) {
    encode_consecutive(x, 128, block + 2, block);
}

static void decode_q2_0_codes_first(const uint8_t *block, float *x) {
    float d = read_half(block + 32);
    decode_consecutive(block, 128, d, 0, x);
}

static void encode_q2_0_codes_first(const float *x, uint8_t *block) {
    encode_consecutive(x, 128, block, block + 32);
}

static void decode_tq2_0_oxi(const uint8_t *block, float *x) {
    decode_consecutive(block, 256, read_half(block + 64), 0, x);
}

static void encode_tq2_0_oxi(const float *x, uint8_t *block) {
    encode_consecutive(x, 256, block, block + 64);
}

/* TQ2_0 of ggml: element 128h + 32n + m is bits 2n of byte 32h + m. */
static void decode_tq2_0(const uint8_t *block, float *x) {
    float d = read_half(block + 64);
    for (int j = 0; j < 256; j++) {
        int byte = j / 128 * 32 + j % 32, shift = j % 128 / 32 * 2;
        x[j] = (float)((block[byte] >> shift & 3) - 1) * d;
    }
}

static void encode_tq2_0(const float *x, uint8_t *block) {
    float d = largest_magnitude(x, 256), scale_inverse = inverse(d);
    memset(block, 0, 64);
    write_half(block + 64, d);
    for (int j = 0; j < 256; j++) {
        int byte = j / 128 * 32 + j % 32, shift = j % 128 / 32 * 2;
        block[byte] |= (uint8_t)(ternary_code(x[j], scale_inverse) << shift);
    }
}

/* Base 3: a byte holds up to five digits, the first the most significant, as the fraction q / 243 of 256, rounded up; so
 * that multiplying by 3 pushes the next digit out at the top. A stage is a run of bytes; its byte m holds, as digit n, the
 * element `bytes * n + m` of the stage. Bytes with fewer digits leave the last ones 0. */
typedef struct base3_stage {
    int bytes, digits;
} base3_stage;

enum { BASE3_STAGES = 3 };
static const base3_stage ptq1_0_stages[BASE3_STAGES] = {{16, 5}, {8, 5}, {2, 4}};
static const base3_stage tq1_0_stages[BASE3_STAGES] = {{32, 5}, {16, 5}, {4, 4}};

static void decode_base3(const base3_stage *stages, const uint8_t *block, float d, float *x) {
    for (int s = 0; s < BASE3_STAGES; s++) {
        for (int m = 0; m < stages[s].bytes; m++) {
            unsigned rest = *block++;
            for (int n = 0; n < stages[s].digits; n++) {
                x[stages[s].bytes * n + m] = (float)((int)(rest * 3 >> 8) - 1) * d;
                rest = rest * 3 & 255;
            }
        }
        x += stages[s].bytes * stages[s].digits;
    }
}

static void encode_base3(const base3_stage *stages, const float *x, float d, uint8_t *block) {
    float scale_inverse = inverse(d);
    for (int s = 0; s < BASE3_STAGES; s++) {
        for (int m = 0; m < stages[s].bytes; m++) {
            unsigned q = 0;
            for (int n = 0; n < 5; n++) {
                int code = n < stages[s].digits ? ternary_code(x[stages[s].bytes * n + m], scale_inverse) : 0;
                q = 3 * q + (unsigned)code;
            }
            *block++ = (uint8_t)((256 * q + 242) / 243);
        }
        x += stages[s].bytes * stages[s].digits;
    }
}

static void decode_ptq1_0(const uint8_t *block, float *x) {
    decode_base3(ptq1_0_stages, block, read_half(block + 26), x);
}

static void encode_ptq1_0(const float *x, uint8_t *block) {
    float d = largest_magnitude(x, 128);
    encode_base3(ptq1_0_stages, x, d, block);
    write_half(block + 26, d);
}

static void decode_tq1_0(const uint8_t *block, float *x) {
    decode_base3(tq1_0_stages, block, read_half(block + 52), x);
}

static void encode_tq1_0(const float *x, uint8_t *block) {
    float d = largest_magnitude(x, 256);
    encode_base3(tq1_0_stages, x, d, block);
    write_half(block + 52, d);
}

/* ---- the table ------------------------------------------------------------------------------------------ */

static const sh_format_info table[SH_FORMATS] = {
    [SH_F32] = {"F32", 0, 1, 4, false, decode_f32, encode_f32},
    [SH_F16] = {"F16", 1, 1, 2, false, decode_f16, encode_f16},
    [SH_BF16] = {"BF16", 30, 1, 2, false, decode_bf16, encode_bf16},
    [SH_Q8_0] = {"Q8_0", 8, 32, 34, false, decode_q8_0, encode_q8_0},
    [SH_Q4_0] = {"Q4_0", 2, 32, 18, false, decode_q4_0, encode_q4_0},
    [SH_Q4_1] = {"Q4_1", 3, 32, 20, false, decode_q4_1, encode_q4_1},
    [SH_Q6_K] = {"Q6_K", 14, 256, 210, false, decode_q6_k, encode_q6_k},
    [SH_Q1_0] = {"Q1_0", 41, 128, 18, true, decode_q1_0, encode_q1_0},
    [SH_Q2_0_G64] = {"Q2_0_G64", 42, 64, 18, true, decode_q2_0_g64, encode_q2_0_g64},
    [SH_Q2_0_G128] = {"Q2_0_G128", 42, 128, 34, true, decode_q2_0_g128, encode_q2_0_g128},
    [SH_Q2_0_CODES_FIRST] = {"TQ2_0_G128", 42, 128, 34, true, decode_q2_0_codes_first, encode_q2_0_codes_first},
    [SH_PQ2_0] = {"PQ2_0", 142, 128, 34, true, decode_q2_0_g128, encode_q2_0_g128},
    [SH_PTQ1_0] = {"PTQ1_0", 143, 128, 28, true, decode_ptq1_0, encode_ptq1_0},
    [SH_TQ1_0] = {"TQ1_0", 34, 256, 54, true, decode_tq1_0, encode_tq1_0},
    [SH_TQ2_0] = {"TQ2_0", 35, 256, 66, true, decode_tq2_0, encode_tq2_0},
    [SH_TQ2_0_OXI] = {"TQ2_0_OXI", 35, 256, 66, true, decode_tq2_0_oxi, encode_tq2_0_oxi},
};

const sh_format_info *sh_format_get(sh_format format) {
    assert((unsigned)format < SH_FORMATS);
    return &table[format];
}

void sh_format_decode(sh_format format, const uint8_t *bytes, size_t n, float *x) {
    const sh_format_info *info = sh_format_get(format);
    assert(n % info->group == 0);
    for (size_t i = 0; i < n; i += info->group, bytes += info->bytes) info->decode(bytes, x + i);
}

void sh_format_encode(sh_format format, const float *x, size_t n, uint8_t *bytes) {
    const sh_format_info *info = sh_format_get(format);
    assert(n % info->group == 0);
    for (size_t i = 0; i < n; i += info->group, bytes += info->bytes) info->encode(x + i, bytes);
}

uint64_t sh_format_bytes(sh_format format, uint64_t n) {
    const sh_format_info *info = sh_format_get(format);
    return n / info->group * info->bytes;
}
