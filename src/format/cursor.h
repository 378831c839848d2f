/* cursor.h: reading bytes that a file supplied, each read checked against the end.
 *
 * A read that does not fit changes nothing and says so; what to report is the caller's to decide. All numbers in our
 * files are little-endian and may lie at any address. */
#ifndef SH_FORMAT_CURSOR_H
#define SH_FORMAT_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/half.h"

static inline uint32_t sh_read_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t sh_read_u64(const uint8_t *p) {
    return (uint64_t)sh_read_u32(p) | (uint64_t)sh_read_u32(p + 4) << 32;
}

static inline void sh_write_u32(uint8_t *p, uint32_t value) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(value >> 8 * i);
}

static inline void sh_write_u64(uint8_t *p, uint64_t value) {
    for (int i = 0; i < 8; i++) p[i] = (uint8_t)(value >> 8 * i);
}

typedef struct sh_cursor {
    const uint8_t *begin, *at, *end;
} sh_cursor;

static inline uint64_t sh_cursor_left(const sh_cursor *c) {
    return (uint64_t)(c->end - c->at);
}

static inline uint64_t sh_cursor_offset(const sh_cursor *c) {
    return (uint64_t)(c->at - c->begin);
}

/* Passes over n bytes, of which *bytes is the first. */
static inline bool sh_cursor_take(sh_cursor *c, uint64_t n, const uint8_t **bytes) {
    if (n > sh_cursor_left(c)) return false;
    *bytes = c->at;
    c->at += n;
    return true;
}

static inline bool sh_cursor_u32(sh_cursor *c, uint32_t *value) {
    const uint8_t *p;
    if (!sh_cursor_take(c, 4, &p)) return false;
    *value = sh_read_u32(p);
    return true;
}

static inline bool sh_cursor_u64(sh_cursor *c, uint64_t *value) {
    const uint8_t *p;
    if (!sh_cursor_take(c, 8, &p)) return false;
    *value = sh_read_u64(p);
    return true;
}

#endif
