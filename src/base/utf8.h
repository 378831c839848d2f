/* utf8.h: one character at a time of bytes that may not be UTF-8.
 *
 * What is no character is told apart as the WHATWG encoding standard does: a "maximal subpart", the longest front of a
 * character that could still have become one, counts as one error, so that decoding and streaming put the same number of
 * U+FFFD in the same places as every browser. */
#ifndef SH_BASE_UTF8_H
#define SH_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

typedef enum sh_utf8 {
    SH_UTF8_CHARACTER, /* a well-formed character */
    SH_UTF8_INVALID,   /* cannot become a character, whatever follows: one U+FFFD */
    SH_UTF8_PARTIAL,   /* all bytes there are begin a character: more could complete it */
} sh_utf8;

#define SH_UTF8_REPLACEMENT "\xef\xbf\xbd"
enum { SH_UTF8_REPLACEMENT_BYTES = 3 };

/* What the first of n >= 1 bytes begins, and how many bytes it takes. */
static inline sh_utf8 sh_utf8_next(const uint8_t *s, size_t n, size_t *length) {
    uint8_t lead = s[0], low = 0x80, high = 0xbf; /* bounds of the second byte; 80 to bf for those after it */
    size_t need = 0;
    *length = 1;
    if (lead < 0x80) return SH_UTF8_CHARACTER;
    if (lead >= 0xc2 && lead <= 0xdf) {
        need = 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        need = 3;
        if (lead == 0xe0) low = 0xa0;  /* below: an overlong form */
        if (lead == 0xed) high = 0x9f; /* above: a surrogate */
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        need = 4;
        if (lead == 0xf0) low = 0x90;
        if (lead == 0xf4) high = 0x8f; /* above: past U+10FFFF */
    } else {
        return SH_UTF8_INVALID;
    }
    size_t i = 1;
    for (; i < need && i < n; i++) {
        if (s[i] < low || s[i] > high) {
            *length = i;
            return SH_UTF8_INVALID;
        }
        low = 0x80;
        high = 0xbf;
    }
    *length = i;
    return i == need ? SH_UTF8_CHARACTER : SH_UTF8_PARTIAL;
}

/* Bytes of the well-formed character whose first byte this is. */
static inline size_t sh_utf8_bytes(uint8_t lead) {
    return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* The code point of a well-formed character. */
static inline uint32_t sh_utf8_value(const uint8_t *s) {
    switch (sh_utf8_bytes(s[0])) {
    case 1: return s[0];
    case 2: return (uint32_t)(s[0] & 0x1f) << 6 | (s[1] & 0x3f);
    case 3: return (uint32_t)(s[0] & 0x0f) << 12 | (uint32_t)(s[1] & 0x3f) << 6 | (s[2] & 0x3f);
    default:
        return (uint32_t)(s[0] & 0x07) << 18 | (uint32_t)(s[1] & 0x3f) << 12 | (uint32_t)(s[2] & 0x3f) << 6 |
               (s[3] & 0x3f);
    }
}

/* Writes a code point (no surrogate) as 1 to 4 bytes, and returns how many. */
static inline size_t sh_utf8_put(uint32_t c, uint8_t *s) {
    if (c < 0x80) {
        s[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        s[0] = (uint8_t)(0xc0 | c >> 6);
        s[1] = (uint8_t)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        s[0] = (uint8_t)(0xe0 | c >> 12);
        s[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        s[2] = (uint8_t)(0x80 | (c & 0x3f));
        return 3;
    }
    s[0] = (uint8_t)(0xf0 | c >> 18);
    s[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
    s[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    s[3] = (uint8_t)(0x80 | (c & 0x3f));
    return 4;
}

#endif
