/* vocabulary.c: see vocabulary.h. */
#include "support/vocabulary.h"

#include <stdlib.h>

vocabulary *vocabulary_new(void) {
    vocabulary *v = calloc(1, sizeof *v);
    assert_non_null(v);
    v->model = "gpt2";
    v->pre = "qwen2";
    v->tokens_kind = SH_GGUF_STRING;
    v->types_kind = SH_GGUF_I32;
    v->bos = v->eos = v->eot = v->add_bos = -1;
    int next = 0x100;
    for (int b = 0; b < 256; b++) {
        bool printable = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad);
        int c = printable ? b : next++;
        if (c < 0x80) {
            v->names[b][0] = (char)c;
        } else {
            v->names[b][0] = (char)(0xc0 | c >> 6);
            v->names[b][1] = (char)(0x80 | (c & 0x3f));
        }
        v->tokens[v->n_tokens++] = v->names[b];
        v->types[v->n_types++] = 1;
    }
    return v;
}

int32_t vocabulary_token(vocabulary *v, const char *name, int32_t type) {
    v->tokens[v->n_tokens] = name;
    v->types[v->n_types++] = type;
    return (int32_t)v->n_tokens++;
}

int32_t vocabulary_merge(vocabulary *v, const char *merge, const char *result) {
    v->merges[v->n_merges++] = merge;
    return vocabulary_token(v, result, 1);
}

static void put_integer(gguf_bytes *b, const char *key, int64_t value) {
    if (value >= 0) gb_key_u32(b, key, (uint32_t)value);
}

static void put_array(gguf_bytes *b, const char *key, uint32_t kind, uint64_t n) {
    gb_key(b, key, SH_GGUF_ARRAY);
    gb_u32(b, kind);
    gb_u64(b, n);
}

sh_status vocabulary_open(vocabulary *v, sh_tokenizer **out) {
    gguf_bytes *b = &v->bytes;
    gb_head(b, 3, 0,
            (uint64_t)((v->model != NULL) + (v->pre != NULL) + !v->no_tokens + (v->n_types > 0) + !v->no_merges +
                       (v->bos >= 0) + (v->eos >= 0) + (v->eot >= 0) + (v->add_bos >= 0)));
    if (v->model) gb_key_string(b, "tokenizer.ggml.model", v->model);
    if (v->pre) gb_key_string(b, "tokenizer.ggml.pre", v->pre);
    if (!v->no_tokens) put_array(b, "tokenizer.ggml.tokens", v->tokens_kind, v->n_tokens);
    for (uint32_t i = 0; i < v->n_tokens && !v->no_tokens; i++) {
        if (v->tokens_kind == SH_GGUF_STRING) {
            gb_string(b, v->tokens[i]);
        } else {
            gb_u32(b, i);
        }
    }
    if (v->n_types) put_array(b, "tokenizer.ggml.token_type", v->types_kind, v->n_types);
    for (uint32_t i = 0; i < v->n_types; i++) gb_u32(b, (uint32_t)v->types[i]);
    if (!v->no_merges) put_array(b, "tokenizer.ggml.merges", SH_GGUF_STRING, v->n_merges);
    for (uint32_t i = 0; i < v->n_merges && !v->no_merges; i++) gb_string(b, v->merges[i]);
    put_integer(b, "tokenizer.ggml.bos_token_id", v->bos);
    put_integer(b, "tokenizer.ggml.eos_token_id", v->eos);
    put_integer(b, "tokenizer.ggml.eot_token_id", v->eot);
    if (v->add_bos >= 0) {
        gb_key(b, "tokenizer.ggml.add_bos_token", SH_GGUF_BOOL);
        gb_u8(b, (uint8_t)v->add_bos);
    }
    gb_pad(b, 32);
    require_ok(sh_gguf_parse(b->data, b->n, &v->gguf));
    v->file.gguf = v->gguf;
    return sh_tokenizer_open(&v->file, out);
}

void vocabulary_free(vocabulary *v) {
    sh_gguf_close(v->gguf);
    gb_free(&v->bytes);
    free(v);
}
