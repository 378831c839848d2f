/* oplist.c: recording a pass, checking its dimensions, and merging neighbours. See oplist.h. */
#include "backend/oplist.h"

#include "base/memory.h"

#include <string.h>

static const char *const op_names[SH_OPS] = {
    [SH_OP_EMBED] = "embed",     [SH_OP_NORM] = "norm",     [SH_OP_ACT] = "act",
    [SH_OP_PRODUCT] = "product", [SH_OP_ROPE] = "rope",     [SH_OP_HEAD_NORM] = "head norm",
    [SH_OP_STORE] = "store",     [SH_OP_SWIGLU] = "swiglu", [SH_OP_ATTENTION] = "attention",
    [SH_OP_ADD] = "add",         [SH_OP_SELECT] = "select", [SH_OP_ARGMAX] = "argmax",
};

const char *sh_op_name(sh_op_kind kind) {
    return kind < SH_OPS ? op_names[kind] : "?";
}

void sh_oplist_init(sh_oplist *list, const sh_net *net) {
    *list = (sh_oplist){.net = *net, .logits = SH_BUF_NONE};
}

void sh_oplist_close(sh_oplist *list) {
    sh_free(list->buffers);
    sh_free(list->ops);
    *list = (sh_oplist){0};
}

/* Room for one more element behind n. */
static sh_status grow(void **array, uint32_t n, uint32_t *capacity, size_t size) {
    if (n < *capacity) return SH_OK;
    uint32_t wanted = *capacity ? *capacity * 2 : 16;
    void *larger = sh_realloc(*array, wanted, size);
    if (!larger) return sh_fail(SH_ERR_MEMORY, "out of memory for an op list of %u", wanted);
    *array = larger;
    *capacity = wanted;
    return SH_OK;
}

sh_status sh_oplist_buffer(sh_oplist *list, sh_buffer buffer, sh_buf *out) {
    void *array = list->buffers;
    sh_status status = grow(&array, list->n_buffers, &list->buffer_capacity, sizeof *list->buffers);
    list->buffers = array;
    if (status != SH_OK) return status;
    *out = (sh_buf)list->n_buffers;
    list->buffers[list->n_buffers++] = buffer;
    return SH_OK;
}

/* ---- checks ---------------------------------------------------------------------------------------------- */

/* What an operand must be. Width 0 stands for any. */
typedef struct operand {
    const char *role;
    sh_buf buffer;
    sh_buf_type type;
    sh_buf_rows rows;
    uint32_t width;
} operand;

static sh_status check_operand(const sh_oplist *list, const sh_op *op, operand expected) {
    const char *name = sh_op_name(op->kind);
    if (expected.buffer >= list->n_buffers)
        return sh_fail(SH_ERR_ARGUMENT, "%s, layer %u: %s is buffer %u of %u", name, op->layer, expected.role,
                       expected.buffer, list->n_buffers);
    const sh_buffer *buffer = &list->buffers[expected.buffer];
    if (buffer->type != expected.type || buffer->rows != expected.rows)
        return sh_fail(SH_ERR_ARGUMENT, "%s, layer %u: %s '%s' is of the wrong kind", name, op->layer, expected.role,
                       buffer->name);
    if (expected.width && buffer->width != expected.width)
        return sh_fail(SH_ERR_ARGUMENT, "%s, layer %u: %s '%s' has %u values a row, expected %u", name, op->layer,
                       expected.role, buffer->name, buffer->width, expected.width);
    return SH_OK;
}

static sh_status check_weight(const sh_op *op, uint32_t rows, uint32_t cols) {
    const sh_weight *w = op->weight;
    if (!w || !w->bytes) return sh_fail(SH_ERR_ARGUMENT, "%s, layer %u: no weight", sh_op_name(op->kind), op->layer);
    if (w->rows != rows || w->cols != cols)
        return sh_fail(SH_ERR_ARGUMENT, "%s, layer %u: weight '%.*s' is [%u][%u], expected [%u][%u]",
                       sh_op_name(op->kind), op->layer, SH_VIEW_ARG(w->name), w->rows, w->cols, rows, cols);
    return SH_OK;
}

static uint32_t width_of(const sh_oplist *list, sh_buf buffer) {
    return buffer < list->n_buffers ? list->buffers[buffer].width : 0;
}

