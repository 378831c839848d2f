/* info.c: `shohin info`: what a model file is, and how it would run here.
 *
 * Describes a file that cannot be run as far as it can be read: the reason is then part of the result, and the exit status is 0. What stands
 * against running it but is not the file's doing (memory, the device, the options) is a failure. */
#include "cli/cli.h"
#include "cli/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 4096, VALUE_BYTES = 1 << 20, SHOWN_VALUE = 100 };

static const cli_command *const self = &cli_command_table[CLI_ID_INFO];

/* Tensors of one format. */
typedef struct format_sum {
    const char *name;
    uint64_t tensors, bytes;
} format_sum;

typedef struct info {
    const cli_options *options;
    char path[4096];
    sh_file *file;
    sh_file_info about;
    format_sum *formats; /* [n_formats], in the order of their first tensors */
    size_t n_formats;
    uint64_t tensor_bytes;
    char *key, *value; /* [KEY_BYTES], [VALUE_BYTES] */

    sh_tokenizer *tokenizer; /* NULL: `tokenizer_error` says why */
    char tokenizer_error[1024];
    sh_tokenizer_info text;

    sh_engine *engine; /* NULL: the file cannot be run */
    char refusal[1024];
    sh_engine_info model;
    sh_session *session;
    sh_session_info memory;
} info;

/* ---- gathering -------------------------------------------------------------------------------------------- */

static bool out_of_memory(void) {
    cli_fail("out of memory for the description of the file");
    return false;
}

static bool sum_formats(info *f) {
    for (uint64_t i = 0; i < f->about.n_tensors; i++) {
        sh_tensor_info tensor;
        if (sh_file_tensor(f->file, i, &tensor)) {
            cli_fail_library();
            return false;
        }
        size_t at = 0;
        while (at < f->n_formats && strcmp(f->formats[at].name, tensor.format)) at++;
        if (at == f->n_formats) {
            format_sum *larger = realloc(f->formats, (at + 1) * sizeof *larger);
            if (!larger) return out_of_memory();
            f->formats = larger;
            f->formats[f->n_formats++] = (format_sum){.name = tensor.format};
        }
        f->formats[at].tensors++;
        f->formats[at].bytes += tensor.bytes;
        f->tensor_bytes += tensor.bytes;
    }
    return true;
}

/* A reason that says nothing of the file. */
static bool not_the_files(sh_status status) {
    return status != SH_ERR_FORMAT && status != SH_ERR_UNSUPPORTED;
}

/* False if it failed for a reason that is not the file's. */
static bool open_engine(info *f) {
    if (f->about.refusal) return true;
    sh_engine_options with;
    cli_engine_options(f->options, f->path, &with);
    cli_progress_begin("loading the model", 0, NULL);
    sh_status status = sh_engine_open(&with, &f->engine);
    cli_progress_end();
    if (!status) {
        sh_engine_describe(f->engine, &f->model);
        return cli_session_open(f->options, &(cli_model){.engine = f->engine}, &f->session);
    }
    f->engine = NULL;
    if (not_the_files(status)) {
        cli_fail_library();
        return false;
    }
    snprintf(f->refusal, sizeof f->refusal, "%s", sh_error_text());
    return true;
}

static bool gather(info *f) {
    if (!cli_model_path(f->options, f->path, sizeof f->path) || !cli_file_open(f->options, f->path, &f->file))
        return false;
    sh_file_describe(f->file, &f->about);
    f->key = malloc(KEY_BYTES);
    f->value = malloc(VALUE_BYTES);
    if (!f->key || !f->value) return out_of_memory();
    if (!sum_formats(f)) return false;
    sh_status status = sh_tokenizer_open(f->file, &f->tokenizer);
    if (status) {
        f->tokenizer = NULL;
        if (not_the_files(status)) {
            cli_fail_library();
            return false;
        }
        snprintf(f->tokenizer_error, sizeof f->tokenizer_error, "%s", sh_error_text());
    } else {
        sh_tokenizer_describe(f->tokenizer, &f->text);
    }
    if (f->about.refusal) snprintf(f->refusal, sizeof f->refusal, "%s", f->about.refusal);
    if (!open_engine(f)) return false;
    if (f->session) sh_session_describe(f->session, &f->memory);
    return true;
}

