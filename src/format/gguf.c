/* gguf.c: parses the GGUF container, alone or split into parts. See gguf.h.
 *
 * Owns the maps of all parts and an index of keys and tensors that points into them. Refuses GGUF version 1, big-endian
 * files, nested arrays, and every length, count or number that the bytes at hand cannot back. No count is trusted before
 * it is held against the bytes left, so memory stays within a small multiple of the file; names are looked up, and
 * duplicates found, in sorted indexes, so time stays within n log n whatever the names are. */
#include "format/gguf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "format/cursor.h"

enum {
    DEFAULT_ALIGNMENT = 32,
    MIN_ALIGNMENT = 8,       /* the specification: a multiple of 8; llama.cpp: a power of two */
    MAX_ALIGNMENT = 1 << 24, /* 16 MiB, above any page size */
    MAX_KEY_NAME = 65535,    /* the specification's, likewise below */
    MAX_TENSOR_NAME = 64,
    MAX_DIMS = 4,
    MIN_KEY_BYTES = 8 + 1 + 4 + 1,            /* name, type, value */
    MIN_TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8, /* name, dimensions, type, offset */
};

/* An entry of a sorted index of names. */
typedef struct named {
    sh_view name;
    uint64_t index;
} named;

/* What one file holds. */
typedef struct header {
    uint32_t version;
    uint32_t alignment;
    sh_gguf_key *keys;
    uint64_t n_keys;
    named *keys_by_name;
    sh_gguf_tensor *tensors;
    uint64_t n_tensors;
    uint64_t start; /* of tensor data; not past the end of the file */
} header;

struct sh_gguf {
    header first; /* of the first part; its tensors are those of all parts */
    named *tensors_by_name;
    uint32_t n_parts;
    sh_gguf_part *parts;
    sh_map *maps; /* one a part; empty for memory */
    char **paths; /* likewise NULL */
};

/* ---- names ---------------------------------------------------------------------------------------------- */

