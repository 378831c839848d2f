/* test_model.c: configuration from metadata: what is read, what is refused and in which words; rotary angles with
 * YaRN's ramp. */
#include "remake.h"
#include "support.h"

#include "model/rope.h"

#include <math.h>

static const char *const model = "tests/oracle/odd-q1_0.gguf";

typedef enum kind { U32, F32, STRING, BOOL, GONE } kind;

typedef struct change {
    const char *key; /* replaced, or added if the file does not have it */
    kind kind;
    double number;
    const char *text;
    bool done;
} change;

static void put(sh_gguf_writer *w, const change *c) {
    switch (c->kind) {
    case U32: assert_ok(sh_gguf_put_u32(w, c->key, (uint32_t)c->number)); break;
    case F32: assert_ok(sh_gguf_put_f32(w, c->key, (float)c->number)); break;
    case STRING: assert_ok(sh_gguf_put_string(w, c->key, c->text)); break;
    case BOOL: assert_ok(sh_gguf_put_bool(w, c->key, c->number != 0)); break;
    case GONE: break;
    }
}

static bool change_key(const sh_gguf_key *key, sh_gguf_writer *w, void *user) {
    change *c = user;
    bool same = sh_view_is(key->name, c->key);
    /* A key that the file lacks goes in front of its tokens, which every file has. */
    if (same || (!c->done && sh_view_is(key->name, "tokenizer.ggml.model"))) {
        if (!c->done) put(w, c);
        c->done = true;
    }
    return same;
}

