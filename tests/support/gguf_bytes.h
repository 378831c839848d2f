/* gguf_bytes.h: GGUF files built byte by byte in memory, sound or broken on purpose.
 *
 * Independent of the library's writer, which refuses to write most of what these tests need. Numbers are little-endian.
 * Runs out of memory by failing the test. */
#ifndef SH_TESTS_GGUF_BYTES_H
#define SH_TESTS_GGUF_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "format/gguf.h"

typedef struct gguf_bytes {
    uint8_t *data;
    size_t n, capacity;
} gguf_bytes;

void gb_free(gguf_bytes *b);
void gb_bytes(gguf_bytes *b, const void *bytes, size_t n);
void gb_fill(gguf_bytes *b, uint8_t value, size_t n);
void gb_u8(gguf_bytes *b, uint8_t value);
void gb_u16(gguf_bytes *b, uint16_t value);
void gb_u32(gguf_bytes *b, uint32_t value);
void gb_u64(gguf_bytes *b, uint64_t value);
void gb_f32(gguf_bytes *b, float value);
/* 64-bit length and bytes. */
void gb_string(gguf_bytes *b, const char *text);

/* "GGUF", version and counts. */
void gb_head(gguf_bytes *b, uint32_t version, uint64_t n_tensors, uint64_t n_keys);
/* Name and type of a key; its value follows. */
void gb_key(gguf_bytes *b, const char *name, uint32_t type);
void gb_key_u32(gguf_bytes *b, const char *name, uint32_t value);
void gb_key_string(gguf_bytes *b, const char *name, const char *value);
/* A tensor of one or two dimensions: rows = 0 gives one. */
void gb_tensor(gguf_bytes *b, const char *name, uint32_t type, uint64_t cols, uint64_t rows, uint64_t offset);
/* Zeros up to a multiple of `alignment`. */
void gb_pad(gguf_bytes *b, size_t alignment);

/* A whole file: the keys one.0 to one.12 and many.0 to many.11, each of the type of its number and an array of it (but no
 * array of arrays), and tensors a.weight, F32 [4] of bytes 11, and b.weight, F16 [3][8] of bytes 22. */
void gb_every_type(gguf_bytes *b, uint32_t version);

/* The key's value, as text, is this. */
void gb_check_value(const sh_gguf *gguf, const char *name, const char *expected);

/* Writes the bytes to a file. */
void gb_save(const gguf_bytes *b, const char *path);

/* A folder for the files of one test below $TMPDIR or /tmp, and its removal with all files in it. */
const char *gb_folder_open(char path[256]);
void gb_folder_close(const char *path);

#endif
