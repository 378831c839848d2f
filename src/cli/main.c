/* main.c: from the command line to a command, and from its result to the program's exit status.
 *
 * Exit status: 0 done; 1 it failed, with one line on standard error; 2 the command line was wrong; 130 and 141, as the shell shows an end by
 * SIGINT and SIGPIPE: the program then ends itself by that signal, so that a script's loop around it ends too. */
#include "cli/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int (*const runners[CLI_COMMANDS])(const cli_options *options) = {
    [CLI_ID_RUN] = cli_run,           [CLI_ID_INFO] = cli_info, [CLI_ID_TOKENIZE] = cli_tokenize,
    [CLI_ID_SCORE] = cli_score,       [CLI_ID_HELP] = cli_help, [CLI_ID_VERSION] = cli_version,
    [CLI_ID_GENERATE] = cli_generate,
};

/* A file opened later must not become descriptor 1 or 2. What stands in for a closed one fails when used. */
static void fill_closed_descriptors(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd) _exit(CLI_FAILED);
}

/* Commands of other engines, and what to do instead. */
static const char *const later[][2] = {
    {"chat", "'run' continues a text"},
    {"serve", "'run' continues a text"},
    {"server", "'run' continues a text"},
    {"bench", "'run --stats' tells speeds"},
    {"perplexity", "'score' prints it"},
    {"pull", "fetch the GGUF file and give it by -m"},
    {"convert", "give a file that is GGUF already by -m"},
    {"quantize", "give a file that is quantized already by -m"},
    {"compare", "'score --json' prints the logits of one model"},
};

static int unknown_command(const char *word) {
    const cli_command *nearest = NULL;
    unsigned least = UINT32_MAX;
    for (size_t i = 0; i < CLI_COMMANDS; i++) {
        unsigned distance;
        if (cli_command_table[i].hidden || !cli_resembles(word, cli_command_table[i].name, &distance) ||
            distance >= least)
            continue;
        nearest = &cli_command_table[i];
        least = distance;
    }
    if (word[0] == '-') return cli_wrong(NULL, "\"%.60s\": the command comes before its options", word);
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (!strcmp(word, later[i][0])) return cli_wrong(NULL, "\"%s\" is not there yet; %s", word, later[i][1]);
    if (nearest) return cli_wrong(NULL, "\"%.60s\" is not a command; did you mean \"%s\"?", word, nearest->name);
    return cli_wrong(NULL, "\"%.60s\" is not a command", word);
}

static int run_command(const cli_command *command, int argc, char **argv) {
    cli_options options;
    int status;
    if (!cli_options_parse(command, argc, argv, sh_device_name, &options)) {
        cli_fail("%s", options.error);
        status = CLI_WRONG;
    } else if (options.help) {
        cli_print_help(command);
        status = CLI_DONE;
    } else if (options.version) {
        status = cli_version(&options);
    } else {
        cli_set_log_level(options.log_level);
        for (size_t i = 0; i < options.n_notes; i++) cli_note("note: %s", options.notes[i]);
        status = runners[command - cli_command_table](&options);
    }
    cli_options_free(&options);
    return status;
}

int main(int argc, char **argv) {
    fill_closed_descriptors();
    signal(SIGPIPE, SIG_IGN); /* a failed write says so, also where the parent ignores the signal */
    int status;
    if (argc < 2) {
        cli_tell("Usage: shohin COMMAND [options]");
        cli_tell("Try 'shohin run \"Once upon a time\"', or 'shohin --help'.");
        status = CLI_WRONG;
    } else {
        const char *word = argv[1];
        if (!strcmp(word, "--help") || !strcmp(word, "-h")) word = "help";
        if (!strcmp(word, "--version") || !strcmp(word, "-V")) word = "version";
        const cli_command *command = cli_command_find(word);
        status = command ? run_command(command, argc - 2, argv + 2) : unknown_command(word);
    }
    status = cli_finish_output(status);
    if (status > CLI_SIGNAL) {
        signal(status - CLI_SIGNAL, SIG_DFL);
        raise(status - CLI_SIGNAL);
    }
    return status;
}
