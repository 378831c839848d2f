/* gguf_writer.c: writes GGUF version 3. See gguf.h.
 *
 * Owns a file beside the one that is wanted, which takes its name once it is complete and on the disk; until then, and
 * after any failure, what was under that name is untouched. Refuses what the reader would: names that are too long or
 * occur twice, impossible dimensions, data missing or left over. After a failure every later call fails too, so that
 * a caller may check the last one only. */
#include "format/gguf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "format/cursor.h"

enum {
    DEFAULT_ALIGNMENT = 32, /* these as in the reader */
    MIN_ALIGNMENT = 8,
    MAX_ALIGNMENT = 1 << 24,
    MAX_KEY_NAME = 65535,
    MAX_TENSOR_NAME = 64,
    MAX_DIMS = 4,
    WRITE_BYTES = 1 << 18, /* collected before each write */
    NAME_TRIES = 1000,     /* for a file name that is free */
};

/* Bytes that grow. */
typedef struct bytes {
    uint8_t *data;
    size_t n, capacity;
} bytes;

/* A declared name: `at` is its offset in `keys` or `tensors`. */
typedef struct declared {
    size_t at, length;
} declared;

typedef struct names {
    declared *items;
    size_t n, capacity;
} names;

struct sh_gguf_writer {
    char *path;      /* what is wanted */
    char *temporary; /* what is written; NULL once it was renamed */
    int fd;
    uint32_t alignment;
    sh_status failed;    /* of the first failure */
    bytes keys, tensors; /* as they will stand in the file */
    names key_names, tensor_names;
    uint64_t *sizes; /* bytes of each tensor */
    size_t sizes_capacity;
    uint64_t data_bytes; /* of all tensors, each padded */
    bool has_alignment;  /* the key general.alignment was put */
    bool finished;
    bool started;     /* the header is written */
    size_t tensor;    /* whose data comes next */
    uint64_t written; /* bytes of it so far */
    uint8_t *buffer;  /* WRITE_BYTES */
    size_t buffered;
};

/* Keeps the first failure. */
static sh_status broken(sh_gguf_writer *w, sh_status status) {
    if (!w->failed) w->failed = status;
    return status;
}

static sh_status broken_before(const sh_gguf_writer *w) {
    if (w->finished) return sh_fail(w->failed, "%s: it is finished; nothing more can be added", w->path);
    return sh_fail(w->failed, "%s: writing it failed before; nothing more can be added", w->path);
}

static sh_status broken_io(sh_gguf_writer *w, const char *what) {
    return broken(w, sh_fail(SH_ERR_IO, "%s: %s: %s", w->path, what, strerror(errno)));
}

static sh_status broken_memory(sh_gguf_writer *w) {
    return broken(w, sh_fail(SH_ERR_MEMORY, "%s: no memory for its header", w->path));
}

/* ---- the header in memory ------------------------------------------------------------------------------- */

/* Room for n more elements of `size` bytes. */
static bool grow(void **data, size_t *capacity, size_t used, size_t n, size_t size) {
    size_t wanted, doubled;
    if (__builtin_add_overflow(used, n, &wanted)) return false;
    if (wanted <= *capacity) return true;
    if (__builtin_mul_overflow(*capacity, (size_t)2, &doubled) || doubled < wanted) doubled = wanted;
    if (doubled < 64) doubled = 64;
    void *grown = sh_realloc(*data, doubled, size);
    if (!grown) return false;
    *data = grown;
    *capacity = doubled;
    return true;
}

/* n bytes at the end of `b`, to be filled; NULL if memory ran out. */
static uint8_t *extend(bytes *b, size_t n) {
    void *data = b->data;
    if (!grow(&data, &b->capacity, b->n, n, 1)) return NULL;
    b->data = data;
    b->n += n;
    return b->data + b->n - n;
}

static bool append_string(bytes *b, const char *text, size_t n) {
    uint8_t *to = n <= SIZE_MAX - 8 ? extend(b, 8 + n) : NULL;
    if (!to) return false;
    sh_write_u64(to, n);
    if (n) memcpy(to + 8, text, n);
    return true;
}

static bool append_u32(bytes *b, uint32_t value) {
    uint8_t *to = extend(b, 4);
    if (to) sh_write_u32(to, value);
    return to != NULL;
}

