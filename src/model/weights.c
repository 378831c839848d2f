/* weights.c: the architecture as a table, and the file's tensors put in their places. See weights.h. */
#include "model/weights.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

typedef enum dim { ONE, HIDDEN, FFN, Q_WIDTH, KV_WIDTH, HEAD_DIM, VOCABULARY } dim;

typedef struct entry {
    const char *name; /* of a layer's tensors behind "blk.N." */
    size_t place;     /* offset in sh_layer_params or sh_params */
    dim cols, rows;   /* inputs, outputs */
    bool optional;
} entry;

static const entry layer_entries[] = {
    {"attn_norm.weight", offsetof(sh_layer_params, attention_norm), HIDDEN, ONE, false},
    {"attn_q.weight", offsetof(sh_layer_params, q), HIDDEN, Q_WIDTH, false},
    {"attn_k.weight", offsetof(sh_layer_params, k), HIDDEN, KV_WIDTH, false},
    {"attn_v.weight", offsetof(sh_layer_params, v), HIDDEN, KV_WIDTH, false},
    {"attn_q_norm.weight", offsetof(sh_layer_params, q_norm), HEAD_DIM, ONE, false},
    {"attn_k_norm.weight", offsetof(sh_layer_params, k_norm), HEAD_DIM, ONE, false},
    {"attn_output.weight", offsetof(sh_layer_params, o), Q_WIDTH, HIDDEN, false},
    {"ffn_norm.weight", offsetof(sh_layer_params, ffn_norm), HIDDEN, ONE, false},
    {"ffn_gate.weight", offsetof(sh_layer_params, gate), HIDDEN, FFN, false},
    {"ffn_up.weight", offsetof(sh_layer_params, up), HIDDEN, FFN, false},
    {"ffn_down.weight", offsetof(sh_layer_params, down), FFN, HIDDEN, false},
};

static const entry model_entries[] = {
    {"output_norm.weight", offsetof(sh_params, output_norm), HIDDEN, ONE, false},
    {"output.weight", offsetof(sh_params, separate_head), HIDDEN, VOCABULARY, true},
};

static const char *const embedding_name = "token_embd.weight";

enum { LAYER_ENTRIES = sizeof layer_entries / sizeof layer_entries[0] };
enum { MODEL_ENTRIES = sizeof model_entries / sizeof model_entries[0] };

static uint32_t extent(const sh_config *c, dim d) {
    switch (d) {
    case ONE: return 1;
    case HIDDEN: return c->hidden;
    case FFN: return c->ffn;
    case Q_WIDTH: return c->n_heads * c->head_dim;
    case KV_WIDTH: return c->n_kv_heads * c->head_dim;
    case HEAD_DIM: return c->head_dim;
    case VOCABULARY: return c->vocabulary;
    }
    return 0;
}

/* "[4096, 1024]", GGUF's order: inputs first. */
static void print_shape(char text[96], const uint64_t *dims, uint32_t n) {
    int at = snprintf(text, 96, "[");
    for (uint32_t i = 0; i < n; i++) at += snprintf(text + at, 96 - (size_t)at, "%s%" PRIu64, i ? ", " : "", dims[i]);
    snprintf(text + at, 96 - (size_t)at, "]");
}

static sh_status place(const sh_layout *layout, const sh_config *config, const char *name, const entry *e,
                       sh_weight *out) {
    *out = (sh_weight){.rows = extent(config, e->rows), .cols = extent(config, e->cols)};
    const sh_tensor *tensor = sh_layout_find(layout, name);
    if (!tensor) {
        if (e->optional) return SH_OK;
        return sh_fail(SH_ERR_FORMAT, "tensor '%s' is missing", name);
    }
    uint64_t expected[2] = {out->cols, out->rows};
    uint32_t n = e->rows == ONE ? 1 : 2;
    bool same = tensor->n_dims <= 4;
    for (uint32_t i = 0; i < 4; i++) same = same && tensor->dims[i] == (i < n ? expected[i] : 1);
    if (!same) {
        char found[96], wanted[96];
        print_shape(found, tensor->dims, tensor->n_dims);
        print_shape(wanted, expected, n);
        return sh_fail(SH_ERR_FORMAT, "tensor '%s' has the shape %s, expected %s", name, found, wanted);
    }
    out->name = tensor->name;
    out->format = tensor->format;
    out->bytes = tensor->data;
    return SH_OK;
}

