/* tokenize_driver.c: the library's tokenizer as a filter, for programs in other languages to hold it against their own.
 *
 *   tokenize_driver FILE.gguf < requests > replies
 *
 * A request is a 32-bit operation, a 32-bit length and so many bytes; a reply is a 32-bit length and so many bytes; all
 * little-endian. Operation 0 to 3: sh_tokenize with these flags, bytes of text to 32-bit ids. Operation 16 and 17: sh_text
 * with flags 0 or SH_TEXT_CONTROL, 32-bit ids to text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shohin.h"

enum { OP_TEXT = 16 };

static uint32_t read_u32(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_u32(uint32_t value) {
    for (int i = 0; i < 4; i++) putchar((int)(value >> 8 * i & 0xff));
}

static int fail(const char *what) {
    fprintf(stderr, "tokenize_driver: %s\n", what);
    return 1;
}

static sh_status tokenize(const sh_tokenizer *tokenizer, const unsigned char *bytes, uint32_t n, uint32_t flags) {
    int32_t *ids;
    size_t n_ids;
    sh_status status = sh_tokenize(tokenizer, (const char *)bytes, n, flags, &ids, &n_ids);
    if (status != SH_OK) return status;
    put_u32((uint32_t)(4 * n_ids));
    for (size_t i = 0; i < n_ids; i++) put_u32((uint32_t)ids[i]);
    sh_free(ids);
    return SH_OK;
}

static sh_status detokenize(const sh_tokenizer *tokenizer, const unsigned char *bytes, uint32_t n, uint32_t flags) {
    sh_text *text;
    sh_status status = sh_text_open(tokenizer, flags, &text);
    if (status != SH_OK) return status;
    char *all = NULL;
    size_t length = 0, piece;
    const char *utf8;
    for (uint32_t i = 0; i <= n / 4 && status == SH_OK; i++) {
        if (i < n / 4) {
            status = sh_text_push(text, (int32_t)read_u32(bytes + 4 * i), &utf8, &piece);
        } else {
            sh_text_finish(text, &utf8, &piece);
        }
        char *larger = realloc(all, length + piece + 1);
        if (!larger) status = SH_ERR_MEMORY;
        if (status != SH_OK) break;
        all = larger;
        memcpy(all + length, utf8, piece);
        length += piece;
    }
    if (status == SH_OK) {
        put_u32((uint32_t)length);
        fwrite(all, 1, length, stdout);
    }
    free(all);
    sh_text_close(text);
    return status;
}

int main(int argc, char **argv) {
    sh_file *file = NULL;
    sh_tokenizer *tokenizer = NULL;
    unsigned char header[8], *bytes = NULL;
    int result = 1;
    if (argc != 2) return fail("usage: tokenize_driver FILE.gguf");
    if (sh_file_open(argv[1], NULL, &file) != SH_OK || sh_tokenizer_open(file, &tokenizer) != SH_OK) {
        fail(sh_error_text());
        goto done;
    }
    while (fread(header, 1, sizeof header, stdin) == sizeof header) {
        uint32_t op = read_u32(header), n = read_u32(header + 4);
        unsigned char *larger = realloc(bytes, (size_t)n + 1);
        if (!larger) goto done;
        bytes = larger;
        if (fread(bytes, 1, n, stdin) != n) {
            fail("a request is cut short");
            goto done;
        }
        sh_status status =
            op & OP_TEXT ? detokenize(tokenizer, bytes, n, op & ~(uint32_t)OP_TEXT) : tokenize(tokenizer, bytes, n, op);
        if (status != SH_OK) {
            fail(sh_error_text());
            goto done;
        }
    }
    result = 0;
done:
    free(bytes);
    sh_tokenizer_close(tokenizer);
    sh_file_close(file);
    return result;
}
