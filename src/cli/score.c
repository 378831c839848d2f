/* score.c: `shohin score`: how likely the model finds a text.
 *
 * Row i of a text is its token i; its logits tell of token i + 1. A text longer than the context is read in windows of that size. The first
 * window keeps all its rows; each later one adds `stride` rows behind as many earlier tokens as fit, which are fed for context
 * only, and begins with the BOS token if the text does. So each row is kept once, and each token but the first is scored once.
 *
 * JSON is printed as it is made: a text of any length takes the memory of one window. Logits are asked for in few rows at a time, as each
 * row has as many as the vocabulary. Sums are in double precision, in the order of ids and rows. */
#include "cli/cli.h"
#include "cli/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOGIT_ROWS = 32, TOP_IN_JSON = 10 };

static const cli_command *const self = &cli_command_table[CLI_ID_SCORE];

typedef struct candidate {
    int32_t id;
    float logit;
} candidate;

typedef struct score {
    const cli_options *options;
    cli_model model;
    sh_session *session;
    sh_seq seq;
    uint32_t vocabulary, window, chunk; /* rows of a window, of a pass that wants logits */
    size_t stride;                      /* rows that a window after the first adds */
    bool bos;                           /* the text begins with BOS, and so does every window */
    int32_t *ids;                       /* of the text; `library_ids` or the options' */
    int32_t *library_ids;
    size_t n;
    size_t windows;
    sh_row *rows; /* [batch] */
    sh_result *results;
    candidate *top; /* [n_top] of the row at hand */
    uint32_t n_top;
    /* of the scored tokens */
    size_t scored;
    double sum, mean, squares; /* of the negative log-likelihoods: sum; running mean and squared deviations (Welford) */
} score;

/* ---- one row ---------------------------------------------------------------------------------------------- */

/* log of the sum of exponentials; NaN if any logit is. */
static double log_sum_exp(const float *logits, uint32_t n) {
    double largest = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (isnan(logits[i])) return NAN;
        if (logits[i] > largest) largest = logits[i];
    }
    if (isinf(largest)) return largest;
    for (uint32_t i = 0; i < n; i++) sum += exp((double)logits[i] - largest);
    return largest + log(sum);
}

/* The n largest, best first; ties go to the lower id, a NaN never gets in. */
static uint32_t find_top(const float *logits, uint32_t vocabulary, candidate *top, uint32_t n) {
    uint32_t found = 0;
    for (uint32_t i = 0; n && i < vocabulary; i++) {
        if (isnan(logits[i]) || (found == n && logits[i] <= top[n - 1].logit)) continue;
        uint32_t at = found < n ? found++ : n - 1;
        for (; at && top[at - 1].logit < logits[i]; at--) top[at] = top[at - 1];
        top[at] = (candidate){(int32_t)i, logits[i]};
    }
    return found;
}

static void count(score *s, double nll) {
    s->scored++;
    s->sum += nll;
    double deviation = nll - s->mean;
    s->mean += deviation / (double)s->scored;
    s->squares += deviation * (nll - s->mean);
}

/* A line for each: two results are held against each other by diff. */
static void put_position_json(const score *s, size_t row, uint32_t found, double lse, double next) {
    cli_json_break();
    cli_json_open(NULL, '{');
    cli_json_open("top", '[');
    for (uint32_t i = 0; i < found; i++) {
        cli_json_open(NULL, '[');
        cli_json_integer(NULL, s->top[i].id);
        cli_json_real(NULL, s->top[i].logit);
        cli_json_close();
    }
    cli_json_close();
    cli_json_real("lse", lse);
    if (row + 1 < s->n) cli_json_real("next_logprob", next);
    cli_json_close();
}

static void put_token(const score *s, int32_t id) {
    const char *bytes;
    size_t length;
    if (sh_token_bytes(s->model.tokenizer, id, &bytes, &length)) {
        cli_print("?"); /* a row of the embedding past the tokenizer's last token */
        return;
    }
    cli_print("\"");
    cli_print_safe(bytes, length, true);
    cli_print("\"");
}

static void put_position_text(const score *s, size_t row, uint32_t found, double lse, double next) {
    cli_print("%zu  %d ", row, s->ids[row]);
    put_token(s, s->ids[row]);
    if (row + 1 < s->n) cli_print("  next %.6f", next);
    cli_print("\n");
    for (uint32_t i = 0; i < found; i++) {
        cli_print("    %10.6f  %10.6f  %d ", (double)s->top[i].logit, (double)s->top[i].logit - lse, s->top[i].id);
        put_token(s, s->top[i].id);
        cli_print("\n");
    }
}

