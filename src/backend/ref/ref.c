/* ref.c: the reference backend: device, pages, working buffers and the walk over the op list. See ref.h. */
#include "backend/ref/ref.h"

#include "base/cores.h"
#include "base/memory.h"

#include <string.h>

static sh_status ref_open(const sh_device_options *options, sh_device **out) {
    *out = NULL;
    if (options->argument)
        return sh_fail(SH_ERR_ARGUMENT, "device 'ref:%s': there is only one 'ref', without a number",
                       options->argument);
    sh_ref_device *device = sh_alloc(1, sizeof *device);
    if (!device) return sh_fail(SH_ERR_MEMORY, "out of memory for the device 'ref'");
    uint32_t threads = options->threads ? options->threads : sh_cores_allowed();
    sh_status status = sh_pool_open(threads, &device->pool);
    if (status != SH_OK) {
        sh_free(device);
        return status;
    }
    pthread_mutex_init(&device->lock, NULL);
    device->base = (sh_device){.backend = &sh_backend_ref, .threads = threads};
    *out = &device->base;
    return SH_OK;
}

static void ref_close(sh_device *base) {
    sh_ref_device *device = (sh_ref_device *)base;
    if (!device) return;
    sh_pool_close(device->pool);
    pthread_mutex_destroy(&device->lock);
    sh_free(device);
}

static bool ref_available(void) {
    return true;
}

static uint64_t ref_free_memory(sh_device *device) {
    (void)device;
    return sh_free_memory();
}

static sh_status ref_weight_open(sh_device *device, sh_weight *weight, uint32_t uses) {
    (void)device, (void)uses;
    weight->packed = NULL; /* read in the map */
    return SH_OK;
}

static void ref_weight_close(sh_device *device, sh_weight *weight) {
    (void)device, (void)weight;
}

/* ---- KV pages -------------------------------------------------------------------------------------------- */

static size_t page_floats(const sh_net *net) {
    return (size_t)net->n_layers * 2 * net->n_kv_heads * SH_PAGE_POSITIONS * net->head_dim;
}

static size_t ref_kv_page_bytes(const sh_device *device, const sh_kv_options *options) {
    (void)device;
    return page_floats(options->net) * sizeof(float);
}

static sh_status ref_kv_open(sh_device *device, const sh_kv_options *options, sh_kv **out) {
    (void)device;
    *out = NULL;
    const sh_net *net = options->net;
    uint32_t pages = options->pages;
    size_t bytes;
    if (__builtin_mul_overflow(page_floats(net) * sizeof(float), (size_t)pages, &bytes))
        return sh_fail(SH_ERR_MEMORY, "%u KV pages of %zu bytes are more than this machine can address", pages,
                       page_floats(net) * sizeof(float));
    sh_kv *kv = sh_alloc(1, sizeof *kv);
    if (kv) *kv = (sh_kv){.net = *net, .data = sh_reserve(bytes), .page_floats = page_floats(net), .pages = pages};
    if (!kv || !kv->data) {
        sh_free(kv);
        return sh_fail(SH_ERR_MEMORY, "cannot reserve %zu bytes for %u KV pages; ask for a smaller context (-c)", bytes,
                       pages);
    }
    *out = kv;
    return SH_OK;
}

static void ref_kv_close(sh_device *device, sh_kv *kv) {
    (void)device;
    if (!kv) return;
    sh_unreserve(kv->data, kv->page_floats * sizeof(float) * kv->pages);
    sh_free(kv);
}

static sh_status ref_kv_copy(sh_device *device, sh_kv *kv, uint32_t to, uint32_t from, uint32_t positions) {
    (void)device;
    size_t run = (size_t)SH_PAGE_POSITIONS * kv->net.head_dim; /* positions of one head in a page */
    for (size_t at = 0; at < kv->page_floats; at += run)
        memcpy(kv->data + to * kv->page_floats + at, kv->data + from * kv->page_floats + at,
               (size_t)positions * kv->net.head_dim * sizeof(float));
    return SH_OK;
}

static void ref_kv_release(sh_device *device, sh_kv *kv, uint32_t page) {
    (void)device;
    sh_reserve_reset(kv->data + page * kv->page_floats, kv->page_floats * sizeof(float));
}

/* ---- plan and working buffers ---------------------------------------------------------------------------- */

static void ref_plan_close(sh_device *device, sh_plan *plan) {
    (void)device;
    if (!plan) return;
    sh_steps_close(&plan->steps);
    sh_free(plan);
}

static sh_status ref_plan_open(sh_device *device, const sh_oplist *list, bool merge, sh_plan **out) {
    *out = NULL;
    sh_plan *plan = sh_alloc(1, sizeof *plan);
    if (!plan) return sh_fail(SH_ERR_MEMORY, "out of memory for a plan of %u ops", list->n_ops);
    plan->list = list;
    sh_status status = sh_steps_compile(list, merge ? (1u << SH_MERGES) - 1 : 0, &plan->steps);
    if (status != SH_OK) {
        ref_plan_close(device, plan);
        return status;
    }
    *out = plan;
    return SH_OK;
}

static void ref_scratch_close(sh_device *device, sh_scratch *scratch) {
    (void)device;
    if (!scratch) return;
    sh_free(scratch->memory);
    sh_free(scratch->offsets);
    sh_free(scratch);
}

