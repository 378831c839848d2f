/* config.h: the numbers that define a network, read from metadata and checked.
 *
 * Refuses an architecture that is not run, and what is a part of a model only (a vision projector, a draft head). */
#ifndef SH_MODEL_CONFIG_H
#define SH_MODEL_CONFIG_H

#include "format/gguf.h"

enum { SH_MAX_CONTEXT = 1 << 20 }; /* positions: as far as the angles of base/math.h reach */

typedef enum sh_rope_scaling { SH_ROPE_NONE, SH_ROPE_LINEAR, SH_ROPE_YARN } sh_rope_scaling;

/* Rotary position embedding: RoFormer, arXiv 2104.09864; YaRN: arXiv 2309.00071. */
typedef struct sh_rope_config {
    float base;                 /* of the frequencies */
    sh_rope_scaling scaling;    /* */
    float factor;               /* by which the context was stretched; 1 without scaling */
    uint32_t original_context;  /* YaRN: before stretching */
    float beta_fast, beta_slow; /* YaRN: rotations within the original context between which the ramp lies */
    float attention_factor;     /* YaRN: scales q and k, at every position */
} sh_rope_config;

typedef struct sh_config {
    sh_view architecture;
    sh_view name;
    uint32_t n_layers;
    uint32_t hidden;     /* width of the residual stream */
    uint32_t ffn;        /* width of the feed-forward layer */
    uint32_t n_heads;    /* of queries */
    uint32_t n_kv_heads; /* divides n_heads */
    uint32_t head_dim;   /* of queries, keys and values; n_heads * head_dim need not be hidden */
    uint32_t vocabulary; /* rows of the embedding; filled from its tensor (weights.h) */
    uint32_t context;    /* positions the file promises */
    float norm_epsilon;
    sh_rope_config rope;
    sh_sampling sampling; /* what the file asks for, else the family's */
} sh_config;

/* What the caller of the engine may override. */
typedef struct sh_rope_override {
    const char *scaling;       /* NULL, "none" or "yarn" */
    float factor;              /* 0: the file's */
    uint32_t original_context; /* 0: the file's */
} sh_rope_override;

sh_status sh_config_read(const sh_gguf *gguf, const sh_rope_override *rope, sh_config *out);

#endif
