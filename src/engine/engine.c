/* engine.c: opening a model: file, configuration, weights, device, tokenizer. See engine.h. */
#include "engine/engine.h"

#include "base/memory.h"
#include "engine/forward.h"

#include <string.h>

void sh_engine_options_default(sh_engine_options *options) {
    if (options) *options = (sh_engine_options){.device = "auto"};
}

static sh_status open_model(sh_engine *engine, const sh_engine_options *options) {
    sh_file_options file_options = {.q2_layout = options->q2_layout};
    sh_status status = sh_file_open(options->path, &file_options, &engine->file);
    if (status != SH_OK) return status; /* names the path itself */
    sh_rope_override rope = {options->rope_scaling, options->yarn_factor, options->yarn_original_context};
    const sh_layout *layout = &engine->file->layout;
    if (layout->refusal[0]) status = sh_fail(SH_ERR_UNSUPPORTED, "%s", layout->refusal);
    if (status == SH_OK) status = sh_config_read(engine->file->gguf, &rope, &engine->config);
    if (status == SH_OK) status = sh_params_open(layout, &engine->config, &engine->params);
    if (status == SH_OK) status = sh_tokenizer_open(engine->file, &engine->tokenizer);
    if (status == SH_OK) {
        sh_tokenizer_info text;
        sh_tokenizer_describe(engine->tokenizer, &text);
        if (text.n_tokens > engine->config.vocabulary)
            status = sh_fail(SH_ERR_FORMAT, "the tokenizer has %u tokens, but the embedding only %u rows",
                             text.n_tokens, engine->config.vocabulary);
    }
    if (status != SH_OK) return status == SH_ERR_ARGUMENT ? status : sh_fail_in(status, "%s: ", options->path);
    engine->name = sh_copy_text(engine->config.name.data, engine->config.name.length);
    if (!engine->name) return sh_fail(SH_ERR_MEMORY, "out of memory for the model's name");
    sh_make_printable(engine->name);
    return sh_rope_open(&engine->config, &engine->rope);
}

static sh_status open_device(sh_engine *engine, const sh_engine_options *options) {
    const sh_config *c = &engine->config;
    sh_net net = {
        .n_layers = c->n_layers,
        .hidden = c->hidden,
        .ffn = c->ffn,
        .n_heads = c->n_heads,
        .n_kv_heads = c->n_kv_heads,
        .head_dim = c->head_dim,
        .vocabulary = c->vocabulary,
        .norm_epsilon = c->norm_epsilon,
    };
    sh_oplist *list = &engine->list;
    sh_oplist_init(list, &net);
    sh_status status = sh_forward_record(&engine->params, list);
    const char *colon = options->device ? strchr(options->device, ':') : NULL;
    sh_device_options device = {.threads = options->threads, .argument = colon ? colon + 1 : NULL};
    if (status == SH_OK) status = engine->backend->open(&device, &engine->device);
    for (sh_weight *w; status == SH_OK && (w = sh_params_weight(&engine->params, engine->weights_open));) {
        status = engine->backend->weight_open(engine->device, w, sh_oplist_uses(list, w));
        if (status == SH_OK) engine->weights_open++;
    }
    return status;
}

sh_status sh_engine_open_on(const sh_backend *backend, const sh_engine_options *options, sh_engine **out) {
    sh_engine *engine = sh_alloc(1, sizeof *engine);
    if (!engine) return sh_fail(SH_ERR_MEMORY, "out of memory for an engine");
    engine->backend = backend;
    sh_status status = open_model(engine, options);
    if (status == SH_OK) status = open_device(engine, options);
    if (status != SH_OK) {
        sh_engine_close(engine);
        return status;
    }
    *out = engine;
    return SH_OK;
}

sh_status sh_engine_open(const sh_engine_options *options, sh_engine **out) {
    if (!out) return sh_fail(SH_ERR_ARGUMENT, "sh_engine_open: no place for the engine");
    *out = NULL;
    if (!options || !options->path) return sh_fail(SH_ERR_ARGUMENT, "sh_engine_open: no model file was named");
    if (options->threads > 1024) return sh_fail(SH_ERR_ARGUMENT, "%u threads are more than 1024", options->threads);
    const char *device = options->device ? options->device : "auto";
    const sh_backend *backend = strcmp(device, "auto") == 0 ? sh_backend_first() : sh_backend_find(device);
    if (!backend) {
        char names[128] = "auto";
        for (size_t i = 0; sh_backend_get(i); i++) {
            strncat(names, ", ", sizeof names - strlen(names) - 1);
            strncat(names, sh_backend_get(i)->name, sizeof names - strlen(names) - 1);
        }
        return sh_fail(SH_ERR_ARGUMENT, "device '%s' is not in this build; it has %s", device, names);
    }
    return sh_engine_open_on(backend, options, out);
}

void sh_engine_close(sh_engine *engine) {
    if (!engine) return;
    sh_oplist_close(&engine->list);
    while (engine->weights_open > 0)
        engine->backend->weight_close(engine->device, sh_params_weight(&engine->params, --engine->weights_open));
    if (engine->device) engine->backend->close(engine->device);
    sh_rope_close(&engine->rope);
    sh_tokenizer_close(engine->tokenizer);
    sh_params_close(&engine->params);
    sh_file_close(engine->file);
    sh_free(engine->name);
    sh_free(engine);
}

void sh_engine_describe(const sh_engine *engine, sh_engine_info *info) {
    static const char *const scaling[] = {"none", "linear", "yarn"};
    if (!info) return;
    *info = (sh_engine_info){.device = "", .name = "", .architecture = "", .rope_scaling = "none"};
    if (!engine) return;
    const sh_config *c = &engine->config;
    *info = (sh_engine_info){
        .device = engine->backend->name,
        .name = engine->name,
        .architecture = engine->file->architecture,
        .threads = engine->device->threads,
        .n_layers = c->n_layers,
        .hidden = c->hidden,
        .ffn = c->ffn,
        .n_heads = c->n_heads,
        .n_kv_heads = c->n_kv_heads,
        .head_dim = c->head_dim,
        .vocabulary = c->vocabulary,
        .tied = engine->params.head == &engine->params.embedding,
        .context = c->context,
        .rope_scaling = scaling[c->rope.scaling],
        .rope_base = c->rope.base,
        .rope_factor = c->rope.factor,
        .rope_original_context = c->rope.original_context,
        .rope_attention_factor = c->rope.attention_factor,
        .parameters = engine->params.parameters,
        .weight_bytes = engine->params.bytes,
        .kv_page_bytes = engine->backend->kv_page_bytes(engine->device, &(sh_kv_options){.net = &engine->list.net}),
        .sampling = c->sampling,
    };
}

const sh_tokenizer *sh_engine_tokenizer(const sh_engine *engine) {
    return engine ? engine->tokenizer : NULL;
}
