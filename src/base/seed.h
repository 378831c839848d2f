/* seed.h: a number that nobody can guess, to start hash tables of names from files with: a file made to put all its names
 * into one slot would need it. What is looked up never depends on it. */
#ifndef SH_BASE_SEED_H
#define SH_BASE_SEED_H

#include <stdint.h>

uint64_t sh_hash_seed(void);

#endif
