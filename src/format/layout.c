/* layout.c: from type numbers to formats, and from offsets to bytes in the map. See layout.h.
 *
 * Owns the list of tensors that the rest of the library reads. Fails on a file that contradicts itself: tensors outside
 * their part, overlapping, off the alignment, rows that no whole blocks fill. A file that is sound but not run here gets a
 * refusal with its reason and a way out. Tensors may lie in any order and leave gaps: the specification allows it. */
#include "format/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format/q2.h"
#include "format/types.h"

/* What is at hand while a layout is being made. */
typedef struct work {
    const sh_gguf *gguf;
    const sh_gguf_tensor *tensors;
    uint64_t n;
    const sh_gguf_part *parts;
    sh_extent *extents;
    bool padded;    /* offsets are multiples of the alignment */
    bool oxibonsai; /* the file is marked as OxiBonsai's */
    uint64_t at;    /* the tensor an error is about */
} work;

static uint64_t offset_in_file(const work *w, uint64_t i) {
    return w->parts[w->tensors[i].part].start + w->tensors[i].offset;
}

/* ---- extents -------------------------------------------------------------------------------------------- */

typedef struct place {
    uint32_t part;
    uint64_t offset;
    uint64_t index;
} place;

static int compare_places(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->part != y->part) return x->part < y->part ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Gives every tensor its room, after checking that it begins inside its part. */
static sh_status find_extents(work *w) {
    sh_status status = SH_OK;
    place *places = sh_alloc((size_t)w->n, sizeof *places);
    w->extents = sh_alloc((size_t)w->n, sizeof *w->extents);
    if (!places || !w->extents) {
        status = sh_fail(SH_ERR_MEMORY, "no memory for an index of %" PRIu64 " tensors", w->n);
        goto done;
    }
    for (uint64_t i = 0; i < w->n; i++) {
        const sh_gguf_tensor *t = &w->tensors[i];
        const sh_gguf_part *part = &w->parts[t->part];
        if (t->offset > part->size) {
            w->at = i;
            status = sh_fail(SH_ERR_FORMAT,
                             "tensor '%.*s' has offset %" PRIu64 ", but the tensor data ends at offset %" PRIu64
                             ": the file is cut short or damaged; download it again",
                             SH_VIEW_ARG(t->name), t->offset, part->size);
            goto done;
        }
        places[i] = (place){t->part, t->offset, i};
    }
    qsort(places, (size_t)w->n, sizeof *places, compare_places);
    for (uint64_t k = 0; k < w->n; k++) {
        bool last = k + 1 == w->n || places[k + 1].part != places[k].part;
        uint64_t end = last ? w->parts[places[k].part].size : places[k + 1].offset;
        w->extents[places[k].index] =
            (sh_extent){.room = end - places[k].offset, .next = last ? SH_NO_TENSOR : places[k + 1].index};
    }
done:
    sh_free(places);
    return status;
}

/* Whether all offsets are multiples of their part's alignment; if not, w->at is the first that is none. */
static bool is_aligned(work *w) {
    for (uint64_t i = 0; i < w->n; i++) {
        if (w->tensors[i].offset % w->parts[w->tensors[i].part].alignment) {
            w->at = i;
            return false;
        }
    }
    return true;
}

/* ---- formats -------------------------------------------------------------------------------------------- */

/* ik_llama.cpp gave the numbers 142 and 143 to types that it no longer writes. Returns the name if their size, unlike
 * that of ours, fills the room: blocks of 256 with a scale each, or a scale in front of each row. */
static const char *ik_name(const work *w, uint64_t i) {
    const sh_gguf_tensor *t = &w->tensors[i];
    uint64_t n = sh_tensor_elements(t), rows = n / t->dims[0], sizes[2];
    bool is_142 = t->type == 142;
    if (!is_142 && t->type != 143) return NULL;
    if (t->dims[0] % (is_142 ? 256 : 64)) return NULL;
    sizes[0] = sh_extent_bytes(n, 256, is_142 ? 66 : 54);
    if (__builtin_mul_overflow(rows, is_142 ? t->dims[0] / 4 + 4 : t->dims[0] / 64 * 13 + 2, &sizes[1]))
        sizes[1] = UINT64_MAX;
    for (int k = 0; k < 2; k++)
        if (sh_extent_fits(&w->extents[i], sizes[k], w->parts[t->part].alignment, w->padded))
            return is_142 ? "IQ2_TN" : "IQ1_TN";
    return NULL;
}

