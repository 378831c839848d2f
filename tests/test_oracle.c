/* test_oracle.c: logits against recorded truth: Hugging Face transformers in float32 (tests/oracle/).
 *
 * Every listed logit and log-sum-exp within 2e-3, token ids exactly, greedy tokens wherever their lead over the
 * runner-up is larger than numerical noise. */
#include "support.h"

#include <json-c/json.h>
#include <math.h>

static const double tolerance = 2e-3, clear_lead = 0.01;

typedef struct truth {
    const char *file;  /* in tests/oracle */
    const char *model; /* below the source folder */
    float yarn_factor; /* 0: as the file says */
    uint32_t yarn_context;
} truth;

static double logsumexp(const float *x, size_t n) {
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, (double)x[i]);
    for (size_t i = 0; i < n; i++) sum += exp((double)x[i] - largest);
    return largest + log(sum);
}

static double number(json_object *array, size_t i) {
    return json_object_get_double(json_object_array_get_idx(array, i));
}

static json_object *member(json_object *object, const char *name) {
    json_object *found = NULL;
    json_object_object_get_ex(object, name, &found);
    return found;
}

/* Feeds the prompt in one pass; every position wants its logits. Compares those that the oracle lists. */
static void check_positions(rig *r, json_object *prompt, json_object *at, double *worst) {
    json_object *ids = member(prompt, "ids"), *positions = member(prompt, "positions");
    size_t n = json_object_array_length(ids), listed = json_object_array_length(positions);
    assert_int_equal(listed, at ? json_object_array_length(at) : n);
    sh_seq seq = rig_sequence(r);
    sh_row *rows = calloc(n, sizeof *rows);
    sh_result *results = calloc(n, sizeof *results);
    for (size_t i = 0; i < n; i++) rows[i] = (sh_row){(int32_t)number(ids, i), (uint32_t)i, seq, SH_WANT_LOGITS};
    assert_ok(sh_pass(r->session, rows, n, results));
    for (size_t i = 0; i < listed; i++) {
        size_t position = at ? (size_t)number(at, i) : i;
        json_object *listing = json_object_array_get_idx(positions, i), *top = member(listing, "top");
        const float *logits = results[position].logits;
        size_t tops = json_object_array_length(top);
        assert_true(tops >= 10);
        for (size_t j = 0; j < tops; j++) {
            json_object *pair = json_object_array_get_idx(top, j);
            double difference = fabs(number(pair, 1) - (double)logits[(size_t)number(pair, 0)]);
            *worst = fmax(*worst, difference);
            if (!(difference <= tolerance))
                fail_msg("position %zu, token %zu: %f, expected %f", position, (size_t)number(pair, 0),
                         (double)logits[(size_t)number(pair, 0)], number(pair, 1));
        }
        double difference = fabs(json_object_get_double(member(listing, "lse")) - logsumexp(logits, r->vocabulary));
        *worst = fmax(*worst, difference);
        if (!(difference <= tolerance)) fail_msg("position %zu: log-sum-exp differs by %f", position, difference);
    }
    free(rows);
    free(results);
    assert_ok(sh_seq_free(r->session, seq));
}

/* Continues the prompt greedily by itself; a token must match where its lead is clear, and the run ends at the first
 * one that is not. */
static size_t check_greedy(rig *r, json_object *prompt) {
    json_object *ids = member(prompt, "ids"), *greedy = member(prompt, "greedy");
    if (!greedy) return 0;
    size_t n = json_object_array_length(ids), checked = 0;
    sh_seq seq = rig_sequence(r);
    for (size_t i = 0; i < n; i++)
        rig_feed(r, seq, (int32_t)number(ids, i), i + 1 == n ? SH_WANT_ARGMAX : SH_WANT_NOTHING);
    for (size_t i = 0; i < json_object_array_length(greedy); i++) {
        json_object *pair = json_object_array_get_idx(greedy, i);
        if (r->result.argmax != (int32_t)number(pair, 0)) {
            if (number(pair, 1) > clear_lead)
                fail_msg("greedy token %zu is %d, expected %d", i, r->result.argmax, (int32_t)number(pair, 0));
            break;
        }
        checked++;
        rig_feed(r, seq, r->result.argmax, SH_WANT_ARGMAX);
    }
    assert_ok(sh_seq_free(r->session, seq));
    return checked;
}

