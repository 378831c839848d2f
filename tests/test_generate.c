/* test_generate.c: generators: the same tokens alone, together, and with passes of any size; how and when they end. */
#include "remake.h"
#include "support.h"

#include "engine/sampler.h"

#include <math.h>

static const char *const model = "models/stories-q1_0.gguf";

enum { MOST = 600, MAX_GENS = 3 };

typedef struct told {
    int32_t tokens[MOST];
    size_t n;
    sh_end_reason reason;
    int32_t end_token;
    size_t prompts; /* SH_EVENT_PROMPT events */
} told;

static sh_gen_options prompt_options(const rig *r, const char *text, int32_t **ids) {
    sh_gen_options o;
    sh_gen_options_default(r->engine, &o);
    size_t n;
    assert_ok(sh_tokenize(sh_engine_tokenizer(r->engine), text, strlen(text), SH_TOKENIZE_BOS, ids, &n));
    o.prompt = *ids;
    o.n_prompt = n;
    return o;
}

/* Steps until all have ended; `user` of each generator is its told. */
static void run(rig *r) {
    sh_event events[3 * MAX_GENS];
    for (size_t n = 1; n;) {
        assert_ok(sh_step(r->session, events, 3 * MAX_GENS, &n));
        for (size_t i = 0; i < n; i++) {
            told *t = events[i].user;
            assert_int_equal(t->reason, SH_END_NONE); /* nothing comes behind the end */
            switch (events[i].kind) {
            case SH_EVENT_PROMPT:
                assert_true(events[i].fed <= events[i].n_prompt && t->n == 0);
                t->prompts++;
                break;
            case SH_EVENT_TOKEN: t->tokens[t->n++] = events[i].token; break;
            case SH_EVENT_END: t->reason = events[i].reason; t->end_token = events[i].token;
            }
        }
    }
}

static told tell(rig *r, sh_gen_options o) {
    told t = {0};
    o.user = &t;
    sh_gen *gen = NULL;
    assert_ok(sh_gen_open(r->session, &o, &gen));
    run(r);
    sh_gen_close(gen);
    assert_int_equal(rig_stats(r).pages_used, 0);
    return t;
}

static rig open_rig(uint32_t rows) {
    return rig_open((rig_options){.model = model,
                                  .session = {.context = 256, .sequences = MAX_GENS, .positions = 768, .rows = rows}});
}

static void assert_same(const told *a, const told *b) {
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->tokens, b->tokens, a->n * sizeof *a->tokens);
    assert_int_equal(a->reason, b->reason);
}

/* Three prompts with a seed each: alone, then together in passes of 1, 2, 7 and 128 rows. */
static void together(void **state) {
    (void)state;
    static const char *const prompts[MAX_GENS] = {"Once upon a time, there was a little",
                                                  "The dog ran to the river because it had seen a big fish there and",
                                                  "Tom"};
    told alone[MAX_GENS];
    rig r = open_rig(128);
    for (size_t i = 0; i < MAX_GENS; i++) {
        int32_t *ids;
        sh_gen_options o = prompt_options(&r, prompts[i], &ids);
        o.max_tokens = 25 + (int64_t)i;
        o.sampling.temperature = i == 0 ? 0 : 0.9f;
        o.sampling.seed = 100 + i;
        alone[i] = tell(&r, o);
        assert_true(alone[i].n > 3);
        sh_free(ids);
    }
    rig_close(&r);
    static const uint32_t rows[] = {1, 2, 7, 128};
    for (size_t k = 0; k < 4; k++) {
        r = open_rig(rows[k]);
        told both[MAX_GENS] = {0};
        sh_gen *gens[MAX_GENS];
        for (size_t i = 0; i < MAX_GENS; i++) {
            int32_t *ids;
            sh_gen_options o = prompt_options(&r, prompts[i], &ids);
            o.max_tokens = 25 + (int64_t)i;
            o.sampling.temperature = i == 0 ? 0 : 0.9f;
            o.sampling.seed = 100 + i;
            o.user = &both[i];
            assert_ok(sh_gen_open(r.session, &o, &gens[i]));
            sh_free(ids); /* the prompt was copied */
        }
        run(&r);
        for (size_t i = 0; i < MAX_GENS; i++) {
            assert_same(&alone[i], &both[i]);
            sh_gen_close(gens[i]);
        }
        rig_close(&r);
    }
}