/* Bits that an element takes, over all tensors; 0 if it cannot be said. */
static double bits_per_weight(const info *f) {
    for (size_t i = 0; i < f->n_formats; i++)
        if (!f->formats[i].bytes) return 0; /* a format of unknown size */
    return f->about.parameters ? 8.0 * (double)f->tensor_bytes / (double)f->about.parameters : 0;
}

static uint64_t kv_position_bytes(const info *f) {
    return f->model.kv_page_bytes / 64;
}

/* ---- text ------------------------------------------------------------------------------------------------- */

static void line(const char *name, const char *text) {
    cli_print("%-16s ", name);
    cli_print_safe(text, strlen(text), false);
    cli_print("\n");
}

static void bytes_line(const char *name, uint64_t bytes, const char *of) {
    if (bytes < (uint64_t)1 << 30)
        cli_print("%-16s %.2f MiB (%" PRIu64 " bytes)%s\n", name, (double)bytes / 0x1p20, bytes, of);
    else
        cli_print("%-16s %.2f GiB (%" PRIu64 " bytes)%s\n", name, (double)bytes / 0x1p30, bytes, of);
}

static void put_file(const info *f) {
    const sh_file_info *a = &f->about;
    line("file", f->path);
    cli_print("%-16s GGUF version %u, %u part%s, %" PRIu64 " metadata keys\n", "container", a->version, a->parts,
              a->parts > 1 ? "s" : "", a->n_metadata);
    bytes_line("size", a->bytes, "");
    line("name", *a->name ? a->name : "(none)");
    line("architecture", *a->architecture ? a->architecture : "(none)");
    cli_print("%-16s %" PRIu64 "\n", "parameters", a->parameters);
    if (bits_per_weight(f) > 0) cli_print("%-16s %.4f\n", "bits per weight", bits_per_weight(f));
    for (size_t i = 0; i < f->n_formats; i++)
        cli_print("%-16s %s: %" PRIu64 " tensor%s, %" PRIu64 " bytes\n", i ? "" : "formats", f->formats[i].name,
                  f->formats[i].tensors, f->formats[i].tensors > 1 ? "s" : "", f->formats[i].bytes);
    if (a->q2_layout) {
        cli_print("%-16s %s: ", "type 42", a->q2_layout);
        cli_print_safe(a->q2_reason, strlen(a->q2_reason), false);
        cli_print("\n");
    }
}

static void put_tokenizer(const info *f) {
    if (!f->tokenizer) {
        line("tokenizer", f->tokenizer_error);
        return;
    }
    cli_print("%-16s %u tokens", "tokenizer", f->text.n_tokens);
    if (f->text.bos >= 0) cli_print(", BOS %d%s", f->text.bos, f->text.add_bos ? " (put in front)" : "");
    if (f->text.n_ends) cli_print(", a text ends by");
    for (size_t i = 0; i < f->text.n_ends; i++) cli_print("%s %d", i ? "," : "", f->text.ends[i]);
    cli_print("\n");
}

static void put_sampling(const sh_sampling *s) {
    if (s->temperature > 0)
        cli_print("%-16s temp %g, top-k %u, top-p %g, min-p %g\n", "sampling", (double)s->temperature, s->top_k,
                  (double)s->top_p, (double)s->min_p);
    else
        cli_print("%-16s the likeliest token each time (temp 0)\n", "sampling");
}

static void put_model(const info *f) {
    const sh_engine_info *m = &f->model;
    if (!f->engine) {
        line("cannot be run", f->refusal);
        return;
    }
    cli_print("%-16s %u layers, hidden %u, FFN %u, %u heads of %u, %u KV heads\n", "network", m->n_layers, m->hidden,
              m->ffn, m->n_heads, m->head_dim, m->n_kv_heads);
    cli_print("%-16s %u, %s\n", "vocabulary", m->vocabulary,
              m->tied ? "the head is the embedding" : "a head of its own");
    cli_print("%-16s base %g", "RoPE", (double)m->rope_base);
    if (strcmp(m->rope_scaling, "none")) cli_print(", %s, factor %g", m->rope_scaling, (double)m->rope_factor);
    if (!strcmp(m->rope_scaling, "yarn"))
        cli_print(" from a context of %u, attention factor %g", m->rope_original_context,
                  (double)m->rope_attention_factor);
    cli_print("\n");
    put_sampling(&m->sampling);
    bytes_line("weights", m->weight_bytes, "");
    cli_print("%-16s %" PRIu64 " bytes a token\n", "KV cache", kv_position_bytes(f));
    cli_print("%-16s %u tokens", "context", f->memory.context);
    if (f->memory.cut_from)
        cli_print(" of the file's %u, as half of the free memory holds", f->memory.cut_from);
    else if (f->memory.context != m->context)
        cli_print(", the file's is %u", m->context);
    cli_print("\n");
    bytes_line("its KV cache", f->memory.kv_bytes, " when full");
    if (f->memory.free_memory != UINT64_MAX) bytes_line("free memory", f->memory.free_memory, "");
    cli_print("%-16s %s, %u thread%s\n", "device", m->device, m->threads, m->threads > 1 ? "s" : "");
}

