/* kv_cache.h: which KV pages a sequence has.
 *
 * A sequence is a list of reference-counted pages of 64 positions. Fork, rollback and freeing are edits of lists; only
 * the last, partly filled page of a shared prefix is ever copied, and only when it is about to be written. The bytes of
 * a page are the backend's. */
#ifndef SH_ENGINE_KV_CACHE_H
#define SH_ENGINE_KV_CACHE_H

#include "backend/backend.h"

typedef struct sh_sequence {
    sh_seq id; /* 0: free */
    uint32_t length;
    uint32_t n_pages; /* at least what `length` needs; more only during a pass */
    uint32_t *pages;  /* [max_pages] */
    uint32_t adding;  /* rows of the pass being prepared */
    uint32_t table;   /* its page table in that pass */
} sh_sequence;

typedef struct sh_cache {
    const sh_backend *backend;
    sh_device *device;
    sh_kv *kv;
    uint32_t n_pages, n_free;
    uint32_t *references; /* [n_pages] sequences that hold a page */
    uint32_t *free_pages; /* [n_free], a stack */
    uint32_t max_pages;   /* of a sequence */
    uint32_t n_sequences; /* places */
    uint32_t n_live;
    sh_sequence *sequences; /* [n_sequences] */
    uint32_t next_number;
    uint64_t pages_copied;
} sh_cache;

typedef struct sh_cache_options {
    uint32_t pages, max_pages, sequences;
} sh_cache_options;

static inline uint64_t sh_pages_for(uint64_t positions) {
    return positions / SH_PAGE_POSITIONS + (positions % SH_PAGE_POSITIONS != 0);
}

sh_status sh_cache_open(sh_cache *cache, const sh_backend *backend, sh_device *device, const sh_net *net,
                        const sh_cache_options *options);
void sh_cache_close(sh_cache *cache);

/* NULL, without an error, if there is none. */
sh_sequence *sh_cache_find(const sh_cache *cache, sh_seq id);

sh_status sh_cache_new(sh_cache *cache, sh_sequence **out);
/* Shares the pages of the first `length` positions. */
sh_status sh_cache_fork(sh_cache *cache, const sh_sequence *from, uint32_t length, sh_sequence **out);
void sh_cache_truncate(sh_cache *cache, sh_sequence *sequence, uint32_t length);
void sh_cache_free(sh_cache *cache, sh_sequence *sequence);

/* Pages that sh_cache_prepare would take for n more positions. */
uint32_t sh_cache_needs(const sh_cache *cache, const sh_sequence *sequence, uint32_t n);
/* Makes positions [length, length + n) writable: pages of its own. On failure the sequence has what it had. */
sh_status sh_cache_prepare(sh_cache *cache, sh_sequence *sequence, uint32_t n);

#endif
