/* q2.c: tells the three layouts of type 42 apart. See q2.h and docs/FORMATS.md.
 *
 * Two questions, each answered by evidence of its own. Groups of 64 or of 128: only one of them fills the room that the
 * offsets give every tensor. Scale first or codes first, within groups of 128: read the wrong way, scales turn out
 * negative or huge and codes 3, which no known writer of these groups uses. Refuses to guess: where the evidence is
 * missing or contradicts itself, the error holds both numbers and names the override. */
#include "format/q2.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"

enum {
    TYPE_Q2_0 = 42,
    G64_BYTES = 18,
    G128_BYTES = 34,
    RUNS = 64,      /* places in the file that are sampled */
    RUN_BLOCKS = 64 /* blocks at each: about half a page of memory */
};

/* Trained scales lie between 1e-5 and 0.1; a code's bits read as a scale are above 2 a third of the time. */
#define LARGEST_SCALE 2.0f

#define OVERRIDE "; if you know the layout, give it as q2-layout (64, 128 or codes-first)"

uint64_t sh_extent_bytes(uint64_t n, uint32_t group, uint32_t bytes) {
    uint64_t result;
    return __builtin_mul_overflow(n / group, (uint64_t)bytes, &result) ? UINT64_MAX : result;
}

bool sh_extent_fits(const sh_extent *extent, uint64_t bytes, uint32_t alignment, bool padded) {
    if (bytes > extent->room) return false;
    uint64_t slack = extent->room - bytes;
    return padded || extent->next == SH_NO_TENSOR ? slack < alignment : slack == 0;
}

uint64_t sh_tensor_elements(const sh_gguf_tensor *t) {
    return t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3]; /* fits in 63 bits: checked by the reader */
}

/* ---- whose file ----------------------------------------------------------------------------------------- */

static bool view_begins(sh_view view, const char *text) {
    size_t n = strlen(text);
    return view.length >= n && memcmp(view.data, text, n) == 0;
}

const sh_gguf_key *sh_oxibonsai_key(const sh_gguf *gguf) {
    const sh_gguf_key *version = sh_gguf_find(gguf, "general.quantization_version");
    if (version && version->type == SH_GGUF_STRING) return version; /* everyone else's is an integer */
    uint64_t n;
    const sh_gguf_key *keys = sh_gguf_keys(gguf, &n);
    for (uint64_t i = 0; i < n; i++)
        if (view_begins(keys[i].name, "oxibonsai.") || view_begins(keys[i].name, "llm.")) return &keys[i];
    return NULL;
}

/* ---- the group: by offsets ------------------------------------------------------------------------------ */

typedef struct group_fit {
    uint32_t group, bytes;
    uint64_t fitting; /* tensors that fill their room */
    uint64_t misfit;  /* the first that does not; SH_NO_TENSOR if all do */
} group_fit;

/* Holds every tensor of type 42 against its room. What is last in a part may be followed by anything, or be cut short,
 * so that it is held against it only where nothing else speaks. */
static void fit_group(const sh_q2_question *q, bool with_last, group_fit *fit) {
    uint64_t n;
    uint32_t n_parts;
    const sh_gguf_tensor *tensors = sh_gguf_tensors(q->gguf, &n);
    const sh_gguf_part *parts = sh_gguf_parts(q->gguf, &n_parts);
    fit->misfit = SH_NO_TENSOR;
    for (uint64_t i = 0; i < n; i++) {
        const sh_gguf_tensor *t = &tensors[i];
        if (t->type != TYPE_Q2_0) continue;
        uint64_t bytes = sh_extent_bytes(sh_tensor_elements(t), fit->group, fit->bytes);
        bool fits =
            t->dims[0] % fit->group == 0 && sh_extent_fits(&q->extents[i], bytes, parts[t->part].alignment, q->padded);
        fit->fitting += fits;
        if (!fits && fit->misfit == SH_NO_TENSOR && (with_last || q->extents[i].next != SH_NO_TENSOR)) fit->misfit = i;
    }
}

/* "'x' (N elements at offset O) would end at offset E in groups of 64, but the next tensor 'y' is at F". */
static void explain_misfit(const sh_q2_question *q, const group_fit *fit, char *text, size_t capacity) {
    uint64_t n;
    const sh_gguf_tensor *tensors = sh_gguf_tensors(q->gguf, &n), *t = &tensors[fit->misfit];
    const sh_extent *extent = &q->extents[fit->misfit];
    uint32_t n_parts;
    const sh_gguf_part *part = &sh_gguf_parts(q->gguf, &n_parts)[t->part];
    if (t->dims[0] % fit->group) {
        snprintf(text, capacity, "'%.*s' has rows of %" PRIu64 ", no multiple of %u", SH_VIEW_ARG(t->name), t->dims[0],
                 fit->group);
        return;
    }
    uint64_t bytes = sh_extent_bytes(sh_tensor_elements(t), fit->group, fit->bytes);
    uint64_t padding = q->padded ? (part->alignment - bytes % part->alignment) % part->alignment : 0;
    bool last = extent->next == SH_NO_TENSOR;
    snprintf(text, capacity,
             "in groups of %u what follows '%.*s' would be at offset %" PRIu64 ", but %s%.*s%s is at %" PRIu64,
             fit->group, SH_VIEW_ARG(t->name), t->offset + bytes + padding, last ? "the end of the file" : "'",
             last ? 0 : (int)tensors[extent->next].name.length, last ? "" : tensors[extent->next].name.data,
             last ? "" : "'", t->offset + extent->room);
}