static int compare_views(sh_view a, sh_view b) {
    int order = memcmp(a.data, b.data, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_named(const void *a, const void *b) {
    const named *x = a, *y = b;
    int order = compare_views(x->name, y->name);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Sorts an index by name. The first name that occurs twice is an error. */
static sh_status sort_names(named *names, uint64_t n, const char *what) {
    qsort(names, (size_t)n, sizeof *names, compare_named);
    for (uint64_t i = 1; i < n; i++)
        if (compare_views(names[i - 1].name, names[i].name) == 0)
            return sh_fail(SH_ERR_FORMAT,
                           "%s '%.*s' occurs twice, as number %" PRIu64 " and %" PRIu64
                           ": the file is damaged; download or convert it again",
                           what, SH_VIEW_ARG(names[i].name), names[i - 1].index + 1, names[i].index + 1);
    return SH_OK;
}

static const named *find_name(const named *names, uint64_t n, const char *name) {
    sh_view wanted = {name, strlen(name)};
    for (uint64_t low = 0, high = n; low < high;) {
        uint64_t middle = low + (high - low) / 2;
        int order = compare_views(wanted, names[middle].name);
        if (order == 0) return &names[middle];
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

/* ---- what is no GGUF file ------------------------------------------------------------------------------- */

static bool begins_with(const uint8_t *bytes, size_t size, const char *text) {
    size_t n = strlen(text);
    return size >= n && memcmp(bytes, text, n) == 0;
}

/* What a file without GGUF's magic number seems to be, with what to do; NULL if it looks like nothing we know. */
static const char *what_it_looks_like(const uint8_t *bytes, size_t size) {
    static const struct {
        const char *begin, *meaning;
    } known[] = {
        {"PK\3\4", "a zip archive, such as a PyTorch checkpoint; convert the model to GGUF"},
        {"version https://git-lfs", "a Git LFS pointer, not the file itself; run git lfs pull"},
        {"\x1f\x8b", "gzip-compressed; decompress it"},
        {"\x28\xb5\x2f\xfd", "zstd-compressed; decompress it"},
        {"<!DOCTYPE", "an HTML page, so the download gave a web page; download the file itself"},
        {"<!doctype", "an HTML page, so the download gave a web page; download the file itself"},
        {"<html", "an HTML page, so the download gave a web page; download the file itself"},
        {"<?xml", "an XML text, so the download gave an error; download it again"},
        {"{", "a JSON text, not a model"},
        {"lmgg", "a GGML file of 2023, before GGUF; convert the original model to GGUF"},
        {"fmgg", "a GGML file of 2023, before GGUF; convert the original model to GGUF"},
        {"tjgg", "a GGML file of 2023, before GGUF; convert the original model to GGUF"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (begins_with(bytes, size, known[i].begin)) return known[i].meaning;
    if (size > 8 && bytes[8] == '{' && sh_read_u64(bytes) <= size - 8)
        return "a safetensors file; convert the model to GGUF";
    if (size >= 4 && sh_read_u32(bytes) == 0) return "zeros, as an unfinished download; download it again";
    return NULL;
}

static sh_status refuse_magic(const uint8_t *bytes, size_t size) {
    if (size == 0) return sh_fail(SH_ERR_FORMAT, "not a GGUF file: it is empty; download it again");
    const char *meaning = what_it_looks_like(bytes, size);
    if (meaning) return sh_fail(SH_ERR_FORMAT, "not a GGUF file: it looks like %s", meaning);
    char hex[16] = "";
    size_t used = 0;
    for (size_t i = 0; i < size && i < 4; i++)
        used += (size_t)snprintf(hex + used, sizeof hex - used, i ? " %02x" : "%02x", bytes[i]);
    return sh_fail(SH_ERR_FORMAT, "not a GGUF file: it begins with %s, not with GGUF (47 47 55 46)", hex);
}

/* ---- one header ----------------------------------------------------------------------------------------- */

/* `what` and `name` say what was being read: "key 3 of 24", "value of key 'x'". */
static sh_status cut_short(const sh_cursor *c, uint64_t wanted, const char *what, sh_view name) {
    return sh_fail(SH_ERR_FORMAT,
                   "%s%.*s%s needs %" PRIu64 " bytes at byte %" PRIu64 ", but the file ends at %" PRIu64
                   ": it is cut short or damaged; download it again",
                   what, SH_VIEW_ARG(name), name.length ? "'" : "", wanted, sh_cursor_offset(c),
                   (uint64_t)(c->end - c->begin));
}

static sh_status read_name(sh_cursor *c, uint64_t limit, const char *what, sh_view *out) {
    uint64_t length;
    const uint8_t *bytes;
    if (!sh_cursor_u64(c, &length)) return cut_short(c, 8, what, (sh_view){0});
    if (length == 0 || length > limit)
        return sh_fail(SH_ERR_FORMAT,
                       "%s at byte %" PRIu64 " has a name of %" PRIu64 " bytes, but 1 to %" PRIu64
                       " are allowed: the file is damaged; download it again",
                       what, sh_cursor_offset(c) - 8, length, limit);
    if (!sh_cursor_take(c, length, &bytes)) return cut_short(c, length, what, (sh_view){0});
    if (memchr(bytes, 0, (size_t)length))
        return sh_fail(SH_ERR_FORMAT,
                       "%s at byte %" PRIu64 " has a zero byte in its name: the file is damaged; download it again",
                       what, sh_cursor_offset(c) - length - 8);
    *out = (sh_view){(const char *)bytes, (size_t)length};
    return SH_OK;
}

/* Bytes of a value of fixed size, 0 for the other types. */
static uint64_t type_bytes(uint32_t type) {
    switch (type) {
    case SH_GGUF_U8:
    case SH_GGUF_I8:
    case SH_GGUF_BOOL: return 1;
    case SH_GGUF_U16:
    case SH_GGUF_I16: return 2;
    case SH_GGUF_U32:
    case SH_GGUF_I32:
    case SH_GGUF_F32: return 4;
    case SH_GGUF_U64:
    case SH_GGUF_I64:
    case SH_GGUF_F64: return 8;
    default: return 0;
    }
}

/* Passes over n values of one type and checks each as far as its type says what it may be. */
static sh_status read_values(sh_cursor *c, sh_view key, uint32_t type, uint64_t n) {
    uint64_t size = type_bytes(type);
    const uint8_t *bytes;
    if (size) {
        uint64_t wanted;
        if (__builtin_mul_overflow(n, size, &wanted)) wanted = UINT64_MAX;
        if (!sh_cursor_take(c, wanted, &bytes)) return cut_short(c, wanted, "value of key '", key);
        for (uint64_t i = 0; type == SH_GGUF_BOOL && i < n; i++)
            if (bytes[i] > 1)
                return sh_fail(SH_ERR_FORMAT,
                               "key '%.*s' holds the truth value %u, but only 0 and 1 are allowed: the file is "
                               "damaged; download it again",
                               SH_VIEW_ARG(key), bytes[i]);
        return SH_OK;
    }
    if (n > sh_cursor_left(c) / 8) { /* each string takes at least its length */
        uint64_t wanted;
        if (__builtin_mul_overflow(n, (uint64_t)8, &wanted)) wanted = UINT64_MAX;
        return cut_short(c, wanted, "value of key '", key);
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t length;
        if (!sh_cursor_u64(c, &length)) return cut_short(c, 8, "value of key '", key);
        if (!sh_cursor_take(c, length, &bytes)) return cut_short(c, length, "value of key '", key);
    }
    return SH_OK;
}

static sh_status read_key(sh_cursor *c, const char *what, sh_gguf_key *key) {
    uint32_t type;
    sh_status status = read_name(c, MAX_KEY_NAME, what, &key->name);
    if (status) return status;
    if (!sh_cursor_u32(c, &type)) return cut_short(c, 4, "type of key '", key->name);
    if (type > SH_GGUF_F64)
        return sh_fail(
            SH_ERR_FORMAT,
            "key '%.*s' has a value of type %u, but types are 0 to 12: the file is damaged; download it again",
            SH_VIEW_ARG(key->name), type);
    key->type = (sh_gguf_type)type;
    key->n = 1;
    if (type == SH_GGUF_ARRAY) {
        if (!sh_cursor_u32(c, &type)) return cut_short(c, 4, "element type of key '", key->name);
        if (type > SH_GGUF_F64)
            return sh_fail(SH_ERR_FORMAT,
                           "key '%.*s' is an array of type %u, but types are 0 to 12: the file is damaged; download it "
                           "again",
                           SH_VIEW_ARG(key->name), type);
        if (type == SH_GGUF_ARRAY)
            return sh_fail(SH_ERR_UNSUPPORTED,
                           "key '%.*s' is an array of arrays, which no known model needs; remove the key",
                           SH_VIEW_ARG(key->name));
        if (!sh_cursor_u64(c, &key->n)) return cut_short(c, 8, "length of key '", key->name);
    }
    key->element = (sh_gguf_type)type;
    key->data = c->at;
    status = read_values(c, key->name, type, key->n);
    key->end = c->at;
    return status;
}

static sh_status read_tensor(sh_cursor *c, const char *what, sh_gguf_tensor *t) {
    sh_status status = read_name(c, MAX_TENSOR_NAME, what, &t->name);
    if (status) return status;
    if (!sh_cursor_u32(c, &t->n_dims)) return cut_short(c, 4, "dimensions of tensor '", t->name);
    if (t->n_dims == 0 || t->n_dims > MAX_DIMS)
        return sh_fail(
            SH_ERR_FORMAT,
            "tensor '%.*s' has %u dimensions, but 1 to 4 are allowed: the file is damaged; download it again",
            SH_VIEW_ARG(t->name), t->n_dims);
    uint64_t n = 1;
    for (uint32_t i = 0; i < MAX_DIMS; i++) {
        t->dims[i] = 1;
        if (i >= t->n_dims) continue;
        if (!sh_cursor_u64(c, &t->dims[i])) return cut_short(c, 8, "dimensions of tensor '", t->name);
        if (t->dims[i] == 0)
            return sh_fail(SH_ERR_FORMAT, "tensor '%.*s': dimension %u is 0: the file is damaged; download it again",
                           SH_VIEW_ARG(t->name), i);
        if (__builtin_mul_overflow(n, t->dims[i], &n) || n > INT64_MAX)
            return sh_fail(SH_ERR_FORMAT,
                           "tensor '%.*s' has more than 2^63 elements (dimension %u is %" PRIu64
                           "): the file is damaged; download it again",
                           SH_VIEW_ARG(t->name), i, t->dims[i]);
    }
    if (!sh_cursor_u32(c, &t->type)) return cut_short(c, 4, "type of tensor '", t->name);
    if (!sh_cursor_u64(c, &t->offset)) return cut_short(c, 8, "offset of tensor '", t->name);
    return SH_OK;
}

static sh_status read_keys(sh_cursor *c, header *out) {
    out->keys = sh_alloc((size_t)out->n_keys, sizeof *out->keys);
    out->keys_by_name = sh_alloc((size_t)out->n_keys, sizeof *out->keys_by_name);
    if (!out->keys || !out->keys_by_name)
        return sh_fail(SH_ERR_MEMORY, "no memory for an index of %" PRIu64 " keys", out->n_keys);
    for (uint64_t i = 0; i < out->n_keys; i++) {
        char what[64];
        snprintf(what, sizeof what, "key %" PRIu64 " of %" PRIu64, i + 1, out->n_keys);
        sh_status status = read_key(c, what, &out->keys[i]);
        if (status) return status;
        out->keys_by_name[i] = (named){out->keys[i].name, i};
    }
    return sort_names(out->keys_by_name, out->n_keys, "key");
}

static sh_status read_tensors(sh_cursor *c, header *out) {
    out->tensors = sh_alloc((size_t)out->n_tensors, sizeof *out->tensors);
    if (!out->tensors) return sh_fail(SH_ERR_MEMORY, "no memory for an index of %" PRIu64 " tensors", out->n_tensors);
    for (uint64_t i = 0; i < out->n_tensors; i++) {
        char what[64];
        snprintf(what, sizeof what, "tensor %" PRIu64 " of %" PRIu64, i + 1, out->n_tensors);
        sh_status status = read_tensor(c, what, &out->tensors[i]);
        if (status) return status;
    }
    return SH_OK;
}

static sh_status check_version(uint32_t version) {
    if (version == 2 || version == 3) return SH_OK;
    if (version == 1)
        return sh_fail(SH_ERR_UNSUPPORTED,
                       "GGUF version 1, but 2 and 3 are read; convert the original model again with a current tool");
    if (version == 0x02000000 || version == 0x03000000)
        return sh_fail(SH_ERR_UNSUPPORTED,
                       "a big-endian GGUF file, but little-endian ones are read; take the little-endian file of this "
                       "model or convert it (gguf_convert_endian)");
    return sh_fail(SH_ERR_UNSUPPORTED,
                   "GGUF version %u, but 2 and 3 are read; look for a newer release of this program", version);
}

static const sh_gguf_key *find_key(const header *h, const char *name) {
    const named *found = find_name(h->keys_by_name, h->n_keys, name);
    return found ? &h->keys[found->index] : NULL;
}

/* The integer under `name`, or *value as it was. */
static sh_status header_integer(const header *h, const char *name, int64_t *value) {
    const sh_gguf_key *key = find_key(h, name);
    if (!key) return SH_OK;
    if (key->type == SH_GGUF_BOOL || key->type == SH_GGUF_F32 || key->type == SH_GGUF_F64 ||
        key->type == SH_GGUF_STRING || key->type == SH_GGUF_ARRAY)
        return sh_fail(SH_ERR_FORMAT, "key '%s' should be an integer, but its type is %s", name,
                       sh_gguf_type_name(key->type));
    *value = sh_gguf_integer(key, 0);
    return SH_OK;
}

static void header_free(header *h) {
    sh_free(h->keys);
    sh_free(h->keys_by_name);
    sh_free(h->tensors);
    *h = (header){0};
}

/* On failure nothing is left to free. */
static sh_status header_read(const uint8_t *bytes, size_t size, header *out) {
    int64_t alignment = DEFAULT_ALIGNMENT;
    sh_status status;
    *out = (header){0};
    if (!begins_with(bytes, size, "GGUF")) return refuse_magic(bytes, size); /* also where bytes is NULL */
    sh_cursor c = {bytes, bytes + 4, bytes + size};
    if (!sh_cursor_u32(&c, &out->version)) return cut_short(&c, 4, "GGUF version", (sh_view){0});
    if ((status = check_version(out->version))) return status;
    if (!sh_cursor_u64(&c, &out->n_tensors)) return cut_short(&c, 8, "number of tensors", (sh_view){0});
    if (!sh_cursor_u64(&c, &out->n_keys)) return cut_short(&c, 8, "number of keys", (sh_view){0});
    if (out->n_keys > sh_cursor_left(&c) / MIN_KEY_BYTES || out->n_tensors > sh_cursor_left(&c) / MIN_TENSOR_BYTES) {
        status =
            sh_fail(SH_ERR_FORMAT,
                    "%" PRIu64 " keys and %" PRIu64 " tensors do not fit into a file of %zu bytes: it is cut short "
                    "or damaged; download it again",
                    out->n_keys, out->n_tensors, size);
        goto fail;
    }
    if ((status = read_keys(&c, out))) goto fail;
    if ((status = header_integer(out, "general.alignment", &alignment))) goto fail;
    if (alignment < MIN_ALIGNMENT || alignment > MAX_ALIGNMENT || (alignment & (alignment - 1))) {
        status =
            sh_fail(SH_ERR_FORMAT, "key 'general.alignment' is %" PRId64 ", but should be a power of two from %d to %d",
                    alignment, MIN_ALIGNMENT, MAX_ALIGNMENT);
        goto fail;
    }
    out->alignment = (uint32_t)alignment;
    if ((status = read_tensors(&c, out))) goto fail;
    out->start = (sh_cursor_offset(&c) + out->alignment - 1) / out->alignment * out->alignment;
    if (out->start > size) {
        if (out->n_tensors) {
            status = sh_fail(SH_ERR_FORMAT,
                             "tensor data begins at byte %" PRIu64
                             ", but the file ends at %zu: it is cut short; download it again",
                             out->start, size);
            goto fail;
        }
        out->start = size; /* a file without tensors need not be padded */
    }
    return SH_OK;
fail:
    header_free(out);
    return status;
}

/* ---- one file or several -------------------------------------------------------------------------------- */

/* split.count and split.no of a header; count is 1 for a file that is whole. */
static sh_status read_split(const header *h, uint32_t *count, uint32_t *number) {
    int64_t n = 1, i = 0;
    sh_status status = header_integer(h, "split.count", &n);
    if (!status) status = header_integer(h, "split.no", &i);
    if (status) return status;
    if (n == 0) n = 1;
    if (n < 1 || n > 65535 || i < 0 || i >= n)
        return sh_fail(SH_ERR_FORMAT,
                       "key 'split.no' is %" PRId64 " and 'split.count' %" PRId64
                       ", but parts are numbered from 0 and there are at most 65535: the file is damaged",
                       i, n);
    *count = (uint32_t)n;
    *number = (uint32_t)i;
    return SH_OK;
}

static sh_status allocate_parts(sh_gguf *g, uint32_t n) {
    g->parts = sh_alloc(n, sizeof *g->parts);
    g->maps = sh_alloc(n, sizeof *g->maps);
    g->paths = sh_alloc(n, sizeof *g->paths);
    if (!g->parts || !g->maps || !g->paths) return sh_fail(SH_ERR_MEMORY, "no memory for an index of %u files", n);
    g->n_parts = n;
    return SH_OK;
}

static void set_part(sh_gguf *g, uint32_t i, const header *h, const uint8_t *bytes, size_t size) {
    g->parts[i] = (sh_gguf_part){.data = bytes + h->start,
                                 .size = size - h->start,
                                 .start = h->start,
                                 .alignment = h->alignment,
                                 .path = g->paths[i] ? g->paths[i] : ""};
}

/* Adds the tensors of part `i` behind those of the parts before it. */
static sh_status append_tensors(sh_gguf *g, const header *h, uint32_t i) {
    uint64_t n = g->first.n_tensors + h->n_tensors;
    sh_gguf_tensor *tensors = sh_realloc(g->first.tensors, (size_t)n, sizeof *tensors);
    if (!tensors) return sh_fail(SH_ERR_MEMORY, "no memory for an index of %" PRIu64 " tensors", n);
    g->first.tensors = tensors;
    for (uint64_t k = 0; k < h->n_tensors; k++) {
        tensors[g->first.n_tensors + k] = h->tensors[k];
        tensors[g->first.n_tensors + k].part = i;
    }
    g->first.n_tensors = n;
    return SH_OK;
}

static sh_status index_tensors(sh_gguf *g) {
    g->tensors_by_name = sh_alloc((size_t)g->first.n_tensors, sizeof *g->tensors_by_name);
    if (!g->tensors_by_name)
        return sh_fail(SH_ERR_MEMORY, "no memory for an index of %" PRIu64 " tensors", g->first.n_tensors);
    for (uint64_t i = 0; i < g->first.n_tensors; i++) g->tensors_by_name[i] = (named){g->first.tensors[i].name, i};
    return sort_names(g->tensors_by_name, g->first.n_tensors, "tensor");
}

/* "-00002-of-00003.gguf": how the name of part `number` (from 0) of `count` ends. */
enum { SUFFIX_CAPACITY = 32 };
static size_t part_suffix(uint32_t number, uint32_t count, char suffix[SUFFIX_CAPACITY]) {
    return (size_t)snprintf(suffix, SUFFIX_CAPACITY, "-%05u-of-%05u.gguf", number + 1, count);
}

/* Paths of all parts from that of one. */
static sh_status name_parts(sh_gguf *g, const char *path, uint32_t number) {
    char suffix[SUFFIX_CAPACITY];
    size_t n = part_suffix(number, g->n_parts, suffix), length = strlen(path);
    if (length < n || memcmp(path + length - n, suffix, n) != 0)
        return sh_fail(
            SH_ERR_FORMAT,
            "it says that it is part %u of %u, so its name should end in %s for the other parts to be found; "
            "rename it",
            number + 1, g->n_parts, suffix);
    for (uint32_t i = 0; i < g->n_parts; i++) {
        part_suffix(i, g->n_parts, suffix);
        g->paths[i] = sh_alloc(length + SUFFIX_CAPACITY, 1);
        if (!g->paths[i]) return sh_fail(SH_ERR_MEMORY, "no memory for the names of %u files", g->n_parts);
        memcpy(g->paths[i], path, length - n);
        memcpy(g->paths[i] + length - n, suffix, strlen(suffix) + 1);
    }
    return SH_OK;
}

/* Opens part `i` by its path: the first part's header becomes the file's, of the others the tensors are kept. */
static sh_status open_part(sh_gguf *g, uint32_t i) {
    header h = {0};
    uint32_t count, number;
    sh_status status = sh_map_open(g->paths[i], &g->maps[i]);
    if (status) return sh_fail_in(status, "part %u of %u is needed, but cannot be opened: ", i + 1, g->n_parts);
    if ((status = header_read(g->maps[i].data, g->maps[i].size, &h))) goto fail;
    if ((status = read_split(&h, &count, &number))) goto fail;
    if (count != g->n_parts || number != i) {
        status = sh_fail(SH_ERR_FORMAT,
                         "it says that it is part %u of %u, but by its name it is part %u of %u: the parts are not of "
                         "one model; download them again",
                         number + 1, count, i + 1, g->n_parts);
        goto fail;
    }
    if (i == 0) {
        g->first = h;
        set_part(g, i, &g->first, g->maps[i].data, g->maps[i].size);
        return SH_OK;
    }
    set_part(g, i, &h, g->maps[i].data, g->maps[i].size);
    status = append_tensors(g, &h, i);
fail:
    header_free(&h);
    return status ? sh_fail_in(status, "%s: ", g->paths[i]) : SH_OK;
}

static sh_status check_tensor_count(const sh_gguf *g) {
    int64_t n = (int64_t)g->first.n_tensors;
    sh_status status = header_integer(&g->first, "split.tensors.count", &n);
    if (status) return status;
    if (n != (int64_t)g->first.n_tensors)
        return sh_fail(SH_ERR_FORMAT,
                       "key 'split.tensors.count' is %" PRId64 ", but the %u parts hold %" PRIu64
                       " tensors: the parts are not of one model; download them again",
                       n, g->n_parts, g->first.n_tensors);
    return SH_OK;
}

sh_status sh_gguf_open(const char *path, sh_gguf **out) {
    sh_map map = {0};
    header h = {0};
    uint32_t count = 1, number = 0;
    sh_gguf *g = NULL;
    sh_status status;
    *out = NULL;
    if ((status = sh_map_open(path, &map))) return status;
    if ((status = header_read(map.data, map.size, &h))) goto fail;
    if ((status = read_split(&h, &count, &number))) goto fail;
    if (!(g = sh_alloc(1, sizeof *g))) {
        status = sh_fail(SH_ERR_MEMORY, "no memory to open it");
        goto fail;
    }
    if ((status = allocate_parts(g, count))) goto fail;
    if (count == 1) {
        if (!(g->paths[0] = sh_copy_text(path, strlen(path)))) {
            status = sh_fail(SH_ERR_MEMORY, "no memory to open it");
            goto fail;
        }
        g->maps[0] = map;
        g->first = h;
        map = (sh_map){0};
        h = (header){0};
        set_part(g, 0, &g->first, g->maps[0].data, g->maps[0].size);
    } else {
        if ((status = name_parts(g, path, number))) goto fail;
        for (uint32_t i = 0; i < count; i++) /* this one again, too: mapping it twice costs nothing */
            if ((status = open_part(g, i))) goto done;
        if ((status = check_tensor_count(g))) goto fail;
    }
    if ((status = index_tensors(g))) goto fail;
    *out = g;
    g = NULL;
    goto done;
fail:
    sh_fail_in(status, "%s: ", path);
done:
    header_free(&h);
    sh_map_close(&map);
    sh_gguf_close(g);
    return status;
}

sh_status sh_gguf_parse(const uint8_t *bytes, size_t size, sh_gguf **out) {
    uint32_t count, number;
    sh_status status;
    *out = NULL;
    sh_gguf *g = sh_alloc(1, sizeof *g);
    if (!g) return sh_fail(SH_ERR_MEMORY, "no memory to open it");
    if ((status = header_read(bytes, size, &g->first))) goto fail;
    if ((status = read_split(&g->first, &count, &number))) goto fail;
    if (count != 1) {
        status = sh_fail(SH_ERR_UNSUPPORTED, "part %u of %u of a split file in memory; open it by its path", number + 1,
                         count);
        goto fail;
    }
    if ((status = allocate_parts(g, 1))) goto fail;
    set_part(g, 0, &g->first, bytes, size);
    if ((status = index_tensors(g))) goto fail;
    *out = g;
    return SH_OK;
fail:
    sh_gguf_close(g);
    return status;
}

void sh_gguf_close(sh_gguf *g) {
    if (!g) return;
    for (uint32_t i = 0; i < g->n_parts; i++) {
        sh_map_close(&g->maps[i]);
        sh_free(g->paths[i]);
    }
    sh_free(g->maps);
    sh_free(g->paths);
    sh_free(g->parts);
    sh_free(g->tensors_by_name);
    header_free(&g->first);
    sh_free(g);
}

/* ---- what was found ------------------------------------------------------------------------------------- */

uint32_t sh_gguf_version(const sh_gguf *g) {
    return g->first.version;
}

uint32_t sh_gguf_alignment(const sh_gguf *g) {
    return g->first.alignment;
}

const sh_gguf_part *sh_gguf_parts(const sh_gguf *g, uint32_t *n) {
    *n = g->n_parts;
    return g->parts;
}

const sh_gguf_key *sh_gguf_keys(const sh_gguf *g, uint64_t *n) {
    *n = g->first.n_keys;
    return g->first.keys;
}

const sh_gguf_tensor *sh_gguf_tensors(const sh_gguf *g, uint64_t *n) {
    *n = g->first.n_tensors;
    return g->first.tensors;
}

const sh_gguf_key *sh_gguf_find(const sh_gguf *g, const char *name) {
    return find_key(&g->first, name);
}

const sh_gguf_tensor *sh_gguf_find_tensor(const sh_gguf *g, const char *name) {
    const named *found = find_name(g->tensors_by_name, g->first.n_tensors, name);
    return found ? &g->first.tensors[found->index] : NULL;
}
