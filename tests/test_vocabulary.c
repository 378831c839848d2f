/* test_vocabulary.c: every vocabulary that does not fit together is refused, and the message says what and where. */
#include "support/vocabulary.h"

static void no_model(vocabulary *v) {
    v->model = NULL;
}
static void other_model(vocabulary *v) {
    v->model = "llama";
}
static void unknown_model(vocabulary *v) {
    v->model = "whatever";
}
static void no_pre(vocabulary *v) {
    v->pre = NULL;
}
static void other_pre(vocabulary *v) {
    v->pre = "llama-bpe";
}
static void no_tokens(vocabulary *v) {
    v->no_tokens = true;
}
static void empty_tokens(vocabulary *v) {
    v->n_tokens = v->n_types = 0;
}
static void numbers_for_tokens(vocabulary *v) {
    v->tokens_kind = SH_GGUF_I32;
}
static void too_few_types(vocabulary *v) {
    v->n_types = 255;
}
static void floats_for_types(vocabulary *v) {
    v->types_kind = SH_GGUF_F32;
}
static void unknown_type(vocabulary *v) {
    v->types[65] = 6;
}
static void type_zero(vocabulary *v) {
    v->types[65] = 0;
}
static void empty_token(vocabulary *v) {
    vocabulary_token(v, "", 1);
}
static void twice(vocabulary *v) {
    vocabulary_token(v, "<x>", 4);
    vocabulary_token(v, "<x>", 3);
}
static void not_utf8(vocabulary *v) {
    vocabulary_token(v, "ab\xff", 3);
}
static void not_of_the_alphabet(vocabulary *v) {
    vocabulary_token(v, "a b", 1);
}
static void past_the_alphabet(vocabulary *v) {
    vocabulary_token(v, "\xe4\xb8\xad", 1);
}
static void byte_without_token(vocabulary *v) {
    v->tokens[0xe2] = "other";
}
static void byte_is_control(vocabulary *v) {
    v->types['a'] = 3;
}
static void no_merges(vocabulary *v) {
    v->no_merges = true;
}
static void merge_without_space(vocabulary *v) {
    vocabulary_merge(v, "ab", "ab");
}
static void merge_of_nothing(vocabulary *v) {
    vocabulary_merge(v, "a ", "ab");
}
static void merge_of_unknown_left(vocabulary *v) {
    vocabulary_merge(v, "xy z", "xyz");
}
static void merge_of_unknown_right(vocabulary *v) {
    vocabulary_merge(v, "x yz", "xyz");
}
static void merge_to_unknown(vocabulary *v) {
    vocabulary_merge(v, "a b", "ab");
    v->merges[v->n_merges++] = "c d";
}
static void merge_to_control(vocabulary *v) {
    vocabulary_token(v, "<|im_end", 1);
    vocabulary_token(v, "|>", 1);
    vocabulary_merge(v, "<|im_end |>", "<|im_end|>");
}
static void merge_of_control(vocabulary *v) {
    vocabulary_token(v, "<b>", 3);
    vocabulary_merge(v, "a <b>", "a<b>");
}
static void merge_of_raw_text(vocabulary *v) {
    vocabulary_token(v, "\xc3\xa9\xc3\xa9", 4);
    v->merges[v->n_merges++] = "\xc3\xa9 \xc3\xa9";
}
static void merge_twice(vocabulary *v) {
    vocabulary_merge(v, "a b", "ab");
    vocabulary_merge(v, "b c", "bc");
    v->merges[v->n_merges++] = "a b";
}
static void bos_past_the_end(vocabulary *v) {
    v->bos = 256;
}
static void eos_past_the_end(vocabulary *v) {
    v->eos = 151645;
}
static void eot_past_the_end(vocabulary *v) {
    v->eot = 4294967294;
}
static void long_control_token(vocabulary *v) {
    static char name[514];
    memset(name, 'x', 513);
    vocabulary_token(v, name, 3);
}
static void add_bos_without_bos(vocabulary *v) {
    v->add_bos = 1;
}

