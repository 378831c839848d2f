/* fuzz_options.c: any bytes as a command line.
 *
 * The first byte chooses the command, the rest is cut at zeros into words. Beyond not crashing, what the parser lets through must be what
 * the table allows: it is the only check between the command line and the casts behind it. */
#include "cli/options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_WORDS = 64 };

static const char *device_name(size_t index) {
    static const char *const names[] = {"cpu", "ref"};
    return index < 2 ? names[index] : NULL;
}

static void require(int holds) {
    if (!holds) abort();
}

static void check_option(const cli_option *option, const cli_options *options) {
    const char *at = (const char *)options + option->offset;
    static const cli_options unset = {
        .predict = -1, .temperature = -1, .top_k = -1, .top_p = -1, .min_p = -1, .top = -1};
    const char *untouched = (const char *)&unset + option->offset;
    int64_t integer, integer_unset;
    double real, real_unset;
    const char *text;
    bool found = false;
    switch (option->kind) {
    case CLI_INTEGER:
        memcpy(&integer, at, sizeof integer);
        memcpy(&integer_unset, untouched, sizeof integer_unset);
        require(integer == integer_unset || (integer >= option->min && integer <= option->max));
        break;
    case CLI_REAL:
        memcpy(&real, at, sizeof real);
        memcpy(&real_unset, untouched, sizeof real_unset);
        require(real == real_unset || (real >= option->low && real <= option->high));
        break;
    case CLI_CHOICE:
        memcpy(&text, at, sizeof text);
        for (size_t i = 0; option->choices[i]; i++) found = found || text == option->choices[i];
        require(!text || found);
        break;
    case CLI_DEVICE:
        memcpy(&text, at, sizeof text);
        require(!text || !strcmp(text, "auto") || !strcmp(text, "cpu") || !strcmp(text, "ref"));
        break;
    case CLI_FILE:
        memcpy(&text, at, sizeof text);
        require(!text || *text);
        break;
    case CLI_FLAG:
    case CLI_TEXT:
    case CLI_SEED:
    case CLI_IDS: break;
    }
}

static void check(const cli_command *command, int argc, const cli_options *options, bool ok) {
    require(strlen(options->error) < sizeof options->error);
    require(ok == !*options->error);
    require(options->n_words <= (size_t)argc && options->n_words <= command->max_words);
    require(options->n_notes <= sizeof options->notes / sizeof *options->notes);
    if (!ok) return;
    require(!options->ids == !options->n_ids);
    for (size_t i = 0; i < options->n_ids; i++) require(options->ids[i] >= 0);
    for (size_t i = 0; i < cli_option_count; i++) check_option(&cli_option_table[i], options);
}

/* What the parser takes for granted of the tables. */
static void check_tables(void) {
    for (size_t i = 0; i < CLI_COMMANDS; i++)
        require(cli_command_find(cli_command_table[i].name) == &cli_command_table[i]);
    for (size_t i = 0; i < cli_option_count; i++) {
        const cli_option *option = &cli_option_table[i];
        require(option->commands && !(option->commands & ~(unsigned)CLI_EVERY) && option->help &&
                option->offset < sizeof(cli_options));
        require((option->kind == CLI_FLAG) == !option->argument);
        require((option->kind == CLI_CHOICE) == (option->choices != NULL));
        require(option->kind != CLI_INTEGER || option->min < option->max);
        require(option->kind != CLI_REAL || option->low < option->high);
        for (size_t j = 0; j < i; j++) {
            require(strcmp(option->name, cli_option_table[j].name) != 0);
            require(!option->letter || option->letter != cli_option_table[j].letter);
            require(option->offset != cli_option_table[j].offset);
        }
    }
    for (size_t i = 0; i < cli_habit_count; i++) {
        const cli_habit *habit = &cli_habit_table[i];
        size_t ours = 0;
        for (size_t j = 0; j < cli_option_count; j++) {
            ours += !strcmp(habit->text, cli_option_table[j].name);
            for (size_t k = 0; k < 3 && habit->names[k]; k++) /* a name cannot be both */
                require(strncmp(habit->names[k], "--", 2) != 0 ||
                        strcmp(habit->names[k] + 2, cli_option_table[j].name) != 0);
        }
        require((habit->kind == CLI_HABIT_RENAMED) == (ours == 1));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool checked;
    if (!checked) check_tables();
    checked = true;
    if (!size) return 0;
    const cli_command *command = &cli_command_table[data[0] % CLI_COMMANDS];
    char *words[MOST_WORDS];
    int n = 0;
    for (size_t at = 1; at < size && n < MOST_WORDS; n++) {
        const uint8_t *zero = memchr(data + at, 0, size - at);
        size_t length = zero ? (size_t)(zero - (data + at)) : size - at;
        words[n] = malloc(length + 1); /* a block of its own: a read past its end is seen */
        if (!words[n]) break;
        memcpy(words[n], data + at, length);
        words[n][length] = 0;
        at += length + 1;
    }
    char **argv = malloc(((size_t)n + 1) * sizeof *argv); /* and argv without the NULL that main has behind it */
    if (argv) {
        char **exact = n ? realloc(argv, (size_t)n * sizeof *argv) : argv;
        if (exact) argv = exact;
        memcpy(argv, words, (size_t)n * sizeof *argv);
        cli_options options;
        bool ok = cli_options_parse(command, n, argv, device_name, &options);
        check(command, n, &options, ok);
        cli_options_free(&options);
    }
    for (int i = 0; i < n; i++) free(words[i]);
    free(argv);
    return 0;
}
