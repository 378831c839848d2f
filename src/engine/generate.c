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
    sh_event *events;
    size_t n_events;
} step;

/* Deals rows to a generator: what is left of its prompt, or its latest token. */
static void deal(step *s, sh_gen *gen) {
    size_t room = s->session->info.rows - s->n_rows, left = gen->options.n_prompt - gen->fed;
    size_t n = left == 0 ? 1 : left < room ? left : room;
    uint32_t want = gen->options.sampling.temperature == 0 ? SH_WANT_ARGMAX : SH_WANT_LOGITS;
    if (gen->options.max_tokens == 0) want = SH_WANT_NOTHING;
    uint32_t length = (uint32_t)(gen->fed + (gen->drawn ? gen->drawn - 1 : 0));
    gen->first_row = s->n_rows;
    gen->n_rows = n;
    for (size_t i = 0; i < n; i++) {
        s->session->step_rows[s->n_rows++] = (sh_row){
            .token = left ? gen->prompt[gen->fed + i] : gen->token,
            .position = length + (uint32_t)i,
            .seq = gen->seq,
            .want = (left ? n == left && i + 1 == n : true) ? want : SH_WANT_NOTHING,
        };
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
static sh_status take(step *s, sh_gen *gen) {
    sh_session *session = s->session;
    const sh_gen_options *options = &gen->options;
    if (gen->fed < options->n_prompt) {
        gen->fed += gen->n_rows;
        emit(s, gen, (sh_event){.kind = SH_EVENT_PROMPT});
        if (gen->fed < options->n_prompt) return SH_OK;
        if (options->max_tokens == 0) {
            end(s, gen, SH_END_LIMIT, -1);
            return SH_OK;
        }
    }
    const sh_result *result = &session->step_results[gen->first_row + gen->n_rows - 1];
    int32_t token = result->argmax;
    if (options->sampling.temperature > 0)
        token = sh_sampler_draw(&session->sampler, &options->sampling, result->logits, options->n_prompt + gen->drawn);
    if (token < 0) {
        gen->ended = true;
        return sh_fail(SH_ERR_FORMAT,
                       "no token can be drawn at position %llu: every logit is NaN; the model file is damaged",
                       (unsigned long long)(options->n_prompt + gen->drawn));
    }
    gen->token = token;
    gen->drawn++;
    if (!options->ignore_ends && ends_text(session, token)) {
        end(s, gen, SH_END_TOKEN, token);
        return SH_OK;
    }
    emit(s, gen, (sh_event){.kind = SH_EVENT_TOKEN, .token = token});
    if (options->max_tokens >= 0 && gen->drawn >= (uint64_t)options->max_tokens) {
        end(s, gen, SH_END_LIMIT, -1);
    } else if (options->n_prompt + gen->drawn - 1 >= session->info.context) { /* no position is left to feed it at */
        end(s, gen, SH_END_CONTEXT, -1);
    }
    return SH_OK;
}

sh_status sh_step(sh_session *session, sh_event *events, size_t capacity, size_t *n) {
    if (!session || !n || (!events && capacity))
        return sh_fail(SH_ERR_ARGUMENT, "sh_step: no session, or no place for events");
    *n = 0;
    step s = {.session = session, .events = events};
    size_t live = 0;
    sh_gen *gen = session->generators;
    if (gen) do {
            gen->n_rows = 0;
            live += !gen->ended;
        } while ((gen = gen->next) != session->generators);
    if (live == 0) return SH_OK;
    if (capacity < live * EVENTS_A_GENERATOR)
        return sh_fail(SH_ERR_ARGUMENT, "sh_step: room for %zu events, but %zu generators need %zu", capacity, live,
                       live * EVENTS_A_GENERATOR);

    /* Those that write come first: a long prompt must not hold up the others. */
    for (int prompts = 0; prompts < 2; prompts++) {
        gen = session->generators;
        do {
            bool has_prompt = gen->fed < gen->options.n_prompt;
            if (!gen->ended && has_prompt == prompts && s.n_rows < session->info.rows) deal(&s, gen);
        } while ((gen = gen->next) != session->generators);
    }
    sh_status status = sh_pass(session, session->step_rows, s.n_rows, session->step_results);
    if (status != SH_OK) return status;

    sh_gen *unserved = NULL; /* begins next time, so that all get their turn where rows are few */
    gen = session->generators;
    do {
        if (gen->n_rows) {
            sh_status taken = take(&s, gen);
            if (status == SH_OK) status = taken;
        } else if (!gen->ended && !unserved) {
            unserved = gen;
        }
    } while ((gen = gen->next) != session->generators);
    if (unserved) session->generators = unserved;
    *n = s.n_events;
    return status;
}
