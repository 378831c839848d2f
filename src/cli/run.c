/* run.c: `shohin run`: continue a text.
 *
 * Owns the loop over sh_step, the interrupt, the seed where none is given, and what is told of speed. The continuation is printed token by
 * token as far as it is certain text; with --json it is kept and printed at the end. Prompt speed counts from the first pass to the first
 * token (that pass ends the prompt), generation speed the tokens after it. */
#include "cli/cli.h"
#include "cli/json.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const cli_command *const self = &cli_command_table[CLI_ID_RUN];

typedef struct run {
    const cli_options *options;
    cli_model model;
    sh_session *session;
    sh_gen *gen;
    sh_text *text;
    int32_t *prompt; /* the library's */
    size_t n_prompt;
    sh_sampling sampling;
    bool seed_drawn;

    cli_text kept; /* with --json: the text */
    int32_t *ids;  /* drawn */
    size_t n_ids, ids_capacity;
    bool line_open; /* what was printed last does not end a line */

    sh_end_reason reason;
    int32_t end_token; /* -1 if it did not end by one */
    bool interrupted;
    double prompt_seconds, generation_seconds;
} run;

/* ---- interrupt -------------------------------------------------------------------------------------------- */

static sh_session *_Atomic interruptible;
static atomic_int handlers; /* that may hold the session */
static volatile sig_atomic_t interrupt_seen;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupt_seen = 1;
    atomic_fetch_add(&handlers, 1);
    sh_session *session = atomic_load(&interruptible);
    if (session) sh_cancel(session);
    atomic_fetch_sub(&handlers, 1);
}

