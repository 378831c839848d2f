/* config.c: from GGUF metadata to a checked configuration. See config.h. */
#include "model/config.h"

#include "base/math.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEY_CAPACITY = 96 };

/* Limits far above any model of this kind; they keep products of two of them within 64 bits. */
enum { MAX_LAYERS = 1024, MAX_WIDTH = 1 << 20, MAX_HEADS = 1024, MAX_HEAD_DIM = 1024 };

static const char *const family = "qwen3";

static void key_of(char key[KEY_CAPACITY], const char *rest) {
    snprintf(key, KEY_CAPACITY, "%s.%s", family, rest);
}

/* A whole number that must be there (or has a default) and lie in 1 to max. */
static sh_status read_count(const sh_gguf *gguf, const char *rest, uint32_t max, uint32_t *value) {
    char key[KEY_CAPACITY];
    key_of(key, rest);
    sh_status status = sh_gguf_get_u32(gguf, key, value);
    if (status != SH_OK) return status;
    if (!sh_gguf_find(gguf, key) && *value == 0) return sh_fail(SH_ERR_FORMAT, "key '%s' is missing", key);
    if (*value < 1 || *value > max) return sh_fail(SH_ERR_FORMAT, "key '%s' is %u, expected 1 to %u", key, *value, max);
    return SH_OK;
}

static sh_status read_float(const sh_gguf *gguf, const char *rest, float low, float high, float *value) {
    char key[KEY_CAPACITY];
    key_of(key, rest);
    sh_status status = sh_gguf_get_f32(gguf, key, value);
    if (status != SH_OK) return status;
    if (sh_gguf_find(gguf, key) && !(*value >= low && *value <= high))
        return sh_fail(SH_ERR_FORMAT, "key '%s' is %g, expected %g to %g", key, (double)*value, (double)low,
                       (double)high);
    return SH_OK;
}

