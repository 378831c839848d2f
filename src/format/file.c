/* file.c: the public sh_file: opens a model file and describes what is in it. See shohin.h and file.h.
 *
 * Owns the container, the layout and the texts that a description points to. A file that is sound but not run here opens
 * all the same, so that it can be described; its `refusal` says why it cannot be run. */
#include "format/file.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"

void sh_file_options_default(sh_file_options *options) {
    if (options) *options = (sh_file_options){.q2_layout = "auto"};
}

/* A terminated copy of a text key; "" if it is absent or no text. */
static sh_status copy_text_key(const sh_gguf *gguf, const char *name, char **out) {
    const sh_gguf_key *key = sh_gguf_find(gguf, name);
    sh_view view = {"", 0};
    if (key && key->type == SH_GGUF_STRING) {
        const uint8_t *cursor = key->data;
        view = sh_gguf_next_string(&cursor);
    }
    *out = sh_copy_text(view.data, view.length);
    if (*out) sh_make_printable(*out);
    return *out ? SH_OK : sh_fail(SH_ERR_MEMORY, "no memory for the text of key '%s'", name);
}

sh_status sh_file_open(const char *path, const sh_file_options *options, sh_file **out) {
    sh_q2_layout q2;
    sh_file *file = NULL;
    sh_status status;
    if (!out) return sh_fail(SH_ERR_ARGUMENT, "sh_file_open needs a place for the file");
    *out = NULL;
    if (!path) return sh_fail(SH_ERR_ARGUMENT, "sh_file_open needs a path");
    if ((status = sh_q2_layout_from_text(options ? options->q2_layout : NULL, &q2))) goto fail;
    if (!(file = sh_alloc(1, sizeof *file))) {
        status = sh_fail(SH_ERR_MEMORY, "no memory to open %s", path);
        goto fail;
    }
    if ((status = sh_gguf_open(path, &file->gguf))) goto fail;
    if ((status = sh_layout_open(file->gguf, q2, &file->layout))) goto fail;
    sh_make_printable(file->layout.refusal);
    sh_make_printable(file->layout.q2_reason);
    if ((status = copy_text_key(file->gguf, "general.architecture", &file->architecture))) goto fail;
    if ((status = copy_text_key(file->gguf, "general.name", &file->name))) goto fail;
    uint32_t n;
    const sh_gguf_part *parts = sh_gguf_parts(file->gguf, &n);
    for (uint32_t i = 0; i < n; i++) file->bytes += parts[i].start + parts[i].size;
    *out = file;
    return SH_OK;
fail:
    sh_file_close(file);
    return status;
}

void sh_file_close(sh_file *file) {
    if (!file) return;
    sh_layout_close(&file->layout);
    sh_gguf_close(file->gguf);
    sh_free(file->architecture);
    sh_free(file->name);
    sh_free(file);
}

void sh_file_describe(const sh_file *file, sh_file_info *info) {
    static const char *const q2_names[] = {NULL, "64", "128", "codes-first"};
    if (!info) return;
    *info = (sh_file_info){.architecture = "", .name = ""};
    if (!file) return;
    const sh_layout *layout = &file->layout;
    *info = (sh_file_info){
        .version = sh_gguf_version(file->gguf),
        .bytes = file->bytes,
        .n_tensors = layout->n,
        .architecture = file->architecture,
        .name = file->name,
        .q2_layout = q2_names[layout->q2],
        .q2_reason = layout->q2 == SH_Q2_AUTO ? NULL : layout->q2_reason,
        .refusal = layout->refusal[0] ? layout->refusal : NULL,
    };
    sh_gguf_parts(file->gguf, &info->parts);
    sh_gguf_keys(file->gguf, &info->n_metadata);
    for (uint64_t i = 0; i < layout->n; i++) {
        const uint64_t *dims = layout->tensors[i].dims;
        uint64_t n = dims[0] * dims[1] * dims[2] * dims[3];
        if (__builtin_add_overflow(info->parameters, n, &info->parameters)) info->parameters = UINT64_MAX;
    }
}

sh_status sh_file_tensor(const sh_file *file, uint64_t index, sh_tensor_info *info) {
    if (!file || !info) return sh_fail(SH_ERR_ARGUMENT, "sh_file_tensor needs a file and a place for the answer");
    if (index >= file->layout.n)
        return sh_fail(SH_ERR_ARGUMENT, "tensor %" PRIu64 " was asked for, but the file has %" PRIu64, index,
                       file->layout.n);
    const sh_tensor *t = &file->layout.tensors[index];
    *info = (sh_tensor_info){
        .name = t->name.data,
        .name_length = t->name.length,
        .format = t->format_name,
        .type = t->type,
        .n_dims = t->n_dims,
        .dims = {t->dims[0], t->dims[1], t->dims[2], t->dims[3]},
        .bytes = t->bytes,
        .offset = t->offset,
        .part = t->part,
    };
    return SH_OK;
}

sh_status sh_file_metadata(const sh_file *file, uint64_t index, char *key, size_t key_capacity, char *value,
                           size_t value_capacity) {
    uint64_t n;
    if (!file) return sh_fail(SH_ERR_ARGUMENT, "sh_file_metadata needs a file");
    const sh_gguf_key *keys = sh_gguf_keys(file->gguf, &n);
    if (index >= n)
        return sh_fail(SH_ERR_ARGUMENT, "metadata %" PRIu64 " was asked for, but the file has %" PRIu64, index, n);
    if (key) sh_gguf_name_text(keys[index].name, key, key_capacity);
    if (value) sh_gguf_value_text(&keys[index], value, value_capacity);
    return SH_OK;
}
