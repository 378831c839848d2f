/* tokenize.c: `shohin tokenize`: text to token ids, or ids to text. Opens the file's tokenizer only: no weights are loaded.
 *
 * A piece is the bytes of one token, which need not be whole characters. In JSON such a piece has U+FFFD for what is no UTF-8, and
 * a further array "bytes" then has every piece in hexadecimal, so that nothing is lost. */
#include "cli/cli.h"
#include "cli/json.h"

static const cli_command *const self = &cli_command_table[CLI_ID_TOKENIZE];

/* The text of ids. False: the line is printed. */
static bool make_text(const sh_tokenizer *tokenizer, const cli_options *options, cli_text *made) {
    sh_text *text;
    const char *utf8;
    size_t length = 0;
    bool ok = true;
    if (sh_text_open(tokenizer, options->special ? SH_TEXT_CONTROL : 0, &text)) {
        cli_fail_library();
        return false;
    }
    for (size_t i = 0; ok && i <= options->n_ids; i++) {
        if (i == options->n_ids)
            sh_text_finish(text, &utf8, &length);
        else if (sh_text_push(text, options->ids[i], &utf8, &length))
            ok = false;
        if (!ok)
            cli_fail_library();
        else
            ok = cli_text_add(made, utf8, length);
    }
    sh_text_close(text);
    return ok;
}

/* The ids are known to be tokens, here and below: half a result is not printed. */
static void put_lines(const sh_tokenizer *tokenizer, const int32_t *ids, size_t n) {
    const char *bytes = "";
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        sh_token_bytes(tokenizer, ids[i], &bytes, &length);
        bool control = sh_token_is_control(tokenizer, ids[i]);
        cli_print("%7d  %s", ids[i], control ? "" : "\"");
        cli_print_safe(bytes, length, !control);
        if (!cli_print("%s\n", control ? "" : "\"")) break;
    }
}

static void put_pieces_json(const sh_tokenizer *tokenizer, const int32_t *ids, size_t n) {
    bool all_utf8 = true;
    const char *bytes = "";
    size_t length = 0;
    cli_json_open("ids", '[');
    for (size_t i = 0; i < n; i++) cli_json_integer(NULL, ids[i]);
    cli_json_close();
    cli_json_open("pieces", '[');
    for (size_t i = 0; i < n; i++) {
        sh_token_bytes(tokenizer, ids[i], &bytes, &length);
        cli_json_text(NULL, bytes, length);
        all_utf8 = all_utf8 && cli_is_utf8(bytes, length);
    }
    cli_json_close();
    if (all_utf8) return;
    cli_json_open("bytes", '[');
    for (size_t i = 0; i < n; i++) {
        sh_token_bytes(tokenizer, ids[i], &bytes, &length);
        cli_json_hexadecimal(NULL, bytes, length);
    }
    cli_json_close();
}

static void put_json(const sh_tokenizer *tokenizer, const int32_t *ids, size_t n, const cli_text *made) {
    cli_json_open(NULL, '{');
    put_pieces_json(tokenizer, ids, n);
    if (made) cli_json_text("text", made->bytes, made->length);
    cli_json_close();
}

static bool tokens_known(const sh_tokenizer *tokenizer, const int32_t *ids, size_t n) {
    const char *bytes;
    size_t length;
    for (size_t i = 0; i < n; i++)
        if (sh_token_bytes(tokenizer, ids[i], &bytes, &length)) return false;
    return true;
}

static bool text_to_ids(const sh_tokenizer *tokenizer, const cli_options *options, const cli_text *text) {
    int32_t *ids;
    size_t n;
    uint32_t flags = (options->special ? SH_TOKENIZE_SPECIAL : 0) | (options->no_bos ? 0 : SH_TOKENIZE_BOS);
    if (sh_tokenize(tokenizer, text->bytes, text->length, flags, &ids, &n) || !tokens_known(tokenizer, ids, n)) {
        cli_fail_library();
        return false;
    }
    if (options->json)
        put_json(tokenizer, ids, n, NULL);
    else
        put_lines(tokenizer, ids, n);
    sh_free(ids);
    return true;
}

static bool ids_to_text(const sh_tokenizer *tokenizer, const cli_options *options) {
    cli_text made = {NULL, 0, 0};
    bool ok = tokens_known(tokenizer, options->ids, options->n_ids);
    if (!ok) cli_fail_library();
    ok = ok && make_text(tokenizer, options, &made);
    if (ok && options->json) {
        put_json(tokenizer, options->ids, options->n_ids, &made);
    } else if (ok && made.length) {
        cli_write(made.bytes, made.length);
        if (made.bytes[made.length - 1] != '\n') cli_write("\n", 1);
    }
    cli_text_free(&made);
    return ok;
}

int cli_tokenize(const cli_options *options) {
    cli_text text = {NULL, 0, 0};
    char path[4096];
    sh_file *file = NULL;
    sh_tokenizer *tokenizer = NULL;
    if (options->ids && (options->prompt || options->file || options->n_words))
        return cli_wrong(self, "--ids and a text: give one of them");
    if (options->ids && options->no_bos) return cli_wrong(self, "--no-bos: --ids takes the ids as they are");
    int status = options->ids ? CLI_DONE : cli_read_text(self, options, false, &text);
    if (status) return status;

    status = CLI_FAILED;
    if (!cli_model_path(options, path, sizeof path) || !cli_file_open(options, path, &file)) goto done;
    if (sh_tokenizer_open(file, &tokenizer)) {
        cli_fail_library();
        goto done;
    }
    if (options->ids ? ids_to_text(tokenizer, options) : text_to_ids(tokenizer, options, &text)) status = CLI_DONE;
done:
    sh_tokenizer_close(tokenizer);
    sh_file_close(file);
    cli_text_free(&text);
    return status;
}