static void check_ids(rig *r, json_object *prompt) {
    json_object *text = member(prompt, "text"), *ids = member(prompt, "ids");
    if (!text) return;
    int32_t *found = NULL;
    size_t n = 0;
    assert_ok(sh_tokenize(sh_engine_tokenizer(r->engine), json_object_get_string(text),
                          (size_t)json_object_get_string_len(text), SH_TOKENIZE_BOS, &found, &n));
    /* The odd-shaped files do not ask for BOS, and their prompts have none. */
    assert_int_equal(n, json_object_array_length(ids));
    for (size_t i = 0; i < n; i++) assert_int_equal(found[i], (int32_t)number(ids, i));
    sh_free(found);
}

static void check_truth(const truth *t) {
    char path[512];
    snprintf(path, sizeof path, "%s/tests/oracle/%s", SHOHIN_SOURCE_DIR, t->file);
    json_object *root = json_object_from_file(path);
    assert_non_null(root);
    json_object *prompts = member(root, "prompts"), *at = member(root, "at");
    rig r = rig_open((rig_options){.model = t->model, .yarn_factor = t->yarn_factor, .yarn_context = t->yarn_context});
    double worst = 0;
    size_t greedy = 0;
    assert_true(json_object_array_length(prompts) > 0);
    for (size_t i = 0; i < json_object_array_length(prompts); i++) {
        json_object *prompt = json_object_array_get_idx(prompts, i);
        check_ids(&r, prompt);
        check_positions(&r, prompt, at, &worst);
        greedy += check_greedy(&r, prompt);
    }
    print_message("  %-32s worst difference %.2g, %zu greedy tokens\n", t->file, worst, greedy);
    if (!at) assert_true(greedy > 32); /* a lead is clear for most tokens of most prompts */
    rig_close(&r);
    json_object_put(root);
}

#define TRUTH(name, ...)                                                                                               \
    static void name(void **state) {                                                                                   \
        (void)state;                                                                                                   \
        check_truth(&(truth){__VA_ARGS__});                                                                            \
    }

TRUTH(one_bit, "stories-q1_0.json", "models/stories-q1_0.gguf", 0, 0)
TRUTH(one_bit_long, "stories-q1_0-long.json", "models/stories-q1_0.gguf", 0, 0)
TRUTH(one_bit_yarn, "stories-q1_0-yarn4-128.json", "models/stories-q1_0.gguf", 4, 128)
TRUTH(one_bit_yarn_long, "stories-q1_0-yarn4-128-long.json", "models/stories-q1_0.gguf", 4, 128)
TRUTH(ternary, "stories-q2_0_g64.json", "models/stories-q2_0_g64.gguf", 0, 0)
TRUTH(ternary_long, "stories-q2_0_g64-long.json", "models/stories-q2_0_g64.gguf", 0, 0)
TRUTH(ternary_128, "stories-q2_0_g64.json", "models/stories-q2_0_g128.gguf", 0, 0)
TRUTH(odd_one_bit, "odd-q1_0.json", "tests/oracle/odd-q1_0.gguf", 0, 0)
TRUTH(odd_one_bit_long, "odd-q1_0-long.json", "tests/oracle/odd-q1_0.gguf", 0, 0)
TRUTH(odd_ternary_64, "odd-q2_0_g64.json", "tests/oracle/odd-q2_0_g64.gguf", 0, 0)
TRUTH(odd_ternary_64_long, "odd-q2_0_g64-long.json", "tests/oracle/odd-q2_0_g64.gguf", 0, 0)
TRUTH(odd_ternary_128, "odd-q2_0_g128.json", "tests/oracle/odd-q2_0_g128.gguf", 0, 0)
TRUTH(odd_ternary_128_long, "odd-q2_0_g128-long.json", "tests/oracle/odd-q2_0_g128.gguf", 0, 0)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bit),
        cmocka_unit_test(one_bit_long),
        cmocka_unit_test(one_bit_yarn),
        cmocka_unit_test(one_bit_yarn_long),
        cmocka_unit_test(ternary),
        cmocka_unit_test(ternary_long),
        cmocka_unit_test(ternary_128),
        cmocka_unit_test(odd_one_bit),
        cmocka_unit_test(odd_one_bit_long),
        cmocka_unit_test(odd_ternary_64),
        cmocka_unit_test(odd_ternary_64_long),
        cmocka_unit_test(odd_ternary_128),
        cmocka_unit_test(odd_ternary_128_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
