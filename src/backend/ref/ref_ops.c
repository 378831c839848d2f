/* ref_ops.c: the ops of the reference backend, and its merged steps. See ref.h.
 *
 * A plain op writes its whole result for all rows. A merged step computes the same values with the same functions, but
 * keeps what lies between them to itself: equal bits, fewer passes over memory. */
#include "backend/ref/ref.h"

#include "base/math.h"

#include <math.h>
#include <string.h>

/* ---- one row --------------------------------------------------------------------------------------------- */

static float dot(const float *a, const float *b, size_t n) {
    float lanes[16] = {0};
    size_t whole = n / 16 * 16;
    for (size_t i = 0; i < whole; i += 16)
        for (size_t j = 0; j < 16; j++) lanes[j] += a[i + j] * b[i + j];
    for (size_t j = 0; whole + j < n; j++) lanes[j] += a[whole + j] * b[whole + j];
    return sh_sum16(lanes);
}

/* out may be x. */
static void norm_row(const float *x, const float *gain, size_t n, float epsilon, float *out) {
    float scale = 1.0f / sqrtf(dot(x, x, n) / (float)n + epsilon);
    for (size_t i = 0; i < n; i++) out[i] = x[i] * scale * gain[i];
}

/* x [heads][head_dim], angles [head_dim / 2][2]. Pair i is dimensions i and i + head_dim / 2. */
static void rope_row(float *x, const float *angles, uint32_t heads, uint32_t head_dim) {
    uint32_t pairs = head_dim / 2;
    for (uint32_t h = 0; h < heads; h++, x += head_dim)
        for (uint32_t i = 0; i < pairs; i++) {
            float c = angles[2 * i], s = angles[2 * i + 1], a = x[i], b = x[i + pairs];
            x[i] = a * c - b * s;
            x[i + pairs] = b * c + a * s;
        }
}

static float swiglu(float gate, float up) {
    return gate / (1.0f + sh_exp_f32(-gate)) * up;
}

static int32_t argmax_row(const float *x, uint32_t n) {
    int32_t best = -1;
    for (uint32_t i = 0; i < n; i++)
        if (best < 0 ? !isnan(x[i]) : x[i] > x[best]) best = (int32_t)i;
    return best;
}

static void decode_row(const sh_weight *w, uint32_t row, float *x) {
    sh_format_decode(w->format, w->bytes + (size_t)row * sh_format_bytes(w->format, w->cols), w->cols, x);
}

/* ---- where things are ------------------------------------------------------------------------------------ */

static float *row_of(const sh_ref_pass *pass, sh_buf buffer, size_t row) {
    const sh_scratch *s = pass->scratch;
    return s->memory + s->offsets[buffer] + row * pass->list->buffers[buffer].width;
}

static uint32_t rows_of(const sh_ref_pass *pass, sh_buf buffer) {
    return pass->list->buffers[buffer].rows == SH_ROWS_HEAD ? pass->in->n_head : pass->in->n_rows;
}

static uint32_t width_of(const sh_ref_pass *pass, sh_buf buffer) {
    return pass->list->buffers[buffer].width;
}

float *sh_ref_kv_at(const sh_ref_pass *pass, uint32_t table, uint32_t layer, uint32_t which, uint32_t head,
                    uint32_t position) {
    const sh_net *net = &pass->kv->net;
    uint32_t page = pass->in->page_tables[(size_t)table * pass->in->table_stride + position / SH_PAGE_POSITIONS];
    size_t place =
        (((size_t)layer * 2 + which) * net->n_kv_heads + head) * SH_PAGE_POSITIONS + position % SH_PAGE_POSITIONS;
    return pass->kv->data + page * pass->kv->page_floats + place * net->head_dim;
}

/* A worker's space: two decoded rows of a weight or the scores of one query. */
size_t sh_ref_work_floats(const sh_oplist *list, const sh_shape *shape) {
    size_t widest = shape->context;
    for (uint32_t i = 0; i < list->n_ops; i++)
        if (list->ops[i].weight && 2 * (size_t)list->ops[i].weight->cols > widest)
            widest = 2 * (size_t)list->ops[i].weight->cols;
    return widest;
}

static const float *angles_of(const sh_ref_pass *pass, size_t row) {
    return pass->in->angles + row * pass->list->net.head_dim;
}

