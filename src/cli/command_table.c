/* command_table.c: the commands: their names and what --help and the man page say of them.
 *
 * Data only. A new command is a row here, a number in cli_command_id, a file of its own and a line in main.c. */
#include "cli/options.h"

const cli_command cli_command_table[CLI_COMMANDS] = {
    [CLI_ID_RUN] =
        {
            .name = "run",
            .words = "[TEXT...]",
            .max_words = SIZE_MAX,
            .summary = "continue a text",
            .about = "Continues a text and prints the continuation as it is made, with a line end behind it if the "
                     "text has none. The text is that of -p or -f, or the words of the command line joined by spaces; "
                     "\"-\" stands for standard input, which is also read if no text is given and it is not a "
                     "terminal.\n\nA text that does not fit the context is refused, never cut. An interrupt (Ctrl-C) "
                     "ends the text where it stands; a second one ends the program at once.",
        },
    [CLI_ID_INFO] =
        {
            .name = "info",
            .words = "[FILE]",
            .max_words = 1,
            .summary = "tell what a model file is, and how it would run here",
            .about = "Describes a model file: its formats, its configuration, its tokenizer, the memory that it takes "
                     "and the device that would run it. FILE is the same as -m FILE.\n\nA file that can be read but "
                     "not run is described too, with the reason and the way out, and the exit status is 0; in JSON, "
                     "\"refusal\" is then not null.",
        },
    [CLI_ID_TOKENIZE] =
        {
            .name = "tokenize",
            .words = "[TEXT...]",
            .max_words = SIZE_MAX,
            .summary = "turn text into token ids, or ids into text",
            .about = "Prints a line for each token of a text, its id and its bytes; with --ids, the text of a list of "
                     "ids. Weights are not loaded.\n\nIn JSON, a piece whose bytes are no valid UTF-8 has U+FFFD in "
                     "their place, and \"bytes\" then holds the bytes of every piece in hexadecimal.",
        },
    [CLI_ID_SCORE] =
        {
            .name = "score",
            .words = "[TEXT...]",
            .max_words = SIZE_MAX,
            .summary = "perplexity of a text, and the logits at each position",
            .about = "Tells how likely the model finds a text: the mean negative log-likelihood of its tokens, each "
                     "given those before it, and the perplexity, both with their standard errors. With --top or --json "
                     "also the largest logits at each position.\n\nA text longer than the context (-c) is read in "
                     "windows of that size. Each window after the first adds --stride tokens, which follow as many "
                     "earlier ones as fit, behind the BOS token if the text begins with it. Each token is scored once. "
                     "With half a window as stride, as it is unless given, every token but those of the first window "
                     "has at least half a window before it.",
        },
    [CLI_ID_HELP] =
        {
            .name = "help",
            .words = "[COMMAND]",
            .max_words = 1,
            .summary = "show how to use shohin, or one command",
            .about = "The same as shohin --help, or shohin COMMAND --help.",
        },
    [CLI_ID_VERSION] =
        {
            .name = "version",
            .words = "",
            .summary = "show the version",
            .about = "The same as shohin --version.",
        },
    [CLI_ID_GENERATE] =
        {
            .name = "generate",
            .hidden = true,
            .words = "man|bash|zsh|fish",
            .max_words = 1,
            .summary = "print the man page or a shell's completions",
            .about = "For packagers and the build.",
        },
};
