/* backend.h: the seam between the engine and a device: one vtable.
 *
 * The engine owns what a pass means (rows, positions, page lists, what comes back); a backend owns how it runs: the
 * packed form of weights, the storage of KV pages, working buffers, kernels. The engine never asks which backend it
 * has.
 *
 * What every backend promises (docs/TOUR.md, "the contract"): a row's results are a function of its own tokens and
 * positions, bit for bit; never of the other rows of the pass, of how the sequence was fed before, of page numbers, or
 * of the number of threads. */
#ifndef SH_BACKEND_BACKEND_H
#define SH_BACKEND_BACKEND_H

#include "backend/oplist.h"

#include <stdatomic.h>

enum { SH_PAGE_POSITIONS = 64 }; /* of a KV page: also one step of an online softmax, so it is fixed */

typedef struct sh_backend sh_backend;

/* Each backend's structs begin with these or are its own altogether; the engine only passes them on. */
typedef struct sh_device {
    const sh_backend *backend;
    uint32_t threads; /* of the host that it uses */
} sh_device;
typedef struct sh_kv sh_kv;           /* KV pages of one session */
typedef struct sh_plan sh_plan;       /* a compiled op list */
typedef struct sh_scratch sh_scratch; /* working buffers of one session */

typedef struct sh_device_options {
    uint32_t threads;     /* 0: the backend's choice */
    const char *argument; /* what stands behind a colon in --device: "1" of "cuda:1"; NULL if nothing does */
} sh_device_options;

typedef struct sh_kv_options {
    const sh_net *net;
    uint32_t pages;
} sh_kv_options;

/* What working buffers must be large enough for. */
typedef struct sh_shape {
    uint32_t rows, head_rows; /* of a pass */
    uint32_t context;         /* positions of a sequence */
} sh_shape;

/* One pass. All arrays are the engine's and stay until the pass was waited for. */
typedef struct sh_pass_input {
    uint32_t n_rows, n_head;
    const int32_t *tokens;       /* [n_rows] */
    const uint32_t *positions;   /* [n_rows] */
    const uint32_t *tables;      /* [n_rows] which page table a row uses */
    const uint32_t *head_rows;   /* [n_head] rows that want something, ascending */
    const uint8_t *head_wants;   /* [n_head] SH_WANT_ flags */
    const float *angles;         /* [n_rows][head_dim / 2][2] cosine, sine: model/rope.h */
    uint32_t n_tables;           /* sequences in the pass */
    uint32_t table_stride;       /* entries of a page table */
    const uint32_t *page_tables; /* [n_tables][table_stride] page numbers */
    const atomic_bool *cancel;   /* when it turns true the pass may end early with SH_ERR_CANCELLED */
} sh_pass_input;

/* Filled by `wait`. What the pointers lead to belongs to scratch, and stays until its next submission. */
typedef struct sh_pass_output {
    const float **logits;                          /* [n_head] each [vocabulary]; NULL where not wanted */
    int32_t *argmax;                               /* [n_head] -1 where not wanted or every logit is NaN */
    uint64_t bytes_up, bytes_up_pages, bytes_down; /* what crossed to the device and back */
} sh_pass_output;

typedef struct sh_submission {
    sh_plan *plan;
    sh_kv *kv;
    sh_scratch *scratch;
    sh_pass_input input;
    sh_pass_output output;
} sh_submission;

struct sh_backend {
    const char *name; /* as --device has it */

    /* Whether this machine has such a device: "auto" takes the first that is there. */
    bool (*available)(void);

    /* Several threads may call on one device; calls on one kv, plan or scratch come from one at a time. */
    sh_status (*open)(const sh_device_options *options, sh_device **out);
    void (*close)(sh_device *device);

    /* Bytes that weights and pages may still take. */
    uint64_t (*free_memory)(sh_device *device);

    /* Packs a weight (weight->packed), or leaves it to be read in the file map. `uses` says what for: sh_oplist_uses. */
    sh_status (*weight_open)(sh_device *device, sh_weight *weight, uint32_t uses);
    void (*weight_close)(sh_device *device, sh_weight *weight);

    /* Storage for pages of all layers. A page reads as zeros until stored to, and again after kv_release. Memory is
     * committed as pages are first stored to. Behind the position of a row its page may hold anything, NaN too: what a
     * rolled-back, forked or failed pass left there, or a later row of the same pass. It must not reach the row, not
     * even as 0 * NaN. */
    size_t (*kv_page_bytes)(const sh_device *device, const sh_kv_options *options);
    sh_status (*kv_open)(sh_device *device, const sh_kv_options *options, sh_kv **out);
    void (*kv_close)(sh_device *device, sh_kv *kv);
    /* The first `positions` positions of a page to another. */
    sh_status (*kv_copy)(sh_device *device, sh_kv *kv, uint32_t to, uint32_t from, uint32_t positions);
    void (*kv_release)(sh_device *device, sh_kv *kv, uint32_t page);

    /* Compiles the list, which outlives the plan; merged steps only if `merge`. */
    sh_status (*plan_open)(sh_device *device, const sh_oplist *list, bool merge, sh_plan **out);
    void (*plan_close)(sh_device *device, sh_plan *plan);

    /* What a backend compiles for a shape of pass is of (plan, scratch, kv), and goes with the first of them that goes. */
    sh_status (*scratch_open)(sh_device *device, const sh_plan *plan, const sh_shape *shape, sh_scratch **out);
    void (*scratch_close)(sh_device *device, sh_scratch *scratch);

    /* Hands over the whole pass; then waits for it and fetches the results. When either fails, nothing of the pass
     * still runs, and device and pages are usable: what the pass stored lies at positions that no sequence has. */
    sh_status (*submit)(sh_device *device, sh_submission *submission);
    sh_status (*wait)(sh_device *device, sh_submission *submission);
};

/* The backends of this build, the preferred first; NULL past the last. */
const sh_backend *sh_backend_get(size_t index);
/* The first that this machine has; `ref` is always there. */
const sh_backend *sh_backend_first(void);
/* By the name in front of a colon: "cuda:1" is "cuda". NULL if there is none of that name. */
const sh_backend *sh_backend_find(const char *name);

extern const sh_backend sh_backend_ref;

#endif