/* ---- ops: the share of one worker ------------------------------------------------------------------------ */

typedef struct share {
    size_t begin, end;
} share;

static share share_of(size_t n, const sh_ref_worker *worker) {
    share s;
    sh_pool_share(n, worker->index, worker->count, &s.begin, &s.end);
    return s;
}

static void run_embed(const sh_ref_pass *pass, const sh_op *op, const sh_ref_worker *worker) {
    share s = share_of(pass->in->n_rows, worker);
    for (size_t r = s.begin; r < s.end; r++)
        decode_row(op->weight, (uint32_t)pass->in->tokens[r], row_of(pass, op->out, r));
}

/* Rows [begin, end) normalized into `out`, whose rows are as wide. */
static void norm_rows(const sh_ref_pass *pass, const sh_op *op, share s, sh_buf out, const sh_ref_worker *worker) {
    uint32_t n = width_of(pass, op->in0);
    decode_row(op->weight, 0, worker->space);
    for (size_t r = s.begin; r < s.end; r++)
        norm_row(row_of(pass, op->in0, r), worker->space, n, pass->list->net.norm_epsilon, row_of(pass, out, r));
}

static void copy_rows(const sh_ref_pass *pass, const sh_op *op, const sh_ref_worker *worker) {
    share s = share_of(rows_of(pass, op->out), worker);
    for (size_t r = s.begin; r < s.end; r++)
        memcpy(row_of(pass, op->out, r), row_of(pass, op->in0, r), width_of(pass, op->in0) * sizeof(float));
}

static void run_product(const sh_ref_pass *pass, const sh_op *op, const sh_ref_worker *worker) {
    share s = share_of(op->weight->rows, worker);
    uint32_t rows = rows_of(pass, op->in0), n = op->weight->cols;
    for (size_t o = s.begin; o < s.end; o++) {
        decode_row(op->weight, (uint32_t)o, worker->space);
        for (uint32_t r = 0; r < rows; r++)
            row_of(pass, op->out, r)[o] = dot(row_of(pass, op->in0, r), worker->space, n);
    }
}

static void head_norm_row(const sh_ref_pass *pass, sh_buf buffer, const float *gain, size_t row) {
    const sh_net *net = &pass->list->net;
    float *x = row_of(pass, buffer, row);
    for (uint32_t at = 0; at < width_of(pass, buffer); at += net->head_dim)
        norm_row(x + at, gain, net->head_dim, net->norm_epsilon, x + at);
}

static void run_head_norm(const sh_ref_pass *pass, const sh_op *op, const sh_ref_worker *worker) {
    share s = share_of(pass->in->n_rows, worker);
    decode_row(op->weight, 0, worker->space);
    for (size_t r = s.begin; r < s.end; r++) head_norm_row(pass, op->in0, worker->space, r);
}

static void run_rope(const sh_ref_pass *pass, const sh_op *op, const sh_ref_worker *worker) {
    share s = share_of(pass->in->n_rows, worker);
    uint32_t head_dim = pass->list->net.head_dim;
    for (size_t r = s.begin; r < s.end; r++)
        rope_row(row_of(pass, op->in0, r), angles_of(pass, r), width_of(pass, op->in0) / head_dim, head_dim);
}

/* k and v [kv_heads][head_dim] to the row's position in the pages of its sequence. */
static void store_row(const sh_ref_pass *pass, uint32_t layer, const float *k, const float *v, size_t row) {
    const sh_net *net = &pass->list->net;
    uint32_t table = pass->in->tables[row], position = pass->in->positions[row];
    for (uint32_t h = 0; h < net->n_kv_heads; h++) {
        memcpy(sh_ref_kv_at(pass, table, layer, 0, h, position), k + h * net->head_dim, net->head_dim * sizeof(float));
        memcpy(sh_ref_kv_at(pass, table, layer, 1, h, position), v + h * net->head_dim, net->head_dim * sizeof(float));
    }
}

static void run_store(const sh_ref_pass *pass, const sh_op *op, const sh_ref_worker *worker) {
    share s = share_of(pass->in->n_rows, worker);
    for (size_t r = s.begin; r < s.end; r++)
        store_row(pass, op->layer, row_of(pass, op->in0, r), row_of(pass, op->in1, r), r);
}

