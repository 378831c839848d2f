/* memory.h: every allocation of the library.
 *
 * One place, so that tests can make each allocation fail in turn (they wrap malloc, calloc, realloc and mmap). */
#ifndef SH_BASE_MEMORY_H
#define SH_BASE_MEMORY_H

#include "base/status.h"

/* n elements of `size` bytes, zeroed; NULL if memory ran out or n * size overflows. Never called with 0 bytes wanted: n
 * = 0 gives one element. Freed by sh_free. */
void *sh_alloc(size_t n, size_t size);

/* As realloc, of n elements; what is new is not zeroed. NULL leaves the old block as it was. */
void *sh_realloc(void *block, size_t n, size_t size);

/* Aligned to 64 bytes, not zeroed. Freed by sh_free. */
void *sh_alloc_aligned(size_t bytes);

/* A copy of n bytes with a zero behind it. */
char *sh_copy_text(const char *text, size_t n);

/* Address space whose pages read as zeros and cost nothing until written. NULL on failure. */
void *sh_reserve(size_t bytes);
void sh_unreserve(void *memory, size_t bytes);
/* Makes the pages wholly inside [memory, memory + bytes) of a reservation zero again and gives them back. */
void sh_reserve_reset(void *memory, size_t bytes);

/* Bytes this process can still use: the smaller of what the machine has available and what its control group allows;
 * UINT64_MAX if neither is known. */
uint64_t sh_free_memory(void);

#endif