static sh_status ref_scratch_open(sh_device *device, const sh_plan *plan, const sh_shape *shape, sh_scratch **out) {
    *out = NULL;
    const sh_oplist *list = plan->list;
    size_t floats = 0;
    sh_scratch *scratch = sh_alloc(1, sizeof *scratch);
    if (!scratch) goto no_memory;
    scratch->offsets = sh_alloc(list->n_buffers, sizeof *scratch->offsets);
    if (!scratch->offsets) goto no_memory;
    for (uint32_t i = 0; i < list->n_buffers; i++) {
        const sh_buffer *buffer = &list->buffers[i];
        scratch->offsets[i] = floats;
        size_t rows = buffer->rows == SH_ROWS_HEAD ? shape->head_rows : shape->rows;
        floats += (rows * buffer->width + 15) / 16 * 16;
    }
    scratch->work = floats;
    scratch->work_floats = (sh_ref_work_floats(list, shape) + 15) / 16 * 16;
    floats += scratch->work_floats * device->threads;
    scratch->memory = sh_alloc_aligned(floats * sizeof(float));
    if (!scratch->memory) goto no_memory;
    *out = scratch;
    return SH_OK;
no_memory:
    ref_scratch_close(device, scratch);
    return sh_fail(SH_ERR_MEMORY,
                   "out of memory: a pass of %u rows, %u of them with results, needs %zu bytes of working buffers; use "
                   "fewer rows a pass (-b)",
                   shape->rows, shape->head_rows, floats * sizeof(float));
}

/* ---- a pass ---------------------------------------------------------------------------------------------- */

typedef struct job {
    sh_ref_pass pass;
    const sh_steps *steps;
    uint32_t n_steps;
    sh_pool *pool;
    atomic_uint stop_after; /* the step after which all stop, set by worker 0 during that step; UINT_MAX while none */
} job;

static void walk(void *argument, uint32_t index, uint32_t count) {
    job *j = argument;
    const sh_scratch *scratch = j->pass.scratch;
    const atomic_bool *cancel = j->pass.in->cancel;
    sh_ref_worker worker = {index, count, scratch->memory + scratch->work + index * scratch->work_floats};
    for (uint32_t i = 0; i < j->n_steps; i++) {
        sh_ref_run(&j->pass, &j->steps->steps[i], &worker);
        if (index == 0 && cancel && atomic_load_explicit(cancel, memory_order_relaxed)) atomic_store(&j->stop_after, i);
        sh_pool_barrier(j->pool);
        if (atomic_load(&j->stop_after) == i) return;
    }
}

static uint32_t count_wants(const sh_pass_input *in, uint8_t want) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < in->n_head; i++) n += (in->head_wants[i] & want) != 0;
    return n;
}

static sh_status ref_submit(sh_device *base, sh_submission *s) {
    sh_ref_device *device = (sh_ref_device *)base;
    const sh_pass_input *in = &s->input;
    const sh_steps *steps = &s->plan->steps;
    job j = {
        .pass = {.list = s->plan->list, .in = in, .out = &s->output, .kv = s->kv, .scratch = s->scratch},
        .steps = steps,
        .n_steps = in->n_head ? steps->n : steps->tail,
        .pool = device->pool,
        .stop_after = UINT32_MAX,
    };
    pthread_mutex_lock(&device->lock);
    sh_pool_run(device->pool, walk, &j);
    pthread_mutex_unlock(&device->lock);
    /* Everything is in the host's memory; these are the bytes that the pass read as its input. */
    size_t row = 3 * sizeof(uint32_t) + s->plan->list->net.head_dim * sizeof(float);
    s->output.bytes_up = in->n_rows * row + in->n_head * (sizeof(uint32_t) + 1);
    s->output.bytes_up_pages = (uint64_t)in->n_tables * in->table_stride * sizeof(uint32_t);
    if (atomic_load(&j.stop_after) != UINT32_MAX && atomic_load(&j.stop_after) + 1 < j.n_steps)
        return sh_fail(SH_ERR_CANCELLED, "the pass was cancelled");
    return SH_OK;
}

static sh_status ref_wait(sh_device *device, sh_submission *s) {
    (void)device; /* the pass has ended, and its logits lie in the working buffers */
    const sh_pass_input *in = &s->input;
    size_t vocabulary = s->plan->list->net.vocabulary;
    const float *logits = s->scratch->memory + s->scratch->offsets[s->plan->list->logits];
    for (uint32_t r = 0; r < in->n_head; r++)
        s->output.logits[r] = in->head_wants[r] & SH_WANT_LOGITS ? logits + r * vocabulary : NULL;
    s->output.bytes_down = count_wants(in, SH_WANT_LOGITS) * vocabulary * sizeof(float) +
                           count_wants(in, SH_WANT_ARGMAX) * sizeof(int32_t);
    return SH_OK;
}

const sh_backend sh_backend_ref = {
    .name = "ref",
    .available = ref_available,
    .free_memory = ref_free_memory,
    .open = ref_open,
    .close = ref_close,
    .weight_open = ref_weight_open,
    .weight_close = ref_weight_close,
    .kv_page_bytes = ref_kv_page_bytes,
    .kv_open = ref_kv_open,
    .kv_close = ref_kv_close,
    .kv_copy = ref_kv_copy,
    .kv_release = ref_kv_release,
    .plan_open = ref_plan_open,
    .plan_close = ref_plan_close,
    .scratch_open = ref_scratch_open,
    .scratch_close = ref_scratch_close,
    .submit = ref_submit,
    .wait = ref_wait,
};