static sh_status check(const sh_oplist *list, const sh_op *op) {
    const sh_net *net = &list->net;
    sh_buf_rows rows = list->marked ? SH_ROWS_HEAD : SH_ROWS_ALL;
    uint32_t width = width_of(list, op->in0), q_width = net->n_heads * net->head_dim,
             kv_width = net->n_kv_heads * net->head_dim;
    operand in0 = {"input", op->in0, SH_BUF_F32, rows, 0}, in1 = {"second input", op->in1, SH_BUF_F32, rows, 0};
    operand out = {"output", op->out, SH_BUF_F32, rows, width};
    bool has_in0 = true, has_in1 = false, has_out = true, in_place = false;
    sh_status status = SH_OK;
    switch (op->kind) {
    case SH_OP_EMBED:
        has_in0 = false;
        out.width = net->hidden;
        status = check_weight(op, net->vocabulary, net->hidden);
        break;
    case SH_OP_NORM: status = check_weight(op, 1, width); break;
    case SH_OP_ACT: out.type = SH_BUF_ACT; break;
    case SH_OP_PRODUCT:
        in0.type = SH_BUF_ACT;
        out.width = width_of(list, op->out);
        status = check_weight(op, out.width, width);
        break;
    case SH_OP_HEAD_NORM: status = check_weight(op, 1, net->head_dim); /* fall through */
    case SH_OP_ROPE:
        in_place = true;
        if (status == SH_OK && width != q_width && width != kv_width)
            status = sh_fail(SH_ERR_ARGUMENT, "%s, layer %u: %u values a row, expected %u or %u", sh_op_name(op->kind),
                             op->layer, width, q_width, kv_width);
        break;
    case SH_OP_STORE:
        has_in1 = true, has_out = false;
        in0.width = in1.width = kv_width;
        break;
    case SH_OP_ATTENTION: in0.width = out.width = q_width; break;
    case SH_OP_SWIGLU:
    case SH_OP_ADD:
        has_in1 = true;
        in1.width = width;
        break;
    case SH_OP_SELECT: in0.rows = SH_ROWS_ALL; break;
    case SH_OP_ARGMAX:
        has_out = false;
        in0.width = net->vocabulary;
        break;
    case SH_OPS: return sh_fail(SH_ERR_ARGUMENT, "op %d does not exist", (int)op->kind);
    }
    if (status == SH_OK && has_in0) status = check_operand(list, op, in0);
    if (status == SH_OK && has_in1) status = check_operand(list, op, in1);
    if (status == SH_OK && has_out) status = check_operand(list, op, out);
    if (status == SH_OK && in_place && op->in0 != op->out)
        status = sh_fail(SH_ERR_ARGUMENT, "%s, layer %u works in place, but its output is another buffer",
                         sh_op_name(op->kind), op->layer);
    if (status == SH_OK && op->layer >= net->n_layers)
        status = sh_fail(SH_ERR_ARGUMENT, "%s: layer %u of %u", sh_op_name(op->kind), op->layer, net->n_layers);
    return status;
}

sh_status sh_oplist_add(sh_oplist *list, sh_op op) {
    sh_status status = check(list, &op);
    if (status != SH_OK) return status;
    void *array = list->ops;
    status = grow(&array, list->n_ops, &list->op_capacity, sizeof *list->ops);
    list->ops = array;
    if (status != SH_OK) return status;
    list->ops[list->n_ops++] = op;
    if (!list->marked) list->tail = list->n_ops;
    return SH_OK;
}

sh_status sh_oplist_begin_tail(sh_oplist *list, sh_buf logits) {
    if (logits >= list->n_buffers)
        return sh_fail(SH_ERR_ARGUMENT, "the tail's logits are buffer %u of %u", logits, list->n_buffers);
    const sh_buffer *buffer = &list->buffers[logits];
    if (buffer->type != SH_BUF_F32 || buffer->rows != SH_ROWS_HEAD || buffer->width != list->net.vocabulary)
        return sh_fail(SH_ERR_ARGUMENT, "the tail's logits '%s' have %u values a row, expected a vocabulary of %u",
                       buffer->name, buffer->width, list->net.vocabulary);
    list->tail = list->n_ops;
    list->logits = logits;
    list->marked = true;
    return SH_OK;
}

uint32_t sh_oplist_uses(const sh_oplist *list, const sh_weight *weight) {
    uint32_t uses = 0;
    for (uint32_t i = 0; i < list->n_ops; i++)
        if (list->ops[i].weight == weight) uses |= 1u << list->ops[i].kind;
    return uses;
}

/* ---- merging --------------------------------------------------------------------------------------------- */

enum { LONGEST_MERGE = 5, MOST_LINKS = 4 };

typedef enum operand_place { IN0, IN1, EITHER } operand_place;

/* Op `reader` of a group takes, in this place, what op `writer` of the group puts out. */
typedef struct link {
    uint8_t reader, writer;
    operand_place place;
} link;

/* The rule table. A group of neighbours becomes one step if it has these kinds, is linked in this way, and what the
 * merged kernel keeps to itself is read by nobody else. */
