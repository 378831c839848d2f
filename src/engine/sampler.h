/* sampler.h: from logits to a token.
 *
 * In llama.cpp's order: the top_k most likely; of those the fewest whose probabilities reach top_p; of those the ones
 * with at least min_p of the likeliest's probability; from those one by its probability at `temperature`. Ties keep the
 * lower id. The numbers are those of Philox 4x32-10 (Salmon et al., SC 2011) at (seed, choice, index): a function of
 * these alone, so that a seed gives the same text at any load. */
#ifndef SH_ENGINE_SAMPLER_H
#define SH_ENGINE_SAMPLER_H

#include "base/status.h"

typedef struct sh_candidate {
    float logit;
    int32_t id;
} sh_candidate;

typedef struct sh_sampler {
    sh_candidate *candidates; /* [vocabulary] working space */
    uint32_t vocabulary;
} sh_sampler;

/* Does nothing if it is open for this vocabulary. */
sh_status sh_sampler_open(sh_sampler *sampler, uint32_t vocabulary);
void sh_sampler_close(sh_sampler *sampler);

sh_status sh_sampling_check(const sh_sampling *sampling);

/* logits: [vocabulary]. -1 if every logit is NaN. `index`: of the token since its sequence began. */
int32_t sh_sampler_draw(sh_sampler *sampler, const sh_sampling *sampling, const float *logits, uint64_t index);

/* One block of random bits. */
void sh_philox(uint64_t key, uint64_t counter_low, uint64_t counter_high, uint32_t out[4]);

#endif
