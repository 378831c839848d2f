/* input.c: the text that a command works on: -p, -f, the words of the command line, or standard input.
 *
 * Refuses two sources at once, a terminal without a text, and texts past 1 GiB. The bytes are taken as they are: what is no UTF-8 is the
 * tokenizer's to replace. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t longest = (size_t)1 << 30;

/* Makes room for `more` bytes and a zero. */
static bool reserve(cli_text *text, size_t more) {
    size_t needed = text->length + more + 1, capacity = text->capacity ? text->capacity : 256;
    if (needed <= text->capacity) return true;
    while (capacity < needed) capacity *= 2;
    char *larger = realloc(text->bytes, capacity);
    if (!larger) {
        cli_fail("out of memory for a text of %zu bytes", needed - 1);
        return false;
    }
    text->bytes = larger;
    text->capacity = capacity;
    return true;
}

bool cli_text_add(cli_text *text, const char *bytes, size_t length) {
    if (!reserve(text, length)) return false;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = 0;
    return true;
}

void cli_text_free(cli_text *text) {
    free(text->bytes);
    *text = (cli_text){NULL, 0, 0};
}

static int read_all(int fd, const char *name, cli_text *text) {
    for (;;) {
        if (!reserve(text, 65536)) return CLI_FAILED;
        ssize_t n = read(fd, text->bytes + text->length, text->capacity - 1 - text->length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cli_fail("reading %s: %s", name, strerror(errno));
        text->length += (size_t)n;
        text->bytes[text->length] = 0;
        if (!n) return CLI_DONE;
        if (text->length > longest)
            return cli_fail("%s: the text has more than %zu bytes; give it in parts", name, longest);
    }
}

static int read_file(const char *path, cli_text *text) {
    if (!strcmp(path, "-")) return read_all(STDIN_FILENO, "standard input", text);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return cli_fail("-f %s: %s", path, strerror(errno));
    int status = read_all(fd, path, text);
    close(fd);
    return status;
}

static int join_words(const char *const *words, size_t n, cli_text *text) {
    for (size_t i = 0; i < n; i++)
        if ((i && !cli_text_add(text, " ", 1)) || !cli_text_add(text, words[i], strlen(words[i]))) return CLI_FAILED;
    return CLI_DONE;
}

static bool looks_like_a_model(const char *word) {
    size_t length = strlen(word);
    return length > 5 && !strcmp(word + length - 5, ".gguf");
}

int cli_read_text(const cli_command *command, const cli_options *options, bool drop_line_end, cli_text *text) {
    size_t n = options->n_words;
    *text = (cli_text){NULL, 0, 0};
    if (options->prompt && options->file) return cli_wrong(command, "-p and -f: give one of them");
    if (n && (options->prompt || options->file))
        return cli_wrong(command, "\"%.60s\": the text is already given by %s", options->words[0],
                         options->prompt ? "-p" : "-f");
    for (size_t i = 0; i < n; i++) {
        if (looks_like_a_model(options->words[i]))
            return cli_wrong(command, "\"%.200s\" looks like a model file: give it by -m, or as a text by -p",
                             options->words[i]);
        if (n > 1 && !strcmp(options->words[i], "-"))
            return cli_wrong(command, "\"-\" is standard input, and stands alone");
    }

    int status;
    bool from_file = true;
    if (options->prompt) {
        from_file = false;
        status = join_words(&options->prompt, 1, text);
    } else if (options->file) {
        status = read_file(options->file, text);
    } else if (n && strcmp(options->words[0], "-")) {
        from_file = false;
        status = join_words(options->words, n, text);
    } else if (!n && isatty(STDIN_FILENO)) {
        return cli_wrong(command, "no text: give one, as in shohin %s \"Once upon a time\", or -f FILE, or pipe it in",
                         command->name);
    } else {
        status = read_file("-", text);
    }
    if (status) {
        cli_text_free(text);
        return status;
    }
    if (from_file && drop_line_end && text->length && text->bytes[text->length - 1] == '\n') {
        text->length--;
        if (text->length && text->bytes[text->length - 1] == '\r') text->length--;
        text->bytes[text->length] = 0;
    }
    return CLI_DONE;
}
