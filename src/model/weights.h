/* weights.h: the named tensors of a network, each with its shape checked against the configuration.
 *
 * The architecture is a table (weights.c): a name, a shape in terms of the configuration, and a place. */
#ifndef SH_MODEL_WEIGHTS_H
#define SH_MODEL_WEIGHTS_H

#include "format/layout.h"
#include "format/weight.h"
#include "model/config.h"

typedef struct sh_layer_params {
    sh_weight attention_norm; /* [hidden] */
    sh_weight q;              /* [heads * head_dim][hidden] */
    sh_weight k, v;           /* [kv_heads * head_dim][hidden] */
    sh_weight q_norm, k_norm; /* [head_dim] */
    sh_weight o;              /* [hidden][heads * head_dim] */
    sh_weight ffn_norm;       /* [hidden] */
    sh_weight gate, up;       /* [ffn][hidden] */
    sh_weight down;           /* [hidden][ffn] */
} sh_layer_params;

typedef struct sh_params {
    sh_weight embedding;     /* [vocabulary][hidden] */
    sh_weight output_norm;   /* [hidden] */
    sh_weight separate_head; /* [vocabulary][hidden]; absent if the head is the embedding */
    const sh_weight *head;   /* whichever it is */
    uint32_t n_layers;
    sh_layer_params *layers; /* [n_layers] */
    uint64_t parameters;     /* elements of all tensors */
    uint64_t bytes;          /* of all tensors */
} sh_params;

/* Finds every tensor, checks its shape and fills config->vocabulary. An error names the tensor, its shape and the
 * expected one. A tensor that is no part of the architecture is refused: leaving it out would compute something
 * else. `out` must not move: it points into itself. */
sh_status sh_params_open(const sh_layout *layout, sh_config *config, sh_params *out);
void sh_params_close(sh_params *params);

/* Weight `index`, in the order in which a pass reads them; NULL past the last. Weights that the file does not have are
 * left out. */
sh_weight *sh_params_weight(sh_params *params, uint32_t index);

#endif
