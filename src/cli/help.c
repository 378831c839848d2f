/* help.c: --help of the program and of a command, written from the tables; `help` and `version`. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 26 }; /* where the texts of options begin */

/* Prints a paragraph in lines of at most 80 columns. */
static void print_wrapped(const char *text) {
    size_t column = 0;
    while (*text) {
        if (text[0] == '\n' && text[1] == '\n') {
            cli_print("\n\n");
            text += 2;
            column = 0;
            continue;
        }
        size_t word = strcspn(text, " \n");
        if (column && column + 1 + word > 80) {
            cli_print("\n");
            column = 0;
        }
        cli_print("%s%.*s", column ? " " : "", (int)word, text);
        column += word + (column > 0);
        text += word;
        if (*text == ' ') text++;
    }
    cli_print("\n");
}

static void print_option(const cli_option *option) {
    char names[64], range[160];
    int n = option->letter ? snprintf(names, sizeof names, "  -%c, --%s", option->letter, option->name)
                           : snprintf(names, sizeof names, "      --%s", option->name);
    if (option->argument) snprintf(names + n, sizeof names - (size_t)n, " %s", option->argument);
    cli_print("%-*s %s", HELP_COLUMN - 1, names, option->help);
    cli_option_range(option, sh_device_name, range, sizeof range);
    if (*range && option->fallback)
        cli_print(" [%s; default: %s]", range, option->fallback);
    else if (*range)
        cli_print(" [%s]", range);
    else if (option->fallback)
        cli_print(" [default: %s]", option->fallback);
    cli_print("\n");
}

static void print_command_help(const cli_command *command) {
    cli_print("Usage: shohin %s [options]%s%s\n\n", command->name, *command->words ? " " : "", command->words);
    print_wrapped(command->about);
    for (int group = 0; group < CLI_GROUPS; group++) {
        bool any = false;
        for (size_t i = 0; i < cli_option_count; i++) {
            const cli_option *option = &cli_option_table[i];
            if ((int)option->group != group || !(option->commands & cli_command_bit(command))) continue;
            if (!any) cli_print("\n%s:\n", cli_group_names[group]);
            any = true;
            print_option(option);
        }
    }
}

static void print_program_help(void) {
    cli_print("Usage: shohin COMMAND [options]\n\n"
              "Runs language models with one-bit and ternary weights (GGUF files).\n\nCommands:\n");
    for (size_t i = 0; i < CLI_COMMANDS; i++) {
        const cli_command *command = &cli_command_table[i];
        if (!command->hidden) cli_print("  %-12s %s\n", command->name, command->summary);
    }
    cli_print("\nExamples:\n"
              "  shohin run \"Once upon a time\"\n"
              "  shohin run -m Bonsai-8B.gguf -f prompt.txt -n 200 --stats\n"
              "  shohin info -m Bonsai-8B.gguf --tensors\n"
              "\n"
              "'shohin COMMAND --help' lists a command's options. Results go to standard output,\n"
              "everything else to standard error. Exit status: 0 done, 1 failed, 2 wrong command line.\n");
}

void cli_print_help(const cli_command *command) {
    if (command)
        print_command_help(command);
    else
        print_program_help();
}

int cli_help(const cli_options *options) {
    if (!options->n_words) {
        print_program_help();
        return CLI_DONE;
    }
    const cli_command *command = cli_command_find(options->words[0]);
    if (!command) return cli_wrong(NULL, "\"%.60s\" is not a command", options->words[0]);
    print_command_help(command);
    return CLI_DONE;
}

int cli_version(const cli_options *options) {
    (void)options;
    cli_print("shohin %s\n", sh_version());
    return CLI_DONE;
}