static const struct rule {
    sh_merge merge;
    const char *name;
    uint32_t n, n_links;
    sh_op_kind ops[LONGEST_MERGE];
    link links[MOST_LINKS];
    bool twins; /* the first two read the same input */
} rules[] = {
    {
        .merge = SH_MERGE_QK_STORE,
        .name = "QK-norm + RoPE + store",
        .n = 5,
        .ops = {SH_OP_HEAD_NORM, SH_OP_HEAD_NORM, SH_OP_ROPE, SH_OP_ROPE, SH_OP_STORE},
        .n_links = 3,
        .links = {{2, 0, IN0}, {3, 1, IN0}, {4, 3, IN0}}, /* q, k, and the keys to the store */
    },
    {
        .merge = SH_MERGE_GATED,
        .name = "gate + up + SwiGLU",
        .n = 4,
        .ops = {SH_OP_PRODUCT, SH_OP_PRODUCT, SH_OP_SWIGLU, SH_OP_ACT},
        .n_links = 3,
        .links = {{2, 0, IN0}, {2, 1, IN1}, {3, 2, IN0}},
        .twins = true,
    },
    {
        .merge = SH_MERGE_NORM_ACT,
        .name = "norm + act",
        .n = 2,
        .ops = {SH_OP_NORM, SH_OP_ACT},
        .n_links = 1,
        .links = {{1, 0, IN0}},
    },
    {
        .merge = SH_MERGE_ATTENTION_ACT,
        .name = "attention + act",
        .n = 2,
        .ops = {SH_OP_ATTENTION, SH_OP_ACT},
        .n_links = 1,
        .links = {{1, 0, IN0}},
    },
    {
        .merge = SH_MERGE_PRODUCT_ADD,
        .name = "product + add",
        .n = 2,
        .ops = {SH_OP_PRODUCT, SH_OP_ADD},
        .n_links = 1,
        .links = {{1, 0, EITHER}},
    },
};

const char *sh_merge_name(sh_merge merge) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].merge == merge) return rules[i].name;
    return "plain";
}

/* True if no op from `from` on reads what is in `buffer` now. */
static bool is_dead(const sh_oplist *list, sh_buf buffer, uint32_t from) {
    if (buffer == list->logits) return false;
    for (uint32_t i = from; i < list->n_ops; i++) {
        const sh_op *op = &list->ops[i];
        if (op->in0 == buffer || op->in1 == buffer) return false;
        if (op->out == buffer) return true;
    }
    return true;
}

static bool matches(const sh_oplist *list, const struct rule *rule, uint32_t first) {
    const sh_op *ops = &list->ops[first];
    for (uint32_t i = 0; i < rule->n; i++)
        if (ops[i].kind != rule->ops[i]) return false;
    if (rule->twins && ops[0].in0 != ops[1].in0) return false;
    for (uint32_t i = 0; i < rule->n_links; i++) {
        const sh_op *reader = &ops[rule->links[i].reader];
        sh_buf made = ops[rule->links[i].writer].out;
        operand_place place = rule->links[i].place;
        if (!(place != IN1 && reader->in0 == made) && !(place != IN0 && reader->in1 == made)) return false;
    }
    /* Outputs of ops that work in place, and the last op's, are written as ever; the others stay in registers. */
    for (uint32_t i = 0; i + 1 < rule->n; i++)
        if (ops[i].in0 != ops[i].out && !is_dead(list, ops[i].out, first + rule->n)) return false;
    return true;
}

static const struct rule *find_rule(const sh_oplist *list, uint32_t merges, uint32_t first) {
    uint32_t end = first < list->tail ? list->tail : list->n_ops; /* no step straddles the tail */
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (merges >> rules[i].merge & 1 && first + rules[i].n <= end && matches(list, &rules[i], first))
            return &rules[i];
    return NULL;
}

sh_status sh_steps_compile(const sh_oplist *list, uint32_t merges, sh_steps *out) {
    *out = (sh_steps){.steps = sh_alloc(list->n_ops, sizeof *out->steps)};
    if (!out->steps) return sh_fail(SH_ERR_MEMORY, "out of memory for %u steps", list->n_ops);
    for (uint32_t at = 0; at < list->n_ops;) {
        if (at == list->tail) out->tail = out->n;
        const struct rule *rule = find_rule(list, merges, at);
        sh_op_step step = {rule ? rule->merge : SH_MERGE_NONE, at, rule ? rule->n : 1};
        out->steps[out->n++] = step;
        at += step.n;
    }
    if (list->tail == list->n_ops) out->tail = out->n;
    return SH_OK;
}

void sh_steps_close(sh_steps *steps) {
    sh_free(steps->steps);
    *steps = (sh_steps){0};
}