static bool append_u64(bytes *b, uint64_t value) {
    uint8_t *to = extend(b, 8);
    if (to) sh_write_u64(to, value);
    return to != NULL;
}

/* Writes a name into `b` and remembers where. */
static bool declare(bytes *b, names *list, const char *name, size_t length) {
    void *items = list->items;
    if (!grow(&items, &list->capacity, list->n, 1, sizeof *list->items)) return false;
    list->items = items;
    size_t at = b->n + 8;
    if (!append_string(b, name, length)) return false;
    list->items[list->n++] = (declared){at, length};
    return true;
}

/* What every declaration begins with. */
static sh_status check_declaration(sh_gguf_writer *w, const char *what, const char *name, size_t length, size_t limit) {
    if (w->failed) return broken_before(w);
    if (w->started)
        return broken(w, sh_fail(SH_ERR_ARGUMENT, "%s: %s '%.*s' comes after the first data", w->path, what,
                                 (int)(length > 255 ? 255 : length), name));
    if (length == 0 || length > limit || memchr(name, 0, length))
        return broken(w, sh_fail(SH_ERR_ARGUMENT,
                                 "%s: %s '%.*s' has a name of %zu bytes, but 1 to %zu are allowed, none of them 0",
                                 w->path, what, (int)(length > 255 ? 255 : length), name, length, limit));
    return SH_OK;
}

/* ---- keys ----------------------------------------------------------------------------------------------- */

/* Writes name and type of a key. */
static sh_status begin_key(sh_gguf_writer *w, sh_view name, sh_gguf_type type) {
    sh_status status = check_declaration(w, "key", name.data, name.length, MAX_KEY_NAME);
    if (status) return status;
    if (!declare(&w->keys, &w->key_names, name.data, name.length) || !append_u32(&w->keys, type))
        return broken_memory(w);
    return SH_OK;
}

static sh_status begin_array(sh_gguf_writer *w, const char *key, sh_gguf_type element, uint64_t n) {
    sh_status status = begin_key(w, (sh_view){key, strlen(key)}, SH_GGUF_ARRAY);
    if (status) return status;
    if (!append_u32(&w->keys, element) || !append_u64(&w->keys, n)) return broken_memory(w);
    return SH_OK;
}

/* general.alignment is the writer's: a caller may put it, with the value that the file has. */
static sh_status check_alignment(sh_gguf_writer *w, sh_view key, int64_t value) {
    if (!sh_view_is(key, "general.alignment")) return SH_OK;
    w->has_alignment = true;
    if (value == w->alignment) return SH_OK;
    return broken(w, sh_fail(SH_ERR_ARGUMENT,
                             "%s: key 'general.alignment' is %" PRId64 ", but the file is written with %u", w->path,
                             value, w->alignment));
}

sh_status sh_gguf_put_u32(sh_gguf_writer *w, const char *key, uint32_t value) {
    sh_view name = {key, strlen(key)};
    sh_status status = begin_key(w, name, SH_GGUF_U32);
    if (status || (status = check_alignment(w, name, value))) return status;
    return append_u32(&w->keys, value) ? SH_OK : broken_memory(w);
}

sh_status sh_gguf_put_u64(sh_gguf_writer *w, const char *key, uint64_t value) {
    sh_view name = {key, strlen(key)};
    sh_status status = begin_key(w, name, SH_GGUF_U64);
    if (status || (status = check_alignment(w, name, value > INT64_MAX ? INT64_MAX : (int64_t)value))) return status;
    return append_u64(&w->keys, value) ? SH_OK : broken_memory(w);
}

sh_status sh_gguf_put_f32(sh_gguf_writer *w, const char *key, float value) {
    sh_status status = begin_key(w, (sh_view){key, strlen(key)}, SH_GGUF_F32);
    if (status) return status;
    return append_u32(&w->keys, sh_bits_from_float(value)) ? SH_OK : broken_memory(w);
}

sh_status sh_gguf_put_bool(sh_gguf_writer *w, const char *key, bool value) {
    sh_status status = begin_key(w, (sh_view){key, strlen(key)}, SH_GGUF_BOOL);
    if (status) return status;
    uint8_t *to = extend(&w->keys, 1);
    if (!to) return broken_memory(w);
    *to = value;
    return SH_OK;
}

