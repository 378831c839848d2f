/* vocabulary.c: the tokenizer.ggml keys of a GGUF file -> a checked vocabulary and merge table.
 *
 * Owns what a byte-level BPE vocabulary may look like. Refuses other kinds of vocabulary, and any file whose tokens, types, merges
 * and special ids do not fit together: a tokenizer that opens can encode every text and decode every id.
 *
 * In such a vocabulary a token of text is written in an alphabet of 256 printable characters that stand for bytes: 0x21 to
 * 0x7e, 0xa1 to 0xac and 0xae to 0xff for themselves, the others as U+0100, U+0101, ... in order (GPT-2's, so that a
 * space is U+0120). User-defined and control tokens are written as they are. */
#include "text/tokenizer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/seed.h"
#include "base/utf8.h"
#include "format/gguf.h"

#define KEY "tokenizer.ggml."

/* Token types of the file. */
enum { TYPE_NORMAL = 1, TYPE_UNKNOWN, TYPE_CONTROL, TYPE_USER, TYPE_UNUSED };

enum { ALPHABET_END = 0x144 }; /* past the last character that stands for a byte */
enum { NO_TOKEN = SH_RANK_NONE };
/* Both tables are larger than a core's cache, and waiting for memory would be most of the time that opening takes: their
 * slots are asked for so many steps before they are used. */
enum { AHEAD = 16 };
enum { MAX_TOKENS = 1 << 24, MAX_MERGES = 1 << 24 }; /* far above any vocabulary; ids stay within 31 bits */
enum { MAX_ADDED = 512 }; /* bytes of a control or user-defined token; real ones have fewer than 64 */

static const char *const end_names[] = {"<|im_end|>", "<|endoftext|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"};

/* A hash table of names. The hash is kept beside the id so that other names in the way are passed over unread. */
typedef struct name_slot {
    uint32_t hash;
    uint32_t id; /* NO_TOKEN if it is empty */
} name_slot;

/* What reading needs and the tokenizer does not keep. */
typedef struct reader {
    const sh_gguf *gguf;
    sh_tokenizer *tokenizer;
    sh_view *names;   /* of all tokens, as the file writes them */
    uint32_t *hashes; /* of the names */
    name_slot *slots;
    uint32_t mask;
    uint64_t seed;                 /* of the hashes */
    int16_t byte_of[ALPHABET_END]; /* -1: stands for no byte */
    uint8_t *joined;               /* both halves of a merge */
    size_t joined_capacity;
    uint32_t made; /* the token that the merge before made */
} reader;

/* ---- names to ids --------------------------------------------------------------------------------------- */

static uint32_t hash_name(const reader *r, sh_view name) {
    uint64_t hash = r->seed ^ name.length * UINT64_C(0x9e3779b97f4a7c15);
    const char *s = name.data;
    size_t n = name.length;
    for (; n >= 8; n -= 8, s += 8) {
        uint64_t word;
        memcpy(&word, s, 8);
        hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
        hash = (hash ^ hash >> 29) + r->seed;
    }
    uint64_t word = 0;
    if (n) memcpy(&word, s, n);
    hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
    hash ^= hash >> 32;
    return (uint32_t)(hash * UINT64_C(0x94d049bb133111eb) >> 32);
}