static sh_format format_of(const sh_type_info *type, sh_q2_layout q2, bool oxibonsai) {
    if (type->format == SH_TQ2_0 && oxibonsai) return SH_TQ2_0_OXI;
    if (type->format == SH_Q2_0_G64) {
        if (q2 == SH_Q2_128) return SH_Q2_0_G128;
        if (q2 == SH_Q2_CODES_FIRST) return SH_Q2_0_CODES_FIRST;
    }
    return type->format;
}

/* Its bytes must fit where it is. */
static sh_status check_room(const work *w, const sh_tensor *t, uint64_t i) {
    const sh_extent *extent = &w->extents[i];
    if (t->bytes <= extent->room) return SH_OK;
    if (extent->next == SH_NO_TENSOR)
        return sh_fail(SH_ERR_FORMAT,
                       "tensor '%.*s' (%s) takes %" PRIu64 " bytes at byte %" PRIu64 ", but the file ends at %" PRIu64
                       ": it is cut short or damaged; download it again",
                       SH_VIEW_ARG(t->name), t->format_name, t->bytes, t->offset, t->offset + extent->room);
    return sh_fail(SH_ERR_FORMAT,
                   "tensor '%.*s' (%s) takes %" PRIu64 " bytes at byte %" PRIu64 ", but '%.*s' begins at %" PRIu64
                   ": the file is damaged; download or convert it again",
                   SH_VIEW_ARG(t->name), t->format_name, t->bytes, t->offset,
                   SH_VIEW_ARG(w->tensors[extent->next].name), t->offset + extent->room);
}

static sh_status place_tensor(const work *w, uint64_t i, sh_q2_layout q2, sh_tensor *out) {
    const sh_gguf_tensor *t = &w->tensors[i];
    const sh_type_info *type = sh_type_get(t->type);
    uint32_t group = type->group, bytes = type->bytes;
    *out = (sh_tensor){
        .name = t->name,
        .format = format_of(type, q2, w->oxibonsai),
        .format_name = type->name,
        .type = t->type,
        .n_dims = t->n_dims,
        .dims = {t->dims[0], t->dims[1], t->dims[2], t->dims[3]},
        .data = w->parts[t->part].data + t->offset,
        .offset = offset_in_file(w, i),
        .part = t->part,
    };
    if (out->format != SH_FORMATS) {
        const sh_format_info *info = sh_format_get(out->format);
        out->format_name = info->name;
        group = info->group;
        bytes = info->bytes;
    }
    if (group == 0) return SH_OK; /* a size nobody can check */
    out->bytes = sh_extent_bytes(sh_tensor_elements(t), group, bytes);
    if (t->dims[0] % group || out->bytes > w->extents[i].room) {
        const char *name = ik_name(w, i);
        if (name) {
            out->format = SH_FORMATS;
            out->format_name = name;
            out->bytes = 0;
            return SH_OK;
        }
    }
    if (t->dims[0] % group)
        return sh_fail(SH_ERR_FORMAT,
                       "tensor '%.*s' has rows of %" PRIu64 " elements, but %s has groups of %u: the file is damaged; "
                       "download or convert it again",
                       SH_VIEW_ARG(t->name), t->dims[0], out->format_name, group);
    return check_room(w, out, i);
}

/* ---- offsets without padding ---------------------------------------------------------------------------- */

/* Early OxiBonsai files do not pad tensors to the alignment. Such a file is taken if it is marked as OxiBonsai's or has
 * type 42, and if every tensor begins exactly where the one before it ends. w->at is the first offset off the alignment. */
static sh_status check_unpadded(work *w, const sh_layout *layout) {
    const sh_gguf_tensor *t = &w->tensors[w->at];
    uint32_t alignment = w->parts[t->part].alignment;
    bool taken = layout->q2 == SH_Q2_128 || layout->q2 == SH_Q2_CODES_FIRST || w->oxibonsai;
    for (uint64_t i = 0; taken && i < w->n; i++)
        taken = layout->tensors[i].bytes &&
                sh_extent_fits(&w->extents[i], layout->tensors[i].bytes, w->parts[w->tensors[i].part].alignment, false);
    if (taken) return SH_OK;
    return sh_fail(SH_ERR_FORMAT,
                   "tensor '%.*s' has offset %" PRIu64
                   ", no multiple of the alignment %u: the file is damaged; download or "
                   "convert it again",
                   SH_VIEW_ARG(t->name), t->offset, alignment);
}