/* softmax(q K / sqrt(head_dim)) V of one head of one row. scores: [position + 1] of space; out: [head_dim]. */
static void attend(const sh_ref_pass *pass, const sh_op *op, size_t row, uint32_t head, float *scores, float *out) {
    const sh_net *net = &pass->list->net;
    uint32_t kv_head = head / (net->n_heads / net->n_kv_heads), table = pass->in->tables[row];
    uint32_t n = pass->in->positions[row] + 1, dim = net->head_dim;
    const float *q = row_of(pass, op->in0, row) + (size_t)head * dim;
    float scale = 1.0f / sqrtf((float)dim), largest = -INFINITY, lanes[16] = {0};
    for (uint32_t t = 0; t < n; t++) {
        scores[t] = dot(q, sh_ref_kv_at(pass, table, op->layer, 0, kv_head, t), dim) * scale;
        if (scores[t] > largest) largest = scores[t];
    }
    for (uint32_t t = 0; t < n; t++) {
        scores[t] = sh_exp_f32(scores[t] - largest);
        lanes[t % 16] += scores[t];
    }
    float sum = sh_sum16(lanes);
    memset(out, 0, dim * sizeof *out);
    for (uint32_t t = 0; t < n; t++) {
        const float *v = sh_ref_kv_at(pass, table, op->layer, 1, kv_head, t);
        for (uint32_t d = 0; d < dim; d++) out[d] += scores[t] * v[d];
    }
    for (uint32_t d = 0; d < dim; d++) out[d] /= sum;
}

static void attend_rows(const sh_ref_pass *pass, const sh_op *op, sh_buf out, const sh_ref_worker *worker) {
    const sh_net *net = &pass->list->net;
    share s = share_of((size_t)pass->in->n_rows * net->n_heads, worker);
    for (size_t i = s.begin; i < s.end; i++) {
        size_t row = i / net->n_heads;
        uint32_t head = (uint32_t)(i % net->n_heads);
        attend(pass, op, row, head, worker->space, row_of(pass, out, row) + (size_t)head * net->head_dim);
    }
}

static void run_swiglu(const sh_ref_pass *pass, const sh_op *op, const sh_ref_worker *worker) {
    uint32_t n = width_of(pass, op->out);
    share s = share_of(rows_of(pass, op->out), worker);
    for (size_t r = s.begin; r < s.end; r++) {
        const float *gate = row_of(pass, op->in0, r), *up = row_of(pass, op->in1, r);
        float *out = row_of(pass, op->out, r);
        for (uint32_t i = 0; i < n; i++) out[i] = swiglu(gate[i], up[i]);
    }
}

static void run_add(const sh_ref_pass *pass, const sh_op *op, const sh_ref_worker *worker) {
    uint32_t n = width_of(pass, op->out);
    share s = share_of(rows_of(pass, op->out), worker);
    for (size_t r = s.begin; r < s.end; r++) {
        const float *a = row_of(pass, op->in0, r), *b = row_of(pass, op->in1, r);
        float *out = row_of(pass, op->out, r);
        for (uint32_t i = 0; i < n; i++) out[i] = a[i] + b[i];
    }
}

static void run_select(const sh_ref_pass *pass, const sh_op *op, const sh_ref_worker *worker) {
    share s = share_of(pass->in->n_head, worker);
    for (size_t r = s.begin; r < s.end; r++)
        memcpy(row_of(pass, op->out, r), row_of(pass, op->in0, pass->in->head_rows[r]),
               width_of(pass, op->out) * sizeof(float));
}

static void run_argmax(const sh_ref_pass *pass, const sh_op *op, const sh_ref_worker *worker) {
    share s = share_of(pass->in->n_head, worker);
    for (size_t r = s.begin; r < s.end; r++) {
        bool wanted = pass->in->head_wants[r] & SH_WANT_ARGMAX;
        pass->out->argmax[r] = wanted ? argmax_row(row_of(pass, op->in0, r), width_of(pass, op->in0)) : -1;
    }
}

/* ---- merged steps ---------------------------------------------------------------------------------------- */

static void run_norm_act(const sh_ref_pass *pass, const sh_op *ops, const sh_ref_worker *worker) {
    norm_rows(pass, &ops[0], share_of(rows_of(pass, ops[0].in0), worker), ops[1].out, worker);
}

