/* forward.c: the transformer, top to bottom, for every format, device and phase. See forward.h.
 *
 * Qwen3 (arXiv 2505.09388): pre-norm blocks; grouped-query attention whose queries and keys are normalized per head
 * before they are turned; SwiGLU. Nothing runs here: each line records an op, and the backend decides how the list is
 * carried out. */
#include "engine/forward.h"

typedef struct recorder {
    sh_oplist *list;
    sh_status status; /* the first failure; what follows it does nothing */
    uint32_t layer;
} recorder;

static sh_buf buffer(recorder *r, const char *name, sh_buf_type type, sh_buf_rows rows, uint32_t width) {
    sh_buf made = SH_BUF_NONE;
    if (r->status == SH_OK) r->status = sh_oplist_buffer(r->list, (sh_buffer){name, type, rows, width}, &made);
    return made;
}

static void record(recorder *r, sh_op_kind kind, const sh_weight *weight, sh_buf in0, sh_buf in1, sh_buf out) {
    sh_op op = {.kind = kind, .layer = r->layer, .in0 = in0, .in1 = in1, .out = out, .weight = weight};
    if (r->status == SH_OK) r->status = sh_oplist_add(r->list, op);
}

static void norm(recorder *r, const sh_weight *gain, sh_buf in, sh_buf out) {
    record(r, SH_OP_NORM, gain, in, SH_BUF_NONE, out);
}

/* Turns values into the form that products read. */
static void act(recorder *r, sh_buf in, sh_buf out) {
    record(r, SH_OP_ACT, NULL, in, SH_BUF_NONE, out);
}

static void product(recorder *r, const sh_weight *weight, sh_buf in, sh_buf out) {
    record(r, SH_OP_PRODUCT, weight, in, SH_BUF_NONE, out);
}

sh_status sh_forward_record(const sh_params *params, sh_oplist *list) {
    const sh_net *net = &list->net;
    uint32_t q_width = net->n_heads * net->head_dim, kv_width = net->n_kv_heads * net->head_dim;
    recorder recording = {.list = list, .status = SH_OK}, *r = &recording;

    sh_buf x = buffer(r, "x", SH_BUF_F32, SH_ROWS_ALL, net->hidden); /* the residual stream */
    sh_buf normed = buffer(r, "normed", SH_BUF_F32, SH_ROWS_ALL, net->hidden);
    sh_buf normed_act = buffer(r, "normed act", SH_BUF_ACT, SH_ROWS_ALL, net->hidden);
    sh_buf q = buffer(r, "q", SH_BUF_F32, SH_ROWS_ALL, q_width);
    sh_buf k = buffer(r, "k", SH_BUF_F32, SH_ROWS_ALL, kv_width);
    sh_buf v = buffer(r, "v", SH_BUF_F32, SH_ROWS_ALL, kv_width);
    sh_buf mixed = buffer(r, "mixed", SH_BUF_F32, SH_ROWS_ALL, q_width);
    sh_buf mixed_act = buffer(r, "mixed act", SH_BUF_ACT, SH_ROWS_ALL, q_width);
    sh_buf gate = buffer(r, "gate", SH_BUF_F32, SH_ROWS_ALL, net->ffn);
    sh_buf up = buffer(r, "up", SH_BUF_F32, SH_ROWS_ALL, net->ffn);
    sh_buf gated = buffer(r, "gated", SH_BUF_F32, SH_ROWS_ALL, net->ffn);
    sh_buf gated_act = buffer(r, "gated act", SH_BUF_ACT, SH_ROWS_ALL, net->ffn);
    sh_buf change = buffer(r, "change", SH_BUF_F32, SH_ROWS_ALL, net->hidden); /* to the residual stream */

    record(r, SH_OP_EMBED, &params->embedding, SH_BUF_NONE, SH_BUF_NONE, x);
    for (r->layer = 0; r->layer < net->n_layers; r->layer++) {
        const sh_layer_params *w = &params->layers[r->layer];

        norm(r, &w->attention_norm, x, normed);
        act(r, normed, normed_act);
        product(r, &w->q, normed_act, q);
        product(r, &w->k, normed_act, k);
        product(r, &w->v, normed_act, v);
        record(r, SH_OP_HEAD_NORM, &w->q_norm, q, SH_BUF_NONE, q);
        record(r, SH_OP_HEAD_NORM, &w->k_norm, k, SH_BUF_NONE, k);
        record(r, SH_OP_ROPE, NULL, q, SH_BUF_NONE, q);
        record(r, SH_OP_ROPE, NULL, k, SH_BUF_NONE, k);
        record(r, SH_OP_STORE, NULL, k, v, SH_BUF_NONE);
        record(r, SH_OP_ATTENTION, NULL, q, SH_BUF_NONE, mixed);
        act(r, mixed, mixed_act);
        product(r, &w->o, mixed_act, change);
        record(r, SH_OP_ADD, NULL, x, change, x);

        norm(r, &w->ffn_norm, x, normed);
        act(r, normed, normed_act);
        product(r, &w->gate, normed_act, gate);
        product(r, &w->up, normed_act, up);
        record(r, SH_OP_SWIGLU, NULL, gate, up, gated);
        act(r, gated, gated_act);
        product(r, &w->down, gated_act, change);
        record(r, SH_OP_ADD, NULL, x, change, x);
    }
    r->layer = net->n_layers - 1;

    /* The tail: only for rows that want something. */
    sh_buf last = buffer(r, "last", SH_BUF_F32, SH_ROWS_HEAD, net->hidden);
    sh_buf last_normed = buffer(r, "last normed", SH_BUF_F32, SH_ROWS_HEAD, net->hidden);
    sh_buf last_act = buffer(r, "last act", SH_BUF_ACT, SH_ROWS_HEAD, net->hidden);
    sh_buf logits = buffer(r, "logits", SH_BUF_F32, SH_ROWS_HEAD, net->vocabulary);
    if (r->status == SH_OK) r->status = sh_oplist_begin_tail(list, logits);
    record(r, SH_OP_SELECT, NULL, x, SH_BUF_NONE, last);
    norm(r, &params->output_norm, last, last_normed);
    act(r, last_normed, last_act);
    product(r, params->head, last_act, logits);
    record(r, SH_OP_ARGMAX, NULL, logits, SH_BUF_NONE, SH_BUF_NONE);
    return r->status;
}