/* The first tensor that has no place, for the message. */
static sh_status refuse_strangers(const sh_layout *layout, const sh_config *config) {
    for (uint64_t i = 0; i < layout->n; i++) {
        const sh_tensor *tensor = &layout->tensors[i];
        char name[128];
        snprintf(name, sizeof name, "%.*s", SH_VIEW_ARG(tensor->name));
        bool known = sh_view_is(tensor->name, embedding_name);
        for (size_t j = 0; j < MODEL_ENTRIES; j++) known = known || sh_view_is(tensor->name, model_entries[j].name);
        unsigned layer;
        int rest = 0;
        if (!known && sscanf(name, "blk.%u.%n", &layer, &rest) == 1 && rest > 0 && layer < config->n_layers)
            for (size_t j = 0; j < LAYER_ENTRIES; j++) {
                char full[128];
                snprintf(full, sizeof full, "blk.%u.%s", layer, layer_entries[j].name);
                known = known || sh_view_is(tensor->name, full);
            }
        if (!known)
            return sh_fail(SH_ERR_UNSUPPORTED,
                           "tensor '%s' is no part of a '%.*s' network of %u layers as it is run here; leaving it out "
                           "would compute "
                           "something else",
                           name, SH_VIEW_ARG(config->architecture), config->n_layers);
    }
    return SH_OK;
}

sh_status sh_params_open(const sh_layout *layout, sh_config *config, sh_params *out) {
    *out = (sh_params){0};
    sh_status status = SH_OK;

    /* The vocabulary is the rows of the embedding: cards and missing keys say other numbers. */
    const sh_tensor *embedding = sh_layout_find(layout, embedding_name);
    if (!embedding) return sh_fail(SH_ERR_FORMAT, "tensor '%s' is missing", embedding_name);
    if (embedding->dims[1] > INT32_MAX)
        return sh_fail(SH_ERR_FORMAT, "tensor '%s' has %" PRIu64 " rows, more than %d", embedding_name,
                       embedding->dims[1], INT32_MAX);
    config->vocabulary = (uint32_t)embedding->dims[1];
    static const entry embedding_entry = {"token_embd.weight", offsetof(sh_params, embedding), HIDDEN, VOCABULARY,
                                          false};
    status = place(layout, config, embedding_name, &embedding_entry, &out->embedding);
    if (status != SH_OK) return status;

    out->layers = sh_alloc(config->n_layers, sizeof *out->layers);
    out->n_layers = config->n_layers;
    if (!out->layers) return sh_fail(SH_ERR_MEMORY, "out of memory for %u layers", config->n_layers);
    for (size_t j = 0; j < MODEL_ENTRIES; j++) {
        const entry *e = &model_entries[j];
        sh_weight *param = (sh_weight *)((char *)out + e->place);
        if ((status = place(layout, config, e->name, e, param)) != SH_OK) goto fail;
    }
    for (uint32_t i = 0; i < config->n_layers; i++)
        for (size_t j = 0; j < LAYER_ENTRIES; j++) {
            const entry *e = &layer_entries[j];
            char name[128];
            snprintf(name, sizeof name, "blk.%u.%s", i, e->name);
            sh_weight *param = (sh_weight *)((char *)&out->layers[i] + e->place);
            if ((status = place(layout, config, name, e, param)) != SH_OK) goto fail;
        }
    if ((status = refuse_strangers(layout, config)) != SH_OK) goto fail;
    out->head = out->separate_head.bytes ? &out->separate_head : &out->embedding;
    for (uint64_t i = 0; i < layout->n; i++) {
        const sh_tensor *t = &layout->tensors[i];
        out->parameters += t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3];
        out->bytes += t->bytes;
    }
    return SH_OK;
fail:
    sh_params_close(out);
    return status;
}

void sh_params_close(sh_params *params) {
    sh_free(params->layers);
    *params = (sh_params){0};
}

sh_weight *sh_params_weight(sh_params *params, uint32_t index) {
    if (index == 0) return &params->embedding;
    index--;
    if (index / LAYER_ENTRIES < params->n_layers) {
        sh_layer_params *layer = &params->layers[index / LAYER_ENTRIES];
        return (sh_weight *)((char *)layer + layer_entries[index % LAYER_ENTRIES].place);
    }
    index -= params->n_layers * LAYER_ENTRIES;
    if (index == 0) return &params->output_norm;
    return index == 1 && params->separate_head.bytes ? &params->separate_head : NULL;
}
