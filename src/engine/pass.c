/* pass.c: one forward pass over rows of any sequences: checked, prepared, submitted once, waited for once, and only
 * then counted into the sequences.
 *
 * Until the results are there the sequences keep their lengths, so a pass that fails leaves nothing behind but
 * positions that no sequence has. */
#include "engine/session.h"

#include <string.h>

typedef struct batch {
    sh_session *session;
    const sh_row *rows;
    uint32_t n;
    uint32_t n_head;
    uint32_t n_touched;
} batch;

/* Checks each row against its sequence and the model, and fills the inputs that come from rows alone. */
static sh_status read_rows(batch *b, const sh_result *results) {
    sh_session *session = b->session;
    sh_pass_buffers *in = &session->buffers;
    uint32_t vocabulary = session->engine->config.vocabulary, context = session->info.context;
    for (uint32_t i = 0; i < b->n; i++) {
        const sh_row *row = &b->rows[i];
        sh_sequence *sequence = sh_cache_find(&session->cache, row->seq);
        if (!sequence)
            return sh_fail(SH_ERR_ARGUMENT, "row %u: sequence %u does not exist; the session has %u", i, row->seq,
                           session->cache.n_live);
        if (row->token < 0 || (uint32_t)row->token >= vocabulary)
            return sh_fail(SH_ERR_ARGUMENT, "row %u: token %d is outside the vocabulary of %u", i, row->token,
                           vocabulary);
        if (row->want & ~(uint32_t)(SH_WANT_LOGITS | SH_WANT_ARGMAX))
            return sh_fail(SH_ERR_ARGUMENT, "row %u: want %u has flags that do not exist", i, row->want);
        if (sequence->adding == 0) { /* the first row of this sequence */
            sequence->table = b->n_touched;
            in->touched[b->n_touched++] = sequence;
        }
        uint32_t expected = sequence->length + sequence->adding;
        if (row->position != expected)
            return sh_fail(SH_ERR_ARGUMENT, "row %u: position %u, but the next of sequence %u is %u", i, row->position,
                           row->seq, expected);
        if (row->position >= context)
            return sh_fail(SH_ERR_CONTEXT, "row %u: position %u is past the context of %u positions", i, row->position,
                           context);
        sequence->adding++;
        in->tokens[i] = row->token;
        in->positions[i] = row->position;
        in->tables[i] = sequence->table;
        if (row->want) {
            if (!results)
                return sh_fail(SH_ERR_ARGUMENT, "row %u wants a result, but there is no place for results", i);
            in->head_rows[b->n_head] = i;
            in->head_wants[b->n_head++] = (uint8_t)row->want;
        }
    }
    return SH_OK;
}

/* The power of two at or above n, at most `most`: passes that grow a little do not grow the buffers each time. */
static uint32_t round_up(uint32_t n, uint32_t most) {
    uint32_t rounded = 1;
    while (rounded < n) rounded *= 2;
    return rounded < most ? rounded : most;
}

/* Working buffers. Those that are there stay until their successors are. */
static sh_status reserve(batch *b) {
    sh_session *session = b->session;
    sh_engine *engine = session->engine;
    sh_pass_buffers *buffers = &session->buffers;
    sh_shape *have = &buffers->shape, shape = *have;
    if (b->n <= have->rows && b->n_head <= have->head_rows) return SH_OK;
    shape.context = session->info.context;
    if (b->n > shape.rows) shape.rows = round_up(b->n, session->info.rows);
    if (b->n_head > shape.head_rows) shape.head_rows = round_up(b->n_head, session->info.rows);
    sh_scratch *scratch;
    sh_status status = engine->backend->scratch_open(engine->device, session->plan, &shape, &scratch);
    if (status != SH_OK) return status;
    if (buffers->scratch) engine->backend->scratch_close(engine->device, buffers->scratch);
    buffers->scratch = scratch;
    *have = shape;
    session->stats.scratch_allocations++;
    return SH_OK;
}