/* Greedy generation is the argmax of pass after pass. */
static void greedy(void **state) {
    (void)state;
    rig r = open_rig(64);
    int32_t *ids;
    sh_gen_options o = prompt_options(&r, "One day, a cat", &ids);
    o.sampling.temperature = 0;
    o.max_tokens = 20;
    told t = tell(&r, o);
    sh_seq seq = rig_sequence(&r);
    for (size_t i = 0; i < o.n_prompt; i++) rig_feed(&r, seq, ids[i], SH_WANT_ARGMAX);
    for (size_t i = 0; i < t.n; i++) {
        assert_int_equal(t.tokens[i], r.result.argmax);
        rig_feed(&r, seq, r.result.argmax, SH_WANT_ARGMAX);
    }
    assert_int_equal(t.n, 20);
    assert_int_equal(t.reason, SH_END_LIMIT);
    sh_free(ids);
    rig_close(&r);
}

/* Sampled generation draws from pass after pass, each token with the numbers of its place in the sequence. */
static void sampled(void **state) {
    (void)state;
    rig r = open_rig(64);
    int32_t *ids;
    sh_gen_options o = prompt_options(&r, "One day, a cat", &ids);
    o.sampling = (sh_sampling){.temperature = 1.2f, .top_k = 50, .top_p = 0.95f, .seed = 11, .choice = 2};
    o.max_tokens = 20;
    o.ignore_ends = true;
    told t = tell(&r, o);
    sh_sampler sampler = {0};
    assert_ok(sh_sampler_open(&sampler, r.vocabulary));
    sh_seq seq = rig_sequence(&r);
    for (size_t i = 0; i < o.n_prompt; i++) rig_feed(&r, seq, ids[i], SH_WANT_LOGITS);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(t.tokens[i], sh_sampler_draw(&sampler, &o.sampling, r.result.logits, o.n_prompt + i));
        rig_feed(&r, seq, t.tokens[i], SH_WANT_LOGITS);
    }
    sh_sampler_close(&sampler);
    sh_free(ids);
    rig_close(&r);
}

static void ends(void **state) {
    (void)state;
    rig r = open_rig(16);
    int32_t *ids;
    sh_gen_options o = prompt_options(&r, "Once upon a time", &ids);
    o.sampling.seed = 1;
    o.max_tokens = 0; /* the prompt only */
    told t = tell(&r, o);
    assert_int_equal(t.n, 0);
    assert_int_equal(t.reason, SH_END_LIMIT);
    assert_int_equal(t.prompts, 1);
    o.max_tokens = 1;
    t = tell(&r, o);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.reason, SH_END_LIMIT);

    /* Past its end token a text goes on to the end of the context: the prompt, and all positions behind it, and one
     * token that is never fed. */
    o.max_tokens = -1;
    o.ignore_ends = true;
    t = tell(&r, o);
    assert_int_equal(t.reason, SH_END_CONTEXT);
    assert_int_equal(t.n, 256 - o.n_prompt + 1);
    sh_tokenizer_info text;
    sh_tokenizer_describe(sh_engine_tokenizer(r.engine), &text);
    assert_true(text.n_ends > 0);
    size_t first_end = 0;
    while (first_end < t.n && t.tokens[first_end] != text.ends[0]) first_end++;
    o.ignore_ends = false;
    told stopped = tell(&r, o);
    if (first_end < t.n) {
        assert_int_equal(stopped.reason, SH_END_TOKEN);
        assert_int_equal(stopped.end_token, text.ends[0]);
        assert_int_equal(stopped.n, first_end);
        assert_memory_equal(stopped.tokens, t.tokens, first_end * sizeof *t.tokens);
    }
    assert_true(first_end < t.n); /* the stories of this model do end */
    sh_free(ids);
    rig_close(&r);
}

static void long_prompts(void **state) {
    (void)state;
    rig r = open_rig(64);
    int32_t ids[257];
    for (size_t i = 0; i < 257; i++) ids[i] = 100 + (int32_t)i;
    sh_gen_options o;
    sh_gen_options_default(r.engine, &o);
    o.prompt = ids;
    o.n_prompt = 257;
    sh_gen *gen = NULL;
    assert_fails(SH_ERR_CONTEXT, sh_gen_open(r.session, &o, &gen), "257 tokens", "context of 256");
    assert_null(gen);
    o.n_prompt = 256; /* fits exactly: one token can be drawn, none fed */
    told t = tell(&r, o);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.reason, SH_END_CONTEXT);
    assert_int_equal(t.prompts, 4);
    rig_close(&r);
}

