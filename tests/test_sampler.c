/* test_sampler.c: Philox against its published vectors; each step of the sampler against a plain one that sorts;
 * frequencies against probabilities. */
#include "support.h"

#include "engine/sampler.h"

#include <math.h>

/* Known answers of Random123 (kat_vectors, philox4x32 10). */
static void philox(void **state) {
    (void)state;
    uint32_t out[4];
    sh_philox(0, 0, 0, out);
    assert_true(out[0] == 0x6627e8d5 && out[1] == 0xe169c58d && out[2] == 0xbc57ac4c && out[3] == 0x9b00dbd8);
    sh_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, out);
    assert_true(out[0] == 0x408f276d && out[1] == 0x41c83b0e && out[2] == 0xa20bc7c6 && out[3] == 0x6d5451fd);
    sh_philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e, out);
    assert_true(out[0] == 0xd16cfe09 && out[1] == 0x94fdcceb && out[2] == 0x5001e420 && out[3] == 0x24126ea1);
}

enum { V = 1000 };

static float logits[V];

static void random_logits(uint32_t seed) {
    for (size_t i = 0; i < V; i++) {
        seed = seed * 1664525 + 1013904223;
        logits[i] = (float)(seed >> 8) / 0x1p24f * 12 - 6;
        if (i % 7 == 0) logits[i] = floorf(logits[i]); /* ties */
    }
}

typedef struct sorted {
    float logit;
    int32_t id;
} sorted;

static int by_logit(const void *a, const void *b) {
    const sorted *x = a, *y = b;
    if (x->logit != y->logit) return x->logit < y->logit ? 1 : -1;
    return x->id - y->id;
}

/* Which ids may be drawn: by sorting everything. */
static size_t allowed(const sh_sampling *s, bool may[V]) {
    sorted all[V];
    for (size_t i = 0; i < V; i++) all[i] = (sorted){logits[i], (int32_t)i};
    qsort(all, V, sizeof *all, by_logit);
    size_t n = s->top_k && s->top_k < V ? s->top_k : V;
    double total = 0, sum = 0;
    for (size_t i = 0; i < n; i++) total += exp((double)(all[i].logit - all[0].logit));
    for (size_t i = 0; i < n && s->top_p < 1; i++) {
        sum += exp((double)(all[i].logit - all[0].logit));
        if (sum >= (double)s->top_p * total) n = i + 1;
    }
    while (n > 1 && exp((double)(all[n - 1].logit - all[0].logit)) < (double)s->min_p) n--;
    memset(may, 0, V);
    for (size_t i = 0; i < n; i++) may[all[i].id] = true;
    return n;
}

static void steps(void **state) {
    (void)state;
    static const sh_sampling settings[] = {
        {.temperature = 1, .top_p = 1},
        {.temperature = 1, .top_p = 1, .top_k = 20},
        {.temperature = 2, .top_p = 1, .top_k = 1},
        {.temperature = 1, .top_p = 0.9f},
        {.temperature = 1, .top_p = 0.3f, .top_k = 40},
        {.temperature = 1, .top_p = 1, .min_p = 0.05f},
        {.temperature = 5, .top_p = 0.85f, .top_k = 20, .min_p = 0.2f},
        {.temperature = 1, .top_p = 1, .top_k = 5000},
    };
    sh_sampler sampler = {0};
    assert_ok(sh_sampler_open(&sampler, V));
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        for (uint32_t seed = 1; seed < 6; seed++) {
            bool may[V], seen[V] = {0};
            random_logits(seed);
            size_t n = allowed(&settings[i], may), met = 0;
            for (uint64_t index = 0; index < 3000; index++) {
                int32_t id = sh_sampler_draw(&sampler, &settings[i], logits, index);
                assert_in_range(id, 0, V - 1);
                assert_true(may[id]);
                met += !seen[id];
                seen[id] = true;
            }
            if (n <= 20) assert_true(met >= n - n / 4); /* and nearly all that may come do */
        }
    sh_sampler_close(&sampler);
}

/* Chi-squared over a handful of outcomes, at a fixed seed: at 9 degrees of freedom 27.9 is one in a thousand. */
static void frequencies(void **state) {
    (void)state;
    sh_sampler sampler = {0};
    sh_sampling s = {.temperature = 0.7f, .top_p = 1, .top_k = 10, .seed = 42};
    assert_ok(sh_sampler_open(&sampler, V));
    random_logits(3);
    bool may[V];
    assert_int_equal(allowed(&s, may), 10);
    enum { DRAWS = 20000 };
    static size_t counts[V];
    memset(counts, 0, sizeof counts);
    for (uint64_t i = 0; i < DRAWS; i++) counts[sh_sampler_draw(&sampler, &s, logits, i)]++;
    double total = 0, chi = 0;
    for (size_t i = 0; i < V; i++) total += may[i] ? exp((double)logits[i] / 0.7) : 0;
    for (size_t i = 0; i < V; i++) {
        if (!may[i]) continue;
        double expected = DRAWS * exp((double)logits[i] / 0.7) / total;
        chi += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    }
    print_message("  chi-squared %.1f\n", chi);
    assert_true(chi < 27.9);
    sh_sampler_close(&sampler);
}

