/* tokenizer.h: the parts behind the public sh_tokenizer, for this folder and its tests.
 *
 *   vocabulary.c   GGUF keys -> a checked vocabulary and merge table
 *   normalize.c    bytes -> valid UTF-8 -> NFC
 *   pretokenize.c  text -> pre-tokens (words, numbers, runs of spaces)
 *   bpe.c          pre-token -> ids
 *   tokenizer.c    the calls of shohin.h: added tokens in a text, and the steps above between them
 *   detokenize.c   ids -> text, streaming
 *
 * A tokenizer is read-only once open and shared by threads: what a call needs besides lives in its sh_encoder. */
#ifndef SH_TEXT_TOKENIZER_H
#define SH_TEXT_TOKENIZER_H

#include "format/gguf.h"

/* ---- growing arrays ------------------------------------------------------------------------------------- */

typedef struct sh_bytes {
    uint8_t *data;
    size_t n, capacity;
} sh_bytes;

typedef struct sh_ids {
    int32_t *data;
    size_t n, capacity;
} sh_ids;

/* Room for n more. */
sh_status sh_bytes_reserve(sh_bytes *bytes, size_t n);
sh_status sh_bytes_add(sh_bytes *bytes, const void *data, size_t n);
sh_status sh_ids_reserve(sh_ids *ids, size_t n);

/* ---- merges --------------------------------------------------------------------------------------------- */

enum { SH_RANK_NONE = 0xffffffff }; /* the rank of a pair that does not merge */

/* Tokens `left` and `right` side by side become `result`; of all pairs of a pre-token the lowest rank merges first. */
typedef struct sh_merge {
    uint32_t left, right;
    uint32_t rank; /* SH_RANK_NONE in an empty slot */
    uint32_t result;
} sh_merge;

/* A hash table with open addressing; at most two thirds full. */
typedef struct sh_merges {
    sh_merge *slots;
    uint32_t mask; /* slots - 1 */
    uint64_t seed; /* of the hashes */
} sh_merges;

sh_status sh_merges_open(sh_merges *merges, uint32_t n);
void sh_merges_close(sh_merges *merges);
/* Adds a merge. If there is one of the same pair already, changes nothing and returns it; otherwise returns NULL. */
const sh_merge *sh_merges_add(sh_merges *merges, sh_merge merge);
/* Has the slot that a merge will take fetched to the cache. */
void sh_merges_prefetch(const sh_merges *merges, const sh_merge *merge);

/* ---- vocabulary ----------------------------------------------------------------------------------------- */

typedef enum sh_token_kind {
    SH_TOKEN_TEXT,    /* bytes that merges build */
    SH_TOKEN_USER,    /* matched whole wherever it stands in a text, before anything else: <think>, <tool_call> */
    SH_TOKEN_CONTROL, /* likewise, but only where the caller asks; not part of the text that comes out */
    SH_TOKEN_UNUSED,  /* padding of the vocabulary: never made from text, shown like a control token */
} sh_token_kind;

struct sh_tokenizer {
    uint32_t n_tokens;
    uint8_t *kinds;            /* sh_token_kind [n_tokens] */
    size_t *offsets;           /* [n_tokens + 1] into bytes */
    uint8_t *bytes;            /* of all tokens */
    size_t longest;            /* bytes of the longest token */
    uint32_t byte_tokens[256]; /* the token of each byte; SH_RANK_NONE for bytes that are not in UTF-8 */
    sh_merges merges;

    uint32_t *added; /* tokens matched whole (user and control), sorted by their bytes */
    uint32_t n_added;
    uint32_t
        added_first[257]; /* those whose first byte is b: added[added_first[b]] to before added[added_first[b + 1]] */
    bool any_user;

    int32_t bos, eos; /* -1: none */
    bool add_bos;
    int32_t *ends;
    size_t n_ends;

    struct sh_pretokenizer *pretokenizer; /* declared below */
    uint64_t *inert;                      /* see sh_inert_open */
};

