/* gguf_keys.c: metadata values: typed access with errors that name key and value, and their text. See gguf.h.
 *
 * Values were checked when the file was opened, so nothing here reads past one. Refuses to convert between kinds: a
 * string is no number and a float no integer. */
#include "format/gguf.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "format/cursor.h"

const char *sh_gguf_type_name(sh_gguf_type type) {
    static const char *const names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "string", "array", "u64", "i64", "f64"};
    return (size_t)type < sizeof names / sizeof names[0] ? names[type] : "unknown";
}

/* ---- elements ------------------------------------------------------------------------------------------- */

static bool is_integer(sh_gguf_type type) {
    switch (type) {
    case SH_GGUF_U8:
    case SH_GGUF_I8:
    case SH_GGUF_U16:
    case SH_GGUF_I16:
    case SH_GGUF_U32:
    case SH_GGUF_I32:
    case SH_GGUF_U64:
    case SH_GGUF_I64: return true;
    default: return false;
    }
}

int64_t sh_gguf_integer(const sh_gguf_key *key, uint64_t i) {
    const uint8_t *p = key->data;
    switch (key->element) {
    case SH_GGUF_U8:
    case SH_GGUF_BOOL: return p[i];
    case SH_GGUF_I8: return (int8_t)p[i];
    case SH_GGUF_U16: return sh_read_u16(p + 2 * i);
    case SH_GGUF_I16: return (int16_t)sh_read_u16(p + 2 * i);
    case SH_GGUF_U32: return sh_read_u32(p + 4 * i);
    case SH_GGUF_I32: return (int32_t)sh_read_u32(p + 4 * i);
    case SH_GGUF_U64: {
        uint64_t value = sh_read_u64(p + 8 * i);
        return value > INT64_MAX ? INT64_MAX : (int64_t)value;
    }
    case SH_GGUF_I64: return (int64_t)sh_read_u64(p + 8 * i);
    default: return 0;
    }
}

static double float_element(const sh_gguf_key *key, uint64_t i) {
    if (key->element == SH_GGUF_F32) return (double)sh_float_from_bits(sh_read_u32(key->data + 4 * i));
    uint64_t bits = sh_read_u64(key->data + 8 * i);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

sh_view sh_gguf_next_string(const uint8_t **cursor) {
    uint64_t length = sh_read_u64(*cursor);
    sh_view view = {(const char *)*cursor + 8, (size_t)length};
    *cursor += 8 + length;
    return view;
}

/* ---- text ----------------------------------------------------------------------------------------------- */

/* A terminated text that grows up to its capacity. */
typedef struct line {
    char *text;
    size_t length, capacity;
    bool full;
} line;

static void add_text(line *out, const char *text, size_t n) {
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0; i < n && !out->full;) {
        size_t length;
        bool shown = sh_utf8_next(s + i, n - i, &length) == SH_UTF8_CHARACTER &&
                     (length > 1 || (s[i] >= 0x20 && s[i] != 0x7f) || s[i] == '\n' || s[i] == '\t');
        const char *from = shown ? text + i : "?";
        size_t wanted = shown ? length : 1;
        if (out->length + wanted + 1 > out->capacity) {
            out->full = true;
            break;
        }
        memcpy(out->text + out->length, from, wanted);
        out->length += wanted;
        i += length;
    }
    out->text[out->length] = 0;
}

__attribute__((format(printf, 2, 3))) static void add(line *out, const char *format, ...) {
    char text[64];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0) add_text(out, text, strlen(text));
}

/* Element i; strings are taken from *cursor, which moves on. */
static void add_element(line *out, const sh_gguf_key *key, uint64_t i, const uint8_t **cursor) {
    switch (key->element) {
    case SH_GGUF_BOOL: add(out, "%s", key->data[i] ? "true" : "false"); break;
    case SH_GGUF_F32: add(out, "%.9g", float_element(key, i)); break;
    case SH_GGUF_F64: add(out, "%.17g", float_element(key, i)); break;
    case SH_GGUF_U64: add(out, "%" PRIu64, sh_read_u64(key->data + 8 * i)); break;
    case SH_GGUF_STRING: {
        sh_view view = sh_gguf_next_string(cursor);
        if (key->type == SH_GGUF_ARRAY) add(out, "\"");
        add_text(out, view.data, view.length);
        if (key->type == SH_GGUF_ARRAY) add(out, "\"");
        break;
    }
    default: add(out, "%" PRId64, sh_gguf_integer(key, i)); break;
    }
}