static void keyed(void **state) {
    (void)state;
    sh_sampler sampler = {0};
    assert_ok(sh_sampler_open(&sampler, V));
    random_logits(1);
    sh_sampling s = {.temperature = 3, .top_p = 1, .seed = 7}, other = s, choice = s;
    other.seed = 8;
    choice.choice = 1;
    size_t same_seed = 0, same_choice = 0;
    for (uint64_t i = 0; i < 100; i++) {
        int32_t id = sh_sampler_draw(&sampler, &s, logits, i);
        assert_int_equal(id, sh_sampler_draw(&sampler, &s, logits, i));
        same_seed += id == sh_sampler_draw(&sampler, &other, logits, i);
        same_choice += id == sh_sampler_draw(&sampler, &choice, logits, i);
    }
    assert_true(same_seed < 20 && same_choice < 20);
    sh_sampler_close(&sampler);
}

/* Probabilities that are exact in binary: on the boundary a token still belongs (top_p: the fewest that reach it; min_p: at
 * least), and temperature comes after both. */
static void boundaries(void **state) {
    (void)state;
    sh_sampler sampler = {0};
    assert_ok(sh_sampler_open(&sampler, 4));
    const float four[4] = {0, 0, 0, 0}; /* a quarter each */
    const struct {
        sh_sampling s;
        int32_t last;
    } cases[] = {
        {{.temperature = 1, .top_p = 0.5f}, 1},
        {{.temperature = 1, .top_p = 0.50001f}, 2},
        {{.temperature = 1, .top_p = 0.5f, .top_k = 3}, 1},
        {{.temperature = 1, .top_p = 0.75f, .top_k = 3}, 2},
        {{.temperature = 1, .top_p = 1, .min_p = 1}, 3},
        {{.temperature = 1, .top_p = 1, .min_p = 1, .top_k = 2}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t last = 0;
        for (uint64_t index = 0; index < 200; index++) {
            int32_t id = sh_sampler_draw(&sampler, &cases[i].s, four, index);
            if (id > last) last = id;
        }
        assert_int_equal(last, cases[i].last);
    }
    const float uneven[4] = {0, -1, -2, -3}; /* 1, 0.37, 0.14, 0.05 of the likeliest, whatever the temperature */
    sh_sampling hot = {.temperature = 50, .top_p = 1, .min_p = 0.2f}, nucleus = {.temperature = 50, .top_p = 0.64f};
    for (uint64_t index = 0; index < 200; index++) {
        assert_in_range(sh_sampler_draw(&sampler, &hot, uneven, index), 0, 1);
        assert_int_equal(sh_sampler_draw(&sampler, &nucleus, uneven, index), 0); /* it has 0.644 by itself */
    }
    sh_sampler_close(&sampler);
}

static void edges(void **state) {
    (void)state;
    sh_sampler sampler = {0};
    assert_ok(sh_sampler_open(&sampler, V));
    const sh_sampling settings[] = {
        {.temperature = 0, .top_p = 1},
        {.temperature = 1, .top_p = 1},
        {.temperature = 1, .top_p = 0.9f},
        {.temperature = 1, .top_p = 0.9f, .top_k = 5},
    };
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < V; j++) logits[j] = NAN;
        assert_int_equal(sh_sampler_draw(&sampler, &settings[i], logits, 0), -1);
        logits[500] = -3; /* the only number */
        for (uint64_t k = 0; k < 20; k++) assert_int_equal(sh_sampler_draw(&sampler, &settings[i], logits, k), 500);
        for (size_t j = 0; j < V; j++) logits[j] = j == 20 ? INFINITY : -INFINITY;
        for (uint64_t k = 0; k < 20; k++) assert_int_equal(sh_sampler_draw(&sampler, &settings[i], logits, k), 20);
    }
    random_logits(9);
    logits[700] = logits[300] = 50; /* a tie: the lower id */
    assert_int_equal(sh_sampler_draw(&sampler, &settings[0], logits, 0), 300);
    sh_sampling wrong = {.temperature = -1, .top_p = 1};
    assert_fails(SH_ERR_ARGUMENT, sh_sampling_check(&wrong), "temperature -1");
    wrong = (sh_sampling){.temperature = NAN, .top_p = 1};
    assert_fails(SH_ERR_ARGUMENT, sh_sampling_check(&wrong), "temperature");
    wrong = (sh_sampling){.top_p = 0};
    assert_fails(SH_ERR_ARGUMENT, sh_sampling_check(&wrong), "top_p 0");
    wrong = (sh_sampling){.top_p = 1, .min_p = 1.5f};
    assert_fails(SH_ERR_ARGUMENT, sh_sampling_check(&wrong), "min_p 1.5");
    sh_sampler_close(&sampler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox), cmocka_unit_test(steps), cmocka_unit_test(frequencies),
        cmocka_unit_test(keyed),  cmocka_unit_test(edges), cmocka_unit_test(boundaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
