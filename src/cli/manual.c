/* manual.c: the man page shohin(1), written from the tables in the man macros of roff. */
#include "cli/cli.h"

#include <string.h>

#define MANUAL_DATE "2026-12-01" /* of its latest change; not of the build, which would differ each time */

/* Text with what roff would take for itself made plain. */
static void put(const char *text) {
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) cli_print("\\&");
        line_start = *text == '\n';
        switch (*text) {
        case '\\': cli_print("\\e"); break;
        case '-': cli_print("\\-"); break;
        case '\'': cli_print("\\(aq"); break;
        case '^': cli_print("\\(ha"); break;
        case '~': cli_print("\\(ti"); break;
        case '`': cli_print("\\(ga"); break;
        default: cli_print("%c", *text);
        }
    }
}

/* Paragraphs parted by an empty line. */
static void put_paragraphs(const char *text) {
    const char *gap;
    for (; (gap = strstr(text, "\n\n")); text = gap + 2) {
        for (const char *s = text; s < gap; s++) put((char[2]){*s, 0});
        cli_print("\n.PP\n");
    }
    put(text);
    cli_print("\n");
}

static void put_option(const cli_option *option) {
    char range[160];
    cli_print(".TP\n");
    if (option->letter) cli_print("\\fB\\-%c\\fR, ", option->letter);
    cli_print("\\fB\\-\\-");
    put(option->name);
    cli_print("\\fR");
    if (option->argument) cli_print(" \\fI%s\\fR", option->argument);
    cli_print("\n");
    char first[2] = {option->help[0], 0}; /* a sentence here, half a line in --help */
    if (first[0] >= 'a' && first[0] <= 'z') first[0] = (char)(first[0] - 'a' + 'A');
    put(first);
    put(option->help + 1);
    cli_print(".");
    cli_option_range(option, sh_device_name, range, sizeof range);
    if (*range) {
        cli_print("\nRange: ");
        put(range);
        cli_print(".");
    }
    if (option->fallback) {
        cli_print("\nDefault: ");
        put(option->fallback);
        cli_print(".");
    }
    cli_print("\n");
    if (!option->more) return;
    put(option->more);
    cli_print("\n");
}

static void put_command(const cli_command *command) {
    cli_print(".SS shohin %s\n", command->name);
    put_paragraphs(command->about);
    for (size_t i = 0; i < cli_option_count; i++) {
        const cli_option *option = &cli_option_table[i];
        /* what every command takes is told once, below */
        if (option->commands != CLI_EVERY && option->commands & cli_command_bit(command)) put_option(option);
    }
}

void cli_print_manual(void) {
    cli_print(".\\\" Written by 'shohin generate man'.\n"
              ".TH SHOHIN 1 " MANUAL_DATE " \"shohin %s\" \"User Commands\"\n"
              ".SH NAME\nshohin \\- run language models with one\\-bit and ternary weights\n"
              ".SH SYNOPSIS\n",
              sh_version());
    for (size_t i = 0; i < CLI_COMMANDS; i++) {
        const cli_command *command = &cli_command_table[i];
        if (command->hidden) continue;
        cli_print("%s.B shohin %s\n", i ? ".br\n" : "", command->name);
        cli_print("[\\fIoptions\\fR]%s", *command->words ? " " : "");
        put(command->words);
        cli_print("\n");
    }
    cli_print(
        ".SH DESCRIPTION\n"
        "shohin runs language models of the Qwen3 architecture whose weights have one or two bits, from GGUF files.\n"
        "Results go to standard output, everything else to standard error.\n"
        ".PP\n"
        "Options may stand between other words; the last of a repeated option counts; \\fB\\-\\-\\fR ends the "
        "options.\n"
        "A value follows its option as \\fB\\-\\-name=value\\fR, \\fB\\-\\-name value\\fR, \\fB\\-n5\\fR or \\fB\\-n "
        "5\\fR.\n"
        ".SH COMMANDS\n");
    for (size_t i = 0; i < CLI_COMMANDS; i++)
        if (!cli_command_table[i].hidden) put_command(&cli_command_table[i]);
    cli_print(".SS Options of every command\n");
    for (size_t i = 0; i < cli_option_count; i++)
        if (cli_option_table[i].commands == CLI_EVERY) put_option(&cli_option_table[i]);
    cli_print(
        ".SH EXIT STATUS\n"
        ".TP\n.B 0\nDone.\n"
        ".TP\n.B 1\nIt failed; one line on standard error says what went wrong, with the numbers, and what to do.\n"
        ".TP\n.B 2\nThe command line was wrong.\n"
        ".PP\n"
        "An interrupt ends \\fBshohin run\\fR cleanly: the text so far and what belongs to it are printed, then the\n"
        "program ends itself by SIGINT, which a shell shows as 130.\n"
        "If the reader of standard output has gone, the program ends quietly by SIGPIPE, shown as 141.\n"
        ".SH ENVIRONMENT\n"
        ".TP\n.B SHOHIN_MODEL\nThe model file where \\fB\\-m\\fR is not given.\n"
        ".SH FILES\n"
        ".TP\n.I PREFIX/share/shohin/models/stories\\-q1_0.gguf\n"
        "The demo model, used where neither \\fB\\-m\\fR nor SHOHIN_MODEL names one.\n"
        ".SH EXAMPLES\n"
        ".nf\n"
        "shohin run \"Once upon a time\"\n"
        "shohin run \\-m Bonsai\\-8B.gguf \\-f prompt.txt \\-n 200 \\-\\-stats\n"
        "shohin score \\-m Bonsai\\-8B.gguf \\-f wiki.txt \\-c 2048\n"
        "echo \"Hello there\" | shohin tokenize \\-\\-json\n"
        ".fi\n");
}