static void arguments(void **state) {
    (void)state;
    rig r = open_rig(64);
    sh_gen *gen = (sh_gen *)1, *gens[MAX_GENS];
    sh_event events[9];
    size_t n = 7;
    int32_t ids[] = {1, 2, 4096};
    sh_gen_options o;
    sh_gen_options_default(r.engine, &o);
    assert_fails(SH_ERR_ARGUMENT, sh_gen_open(r.session, &o, &gen), "prompt is empty");
    assert_null(gen);
    o.prompt = ids;
    o.n_prompt = 3;
    assert_fails(SH_ERR_ARGUMENT, sh_gen_open(r.session, &o, &gen), "token 2", "4096");
    o.n_prompt = 2;
    o.max_tokens = -2;
    assert_fails(SH_ERR_ARGUMENT, sh_gen_open(r.session, &o, &gen), "-2");
    o.max_tokens = 3;
    o.sampling.top_p = 0;
    assert_fails(SH_ERR_ARGUMENT, sh_gen_open(r.session, &o, &gen), "top_p");
    o.sampling.top_p = 1;
    assert_fails(SH_ERR_ARGUMENT, sh_gen_open(NULL, &o, &gen), "no session");
    assert_fails(SH_ERR_ARGUMENT, sh_gen_open(r.session, NULL, &gen), "options");
    assert_fails(SH_ERR_ARGUMENT, sh_step(NULL, events, 9, &n), "no session");
    assert_fails(SH_ERR_ARGUMENT, sh_step(r.session, NULL, 9, &n), "events");
    assert_fails(SH_ERR_ARGUMENT, sh_step(r.session, events, 9, NULL), "events");
    assert_ok(sh_step(r.session, events, 9, &n)); /* nobody there */
    assert_int_equal(n, 0);
    for (size_t i = 0; i < MAX_GENS; i++) assert_ok(sh_gen_open(r.session, &o, &gens[i]));
    assert_fails(SH_ERR_MEMORY, sh_gen_open(r.session, &o, &gen), "all 3 sequences");
    assert_fails(SH_ERR_ARGUMENT, sh_step(r.session, events, 8, &n), "8 events", "need 9");
    sh_cancel(r.session);
    assert_fails(SH_ERR_CANCELLED, sh_step(r.session, events, 9, &n), "cancelled");
    assert_ok(sh_step(r.session, events, 9, &n)); /* goes on as if nothing had been */
    assert_int_equal(n, 6);
    sh_gen_close(gens[1]); /* in the middle */
    assert_ok(sh_step(r.session, events, 9, &n));
    assert_int_equal(n, 2);
    sh_gen_close(NULL);
    rig_close(&r); /* closes the others */
}

enum { SPOILT = 77 }; /* the token whose embedding is NaN */

static sh_format float_embedding(const sh_tensor *tensor, void *user) {
    (void)user;
    return sh_view_is(tensor->name, "token_embd.weight") ? SH_F32 : tensor->format;
}

static void spoil_a_row(const sh_tensor *tensor, float *values, void *user) {
    (void)user;
    if (sh_view_is(tensor->name, "token_embd.weight")) values[SPOILT * tensor->dims[0] + 3] = NAN;
}

/* A generator whose logits are NaN ends and says so; the others do not notice. */
static void nan_logits(void **state) {
    (void)state;
    remake damage = {.from = model, .format = float_embedding, .edit = spoil_a_row};
    const char *path = remake_model(&damage, "nan.gguf");
    for (int sampled = 0; sampled < 2; sampled++) {
        rig r = rig_open((rig_options){.model = path});
        int32_t sound_ids[] = {1, 2, 3}, spoilt_ids[] = {1, SPOILT, 3};
        sh_gen_options o;
        sh_gen_options_default(r.engine, &o);
        o.n_prompt = 3;
        o.max_tokens = 5;
        o.sampling.temperature = sampled ? 1.0f : 0;
        o.prompt = sound_ids;
        told alone = tell(&r, o), sound = {0}, spoilt = {0};
        sh_gen *gens[2];
        o.user = &spoilt;
        o.prompt = spoilt_ids;
        assert_ok(sh_gen_open(r.session, &o, &gens[0]));
        o.user = &sound;
        o.prompt = sound_ids;
        assert_ok(sh_gen_open(r.session, &o, &gens[1]));
        run(&r);
        assert_int_equal(spoilt.reason, SH_END_FAILED);
        assert_int_equal(spoilt.n, 0);
        assert_non_null(strstr(sh_error_text(), "position 3"));
        assert_same(&alone, &sound);
        rig_close(&r);
    }
}

