/* remake.c: writes a changed copy of a model file. See remake.h. */
#include "remake.h"

#include "support.h"

#include <dirent.h>
#include <unistd.h>

static char folder[512];
static char paths[64][640];
static size_t n_paths;

static void remove_folder(void) {
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (dir) closedir(dir);
    rmdir(folder);
}

const char *temporary_path(const char *name) {
    if (!folder[0]) {
        const char *parent = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/shohin-test-XXXXXX", parent && parent[0] ? parent : "/tmp");
        assert_non_null(mkdtemp(folder));
        atexit(remove_folder);
    }
    char *path = paths[n_paths++ % (sizeof paths / sizeof paths[0])];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

typedef struct copied {
    const sh_tensor *tensor;
    sh_format format;
    uint64_t dims[4];
    uint32_t n_dims;
    uint64_t elements, bytes;
} copied;

static void plan_tensor(const remake *r, const sh_tensor *tensor, copied *out) {
    *out = (copied){.tensor = tensor, .format = tensor->format, .n_dims = tensor->n_dims};
    memcpy(out->dims, tensor->dims, sizeof out->dims);
    if (r->format) out->format = r->format(tensor, r->user);
    if (r->shape) r->shape(tensor, out->dims, &out->n_dims, r->user);
    out->elements = out->dims[0] * out->dims[1] * out->dims[2] * out->dims[3];
    out->bytes = sh_format_bytes(out->format, out->elements);
}

static void write_tensor(const remake *r, const copied *c, sh_gguf_writer *w) {
    const sh_tensor *t = c->tensor;
    uint64_t had = t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3];
    float *values = calloc(had > c->elements ? had : c->elements, sizeof *values);
    uint8_t *bytes = malloc(c->bytes);
    assert_true(values && bytes);
    sh_format_decode(t->format, t->data, had, values);
    if (r->edit) r->edit(t, values, r->user);
    sh_format_encode(c->format, values, c->elements, bytes);
    assert_ok(sh_gguf_write_data(w, bytes, c->bytes));
    free(values);
    free(bytes);
}

const char *remake_model(const remake *r, const char *name) {
    char from[1024];
    rig_path(from, r->from);
    const char *to = temporary_path(name);
    sh_gguf *gguf = NULL;
    sh_layout layout;
    sh_gguf_writer *w = NULL;
    assert_ok(sh_gguf_open(from, &gguf));
    assert_ok(sh_layout_open(gguf, SH_Q2_AUTO, &layout));
    assert_ok(sh_gguf_writer_open(to, 32, &w));
    uint64_t n_keys;
    const sh_gguf_key *keys = sh_gguf_keys(gguf, &n_keys);
    for (uint64_t i = 0; i < n_keys; i++)
        if (!(r->key && r->key(&keys[i], w, r->user)) && !sh_view_is(keys[i].name, "general.alignment"))
            assert_ok(sh_gguf_put_key(w, &keys[i]));
    copied *plan = calloc(layout.n, sizeof *plan);
    uint64_t n = 0;
    for (uint64_t i = 0; i < layout.n; i++) {
        if (r->leave_out && r->leave_out(&layout.tensors[i], r->user)) continue;
        copied *c = &plan[n++];
        plan_tensor(r, &layout.tensors[i], c);
        char tensor_name[256];
        snprintf(tensor_name, sizeof tensor_name, "%.*s", SH_VIEW_ARG(c->tensor->name));
        assert_ok(
            sh_gguf_put_tensor(w, tensor_name, sh_format_get(c->format)->ggml_type, c->dims, c->n_dims, c->bytes));
    }
    for (uint64_t i = 0; i < n; i++) write_tensor(r, &plan[i], w);
    assert_ok(sh_gguf_writer_finish(w));
    sh_gguf_writer_close(w);
    free(plan);
    sh_layout_close(&layout);
    sh_gguf_close(gguf);
    return to;
}

sh_format mixed_format(const sh_tensor *tensor, void *user) {
    (void)user;
    static const sh_format formats[] = {SH_Q1_0, SH_PTQ1_0,   SH_Q8_0, SH_PQ2_0, SH_Q4_0,
                                        SH_F16,  SH_Q2_0_G64, SH_Q4_1, SH_BF16,  SH_F32};
    if (tensor->n_dims == 1) return SH_F32;
    /* Groups of 256 divide few rows of a small model: they get theirs by name. */
    if (sh_view_is(tensor->name, "blk.0.attn_output.weight")) return SH_TQ1_0;
    if (sh_view_is(tensor->name, "blk.1.attn_output.weight")) return SH_TQ2_0;
    if (sh_view_is(tensor->name, "blk.2.attn_output.weight")) return SH_Q6_K;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < tensor->name.length; i++) hash = (hash ^ (uint8_t)tensor->name.data[i]) * 16777619u;
    for (uint32_t i = 0;; i++) {
        sh_format format = formats[(hash + i) % (sizeof formats / sizeof formats[0])];
        if (tensor->dims[0] % sh_format_get(format)->group == 0) return format;
    }
}
