/* seed.c: a number that nobody can guess. See seed.h. */
#include "base/seed.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

uint64_t sh_hash_seed(void) {
    uint64_t seed = 0;
    if (getentropy(&seed, sizeof seed) == 0) return seed;
    struct timespec now; /* a system without a source of randomness: better than a constant */
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)(uintptr_t)&seed) *
           UINT64_C(0x9e3779b97f4a7c15);
}
