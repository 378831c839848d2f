/* detokenize.c: a stream of ids becoming text.
 *
 * Owns the bytes of a character whose end has not come yet: at most three. Everything is allocated when the stream
 * opens. What comes out is the same for the whole stream at once and for each id by itself: the text decoded as the WHATWG
 * encoding standard does. Refuses ids that are not in the vocabulary, and leaves the stream as it was. */
#include "text/tokenizer.h"

#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

enum { HELD = 3 };

struct sh_text {
    const sh_tokenizer *tokenizer;
    bool show_control;
    uint8_t held[HELD];
    size_t n_held;
    uint8_t *input;  /* [HELD + longest token]: what is held and the token behind it */
    uint8_t *output; /* three times that: each byte may become U+FFFD; and one for what a control token cuts short */
};

sh_status sh_text_open(const sh_tokenizer *tokenizer, uint32_t flags, sh_text **out) {
    sh_status status = SH_ERR_MEMORY;
    if (!out) return sh_fail(SH_ERR_ARGUMENT, "sh_text_open needs a place for the stream");
    *out = NULL;
    if (!tokenizer) return sh_fail(SH_ERR_ARGUMENT, "sh_text_open needs a tokenizer");
    if (flags & ~(uint32_t)SH_TEXT_CONTROL)
        return sh_fail(SH_ERR_ARGUMENT, "flags of a text stream are 0x%x, but only 0x%x is known", flags,
                       SH_TEXT_CONTROL);
    sh_text *text = sh_alloc(1, sizeof *text);
    if (!text) goto fail;
    text->tokenizer = tokenizer;
    text->show_control = (flags & SH_TEXT_CONTROL) != 0;
    text->input = sh_alloc(HELD + tokenizer->longest, 1);
    text->output = sh_alloc(HELD + 1 + tokenizer->longest, SH_UTF8_REPLACEMENT_BYTES);
    if (!text->input || !text->output) goto fail;
    *out = text;
    return SH_OK;
fail:
    sh_text_close(text);
    return sh_fail(status, "out of memory for a text stream");
}

void sh_text_close(sh_text *text) {
    if (!text) return;
    sh_free(text->input);
    sh_free(text->output);
    sh_free(text);
}

static size_t put_replacement(uint8_t *to) {
    memcpy(to, SH_UTF8_REPLACEMENT, SH_UTF8_REPLACEMENT_BYTES);
    return SH_UTF8_REPLACEMENT_BYTES;
}

sh_status sh_text_push(sh_text *text, int32_t id, const char **utf8, size_t *length) {
    if (!text || !utf8 || !length)
        return sh_fail(SH_ERR_ARGUMENT, "sh_text_push needs a stream and places for the text and its length");
    const sh_tokenizer *t = text->tokenizer;
    *utf8 = "";
    *length = 0;
    if (id < 0 || (uint32_t)id >= t->n_tokens)
        return sh_fail(SH_ERR_ARGUMENT, "token %d is not in the vocabulary, which has %u", id, t->n_tokens);
    size_t written = 0;
    if (sh_token_is_control(t, id)) {
        /* Left out, it leaves no trace: a character that it stands in is whole again. Shown, it ends the character. */
        if (!text->show_control) return SH_OK;
        if (text->n_held) written = put_replacement(text->output);
        text->n_held = 0;
    }
    sh_view bytes = sh_tokenizer_bytes(t, (uint32_t)id);
    memcpy(text->input, text->held, text->n_held);
    memcpy(text->input + text->n_held, bytes.data, bytes.length);
    const uint8_t *s = text->input;
    size_t n = text->n_held + bytes.length, at = 0;
    text->n_held = 0;
    while (at < n) {
        size_t step;
        sh_utf8 kind = sh_utf8_next(s + at, n - at, &step);
        if (kind == SH_UTF8_PARTIAL) {
            memcpy(text->held, s + at, step);
            text->n_held = step;
        } else if (kind == SH_UTF8_INVALID) {
            written += put_replacement(text->output + written);
        } else {
            memcpy(text->output + written, s + at, step);
            written += step;
        }
        at += step;
    }
    *utf8 = (const char *)text->output;
    *length = written;
    return SH_OK;
}

void sh_text_finish(sh_text *text, const char **utf8, size_t *length) {
    if (!utf8 || !length) return;
    *utf8 = "";
    *length = 0;
    if (!text) return;
    *utf8 = text->n_held ? SH_UTF8_REPLACEMENT : "";
    *length = text->n_held ? SH_UTF8_REPLACEMENT_BYTES : 0;
    text->n_held = 0;
}