/* KV pages for what is added, the page tables, and the angles of every row. */
static sh_status prepare(batch *b, uint32_t *stride) {
    sh_session *session = b->session;
    sh_pass_buffers *in = &session->buffers;
    *stride = 0;
    for (uint32_t t = 0; t < b->n_touched; t++) {
        sh_sequence *sequence = in->touched[t];
        sh_status status = sh_cache_prepare(&session->cache, sequence, sequence->adding);
        if (status != SH_OK) return status;
        if (sequence->n_pages > *stride) *stride = sequence->n_pages;
    }
    for (uint32_t t = 0; t < b->n_touched; t++) {
        uint32_t *table = in->page_tables + (size_t)t * *stride, n = in->touched[t]->n_pages;
        memcpy(table, in->touched[t]->pages, n * sizeof *table);
        memset(table + n, 0, (*stride - n) * sizeof *table);
    }
    uint32_t head_dim = session->engine->config.head_dim;
    for (uint32_t i = 0; i < b->n; i++)
        sh_rope_angles(&session->engine->rope, in->positions[i], in->angles + (size_t)i * head_dim);
    return SH_OK;
}

static sh_status submit(batch *b, uint32_t stride) {
    sh_session *session = b->session;
    sh_pass_buffers *in = &session->buffers;
    const sh_backend *backend = session->engine->backend;
    sh_submission submission = {
        .plan = session->plan,
        .kv = session->cache.kv,
        .scratch = in->scratch,
        .input =
            {
                .n_rows = b->n,
                .n_head = b->n_head,
                .tokens = in->tokens,
                .positions = in->positions,
                .tables = in->tables,
                .head_rows = in->head_rows,
                .head_wants = in->head_wants,
                .angles = in->angles,
                .n_tables = b->n_touched,
                .table_stride = stride,
                .page_tables = in->page_tables,
                .cancel = &session->cancel,
            },
        .output = {.logits = in->logits, .argmax = in->argmax},
    };
    session->stats.submissions++;
    sh_status status = backend->submit(session->engine->device, &submission);
    if (status == SH_OK) {
        session->stats.waits++;
        status = backend->wait(session->engine->device, &submission);
    }
    if (status != SH_OK) return status;
    session->stats.passes++;
    session->stats.rows += b->n;
    session->stats.head_rows += b->n_head;
    session->stats.bytes_up += submission.output.bytes_up;
    session->stats.bytes_up_pages += submission.output.bytes_up_pages;
    session->stats.bytes_down += submission.output.bytes_down;
    return SH_OK;
}

static void hand_out(const batch *b, sh_result *results) {
    const sh_pass_buffers *buffers = &b->session->buffers;
    for (uint32_t i = 0; results && i < b->n; i++) results[i] = (sh_result){.logits = NULL, .argmax = -1};
    for (uint32_t h = 0; h < b->n_head; h++)
        results[buffers->head_rows[h]] = (sh_result){.logits = buffers->logits[h], .argmax = buffers->argmax[h]};
}

sh_status sh_pass(sh_session *session, const sh_row *rows, size_t n, sh_result *results) {
    if (!session) return sh_fail(SH_ERR_ARGUMENT, "sh_pass: no session");
    if (n == 0 || !rows)
        return sh_fail(SH_ERR_ARGUMENT, "sh_pass: a pass of 0 rows, expected 1 to %u", session->info.rows);
    if (n > session->info.rows)
        return sh_fail(SH_ERR_ARGUMENT, "sh_pass: a pass of %zu rows, expected 1 to %u", n, session->info.rows);

    batch b = {.session = session, .rows = rows, .n = (uint32_t)n};
    uint32_t stride = 0;
    sh_status status = read_rows(&b, results);
    if (status == SH_OK) status = reserve(&b);
    if (status == SH_OK) status = prepare(&b, &stride);
    if (status == SH_OK && atomic_load(&session->cancel)) status = sh_fail(SH_ERR_CANCELLED, "the pass was cancelled");
    if (status == SH_OK) status = submit(&b, stride);
    if (status == SH_OK) hand_out(&b, results);
    if (status == SH_ERR_CANCELLED) atomic_store(&session->cancel, false);
    for (uint32_t t = 0; t < b.n_touched; t++) {
        sh_sequence *sequence = session->buffers.touched[t];
        uint32_t length = sequence->length + (status == SH_OK ? sequence->adding : 0);
        sequence->adding = 0;
        sh_cache_truncate(&session->cache, sequence, length); /* gives back pages that a failed pass had taken */
    }
    return status;
}
