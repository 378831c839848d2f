/* options.h: the option table of the command line and its parser.
 *
 * One table (option_table.c, command_table.c) drives parsing, --help, the man page and the shell completions. Knows no command's work and
 * nothing of the library, so that a fuzzer can link it alone. Refuses to print or exit: what is wrong comes back as text. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which lists show them. */
typedef enum cli_command_id {
    CLI_ID_RUN,
    CLI_ID_INFO,
    CLI_ID_TOKENIZE,
    CLI_ID_SCORE,
    CLI_ID_HELP,
    CLI_ID_VERSION,
    CLI_ID_GENERATE,
    CLI_COMMANDS,
} cli_command_id;

/* Which commands take an option. */
enum {
    CLI_RUN = 1 << CLI_ID_RUN,
    CLI_INFO = 1 << CLI_ID_INFO,
    CLI_TOKENIZE = 1 << CLI_ID_TOKENIZE,
    CLI_SCORE = 1 << CLI_ID_SCORE,
    CLI_EVERY = (1 << CLI_COMMANDS) - 1,
};

/* What the command line said. Numbers not given hold what the comment says; texts not given are NULL. Texts belong to argv
 * or to the table. */
typedef struct cli_options {
    const char *model;
    int64_t threads; /* 0: not given */
    int64_t context; /* 0: not given */
    int64_t batch;
    const char *device;
    const char *q2_layout;
    const char *rope_scaling;
    double yarn_factor;            /* 0: not given */
    int64_t yarn_original_context; /* 0: not given */
    const char *log_level;
    bool json;

    const char *prompt;
    const char *file;
    int32_t *ids; /* of --ids, owned; NULL: not given */
    size_t n_ids;
    bool special;
    bool no_bos;

    int64_t predict;
    bool ignore_ends;
    double temperature; /* -1: not given, likewise the three below */
    int64_t top_k;
    double top_p;
    double min_p;
    uint64_t seed;
    bool seed_given;
    bool echo;
    bool stats;

    int64_t top;    /* -1: not given */
    int64_t stride; /* 0: not given */

    bool tensors;
    bool metadata;

    bool help;
    bool version;

    const char **words; /* what is no option, in order; the array is owned, the texts are argv's */
    size_t n_words;
    const char *notes[32]; /* one line each: options of llama.cpp that change nothing here; static texts */
    size_t n_notes;
    char error[512]; /* why cli_options_parse failed: one line, without the program's name in front */
} cli_options;

typedef enum cli_kind {
    CLI_FLAG,    /* bool */
    CLI_TEXT,    /* const char * */
    CLI_FILE,    /* const char *: as text, but completed as a file name */
    CLI_CHOICE,  /* const char *: one of `choices` */
    CLI_DEVICE,  /* const char *: "auto" or a device of this build */
    CLI_INTEGER, /* int64_t from `min` to `max` */
    CLI_REAL,    /* double from `low` to `high` */
    CLI_SEED,    /* uint64_t, or -1 for a fresh one */
    CLI_IDS,     /* int32_t list */
} cli_kind;

typedef enum cli_group { CLI_INPUT, CLI_DRAWING, CLI_RESULT, CLI_MODEL, CLI_OTHER, CLI_GROUPS } cli_group;

typedef struct cli_option {
    const char *name;     /* without its dashes */
    const char *alias;    /* llama.cpp's name for exactly the same: taken, but shown nowhere; NULL if none */
    char letter;          /* 0 if it has none */
    const char *argument; /* "N"; NULL for a flag */
    const char *help;     /* one line */
    const char *fallback; /* what holds if it is not given; NULL if nothing needs saying */
    const char *more;     /* what the man page adds; NULL if nothing */
    cli_kind kind;
    cli_group group;
    unsigned commands; /* CLI_RUN | ... */
    size_t offset;     /* of its value in cli_options */
    int64_t min, max;
    double low, high;
    const char *const *choices; /* NULL at the end */
} cli_option;

extern const cli_option cli_option_table[];
extern const size_t cli_option_count;
extern const char *const cli_group_names[CLI_GROUPS];

/* Options of llama.cpp that people type from habit. */
typedef enum cli_habit_kind {
    CLI_HABIT_RENAMED, /* refused: `text` is the nearest option here, without dashes */
    CLI_HABIT_ABSENT,  /* refused: `text` says why there is none */
    CLI_HABIT_TRUE,    /* taken: `text` is the note that it changes nothing */
    CLI_HABIT_LAYERS,  /* taken: the number of layers on a GPU */
} cli_habit_kind;

typedef struct cli_habit {
    const char *names[3]; /* with dashes; "" past the last */
    cli_habit_kind kind;
    bool may_have_value; /* on, off or auto may follow */
    const char *text;
} cli_habit;

extern const cli_habit cli_habit_table[];
extern const size_t cli_habit_count;

typedef struct cli_command {
    const char *name;
    bool hidden;         /* left out of lists */
    const char *words;   /* what may stand beside the options: "[TEXT...]"; "" if nothing */
    size_t max_words;    /* */
    const char *summary; /* one line without a full stop */
    const char *about;   /* paragraphs, parted by an empty line */
} cli_command;

extern const cli_command cli_command_table[CLI_COMMANDS]; /* row i is command i of cli_command_id */

/* NULL if there is no such command. */
const cli_command *cli_command_find(const char *name);
/* CLI_RUN, ... */
unsigned cli_command_bit(const cli_command *command);

/* Reads argv[0] to argv[argc - 1], which follow the command's name. `device_name(i)` names the devices of this build,
 * NULL past the last. On false `error` is set. Call cli_options_free in either case. */
bool cli_options_parse(const cli_command *command, int argc, char **argv, const char *(*device_name)(size_t index),
                       cli_options *options);
void cli_options_free(cli_options *options);

/* True if `a` is so near to `b` that it may be a slip of the keys; *distance tells candidates apart. */
bool cli_resembles(const char *a, const char *b, unsigned *distance);

/* Writes the range that an option's value may have: "1 to 1024", "auto, 64 or 128"; "" if any text will do. */
void cli_option_range(const cli_option *option, const char *(*device_name)(size_t index), char *text, size_t capacity);

#endif
