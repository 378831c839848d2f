/* pretokenize.c: cutting a text into pre-tokens, across which no merge reaches.
 *
 * Owns the table of pre-tokenizers, each a regular expression that PCRE2 compiles when a tokenizer opens. Refuses names
 * that are not in it: with another split a model reads other ids than it was trained on, and nobody notices.
 *
 * The classes of letters and numbers are PCRE2's, so characters that are newer than its version of Unicode count as symbols.
 * White space is spelled out: the expressions mean the Unicode property White_Space, but PCRE2's \s also holds U+180E. Letter case
 * folds as Unicode says, so that 's also stands for an apostrophe and U+017F, the long s, as it does in the library that
 * the models were trained with. */
#include "text/tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>

#include "base/memory.h"

#define SPACE "\\t-\\r\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

static const struct {
    const char *name, *pattern;
} table[] = {
    {"qwen2", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|\\x{20}?[^" SPACE
              "\\p{L}\\p{N}]+[\\r\\n]*|[" SPACE "]*[\\r\\n]+|[" SPACE "]+(?![^" SPACE "])|[" SPACE "]+"},
};

struct sh_pretokenizer {
    pcre2_general_context *memory;
    pcre2_code *code;
    pcre2_match_context *limits; /* shared by threads: never changed once set */
    uint32_t options;
};

static void *take(size_t n, void *user) {
    (void)user;
    return sh_realloc(NULL, n, 1);
}

static void give(void *block, void *user) {
    (void)user;
    sh_free(block);
}

static sh_status compile(const char *name, const char *pattern, sh_pretokenizer *p) {
    pcre2_compile_context *compiling = NULL;
    sh_status status = SH_ERR_MEMORY;
    int error = 0;
    PCRE2_SIZE offset = 0;
    if (!(p->memory = pcre2_general_context_create(take, give, NULL))) goto fail;
    if (!(compiling = pcre2_compile_context_create(p->memory))) goto fail;
    if (!(p->limits = pcre2_match_context_create(p->memory))) goto fail;
    /* The expressions take linear time, so the limits against runaway matches would only cut long texts short. */
    pcre2_set_match_limit(p->limits, UINT32_MAX);
    pcre2_set_depth_limit(p->limits, UINT32_MAX);
    p->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error,
                            &offset, compiling);
    if (!p->code) {
        if (error == PCRE2_ERROR_HEAP_FAILED) goto fail;
        PCRE2_UCHAR text[128] = "";
        pcre2_get_error_message(error, text, sizeof text);
        status = sh_fail(SH_ERR_UNSUPPORTED, "this build of PCRE2 cannot run pre-tokenizer '%s': %s (at %zu)", name,
                         (const char *)text, (size_t)offset);
        goto done;
    }
    /* Where no machine code may be made (a hardened kernel, an architecture without a compiler) matching interprets. */
    (void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
    p->options = PCRE2_NO_UTF_CHECK;
    status = SH_OK;
    goto done;
fail:
    sh_fail(SH_ERR_MEMORY, "out of memory compiling pre-tokenizer '%s'", name);
done:
    pcre2_compile_context_free(compiling);
    return status;
}

sh_status sh_pretokenizer_open(sh_view name, sh_pretokenizer **out) {
    *out = NULL;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (!sh_view_is(name, table[i].name)) continue;
        sh_pretokenizer *p = sh_alloc(1, sizeof *p);
        if (!p) return sh_fail(SH_ERR_MEMORY, "out of memory for a pre-tokenizer");
        sh_status status = compile(table[i].name, table[i].pattern, p);
        if (status != SH_OK) {
            sh_pretokenizer_close(p);
            return status;
        }
        *out = p;
        return SH_OK;
    }
    char known[128];
    int length = 0;
    for (size_t i = 0; i < sizeof table / sizeof table[0] && (size_t)length < sizeof known; i++)
        length += snprintf(known + length, sizeof known - (size_t)length, "%s'%s'", i ? ", " : "", table[i].name);
    return sh_fail(
        SH_ERR_UNSUPPORTED,
        "key 'tokenizer.ggml.pre' is '%.*s', but the pre-tokenizers here are %s: another one would cut texts "
        "differently and give the model other ids than it was trained on",
        SH_VIEW_ARG(name), known);
}

void sh_pretokenizer_close(sh_pretokenizer *p) {
    if (!p) return;
    pcre2_code_free(p->code);
    pcre2_match_context_free(p->limits);
    pcre2_general_context_free(p->memory);
    sh_free(p);
}

void sh_pretokenizer_interpret(sh_pretokenizer *p) {
    p->options |= PCRE2_NO_JIT;
}

sh_status sh_splitter_open(const sh_pretokenizer *p, sh_splitter *splitter) {
    *splitter = (sh_splitter){.pretokenizer = p, .match = pcre2_match_data_create(1, p->memory)};
    if (!splitter->match) return sh_fail(SH_ERR_MEMORY, "out of memory for a text's pre-tokens");
    return SH_OK;
}

void sh_splitter_close(sh_splitter *splitter) {
    pcre2_match_data_free(splitter->match);
}

sh_status sh_splitter_next(sh_splitter *splitter, sh_view text, size_t at, size_t *end) {
    const sh_pretokenizer *p = splitter->pretokenizer;
    PCRE2_SPTR subject = (PCRE2_SPTR)text.data;
    int found = pcre2_match(p->code, subject, text.length, at, p->options, splitter->match, p->limits);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter takes its memory from the heap */
        found = pcre2_match(p->code, subject, text.length, at, p->options | PCRE2_NO_JIT, splitter->match, p->limits);
    size_t reached = found > 0 ? pcre2_get_ovector_pointer(splitter->match)[1] : 0;
    if (found > 0 && reached > at && reached <= text.length) {
        *end = reached;
        return SH_OK;
    }
    if (found == PCRE2_ERROR_NOMEMORY || found == PCRE2_ERROR_HEAPLIMIT)
        return sh_fail(SH_ERR_MEMORY, "out of memory cutting a text at byte %zu of %zu", at, text.length);
    return sh_fail(SH_ERR_UNSUPPORTED, "PCRE2 gave up cutting a text at byte %zu of %zu (its code %d)", at, text.length,
                   found);
}