static const char *changed_model(change c) {
    remake r = {.from = model, .user = &c, .key = change_key};
    return remake_model(&r, "changed.gguf");
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        change change;
        sh_status status;
        const char *parts[2];
    } cases[] = {
        {{.key = "general.architecture", .kind = STRING, .text = "qwen35"},
         SH_ERR_UNSUPPORTED,
         {"'qwen35'", "dense Bonsai (1.7B, 4B, 8B)"}},
        {{.key = "general.architecture", .kind = STRING, .text = "llama"},
         SH_ERR_UNSUPPORTED,
         {"'llama' is not run here, only 'qwen3'", "llama.cpp"}},
        {{.key = "general.architecture", .kind = STRING, .text = "clip"},
         SH_ERR_UNSUPPORTED,
         {"vision projector (mmproj)", "the model's own file"}},
        {{.key = "general.architecture", .kind = STRING, .text = "dflash"},
         SH_ERR_UNSUPPORTED,
         {"draft head", "the model's own file"}},
        {{.key = "general.architecture", .kind = STRING, .text = "bitnet-b1.58"},
         SH_ERR_UNSUPPORTED,
         {"BitNet", "bitnet.cpp"}},
        {{.key = "general.architecture", .kind = U32, .number = 3}, SH_ERR_FORMAT, {"general.architecture", "string"}},
        {{.key = "general.architecture", .kind = GONE}, SH_ERR_FORMAT, {"'general.architecture' is missing"}},
        {{.key = "general.type", .kind = STRING, .text = "mmproj"}, SH_ERR_UNSUPPORTED, {"vision projector"}},
        {{.key = "general.type", .kind = STRING, .text = "adapter"}, SH_ERR_UNSUPPORTED, {"LoRA"}},
        {{.key = "prism.hadamard.version", .kind = U32, .number = 1}, SH_ERR_UNSUPPORTED, {"prism.hadamard"}},
        {{.key = "qwen3.block_count", .kind = GONE}, SH_ERR_FORMAT, {"'qwen3.block_count' is missing"}},
        {{.key = "qwen3.block_count", .kind = U32, .number = 0},
         SH_ERR_FORMAT,
         {"'qwen3.block_count' is 0", "1 to 1024"}},
        {{.key = "qwen3.block_count", .kind = U32, .number = 4000000000.0}, SH_ERR_FORMAT, {"4000000000", "1024"}},
        {{.key = "qwen3.block_count", .kind = U32, .number = 4},
         SH_ERR_FORMAT,
         {"'blk.3.attn_norm.weight' is missing"}},
        {{.key = "qwen3.block_count", .kind = U32, .number = 2}, SH_ERR_UNSUPPORTED, {"'blk.2.", "2 layers"}},
        {{.key = "qwen3.embedding_length", .kind = STRING, .text = "wide"},
         SH_ERR_FORMAT,
         {"qwen3.embedding_length", "string"}},
        {{.key = "qwen3.embedding_length", .kind = U32, .number = 512},
         SH_ERR_FORMAT,
         {"token_embd.weight", "[384, 4096], expected [512, 4096]"}},
        {{.key = "qwen3.feed_forward_length", .kind = U32, .number = 641},
         SH_ERR_FORMAT,
         {"ffn_gate.weight", "[384, 640], expected [384, 641]"}},
        {{.key = "qwen3.attention.head_count", .kind = U32, .number = 7},
         SH_ERR_FORMAT,
         {"7 query heads", "2 KV heads"}},
        {{.key = "qwen3.attention.head_count", .kind = U32, .number = 8},
         SH_ERR_FORMAT,
         {"attn_q.weight", "[384, 768], expected [384, 1024]"}},
        {{.key = "qwen3.attention.head_count_kv", .kind = U32, .number = 3},
         SH_ERR_FORMAT,
         {"attn_k.weight", "[384, 256], expected [384, 384]"}},
        {{.key = "qwen3.attention.head_count_kv", .kind = GONE},
         SH_ERR_FORMAT,
         {"attn_k.weight", "expected [384, 768]"}},
        {{.key = "qwen3.attention.key_length", .kind = GONE},
         SH_ERR_UNSUPPORTED,
         {"keys have 64 dimensions and values 128"}},
        {{.key = "qwen3.attention.key_length", .kind = U32, .number = 127}, SH_ERR_UNSUPPORTED, {"127", "128"}},
        {{.key = "qwen3.attention.value_length", .kind = U32, .number = 64},
         SH_ERR_UNSUPPORTED,
         {"keys have 128 dimensions and values 64"}},
        {{.key = "qwen3.rope.dimension_count", .kind = U32, .number = 64}, SH_ERR_UNSUPPORTED, {"64", "128"}},
        {{.key = "qwen3.rope.freq_base", .kind = F32, .number = 0}, SH_ERR_FORMAT, {"qwen3.rope.freq_base"}},
        {{.key = "qwen3.rope.freq_base", .kind = F32, .number = (double)NAN},
         SH_ERR_FORMAT,
         {"qwen3.rope.freq_base", "nan"}},
        {{.key = "qwen3.rope.scaling.type", .kind = STRING, .text = "longrope"},
         SH_ERR_UNSUPPORTED,
         {"'longrope'", "'yarn'"}},
        {{.key = "qwen3.rope.scaling.factor", .kind = F32, .number = 0.5},
         SH_ERR_FORMAT,
         {"qwen3.rope.scaling.factor", "0.5"}},
        {{.key = "qwen3.attention.layer_norm_rms_epsilon", .kind = F32, .number = -1},
         SH_ERR_FORMAT,
         {"layer_norm_rms_epsilon", "-1"}},
        {{.key = "qwen3.attention.sliding_window", .kind = U32, .number = 512}, SH_ERR_UNSUPPORTED, {"sliding", "512"}},
        {{.key = "qwen3.context_length", .kind = U32, .number = 0}, SH_ERR_FORMAT, {"qwen3.context_length", "0"}},
        {{.key = "qwen3.rope.scaling.yarn_ext_factor", .kind = F32, .number = 0.5},
         SH_ERR_UNSUPPORTED,
         {"yarn_ext_factor 0.5", "only 1"}},
        {{.key = "qwen3.rope.scaling.yarn_log_multiplier", .kind = F32, .number = 0.5},
         SH_ERR_UNSUPPORTED,
         {"yarn_log_multiplier 0.5"}},
        {{.key = "qwen3.rope.scaling.yarn_beta_fast", .kind = F32, .number = 0.5},
         SH_ERR_FORMAT,
         {"beta_fast 0.5", "beta_slow 1"}},
        {{.key = "qwen3.rope.scaling.original_context_length", .kind = U32, .number = 0},
         SH_ERR_FORMAT,
         {"original_context_length' is 0"}},
        {{.key = "qwen3.rope.scaling.factor", .kind = GONE}, SH_ERR_ARGUMENT, {"rope.scaling.factor", "--yarn-factor"}},
        {{.key = "general.sampling.top_p", .kind = F32, .number = 1.5}, SH_ERR_FORMAT, {"general.sampling", "1.5"}},
        {{.key = "tokenizer.ggml.model", .kind = STRING, .text = "llama"}, SH_ERR_UNSUPPORTED, {"llama"}},
        {{.key = "tokenizer.ggml.pre", .kind = STRING, .text = "dbrx"}, SH_ERR_UNSUPPORTED, {"dbrx", "qwen2"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = changed_model(cases[i].change);
        sh_engine *engine = NULL;
        assert_fails(cases[i].status, rig_engine(&(rig_options){.model = path}, &engine), cases[i].parts[0],
                     cases[i].parts[1] ? cases[i].parts[1] : "changed.gguf");
        assert_null(engine);
    }
}

static bool leave_out_norm(const sh_tensor *tensor, void *user) {
    (void)user;
    return sh_view_is(tensor->name, "blk.1.attn_k_norm.weight");
}

static bool leave_out_head(const sh_tensor *tensor, void *user) {
    (void)user;
    return sh_view_is(tensor->name, "output.weight");
}

static void tensors(void **state) {
    (void)state;
    sh_engine *engine = NULL;
    remake r = {.from = model, .leave_out = leave_out_norm};
    assert_fails(SH_ERR_FORMAT, rig_engine(&(rig_options){.model = remake_model(&r, "less.gguf")}, &engine),
                 "'blk.1.attn_k_norm.weight' is missing");
    r = (remake){.from = model, .leave_out = leave_out_head};
    rig tied = rig_open((rig_options){.model = remake_model(&r, "tied.gguf")});
    sh_engine_info info;
    sh_engine_describe(tied.engine, &info);
    assert_true(info.tied);
    rig_close(&tied);
}

static void read_back(void **state) {
    (void)state;
    sh_engine *engine = NULL;
    assert_ok(rig_engine(&(rig_options){.model = model}, &engine));
    sh_engine_info info;
    sh_engine_describe(engine, &info);
    assert_string_equal(info.architecture, "qwen3");
    assert_string_equal(info.device, "ref");
    assert_int_equal(info.n_layers, 3);
    assert_int_equal(info.hidden, 384);
    assert_int_equal(info.ffn, 640);
    assert_int_equal(info.n_heads, 6);
    assert_int_equal(info.n_kv_heads, 2);
    assert_int_equal(info.head_dim, 128);
    assert_int_equal(info.vocabulary, 4096);
    assert_int_equal(info.context, 65536);
    assert_false(info.tied);
    assert_string_equal(info.rope_scaling, "yarn");
    assert_true(info.rope_factor == 4 && info.rope_original_context == 128);
    assert_true(fabsf(info.rope_attention_factor - 1.138629436f) < 1e-6f); /* 0.1 ln 4 + 1 */
    assert_true(info.sampling.temperature == 0.5f && info.sampling.top_k == 20);
    sh_engine_close(engine);

    /* The file's own sampling wins over the family's. */
    assert_ok(rig_engine(
        &(rig_options){.model = changed_model((change){.key = "general.sampling.temp", .kind = F32, .number = 0.75})},
        &engine));
    sh_engine_describe(engine, &info);
    assert_true(info.sampling.temperature == 0.75f && info.sampling.top_k == 20);
    sh_engine_close(engine);
    assert_ok(rig_engine(&(rig_options){.model = changed_model((change){
                                            .key = "qwen3.rope.scaling.attn_factor", .kind = F32, .number = 0.5})},
                         &engine));
    sh_engine_describe(engine, &info);
    assert_true(fabsf(info.rope_attention_factor - 0.569314718f) < 1e-6f);
    sh_engine_close(engine);
}

static sh_rope_config read_rope(const char *path, sh_rope_override override) {
    sh_gguf *gguf = NULL;
    sh_config config;
    assert_ok(sh_gguf_open(path, &gguf));
    assert_ok(sh_config_read(gguf, &override, &config));
    sh_gguf_close(gguf);
    return config.rope;
}

static void rope_keys(void **state) {
    (void)state;
    sh_rope_override none = {0};
    const char *path = changed_model((change){.key = "qwen3.rope.scaling.yarn_beta_fast", .kind = F32, .number = 16});
    assert_true(read_rope(path, none).beta_fast == 16);
    path = changed_model((change){.key = "qwen3.rope.scaling.yarn_beta_slow", .kind = F32, .number = 2});
    assert_true(read_rope(path, none).beta_slow == 2);
    path = changed_model((change){.key = "qwen3.rope.scaling.yarn_attn_factor", .kind = F32, .number = 0.5});
    assert_true(fabsf(read_rope(path, none).attention_factor - 0.569314718f) < 1e-6f);
    path = changed_model((change){.key = "qwen3.rope.scaling.original_context_length", .kind = GONE});
    assert_int_equal(read_rope(path, none).original_context, 65536); /* the file's context */
    path = changed_model((change){.key = "qwen3.rope.scaling.type", .kind = STRING, .text = "linear"});
    sh_rope_config rope = read_rope(path, none);
    assert_true(rope.scaling == SH_ROPE_LINEAR && rope.factor == 4 && rope.attention_factor == 1);
    rope = read_rope(path, (sh_rope_override){.scaling = "yarn"}); /* with the file's numbers */
    assert_true(rope.scaling == SH_ROPE_YARN && rope.factor == 4 && rope.original_context == 128);
    path = changed_model((change){.key = "qwen3.rope.scaling.type", .kind = GONE});
    assert_true(read_rope(path, none).scaling == SH_ROPE_NONE);
    rope = read_rope(path, (sh_rope_override){.scaling = "yarn"});
    assert_true(rope.scaling == SH_ROPE_YARN && rope.factor == 4);
    rope = read_rope(path, (sh_rope_override){.scaling = "yarn", .factor = 2, .original_context = 1000});
    assert_true(rope.factor == 2 && rope.original_context == 1000);
    rope = read_rope(SHOHIN_SOURCE_DIR "/tests/oracle/odd-q1_0.gguf", (sh_rope_override){.scaling = "none"});
    assert_true(rope.scaling == SH_ROPE_NONE && rope.factor == 1 && rope.attention_factor == 1);
    path = changed_model((change){.key = "qwen3.rope.scaling.type", .kind = GONE});
    path = changed_model((change){.key = "qwen3.rope.scale_linear", .kind = F32, .number = 8}); /* the newer keys win */
    rope = read_rope(path, none);
    assert_true(rope.scaling == SH_ROPE_YARN && rope.factor == 4);

    sh_gguf *gguf = NULL;
    sh_config config;
    assert_ok(sh_gguf_open(SHOHIN_SOURCE_DIR "/models/stories-q1_0.gguf", &gguf)); /* without any such key */
    sh_rope_override yarn = {.scaling = "yarn"}, factor = {.factor = 4}, huge = {"yarn", 2, 2000000};
    assert_fails(SH_ERR_ARGUMENT, sh_config_read(gguf, &yarn, &config), "--yarn-factor");
    assert_fails(SH_ERR_ARGUMENT, sh_config_read(gguf, &factor, &config), "'none'");
    assert_fails(SH_ERR_ARGUMENT, sh_config_read(gguf, &huge, &config), "2000000", "1048576");
    sh_gguf_close(gguf);
}

/* More tokens than the embedding has rows: ids past the vocabulary. */
static void cut_vocabulary(const sh_tensor *tensor, uint64_t dims[4], uint32_t *n_dims, void *user) {
    (void)n_dims, (void)user;
    if (tensor->dims[1] == 4096) dims[1] = 4000;
}

static void vocabulary(void **state) {
    (void)state;
    remake r = {.from = model, .shape = cut_vocabulary};
    sh_engine *engine = NULL;
    assert_fails(SH_ERR_FORMAT, rig_engine(&(rig_options){.model = remake_model(&r, "cut.gguf")}, &engine),
                 "4096 tokens", "4000 rows");
}

static sh_config rope_config(float base, uint32_t dim, sh_rope_scaling scaling, float factor, uint32_t original) {
    return (sh_config){.head_dim = dim,
                       .rope = {.base = base,
                                .scaling = scaling,
                                .factor = factor,
                                .original_context = original,
                                .beta_fast = 32,
                                .beta_slow = 1,
                                .attention_factor = 1}};
}

/* The ramp of the real models: pairs 20 to 37 of the 8B, 17 to 34 of the 1.7B. */
static void yarn_ramp(void **state) {
    (void)state;
    static const struct { uint32_t original, low, high; } cases[] = {{16384, 20, 37}, {8192, 17, 34}};
    for (size_t i = 0; i < 2; i++) {
        sh_config config = rope_config(1e6f, 128, SH_ROPE_YARN, 4, cases[i].original);
        sh_rope rope;
        assert_ok(sh_rope_open(&config, &rope));
        for (uint32_t p = 0; p < 64; p++) {
            double plain = pow(1e6, -2.0 * p / 128), ratio = rope.frequency[p] / plain;
            double ramp = fmin(fmax(((double)p - cases[i].low) / (cases[i].high - cases[i].low), 0), 1);
            assert_true(fabs(ratio - (1 - ramp + ramp / 4)) < 1e-12);
        }
        sh_rope_close(&rope);
    }
}

/* A short original context leaves no room for a ramp: a step, and no division by zero. And a long one ends at the last
 * pair. */
static void yarn_edges(void **state) {
    (void)state;
    sh_rope rope;
    sh_config config = rope_config(10000, 64, SH_ROPE_YARN, 4, 4);
    assert_ok(sh_rope_open(&config, &rope));
    for (uint32_t p = 0; p < 32; p++) {
        double ratio = rope.frequency[p] / pow(10000, -2.0 * p / 64);
        assert_true(fabs(ratio - (p == 0 ? 1 : 0.25)) < 1e-12);
    }
    sh_rope_close(&rope);
    config = rope_config(10000, 64, SH_ROPE_YARN, 4, 1 << 20); /* high: ceil(41.8), past the 32 pairs */
    assert_ok(sh_rope_open(&config, &rope));
    for (uint32_t p = 0; p < 32; p++) {
        double ratio = rope.frequency[p] / pow(10000, -2.0 * p / 64), ramp = fmax((p - 29.0) / (42.0 - 29.0), 0);
        assert_true(fabs(ratio - (1 - ramp + ramp / 4)) < 1e-12);
    }
    sh_rope_close(&rope);
}

static void angles(void **state) {
    (void)state;
    sh_config config = rope_config(10000, 64, SH_ROPE_NONE, 1, 0);
    sh_rope rope;
    float found[64];
    assert_ok(sh_rope_open(&config, &rope));
    static const uint32_t positions[] = {0, 1, 511, 65535, (1 << 20) - 1};
    for (size_t i = 0; i < 5; i++) {
        sh_rope_angles(&rope, positions[i], found);
        for (uint32_t p = 0; p < 32; p++) {
            double angle = positions[i] * pow(10000, -2.0 * p / 64);
            assert_true(fabs((double)found[2 * p] - cos(angle)) < 1e-7 &&
                        fabs((double)found[2 * p + 1] - sin(angle)) < 1e-7);
        }
    }
    sh_rope_close(&rope);
    config = rope_config(10000, 64, SH_ROPE_LINEAR, 8, 0);
    config.rope.attention_factor = 2;
    assert_ok(sh_rope_open(&config, &rope));
    sh_rope_angles(&rope, 80, found);
    assert_true(fabs((double)found[0] - 2 * cos(10)) < 1e-6 && fabs((double)found[1] - 2 * sin(10)) < 1e-6);
    sh_rope_close(&rope);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),  cmocka_unit_test(tensors),    cmocka_unit_test(read_back),
        cmocka_unit_test(yarn_ramp), cmocka_unit_test(rope_keys),  cmocka_unit_test(vocabulary),
        cmocka_unit_test(angles),    cmocka_unit_test(yarn_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