static sh_status refuse_offsets(const sh_q2_question *q, const group_fit *g64, const group_fit *g128) {
    char first[256], second[256];
    if (g64->misfit == SH_NO_TENSOR)
        return sh_fail(SH_ERR_FORMAT,
                       "tensors of type 42 fit their offsets in groups of 64 and of 128 alike, being so few or so "
                       "small" OVERRIDE);
    explain_misfit(q, g64, first, sizeof first);
    explain_misfit(q, g128, second, sizeof second);
    return sh_fail(SH_ERR_FORMAT, "no reading of type 42 fits the offsets: %s; %s: the file is damaged" OVERRIDE, first,
                   second);
}

/* ---- the order inside a group of 128: by contents ------------------------------------------------------- */

typedef struct order_fit {
    uint64_t threes; /* codes that are 3 */
    uint64_t scales; /* that are negative, no number, infinite or too large */
} order_fit;

static void look_at_block(const uint8_t *codes, const uint8_t *scale, order_fit *fit) {
    for (int i = 0; i < 32; i++) {
        unsigned both = codes[i] & codes[i] >> 1 & 0x55; /* a bit for each code that is 3 */
        fit->threes += (uint64_t)__builtin_popcount(both);
    }
    uint16_t half = sh_read_u16(scale);
    float value = sh_float_from_half(half);
    fit->scales += half & 0x8000 || !(value <= LARGEST_SCALE);
}

typedef struct sample {
    uint64_t blocks;
    order_fit scale_first, codes_first;
} sample;

static void look_at_run(const uint8_t *bytes, uint64_t n, sample *s) {
    for (uint64_t i = 0; i < n; i++, bytes += G128_BYTES) {
        look_at_block(bytes + 2, bytes, &s->scale_first);
        look_at_block(bytes, bytes + 32, &s->codes_first);
    }
    s->blocks += n;
}

/* All blocks of a small file, of a large one RUN_BLOCKS at each of RUNS places evenly spread over the tensors. Tensors
 * that reach past the end of their part are left out: they are reported elsewhere. */
static void look_at_contents(const sh_q2_question *q, sample *s) {
    uint64_t n, total = 0, before = 0;
    uint32_t n_parts;
    const sh_gguf_tensor *tensors = sh_gguf_tensors(q->gguf, &n);
    const sh_gguf_part *parts = sh_gguf_parts(q->gguf, &n_parts);
    for (uint64_t i = 0; i < n; i++)
        if (tensors[i].type == TYPE_Q2_0) total += sh_tensor_elements(&tensors[i]) / 128;
    bool all = total <= (uint64_t)RUNS * RUN_BLOCKS;
    uint64_t stride = total / RUNS, at = 0;
    for (uint64_t i = 0; i < n; i++) {
        const sh_gguf_tensor *t = &tensors[i];
        if (t->type != TYPE_Q2_0) continue;
        const uint8_t *bytes = parts[t->part].data + t->offset;
        uint64_t blocks = sh_tensor_elements(t) / 128;
        bool whole = blocks <= (parts[t->part].size - t->offset) / G128_BYTES;
        if (whole && all) look_at_run(bytes, blocks, s);
        for (; !all && at < before + blocks; at += stride) {
            uint64_t first = at - before, left = blocks - first;
            if (whole) look_at_run(bytes + first * G128_BYTES, left < RUN_BLOCKS ? left : RUN_BLOCKS, s);
        }
        before += blocks;
    }
}

static bool is_clean(const order_fit *fit) {
    return fit->threes == 0 && fit->scales == 0;
}

/* The value by which OxiBonsai names its layout; its other keys only say who wrote the file. */
static bool names_codes_first(const sh_gguf_key *key) {
    if (key->type != SH_GGUF_STRING) return false;
    const uint8_t *cursor = key->data;
    return sh_view_is(sh_gguf_next_string(&cursor), "TQ2_0_G128");
}

