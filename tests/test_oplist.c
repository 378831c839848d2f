/* test_oplist.c: the op list refuses what does not fit together, and merges only what may be merged. */
#include "support.h"

#include "backend/oplist.h"

static const sh_net net = {
    .n_layers = 2, .hidden = 64, .ffn = 96, .n_heads = 4, .n_kv_heads = 2, .head_dim = 16, .vocabulary = 100};
static const uint8_t bytes[1];

static sh_weight weight(const char *name, uint32_t rows, uint32_t cols) {
    return (sh_weight){.name = {name, strlen(name)}, .rows = rows, .cols = cols, .bytes = bytes};
}

static sh_buf buffer(sh_oplist *list, const char *name, sh_buf_type type, sh_buf_rows rows, uint32_t width) {
    sh_buf out = SH_BUF_NONE;
    assert_ok(sh_oplist_buffer(list, (sh_buffer){name, type, rows, width}, &out));
    return out;
}

static void dimensions(void **state) {
    (void)state;
    sh_oplist list;
    sh_oplist_init(&list, &net);
    sh_buf x = buffer(&list, "x", SH_BUF_F32, SH_ROWS_ALL, 64), act = buffer(&list, "act", SH_BUF_ACT, SH_ROWS_ALL, 64);
    sh_buf wide = buffer(&list, "wide", SH_BUF_F32, SH_ROWS_ALL, 96),
           kv = buffer(&list, "kv", SH_BUF_F32, SH_ROWS_ALL, 32);
    sh_buf head = buffer(&list, "head", SH_BUF_F32, SH_ROWS_HEAD, 64);
    sh_weight square = weight("square", 64, 64), gain = weight("gain", 1, 64), per_head = weight("per head", 1, 16);
    sh_weight embedding = weight("embedding", 100, 64), absent = {.rows = 64, .cols = 64};
    const struct {
        sh_op op;
        const char *parts[2];
    } wrong[] = {
        {{SH_OP_EMBED, 0, SH_BUF_NONE, SH_BUF_NONE, wide, &embedding}, {"'wide' has 96", "expected 64"}},
        {{SH_OP_EMBED, 0, SH_BUF_NONE, SH_BUF_NONE, x, &square}, {"'square' is [64][64]", "expected [100][64]"}},
        {{SH_OP_NORM, 0, x, SH_BUF_NONE, wide, &gain}, {"96", "64"}},
        {{SH_OP_NORM, 0, wide, SH_BUF_NONE, wide, &gain}, {"'gain' is [1][64]", "[1][96]"}},
        {{SH_OP_ACT, 0, x, SH_BUF_NONE, wide, NULL}, {"'wide'", "kind"}},
        {{SH_OP_PRODUCT, 1, act, SH_BUF_NONE, wide, &square}, {"layer 1", "expected [96][64]"}},
        {{SH_OP_PRODUCT, 0, x, SH_BUF_NONE, x, &square}, {"input 'x'", "kind"}},
        {{SH_OP_PRODUCT, 0, act, SH_BUF_NONE, x, &absent}, {"no weight", "product"}},
        {{SH_OP_HEAD_NORM, 0, wide, SH_BUF_NONE, wide, &per_head}, {"96 values", "64 or 32"}},
        {{SH_OP_HEAD_NORM, 0, kv, SH_BUF_NONE, kv, &gain}, {"[1][64]", "[1][16]"}},
        {{SH_OP_ROPE, 0, kv, SH_BUF_NONE, x, NULL}, {"rope", "'x' has 64 values a row, expected 32"}},
        {{SH_OP_STORE, 0, kv, x, SH_BUF_NONE, NULL}, {"'x' has 64", "expected 32"}},
        {{SH_OP_ATTENTION, 0, wide, SH_BUF_NONE, x, NULL}, {"'wide' has 96", "expected 64"}},
        {{SH_OP_SWIGLU, 0, x, wide, x, NULL}, {"'wide' has 96", "expected 64"}},
        {{SH_OP_ADD, 0, x, x, head, NULL}, {"'head'", "kind"}},
        {{SH_OP_SELECT, 0, x, SH_BUF_NONE, head, NULL}, {"'head'", "kind"}}, /* not before the tail begins */
        {{SH_OP_ADD, 2, x, x, x, NULL}, {"layer 2 of 2", "add"}},
        {{SH_OP_ADD, 0, x, 77, x, NULL}, {"buffer 77 of 5", "add"}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_fails(SH_ERR_ARGUMENT, sh_oplist_add(&list, wrong[i].op), wrong[i].parts[0], wrong[i].parts[1]);
    assert_int_equal(list.n_ops, 0);
    assert_ok(sh_oplist_add(&list, (sh_op){SH_OP_EMBED, 0, SH_BUF_NONE, SH_BUF_NONE, x, &embedding}));
    assert_fails(SH_ERR_ARGUMENT, sh_oplist_begin_tail(&list, SH_BUF_NONE), "of 5");
    assert_fails(SH_ERR_ARGUMENT, sh_oplist_begin_tail(&list, head), "'head' have 64", "100");
    sh_buf logits = buffer(&list, "logits", SH_BUF_F32, SH_ROWS_HEAD, 100);
    assert_ok(sh_oplist_begin_tail(&list, logits));
    assert_int_equal(sh_oplist_uses(&list, &embedding), 1u << SH_OP_EMBED);
    assert_int_equal(sh_oplist_uses(&list, &square), 0);
    assert_ok(sh_oplist_add(&list, (sh_op){SH_OP_SELECT, 0, x, SH_BUF_NONE, head, NULL}));
    assert_int_equal(list.tail, 1);
    sh_oplist_close(&list);
}

/* embed, norm, act, product, add; what `spoil` does may forbid merges. */
static sh_steps compile(uint32_t merges, int spoil) {
    static sh_weight square, gain, embedding;
    square = weight("square", 64, 64), gain = weight("gain", 1, 64), embedding = weight("embedding", 100, 64);
    sh_oplist list;
    sh_oplist_init(&list, &net);
    sh_buf x = buffer(&list, "x", SH_BUF_F32, SH_ROWS_ALL, 64),
           normed = buffer(&list, "normed", SH_BUF_F32, SH_ROWS_ALL, 64);
    sh_buf act = buffer(&list, "act", SH_BUF_ACT, SH_ROWS_ALL, 64),
           change = buffer(&list, "change", SH_BUF_F32, SH_ROWS_ALL, 64);
    sh_op ops[] = {
        {SH_OP_EMBED, 0, SH_BUF_NONE, SH_BUF_NONE, x, &embedding},
        {SH_OP_NORM, 0, x, SH_BUF_NONE, normed, &gain},
        {SH_OP_ACT, 0, normed, SH_BUF_NONE, act, NULL},
        {SH_OP_PRODUCT, 0, act, SH_BUF_NONE, change, &square},
        {SH_OP_ADD, 0, x, change, x, NULL},
        {SH_OP_ADD, 0, x,
         spoil == 1   ? normed
         : spoil == 2 ? change
                      : x,
         x, NULL}, /* reads what a merge would not write */
    };
    if (spoil == 3) ops[2].in0 = x; /* act is not of what the norm made */
    for (size_t i = 0; i < 6; i++) {
        if (spoil == 4 && i == 4) { /* between product and add */
            assert_ok(sh_oplist_begin_tail(&list, buffer(&list, "logits", SH_BUF_F32, SH_ROWS_HEAD, 100)));
        }
        if (spoil == 4 && i >= 4) break;
        assert_ok(sh_oplist_add(&list, ops[i]));
    }
    sh_steps steps;
    assert_ok(sh_steps_compile(&list, merges, &steps));
    uint32_t covered = 0;
    for (uint32_t i = 0; i < steps.n; i++) {
        assert_int_equal(steps.steps[i].first, covered);
        covered += steps.steps[i].n;
    }
    assert_int_equal(covered, list.n_ops);
    sh_oplist_close(&list);
    return steps;
}

static bool has(const sh_steps *steps, sh_merge merge) {
    for (uint32_t i = 0; i < steps->n; i++)
        if (steps->steps[i].merge == merge) return true;
    return false;
}

static void merges(void **state) {
    (void)state;
    uint32_t all = (1u << SH_MERGES) - 1;
    sh_steps s = compile(0, 0);
    assert_int_equal(s.n, 6);
    sh_steps_close(&s);
    s = compile(all, 0);
    assert_int_equal(s.n, 4);
    assert_true(has(&s, SH_MERGE_NORM_ACT) && has(&s, SH_MERGE_PRODUCT_ADD));
    sh_steps_close(&s);
    s = compile(1u << SH_MERGE_PRODUCT_ADD, 0);
    assert_true(!has(&s, SH_MERGE_NORM_ACT) && has(&s, SH_MERGE_PRODUCT_ADD));
    sh_steps_close(&s);
    s = compile(all, 1);
    assert_true(!has(&s, SH_MERGE_NORM_ACT) && has(&s, SH_MERGE_PRODUCT_ADD));
    sh_steps_close(&s);
    s = compile(all, 2);
    assert_true(has(&s, SH_MERGE_NORM_ACT) && !has(&s, SH_MERGE_PRODUCT_ADD));
    sh_steps_close(&s);
    s = compile(all, 3);
    assert_true(!has(&s, SH_MERGE_NORM_ACT) && has(&s, SH_MERGE_PRODUCT_ADD));
    sh_steps_close(&s);
    s = compile(all, 4);
    assert_int_equal(s.tail, s.n);
    assert_true(!has(&s, SH_MERGE_PRODUCT_ADD));
    sh_steps_close(&s);
    for (int m = SH_MERGE_NORM_ACT; m < SH_MERGES; m++) assert_string_not_equal(sh_merge_name((sh_merge)m), "plain");
    for (int k = 0; k < SH_OPS; k++) assert_non_null(sh_op_name((sh_op_kind)k));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(dimensions), cmocka_unit_test(merges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
