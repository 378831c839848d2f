/* session.c: opening a session, and the public calls on its sequences. See session.h. */
#include "engine/session.h"

#include "base/memory.h"
#include "engine/generate.h"

#include <inttypes.h>

enum { MAX_SEQUENCES = 4096, MAX_ROWS = 65536 };

void sh_session_options_default(sh_session_options *options) {
    if (options) *options = (sh_session_options){.sequences = 16, .rows = 512};
}

/* What a session is to hold: as asked, or the context that the file promises as far as half of the free memory holds
 * it. Memory is reserved now and committed page by page, so what could never be committed is refused now. */
static sh_status choose_size(const sh_engine *engine, const sh_session_options *options, sh_session_info *info,
                             sh_cache_options *cache) {
    uint32_t promised = engine->config.context;
    uint64_t page_bytes = engine->backend->kv_page_bytes(engine->device, &(sh_kv_options){.net = &engine->list.net});
    info->free_memory = engine->backend->free_memory(engine->device);
    uint64_t affordable = info->free_memory / page_bytes;
    info->context = options->context ? options->context : promised;
    if (!options->context && sh_pages_for(promised) > affordable / 2) {
        info->context = (uint32_t)(affordable / 2) * SH_PAGE_POSITIONS;
        info->cut_from = promised;
    }
    if (info->context == 0)
        return sh_fail(SH_ERR_MEMORY,
                       "%d positions need %" PRIu64 " MiB for keys and values, more than half of the %" PRIu64
                       " MiB that are free",
                       SH_PAGE_POSITIONS, page_bytes >> 20, info->free_memory >> 20);
    uint64_t positions = options->positions ? options->positions : info->context;
    if (sh_pages_for(positions) > affordable)
        return sh_fail(SH_ERR_MEMORY,
                       "%" PRIu64 " positions need %" PRIu64 " MiB for keys and values, but only %" PRIu64
                       " MiB are free: enough for %" PRIu64 " positions; ask for a smaller context (-c)",
                       positions, (uint64_t)((double)sh_pages_for(positions) * (double)page_bytes / 0x1p20),
                       info->free_memory >> 20, affordable * SH_PAGE_POSITIONS);
    if (info->context > promised)
        sh_log(SH_LOG_WARN, "a context of %u positions is more than the %u that the model was made for", info->context,
               promised);
    /* A page more for each further sequence: the partly filled end of a shared prefix becomes its own when written. */
    uint64_t pages = sh_pages_for(positions) + options->sequences - 1;
    if (pages > UINT32_MAX) return sh_fail(SH_ERR_ARGUMENT, "a pool of %" PRIu64 " positions is too large", positions);
    *cache = (sh_cache_options){
        .pages = (uint32_t)pages,
        .max_pages = (uint32_t)sh_pages_for(info->context),
        .sequences = options->sequences,
    };
    info->kv_bytes = pages * page_bytes;
    return SH_OK;
}

static sh_status open_buffers(sh_session *session) {
    sh_pass_buffers *b = &session->buffers;
    uint32_t rows = session->info.rows, sequences = session->info.sequences;
    uint32_t in_a_pass = rows < sequences ? rows : sequences;
    b->tokens = sh_alloc(rows, sizeof *b->tokens);
    b->positions = sh_alloc(rows, sizeof *b->positions);
    b->tables = sh_alloc(rows, sizeof *b->tables);
    b->head_rows = sh_alloc(rows, sizeof *b->head_rows);
    b->head_wants = sh_alloc(rows, sizeof *b->head_wants);
    b->logits = sh_alloc(rows, sizeof *b->logits);
    b->argmax = sh_alloc(rows, sizeof *b->argmax);
    b->angles = sh_alloc((size_t)rows * session->engine->config.head_dim, sizeof *b->angles);
    b->page_tables = sh_alloc((size_t)in_a_pass * session->cache.max_pages, sizeof *b->page_tables);
    b->touched = sh_alloc(in_a_pass, sizeof(sh_sequence *));
    session->step_rows = sh_alloc(rows, sizeof *session->step_rows);
    session->step_results = sh_alloc(rows, sizeof *session->step_results);
    if (!b->tokens || !b->positions || !b->tables || !b->head_rows || !b->head_wants || !b->logits || !b->argmax ||
        !b->angles || !b->page_tables || !b->touched || !session->step_rows || !session->step_results)
        return sh_fail(SH_ERR_MEMORY, "out of memory for passes of %u rows; use fewer (-b)", rows);
    return SH_OK;
}

