/* fuzz_tokenizer.c: any bytes as text, in the demo vocabulary. The first byte's lowest bit asks for control tokens, the rest is the
 * text.
 *
 * Every id is in the vocabulary; text from a user has no control token; decoding gives the text back, made valid and (where no
 * added token splits it) normalized; a stream of single bytes gives what decoding them at once gives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/file.h"
#include "text/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "fuzz_tokenizer: %s (%s)\n", what, sh_error_text());
    abort();
}

static const sh_tokenizer *demo(void) {
    static sh_tokenizer *tokenizer;
    static sh_file *file;
    if (!tokenizer) {
        require(sh_file_open(SHOHIN_SOURCE_DIR "/models/stories-q1_0.gguf", NULL, &file) == SH_OK, "no demo model");
        require(sh_tokenizer_open(file, &tokenizer) == SH_OK, "no demo vocabulary");
    }
    return tokenizer;
}

/* What the stream gives, which must be `wanted`. */
static void check_stream(const sh_tokenizer *t, uint32_t flags, const int32_t *ids, size_t n, sh_view wanted) {
    sh_text *text;
    size_t at = 0;
    require(sh_text_open(t, flags, &text) == SH_OK, "no stream");
    for (size_t i = 0; i <= n; i++) {
        const char *utf8;
        size_t length;
        if (i < n) {
            require(sh_text_push(text, ids[i], &utf8, &length) == SH_OK, "an id was refused");
        } else {
            sh_text_finish(text, &utf8, &length);
        }
        require(length <= wanted.length - at && memcmp(utf8, wanted.data + at, length) == 0, "a stream differs");
        at += length;
    }
    require(at == wanted.length, "a stream is too short");
    sh_text_close(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const sh_tokenizer *t = demo();
    uint32_t flags = data[0] & 1 ? SH_TOKENIZE_SPECIAL : 0;
    sh_view bytes = {(const char *)data + 1, size - 1}, valid, normal;
    sh_bytes buffer = {0};
    sh_normalizer normalizer = {0};
    require(sh_sanitize(bytes, &buffer, &valid) == SH_OK, "not made valid");
    require(sh_normalize(t->inert, &normalizer, valid, &normal) == SH_OK, "not normalized");

    int32_t *ids;
    size_t n;
    require(sh_tokenize(t, bytes.data, bytes.length, flags, &ids, &n) == SH_OK, "a text was refused");
    bool control = false;
    for (size_t i = 0; i < n; i++) {
        require(ids[i] >= 0 && (uint32_t)ids[i] < t->n_tokens, "an id is not in the vocabulary");
        control |= sh_token_is_control(t, ids[i]);
    }
    require(!control || flags, "text became a control token");
    if (!control) check_stream(t, 0, ids, n, normal);
    sh_free(ids);

    int32_t *single = malloc((bytes.length + 1) * sizeof *single);
    require(single != NULL, "out of memory");
    for (size_t i = 0; i < bytes.length; i++) single[i] = (int32_t)t->byte_tokens[data[1 + i]];
    check_stream(t, 0, single, bytes.length, valid);
    free(single);
    sh_normalizer_close(&normalizer);
    sh_free(buffer.data);
    return 0;
}