static bool same(sh_view a, sh_view b) {
    return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

/* The slot of a name, which is empty if there is no such token. */
static name_slot *slot_of(const reader *r, sh_view name, uint32_t hash) {
    uint32_t i = hash & r->mask;
    while (r->slots[i].id != NO_TOKEN && (r->slots[i].hash != hash || !same(r->names[r->slots[i].id], name)))
        i = (i + 1) & r->mask;
    return &r->slots[i];
}

static uint32_t find_token(const reader *r, sh_view name) {
    return slot_of(r, name, hash_name(r, name))->id;
}

static uint32_t find_text(const reader *r, const char *name) {
    return find_token(r, (sh_view){name, strlen(name)});
}

/* ---- keys ----------------------------------------------------------------------------------------------- */

static sh_status check_model(const sh_gguf *gguf) {
    static const struct {
        const char *name, *what;
    } known[] = {{"llama", "SentencePiece"}, {"bert", "WordPiece"}, {"t5", "Unigram"}, {"rwkv", "a trie"}};
    sh_view model = {NULL, 0};
    sh_status status = sh_gguf_get_string(gguf, KEY "model", &model);
    if (status != SH_OK) return status;
    if (model.length == 0) return sh_fail(SH_ERR_FORMAT, "key '" KEY "model' is missing: the file has no tokenizer");
    if (sh_view_is(model, "gpt2")) return SH_OK;
    const char *what = NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (sh_view_is(model, known[i].name)) what = known[i].what;
    return sh_fail(SH_ERR_UNSUPPORTED,
                   "key '" KEY "model' is '%.*s'%s%s%s, but the tokenizers here are 'gpt2' (byte-level BPE, which the "
                   "Qwen3 models have)",
                   SH_VIEW_ARG(model), what ? " (" : "", what ? what : "", what ? ")" : "");
}

static sh_status open_pretokenizer(const sh_gguf *gguf, sh_tokenizer *t) {
    sh_view name = {NULL, 0};
    sh_status status = sh_gguf_get_string(gguf, KEY "pre", &name);
    if (status != SH_OK) return status;
    if (name.length == 0)
        return sh_fail(SH_ERR_FORMAT, "key '" KEY "pre' is missing, so how the model's texts are cut is not known: "
                                      "convert the model again with a current tool");
    return sh_pretokenizer_open(name, &t->pretokenizer);
}

/* An array of strings of at most `limit` elements, which must be there. */
static sh_status find_strings(const sh_gguf *gguf, const char *name, uint64_t limit, const sh_gguf_key **out) {
    const sh_gguf_key *key = sh_gguf_find(gguf, name);
    if (!key) return sh_fail(SH_ERR_FORMAT, "key '%s' is missing: the vocabulary is not whole", name);
    if (key->type != SH_GGUF_ARRAY || key->element != SH_GGUF_STRING)
        return sh_fail(SH_ERR_FORMAT, "key '%s' is %s%s, but should be an array of strings", name,
                       key->type == SH_GGUF_ARRAY ? "an array of " : "of type ",
                       sh_gguf_type_name(key->type == SH_GGUF_ARRAY ? key->element : key->type));
    if (key->n > limit)
        return sh_fail(SH_ERR_FORMAT, "key '%s' has %" PRIu64 " elements, but at most %" PRIu64 " can be read", name,
                       key->n, limit);
    *out = key;
    return SH_OK;
}

static bool is_integer_type(sh_gguf_type type) {
    return type != SH_GGUF_F32 && type != SH_GGUF_F64 && type != SH_GGUF_BOOL && type != SH_GGUF_STRING &&
           type != SH_GGUF_ARRAY;
}

/* *out is NULL if the file has no types: then every token is one of text. */
static sh_status find_types(const sh_gguf *gguf, uint64_t n_tokens, const sh_gguf_key **out) {
    const sh_gguf_key *key = *out = sh_gguf_find(gguf, KEY "token_type");
    if (!key) return SH_OK;
    if (key->type != SH_GGUF_ARRAY || !is_integer_type(key->element))
        return sh_fail(SH_ERR_FORMAT, "key '" KEY "token_type' is %s%s, but should be an array of integers",
                       key->type == SH_GGUF_ARRAY ? "an array of " : "of type ",
                       sh_gguf_type_name(key->type == SH_GGUF_ARRAY ? key->element : key->type));
    if (key->n != n_tokens)
        return sh_fail(SH_ERR_FORMAT,
                       "key '" KEY "token_type' has %" PRIu64 " elements, but '" KEY "tokens' has %" PRIu64, key->n,
                       n_tokens);
    return SH_OK;
}

/* ---- tokens --------------------------------------------------------------------------------------------- */

static sh_status collect_names(reader *r) {
    const sh_gguf_key *key;
    sh_tokenizer *t = r->tokenizer;
    sh_status status = find_strings(r->gguf, KEY "tokens", MAX_TOKENS, &key);
    if (status != SH_OK) return status;
    if (key->n == 0) return sh_fail(SH_ERR_FORMAT, "key '" KEY "tokens' has no elements: the vocabulary is empty");
    t->n_tokens = (uint32_t)key->n;

    size_t slots = 64;
    while (slots < (size_t)t->n_tokens + t->n_tokens / 2) slots *= 2;
    r->mask = (uint32_t)(slots - 1);
    r->seed = sh_hash_seed();
    r->slots = sh_realloc(NULL, slots, sizeof *r->slots);
    r->names = sh_realloc(NULL, t->n_tokens, sizeof *r->names);
    r->hashes = sh_realloc(NULL, t->n_tokens, sizeof *r->hashes);
    t->kinds = sh_alloc(t->n_tokens, sizeof *t->kinds);
    t->offsets = sh_alloc((size_t)t->n_tokens + 1, sizeof *t->offsets);
    size_t total = 0;
    const uint8_t *cursor = key->data;
    if (r->names && r->hashes) {
        for (uint32_t id = 0; id < t->n_tokens; id++) {
            r->names[id] = sh_gguf_next_string(&cursor);
            r->hashes[id] = hash_name(r, r->names[id]);
            total += r->names[id].length; /* all lie in the file: no overflow */
        }
    }
    t->bytes = sh_realloc(NULL, total, 1); /* no token has more bytes than characters that stand for them */
    if (!r->slots || !r->names || !r->hashes || !t->kinds || !t->offsets || !t->bytes)
        return sh_fail(SH_ERR_MEMORY, "out of memory for a vocabulary of %u tokens", t->n_tokens);
    memset(r->slots, 0xff, slots * sizeof *r->slots); /* NO_TOKEN */
    return SH_OK;
}

static bool looks_like_control(sh_view name) {
    return name.length > 4 && name.data[0] == '<' && memcmp(name.data, "<|", 2) == 0 &&
           memcmp(name.data + name.length - 2, "|>", 2) == 0;
}

static bool is_chat_mark(sh_view name) {
    if (!looks_like_control(name)) return false;
    if (sh_view_is(name, "<|im_start|>")) return true;
    for (size_t i = 0; i < sizeof end_names / sizeof end_names[0]; i++)
        if (sh_view_is(name, end_names[i])) return true;
    return false;
}

/* Files type their tokens with varying care. The marks that a chat is built of, and user-defined tokens of their look, are control
 * tokens whatever the file says: text from a user must never become one. */
static sh_status kind_of(const sh_gguf_key *types, uint32_t id, sh_view name, uint8_t *kind) {
    int64_t type = types ? sh_gguf_integer(types, id) : TYPE_NORMAL;
    switch (type) {
    case TYPE_NORMAL: *kind = is_chat_mark(name) ? SH_TOKEN_CONTROL : SH_TOKEN_TEXT; break;
    case TYPE_UNKNOWN:
    case TYPE_CONTROL: *kind = SH_TOKEN_CONTROL; break;
    case TYPE_USER: *kind = looks_like_control(name) ? SH_TOKEN_CONTROL : SH_TOKEN_USER; break;
    case TYPE_UNUSED: *kind = SH_TOKEN_UNUSED; break;
    default:
        return sh_fail(SH_ERR_FORMAT,
                       "token %u '%.*s' has type %" PRId64 ", but the types of a 'gpt2' vocabulary are 1 (normal), "
                       "2 (unknown), 3 (control), 4 (user defined) and 5 (unused)",
                       id, SH_VIEW_ARG(name), type);
    }
    return SH_OK;
}

/* Appends a token's bytes. */
static sh_status add_bytes(reader *r, uint32_t id, size_t *end) {
    sh_tokenizer *t = r->tokenizer;
    sh_view name = r->names[id];
    const uint8_t *s = (const uint8_t *)name.data;
    /* These are looked for at every byte of a text. */
    if (t->kinds[id] != SH_TOKEN_TEXT && name.length > MAX_ADDED)
        return sh_fail(
            SH_ERR_FORMAT,
            "token %u is a control or user-defined token of %zu bytes, but at most %d are run; the vocabulary "
            "is damaged: convert the model again",
            id, name.length, MAX_ADDED);
    for (size_t i = 0; i < name.length;) {
        size_t length;
        if (sh_utf8_next(s + i, name.length - i, &length) != SH_UTF8_CHARACTER)
            return sh_fail(SH_ERR_FORMAT, "token %u '%.*s' is not UTF-8: byte %zu is 0x%02x", id, SH_VIEW_ARG(name), i,
                           s[i]);
        if (t->kinds[id] == SH_TOKEN_TEXT) {
            uint32_t c = sh_utf8_value(s + i);
            if (c >= ALPHABET_END || r->byte_of[c] < 0)
                return sh_fail(SH_ERR_FORMAT,
                               "token %u '%.*s' has the character U+%04X, which stands for no byte in a byte-level "
                               "vocabulary",
                               id, SH_VIEW_ARG(name), c);
            t->bytes[(*end)++] = (uint8_t)r->byte_of[c];
        } else {
            memcpy(t->bytes + *end, s + i, length);
            *end += length;
        }
        i += length;
    }
    return SH_OK;
}

static sh_status read_tokens(reader *r) {
    sh_tokenizer *t = r->tokenizer;
    const sh_gguf_key *types;
    sh_status status = collect_names(r);
    if (status == SH_OK) status = find_types(r->gguf, t->n_tokens, &types);
    if (status != SH_OK) return status;
    size_t end = 0;
    for (uint32_t id = 0; id < t->n_tokens; id++) {
        sh_view name = r->names[id];
        if (id + AHEAD < t->n_tokens) __builtin_prefetch(&r->slots[r->hashes[id + AHEAD] & r->mask], 1);
        if ((status = kind_of(types, id, name, &t->kinds[id])) != SH_OK) return status;
        if ((status = add_bytes(r, id, &end)) != SH_OK) return status;
        t->offsets[id + 1] = end;
        if (end - t->offsets[id] > t->longest) t->longest = end - t->offsets[id];
        if (t->kinds[id] == SH_TOKEN_UNUSED) continue; /* padding need not be told apart */
        if (name.length == 0)
            return sh_fail(SH_ERR_FORMAT, "token %u of %u is empty: no text has it and it has no text", id,
                           t->n_tokens);
        uint32_t hash = r->hashes[id];
        name_slot *slot = slot_of(r, name, hash);
        if (slot->id != NO_TOKEN)
            return sh_fail(SH_ERR_FORMAT, "tokens %u and %u are both '%.*s': which one a text has is not known",
                           slot->id, id, SH_VIEW_ARG(name));
        *slot = (name_slot){hash, id};
    }
    return SH_OK;
}

/* True for tokens that merges may make and take: those of text, and user-defined ones whose name is in the alphabet of
 * bytes as it is. */
static bool is_built(const reader *r, uint32_t id) {
    if (r->tokenizer->kinds[id] == SH_TOKEN_TEXT) return true;
    if (r->tokenizer->kinds[id] != SH_TOKEN_USER) return false;
    for (size_t i = 0; i < r->names[id].length; i++)
        if (r->names[id].data[i] < 0x21 || r->names[id].data[i] > 0x7e) return false;
    return true;
}

/* Fills byte_of and, once the tokens are there, byte_tokens. */
static void fill_alphabet(reader *r) {
    for (uint32_t c = 0; c < ALPHABET_END; c++) r->byte_of[c] = -1;
    uint32_t next = 0x100;
    for (int byte = 0; byte < 256; byte++) {
        bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
        r->byte_of[printable ? (uint32_t)byte : next++] = (int16_t)byte;
    }
}

static sh_status find_byte_tokens(reader *r) {
    for (int byte = 0; byte < 256; byte++) r->tokenizer->byte_tokens[byte] = NO_TOKEN;
    for (uint32_t c = 0; c < ALPHABET_END; c++) {
        if (r->byte_of[c] < 0) continue;
        uint8_t character[4];
        size_t n = sh_utf8_put(c, character);
        uint32_t id = find_token(r, (sh_view){(const char *)character, n});
        if (id != NO_TOKEN && is_built(r, id)) r->tokenizer->byte_tokens[r->byte_of[c]] = id;
    }
    for (int byte = 0; byte < 256; byte++) {
        bool in_utf8 = byte <= 0xf4 && byte != 0xc0 && byte != 0xc1;
        if (in_utf8 && r->tokenizer->byte_tokens[byte] == NO_TOKEN)
            return sh_fail(SH_ERR_FORMAT, "byte 0x%02x has no token: texts that have it could not be encoded",
                           (unsigned)byte);
    }
    return SH_OK;
}

/* ---- merges --------------------------------------------------------------------------------------------- */

/* A merge on its way into the table. */
typedef struct merge_text {
    sh_view text, left, right;
    uint32_t left_hash, right_hash;
} merge_text;

static sh_status split_merge(const reader *r, uint32_t rank, sh_view text, merge_text *merge) {
    /* The space between the halves; the alphabet has none. */
    const char *space = text.length > 2 ? memchr(text.data + 1, ' ', text.length - 2) : NULL;
    if (!space)
        return sh_fail(SH_ERR_FORMAT, "merge %u '%.*s' is not two tokens with a space between them", rank,
                       SH_VIEW_ARG(text));
    merge->text = text;
    merge->left = (sh_view){text.data, (size_t)(space - text.data)};
    merge->right = (sh_view){space + 1, text.length - merge->left.length - 1};
    merge->left_hash = hash_name(r, merge->left);
    merge->right_hash = hash_name(r, merge->right);
    __builtin_prefetch(&r->slots[merge->left_hash & r->mask]);
    __builtin_prefetch(&r->slots[merge->right_hash & r->mask]);
    return SH_OK;
}

static sh_status join_halves(reader *r, const merge_text *text, sh_view *joined) {
    size_t n = text->left.length + text->right.length;
    if (n > r->joined_capacity) {
        uint8_t *block = sh_realloc(r->joined, n, 2);
        if (!block) return sh_fail(SH_ERR_MEMORY, "out of memory reading merges");
        r->joined = block;
        r->joined_capacity = 2 * n;
    }
    memcpy(r->joined, text->left.data, text->left.length);
    memcpy(r->joined + text->left.length, text->right.data, text->right.length);
    *joined = (sh_view){(const char *)r->joined, n};
    return SH_OK;
}

static sh_status resolve_merge(reader *r, uint32_t rank, const merge_text *text, sh_merge *merge) {
    const sh_tokenizer *t = r->tokenizer;
    sh_view joined;
    sh_status status = join_halves(r, text, &joined);
    if (status != SH_OK) return status;
    uint32_t ids[3] = {slot_of(r, text->left, text->left_hash)->id, slot_of(r, text->right, text->right_hash)->id, 0};
    /* Merges mostly make the tokens in order of their ids: try the next before searching. */
    uint32_t next = r->made + 1;
    bool is_next = next < t->n_tokens && t->kinds[next] == SH_TOKEN_TEXT && same(r->names[next], joined);
    ids[2] = is_next ? next : find_token(r, joined);
    const sh_view parts[3] = {text->left, text->right, joined};
    for (int i = 0; i < 3; i++) {
        if (ids[i] == NO_TOKEN)
            return sh_fail(SH_ERR_FORMAT, "merge %u '%.*s' %s '%.*s', which is not in the vocabulary", rank,
                           SH_VIEW_ARG(text->text), i < 2 ? "names" : "makes", SH_VIEW_ARG(parts[i]));
        if (!is_built(r, ids[i]))
            return sh_fail(SH_ERR_FORMAT, "merge %u '%.*s' %s token %u, which is no token of text", rank,
                           SH_VIEW_ARG(text->text), i < 2 ? "names" : "makes", ids[i]);
    }
    r->made = ids[2];
    *merge = (sh_merge){.left = ids[0], .right = ids[1], .rank = rank, .result = ids[2]};
    sh_merges_prefetch(&t->merges, merge);
    return SH_OK;
}

static sh_status add_merge(reader *r, const sh_merge *merge, sh_view text) {
    const sh_merge *earlier = sh_merges_add(&r->tokenizer->merges, *merge);
    if (!earlier) return SH_OK;
    return sh_fail(SH_ERR_FORMAT, "merges %u and %u are both '%.*s': which of them counts is not known", earlier->rank,
                   merge->rank, SH_VIEW_ARG(text));
}

static sh_status read_merges(reader *r) {
    const sh_gguf_key *key;
    sh_status status = find_strings(r->gguf, KEY "merges", MAX_MERGES, &key);
    if (status == SH_OK) status = sh_merges_open(&r->tokenizer->merges, (uint32_t)key->n);
    if (status != SH_OK) return status;
    const uint8_t *cursor = key->data;
    merge_text texts[AHEAD];
    sh_merge merges[AHEAD];
    for (uint32_t begin = 0; begin < key->n; begin += AHEAD) {
        uint32_t n = (uint32_t)key->n - begin < AHEAD ? (uint32_t)key->n - begin : AHEAD;
        for (uint32_t i = 0; i < n; i++)
            if ((status = split_merge(r, begin + i, sh_gguf_next_string(&cursor), &texts[i])) != SH_OK) return status;
        for (uint32_t i = 0; i < n; i++)
            if ((status = resolve_merge(r, begin + i, &texts[i], &merges[i])) != SH_OK) return status;
        for (uint32_t i = 0; i < n; i++)
            if ((status = add_merge(r, &merges[i], texts[i].text)) != SH_OK) return status;
    }
    return SH_OK;
}

/* ---- added tokens --------------------------------------------------------------------------------------- */

typedef struct added {
    sh_view bytes;
    uint32_t id;
} added;

static int compare_added(const void *a, const void *b) {
    const added *x = a, *y = b;
    size_t shorter = x->bytes.length < y->bytes.length ? x->bytes.length : y->bytes.length;
    int order = memcmp(x->bytes.data, y->bytes.data, shorter);
    return order ? order : (x->bytes.length > y->bytes.length) - (x->bytes.length < y->bytes.length);
}

static sh_status sort_added(sh_tokenizer *t) {
    uint32_t n = 0;
    for (uint32_t id = 0; id < t->n_tokens; id++)
        n += t->kinds[id] == SH_TOKEN_USER || t->kinds[id] == SH_TOKEN_CONTROL;
    added *list = sh_alloc(n, sizeof *list);
    t->added = sh_alloc(n, sizeof *t->added);
    if (!list || !t->added) {
        sh_free(list);
        return sh_fail(SH_ERR_MEMORY, "out of memory for %u added tokens", n);
    }
    for (uint32_t id = 0; id < t->n_tokens; id++) {
        if (t->kinds[id] != SH_TOKEN_USER && t->kinds[id] != SH_TOKEN_CONTROL) continue;
        list[t->n_added++] = (added){sh_tokenizer_bytes(t, id), id};
        if (t->kinds[id] == SH_TOKEN_USER) t->any_user = true;
    }
    qsort(list, n, sizeof *list, compare_added);
    for (uint32_t i = 0; i < n; i++) {
        t->added[i] = list[i].id;
        t->added_first[(uint8_t)list[i].bytes.data[0] + 1]++;
    }
    for (int byte = 0; byte < 256; byte++) t->added_first[byte + 1] += t->added_first[byte];
    sh_free(list);
    return SH_OK;
}

/* ---- special ids ---------------------------------------------------------------------------------------- */

static sh_status read_id(const reader *r, const char *key, int32_t *id) {
    uint32_t value = 0;
    *id = -1;
    const sh_gguf_key *found = sh_gguf_find(r->gguf, key);
    if (!found) return SH_OK;
    /* Some converters write -1 for "none". */
    if (found->type != SH_GGUF_ARRAY && found->type != SH_GGUF_STRING) {
        int64_t number = sh_gguf_integer(found, 0);
        if (number == -1 || (found->type == SH_GGUF_U32 && number == UINT32_MAX)) return SH_OK;
    }
    sh_status status = sh_gguf_get_u32(r->gguf, key, &value);
    if (status != SH_OK) return status;
    if (value >= r->tokenizer->n_tokens)
        return sh_fail(SH_ERR_FORMAT, "key '%s' is %u, but the vocabulary has %u tokens", key, value,
                       r->tokenizer->n_tokens);
    *id = (int32_t)value;
    return SH_OK;
}

static void add_end(sh_tokenizer *t, int32_t id) {
    if (id < 0) return;
    for (size_t i = 0; i < t->n_ends; i++)
        if (t->ends[i] == id) return;
    t->ends[t->n_ends++] = id;
}

static sh_status read_special(reader *r) {
    sh_tokenizer *t = r->tokenizer;
    enum { NAMED = sizeof end_names / sizeof end_names[0] };
    int32_t eot, eom;
    sh_status status;
    if ((status = read_id(r, KEY "bos_token_id", &t->bos)) != SH_OK) return status;
    if ((status = read_id(r, KEY "eos_token_id", &t->eos)) != SH_OK) return status;
    if ((status = read_id(r, KEY "eot_token_id", &eot)) != SH_OK) return status;
    if ((status = read_id(r, KEY "eom_token_id", &eom)) != SH_OK) return status;
    if ((status = sh_gguf_get_bool(r->gguf, KEY "add_bos_token", &t->add_bos)) != SH_OK) return status;
    if (t->add_bos && t->bos < 0)
        return sh_fail(SH_ERR_FORMAT, "key '" KEY "add_bos_token' is true, but '" KEY "bos_token_id' is missing");
    if (!(t->ends = sh_alloc(3 + NAMED, sizeof *t->ends)))
        return sh_fail(SH_ERR_MEMORY, "out of memory for the tokens that end a text");
    add_end(t, t->eos);
    add_end(t, eot);
    add_end(t, eom);
    for (size_t i = 0; i < NAMED; i++) {
        uint32_t id = find_text(r, end_names[i]);
        if (id != NO_TOKEN && t->kinds[id] == SH_TOKEN_CONTROL) add_end(t, (int32_t)id);
    }
    return SH_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

sh_status sh_vocabulary_read(const sh_gguf *gguf, sh_tokenizer *t) {
    reader r = {.gguf = gguf, .tokenizer = t};
    sh_status status;
    fill_alphabet(&r);
    if ((status = check_model(gguf)) != SH_OK) goto done;
    if ((status = open_pretokenizer(gguf, t)) != SH_OK) goto done;
    if ((status = read_tokens(&r)) != SH_OK) goto done;
    if ((status = find_byte_tokens(&r)) != SH_OK) goto done;
    if ((status = read_merges(&r)) != SH_OK) goto done;
    if ((status = sort_added(t)) != SH_OK) goto done;
    if ((status = read_special(&r)) != SH_OK) goto done;
    status = sh_inert_open(&t->inert);
done:
    sh_free(r.names);
    sh_free(r.hashes);
    sh_free(r.slots);
    sh_free(r.joined);
    return status;
}
