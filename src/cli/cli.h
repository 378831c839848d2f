/* cli.h: what the commands share: how they speak to a person, read a text, open a model and print.
 *
 * The commands include include/shohin.h and libc, and nothing else of the library. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "shohin.h"
#include "cli/options.h"

enum {
    CLI_DONE = 0,
    CLI_FAILED = 1,   /* with one line on standard error */
    CLI_WRONG = 2,    /* the command line was wrong */
    CLI_SIGNAL = 128, /* plus its number: the program ends itself by that signal */
};

/* ---- commands --------------------------------------------------------------------------------------------- */

int cli_run(const cli_options *options);
int cli_info(const cli_options *options);
int cli_tokenize(const cli_options *options);
int cli_score(const cli_options *options);
int cli_help(const cli_options *options);
int cli_version(const cli_options *options);
int cli_generate(const cli_options *options);

/* What --help prints, of one command or (NULL) of the program. */
void cli_print_help(const cli_command *command);
void cli_print_manual(void);
/* shell: "bash", "zsh" or "fish" */
void cli_print_completions(const char *shell);

/* ---- messages.c: standard error --------------------------------------------------------------------------- */

/* Print a line "shohin: ..." and return the exit status that goes with it. Control characters show as '?'. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* With the library's error text. */
int cli_fail_library(void);
/* A wrong command line: adds where help is. */
int cli_wrong(const cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What is worth knowing and no failure; silent at --log-level error. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line as it is, whatever the level. */
void cli_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sets what cli_note and the library's log tell. level: a choice of --log-level, NULL for the default. */
void cli_set_log_level(const char *level);

/* Shows on a terminal, once a second has passed, that `what` is going on, and how many of `total` `unit` are done (total 0:
 * unknown). One at a time; a message in between clears its line. */
void cli_progress_begin(const char *what, uint64_t total, const char *unit);
void cli_progress_set(uint64_t done);
void cli_progress_end(void);

/* Seconds since some moment. */
double cli_now(void);

/* ---- output.c: standard output ---------------------------------------------------------------------------- */

/* The first failure is kept, and later calls do nothing. False once one has failed. */
bool cli_write(const char *bytes, size_t length);
bool cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool cli_flush(void);
/* Bytes with what is no printable UTF-8 as \n, \t or \xHH, and with `quote` before quotes and backslashes: safe on a terminal. */
bool cli_print_safe(const char *bytes, size_t length, bool quoted);
/* Closes standard output; `status` becomes CLI_FAILED (with a message) or CLI_SIGNAL + SIGPIPE if not all was written. */
int cli_finish_output(int status);

/* True if the bytes are valid UTF-8. */
bool cli_is_utf8(const char *bytes, size_t length);
/* The bytes of the character that begins here if it is valid UTF-8, else 0 and in *bad the bytes that make one U+FFFD. */
size_t cli_utf8_next(const char *bytes, size_t length, uint32_t *character, size_t *bad);

/* ---- input.c ---------------------------------------------------------------------------------------------- */

/* A growing text; all zero is an empty one. (open_memstream would lose text silently if memory ran out.) */
typedef struct cli_text {
    char *bytes; /* owned; NULL or with a zero behind it */
    size_t length, capacity;
} cli_text;

/* False, with the line printed, if memory ran out: the text is then as it was. */
bool cli_text_add(cli_text *text, const char *bytes, size_t length);
void cli_text_free(cli_text *text);

/* The text that the options and words name, or standard input. On anything but CLI_DONE the line is printed and `text`
 * is empty. */
int cli_read_text(const cli_command *command, const cli_options *options, bool drop_line_end, cli_text *text);

/* ---- models.c --------------------------------------------------------------------------------------------- */

typedef struct cli_model {
    char path[4096];
    double load_seconds;
    sh_engine *engine;
    const sh_tokenizer *tokenizer;
} cli_model;

/* The file that -m, SHOHIN_MODEL or the place of the program name; false: the line is printed. */
bool cli_model_path(const cli_options *options, char *path, size_t capacity);
bool cli_file_open(const cli_options *options, const char *path, sh_file **file);
/* Both clean up after themselves on false, with the line printed. */
bool cli_model_open(const cli_options *options, cli_model *model);
bool cli_session_open(const cli_options *options, const cli_model *model, sh_session **session);
void cli_model_close(cli_model *model);
/* The engine's options that the command line gives. */
void cli_engine_options(const cli_options *options, const char *path, sh_engine_options *engine);

#endif
