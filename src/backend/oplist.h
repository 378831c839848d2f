/* oplist.h: a forward pass as a list of op descriptors over named buffers, and its merging rules.
 *
 * The engine records the list once; how many rows a pass has is not in it. A backend compiles it into steps: one op
 * each, or neighbours that it has a merged kernel for. A step names the ops it covers, so that a merged kernel finds
 * its operands where the plain ones do. Recording checks every dimension; nothing is submitted from a list that does
 * not fit together. */
#ifndef SH_BACKEND_OPLIST_H
#define SH_BACKEND_OPLIST_H

#include "format/weight.h"

/* The numbers of the network that ops need. */
typedef struct sh_net {
    uint32_t n_layers, hidden, ffn, n_heads, n_kv_heads, head_dim, vocabulary;
    float norm_epsilon;
} sh_net;

typedef uint16_t sh_buf; /* an index into a list's buffers */
#define SH_BUF_NONE ((sh_buf)UINT16_MAX)

typedef enum sh_buf_type {
    SH_BUF_F32,
    SH_BUF_ACT, /* what products read: the backend's own form of `width` values */
} sh_buf_type;

typedef enum sh_buf_rows {
    SH_ROWS_ALL,  /* one for each row of the pass */
    SH_ROWS_HEAD, /* one for each row that wants something */
} sh_buf_rows;

typedef struct sh_buffer {
    const char *name;
    sh_buf_type type;
    sh_buf_rows rows;
    uint32_t width; /* values of a row */
} sh_buffer;

/* Shapes are of one row; every op works on all rows of its buffers. */
typedef enum sh_op_kind {
    SH_OP_EMBED,     /* out f32 [hidden]: row `token` of weight [vocabulary][hidden] */
    SH_OP_NORM,      /* out f32 [n] = in0 / sqrt(mean(in0^2) + epsilon) * weight [n]: RMSNorm, arXiv 1910.07467 */
    SH_OP_ACT,       /* out act [n] = in0 f32 [n] */
    SH_OP_PRODUCT,   /* out f32 [m] = weight [m][n] in0 act [n] */
    SH_OP_HEAD_NORM, /* in place: RMSNorm of each head of in0 f32 [heads][head_dim] with weight [head_dim] */
    SH_OP_ROPE,      /* in place: each head of in0 f32 [heads][head_dim] turned by the row's angles */
    SH_OP_STORE,     /* in0, in1 f32 [kv_heads][head_dim]: keys and values of `layer` at the row's position */
    SH_OP_ATTENTION, /* out f32 [heads][head_dim]: queries in0 over the keys and values of `layer` up to its position */
    SH_OP_SWIGLU,    /* out f32 [n] = in0 / (1 + exp(-in0)) * in1: arXiv 2002.05202 */
    SH_OP_ADD,       /* out f32 [n] = in0 + in1 */
    SH_OP_SELECT,    /* out f32 [n], head rows: in0 of the rows that want something */
    SH_OP_ARGMAX,    /* the results of head rows: the index of the largest of in0 f32 [vocabulary], where wanted */
    SH_OPS,
} sh_op_kind;

typedef struct sh_op {
    sh_op_kind kind;
    uint32_t layer;
    sh_buf in0, in1, out; /* SH_BUF_NONE where there is none */
    const sh_weight *weight;
} sh_op;

typedef struct sh_oplist {
    sh_net net;
    sh_buffer *buffers;
    uint32_t n_buffers, buffer_capacity;
    sh_op *ops;
    uint32_t n_ops, op_capacity;
    uint32_t tail; /* the first op that only head rows need; n_ops while not marked */
    sh_buf logits; /* f32 [vocabulary], head rows */
    bool marked;
} sh_oplist;

void sh_oplist_init(sh_oplist *list, const sh_net *net);
void sh_oplist_close(sh_oplist *list);

sh_status sh_oplist_buffer(sh_oplist *list, sh_buffer buffer, sh_buf *out);
/* Checks the op's operands against each other; an error names the op, its layer, the weight and both numbers. */
sh_status sh_oplist_add(sh_oplist *list, sh_op op);
/* Ops added from here on run only in passes with head rows; `logits` holds their result. */
sh_status sh_oplist_begin_tail(sh_oplist *list, sh_buf logits);
/* What the list does with a weight: bit 1 << kind for each kind of op. A tied embedding has two. */
uint32_t sh_oplist_uses(const sh_oplist *list, const sh_weight *weight);

const char *sh_op_name(sh_op_kind kind);

/* ---- steps ----------------------------------------------------------------------------------------------- */

typedef enum sh_merge {
    SH_MERGE_NONE,          /* one op, as it stands */
    SH_MERGE_NORM_ACT,      /* norm, act */
    SH_MERGE_QK_STORE,      /* head norm of q and of k, rope of both, store */
    SH_MERGE_ATTENTION_ACT, /* attention, act */
    SH_MERGE_PRODUCT_ADD,   /* product, add */
    SH_MERGE_GATED,         /* product, product, swiglu, act */
    SH_MERGES,
} sh_merge;

const char *sh_merge_name(sh_merge merge);

typedef struct sh_op_step {
    sh_merge merge;
    uint32_t first, n; /* ops [first, first + n) of the list */
} sh_op_step;

typedef struct sh_steps {
    sh_op_step *steps;
    uint32_t n;
    uint32_t tail; /* the first step of the tail */
} sh_steps;

/* Covers the list with steps. `merges` has bit 1 << m for each merge that may be used. A merge is made only if what it
 * no longer writes to memory is read by none but itself. */
sh_status sh_steps_compile(const sh_oplist *list, uint32_t merges, sh_steps *out);
void sh_steps_close(sh_steps *steps);

#endif
