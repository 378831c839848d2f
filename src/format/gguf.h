/* gguf.h: the GGUF container: metadata and tensor directory over a read-only map.
 *
 * Owns the map and an index into it; copies nothing, trusts nothing. It knows what a tensor is called, its dimensions, type
 * number and offset, but not what the number means: layout.h finds that, and checks the extents.
 * Source: the GGUF specification in ggml's docs/gguf.md. */
#ifndef SH_FORMAT_GGUF_H
#define SH_FORMAT_GGUF_H

#include "base/status.h"

typedef enum sh_gguf_type {
    SH_GGUF_U8 = 0,
    SH_GGUF_I8,
    SH_GGUF_U16,
    SH_GGUF_I16,
    SH_GGUF_U32,
    SH_GGUF_I32,
    SH_GGUF_F32,
    SH_GGUF_BOOL,
    SH_GGUF_STRING,
    SH_GGUF_ARRAY,
    SH_GGUF_U64,
    SH_GGUF_I64,
    SH_GGUF_F64,
} sh_gguf_type;

typedef struct sh_gguf_key {
    sh_view name;
    sh_gguf_type type;
    sh_gguf_type element; /* of an array */
    uint64_t n;           /* elements of an array; 1 otherwise */
    const uint8_t *data;  /* little-endian, any alignment; strings each behind their 64-bit length */
    const uint8_t *end;   /* of the value: checked when opened, strings and all */
} sh_gguf_key;

typedef struct sh_gguf_tensor {
    sh_view name;
    uint32_t type; /* the file's number */
    uint32_t n_dims;
    uint64_t dims[4]; /* the input dimension first; 1 past n_dims; their product fits in 63 bits */
    uint64_t offset;  /* from the start of its part's data */
    uint32_t part;
} sh_gguf_tensor;

typedef struct sh_gguf_part {
    const uint8_t *data; /* where tensor data begins: the file's aligned end of header */
    uint64_t size;       /* bytes from there to the end of the file */
    uint64_t start;      /* its offset in the file */
    uint32_t alignment;  /* of its tensors' offsets, as its own header says */
    const char *path;    /* "" for memory */
} sh_gguf_part;

typedef struct sh_gguf sh_gguf;

/* Opens a file and, if it says that it is one of several (split.count), the others beside it by their names
 * (...-00001-of-00003.gguf). Metadata is that of the first part. */
sh_status sh_gguf_open(const char *path, sh_gguf **out);
/* Parses one file in memory that outlives it; split files are refused. */
sh_status sh_gguf_parse(const uint8_t *bytes, size_t size, sh_gguf **out);
void sh_gguf_close(sh_gguf *gguf);

uint32_t sh_gguf_version(const sh_gguf *gguf);
uint32_t sh_gguf_alignment(const sh_gguf *gguf);
const sh_gguf_part *sh_gguf_parts(const sh_gguf *gguf, uint32_t *n);
const sh_gguf_key *sh_gguf_keys(const sh_gguf *gguf, uint64_t *n);
/* In file order, part by part. */
const sh_gguf_tensor *sh_gguf_tensors(const sh_gguf *gguf, uint64_t *n);

/* NULL if there is none. */
const sh_gguf_key *sh_gguf_find(const sh_gguf *gguf, const char *name);
const sh_gguf_tensor *sh_gguf_find_tensor(const sh_gguf *gguf, const char *name);

/* Typed access. A key that is absent leaves *value as it was and gives SH_OK (*value holds the default); one of a
 * wrong kind or out of range is an error that names the key, what it holds and what was expected. Integers of every width are taken
 * where they fit; a float may be F32 or F64, or an integer. */
sh_status sh_gguf_get_u32(const sh_gguf *gguf, const char *name, uint32_t *value);
sh_status sh_gguf_get_u64(const sh_gguf *gguf, const char *name, uint64_t *value);
sh_status sh_gguf_get_f32(const sh_gguf *gguf, const char *name, float *value);
sh_status sh_gguf_get_bool(const sh_gguf *gguf, const char *name, bool *value);
sh_status sh_gguf_get_string(const sh_gguf *gguf, const char *name, sh_view *value);

/* "u32", "string", "array", ...; static. */
const char *sh_gguf_type_name(sh_gguf_type type);

/* The value as a person reads it: numbers, true and false, strings as they are, arrays in brackets, long ones cut with the
 * number of their elements. Terminated, and cut if it does not fit, between characters. What is not UTF-8, and control
 * characters but tab and newline, are shown as '?'. */
void sh_gguf_value_text(const sh_gguf_key *key, char *text, size_t capacity);
/* Likewise of a name. */
void sh_gguf_name_text(sh_view name, char *text, size_t capacity);

/* The string at *cursor of an array of strings, and moves on. Begin with cursor = key->data, read key->n. */
sh_view sh_gguf_next_string(const uint8_t **cursor);
/* Element i of an array (or the value, i = 0) of integers or truth values as int64 (U64 past INT64_MAX gives INT64_MAX; 0
 * for floats and strings). */
int64_t sh_gguf_integer(const sh_gguf_key *key, uint64_t i);

/* ---- writing --------------------------------------------------------------------------------------------- */

typedef struct sh_gguf_writer sh_gguf_writer;

/* Writes version 3. Keys and tensors are declared first, then each tensor's bytes follow in the order declared, in pieces
 * of any size. The file is written beside `path` and takes its name when finished, so that a failure leaves what was
 * there before. After a failure every later call fails, too.
 *
 * `alignment` is a power of two from 8 to 16 MiB; 32 is usual. The key general.alignment is written where it is another;
 * it may also be put, with this value. Of a split file's keys, split.* must not be copied into a file that is whole. */
sh_status sh_gguf_writer_open(const char *path, uint32_t alignment, sh_gguf_writer **out);
sh_status sh_gguf_put_u32(sh_gguf_writer *w, const char *key, uint32_t value);
sh_status sh_gguf_put_u64(sh_gguf_writer *w, const char *key, uint64_t value);
sh_status sh_gguf_put_f32(sh_gguf_writer *w, const char *key, float value);
sh_status sh_gguf_put_bool(sh_gguf_writer *w, const char *key, bool value);
sh_status sh_gguf_put_string(sh_gguf_writer *w, const char *key, const char *value);
sh_status sh_gguf_put_strings(sh_gguf_writer *w, const char *key, const sh_view *values, uint64_t n);
sh_status sh_gguf_put_i32s(sh_gguf_writer *w, const char *key, const int32_t *values, uint64_t n);
sh_status sh_gguf_put_f32s(sh_gguf_writer *w, const char *key, const float *values, uint64_t n);
/* A key exactly as another file has it. */
sh_status sh_gguf_put_key(sh_gguf_writer *w, const sh_gguf_key *key);
sh_status sh_gguf_put_tensor(sh_gguf_writer *w, const char *name, uint32_t type, const uint64_t *dims, uint32_t n_dims,
                             uint64_t bytes);
sh_status sh_gguf_write_data(sh_gguf_writer *w, const void *bytes, uint64_t n);
/* Refuses if data is missing. */
sh_status sh_gguf_writer_finish(sh_gguf_writer *w);
/* Without _finish: removes what was written. */
void sh_gguf_writer_close(sh_gguf_writer *w);

#endif
