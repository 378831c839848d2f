/* tokenizer.c: the tokenizer's calls of shohin.h, and the way of a text through the parts.
 *
 *   bytes -> valid UTF-8 -> added tokens cut out -> NFC -> pre-tokens -> ids
 *
 * Owns the search for added tokens: user-defined ones (<think>, <tool_call>) are found in every text, control ones only with
 * SH_TOKENIZE_SPECIAL; both before normalization, the longest name at the leftmost place. So Hugging Face's library matches
 * them, and so llama.cpp tells with its parse_special which of them count. */
#include "text/tokenizer.h"

#include <string.h>

#include "base/memory.h"
#include "format/file.h"

/* Positions in a pre-token have 32 bits, and a text may treble when its invalid bytes are replaced. */
enum { MAX_TEXT = 1 << 30 };

/* ---- growing arrays ------------------------------------------------------------------------------------- */

/* `block` with room for n more than `used`, at least doubled; NULL if memory ran out. */
static void *grow(void *block, size_t used, size_t n, size_t size, size_t *capacity) {
    size_t wanted, grown = *capacity < 256 ? 256 : *capacity;
    if (__builtin_add_overflow(used, n, &wanted)) return NULL;
    if (wanted > grown)
        grown = grown > wanted / 2 ? 2 * grown : wanted; /* 2 * grown < 2 * wanted: no overflow that counts */
    void *larger = sh_realloc(block, grown, size);
    if (larger) *capacity = grown;
    return larger;
}

sh_status sh_bytes_reserve(sh_bytes *bytes, size_t n) {
    if (n <= bytes->capacity - bytes->n) return SH_OK;
    uint8_t *data = grow(bytes->data, bytes->n, n, 1, &bytes->capacity);
    if (!data) return sh_fail(SH_ERR_MEMORY, "out of memory for a text of %zu bytes", bytes->n + n);
    bytes->data = data;
    return SH_OK;
}

sh_status sh_bytes_add(sh_bytes *bytes, const void *data, size_t n) {
    if (n == 0) return SH_OK;
    sh_status status = sh_bytes_reserve(bytes, n);
    if (status != SH_OK) return status;
    memcpy(bytes->data + bytes->n, data, n);
    bytes->n += n;
    return SH_OK;
}

sh_status sh_ids_reserve(sh_ids *ids, size_t n) {
    if (n <= ids->capacity - ids->n) return SH_OK;
    int32_t *data = grow(ids->data, ids->n, n, sizeof *data, &ids->capacity);
    if (!data) return sh_fail(SH_ERR_MEMORY, "out of memory for %zu ids", ids->n + n);
    ids->data = data;
    return SH_OK;
}

/* ---- opening -------------------------------------------------------------------------------------------- */

sh_status sh_tokenizer_open(const sh_file *file, sh_tokenizer **out) {
    if (!out) return sh_fail(SH_ERR_ARGUMENT, "sh_tokenizer_open needs a place for the tokenizer");
    *out = NULL;
    if (!file) return sh_fail(SH_ERR_ARGUMENT, "sh_tokenizer_open needs a file");
    sh_tokenizer *t = sh_alloc(1, sizeof *t);
    if (!t) return sh_fail(SH_ERR_MEMORY, "out of memory for a tokenizer");
    t->bos = t->eos = -1;
    sh_status status = sh_vocabulary_read(file->gguf, t);
    if (status != SH_OK) {
        sh_tokenizer_close(t);
        uint32_t n;
        const sh_gguf_part *parts = sh_gguf_parts(file->gguf, &n);
        return n && parts[0].path[0] ? sh_fail_in(status, "%s: ", parts[0].path) : status;
    }
    *out = t;
    return SH_OK;
}

void sh_tokenizer_close(sh_tokenizer *t) {
    if (!t) return;
    sh_pretokenizer_close(t->pretokenizer);
    sh_merges_close(&t->merges);
    sh_free(t->kinds);
    sh_free(t->offsets);
    sh_free(t->bytes);
    sh_free(t->added);
    sh_free(t->ends);
    sh_free(t->inert);
    sh_free(t);
}

void sh_tokenizer_describe(const sh_tokenizer *t, sh_tokenizer_info *info) {
    if (!info) return;
    *info = (sh_tokenizer_info){.bos = -1, .eos = -1};
    if (!t) return;
    *info = (sh_tokenizer_info){
        .n_tokens = t->n_tokens,
        .bos = t->bos,
        .eos = t->eos,
        .add_bos = t->add_bos,
        .ends = t->ends,
        .n_ends = t->n_ends,
    };
}

sh_status sh_token_bytes(const sh_tokenizer *t, int32_t id, const char **bytes, size_t *length) {
    if (!t || !bytes || !length)
        return sh_fail(SH_ERR_ARGUMENT, "sh_token_bytes needs a tokenizer and places for the answer");
    if (id < 0 || (uint32_t)id >= t->n_tokens)
        return sh_fail(SH_ERR_ARGUMENT, "token %d is not in the vocabulary, which has %u", id, t->n_tokens);
    sh_view view = sh_tokenizer_bytes(t, (uint32_t)id);
    *bytes = view.data;
    *length = view.length;
    return SH_OK;
}

bool sh_token_is_control(const sh_tokenizer *t, int32_t id) {
    if (!t || id < 0 || (uint32_t)id >= t->n_tokens) return false;
    return t->kinds[id] == SH_TOKEN_CONTROL || t->kinds[id] == SH_TOKEN_UNUSED;
}

/* ---- added tokens in a text ----------------------------------------------------------------------------- */

static bool is_wanted(const sh_tokenizer *t, uint32_t id, bool special) {
    return t->kinds[id] == SH_TOKEN_USER || special;
}

