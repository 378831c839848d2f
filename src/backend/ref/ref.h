/* ref.h: the parts of the reference backend: plain C, float32 activations, no cleverness. It is the specification that
 * every other backend is held against.
 *
 * Weights are read from the file map and decoded row by row as they are used; `act` is float32. Every sum runs in an
 * order that depends on the row and its position alone: dot products in 16 lanes added by a fixed tree, keys of
 * attention in order. */
#ifndef SH_BACKEND_REF_REF_H
#define SH_BACKEND_REF_REF_H

#include "backend/backend.h"
#include "base/pool.h"

#include <pthread.h>

typedef struct sh_ref_device {
    sh_device base;
    pthread_mutex_t lock; /* held through a pass: passes of several sessions take turns on the workers */
    sh_pool *pool;
} sh_ref_device;

/* A page: [layer][keys, values][kv_head][position in page][head_dim] f32. */
struct sh_kv {
    sh_net net;
    float *data; /* [page][page_floats] */
    size_t page_floats;
    uint32_t pages;
};

struct sh_plan {
    const sh_oplist *list;
    sh_steps steps;
};

struct sh_scratch {
    float *memory;
    size_t *offsets;    /* [buffers] of the list, in floats */
    size_t work;        /* where the workers' own space begins */
    size_t work_floats; /* of one worker */
};

/* What a kernel sees of a pass. */
typedef struct sh_ref_pass {
    const sh_oplist *list;
    const sh_pass_input *in;
    sh_pass_output *out;
    sh_kv *kv;
    sh_scratch *scratch;
} sh_ref_pass;

/* One worker's place in a pass. */
typedef struct sh_ref_worker {
    uint32_t index, count;
    float *space; /* [scratch->work_floats] of its own */
} sh_ref_worker;

/* Runs a worker's share of one step. Steps are separated by barriers. */
void sh_ref_run(const sh_ref_pass *pass, const sh_op_step *step, const sh_ref_worker *worker);

/* Floats of its own that a worker needs. */
size_t sh_ref_work_floats(const sh_oplist *list, const sh_shape *shape);

/* Where the keys (which = 0) or values (1) of a head at a position lie: [head_dim]. Consecutive positions of one page
 * follow each other. */
float *sh_ref_kv_at(const sh_ref_pass *pass, uint32_t table, uint32_t layer, uint32_t which, uint32_t head,
                    uint32_t position);

#endif