sh_status sh_gguf_put_string(sh_gguf_writer *w, const char *key, const char *value) {
    sh_status status = begin_key(w, (sh_view){key, strlen(key)}, SH_GGUF_STRING);
    if (status) return status;
    return append_string(&w->keys, value, strlen(value)) ? SH_OK : broken_memory(w);
}

sh_status sh_gguf_put_strings(sh_gguf_writer *w, const char *key, const sh_view *values, uint64_t n) {
    sh_status status = begin_array(w, key, SH_GGUF_STRING, n);
    for (uint64_t i = 0; !status && i < n; i++)
        if (!append_string(&w->keys, values[i].data, values[i].length)) status = broken_memory(w);
    return status;
}

sh_status sh_gguf_put_i32s(sh_gguf_writer *w, const char *key, const int32_t *values, uint64_t n) {
    sh_status status = begin_array(w, key, SH_GGUF_I32, n);
    for (uint64_t i = 0; !status && i < n; i++)
        if (!append_u32(&w->keys, (uint32_t)values[i])) status = broken_memory(w);
    return status;
}

sh_status sh_gguf_put_f32s(sh_gguf_writer *w, const char *key, const float *values, uint64_t n) {
    sh_status status = begin_array(w, key, SH_GGUF_F32, n);
    for (uint64_t i = 0; !status && i < n; i++)
        if (!append_u32(&w->keys, sh_bits_from_float(values[i]))) status = broken_memory(w);
    return status;
}

sh_status sh_gguf_put_key(sh_gguf_writer *w, const sh_gguf_key *key) {
    sh_status status = begin_key(w, key->name, key->type);
    int64_t value = key->type == SH_GGUF_ARRAY ? -1 : sh_gguf_integer(key, 0);
    if (status || (status = check_alignment(w, key->name, value))) return status;
    if (key->type == SH_GGUF_ARRAY && (!append_u32(&w->keys, key->element) || !append_u64(&w->keys, key->n)))
        return broken_memory(w);
    size_t n = (size_t)(key->end - key->data);
    uint8_t *to = extend(&w->keys, n);
    if (!to) return broken_memory(w);
    if (n) memcpy(to, key->data, n);
    return SH_OK;
}

/* ---- tensors -------------------------------------------------------------------------------------------- */

static uint64_t padding(const sh_gguf_writer *w, uint64_t n) {
    return (w->alignment - n % w->alignment) % w->alignment;
}

sh_status sh_gguf_put_tensor(sh_gguf_writer *w, const char *name, uint32_t type, const uint64_t *dims, uint32_t n_dims,
                             uint64_t n_bytes) {
    sh_status status = check_declaration(w, "tensor", name, strlen(name), MAX_TENSOR_NAME);
    if (status) return status;
    uint64_t elements = 1, end;
    bool sound = n_dims >= 1 && n_dims <= MAX_DIMS;
    for (uint32_t i = 0; sound && i < n_dims; i++)
        sound = dims[i] > 0 && !__builtin_mul_overflow(elements, dims[i], &elements) && elements <= INT64_MAX;
    if (!sound)
        return broken(
            w, sh_fail(SH_ERR_ARGUMENT,
                       "%s: tensor '%s' has %u dimensions, but 1 to 4 are allowed, each at least 1, of less than "
                       "2^63 elements in all",
                       w->path, name, n_dims));
    if (n_bytes == 0 || __builtin_add_overflow(w->data_bytes, n_bytes, &end) ||
        end > (uint64_t)INT64_MAX - w->alignment)
        return broken(w, sh_fail(SH_ERR_ARGUMENT, "%s: tensor '%s' cannot have %" PRIu64 " bytes behind %" PRIu64,
                                 w->path, name, n_bytes, w->data_bytes));
    void *sizes = w->sizes;
    if (!grow(&sizes, &w->sizes_capacity, w->tensor_names.n, 1, sizeof *w->sizes)) return broken_memory(w);
    w->sizes = sizes;
    w->sizes[w->tensor_names.n] = n_bytes;
    if (!declare(&w->tensors, &w->tensor_names, name, strlen(name)) || !append_u32(&w->tensors, n_dims))
        return broken_memory(w);
    for (uint32_t i = 0; i < n_dims; i++)
        if (!append_u64(&w->tensors, dims[i])) return broken_memory(w);
    if (!append_u32(&w->tensors, type) || !append_u64(&w->tensors, w->data_bytes)) return broken_memory(w);
    w->data_bytes = end + padding(w, end);
    return SH_OK;
}

