/* fuzz_gguf.c: feeds arbitrary bytes to the GGUF reader and everything that looks at what it read.
 *
 * Parses, asks every key for every type, finds the layout under each reading of type 42, describes all metadata and
 * tensors, and decodes the first and the last block of each tensor. Nothing may crash, hang, leak or read outside. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/file.h"
#include "model/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile float sink;

static void check(int truth) {
    if (!truth) abort();
}

static void look_at_keys(const sh_gguf *gguf) {
    uint64_t n;
    const sh_gguf_key *keys = sh_gguf_keys(gguf, &n);
    for (uint64_t i = 0; i < n; i++) {
        char name[128];
        uint32_t u32 = 0;
        uint64_t u64 = 0;
        float f32 = 0;
        bool truth = false;
        sh_view view = {"", 0};
        const uint8_t *cursor = keys[i].data;
        for (uint64_t k = 0; keys[i].element == SH_GGUF_STRING && k < keys[i].n; k++) {
            sh_view text = sh_gguf_next_string(&cursor);
            if (text.length) sink = (float)text.data[text.length - 1];
        }
        check(keys[i].element != SH_GGUF_STRING || cursor == keys[i].end);
        for (uint64_t k = 0; k < keys[i].n; k += keys[i].n / 64 + 1) sink = (float)sh_gguf_integer(&keys[i], k);
        if (keys[i].name.length >= sizeof name) continue;
        memcpy(name, keys[i].name.data, keys[i].name.length);
        name[keys[i].name.length] = 0;
        check(sh_gguf_find(gguf, name) == &keys[i]);
        sh_gguf_get_u32(gguf, name, &u32);
        sh_gguf_get_u64(gguf, name, &u64);
        sh_gguf_get_f32(gguf, name, &f32);
        sh_gguf_get_bool(gguf, name, &truth);
        sh_gguf_get_string(gguf, name, &view);
    }
}

static void look_at_tensor(const sh_tensor *t) {
    float x[256];
    if (t->format == SH_FORMATS) return;
    const sh_format_info *info = sh_format_get(t->format);
    check(t->bytes >= info->bytes && t->bytes % info->bytes == 0);
    info->decode(t->data, x);
    sink = x[0];
    info->decode(t->data + t->bytes - info->bytes, x);
    sink = x[info->group - 1];
}

static void describe(const sh_file *file) {
    sh_file_info info;
    sh_tensor_info tensor;
    char key[64], value[200];
    sh_file_describe(file, &info);
    check((info.q2_layout == NULL) == (info.q2_reason == NULL));
    for (uint64_t i = 0; i < info.n_metadata; i++) {
        check(sh_file_metadata(file, i, key, sizeof key, value, sizeof value) == SH_OK);
        check(strlen(key) < sizeof key && strlen(value) < sizeof value);
    }
    for (uint64_t i = 0; i < info.n_tensors; i++) check(sh_file_tensor(file, i, &tensor) == SH_OK);
    check(sh_file_tensor(file, info.n_tensors, &tensor) == SH_ERR_ARGUMENT);
}

/* A vocabulary that opens turns a text into ids of its own. */
static void look_at_text(const sh_file *file) {
    static const char text[] = "Hello <|im_end|> caf\xc3\xa9 12\xff\n";
    sh_tokenizer *tokenizer = NULL;
    sh_tokenizer_info info;
    int32_t *ids = NULL;
    size_t n = 0;
    if (sh_tokenizer_open(file, &tokenizer) != SH_OK) {
        check(sh_error_text()[0] != 0);
        return;
    }
    sh_tokenizer_describe(tokenizer, &info);
    if (sh_tokenize(tokenizer, text, sizeof text - 1, SH_TOKENIZE_SPECIAL | SH_TOKENIZE_BOS, &ids, &n) == SH_OK)
        for (size_t i = 0; i < n; i++) check(ids[i] >= 0 && (uint32_t)ids[i] < info.n_tokens);
    sh_free(ids);
    sh_tokenizer_close(tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char empty[] = "";
    sh_file file = {.architecture = empty, .name = empty, .bytes = size};
    if (sh_gguf_parse(data, size, &file.gguf) != SH_OK) {
        check(sh_error_text()[0] != 0);
        return 0;
    }
    look_at_keys(file.gguf);
    for (int wanted = SH_Q2_AUTO; wanted <= SH_Q2_CODES_FIRST; wanted++) {
        if (sh_layout_open(file.gguf, (sh_q2_layout)wanted, &file.layout) != SH_OK) continue;
        for (uint64_t i = 0; i < file.layout.n; i++) look_at_tensor(&file.layout.tensors[i]);
        describe(&file);
        sh_layout_close(&file.layout);
    }
    look_at_text(&file);
    sh_config config;
    sh_rope_override none = {0};
    if (sh_config_read(file.gguf, &none, &config) != SH_OK) check(sh_error_text()[0] != 0);
    sh_gguf_close(file.gguf);
    return 0;
}