/* ---- what is not run ------------------------------------------------------------------------------------ */

/* Weights in a Hadamard basis look like any others and give fluent nonsense. */
static bool refuse_hadamard(const sh_gguf *gguf, sh_layout *out) {
    static const char prefix[] = "prism.hadamard.";
    uint64_t n;
    const sh_gguf_key *keys = sh_gguf_keys(gguf, &n);
    for (uint64_t i = 0; i < n; i++) {
        if (keys[i].name.length < sizeof prefix - 1 || memcmp(keys[i].name.data, prefix, sizeof prefix - 1) != 0)
            continue;
        snprintf(
            out->refusal, sizeof out->refusal,
            "key '%.*s' says that the weights are in a Hadamard basis (Bonsai 2), which is not undone here; run the "
            "file with PrismML's fork of llama.cpp, or take a model of the first Bonsai family",
            SH_VIEW_ARG(keys[i].name));
        return true;
    }
    return false;
}

static void refuse_types(sh_layout *out) {
    const sh_tensor *first = NULL;
    uint64_t alike = 0;
    char more[64] = "";
    for (uint64_t i = 0; i < out->n; i++) {
        const sh_tensor *t = &out->tensors[i];
        if (t->format != SH_FORMATS) continue;
        if (!first) first = t;
        alike += t->type == first->type;
    }
    if (!first) return;
    if (alike > 1) snprintf(more, sizeof more, " and %" PRIu64 " more", alike - 1);
    sh_type_family family = sh_type_get(first->type)->family;
    if (family == SH_FAMILY_OURS) family = SH_FAMILY_IK; /* 142 and 143 as ik_name found them */
    snprintf(out->refusal, sizeof out->refusal, "tensor '%.*s'%s: type %u (%s), %s", SH_VIEW_ARG(first->name), more,
             first->type, first->format_name, sh_type_refusal(family));
}

/* ---- the layout ----------------------------------------------------------------------------------------- */

sh_status sh_layout_open(const sh_gguf *gguf, sh_q2_layout wanted, sh_layout *out) {
    uint32_t n_parts;
    sh_status status;
    work w = {.gguf = gguf, .parts = sh_gguf_parts(gguf, &n_parts)};
    *out = (sh_layout){.gguf = gguf};
    w.tensors = sh_gguf_tensors(gguf, &w.n);
    w.oxibonsai = sh_oxibonsai_key(gguf) != NULL;
    out->n = w.n;
    out->tensors = sh_alloc((size_t)w.n, sizeof *out->tensors);
    if (!out->tensors) {
        status = sh_fail(SH_ERR_MEMORY, "no memory for an index of %" PRIu64 " tensors", w.n);
        goto fail;
    }
    if ((status = find_extents(&w))) goto fail;
    w.padded = is_aligned(&w);
    uint64_t unaligned = w.at;
    if ((status = sh_q2_decide(&(sh_q2_question){gguf, w.extents, w.padded, wanted}, out))) goto fail;
    for (w.at = 0; w.at < w.n; w.at++)
        if ((status = place_tensor(&w, w.at, out->q2, &out->tensors[w.at]))) goto fail;
    w.at = unaligned;
    if (!w.padded && (status = check_unpadded(&w, out))) goto fail;
    if (!refuse_hadamard(gguf, out)) refuse_types(out);
    sh_free(w.extents);
    return SH_OK;
fail:;
    const char *path = w.n ? w.parts[w.tensors[w.at].part].path : "";
    if (*path) sh_fail_in(status, "%s: ", path);
    sh_free(w.extents);
    sh_layout_close(out);
    return status;
}

void sh_layout_close(sh_layout *layout) {
    if (!layout) return;
    sh_free(layout->tensors);
    *layout = (sh_layout){0};
}

const sh_tensor *sh_layout_find(const sh_layout *layout, const char *name) {
    const sh_gguf_tensor *found = sh_gguf_find_tensor(layout->gguf, name);
    uint64_t n;
    return found ? &layout->tensors[found - sh_gguf_tensors(layout->gguf, &n)] : NULL;
}
