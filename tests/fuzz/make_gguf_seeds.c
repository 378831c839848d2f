/* make_gguf_seeds.c: writes the seeds of fuzz_gguf, small files that reach each of its branches.
 *
 * usage: make_gguf_seeds FOLDER (tests/fuzz/corpus/gguf)
 *
 * Uses the library's own writer; the same bytes each time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "format/formats.h"
#include "format/gguf.h"

static const char *folder;

static void must(sh_status status) {
    if (status == SH_OK) return;
    fprintf(stderr, "make_gguf_seeds: %s\n", sh_error_text());
    exit(1);
}

static sh_gguf_writer *begin(const char *name, uint32_t alignment) {
    char path[512];
    sh_gguf_writer *w;
    snprintf(path, sizeof path, "%s/%s.gguf", folder, name);
    must(sh_gguf_writer_open(path, alignment, &w));
    return w;
}

static void end(sh_gguf_writer *w) {
    must(sh_gguf_writer_finish(w));
    sh_gguf_writer_close(w);
}

/* A tensor of n elements, in rows of `cols`; its bytes follow by put_data. */
static void put(sh_gguf_writer *w, const char *name, uint32_t type, uint64_t cols, uint64_t rows, uint64_t bytes) {
    must(sh_gguf_put_tensor(w, name, type, (uint64_t[]){cols, rows}, rows > 1 ? 2 : 1, bytes));
}

static void put_data(sh_gguf_writer *w, sh_format format, uint64_t n) {
    float x[256];
    uint8_t block[256];
    const sh_format_info *info = sh_format_get(format);
    for (uint64_t i = 0; i < n; i += info->group) {
        for (uint64_t k = 0; k < info->group; k++) x[k] = (float)((int)((i + k) * (i + k) / 5 % 3) - 1) * 0.02f;
        info->encode(x, block);
        must(sh_gguf_write_data(w, block, info->bytes));
    }
}

static void put_zeros(sh_gguf_writer *w, uint64_t n) {
    static const uint8_t zeros[4096];
    must(sh_gguf_write_data(w, zeros, n));
}

/* Every kind of metadata. */
static void seed_metadata(void) {
    static const sh_view texts[] = {{"a", 1}, {"", 0}, {"caf\xc3\xa9", 5}};
    static const int32_t integers[] = {-1, 0, 1};
    static const float floats[] = {0.5f, -2};
    static const uint8_t bytes[8] = {1, 0, 1, 0, 0, 0, 0, 0};
    static const char *const names[] = {"u8",   "i8", "u16", "i16", "u32", "i32", "f32",
                                        "bool", "",   "",    "u64", "i64", "f64"};
    static const uint8_t width[13] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    sh_gguf_writer *w = begin("metadata", 64);
    must(sh_gguf_put_string(w, "general.architecture", "qwen3"));
    must(sh_gguf_put_strings(w, "texts", texts, 3));
    must(sh_gguf_put_i32s(w, "integers", integers, 3));
    must(sh_gguf_put_f32s(w, "floats", floats, 2));
    for (int type = 0; type < 13; type++) {
        if (!width[type]) continue;
        sh_gguf_key key = {.name = {names[type], strlen(names[type])},
                           .type = (sh_gguf_type)type,
                           .element = (sh_gguf_type)type,
                           .n = 1,
                           .data = bytes,
                           .end = bytes + width[type]};
        must(sh_gguf_put_key(w, &key));
    }
    end(w);
}

/* A tensor of every format whose number has one meaning. */
static void seed_formats(void) {
    sh_gguf_writer *w = begin("formats", 32);
    for (int pass = 0; pass < 2; pass++) {
        for (int f = 0; f < SH_FORMATS; f++) {
            const sh_format_info *info = sh_format_get((sh_format)f);
            if (info->ggml_type == 42 || f == SH_TQ2_0_OXI) continue;
            if (pass) {
                put_data(w, (sh_format)f, info->group);
            } else {
                put(w, info->name, info->ggml_type, info->group, 1, info->bytes);
            }
        }
    }
    end(w);
}