/* With a row a pass everybody still gets his turn, and nobody twice before all others. */
static void fairness(void **state) {
    (void)state;
    rig r = open_rig(1);
    int32_t ids[] = {5, 6, 7, 8};
    sh_gen *gens[MAX_GENS];
    told both[MAX_GENS] = {0};
    sh_gen_options o;
    sh_gen_options_default(r.engine, &o);
    o.prompt = ids;
    o.n_prompt = 4;
    o.max_tokens = 6;
    o.ignore_ends = true;
    for (size_t i = 0; i < MAX_GENS; i++) {
        o.user = &both[i];
        assert_ok(sh_gen_open(r.session, &o, &gens[i]));
    }
    sh_event events[9];
    size_t n = 1, last_turn[MAX_GENS] = {0};
    for (size_t step = 1; n; step++) {
        assert_ok(sh_step(r.session, events, 9, &n));
        for (size_t i = 0; i < n; i++) {
            size_t who = (size_t)((told *)events[i].user - both);
            assert_true(step - last_turn[who] <= MAX_GENS);
            last_turn[who] = step;
            if (events[i].kind == SH_EVENT_PROMPT) assert_int_equal(events[i].fed, ++both[who].prompts);
            both[who].n += events[i].kind == SH_EVENT_TOKEN;
        }
    }
    for (size_t i = 0; i < MAX_GENS; i++) assert_int_equal(both[i].n, 6);
    rig_close(&r);
}

/* Decoding goes on while a long prompt is read in chunks. */
static void prompts_do_not_hold_up(void **state) {
    (void)state;
    rig r = open_rig(16);
    int32_t ids[200];
    for (size_t i = 0; i < 200; i++) ids[i] = 100 + (int32_t)i;
    sh_gen *writer, *reader;
    told both[2] = {0};
    sh_gen_options o;
    sh_gen_options_default(r.engine, &o);
    o.ignore_ends = true;
    o.prompt = ids;
    o.n_prompt = 2;
    o.user = &both[0];
    assert_ok(sh_gen_open(r.session, &o, &writer));
    sh_event events[6];
    size_t n;
    assert_ok(sh_step(r.session, events, 6, &n));
    o.n_prompt = 200;
    o.user = &both[1];
    assert_ok(sh_gen_open(r.session, &o, &reader));
    for (size_t step = 0; step < 5; step++) {
        size_t tokens = 0;
        assert_ok(sh_step(r.session, events, 6, &n));
        for (size_t i = 0; i < n; i++) tokens += events[i].user == &both[0] && events[i].kind == SH_EVENT_TOKEN;
        assert_int_equal(tokens, 1);
    }
    rig_close(&r);
}

/* A pool too small for all: those that find a page go on, the others wait for theirs. */
static void small_pool(void **state) {
    (void)state;
    rig r = rig_open(
        (rig_options){.model = model, .session = {.context = 256, .sequences = 2, .positions = 64, .rows = 64}});
    int32_t ids[100];
    for (size_t i = 0; i < 100; i++) ids[i] = 100 + (int32_t)i;
    sh_gen_options o;
    sh_gen_options_default(r.engine, &o);
    o.sampling.temperature = 0;
    o.prompt = ids;
    o.n_prompt = 50;
    o.max_tokens = 5;
    told alone = tell(&r, o), both[2] = {0};
    sh_gen *gens[2];
    o.user = &both[0];
    assert_ok(sh_gen_open(r.session, &o, &gens[0]));
    o.n_prompt = 100; /* two pages; there are two in all */
    o.user = &both[1];
    assert_ok(sh_gen_open(r.session, &o, &gens[1]));
    sh_event events[6];
    size_t n;
    sh_status status;
    while ((status = sh_step(r.session, events, 6, &n)) == SH_OK && n)
        for (size_t i = 0; i < n; i++)
            if (events[i].kind == SH_EVENT_TOKEN) {
                told *t = events[i].user;
                t->tokens[t->n++] = events[i].token;
            }
    assert_int_equal(status, SH_ERR_MEMORY); /* the first is done but keeps its page, the second needs it */
    assert_non_null(strstr(sh_error_text(), "pool is full"));
    assert_int_equal(both[0].n, 5);
    assert_memory_equal(both[0].tokens, alone.tokens, 5 * sizeof(int32_t));
    sh_gen_close(gens[0]);
    run(&r);
    assert_int_equal(both[1].n, 5);
    assert_int_equal(both[1].reason, SH_END_LIMIT);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(together),   cmocka_unit_test(greedy),       cmocka_unit_test(sampled),
        cmocka_unit_test(ends),       cmocka_unit_test(long_prompts), cmocka_unit_test(arguments),
        cmocka_unit_test(nan_logits), cmocka_unit_test(fairness),     cmocka_unit_test(prompts_do_not_hold_up),
        cmocka_unit_test(small_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