static void put_tensors(const info *f) {
    for (uint64_t i = 0; i < f->about.n_tensors; i++) {
        sh_tensor_info t;
        char dims[96];
        if (sh_file_tensor(f->file, i, &t)) continue; /* not for an index that is in range */
        int n = 0;
        for (uint32_t d = 0; d < t.n_dims; d++)
            n += snprintf(dims + n, sizeof dims - (size_t)n, "%s%" PRIu64, d ? " x " : "", t.dims[d]);
        cli_print("%-9s %-16s %12" PRIu64 " bytes at %12" PRIu64, t.format, dims, t.bytes, t.offset);
        if (f->about.parts > 1) cli_print(" of part %u", t.part + 1);
        cli_print("  ");
        cli_print_safe(t.name, t.name_length, false);
        if (!cli_print("\n")) break;
    }
}

static void put_metadata(const info *f) {
    for (uint64_t i = 0; i < f->about.n_metadata; i++) {
        if (sh_file_metadata(f->file, i, f->key, KEY_BYTES, f->value, VALUE_BYTES)) continue; /* likewise */
        size_t length = strlen(f->value), shown = length;
        if (length > SHOWN_VALUE) /* not within a character */
            for (shown = SHOWN_VALUE; shown && ((unsigned char)f->value[shown] & 0xc0) == 0x80;) shown--;
        cli_print_safe(f->key, strlen(f->key), false);
        cli_print(" = ");
        cli_print_safe(f->value, shown, false);
        if (shown < length) cli_print("... (%zu bytes)", length);
        if (!cli_print("\n")) break;
    }
}

