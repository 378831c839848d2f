/* half.h: IEEE half and bfloat16 <-> float32, in plain integer arithmetic: the same bits on every machine. */
#ifndef SH_BASE_HALF_H
#define SH_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float sh_float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t sh_bits_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float sh_float_from_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 1023;
    if (exponent == 31) return sh_float_from_bits(sign | 0x7f800000 | mantissa << 13);
    if (exponent) return sh_float_from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
    float tiny = (float)mantissa * 0x1p-24f; /* exact */
    return sign ? -tiny : tiny;
}

/* Rounds to nearest, ties to even; overflow gives infinity, a NaN stays one. */
static inline uint16_t sh_half_from_float(float value) {
    uint32_t bits = sh_bits_from_float(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (rest >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and up round to infinity */
    if (rest < 0x38800000) { /* below the smallest normal half: adding 0.5 leaves the mantissa in units of 2^-24 */
        float sum = sh_float_from_bits(rest) + 0.5f;
        return (uint16_t)(sign | (sh_bits_from_float(sum) - 0x3f000000));
    }
    return (uint16_t)(sign | (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
}

static inline float sh_float_from_bf16(uint16_t value) {
    return sh_float_from_bits((uint32_t)value << 16);
}

static inline uint16_t sh_bf16_from_float(float value) {
    uint32_t bits = sh_bits_from_float(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline uint16_t sh_read_u16(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline void sh_write_u16(uint8_t *p, uint16_t value) {
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

#endif
