/* rope.c: rotary angles. See rope.h.
 *
 * In double precision with our own functions, so that a position's angles are the same bits on every machine. */
#include "model/rope.h"

#include "base/math.h"
#include "base/memory.h"

#include <math.h>

/* The pair (as a real number) that turns `rotations` times within `context` positions: YaRN, section 3.2. */
static double pair_of(const sh_config *config, double rotations) {
    const double two_pi = 6.28318530717958647692;
    return config->head_dim * sh_log_f64(config->rope.original_context / (rotations * two_pi)) /
           (2 * sh_log_f64((double)config->rope.base));
}

sh_status sh_rope_open(const sh_config *config, sh_rope *out) {
    const sh_rope_config *rope = &config->rope;
    uint32_t pairs = config->head_dim / 2;
    *out = (sh_rope){.pairs = pairs, .scale = rope->attention_factor};
    out->frequency = sh_alloc(pairs, sizeof *out->frequency);
    if (!out->frequency) return sh_fail(SH_ERR_MEMORY, "out of memory for %u rotary frequencies", pairs);
    double low = 0, high = 0;
    if (rope->scaling == SH_ROPE_YARN) {
        low = fmax(floor(pair_of(config, rope->beta_fast)), 0);
        high = fmin(ceil(pair_of(config, rope->beta_slow)), config->head_dim - 1);
        if (high <= low) high = low + 0.001; /* as the reference implementations: a step, not a division by zero */
    }
    for (uint32_t i = 0; i < pairs; i++) {
        double frequency = sh_exp_f64(-2.0 * i / config->head_dim * sh_log_f64((double)rope->base));
        double stretched = frequency / (double)rope->factor, keep;
        switch (rope->scaling) {
        case SH_ROPE_NONE: keep = 1; break;
        case SH_ROPE_LINEAR: keep = 0; break;
        default: /* 1 below the ramp: fast pairs keep their frequency */
            keep = 1 - fmin(fmax((i - low) / (high - low), 0), 1);
        }
        out->frequency[i] = frequency * keep + stretched * (1 - keep);
    }
    return SH_OK;
}

void sh_rope_close(sh_rope *rope) {
    sh_free(rope->frequency);
    *rope = (sh_rope){0};
}

void sh_rope_angles(const sh_rope *rope, uint32_t position, float *angles) {
    for (uint32_t i = 0; i < rope->pairs; i++) {
        double sine, cosine, angle = position * rope->frequency[i];
        sh_sincos_f64(angle, &sine, &cosine);
        angles[2 * i] = (float)(cosine * rope->scale);
        angles[2 * i + 1] = (float)(sine * rope->scale);
    }
}