/* The byte of added token i at `depth`; -1 past its end, which sorts first. */
static int byte_at(const sh_tokenizer *t, uint32_t i, size_t depth) {
    sh_view bytes = sh_tokenizer_bytes(t, t->added[i]);
    return depth < bytes.length ? (uint8_t)bytes.data[depth] : -1;
}

/* The first of added tokens low to before high, which agree up to `depth`, whose byte there is at least `byte`. */
static uint32_t lower_bound(const sh_tokenizer *t, uint32_t low, uint32_t high, size_t depth, int byte) {
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (byte_at(t, middle, depth) < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The longest wanted added token at the front of s; false if there is none. Reads no further than the longest name. */
static bool match_added(const sh_tokenizer *t, const uint8_t *s, size_t n, bool special, uint32_t *id) {
    uint32_t low = t->added_first[s[0]], high = t->added_first[s[0] + 1];
    bool found = false;
    for (size_t depth = 1; low < high; depth++) {
        if (byte_at(t, low, depth) < 0) {
            if (is_wanted(t, t->added[low], special)) {
                *id = t->added[low];
                found = true;
            }
            low++;
        }
        if (depth == n) break;
        low = lower_bound(t, low, high, depth, s[depth]);
        high = lower_bound(t, low, high, depth, s[depth] + 1);
    }
    return found;
}

/* The next added token at or after `at`; *at is then its place, or the end of the text. */
static bool find_added(const sh_tokenizer *t, sh_view text, bool special, size_t *at, uint32_t *id) {
    const uint8_t *s = (const uint8_t *)text.data;
    if (t->any_user || (special && t->n_added)) {
        for (size_t i = *at; i < text.length; i++) {
            if (t->added_first[s[i]] == t->added_first[s[i] + 1]) continue;
            if (match_added(t, s + i, text.length - i, special, id)) {
                *at = i;
                return true;
            }
        }
    }
    *at = text.length;
    return false;
}

/* ---- encoding ------------------------------------------------------------------------------------------- */

sh_status sh_encoder_open(const sh_tokenizer *t, sh_encoder *encoder) {
    *encoder = (sh_encoder){.tokenizer = t, .bpe = {.scan = SH_BPE_SCAN}};
    return sh_splitter_open(t->pretokenizer, &encoder->splitter);
}

void sh_encoder_close(sh_encoder *encoder) {
    sh_splitter_close(&encoder->splitter);
    sh_normalizer_close(&encoder->normalizer);
    sh_bpe_close(&encoder->bpe);
    sh_free(encoder->ids.data);
}

/* A stretch between added tokens. */
static sh_status encode_plain(sh_encoder *encoder, sh_view text) {
    sh_status status = sh_normalize(encoder->tokenizer->inert, &encoder->normalizer, text, &text);
    for (size_t at = 0, end; status == SH_OK && at < text.length; at = end) {
        if ((status = sh_splitter_next(&encoder->splitter, text, at, &end)) != SH_OK) break;
        sh_view pretoken = {text.data + at, end - at};
        status = sh_bpe_encode(encoder->tokenizer, &encoder->bpe, pretoken, &encoder->ids);
    }
    return status;
}

sh_status sh_encoder_text(sh_encoder *encoder, sh_view text, uint32_t flags) {
    const sh_tokenizer *t = encoder->tokenizer;
    bool special = (flags & SH_TOKENIZE_SPECIAL) != 0;
    sh_bytes valid = {0};
    sh_status status = sh_sanitize(text, &valid, &text);
    for (size_t at = 0; status == SH_OK && at < text.length;) {
        size_t found = at;
        uint32_t id;
        bool any = find_added(t, text, special, &found, &id);
        sh_view plain = {text.data + at, found - at};
        if (plain.length && (status = encode_plain(encoder, plain)) != SH_OK) break;
        at = found;
        if (!any) break;
        if ((status = sh_ids_reserve(&encoder->ids, 1)) != SH_OK) break;
        encoder->ids.data[encoder->ids.n++] = (int32_t)id;
        at += sh_tokenizer_bytes(t, id).length;
    }
    sh_free(valid.data);
    return status;
}

sh_status sh_tokenize(const sh_tokenizer *t, const char *text, size_t length, uint32_t flags, int32_t **ids,
                      size_t *n_ids) {
    const uint32_t known = SH_TOKENIZE_SPECIAL | SH_TOKENIZE_BOS;
    if (!ids || !n_ids) return sh_fail(SH_ERR_ARGUMENT, "sh_tokenize needs places for the ids and their number");
    *ids = NULL;
    *n_ids = 0;
    if (!t || (!text && length)) return sh_fail(SH_ERR_ARGUMENT, "sh_tokenize needs a tokenizer and a text");
    if (flags & ~known)
        return sh_fail(SH_ERR_ARGUMENT, "flags to tokenize with are 0x%x, but only 0x%x are known", flags, known);
    if (length > MAX_TEXT)
        return sh_fail(SH_ERR_ARGUMENT, "a text of %zu bytes is too long to tokenize at once: at most %d", length,
                       MAX_TEXT);
    sh_encoder encoder;
    sh_status status = sh_encoder_open(t, &encoder);
    if (status != SH_OK) goto done;
    if ((flags & SH_TOKENIZE_BOS) && t->add_bos) {
        if ((status = sh_ids_reserve(&encoder.ids, 1)) != SH_OK) goto done;
        encoder.ids.data[encoder.ids.n++] = t->bos;
    }
    if (length && (status = sh_encoder_text(&encoder, (sh_view){text, length}, flags)) != SH_OK) goto done;
    if (encoder.ids.n) {
        *ids = encoder.ids.data;
        *n_ids = encoder.ids.n;
        encoder.ids.data = NULL;
    }
done:
    sh_encoder_close(&encoder);
    return status;
}