static void vocabularies_that_do_not_fit(void **state) {
    (void)state;
#define K "tokenizer.ggml."
    static const struct {
        void (*spoil)(vocabulary *v);
        sh_status status;
        const char *message;
    } cases[] = {
        {no_model, SH_ERR_FORMAT, "key '" K "model' is missing: the file has no tokenizer"},
        {other_model, SH_ERR_UNSUPPORTED,
         "key '" K
         "model' is 'llama' (SentencePiece), but the tokenizers here are 'gpt2' (byte-level BPE, which the Qwen3 "
         "models have)"},
        {unknown_model, SH_ERR_UNSUPPORTED,
         "key '" K
         "model' is 'whatever', but the tokenizers here are 'gpt2' (byte-level BPE, which the Qwen3 models have)"},
        {no_pre, SH_ERR_FORMAT,
         "key '" K
         "pre' is missing, so how the model's texts are cut is not known: convert the model again with a current "
         "tool"},
        {other_pre, SH_ERR_UNSUPPORTED,
         "key '" K
         "pre' is 'llama-bpe', but the pre-tokenizers here are 'qwen2': another one would cut texts differently "
         "and give the model other ids than it was trained on"},
        {no_tokens, SH_ERR_FORMAT, "key '" K "tokens' is missing: the vocabulary is not whole"},
        {empty_tokens, SH_ERR_FORMAT, "key '" K "tokens' has no elements: the vocabulary is empty"},
        {numbers_for_tokens, SH_ERR_FORMAT, "key '" K "tokens' is an array of i32, but should be an array of strings"},
        {too_few_types, SH_ERR_FORMAT, "key '" K "token_type' has 255 elements, but '" K "tokens' has 256"},
        {floats_for_types, SH_ERR_FORMAT,
         "key '" K "token_type' is an array of f32, but should be an array of integers"},
        {unknown_type, SH_ERR_FORMAT,
         "token 65 'A' has type 6, but the types of a 'gpt2' vocabulary are 1 (normal), 2 (unknown), 3 (control), 4 "
         "(user "
         "defined) and 5 (unused)"},
        {type_zero, SH_ERR_FORMAT,
         "token 65 'A' has type 0, but the types of a 'gpt2' vocabulary are 1 (normal), 2 (unknown), 3 (control), 4 "
         "(user "
         "defined) and 5 (unused)"},
        {empty_token, SH_ERR_FORMAT, "token 256 of 257 is empty: no text has it and it has no text"},
        {twice, SH_ERR_FORMAT, "tokens 256 and 257 are both '<x>': which one a text has is not known"},
        {not_utf8, SH_ERR_FORMAT, "token 256 'ab?' is not UTF-8: byte 2 is 0xff"},
        {not_of_the_alphabet, SH_ERR_FORMAT,
         "token 256 'a b' has the character U+0020, which stands for no byte in a byte-level vocabulary"},
        {past_the_alphabet, SH_ERR_FORMAT,
         "token 256 '\xe4\xb8\xad' has the character U+4E2D, which stands for no byte in a byte-level vocabulary"},
        {byte_without_token, SH_ERR_FORMAT, "byte 0xe2 has no token: texts that have it could not be encoded"},
        {byte_is_control, SH_ERR_FORMAT, "byte 0x61 has no token: texts that have it could not be encoded"},
        {no_merges, SH_ERR_FORMAT, "key '" K "merges' is missing: the vocabulary is not whole"},
        {merge_without_space, SH_ERR_FORMAT, "merge 0 'ab' is not two tokens with a space between them"},
        {merge_of_nothing, SH_ERR_FORMAT, "merge 0 'a ' is not two tokens with a space between them"},
        {merge_of_unknown_left, SH_ERR_FORMAT, "merge 0 'xy z' names 'xy', which is not in the vocabulary"},
        {merge_of_unknown_right, SH_ERR_FORMAT, "merge 0 'x yz' names 'yz', which is not in the vocabulary"},
        {merge_to_unknown, SH_ERR_FORMAT, "merge 1 'c d' makes 'cd', which is not in the vocabulary"},
        {merge_to_control, SH_ERR_FORMAT, "merge 0 '<|im_end |>' makes token 258, which is no token of text"},
        {merge_of_control, SH_ERR_FORMAT, "merge 0 'a <b>' names token 256, which is no token of text"},
        {merge_of_raw_text, SH_ERR_FORMAT, "merge 0 '\xc3\xa9 \xc3\xa9' makes token 256, which is no token of text"},
        {merge_twice, SH_ERR_FORMAT, "merges 0 and 2 are both 'a b': which of them counts is not known"},
        {long_control_token, SH_ERR_FORMAT,
         "token 256 is a control or user-defined token of 513 bytes, but at most 512 are run; the vocabulary is "
         "damaged: "
         "convert the model again"},
        {bos_past_the_end, SH_ERR_FORMAT, "key '" K "bos_token_id' is 256, but the vocabulary has 256 tokens"},
        {eos_past_the_end, SH_ERR_FORMAT, "key '" K "eos_token_id' is 151645, but the vocabulary has 256 tokens"},
        {eot_past_the_end, SH_ERR_FORMAT, "key '" K "eot_token_id' is 4294967294, but the vocabulary has 256 tokens"},
        {add_bos_without_bos, SH_ERR_FORMAT, "key '" K "add_bos_token' is true, but '" K "bos_token_id' is missing"},
    };
#undef K
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vocabulary *v = vocabulary_new();
        sh_tokenizer *t;
        cases[i].spoil(v);
        require_fails(cases[i].status, cases[i].message, vocabulary_open(v, &t));
        assert_null(t);
        vocabulary_free(v);
    }
    sh_tokenizer *t;
    vocabulary *v = vocabulary_new(); /* and unspoilt it opens */
    require_ok(vocabulary_open(v, &t));
    assert_tokens(t, "a\xc3\xa9", 0, 'a', 0xc3, 0xa9);
    sh_tokenizer_close(t);
    sh_tokenizer_close(NULL);
    vocabulary_free(v);
}

/* Some converters write -1 for "none". */
static void no_special_ids(void **state) {
    (void)state;
    sh_tokenizer *t;
    sh_tokenizer_info info;
    vocabulary *v = vocabulary_new();
    v->bos = v->eot = 4294967295;
    require_ok(vocabulary_open(v, &t));
    sh_tokenizer_describe(t, &info);
    assert_int_equal(info.bos, -1);
    sh_tokenizer_close(t);
    vocabulary_free(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vocabularies_that_do_not_fit),
        cmocka_unit_test(no_special_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
