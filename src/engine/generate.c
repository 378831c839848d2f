/* generate.c: the loop that turns prompts into tokens: one pass a step over all generators of a session.
 *
 * Owns what is fed when: a row for each generator that is past its prompt, then chunks of prompts as far as the rows of
 * a pass go. Since a row's result depends on its past only, how the rows are dealt never shows in what is drawn. */
#include "engine/generate.h"

#include "base/memory.h"

#include <string.h>

/* A step gives a generator at most: its prompt's progress, a token, its end. */
enum { EVENTS_A_GENERATOR = 3 };

void sh_gen_options_default(const sh_engine *engine, sh_gen_options *options) {
    if (!options) return;
    *options = (sh_gen_options){.max_tokens = -1, .sampling = {.top_p = 1}};
    if (engine) options->sampling = engine->config.sampling;
}

static sh_status check(const sh_session *session, const sh_gen_options *options) {
    uint32_t vocabulary = session->engine->config.vocabulary;
    if (options->n_prompt == 0 || !options->prompt)
        return sh_fail(SH_ERR_ARGUMENT, "the prompt is empty: it needs at least one token");
    if (options->n_prompt > session->info.context)
        return sh_fail(SH_ERR_CONTEXT,
                       "the prompt of %zu tokens does not fit into the context of %u positions; shorten it or give a "
                       "larger context (-c)",
                       options->n_prompt, session->info.context);
    for (size_t i = 0; i < options->n_prompt; i++)
        if (options->prompt[i] < 0 || (uint32_t)options->prompt[i] >= vocabulary)
            return sh_fail(SH_ERR_ARGUMENT, "token %zu of the prompt is %d, outside the vocabulary of %u", i,
                           options->prompt[i], vocabulary);
    if (options->max_tokens < -1)
        return sh_fail(SH_ERR_ARGUMENT, "a limit of %lld tokens, expected -1 (none) or more",
                       (long long)options->max_tokens);
    return sh_sampling_check(&options->sampling);
}

sh_status sh_gen_open(sh_session *session, const sh_gen_options *options, sh_gen **out) {
    if (!session || !options || !out)
        return sh_fail(SH_ERR_ARGUMENT, "sh_gen_open: no session, options or place for the generator");
    *out = NULL;
    sh_status status = check(session, options);
    if (status == SH_OK) status = sh_sampler_open(&session->sampler, session->engine->config.vocabulary);
    if (status != SH_OK) return status;
    sh_gen *gen = sh_alloc(1, sizeof *gen);
    int32_t *prompt = sh_alloc(options->n_prompt, sizeof *prompt);
    if (!gen || !prompt) {
        status = sh_fail(SH_ERR_MEMORY, "out of memory for a prompt of %zu tokens", options->n_prompt);
        goto fail;
    }
    memcpy(prompt, options->prompt, options->n_prompt * sizeof *prompt);
    *gen = (sh_gen){.session = session, .options = *options, .prompt = prompt};
    gen->options.prompt = prompt;
    if ((status = sh_seq_new(session, &gen->seq)) != SH_OK) goto fail;
    gen->previous = gen->next = gen;
    if (session->generators) { /* at the end of the ring */
        gen->next = session->generators;
        gen->previous = session->generators->previous;
        gen->previous->next = gen->next->previous = gen;
    } else {
        session->generators = gen;
    }
    *out = gen;
    return SH_OK;
fail:
    sh_free(prompt);
    sh_free(gen);
    return status;
}

void sh_gen_close(sh_gen *gen) {
    if (!gen) return;
    sh_session *session = gen->session;
    if (session->generators == gen) session->generators = gen->next == gen ? NULL : gen->next;
    gen->previous->next = gen->next;
    gen->next->previous = gen->previous;
    sh_seq_free(session, gen->seq);
    sh_free(gen->prompt);
    sh_free(gen);
}

/* ---- one step -------------------------------------------------------------------------------------------- */

typedef struct step {
    sh_session *session;
    size_t n_rows;
    uint32_t pages; /* of the KV pool that no row of this step has taken */
    sh_event *events;
    size_t n_events;
} step;

/* Deals at most `most` rows to a generator: what is left of its prompt, or its latest token; as many as pages hold. */
static void deal(step *s, sh_gen *gen, size_t most) {
    sh_session *session = s->session;
    size_t room = session->info.rows - s->n_rows, left = gen->options.n_prompt - gen->fed;
    if (gen->ended || gen->n_rows || room == 0) return;
    if (most > room) most = room;
    const sh_sequence *sequence = sh_cache_find(&session->cache, gen->seq);
    size_t n = left == 0 ? 1 : left < most ? left : most;
    while (n && sh_cache_needs(&session->cache, sequence, (uint32_t)n) > s->pages) n--;
    if (n == 0) return;
    s->pages -= sh_cache_needs(&session->cache, sequence, (uint32_t)n);
    uint32_t want = gen->options.sampling.temperature == 0 ? SH_WANT_ARGMAX : SH_WANT_LOGITS;
    if (gen->options.max_tokens == 0) want = SH_WANT_NOTHING;
    gen->first_row = s->n_rows;
    gen->n_rows = n;
    for (size_t i = 0; i < n; i++) {
        bool last = left == 0 || (n == left && i + 1 == n); /* what is drawn next comes from this row */
        session->step_rows[s->n_rows++] = (sh_row){
            .token = left ? gen->prompt[gen->fed + i] : gen->token,
            .position = sequence->length + (uint32_t)i,
            .seq = gen->seq,
            .want = last ? want : SH_WANT_NOTHING,
        };
    }
}

