/* gguf_bytes.c: GGUF files built byte by byte. See gguf_bytes.h. */
#include "support/gguf_bytes.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

void gb_free(gguf_bytes *b) {
    free(b->data);
    *b = (gguf_bytes){0};
}

static uint8_t *extend(gguf_bytes *b, size_t n) {
    if (b->n + n > b->capacity) {
        b->capacity = 2 * (b->n + n) + 64;
        b->data = realloc(b->data, b->capacity);
        assert_non_null(b->data);
    }
    b->n += n;
    return b->data + b->n - n;
}

void gb_bytes(gguf_bytes *b, const void *bytes, size_t n) {
    uint8_t *to = extend(b, n);
    if (n) memcpy(to, bytes, n);
}

void gb_fill(gguf_bytes *b, uint8_t value, size_t n) {
    uint8_t *to = extend(b, n);
    if (n) memset(to, value, n);
}

static void number(gguf_bytes *b, uint64_t value, int n) {
    uint8_t *to = extend(b, (size_t)n);
    for (int i = 0; i < n; i++) to[i] = (uint8_t)(value >> 8 * i);
}

void gb_u8(gguf_bytes *b, uint8_t value) {
    number(b, value, 1);
}

void gb_u16(gguf_bytes *b, uint16_t value) {
    number(b, value, 2);
}

void gb_u32(gguf_bytes *b, uint32_t value) {
    number(b, value, 4);
}

void gb_u64(gguf_bytes *b, uint64_t value) {
    number(b, value, 8);
}

void gb_f32(gguf_bytes *b, float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    gb_u32(b, bits);
}

void gb_string(gguf_bytes *b, const char *text) {
    gb_u64(b, strlen(text));
    gb_bytes(b, text, strlen(text));
}

void gb_head(gguf_bytes *b, uint32_t version, uint64_t n_tensors, uint64_t n_keys) {
    gb_bytes(b, "GGUF", 4);
    gb_u32(b, version);
    gb_u64(b, n_tensors);
    gb_u64(b, n_keys);
}

void gb_key(gguf_bytes *b, const char *name, uint32_t type) {
    gb_string(b, name);
    gb_u32(b, type);
}

void gb_key_u32(gguf_bytes *b, const char *name, uint32_t value) {
    gb_key(b, name, 4);
    gb_u32(b, value);
}

void gb_key_string(gguf_bytes *b, const char *name, const char *value) {
    gb_key(b, name, 8);
    gb_string(b, value);
}

void gb_tensor(gguf_bytes *b, const char *name, uint32_t type, uint64_t cols, uint64_t rows, uint64_t offset) {
    gb_string(b, name);
    gb_u32(b, rows ? 2 : 1);
    gb_u64(b, cols);
    if (rows) gb_u64(b, rows);
    gb_u32(b, type);
    gb_u64(b, offset);
}

void gb_pad(gguf_bytes *b, size_t alignment) {
    gb_fill(b, 0, (alignment - b->n % alignment) % alignment);
}

void gb_every_type(gguf_bytes *b, uint32_t version) {
    static const uint8_t eight[8] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t width[13] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    gb_head(b, version, 2, 12 + 11);
    for (uint32_t type = 0; type < 13; type++) {
        char name[16];
        if (type == 9) continue;
        snprintf(name, sizeof name, "one.%u", type);
        gb_key(b, name, type);
        if (type == 7) gb_u8(b, 1);
        if (type == 8) gb_string(b, "caf\xc3\xa9");
        if (type == 6) gb_f32(b, 1.5f);
        if (type == 12) gb_u64(b, 0x3ff8000000000000u);
        if (type != 6 && type != 7 && type != 8 && type != 12) gb_bytes(b, eight, width[type]);
    }
    for (uint32_t type = 0; type < 13; type++) {
        char name[16];
        if (type == 9 || type == 12) continue;
        snprintf(name, sizeof name, "many.%u", type);
        gb_key(b, name, 9);
        gb_u32(b, type);
        gb_u64(b, 2);
        for (int i = 0; i < 2; i++) {
            if (type == 8) {
                gb_string(b, i ? "" : "x");
            } else if (type == 7) {
                gb_u8(b, (uint8_t)i);
            } else if (type == 6) {
                gb_f32(b, i ? -2.25f : 0.0f);
            } else {
                gb_bytes(b, i ? eight : (const uint8_t *)"\7\0\0\0\0\0\0", width[type]);
            }
        }
    }
    gb_tensor(b, "a.weight", 0, 4, 0, 0);
    gb_tensor(b, "b.weight", 1, 8, 3, 32);
    gb_pad(b, 32);
    gb_fill(b, 0x11, 16);
    gb_pad(b, 32);
    gb_fill(b, 0x22, 48);
}

void gb_check_value(const sh_gguf *gguf, const char *name, const char *expected) {
    char text[64];
    const sh_gguf_key *key = sh_gguf_find(gguf, name);
    assert_non_null(key);
    sh_gguf_value_text(key, text, sizeof text);
    assert_string_equal(text, expected);
}

void gb_save(const gguf_bytes *b, const char *path) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    if (b->n) assert_int_equal(fwrite(b->data, 1, b->n, file), b->n);
    assert_int_equal(fclose(file), 0);
}

const char *gb_folder_open(char path[256]) {
    const char *base = getenv("TMPDIR");
    snprintf(path, 256, "%s/shohin-test-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

void gb_folder_close(const char *path) {
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char name[600];
        if (entry->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        assert_int_equal(unlink(name), 0);
    }
    closedir(folder);
    assert_int_equal(rmdir(path), 0);
}
