/* vocabulary.h: GGUF files of a tokenizer and nothing else, built in memory, right or wrong. */
#ifndef SH_TESTS_VOCABULARY_H
#define SH_TESTS_VOCABULARY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/file.h"
#include "support/gguf_bytes.h"

#define require_ok(call)                                                                                               \
    do {                                                                                                               \
        sh_status status_ = (call);                                                                                    \
        if (status_ != SH_OK) fail_msg("%s: %s: %s", #call, sh_status_text(status_), sh_error_text());                 \
    } while (0)

#define require_fails(status, message, call)                                                                           \
    do {                                                                                                               \
        assert_int_equal((call), (status));                                                                            \
        assert_string_equal(sh_error_text(), (message));                                                               \
    } while (0)

enum { VALUES = 400 };

typedef struct vocabulary {
    const char *model, *pre; /* NULL: no such key */
    const char *tokens[VALUES];
    uint32_t n_tokens, tokens_kind; /* of elements: SH_GGUF_STRING */
    int32_t types[VALUES];
    uint32_t n_types, types_kind; /* SH_GGUF_I32; n_types 0: no such key */
    const char *merges[VALUES];
    uint32_t n_merges;
    bool no_tokens, no_merges;
    int64_t bos, eos, eot; /* -1: no such key */
    int add_bos;           /* -1 likewise */
    char names[256][5];    /* of the bytes */
    gguf_bytes bytes;
    sh_gguf *gguf;
    sh_file file;
} vocabulary;

/* The 256 bytes: byte b is token b. Then what a test adds. */
vocabulary *vocabulary_new(void);
void vocabulary_free(vocabulary *v);

/* Returns the id. */
int32_t vocabulary_token(vocabulary *v, const char *name, int32_t type);
/* And a token that it makes, whose id is returned. */
int32_t vocabulary_merge(vocabulary *v, const char *merge, const char *result);

/* Writes the vocabulary as a file without tensors, and opens it. Once only. */
sh_status vocabulary_open(vocabulary *v, sh_tokenizer **out);

#define assert_tokens(tokenizer, text, flags, ...)                                                                     \
    do {                                                                                                               \
        const int32_t wanted_[] = {__VA_ARGS__};                                                                       \
        int32_t *ids_;                                                                                                 \
        size_t n_;                                                                                                     \
        require_ok(sh_tokenize((tokenizer), (text), strlen(text), (flags), &ids_, &n_));                               \
        assert_int_equal(n_, sizeof wanted_ / sizeof wanted_[0]);                                                      \
        for (size_t i_ = 0; i_ < n_; i_++) assert_int_equal(ids_[i_], wanted_[i_]);                                    \
        sh_free(ids_);                                                                                                 \
    } while (0)

#endif