static void take_row(score *s, size_t row, const float *logits) {
    double lse = log_sum_exp(logits, s->vocabulary), next = NAN;
    if (row + 1 < s->n) {
        next = (double)logits[s->ids[row + 1]] - lse;
        count(s, -next);
    }
    uint32_t found = find_top(logits, s->vocabulary, s->top, s->n_top);
    if (s->options->json)
        put_position_json(s, row, found, lse, next);
    else if (s->n_top)
        put_position_text(s, row, found, lse, next);
}

/* ---- windows ---------------------------------------------------------------------------------------------- */

/* Feeds tokens [from, to) of the text; of the rows from `keep` on the logits are taken. `position` is that of token `from`. */
static bool feed(score *s, size_t from, size_t to, size_t keep, uint32_t position) {
    while (from < to) {
        bool wanted = from >= keep;
        size_t n = wanted ? to - from : (keep < to ? keep : to) - from,
               most = wanted ? s->chunk : (size_t)s->options->batch;
        if (n > most) n = most;
        for (size_t i = 0; i < n; i++)
            s->rows[i] = (sh_row){.token = s->ids[from + i],
                                  .position = position + (uint32_t)i,
                                  .seq = s->seq,
                                  .want = wanted ? SH_WANT_LOGITS : SH_WANT_NOTHING};
        if (sh_pass(s->session, s->rows, n, s->results)) {
            cli_progress_end();
            cli_fail_library();
            return false;
        }
        for (size_t i = 0; wanted && i < n; i++) take_row(s, from + i, s->results[i].logits);
        if (wanted && (s->options->json || s->n_top) && !cli_flush()) return false; /* output.c tells why at the end */
        from += n;
        position += (uint32_t)n;
        if (wanted) cli_progress_set(from);
    }
    return true;
}

static bool score_windows(score *s) {
    size_t kept = s->n < s->window ? s->n : s->window;
    uint32_t bos = s->bos;
    s->windows = 1;
    if (!feed(s, 0, kept, 0, 0)) return false;
    while (kept < s->n) {
        size_t end = s->n - kept < s->stride ? s->n : kept + s->stride, before = s->window - bos - s->stride;
        size_t begin = kept - before; /* before < window <= kept */
        s->windows++;
        if (sh_seq_truncate(s->session, s->seq, bos)) { /* BOS stays where it is */
            cli_progress_end();
            cli_fail_library();
            return false;
        }
        if (!feed(s, begin, end, kept, bos)) return false;
        kept = end;
    }
    return true;
}

/* ---- what comes in and out -------------------------------------------------------------------------------- */

static bool choose_ids(score *s, const cli_text *text) {
    const cli_options *o = s->options;
    if (o->ids) {
        s->ids = o->ids;
        s->n = o->n_ids;
        for (size_t i = 0; i < s->n; i++) {
            if ((uint32_t)s->ids[i] < s->vocabulary) continue;
            cli_fail("--ids: token %zu is %d, and the model's are 0 to %u", i, s->ids[i], s->vocabulary - 1);
            return false;
        }
        return true;
    }
    uint32_t flags = (o->special ? SH_TOKENIZE_SPECIAL : 0) | (o->no_bos ? 0 : SH_TOKENIZE_BOS);
    if (sh_tokenize(s->model.tokenizer, text->bytes, text->length, flags, &s->library_ids, &s->n)) {
        cli_fail_library();
        return false;
    }
    s->ids = s->library_ids;
    if (s->n) return true;
    cli_fail("the text is empty: there is nothing to score");
    return false;
}

static bool choose_windows(score *s) {
    sh_session_info info;
    sh_session_describe(s->session, &info);
    sh_tokenizer_info text;
    sh_tokenizer_describe(s->model.tokenizer, &text);
    s->window = info.context;
    s->bos = text.add_bos && text.bos >= 0 && s->ids[0] == text.bos;
    size_t room = s->window - s->bos;
    s->stride = s->options->stride ? (size_t)s->options->stride : s->window / 2;
    if (!s->stride) s->stride = 1;
    if (s->n <= s->window) return true; /* one window: the stride is of no concern */
    if (!room) {
        cli_fail("a context of 1 token leaves no room behind BOS for a text of %zu; make it larger (-c)", s->n);
        return false;
    }
    if (s->stride > room) {
        cli_fail("--stride %zu: a window has room for %zu tokens%s; give a smaller stride or a larger context (-c)",
                 s->stride, room, s->bos ? " behind BOS" : "");
        return false;
    }
    return true;
}