/* ---- the file ------------------------------------------------------------------------------------------- */

static sh_status flush(sh_gguf_writer *w) {
    for (size_t done = 0; done < w->buffered;) {
        ssize_t n = write(w->fd, w->buffer + done, w->buffered - done);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO; /* a disk that takes nothing and says nothing */
        if (n <= 0) return broken_io(w, "cannot be written");
        done += (size_t)n;
    }
    w->buffered = 0;
    return SH_OK;
}

/* `data` NULL stands for zeros. */
static sh_status emit(sh_gguf_writer *w, const void *data, uint64_t n) {
    const uint8_t *from = data;
    while (n) {
        size_t room = WRITE_BYTES - w->buffered, part = n < room ? (size_t)n : room;
        if (from) {
            memcpy(w->buffer + w->buffered, from, part);
            from += part;
        } else {
            memset(w->buffer + w->buffered, 0, part);
        }
        w->buffered += part;
        n -= part;
        if (w->buffered < WRITE_BYTES) continue;
        sh_status status = flush(w);
        if (status) return status;
    }
    return SH_OK;
}

static int compare_views(const void *a, const void *b) {
    const sh_view *x = a, *y = b;
    int order = memcmp(x->data, y->data, x->length < y->length ? x->length : y->length);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

static sh_status check_twice(sh_gguf_writer *w, const bytes *b, const names *list, const char *what) {
    sh_status status = SH_OK;
    sh_view *sorted = sh_alloc(list->n, sizeof *sorted);
    if (!sorted) return broken_memory(w);
    for (size_t i = 0; i < list->n; i++)
        sorted[i] = (sh_view){(const char *)b->data + list->items[i].at, list->items[i].length};
    qsort(sorted, list->n, sizeof *sorted, compare_views);
    for (size_t i = 1; i < list->n && !status; i++)
        if (compare_views(&sorted[i - 1], &sorted[i]) == 0)
            status = broken(
                w, sh_fail(SH_ERR_ARGUMENT, "%s: %s '%.*s' was put twice", w->path, what, SH_VIEW_ARG(sorted[i])));
    sh_free(sorted);
    return status;
}

/* Writes all that stands before the data. */
static sh_status start(sh_gguf_writer *w) {
    uint8_t head[24];
    sh_status status;
    if (w->alignment != DEFAULT_ALIGNMENT && !w->has_alignment &&
        (status = sh_gguf_put_u32(w, "general.alignment", w->alignment)))
        return status;
    if ((status = check_twice(w, &w->keys, &w->key_names, "key"))) return status;
    if ((status = check_twice(w, &w->tensors, &w->tensor_names, "tensor"))) return status;
    w->started = true;
    memcpy(head, "GGUF", 4);
    sh_write_u32(head + 4, 3);
    sh_write_u64(head + 8, w->tensor_names.n);
    sh_write_u64(head + 16, w->key_names.n);
    if ((status = emit(w, head, sizeof head))) return status;
    if ((status = emit(w, w->keys.data, w->keys.n))) return status;
    if ((status = emit(w, w->tensors.data, w->tensors.n))) return status;
    return emit(w, NULL, padding(w, sizeof head + w->keys.n + w->tensors.n));
}

sh_status sh_gguf_write_data(sh_gguf_writer *w, const void *data, uint64_t n) {
    const uint8_t *from = data;
    sh_status status;
    if (w->failed) return broken_before(w);
    if (!w->started && (status = start(w))) return status;
    while (n) {
        if (w->tensor == w->tensor_names.n)
            return broken(w, sh_fail(SH_ERR_ARGUMENT,
                                     "%s: %" PRIu64 " bytes are left over after the data of all %zu tensors", w->path,
                                     n, w->tensor_names.n));
        uint64_t left = w->sizes[w->tensor] - w->written, part = n < left ? n : left;
        if ((status = emit(w, from, part))) return status;
        from += part;
        n -= part;
        w->written += part;
        if (w->written < w->sizes[w->tensor]) break;
        if ((status = emit(w, NULL, padding(w, w->written)))) return status;
        w->tensor++;
        w->written = 0;
    }
    return SH_OK;
}

sh_status sh_gguf_writer_finish(sh_gguf_writer *w) {
    sh_status status;
    if (w->failed) return broken_before(w);
    if (!w->started && (status = start(w))) return status;
    if (w->tensor < w->tensor_names.n) {
        declared name = w->tensor_names.items[w->tensor];
        return broken(w, sh_fail(SH_ERR_ARGUMENT, "%s: tensor '%.*s' has %" PRIu64 " of its %" PRIu64 " bytes", w->path,
                                 (int)name.length, (const char *)w->tensors.data + name.at, w->written,
                                 w->sizes[w->tensor]));
    }
    if ((status = flush(w))) return status;
    if (fsync(w->fd) != 0)
        return broken_io(w, "cannot be written"); /* before the name: a crash must not leave half a file */
    int closed = close(w->fd);
    w->fd = -1;
    if (closed != 0) return broken_io(w, "cannot be written");
    if (rename(w->temporary, w->path) != 0) return broken_io(w, "cannot take its name");
    sh_free(w->temporary);
    w->temporary = NULL;
    w->finished = true;
    w->failed = SH_ERR_ARGUMENT; /* of whatever is called next */
    return SH_OK;
}

/* A new file beside the wanted one, with the permissions that the process gives new files. */
static sh_status open_temporary(sh_gguf_writer *w) {
    size_t capacity = strlen(w->path) + 64;
    struct stat about;
    if (lstat(w->path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISLNK(about.st_mode))
        return sh_fail(SH_ERR_IO, "%s: not a regular file; choose another name", w->path);
    char *name = sh_alloc(capacity, 1);
    if (!name) return sh_fail(SH_ERR_MEMORY, "%s: no memory to write it", w->path);
    for (unsigned i = 0; i < NAME_TRIES && w->fd < 0; i++) {
        snprintf(name, capacity, "%s.%ld-%u.part", w->path, (long)getpid(), i);
        w->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (w->fd < 0 && errno != EEXIST) break;
    }
    if (w->fd < 0) {
        sh_status status = sh_fail(SH_ERR_IO, "%s: cannot be written: %s", name, strerror(errno));
        sh_free(name);
        return status;
    }
    w->temporary = name;
    return SH_OK;
}

sh_status sh_gguf_writer_open(const char *path, uint32_t alignment, sh_gguf_writer **out) {
    sh_status status;
    *out = NULL;
    if (alignment < MIN_ALIGNMENT || alignment > MAX_ALIGNMENT || (alignment & (alignment - 1)))
        return sh_fail(SH_ERR_ARGUMENT, "%s: an alignment of %u, but it should be a power of two from %d to %d", path,
                       alignment, MIN_ALIGNMENT, MAX_ALIGNMENT);
    sh_gguf_writer *w = sh_alloc(1, sizeof *w);
    if (!w) return sh_fail(SH_ERR_MEMORY, "%s: no memory to write it", path);
    w->fd = -1;
    w->alignment = alignment;
    w->path = sh_copy_text(path, strlen(path));
    w->buffer = sh_alloc(WRITE_BYTES, 1);
    if (!w->path || !w->buffer) {
        status = sh_fail(SH_ERR_MEMORY, "%s: no memory to write it", path);
        goto fail;
    }
    if ((status = open_temporary(w))) goto fail;
    *out = w;
    return SH_OK;
fail:
    sh_gguf_writer_close(w);
    return status;
}

void sh_gguf_writer_close(sh_gguf_writer *w) {
    if (!w) return;
    if (w->fd >= 0) close(w->fd);
    if (w->temporary) unlink(w->temporary);
    sh_free(w->temporary);
    sh_free(w->path);
    sh_free(w->keys.data);
    sh_free(w->tensors.data);
    sh_free(w->key_names.items);
    sh_free(w->tensor_names.items);
    sh_free(w->sizes);
    sh_free(w->buffer);
    sh_free(w);
}