static void put_text(const info *f) {
    put_file(f);
    put_tokenizer(f);
    put_model(f);
    if (f->options->metadata) {
        cli_print("\n");
        put_metadata(f);
    }
    if (f->options->tensors) {
        cli_print("\n");
        put_tensors(f);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------------------- */

static void put_formats_json(const info *f) {
    cli_json_open("formats", '{');
    for (size_t i = 0; i < f->n_formats; i++) {
        cli_json_open(f->formats[i].name, '{');
        cli_json_unsigned("tensors", f->formats[i].tensors);
        cli_json_unsigned("bytes", f->formats[i].bytes);
        cli_json_close();
    }
    cli_json_close();
}

static void put_file_json(const info *f) {
    const sh_file_info *a = &f->about;
    cli_json_string("file", f->path);
    cli_json_unsigned("version", a->version);
    cli_json_unsigned("parts", a->parts);
    cli_json_unsigned("bytes", a->bytes);
    cli_json_string("name", a->name);
    cli_json_string("architecture", a->architecture);
    cli_json_unsigned("parameters", a->parameters);
    if (bits_per_weight(f) > 0) cli_json_real("bits_per_weight", bits_per_weight(f));
    put_formats_json(f);
    if (a->q2_layout) cli_json_string("q2_layout", a->q2_layout);
    if (a->q2_reason) cli_json_string("q2_reason", a->q2_reason);
    cli_json_string("refusal", *f->refusal ? f->refusal : NULL);
}

static void put_tokenizer_json(const info *f) {
    if (!f->tokenizer) {
        cli_json_string("tokenizer_error", f->tokenizer_error);
        return;
    }
    cli_json_open("tokenizer", '{');
    cli_json_unsigned("tokens", f->text.n_tokens);
    if (f->text.bos >= 0) cli_json_integer("bos", f->text.bos);
    if (f->text.eos >= 0) cli_json_integer("eos", f->text.eos);
    cli_json_bool("add_bos", f->text.add_bos);
    cli_json_open("ends", '[');
    for (size_t i = 0; i < f->text.n_ends; i++) cli_json_integer(NULL, f->text.ends[i]);
    cli_json_close();
    cli_json_close();
}

static void put_network_json(const sh_engine_info *m) {
    cli_json_open("network", '{');
    cli_json_unsigned("layers", m->n_layers);
    cli_json_unsigned("hidden", m->hidden);
    cli_json_unsigned("ffn", m->ffn);
    cli_json_unsigned("heads", m->n_heads);
    cli_json_unsigned("kv_heads", m->n_kv_heads);
    cli_json_unsigned("head_dim", m->head_dim);
    cli_json_unsigned("vocabulary", m->vocabulary);
    cli_json_bool("tied", m->tied);
    cli_json_unsigned("context", m->context);
    cli_json_open("rope", '{');
    cli_json_real("base", m->rope_base);
    cli_json_string("scaling", m->rope_scaling);
    if (strcmp(m->rope_scaling, "none")) cli_json_real("factor", m->rope_factor);
    if (!strcmp(m->rope_scaling, "yarn")) {
        cli_json_unsigned("original_context", m->rope_original_context);
        cli_json_real("attention_factor", m->rope_attention_factor);
    }
    cli_json_close();
    cli_json_close();
    cli_json_open("sampling", '{');
    cli_json_real("temp", m->sampling.temperature);
    cli_json_unsigned("top_k", m->sampling.top_k);
    cli_json_real("top_p", m->sampling.top_p);
    cli_json_real("min_p", m->sampling.min_p);
    cli_json_close();
}

static void put_memory_json(const info *f) {
    cli_json_open("memory", '{');
    cli_json_unsigned("weight_bytes", f->model.weight_bytes);
    cli_json_unsigned("kv_position_bytes", kv_position_bytes(f));
    cli_json_unsigned("context", f->memory.context);
    if (f->memory.cut_from) cli_json_unsigned("cut_from", f->memory.cut_from);
    cli_json_unsigned("kv_bytes", f->memory.kv_bytes);
    if (f->memory.free_memory != UINT64_MAX) cli_json_unsigned("free_bytes", f->memory.free_memory);
    cli_json_close();
}

static void put_tensors_json(const info *f) {
    cli_json_open("tensors", '[');
    for (uint64_t i = 0; i < f->about.n_tensors; i++) {
        sh_tensor_info t;
        if (sh_file_tensor(f->file, i, &t)) continue; /* not for an index that is in range */
        cli_json_open(NULL, '{');
        cli_json_text("name", t.name, t.name_length);
        cli_json_string("format", t.format);
        cli_json_unsigned("type", t.type);
        cli_json_open("dims", '[');
        for (uint32_t d = 0; d < t.n_dims; d++) cli_json_unsigned(NULL, t.dims[d]);
        cli_json_close();
        cli_json_unsigned("bytes", t.bytes);
        cli_json_unsigned("offset", t.offset);
        cli_json_unsigned("part", t.part);
        cli_json_close();
    }
    cli_json_close();
}

static void put_metadata_json(const info *f) {
    cli_json_open("metadata", '{');
    for (uint64_t i = 0; i < f->about.n_metadata; i++) {
        if (sh_file_metadata(f->file, i, f->key, KEY_BYTES, f->value, VALUE_BYTES)) continue; /* likewise */
        cli_json_string(f->key, f->value);
    }
    cli_json_close();
}

static void put_json(const info *f) {
    cli_json_open(NULL, '{');
    put_file_json(f);
    put_tokenizer_json(f);
    if (f->engine) {
        put_network_json(&f->model);
        put_memory_json(f);
        cli_json_string("device", f->model.device);
        cli_json_unsigned("threads", f->model.threads);
    }
    put_metadata_json(f);
    put_tensors_json(f);
    cli_json_close();
}

int cli_info(const cli_options *options) {
    cli_options with = *options; /* FILE stands for -m FILE */
    if (options->n_words) {
        if (options->model) return cli_wrong(self, "\"%.200s\": the file is already given by -m", options->words[0]);
        with.model = options->words[0];
    }
    info f = {.options = &with};
    int status = CLI_FAILED;
    if (gather(&f)) {
        options->json ? put_json(&f) : put_text(&f);
        status = CLI_DONE;
    }
    sh_session_close(f.session);
    sh_engine_close(f.engine);
    sh_tokenizer_close(f.tokenizer);
    sh_file_close(f.file);
    free(f.formats);
    free(f.key);
    free(f.value);
    return status;
}