/* Type 42, with a mark of OxiBonsai or without. */
static void seed_q2(const char *name, sh_format format, const char *key) {
    enum { ELEMENTS = 2048 };
    sh_gguf_writer *w = begin(name, 32);
    if (key) must(sh_gguf_put_string(w, key, "TQ2_0_G128"));
    put(w, "a", 42, 256, ELEMENTS / 256, sh_format_bytes(format, ELEMENTS));
    put(w, "b", 42, 128, 1, sh_format_bytes(format, 128));
    put(w, "c", 0, 4, 1, 16);
    put_data(w, format, ELEMENTS);
    put_data(w, format, 128);
    put_data(w, SH_F32, 4);
    end(w);
}

static void seed_one(const char *name, uint32_t type, uint64_t cols, uint64_t rows, uint64_t bytes, const char *key) {
    sh_gguf_writer *w = begin(name, 32);
    if (key) must(sh_gguf_put_u32(w, key, 1));
    put(w, "w", type, cols, rows, bytes);
    put(w, "norm", 0, 4, 1, 16);
    put_zeros(w, bytes);
    put_data(w, SH_F32, 4);
    end(w);
}

/* A byte-level vocabulary: the 256 bytes, two control tokens, a merge. */
static void seed_vocabulary(void) {
    static char names[256][3];
    sh_view tokens[259];
    int32_t types[259];
    for (uint32_t byte = 0, next = 256; byte < 256; byte++) {
        bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
        size_t n = sh_utf8_put(printable ? byte : next++, (uint8_t *)names[byte]);
        tokens[byte] = (sh_view){names[byte], n};
        types[byte] = 1;
    }
    tokens[256] = (sh_view){"<|endoftext|>", 13};
    tokens[257] = (sh_view){"<|im_end|>", 10};
    tokens[258] = (sh_view){"He", 2};
    types[256] = types[257] = 3;
    types[258] = 1;
    sh_view merge = {"H e", 3};
    sh_gguf_writer *w = begin("vocabulary", 32);
    must(sh_gguf_put_string(w, "general.architecture", "qwen3"));
    must(sh_gguf_put_u32(w, "qwen3.block_count", 2));
    must(sh_gguf_put_string(w, "tokenizer.ggml.model", "gpt2"));
    must(sh_gguf_put_string(w, "tokenizer.ggml.pre", "qwen2"));
    must(sh_gguf_put_strings(w, "tokenizer.ggml.tokens", tokens, 259));
    must(sh_gguf_put_i32s(w, "tokenizer.ggml.token_type", types, 259));
    must(sh_gguf_put_strings(w, "tokenizer.ggml.merges", &merge, 1));
    must(sh_gguf_put_u32(w, "tokenizer.ggml.bos_token_id", 256));
    must(sh_gguf_put_u32(w, "tokenizer.ggml.eos_token_id", 257));
    must(sh_gguf_put_bool(w, "tokenizer.ggml.add_bos_token", true));
    end(w);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: make_gguf_seeds FOLDER\n");
        return 2;
    }
    folder = argv[1];
    seed_metadata();
    seed_vocabulary();
    seed_formats();
    seed_q2("q2-64", SH_Q2_0_G64, NULL);
    seed_q2("q2-128", SH_Q2_0_G128, NULL);
    seed_q2("q2-codes-first", SH_Q2_0_CODES_FIRST, NULL);
    seed_q2("q2-marked", SH_Q2_0_CODES_FIRST, "general.quantization_version");
    seed_one("oxi-tq2", 35, 256, 2, 132, "llm.block_count");
    seed_one("hadamard", 42, 64, 64, 1152, "prism.hadamard.version");
    seed_one("i2_s", 36, 256, 4, 288, NULL);
    seed_one("ik", 142, 512, 8, 1056, NULL);
    seed_one("q5_k", 13, 256, 1, 176, NULL);
    seed_one("split", 0, 4, 1, 16, "split.count");
    seed_one("unknown", 999, 256, 1, 64, NULL);
    return 0;
}