sh_status sh_session_open(sh_engine *engine, const sh_session_options *options, sh_session **out) {
    if (!engine || !out) return sh_fail(SH_ERR_ARGUMENT, "sh_session_open: no engine, or no place for the session");
    *out = NULL;
    sh_session_options defaults;
    sh_session_options_default(&defaults);
    if (!options) options = &defaults;
    if (options->sequences < 1 || options->sequences > MAX_SEQUENCES)
        return sh_fail(SH_ERR_ARGUMENT, "%u sequences are outside 1 to %d", options->sequences, MAX_SEQUENCES);
    if (options->rows < 1 || options->rows > MAX_ROWS)
        return sh_fail(SH_ERR_ARGUMENT, "%u rows a pass are outside 1 to %d", options->rows, MAX_ROWS);
    if (options->context > SH_MAX_CONTEXT)
        return sh_fail(SH_ERR_ARGUMENT, "a context of %u positions is more than %d", options->context, SH_MAX_CONTEXT);

    sh_session *session = sh_alloc_aligned(sizeof *session);
    if (!session) return sh_fail(SH_ERR_MEMORY, "out of memory for a session");
    *session = (sh_session){.engine = engine, .info = {.rows = options->rows, .sequences = options->sequences}};
    atomic_init(&session->cancel, false);
    sh_cache_options cache;
    sh_status status = choose_size(engine, options, &session->info, &cache);
    if (status == SH_OK)
        status = sh_cache_open(&session->cache, engine->backend, engine->device, &engine->list.net, &cache);
    if (status != SH_OK) goto fail;
    if ((status = engine->backend->plan_open(engine->device, &engine->list, !options->unmerged, &session->plan)) !=
        SH_OK)
        goto fail;
    if ((status = open_buffers(session)) != SH_OK) goto fail;
    *out = session;
    return SH_OK;
fail:
    sh_session_close(session);
    return status;
}

void sh_session_close(sh_session *session) {
    if (!session) return;
    while (session->generators) sh_gen_close(session->generators);
    sh_engine *engine = session->engine;
    sh_pass_buffers *b = &session->buffers;
    if (b->scratch) engine->backend->scratch_close(engine->device, b->scratch);
    sh_free(b->tokens);
    sh_free(b->positions);
    sh_free(b->tables);
    sh_free(b->head_rows);
    sh_free(b->head_wants);
    sh_free(b->angles);
    sh_free(b->page_tables);
    sh_free(b->touched);
    sh_free(b->logits);
    sh_free(b->argmax);
    sh_free(session->step_rows);
    sh_free(session->step_results);
    sh_sampler_close(&session->sampler);
    if (session->plan) engine->backend->plan_close(engine->device, session->plan);
    sh_cache_close(&session->cache);
    sh_free(session);
}

void sh_session_describe(const sh_session *session, sh_session_info *info) {
    if (info) *info = session ? session->info : (sh_session_info){0};
}

void sh_session_get_stats(const sh_session *session, sh_session_stats *stats) {
    if (!stats) return;
    *stats = session ? session->stats : (sh_session_stats){0};
    if (!session) return;
    stats->pages_used = session->cache.n_pages - session->cache.n_free;
    stats->pages_copied = session->cache.pages_copied;
}

void sh_cancel(sh_session *session) {
    if (session) atomic_store(&session->cancel, true);
}

/* ---- sequences ------------------------------------------------------------------------------------------- */

static sh_status find(const sh_session *session, sh_seq seq, const char *call, sh_sequence **out) {
    if (!session) return sh_fail(SH_ERR_ARGUMENT, "%s: no session", call);
    *out = sh_cache_find(&session->cache, seq);
    if (*out) return SH_OK;
    return sh_fail(SH_ERR_ARGUMENT, "%s: sequence %u does not exist; the session has %u", call, seq,
                   session->cache.n_live);
}

sh_status sh_seq_new(sh_session *session, sh_seq *out) {
    if (!session || !out) return sh_fail(SH_ERR_ARGUMENT, "sh_seq_new: no session, or no place for the sequence");
    sh_sequence *sequence;
    sh_status status = sh_cache_new(&session->cache, &sequence);
    *out = status == SH_OK ? sequence->id : 0;
    return status;
}

sh_status sh_seq_fork(sh_session *session, sh_seq from, uint32_t length, sh_seq *out) {
    sh_sequence *source, *sequence;
    sh_status status = find(session, from, "sh_seq_fork", &source);
    if (status != SH_OK) return status;
    if (!out) return sh_fail(SH_ERR_ARGUMENT, "sh_seq_fork: no place for the sequence");
    *out = 0;
    if (length > source->length)
        return sh_fail(SH_ERR_ARGUMENT, "sh_seq_fork: sequence %u has %u positions, fewer than %u", from,
                       source->length, length);
    status = sh_cache_fork(&session->cache, source, length, &sequence);
    if (status == SH_OK) *out = sequence->id;
    return status;
}

sh_status sh_seq_truncate(sh_session *session, sh_seq seq, uint32_t length) {
    sh_sequence *sequence;
    sh_status status = find(session, seq, "sh_seq_truncate", &sequence);
    if (status != SH_OK) return status;
    if (length > sequence->length)
        return sh_fail(SH_ERR_ARGUMENT, "sh_seq_truncate: sequence %u has %u positions, fewer than %u", seq,
                       sequence->length, length);
    sh_cache_truncate(&session->cache, sequence, length);
    return SH_OK;
}

sh_status sh_seq_length(const sh_session *session, sh_seq seq, uint32_t *length) {
    sh_sequence *sequence;
    sh_status status = find(session, seq, "sh_seq_length", &sequence);
    if (status != SH_OK) return status;
    if (!length) return sh_fail(SH_ERR_ARGUMENT, "sh_seq_length: no place for the length");
    *length = sequence->length;
    return SH_OK;
}

sh_status sh_seq_free(sh_session *session, sh_seq seq) {
    sh_sequence *sequence;
    sh_status status = find(session, seq, "sh_seq_free", &sequence);
    if (status == SH_OK) sh_cache_free(&session->cache, sequence);
    return status;
}
