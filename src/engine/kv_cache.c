/* kv_cache.c: page lists of sequences. See kv_cache.h. */
#include "engine/kv_cache.h"

#include "base/memory.h"

#include <string.h>

/* A sequence's number: its place in the low bits, and above them a count, so that a freed one is not taken for its
 * successor. */
enum { PLACE_BITS = 12, MAX_NUMBER = (1 << 20) - 1 };

sh_status sh_cache_open(sh_cache *cache, const sh_backend *backend, sh_device *device, const sh_net *net,
                        const sh_cache_options *options) {
    *cache = (sh_cache){
        .backend = backend,
        .device = device,
        .n_pages = options->pages,
        .max_pages = options->max_pages,
        .n_sequences = options->sequences,
        .references = sh_alloc(options->pages, sizeof(uint32_t)),
        .free_pages = sh_alloc(options->pages, sizeof(uint32_t)),
        .sequences = sh_alloc(options->sequences, sizeof(sh_sequence)),
    };
    sh_status status = SH_OK;
    if (!cache->references || !cache->free_pages || !cache->sequences)
        status = sh_fail(SH_ERR_MEMORY, "out of memory for the lists of %u KV pages", options->pages);
    if (status == SH_OK) status = backend->kv_open(device, &(sh_kv_options){net, options->pages}, &cache->kv);
    if (status != SH_OK) {
        sh_cache_close(cache);
        return status;
    }
    while (cache->n_free < cache->n_pages) { /* the lowest number on top */
        cache->free_pages[cache->n_free] = cache->n_pages - 1 - cache->n_free;
        cache->n_free++;
    }
    return SH_OK;
}

void sh_cache_close(sh_cache *cache) {
    for (uint32_t i = 0; cache->sequences && i < cache->n_sequences; i++) sh_free(cache->sequences[i].pages);
    if (cache->kv) cache->backend->kv_close(cache->device, cache->kv);
    sh_free(cache->references);
    sh_free(cache->free_pages);
    sh_free(cache->sequences);
    *cache = (sh_cache){0};
}

sh_sequence *sh_cache_find(const sh_cache *cache, sh_seq id) {
    uint32_t place = id & ((1u << PLACE_BITS) - 1);
    if (id == 0 || place >= cache->n_sequences || cache->sequences[place].id != id) return NULL;
    return &cache->sequences[place];
}

sh_status sh_cache_new(sh_cache *cache, sh_sequence **out) {
    uint32_t place = 0;
    while (place < cache->n_sequences && cache->sequences[place].id) place++;
    if (place == cache->n_sequences)
        return sh_fail(SH_ERR_MEMORY, "all %u sequences of the session are in use; free one or open a session for more",
                       cache->n_sequences);
    uint32_t *pages = sh_alloc(cache->max_pages, sizeof *pages);
    if (!pages) return sh_fail(SH_ERR_MEMORY, "out of memory for a sequence of %u pages", cache->max_pages);
    cache->next_number = cache->next_number < MAX_NUMBER ? cache->next_number + 1 : 1;
    cache->sequences[place] = (sh_sequence){.id = cache->next_number << PLACE_BITS | place, .pages = pages};
    cache->n_live++;
    *out = &cache->sequences[place];
    return SH_OK;
}

static void drop(sh_cache *cache, uint32_t page) {
    if (--cache->references[page]) return;
    cache->backend->kv_release(cache->device, cache->kv, page);
    cache->free_pages[cache->n_free++] = page;
}

static sh_status take(sh_cache *cache, uint32_t *page) {
    if (cache->n_free == 0)
        return sh_fail(SH_ERR_MEMORY,
                       "the KV pool is full: all its %u pages of %d positions are in use by %u sequences; free one, or "
                       "open a session for more positions",
                       cache->n_pages, SH_PAGE_POSITIONS, cache->n_live);
    *page = cache->free_pages[--cache->n_free];
    cache->references[*page] = 1;
    return SH_OK;
}

sh_status sh_cache_fork(sh_cache *cache, const sh_sequence *from, uint32_t length, sh_sequence **out) {
    sh_status status = sh_cache_new(cache, out);
    if (status != SH_OK) return status;
    sh_sequence *to = *out;
    to->length = length;
    to->n_pages = (uint32_t)sh_pages_for(length);
    for (uint32_t i = 0; i < to->n_pages; i++) cache->references[to->pages[i] = from->pages[i]]++;
    return SH_OK;
}

void sh_cache_truncate(sh_cache *cache, sh_sequence *sequence, uint32_t length) {
    sequence->length = length;
    while (sequence->n_pages > sh_pages_for(length)) drop(cache, sequence->pages[--sequence->n_pages]);
}

void sh_cache_free(sh_cache *cache, sh_sequence *sequence) {
    sh_cache_truncate(cache, sequence, 0);
    sh_free(sequence->pages);
    *sequence = (sh_sequence){0};
    cache->n_live--;
}

/* The last page is partly filled and others hold it too: it is copied before it is written. */
static bool must_copy(const sh_cache *cache, const sh_sequence *sequence) {
    return sequence->length % SH_PAGE_POSITIONS && cache->references[sequence->pages[sequence->n_pages - 1]] > 1;
}

uint32_t sh_cache_needs(const sh_cache *cache, const sh_sequence *sequence, uint32_t n) {
    if (n == 0) return 0;
    return (uint32_t)sh_pages_for(sequence->length + n) - sequence->n_pages + must_copy(cache, sequence);
}

sh_status sh_cache_prepare(sh_cache *cache, sh_sequence *sequence, uint32_t n) {
    sh_status status = SH_OK;
    if (n && must_copy(cache, sequence)) {
        uint32_t *last = &sequence->pages[sequence->n_pages - 1], copy = 0;
        if ((status = take(cache, &copy)) != SH_OK) return status;
        status = cache->backend->kv_copy(cache->device, cache->kv, copy, *last, sequence->length % SH_PAGE_POSITIONS);
        if (status != SH_OK) {
            drop(cache, copy);
            return status;
        }
        drop(cache, *last);
        *last = copy;
        cache->pages_copied++;
    }
    while (sequence->n_pages < sh_pages_for(sequence->length + n)) {
        if ((status = take(cache, &sequence->pages[sequence->n_pages])) != SH_OK) {
            sh_cache_truncate(cache, sequence, sequence->length);
            return status;
        }
        sequence->n_pages++;
    }
    return SH_OK;
}