static inline sh_view sh_tokenizer_bytes(const sh_tokenizer *t, uint32_t id) {
    return (sh_view){(const char *)t->bytes + t->offsets[id], t->offsets[id + 1] - t->offsets[id]};
}

/* Fills a zeroed tokenizer from the file's tokenizer.ggml keys. On failure sh_tokenizer_close takes what is there. */
sh_status sh_vocabulary_read(const sh_gguf *gguf, sh_tokenizer *tokenizer);

/* ---- normalization -------------------------------------------------------------------------------------- */

/* The text as valid UTF-8: itself where it is that already, otherwise a copy in `buffer` with U+FFFD for what is not. */
sh_status sh_sanitize(sh_view text, sh_bytes *buffer, sh_view *out);

/* A bit for each code point below SH_INERT_END: set if the character never changes under NFC, whatever stands before it,
 * nor changes what stands before it. All characters from there on are inert. */
enum { SH_INERT_END = 0x30000 };
sh_status sh_inert_open(uint64_t **out);

typedef struct sh_normalizer {
    int32_t *points; /* of the stretch being composed */
    size_t capacity;
    int32_t *sorted; /* of a long run of combining marks */
    size_t sorted_capacity;
    sh_bytes stretch;
    sh_bytes text;
} sh_normalizer;

/* Valid UTF-8 in NFC: itself where it is that already (nothing is copied then), otherwise a copy that lives until the next
 * call. Takes time linear in the text, whatever order its combining marks stand in. */
sh_status sh_normalize(const uint64_t *inert, sh_normalizer *work, sh_view text, sh_view *out);
void sh_normalizer_close(sh_normalizer *work);

/* ---- pre-tokens ----------------------------------------------------------------------------------------- */

typedef struct sh_pretokenizer sh_pretokenizer;

/* The pre-tokenizer called `name` in files. Refuses those it does not know: another split gives other ids. */
sh_status sh_pretokenizer_open(sh_view name, sh_pretokenizer **out);
void sh_pretokenizer_close(sh_pretokenizer *pretokenizer);
/* For tests: match without machine code, as where a kernel forbids making any. */
void sh_pretokenizer_interpret(sh_pretokenizer *pretokenizer);

typedef struct sh_splitter {
    const sh_pretokenizer *pretokenizer;
    struct pcre2_real_match_data_8 *match;
} sh_splitter;

sh_status sh_splitter_open(const sh_pretokenizer *pretokenizer, sh_splitter *splitter);
void sh_splitter_close(sh_splitter *splitter);
/* The end of the pre-token that begins at `at` < length of valid UTF-8; at least one character further on. */
sh_status sh_splitter_next(sh_splitter *splitter, sh_view text, size_t at, size_t *end);

/* ---- byte-pair encoding --------------------------------------------------------------------------------- */

/* Up to so many bytes a pre-token is merged by scanning all its pairs for the lowest rank, beyond by a heap. */
enum { SH_BPE_SCAN = 40 };

typedef struct sh_bpe {
    struct sh_symbol *symbols; /* [capacity] */
    uint64_t *heap;            /* [3 * capacity] */
    size_t capacity;
    size_t scan; /* SH_BPE_SCAN; tests set it */
} sh_bpe;

void sh_bpe_close(sh_bpe *bpe);
/* Appends the ids of one pre-token. */
sh_status sh_bpe_encode(const sh_tokenizer *tokenizer, sh_bpe *bpe, sh_view pretoken, sh_ids *ids);

/* ---- encoding ------------------------------------------------------------------------------------------- */

/* What one call of sh_tokenize works with. */
typedef struct sh_encoder {
    const sh_tokenizer *tokenizer;
    sh_splitter splitter;
    sh_normalizer normalizer;
    sh_bpe bpe;
    sh_ids ids;
} sh_encoder;

sh_status sh_encoder_open(const sh_tokenizer *tokenizer, sh_encoder *encoder);
void sh_encoder_close(sh_encoder *encoder);
/* Appends the ids of a text; flags as of sh_tokenize, but for BOS. */
sh_status sh_encoder_text(sh_encoder *encoder, sh_view text, uint32_t flags);

#endif
