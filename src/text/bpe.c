/* bpe.c: byte-pair encoding of one pre-token, and the merge table it reads.
 *
 * Of all neighbouring pairs, the one of the lowest rank merges first, the leftmost of equals; until none merges. Short
 * pre-tokens, which are nearly all, scan their pairs each time; long ones keep the pairs in a heap, so that a megabyte of one
 * letter takes n log n. Both give the same ids. */
#include "text/tokenizer.h"

#include <string.h>

#include "base/memory.h"
#include "base/seed.h"

/* ---- the merge table ------------------------------------------------------------------------------------ */

static uint32_t slot_of(const sh_merges *merges, uint32_t left, uint32_t right) {
    uint64_t hash = (((uint64_t)left << 32 | right) ^ merges->seed) * UINT64_C(0x9e3779b97f4a7c15);
    hash = ((hash ^ hash >> 32) + merges->seed) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(hash >> 32) & merges->mask;
}

sh_status sh_merges_open(sh_merges *merges, uint32_t n) {
    size_t slots = 64;
    while (slots < (size_t)n + n / 2) slots *= 2;
    merges->slots = sh_realloc(NULL, slots, sizeof *merges->slots);
    if (!merges->slots) return sh_fail(SH_ERR_MEMORY, "out of memory for %u merges", n);
    memset(merges->slots, 0xff, slots * sizeof *merges->slots); /* every rank SH_RANK_NONE */
    merges->mask = (uint32_t)(slots - 1);
    merges->seed = sh_hash_seed();
    return SH_OK;
}

void sh_merges_close(sh_merges *merges) {
    sh_free(merges->slots);
}

const sh_merge *sh_merges_add(sh_merges *merges, sh_merge merge) {
    uint32_t i = slot_of(merges, merge.left, merge.right);
    while (merges->slots[i].rank != SH_RANK_NONE) {
        if (merges->slots[i].left == merge.left && merges->slots[i].right == merge.right) return &merges->slots[i];
        i = (i + 1) & merges->mask;
    }
    merges->slots[i] = merge;
    return NULL;
}

void sh_merges_prefetch(const sh_merges *merges, const sh_merge *merge) {
    __builtin_prefetch(&merges->slots[slot_of(merges, merge->left, merge->right)], 1);
}

/* The merge of a pair: an empty slot if there is none. */
static const sh_merge *find(const sh_merges *merges, uint32_t left, uint32_t right) {
    uint32_t i = slot_of(merges, left, right);
    while (merges->slots[i].rank != SH_RANK_NONE && (merges->slots[i].left != left || merges->slots[i].right != right))
        i = (i + 1) & merges->mask;
    return &merges->slots[i];
}

/* ---- work space ----------------------------------------------------------------------------------------- */

enum { NO_SYMBOL = 0xffffffff };

/* A part of the pre-token. The rank and the result are of the pair that it makes with the next. */
struct sh_symbol {
    uint32_t id, rank, result;
    uint32_t previous, next; /* NO_SYMBOL at the ends */
};

static sh_status reserve(sh_bpe *bpe, size_t n) {
    if (n <= bpe->capacity) return SH_OK;
    size_t capacity = bpe->capacity ? bpe->capacity : 256;
    while (capacity < n) capacity *= 2;
    struct sh_symbol *symbols = sh_realloc(bpe->symbols, capacity, sizeof *symbols);
    if (!symbols) goto fail;
    bpe->symbols = symbols;
    uint64_t *heap = sh_realloc(bpe->heap, capacity, 3 * sizeof *heap); /* a pair each, and two more for each merge */
    if (!heap) goto fail;
    bpe->heap = heap;
    bpe->capacity = capacity;
    return SH_OK;
fail:
    return sh_fail(SH_ERR_MEMORY, "out of memory for a word of %zu bytes", n);
}

void sh_bpe_close(sh_bpe *bpe) {
    sh_free(bpe->symbols);
    sh_free(bpe->heap);
}

/* ---- short pre-tokens ----------------------------------------------------------------------------------- */

static size_t encode_by_scan(const sh_merges *merges, struct sh_symbol *symbols, size_t n) {
    for (;;) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++)
            if (symbols[i].rank < symbols[best].rank) best = i;
        if (symbols[best].rank == SH_RANK_NONE) return n;
        symbols[best].id = symbols[best].result;
        n--;
        for (size_t i = best + 1; i < n; i++) symbols[i] = symbols[i + 1];
        symbols[n].rank = SH_RANK_NONE;
        for (size_t i = best ? best - 1 : 0; i <= best; i++) {
            symbols[i].rank = SH_RANK_NONE;
            if (i + 1 >= n) continue;
            const sh_merge *merge = find(merges, symbols[i].id, symbols[i + 1].id);
            symbols[i].rank = merge->rank;
            symbols[i].result = merge->result;
        }
    }
}