/* Who waited comes first, with half of the rows at most; then those that write, as a long prompt must not hold them up;
 * then prompts. */
static void deal_all(step *s) {
    sh_gen *first = s->session->generators, *gen = first;
    if (gen->waiting) deal(s, gen, (s->session->info.rows + 1) / 2);
    for (int prompts = 0; prompts < 2; prompts++) {
        do {
            bool has_prompt = gen->fed < gen->options.n_prompt;
            if (has_prompt == prompts) deal(s, gen, SIZE_MAX);
        } while ((gen = gen->next) != first);
    }
}

static void emit(step *s, sh_gen *gen, sh_event event) {
    event.gen = gen;
    event.user = gen->options.user;
    event.n_prompt = gen->options.n_prompt;
    event.fed = gen->fed;
    s->events[s->n_events++] = event;
    if (event.kind == SH_EVENT_END) gen->ended = true;
}

static void end(step *s, sh_gen *gen, sh_end_reason reason, int32_t token) {
    emit(s, gen, (sh_event){.kind = SH_EVENT_END, .reason = reason, .token = token});
}

static bool ends_text(const sh_session *session, int32_t token) {
    sh_tokenizer_info text;
    sh_tokenizer_describe(session->engine->tokenizer, &text);
    for (size_t i = 0; i < text.n_ends; i++)
        if (text.ends[i] == token) return true;
    return false;
}

/* Takes a generator's results out of the pass. */
static void take(step *s, sh_gen *gen) {
    sh_session *session = s->session;
    const sh_gen_options *options = &gen->options;
    if (gen->fed < options->n_prompt) {
        gen->fed += gen->n_rows;
        emit(s, gen, (sh_event){.kind = SH_EVENT_PROMPT});
        if (gen->fed < options->n_prompt) return;
        if (options->max_tokens == 0) {
            end(s, gen, SH_END_LIMIT, -1);
            return;
        }
    }
    const sh_result *result = &session->step_results[gen->first_row + gen->n_rows - 1];
    int32_t token = result->argmax;
    if (options->sampling.temperature > 0)
        token = sh_sampler_draw(&session->sampler, &options->sampling, result->logits, options->n_prompt + gen->drawn);
    if (token < 0) {
        sh_fail(SH_ERR_FORMAT, "no token can be drawn at position %llu: every logit is NaN; the model file is damaged",
                (unsigned long long)(options->n_prompt + gen->drawn));
        end(s, gen, SH_END_FAILED, -1);
        return;
    }
    gen->token = token;
    gen->drawn++;
    if (!options->ignore_ends && ends_text(session, token)) {
        end(s, gen, SH_END_TOKEN, token);
        return;
    }
    emit(s, gen, (sh_event){.kind = SH_EVENT_TOKEN, .token = token});
    if (options->max_tokens >= 0 && gen->drawn >= (uint64_t)options->max_tokens) {
        end(s, gen, SH_END_LIMIT, -1);
    } else if (options->n_prompt + gen->drawn - 1 >= session->info.context) { /* no position is left to feed it at */
        end(s, gen, SH_END_CONTEXT, -1);
    }
}

sh_status sh_step(sh_session *session, sh_event *events, size_t capacity, size_t *n) {
    if (!session || !n || (!events && capacity))
        return sh_fail(SH_ERR_ARGUMENT, "sh_step: no session, or no place for events");
    *n = 0;
    size_t live = 0;
    sh_gen *gen = session->generators, *first = gen;
    if (gen) do {
            gen->n_rows = 0;
            live += !gen->ended;
        } while ((gen = gen->next) != first);
    if (live == 0) return SH_OK;
    if (capacity < live * EVENTS_A_GENERATOR)
        return sh_fail(SH_ERR_ARGUMENT, "sh_step: room for %zu events, but %zu generators need %zu", capacity, live,
                       live * EVENTS_A_GENERATOR);
    step s = {.session = session, .pages = session->cache.n_free, .events = events};
    deal_all(&s);
    if (s.n_rows == 0)
        return sh_fail(SH_ERR_MEMORY,
                       "the KV pool is full: none of %zu generators can go on with its %u pages in use; close one, or "
                       "open a session for more positions",
                       live, session->cache.n_pages - session->cache.n_free);
    sh_status status = sh_pass(session, session->step_rows, s.n_rows, session->step_results);
    if (status != SH_OK) return status;

    sh_gen *left_out = NULL; /* the first begins next time */
    do {
        gen->waiting = !gen->ended && gen->n_rows == 0;
        if (gen->waiting && !left_out) left_out = gen;
        if (gen->n_rows) take(&s, gen);
    } while ((gen = gen->next) != first);
    if (left_out) session->generators = left_out;
    *n = s.n_events;
    return SH_OK;
}