/* From now on the first interrupt ends the text; a second one finds the default, which ends the program. */
static void catch_interrupt(sh_session *session) {
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    action.sa_flags = (int)(SA_RESTART | SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    atomic_store(&interruptible, session);
    if (!sigaction(SIGINT, NULL, &old) && old.sa_handler == SIG_IGN)
        return; /* nohup, or a background job of a script */
    sigaction(SIGINT, &action, NULL);
}

/* The handler runs on whichever thread the system picks, a worker too: after this none can reach the session any more. In the order
 * that all threads see, either it is counted before we look, or it looks after the session is gone. */
static void release_interrupt(void) {
    atomic_store(&interruptible, NULL);
    while (atomic_load(&handlers)) sched_yield();
}

/* ---- what to run ------------------------------------------------------------------------------------------ */

/* 32 bits: enough to tell texts apart, few enough to type, and exact in every reader of JSON. */
static bool draw_seed(uint64_t *seed) {
    uint32_t drawn;
    ssize_t n;
    do n = getrandom(&drawn, sizeof drawn, 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof drawn) {
        cli_fail("drawing a seed: %s; give one by --seed", n < 0 ? strerror(errno) : "too few random bytes");
        return false;
    }
    *seed = drawn;
    return true;
}

static bool choose_sampling(run *r, sh_sampling *sampling) {
    const cli_options *o = r->options;
    if (o->temperature >= 0) sampling->temperature = (float)o->temperature;
    if (o->top_k >= 0) sampling->top_k = (uint32_t)o->top_k;
    if (o->top_p >= 0) sampling->top_p = (float)o->top_p;
    if (o->min_p >= 0) sampling->min_p = (float)o->min_p;
    sampling->seed = o->seed;
    if (!o->seed_given) {
        r->seed_drawn = sampling->temperature > 0; /* without a draw there is no seed to tell */
        sampling->seed = 0;
        if (r->seed_drawn && !draw_seed(&sampling->seed)) return false;
    }
    r->sampling = *sampling;
    return true;
}

static bool read_prompt(run *r, const cli_text *text) {
    uint32_t flags = (r->options->special ? SH_TOKENIZE_SPECIAL : 0) | (r->options->no_bos ? 0 : SH_TOKENIZE_BOS);
    if (sh_tokenize(r->model.tokenizer, text->bytes, text->length, flags, &r->prompt, &r->n_prompt)) {
        cli_fail_library();
        return false;
    }
    if (r->n_prompt) return true;
    cli_fail("the text is empty, and %s; give some text",
             r->options->no_bos ? "--no-bos leaves nothing to start from" : "this model starts from no BOS token");
    return false;
}

static bool prepare(run *r, const cli_text *text) {
    sh_gen_options with;
    if (!cli_model_open(r->options, &r->model) || !read_prompt(r, text)) return false;
    if (!cli_session_open(r->options, &r->model, &r->session)) return false;
    sh_gen_options_default(r->model.engine, &with);
    with.prompt = r->prompt;
    with.n_prompt = r->n_prompt;
    with.max_tokens = r->options->predict;
    with.ignore_ends = r->options->ignore_ends;
    if (!choose_sampling(r, &with.sampling)) return false;
    if (!sh_gen_open(r->session, &with, &r->gen) && !sh_text_open(r->model.tokenizer, 0, &r->text)) return true;
    cli_fail_library();
    return false;
}

/* ---- the text --------------------------------------------------------------------------------------------- */

static bool put(run *r, const char *utf8, size_t length) {
    if (!length) return true;
    r->line_open = utf8[length - 1] != '\n';
    if (r->options->json) return cli_text_add(&r->kept, utf8, length);
    return cli_write(utf8, length) && cli_flush(); /* output.c tells why at the end */
}

static bool put_token(run *r, int32_t id) {
    const char *utf8;
    size_t length;
    if (!sh_text_push(r->text, id, &utf8, &length)) return put(r, utf8, length);
    cli_fail_library();
    return false;
}

static bool keep_id(run *r, int32_t id) {
    if (r->n_ids == r->ids_capacity) {
        size_t capacity = r->ids_capacity ? r->ids_capacity * 2 : 256;
        int32_t *larger = realloc(r->ids, capacity * sizeof *larger);
        if (!larger) {
            cli_fail("out of memory for %zu tokens", capacity);
            return false;
        }
        r->ids = larger;
        r->ids_capacity = capacity;
    }
    r->ids[r->n_ids++] = id;
    return true;
}

static bool take_event(run *r, const sh_event *event) {
    switch (event->kind) {
    case SH_EVENT_PROMPT: cli_progress_set(event->fed); return true;
    case SH_EVENT_TOKEN: return keep_id(r, event->token) && put_token(r, event->token);
    case SH_EVENT_END:
        r->reason = event->reason;
        if (event->reason == SH_END_TOKEN) r->end_token = event->token;
        if (event->reason == SH_END_FAILED) cli_fail_library();
        return event->reason != SH_END_FAILED;
    }
    return true;
}

static bool generate(run *r) {
    sh_event events[4];
    size_t n;
    double start = cli_now(), first = 0;
    r->end_token = -1;
    catch_interrupt(r->session);
    cli_progress_begin("reading the prompt", r->n_prompt, "tokens");
    for (;;) {
        sh_status status = interrupt_seen ? SH_ERR_CANCELLED : sh_step(r->session, events, 4, &n);
        double now = cli_now();
        if (status == SH_ERR_CANCELLED && interrupt_seen) {
            r->interrupted = true;
            break;
        }
        if (status) {
            cli_progress_end();
            cli_fail_library();
            return false;
        }
        if (!n) break;
        bool prompt_only = true;
        for (size_t i = 0; i < n; i++) prompt_only = prompt_only && events[i].kind == SH_EVENT_PROMPT;
        if (!prompt_only && !first) {
            cli_progress_end();
            first = now;
            r->prompt_seconds = now - start;
        }
        for (size_t i = 0; i < n; i++)
            if (!take_event(r, &events[i])) return false;
        if (first) r->generation_seconds = now - first;
    }
    cli_progress_end();
    return true;
}

static bool end_text(run *r) {
    const char *utf8;
    size_t length;
    sh_text_finish(r->text, &utf8, &length);
    if (!put(r, utf8, length)) return false;
    if (!r->options->json && r->line_open) put(r, "\n", 1);
    return true;
}

static bool echo_prompt(run *r) {
    for (size_t i = 0; i < r->n_prompt; i++)
        if (!put_token(r, r->prompt[i])) return false;
    return true;
}

/* ---- what is told at the end ------------------------------------------------------------------------------ */

static double prompt_speed(const run *r) {
    return r->prompt_seconds > 0 ? (double)r->n_prompt / r->prompt_seconds : 0;
}

/* Of the tokens after the first, which the prompt's last pass gave. */
static double generation_speed(const run *r) {
    return r->n_ids > 1 && r->generation_seconds > 0 ? (double)(r->n_ids - 1) / r->generation_seconds : 0;
}

static const char *reason_name(const run *r) {
    if (r->interrupted) return "cancelled";
    switch (r->reason) {
    case SH_END_TOKEN: return "end";
    case SH_END_LIMIT: return "limit";
    case SH_END_CONTEXT: return "context";
    case SH_END_FAILED: return "failed";
    case SH_END_NONE: break;
    }
    return "none";
}

static void tell_stats(const run *r) {
    sh_session_stats s;
    sh_session_get_stats(r->session, &s);
    cli_tell("model       %s", r->model.path);
    cli_tell("load        %.3f s", r->model.load_seconds);
    cli_tell("prompt      %zu tokens, %.3f s, %.2f tokens/s", r->n_prompt, r->prompt_seconds, prompt_speed(r));
    if (r->n_ids > 1)
        cli_tell("generation  %zu tokens, %.3f s, %.2f tokens/s", r->n_ids - 1, r->generation_seconds,
                 generation_speed(r));
    else
        cli_tell("generation  none after the first token");
    if (r->sampling.temperature > 0)
        cli_tell("sampling    seed %llu, temp %g, top-k %u, top-p %g, min-p %g", (unsigned long long)r->sampling.seed,
                 (double)r->sampling.temperature, r->sampling.top_k, (double)r->sampling.top_p,
                 (double)r->sampling.min_p);
    else
        cli_tell("sampling    none: the likeliest token each time");
    cli_tell("passes      %llu (%llu rows, %llu through the head), %llu submissions, %llu waits",
             (unsigned long long)s.passes, (unsigned long long)s.rows, (unsigned long long)s.head_rows,
             (unsigned long long)s.submissions, (unsigned long long)s.waits);
    cli_tell("device      %llu bytes up and %llu of page tables, %llu down, %llu scratch allocations",
             (unsigned long long)s.bytes_up, (unsigned long long)s.bytes_up_pages, (unsigned long long)s.bytes_down,
             (unsigned long long)s.scratch_allocations);
    cli_tell("KV pages    %llu in use, %llu copied", (unsigned long long)s.pages_used,
             (unsigned long long)s.pages_copied);
    cli_tell("end         %s", reason_name(r));
}

static void put_ids_json(const char *key, const int32_t *ids, size_t n) {
    cli_json_open(key, '[');
    for (size_t i = 0; i < n; i++) cli_json_integer(NULL, ids[i]);
    cli_json_close();
}

static void put_timings_json(const run *r) {
    cli_json_open("timings", '{');
    cli_json_real("load_s", r->model.load_seconds);
    cli_json_unsigned("prompt_tokens", r->n_prompt);
    cli_json_real("prompt_s", r->prompt_seconds);
    if (prompt_speed(r) > 0) cli_json_real("prompt_tokens_per_s", prompt_speed(r));
    cli_json_unsigned("generated_tokens", r->n_ids);
    cli_json_real("generation_s", r->generation_seconds);
    if (generation_speed(r) > 0) cli_json_real("generation_tokens_per_s", generation_speed(r));
    cli_json_close();
}

static void put_sampling_json(const run *r) {
    cli_json_open("sampling", '{');
    cli_json_real("temp", r->sampling.temperature);
    cli_json_unsigned("top_k", r->sampling.top_k);
    cli_json_real("top_p", r->sampling.top_p);
    cli_json_real("min_p", r->sampling.min_p);
    cli_json_close();
}

static void put_stats_json(const run *r) {
    sh_session_stats s;
    sh_session_get_stats(r->session, &s);
    cli_json_open("stats", '{');
    cli_json_unsigned("passes", s.passes);
    cli_json_unsigned("submissions", s.submissions);
    cli_json_unsigned("waits", s.waits);
    cli_json_unsigned("rows", s.rows);
    cli_json_unsigned("head_rows", s.head_rows);
    cli_json_unsigned("scratch_allocations", s.scratch_allocations);
    cli_json_unsigned("bytes_up", s.bytes_up);
    cli_json_unsigned("bytes_up_pages", s.bytes_up_pages);
    cli_json_unsigned("bytes_down", s.bytes_down);
    cli_json_unsigned("pages_used", s.pages_used);
    cli_json_unsigned("pages_copied", s.pages_copied);
    cli_json_close();
}

static void put_json(const run *r) {
    cli_json_open(NULL, '{');
    cli_json_string("model", r->model.path);
    put_ids_json("prompt_ids", r->prompt, r->n_prompt);
    put_ids_json("ids", r->ids, r->n_ids);
    cli_json_text("text", r->kept.bytes, r->kept.length);
    cli_json_string("reason", reason_name(r));
    if (r->end_token >= 0) cli_json_integer("end_token", r->end_token);
    if (r->sampling.temperature > 0) cli_json_unsigned("seed", r->sampling.seed);
    put_sampling_json(r);
    put_timings_json(r);
    if (r->options->stats) put_stats_json(r);
    cli_json_close();
}

static void tell_end(const run *r) {
    if (!r->interrupted && r->reason == SH_END_CONTEXT)
        cli_note("the context is full: %zu tokens of prompt and %zu of text; -c makes room for more", r->n_prompt,
                 r->n_ids);
    if (r->options->stats && !r->options->json) tell_stats(r);
    if (r->seed_drawn && r->n_ids && !r->options->stats && !r->options->json) /* both tell it */
        cli_note("seed %llu; --seed %llu gives this text again", (unsigned long long)r->sampling.seed,
                 (unsigned long long)r->sampling.seed);
}

int cli_run(const cli_options *options) {
    cli_text text;
    run r = {.options = options};
    int status = cli_read_text(self, options, true, &text);
    if (status) return status;
    status = CLI_FAILED;
    if (!prepare(&r, &text)) goto done;
    if (options->echo && !echo_prompt(&r)) goto done;
    if (!generate(&r) || !end_text(&r)) goto done;
    if (options->json) put_json(&r);
    cli_flush();
    tell_end(&r);
    status = r.interrupted ? CLI_SIGNAL + SIGINT : CLI_DONE;
done:
    release_interrupt();
    cli_progress_end();
    cli_text_free(&r.kept);
    free(r.ids);
    sh_text_close(r.text);
    sh_gen_close(r.gen);
    sh_session_close(r.session);
    sh_free(r.prompt);
    cli_model_close(&r.model);
    cli_text_free(&text);
    return status;
}