/* ---- long pre-tokens ------------------------------------------------------------------------------------ */

/* Entries are rank << 32 | position: the lowest is what merges next. An entry whose symbol has another rank by now is stale
 * and passed over; there is nothing to remove. */
static void sift_down(uint64_t *heap, size_t n, size_t i) {
    uint64_t entry = heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n) break;
        if (child + 1 < n && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= entry) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = entry;
}

static void push(uint64_t *heap, size_t *n, uint64_t entry) {
    size_t i = (*n)++;
    while (i > 0 && heap[(i - 1) / 2] > entry) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = entry;
}

static uint64_t pop(uint64_t *heap, size_t *n) {
    uint64_t entry = heap[0];
    heap[0] = heap[--*n];
    if (*n) sift_down(heap, *n, 0);
    return entry;
}

static void rate_pair(const sh_merges *merges, struct sh_symbol *symbols, uint32_t i, uint64_t *heap, size_t *entries) {
    struct sh_symbol *symbol = &symbols[i];
    symbol->rank = SH_RANK_NONE;
    if (symbol->next == NO_SYMBOL) return;
    const sh_merge *merge = find(merges, symbol->id, symbols[symbol->next].id);
    if (merge->rank == SH_RANK_NONE) return;
    symbol->rank = merge->rank;
    symbol->result = merge->result;
    push(heap, entries, (uint64_t)merge->rank << 32 | i);
}

static size_t encode_by_heap(const sh_merges *merges, struct sh_symbol *symbols, size_t n, uint64_t *heap) {
    size_t entries = 0;
    for (size_t i = 0; i < n; i++) {
        symbols[i].previous = i ? (uint32_t)i - 1 : NO_SYMBOL;
        symbols[i].next = i + 1 < n ? (uint32_t)i + 1 : NO_SYMBOL;
        if (symbols[i].rank != SH_RANK_NONE) heap[entries++] = (uint64_t)symbols[i].rank << 32 | i;
    }
    for (size_t i = entries / 2; i-- > 0;) sift_down(heap, entries, i);
    while (entries) {
        uint64_t entry = pop(heap, &entries);
        uint32_t at = (uint32_t)entry;
        struct sh_symbol *symbol = &symbols[at];
        if (symbol->rank != (uint32_t)(entry >> 32)) continue; /* stale; a symbol that is gone has no rank */
        struct sh_symbol *gone = &symbols[symbol->next];
        symbol->id = symbol->result;
        symbol->next = gone->next;
        gone->rank = SH_RANK_NONE;
        if (symbol->next != NO_SYMBOL) symbols[symbol->next].previous = at;
        if (symbol->previous != NO_SYMBOL) rate_pair(merges, symbols, symbol->previous, heap, &entries);
        rate_pair(merges, symbols, at, heap, &entries);
    }
    size_t left = 0;
    for (uint32_t i = 0; i != NO_SYMBOL; i = symbols[i].next) symbols[left++].id = symbols[i].id; /* left <= i */
    return left;
}

/* ---- the call ------------------------------------------------------------------------------------------- */

sh_status sh_bpe_encode(const sh_tokenizer *tokenizer, sh_bpe *bpe, sh_view pretoken, sh_ids *ids) {
    const uint8_t *s = (const uint8_t *)pretoken.data;
    size_t n = pretoken.length;
    sh_status status = reserve(bpe, n);
    if (status != SH_OK) return status;
    struct sh_symbol *symbols = bpe->symbols;
    for (size_t i = 0; i < n; i++) symbols[i].id = tokenizer->byte_tokens[s[i]]; /* valid UTF-8: each has a token */
    for (size_t i = 0; i + 1 < n; i++) {
        const sh_merge *merge = find(&tokenizer->merges, symbols[i].id, symbols[i + 1].id);
        symbols[i].rank = merge->rank;
        symbols[i].result = merge->result;
    }
    symbols[n - 1].rank = SH_RANK_NONE;
    size_t left = n <= bpe->scan ? encode_by_scan(&tokenizer->merges, symbols, n)
                                 : encode_by_heap(&tokenizer->merges, symbols, n, bpe->heap);
    if ((status = sh_ids_reserve(ids, left)) != SH_OK) return status;
    for (size_t i = 0; i < left; i++) ids->data[ids->n++] = (int32_t)symbols[i].id;
    return SH_OK;
}