/* Decides between scale first and codes first; `key` is OxiBonsai's mark, or NULL. */
static sh_status decide_order(const sh_q2_question *q, const sh_gguf_key *key, sh_layout *out) {
    sample s = {0};
    char numbers[160];
    look_at_contents(q, &s);
    snprintf(numbers, sizeof numbers,
             "of %" PRIu64 " blocks scale-first gives %" PRIu64 " codes 3 and %" PRIu64
             " impossible scales, codes-first %" PRIu64 " and %" PRIu64,
             s.blocks, s.scale_first.threes, s.scale_first.scales, s.codes_first.threes, s.codes_first.scales);
    bool scale_first = is_clean(&s.scale_first), codes_first = is_clean(&s.codes_first);
    if (!scale_first && !codes_first)
        return sh_fail(SH_ERR_FORMAT,
                       "no reading of type 42 in groups of 128 fits the contents: %s: the file is damaged" OVERRIDE,
                       numbers);
    if (key && names_codes_first(key) && !codes_first)
        return sh_fail(SH_ERR_FORMAT,
                       "key '%.*s' says that type 42 is codes-first, the contents say that it is not: %s" OVERRIDE,
                       SH_VIEW_ARG(key->name), numbers);
    if (!key && scale_first && codes_first)
        return sh_fail(SH_ERR_FORMAT, "the contents of type 42 in groups of 128 fit both orders: %s" OVERRIDE, numbers);
    out->q2 = codes_first && (key || !scale_first) ? SH_Q2_CODES_FIRST : SH_Q2_128;
    if (key && codes_first) {
        snprintf(out->q2_reason, sizeof out->q2_reason, "offsets fit groups of 128; key '%.*s' marks OxiBonsai; %s",
                 (int)(key->name.length > 40 ? 40 : key->name.length), key->name.data, numbers);
    } else {
        snprintf(out->q2_reason, sizeof out->q2_reason, "offsets fit groups of 128, not of 64; %s", numbers);
    }
    return SH_OK;
}

/* ---- the decision --------------------------------------------------------------------------------------- */

static const char *layout_name(sh_q2_layout layout) {
    static const char *const names[] = {"auto", "64", "128", "codes-first"};
    return names[layout];
}

sh_status sh_q2_layout_from_text(const char *text, sh_q2_layout *out) {
    if (!text) text = "auto";
    for (int i = SH_Q2_AUTO; i <= SH_Q2_CODES_FIRST; i++) {
        if (strcmp(text, layout_name((sh_q2_layout)i)) == 0) {
            *out = (sh_q2_layout)i;
            return SH_OK;
        }
    }
    return sh_fail(SH_ERR_ARGUMENT, "q2-layout is '%.100s', but should be auto, 64, 128 or codes-first", text);
}

/* Takes what the caller asked for, and says so where the offsets say otherwise. Whether every tensor has room is checked
 * with those of the other types. */
static void obey(const sh_q2_question *q, const group_fit *g64, const group_fit *g128, sh_layout *out) {
    bool is_64 = q->wanted == SH_Q2_64;
    const group_fit *wanted = is_64 ? g64 : g128, *other = is_64 ? g128 : g64;
    out->q2 = q->wanted;
    if (wanted->misfit == SH_NO_TENSOR) {
        snprintf(out->q2_reason, sizeof out->q2_reason, "as asked; the offsets fit groups of %u", wanted->group);
        return;
    }
    snprintf(out->q2_reason, sizeof out->q2_reason, "as asked, though the offsets fit %s",
             other->misfit == SH_NO_TENSOR ? (is_64 ? "groups of 128" : "groups of 64") : "no reading");
    sh_log(SH_LOG_WARN, "type 42 is read as %s %s", layout_name(q->wanted), out->q2_reason);
}

sh_status sh_q2_decide(const sh_q2_question *q, sh_layout *out) {
    uint64_t n, total = 0, inner = 0;
    const sh_gguf_tensor *tensors = sh_gguf_tensors(q->gguf, &n);
    const sh_gguf_key *key = sh_oxibonsai_key(q->gguf);
    out->q2 = SH_Q2_AUTO;
    out->q2_reason[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (tensors[i].type != TYPE_Q2_0) continue;
        total++;
        inner += q->extents[i].next != SH_NO_TENSOR;
    }
    if (total == 0) return SH_OK;
    group_fit g64 = {.group = 64, .bytes = G64_BYTES}, g128 = {.group = 128, .bytes = G128_BYTES};
    fit_group(q, inner == 0, &g64);
    fit_group(q, inner == 0, &g128);
    if (q->wanted != SH_Q2_AUTO) {
        obey(q, &g64, &g128, out);
        return SH_OK;
    }
    bool is_64 = g64.misfit == SH_NO_TENSOR, is_128 = g128.misfit == SH_NO_TENSOR;
    if (is_64 && is_128) { /* small tensors: those last in their parts may still tell */
        is_64 = g64.fitting == total || g128.fitting != total;
        is_128 = g128.fitting == total || g64.fitting != total;
    }
    if (is_64 && is_128 && key) is_64 = false; /* OxiBonsai's own layout has groups of 128 */
    if (is_64 == is_128) return refuse_offsets(q, &g64, &g128);
    if (is_128) return decide_order(q, key, out);
    if (key && names_codes_first(key))
        return sh_fail(SH_ERR_FORMAT,
                       "key '%.*s' says TQ2_0_G128, type 42 in groups of 128, but the offsets "
                       "fit groups of 64 only" OVERRIDE,
                       SH_VIEW_ARG(key->name));
    out->q2 = SH_Q2_64;
    snprintf(out->q2_reason, sizeof out->q2_reason,
             "offsets fit groups of 64 (18 bytes) for %" PRIu64 " of %" PRIu64
             " tensors, groups of 128 (34 bytes) for %" PRIu64,
             g64.fitting, total, g128.fitting);
    return SH_OK;
}