void sh_gguf_value_text(const sh_gguf_key *key, char *text, size_t capacity) {
    enum { SHOWN = 8 }; /* elements of a longer array */
    line out = {text, 0, capacity, false};
    const uint8_t *cursor = key->data;
    if (capacity == 0) return;
    text[0] = 0;
    if (key->type != SH_GGUF_ARRAY) {
        add_element(&out, key, 0, &cursor);
        return;
    }
    add(&out, "[");
    for (uint64_t i = 0; i < key->n && i < SHOWN; i++) {
        if (i) add(&out, ", ");
        add_element(&out, key, i, &cursor);
    }
    if (key->n > SHOWN) add(&out, ", ... %" PRIu64 " elements", key->n);
    add(&out, "]");
}

void sh_gguf_name_text(sh_view name, char *text, size_t capacity) {
    line out = {text, 0, capacity, false};
    if (capacity == 0) return;
    text[0] = 0;
    add_text(&out, name.data, name.length);
}

/* ---- typed access --------------------------------------------------------------------------------------- */

static sh_status wrong(const sh_gguf_key *key, const char *expected) {
    char value[64];
    sh_gguf_value_text(key, value, sizeof value);
    return sh_fail(SH_ERR_FORMAT,
                   "key '%.*s' is %s (%s), but should be %s: the file is damaged or made by a faulty tool",
                   SH_VIEW_ARG(key->name), value, sh_gguf_type_name(key->type), expected);
}

static sh_status get_unsigned(const sh_gguf *gguf, const char *name, uint64_t limit, const char *expected,
                              uint64_t *value) {
    const sh_gguf_key *key = sh_gguf_find(gguf, name);
    if (!key) return SH_OK;
    if (!is_integer(key->type)) return wrong(key, expected);
    int64_t number = sh_gguf_integer(key, 0);
    if (number < 0) return wrong(key, expected);
    uint64_t whole = key->type == SH_GGUF_U64 ? sh_read_u64(key->data) : (uint64_t)number;
    if (whole > limit) return wrong(key, expected);
    *value = whole;
    return SH_OK;
}

sh_status sh_gguf_get_u32(const sh_gguf *gguf, const char *name, uint32_t *value) {
    uint64_t whole = *value;
    sh_status status = get_unsigned(gguf, name, UINT32_MAX, "an integer from 0 to 4294967295", &whole);
    if (!status) *value = (uint32_t)whole;
    return status;
}

sh_status sh_gguf_get_u64(const sh_gguf *gguf, const char *name, uint64_t *value) {
    return get_unsigned(gguf, name, UINT64_MAX, "an integer that is not negative", value);
}

sh_status sh_gguf_get_f32(const sh_gguf *gguf, const char *name, float *value) {
    const sh_gguf_key *key = sh_gguf_find(gguf, name);
    if (!key) return SH_OK;
    if (key->type == SH_GGUF_F32 || key->type == SH_GGUF_F64) {
        double number = float_element(key, 0);
        if (isfinite(number) && fabs(number) > (double)FLT_MAX) return wrong(key, "a number that a 32-bit float holds");
        *value = (float)number;
        return SH_OK;
    }
    if (!is_integer(key->type)) return wrong(key, "a number");
    *value = key->type == SH_GGUF_U64 ? (float)sh_read_u64(key->data) : (float)sh_gguf_integer(key, 0);
    return SH_OK;
}

sh_status sh_gguf_get_bool(const sh_gguf *gguf, const char *name, bool *value) {
    const sh_gguf_key *key = sh_gguf_find(gguf, name);
    if (!key) return SH_OK;
    if (key->type != SH_GGUF_BOOL) return wrong(key, "true or false");
    *value = key->data[0] != 0;
    return SH_OK;
}

sh_status sh_gguf_get_string(const sh_gguf *gguf, const char *name, sh_view *value) {
    const sh_gguf_key *key = sh_gguf_find(gguf, name);
    if (!key) return SH_OK;
    if (key->type != SH_GGUF_STRING) return wrong(key, "a string");
    const uint8_t *cursor = key->data;
    *value = sh_gguf_next_string(&cursor);
    return SH_OK;
}