static void run_qk_store(const sh_ref_pass *pass, const sh_op *ops, const sh_ref_worker *worker) {
    const sh_net *net = &pass->list->net;
    const sh_op *q = &ops[0], *k = &ops[1], *store = &ops[4];
    share s = share_of(pass->in->n_rows, worker);
    float *q_gain = worker->space, *k_gain = worker->space + net->head_dim;
    decode_row(q->weight, 0, q_gain);
    decode_row(k->weight, 0, k_gain);
    for (size_t r = s.begin; r < s.end; r++) {
        head_norm_row(pass, q->in0, q_gain, r);
        head_norm_row(pass, k->in0, k_gain, r);
        rope_row(row_of(pass, q->in0, r), angles_of(pass, r), net->n_heads, net->head_dim);
        rope_row(row_of(pass, k->in0, r), angles_of(pass, r), net->n_kv_heads, net->head_dim);
        store_row(pass, store->layer, row_of(pass, k->in0, r), row_of(pass, store->in1, r), r);
    }
}

static void run_product_add(const sh_ref_pass *pass, const sh_op *ops, const sh_ref_worker *worker) {
    const sh_op *product = &ops[0], *add = &ops[1];
    sh_buf other = add->in0 == product->out ? add->in1 : add->in0;
    share s = share_of(product->weight->rows, worker);
    uint32_t rows = rows_of(pass, product->in0), n = product->weight->cols;
    for (size_t o = s.begin; o < s.end; o++) {
        decode_row(product->weight, (uint32_t)o, worker->space);
        for (uint32_t r = 0; r < rows; r++)
            row_of(pass, add->out, r)[o] =
                row_of(pass, other, r)[o] + dot(row_of(pass, product->in0, r), worker->space, n);
    }
}

static void run_gated(const sh_ref_pass *pass, const sh_op *ops, const sh_ref_worker *worker) {
    const sh_op *gate = &ops[0], *up = &ops[1], *act = &ops[3];
    share s = share_of(gate->weight->rows, worker);
    uint32_t rows = rows_of(pass, gate->in0), n = gate->weight->cols;
    float *gate_row = worker->space, *up_row = worker->space + n;
    for (size_t o = s.begin; o < s.end; o++) {
        decode_row(gate->weight, (uint32_t)o, gate_row);
        decode_row(up->weight, (uint32_t)o, up_row);
        for (uint32_t r = 0; r < rows; r++) {
            const float *x = row_of(pass, gate->in0, r);
            row_of(pass, act->out, r)[o] = swiglu(dot(x, gate_row, n), dot(x, up_row, n));
        }
    }
}

void sh_ref_run(const sh_ref_pass *pass, const sh_op_step *step, const sh_ref_worker *worker) {
    const sh_op *ops = &pass->list->ops[step->first];
    switch (step->merge) {
    case SH_MERGE_NORM_ACT: run_norm_act(pass, ops, worker); return;
    case SH_MERGE_QK_STORE: run_qk_store(pass, ops, worker); return;
    case SH_MERGE_ATTENTION_ACT: attend_rows(pass, &ops[0], ops[1].out, worker); return;
    case SH_MERGE_PRODUCT_ADD: run_product_add(pass, ops, worker); return;
    case SH_MERGE_GATED: run_gated(pass, ops, worker); return;
    case SH_MERGE_NONE:
    case SH_MERGES: break;
    }
    switch (ops->kind) {
    case SH_OP_EMBED: run_embed(pass, ops, worker); break;
    case SH_OP_NORM: norm_rows(pass, ops, share_of(rows_of(pass, ops->in0), worker), ops->out, worker); break;
    case SH_OP_ACT: copy_rows(pass, ops, worker); break;
    case SH_OP_PRODUCT: run_product(pass, ops, worker); break;
    case SH_OP_HEAD_NORM: run_head_norm(pass, ops, worker); break;
    case SH_OP_ROPE: run_rope(pass, ops, worker); break;
    case SH_OP_STORE: run_store(pass, ops, worker); break;
    case SH_OP_ATTENTION: attend_rows(pass, ops, ops->out, worker); break;
    case SH_OP_SWIGLU: run_swiglu(pass, ops, worker); break;
    case SH_OP_ADD: run_add(pass, ops, worker); break;
    case SH_OP_SELECT: run_select(pass, ops, worker); break;
    case SH_OP_ARGMAX: run_argmax(pass, ops, worker); break;
    case SH_OPS: break;
    }
}