static sh_status check_architecture(const sh_gguf *gguf, sh_view *architecture) {
    sh_status status = sh_gguf_get_string(gguf, "general.architecture", architecture);
    if (status != SH_OK) return status;
    if (architecture->length == 0)
        return sh_fail(SH_ERR_FORMAT, sh_gguf_find(gguf, "llm.block_count") || sh_gguf_find(gguf, "llm.hidden_size")
                                          ? "key 'general.architecture' is missing: the file has the 'llm.*' keys of "
                                            "an early OxiBonsai; convert it again with a current version"
                                          : "key 'general.architecture' is missing");
    sh_view type = {NULL, 0};
    status = sh_gguf_get_string(gguf, "general.type", &type);
    if (status != SH_OK) return status;
    if (sh_view_is(*architecture, "clip") || sh_view_is(type, "mmproj"))
        return sh_fail(SH_ERR_UNSUPPORTED,
                       "this is a vision projector (mmproj), not a language model; give the model's own file");
    if (sh_view_is(type, "adapter"))
        return sh_fail(SH_ERR_UNSUPPORTED, "this is an adapter (LoRA), not a model; merge it into its model first");
    if (sh_view_is(*architecture, family)) return SH_OK;
    static const struct {
        const char *name, *why;
    } known[] = {
        {"qwen35",
         "the hybrid of Bonsai 27B and Bonsai 2 (gated delta net) is not run yet; use a dense Bonsai (1.7B, 4B, 8B)"},
        {"qwen3next", "the hybrid with a gated delta net is not run; use a dense Bonsai (1.7B, 4B, 8B)"},
        {"qwen3moe", "mixtures of experts are not run; use a dense Bonsai (1.7B, 4B, 8B)"},
        {"bitnet", "BitNet models are run by bitnet.cpp and ik_llama.cpp"},
        {"bitnet-b1.58", "BitNet models are run by bitnet.cpp and ik_llama.cpp"},
        {"dflash", "this is a draft head, not a language model; give the model's own file"},
        {"dspark", "this is a draft head, not a language model; give the model's own file"},
        {"eagle3", "this is a draft head, not a language model; give the model's own file"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (sh_view_is(*architecture, known[i].name))
            return sh_fail(SH_ERR_UNSUPPORTED, "architecture '%s': %s", known[i].name, known[i].why);
    return sh_fail(SH_ERR_UNSUPPORTED,
                   "architecture '%.*s' is not run here, only '%s' (the dense Bonsai models); llama.cpp may run it",
                   SH_VIEW_ARG(*architecture), family);
}

/* The kind of scaling: what the caller asks for, else what the file says. */
static sh_status choose_scaling(const sh_gguf *gguf, const char *asked, sh_rope_scaling *out) {
    sh_view type = {"none", 4};
    char key[KEY_CAPACITY];
    key_of(key, "rope.scale_linear"); /* before GGUF had scaling types */
    if (sh_gguf_find(gguf, key)) type = (sh_view){"linear", 6};
    key_of(key, "rope.scaling.type");
    sh_status status = sh_gguf_get_string(gguf, key, &type);
    if (status != SH_OK) return status;
    if (asked && strcmp(asked, "none") != 0 && strcmp(asked, "yarn") != 0)
        return sh_fail(SH_ERR_ARGUMENT, "rope scaling '%s' is not known: give 'none' or 'yarn'", asked);
    if (asked) type = (sh_view){asked, strlen(asked)};
    if (sh_view_is(type, "none")) {
        *out = SH_ROPE_NONE;
    } else if (sh_view_is(type, "linear")) {
        *out = SH_ROPE_LINEAR;
    } else if (sh_view_is(type, "yarn")) {
        *out = SH_ROPE_YARN;
    } else {
        return sh_fail(SH_ERR_UNSUPPORTED, "key '%s' is '%.*s'; 'none', 'linear' and 'yarn' are run", key,
                       SH_VIEW_ARG(type));
    }
    return SH_OK;
}

static sh_status read_factor(const sh_gguf *gguf, float asked, float *factor) {
    *factor = 0;
    sh_status status = read_float(gguf, "rope.scale_linear", 1, 1e4f, factor);
    if (status == SH_OK) status = read_float(gguf, "rope.scaling.factor", 1, 1e4f, factor);
    if (status != SH_OK) return status;
    if (asked != 0 && !(asked >= 1 && asked <= 1e4f))
        return sh_fail(SH_ERR_ARGUMENT, "YaRN factor %g is outside 1 to 10000", (double)asked);
    if (asked != 0) *factor = asked;
    if (*factor == 0)
        return sh_fail(SH_ERR_ARGUMENT, "the file has no key '%s.rope.scaling.factor': give a factor (--yarn-factor)",
                       family);
    return SH_OK;
}

static sh_status read_yarn(const sh_gguf *gguf, uint32_t asked_original, const sh_config *config,
                           sh_rope_config *rope) {
    float extrapolation = 1, log_multiplier = 0;
    char key[KEY_CAPACITY];
    sh_status status;
    rope->original_context = config->context;
    key_of(key, "rope.scaling.original_context_length");
    if ((status = sh_gguf_get_u32(gguf, key, &rope->original_context)) != SH_OK ||
        (status = read_float(gguf, "rope.scaling.yarn_ext_factor", -1, 1e3f, &extrapolation)) != SH_OK ||
        (status = read_float(gguf, "rope.scaling.yarn_log_multiplier", 0, 1e3f, &log_multiplier)) != SH_OK ||
        (status = read_float(gguf, "rope.scaling.yarn_beta_fast", 1e-3f, 1e6f, &rope->beta_fast)) != SH_OK ||
        (status = read_float(gguf, "rope.scaling.yarn_beta_slow", 1e-3f, 1e6f, &rope->beta_slow)) != SH_OK)
        return status;
    if ((extrapolation != 1 && extrapolation != -1) || log_multiplier != 0)
        return sh_fail(SH_ERR_UNSUPPORTED,
                       "the file sets yarn_ext_factor %g and yarn_log_multiplier %g; only 1 and 0 are run",
                       (double)extrapolation, (double)log_multiplier);
    if (rope->original_context < 1 || rope->original_context > SH_MAX_CONTEXT)
        return sh_fail(SH_ERR_FORMAT, "key '%s' is %u, expected 1 to %u", key, rope->original_context,
                       (unsigned)SH_MAX_CONTEXT);
    if (asked_original > SH_MAX_CONTEXT)
        return sh_fail(SH_ERR_ARGUMENT, "YaRN's original context %u is more than %u", asked_original,
                       (unsigned)SH_MAX_CONTEXT);
    if (asked_original) rope->original_context = asked_original;
    if (rope->beta_fast <= rope->beta_slow)
        return sh_fail(SH_ERR_FORMAT, "YaRN's beta_fast %g is not above its beta_slow %g", (double)rope->beta_fast,
                       (double)rope->beta_slow);
    if (rope->factor > 1) rope->attention_factor *= (float)(1 + 0.1 * sh_log_f64((double)rope->factor));
    return SH_OK;
}

static sh_status read_rope(const sh_gguf *gguf, const sh_rope_override *asked, sh_config *config) {
    sh_rope_config *rope = &config->rope;
    *rope = (sh_rope_config){.base = 1e6f, .factor = 1, .beta_fast = 32, .beta_slow = 1, .attention_factor = 1};
    sh_status status = read_float(gguf, "rope.freq_base", 1.0f + 1e-3f, 1e12f, &rope->base);
    if (status != SH_OK) return status;
    uint32_t dims = config->head_dim;
    if ((status = read_count(gguf, "rope.dimension_count", MAX_HEAD_DIM, &dims)) != SH_OK) return status;
    if (dims != config->head_dim)
        return sh_fail(
            SH_ERR_UNSUPPORTED,
            "key '%s.rope.dimension_count' is %u, but heads have %u dimensions: a partly rotated head is not run",
            family, dims, config->head_dim);
    /* llama.cpp multiplies by the file's factor whatever the scaling; YaRN's own comes on top. */
    if ((status = read_float(gguf, "rope.scaling.attn_factor", 1e-3f, 1e3f, &rope->attention_factor)) != SH_OK ||
        (status = read_float(gguf, "rope.scaling.yarn_attn_factor", 1e-3f, 1e3f, &rope->attention_factor)) != SH_OK ||
        (status = choose_scaling(gguf, asked->scaling, &rope->scaling)) != SH_OK)
        return status;
    if (rope->scaling != SH_ROPE_YARN && (asked->factor != 0 || asked->original_context != 0))
        return sh_fail(SH_ERR_ARGUMENT,
                       "a YaRN factor or original context was given, but the rope scaling is '%s'; say 'yarn' as well",
                       rope->scaling == SH_ROPE_NONE ? "none" : "linear");
    if (rope->scaling != SH_ROPE_NONE) status = read_factor(gguf, asked->factor, &rope->factor);
    if (status == SH_OK && rope->scaling == SH_ROPE_YARN)
        status = read_yarn(gguf, asked->original_context, config, rope);
    return status;
}

static sh_status read_sampling(const sh_gguf *gguf, sh_sampling *sampling) {
    /* What PrismML's own demo uses for the dense models. */
    *sampling = (sh_sampling){.temperature = 0.5f, .top_k = 20, .top_p = 0.85f, .min_p = 0};
    sh_status status;
    uint32_t top_k = sampling->top_k;
    if ((status = sh_gguf_get_f32(gguf, "general.sampling.temp", &sampling->temperature)) != SH_OK ||
        (status = sh_gguf_get_f32(gguf, "general.sampling.top_p", &sampling->top_p)) != SH_OK ||
        (status = sh_gguf_get_f32(gguf, "general.sampling.min_p", &sampling->min_p)) != SH_OK ||
        (status = sh_gguf_get_u32(gguf, "general.sampling.top_k", &top_k)) != SH_OK)
        return status;
    sampling->top_k = top_k;
    if (!(sampling->temperature >= 0 && sampling->temperature <= 100) ||
        !(sampling->top_p > 0 && sampling->top_p <= 1) || !(sampling->min_p >= 0 && sampling->min_p <= 1))
        return sh_fail(SH_ERR_FORMAT,
                       "the file's 'general.sampling' keys (temp %g, top_p %g, min_p %g) are out of range",
                       (double)sampling->temperature, (double)sampling->top_p, (double)sampling->min_p);
    return SH_OK;
}

sh_status sh_config_read(const sh_gguf *gguf, const sh_rope_override *rope, sh_config *out) {
    sh_config c = {.norm_epsilon = 1e-6f};
    sh_status status;
    if ((status = check_architecture(gguf, &c.architecture)) != SH_OK) return status;
    if ((status = sh_gguf_get_string(gguf, "general.name", &c.name)) != SH_OK) return status;
    if ((status = read_count(gguf, "block_count", MAX_LAYERS, &c.n_layers)) != SH_OK) return status;
    if ((status = read_count(gguf, "embedding_length", MAX_WIDTH, &c.hidden)) != SH_OK) return status;
    if ((status = read_count(gguf, "feed_forward_length", MAX_WIDTH, &c.ffn)) != SH_OK) return status;
    if ((status = read_count(gguf, "attention.head_count", MAX_HEADS, &c.n_heads)) != SH_OK) return status;
    c.n_kv_heads = c.n_heads; /* no grouping unless the file says so */
    if ((status = read_count(gguf, "attention.head_count_kv", MAX_HEADS, &c.n_kv_heads)) != SH_OK) return status;
    if ((status = read_count(gguf, "context_length", SH_MAX_CONTEXT, &c.context)) != SH_OK) return status;
    if (c.n_heads % c.n_kv_heads)
        return sh_fail(SH_ERR_FORMAT, "%u query heads cannot share %u KV heads: not a multiple", c.n_heads,
                       c.n_kv_heads);
    /* GGUF's rule where the key is absent. */
    c.head_dim = c.hidden / c.n_heads;
    if ((status = read_count(gguf, "attention.key_length", MAX_HEAD_DIM, &c.head_dim)) != SH_OK) return status;
    uint32_t value_dim = c.head_dim;
    if ((status = read_count(gguf, "attention.value_length", MAX_HEAD_DIM, &value_dim)) != SH_OK) return status;
    if (value_dim != c.head_dim)
        return sh_fail(SH_ERR_UNSUPPORTED, "keys have %u dimensions and values %u; only equal ones are run", c.head_dim,
                       value_dim);
    if (c.head_dim < 2 || c.head_dim % 2)
        return sh_fail(SH_ERR_FORMAT, "heads of %u dimensions cannot be rotated in pairs", c.head_dim);
    if ((status = read_float(gguf, "attention.layer_norm_rms_epsilon", 0, 1, &c.norm_epsilon)) != SH_OK) return status;
    uint32_t window = 0;
    char key[KEY_CAPACITY];
    key_of(key, "attention.sliding_window");
    if ((status = sh_gguf_get_u32(gguf, key, &window)) != SH_OK) return status;
    if (window && window < c.context)
        return sh_fail(SH_ERR_UNSUPPORTED, "key '%s' is %u: sliding-window attention is not run", key, window);
    if ((status = read_rope(gguf, rope, &c)) != SH_OK) return status;
    if ((status = read_sampling(gguf, &c.sampling)) != SH_OK) return status;
    *out = c;
    return SH_OK;
}
