/* memory.c: allocation and address space. See memory.h. */
#include "base/memory.h"

#include "base/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *sh_alloc(size_t n, size_t size) {
    return calloc(n ? n : 1, size ? size : 1);
}

void *sh_realloc(void *block, size_t n, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) return NULL;
    return realloc(block, bytes ? bytes : 1);
}

void *sh_alloc_aligned(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes ? bytes : 64) != 0) return NULL;
    return memory;
}

char *sh_copy_text(const char *text, size_t n) {
    char *copy = n < SIZE_MAX ? malloc(n + 1) : NULL;
    if (!copy) return NULL;
    if (n) memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}

void sh_free(void *memory) {
    free(memory);
}

void *sh_reserve(size_t bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
    flags |= MAP_NORESERVE;
#endif
    void *memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, flags, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void sh_unreserve(void *memory, size_t bytes) {
    if (memory) munmap(memory, bytes ? bytes : 1);
}

void sh_reserve_reset(void *memory, size_t bytes) {
#if defined(__linux__) /* elsewhere MADV_DONTNEED does not promise zeros */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *begin = memory, *end = begin + bytes;
    char *first = (char *)(((uintptr_t)begin + page - 1) / page * page);
    char *last = (char *)((uintptr_t)end / page * page);
    if (first < last && madvise(first, (size_t)(last - first), MADV_DONTNEED) == 0) {
        memset(begin, 0, (size_t)(first - begin));
        memset(last, 0, (size_t)(end - last));
        return;
    }
#endif
    memset(memory, 0, bytes);
}

/* The number behind `key` in a file of lines; UINT64_MAX if it is not there ("max" is no number). */
static uint64_t read_number(const char *path, const char *key) {
    FILE *file = fopen(path, "re");
    if (!file) return UINT64_MAX;
    char line[256];
    uint64_t found = UINT64_MAX;
    size_t n = strlen(key);
    while (found == UINT64_MAX && fgets(line, sizeof line, file)) {
        unsigned long long value;
        if (strncmp(line, key, n) == 0 && sscanf(line + n, "%llu", &value) == 1) found = (uint64_t)value;
    }
    fclose(file);
    return found;
}

static uint64_t read_in(const char *folder, const char *name, const char *key) {
    char path[640];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return read_number(path, key);
}

/* What a group leaves, if that is less than *least. Cached files count as used there, but make way when memory is asked
 * for. */
static void limit_by_group(const char *folder, void *least) {
    uint64_t most = read_in(folder, "memory.max", ""), used = read_in(folder, "memory.current", "");
    uint64_t cached = read_in(folder, "memory.stat", "inactive_file "), *available = least;
    if (most == UINT64_MAX || used == UINT64_MAX) return;
    if (cached != UINT64_MAX) used -= cached < used ? cached : used;
    uint64_t left = most > used ? most - used : 0;
    if (left < *available) *available = left;
}

uint64_t sh_free_memory(void) {
    uint64_t available = read_number("/proc/meminfo", "MemAvailable:");
    if (available != UINT64_MAX) available *= 1024;
    sh_cgroup_each(limit_by_group, &available);
    if (available == UINT64_MAX) {
        long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
        if (pages > 0 && size > 0) available = (uint64_t)pages * (uint64_t)size;
    }
    return available;
}