static bool prepare(score *s, const cli_text *text) {
    sh_engine_info info;
    if (!cli_model_open(s->options, &s->model)) return false;
    sh_engine_describe(s->model.engine, &info);
    s->vocabulary = info.vocabulary;
    if (!choose_ids(s, text) || !cli_session_open(s->options, &s->model, &s->session) || !choose_windows(s))
        return false;
    if (sh_seq_new(s->session, &s->seq)) {
        cli_fail_library();
        return false;
    }
    s->chunk = s->options->batch < LOGIT_ROWS ? (uint32_t)s->options->batch : LOGIT_ROWS;
    s->n_top = s->options->top >= 0 ? (uint32_t)s->options->top : s->options->json ? TOP_IN_JSON : 0;
    if (s->n_top > s->vocabulary) s->n_top = s->vocabulary;
    s->rows = calloc((size_t)s->options->batch, sizeof *s->rows);
    s->results = calloc((size_t)s->options->batch, sizeof *s->results);
    s->top = calloc((size_t)s->n_top + 1, sizeof *s->top);
    if (s->rows && s->results && s->top) return true;
    cli_fail("out of memory for passes of %lld tokens; use fewer (-b)", (long long)s->options->batch);
    return false;
}

/* Of the mean: the square root of the variance over the number; NaN for fewer than two. */
static double standard_error(const score *s) {
    if (s->scored < 2) return NAN;
    return sqrt(s->squares / (double)(s->scored - 1) / (double)s->scored);
}

static void put_totals_text(const score *s) {
    double nll = s->sum / (double)s->scored, error = standard_error(s);
    cli_print("tokens      %zu, %zu scored\n", s->n, s->scored);
    cli_print("windows     %zu of %u tokens", s->windows, s->window);
    if (s->windows > 1) cli_print(", stride %zu", s->stride);
    cli_print("\n");
    if (!s->scored) return;
    cli_print("nll         %.6f", nll);
    if (s->scored > 1) cli_print(" +- %.6f", error);
    cli_print("\nperplexity  %.6f", exp(nll));
    if (s->scored > 1) cli_print(" +- %.6f", exp(nll) * error); /* to first order: d exp(x) = exp(x) dx */
    cli_print("\n");
}

static void put_head_json(const score *s) {
    cli_json_open(NULL, '{');
    cli_json_open("ids", '[');
    for (size_t i = 0; i < s->n; i++) cli_json_integer(NULL, s->ids[i]);
    cli_json_close();
    cli_json_break();
    cli_json_open("positions", '[');
}

static void put_totals_json(const score *s) {
    double nll = s->sum / (double)s->scored, error = standard_error(s);
    cli_json_close();
    cli_json_break();
    cli_json_unsigned("scored", s->scored);
    cli_json_unsigned("windows", s->windows);
    cli_json_unsigned("window", s->window);
    if (s->windows > 1) cli_json_unsigned("stride", s->stride);
    if (s->scored) {
        cli_json_real("nll", nll);
        cli_json_real("ppl", exp(nll));
    }
    if (s->scored > 1) {
        cli_json_real("nll_stderr", error);
        cli_json_real("ppl_stderr", exp(nll) * error);
    }
    cli_json_close();
}

static bool run(score *s, const cli_text *text) {
    if (!prepare(s, text)) return false;
    if (s->options->json) put_head_json(s);
    cli_progress_begin("scoring", s->n, "tokens");
    bool ok = score_windows(s);
    cli_progress_end();
    if (!ok) return false;
    if (s->options->json)
        put_totals_json(s);
    else
        put_totals_text(s);
    return true;
}

int cli_score(const cli_options *options) {
    cli_text text = {NULL, 0, 0};
    score s = {.options = options};
    if (options->ids && (options->prompt || options->file || options->n_words))
        return cli_wrong(self, "--ids and a text: give one of them");
    if (options->ids && (options->no_bos || options->special))
        return cli_wrong(self, "%s: --ids takes the ids as they are", options->no_bos ? "--no-bos" : "--special");
    int status = options->ids ? CLI_DONE : cli_read_text(self, options, false, &text);
    if (status) return status;
    status = run(&s, &text) ? CLI_DONE : CLI_FAILED;
    free(s.rows);
    free(s.results);
    free(s.top);
    sh_session_close(s.session);
    sh_free(s.library_ids);
    cli_model_close(&s.model);
    cli_text_free(&text);
    return status;
}
