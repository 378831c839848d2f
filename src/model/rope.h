/* rope.h: the angles of rotary position embedding, with YaRN's ramp and attention factor. */
#ifndef SH_MODEL_ROPE_H
#define SH_MODEL_ROPE_H

#include "model/config.h"

typedef struct sh_rope {
    uint32_t pairs;    /* head_dim / 2 */
    double *frequency; /* [pairs] radians a position */
    double scale;      /* YaRN's attention factor, at all positions */
} sh_rope;

sh_status sh_rope_open(const sh_config *config, sh_rope *out);
void sh_rope_close(sh_rope *rope);

/* angles: [pairs][2], the cosine and sine of each pair at `position`, times the attention factor. Pair i is dimensions
 * i and i + pairs of a head (NEOX order). */
void sh_rope_angles(const sh_rope *rope, uint32_t position, float *angles);

#endif
