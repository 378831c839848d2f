/* options.c: argv -> cli_options, by the option table.
 *
 * GNU style: --name=value, --name value, -n5, -n 5, several letters in one word, "--" ends the options, and options may stand between
 * other words. Single-dash words of several letters that llama.cpp knows (-ngl, -fa) are looked up whole before they are taken apart.
 * The last of a repeated option counts. Names are not abbreviated: a script must not change its meaning when an option is added.
 * Refuses a value that is not wholly a number in its range, and says the range. */
#include "cli/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    const cli_command *command;
    const char *(*device_name)(size_t index);
    char **argv;
    int argc, at; /* `at` is the next word */
    cli_options *out;
} parser;

static bool refuse(parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(parser *p, const char *format, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(p->out->error, sizeof p->out->error, "%s; see 'shohin %s --help'", text, p->command->name);
    return false;
}

/* ---- slips of the keys ------------------------------------------------------------------------------------ */

enum { LONGEST_NAME = 24 };

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b. */
static unsigned edit_distance(const char *a, size_t n, const char *b, size_t m) {
    unsigned row[3][LONGEST_NAME + 1]; /* of the distances to b's prefixes: i - 2, i - 1 and i letters of a, in turn */
    for (size_t j = 0; j <= m; j++) row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *now = row[i % 3];
        const unsigned *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

bool cli_resembles(const char *a, const char *b, unsigned *distance) {
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST_NAME || m > LONGEST_NAME || !n || !m) return false;
    *distance = edit_distance(a, n, b, m);
    /* "thread" is near "threads"; what shares its beginning is near however long the rest: "sampling" is no slip of "stats" */
    if (n >= 3 && m > n && !strncmp(a, b, n)) return true;
    return *distance <= (m < 5 ? 1 : m < 9 ? 2 : 3) && *distance < n;
}

/* ---- the table -------------------------------------------------------------------------------------------- */

static bool is_name(const char *known, const char *name, size_t length) {
    return known && strlen(known) == length && !memcmp(known, name, length);
}

static const cli_option *find_name(const char *name, size_t length) {
    for (size_t i = 0; i < cli_option_count; i++)
        if (is_name(cli_option_table[i].name, name, length) || is_name(cli_option_table[i].alias, name, length))
            return &cli_option_table[i];
    return NULL;
}

static const cli_option *find_letter(char letter) {
    for (size_t i = 0; i < cli_option_count; i++)
        if (cli_option_table[i].letter == letter) return &cli_option_table[i];
    return NULL;
}

const cli_command *cli_command_find(const char *name) {
    for (size_t i = 0; i < CLI_COMMANDS; i++)
        if (!strcmp(cli_command_table[i].name, name)) return &cli_command_table[i];
    return NULL;
}

unsigned cli_command_bit(const cli_command *command) {
    return 1u << (command - cli_command_table);
}

static bool takes(const parser *p, const cli_option *option) {
    return option->commands & cli_command_bit(p->command);
}

static const cli_habit *find_habit(const char *word, size_t length) {
    for (size_t i = 0; i < cli_habit_count; i++)
        for (size_t j = 0; j < 3 && cli_habit_table[i].names[j]; j++)
            if (is_name(cli_habit_table[i].names[j], word, length)) return &cli_habit_table[i];
    return NULL;
}

static const char *choice(const cli_option *option, const char *(*device_name)(size_t index), size_t index) {
    if (option->kind == CLI_CHOICE) return option->choices[index];
    if (option->kind != CLI_DEVICE) return NULL;
    if (!index) return "auto";
    return device_name ? device_name(index - 1) : NULL;
}

void cli_option_range(const cli_option *option, const char *(*device_name)(size_t index), char *text, size_t capacity) {
    size_t used = 0;
    text[0] = 0;
    if (option->kind == CLI_INTEGER && option->max == INT32_MAX)
        snprintf(text, capacity, "%lld or more", (long long)option->min);
    else if (option->kind == CLI_INTEGER)
        snprintf(text, capacity, "%lld to %lld", (long long)option->min, (long long)option->max);
    else if (option->kind == CLI_REAL)
        snprintf(text, capacity, "%g to %g", option->low, option->high);
    const char *name;
    for (size_t i = 0; (name = choice(option, device_name, i)) && used + 1 < capacity; i++) {
        int n = snprintf(text + used, capacity - used, "%s%s", i ? ", " : "", name);
        used += (size_t)n;
    }
}

/* ---- values ----------------------------------------------------------------------------------------------- */

/* Decimal digits with an optional minus, and nothing else; what does not fit is clamped by strtoll and so out of range. */
static bool read_integer(const char *text, int64_t *value) {
    const char *digits = text + (*text == '-');
    if (!*digits || digits[strspn(digits, "0123456789")]) return false;
    *value = strtoll(text, NULL, 10);
    return true;
}

static bool read_real(const char *text, double *value) {
    if (!*text || text[strspn(text, "0123456789+-.eE")]) return false; /* strtod would take "nan" and "0x1p3" */
    char *end;
    *value = strtod(text, &end);
    return !*end;
}

static bool read_seed(const char *text, cli_options *out) {
    if (!strcmp(text, "-1")) {
        out->seed_given = false;
        return true;
    }
    if (!*text || text[strspn(text, "0123456789")]) return false;
    errno = 0;
    out->seed = strtoull(text, NULL, 10);
    out->seed_given = true;
    return !errno;
}

static bool read_ids(parser *p, const char *shown, const char *text) {
    size_t capacity = 1, n = 0;
    for (const char *s = text; *s; s++) capacity += *s == ',' || *s == ' ';
    int32_t *ids = malloc(capacity * sizeof *ids);
    if (!ids) return refuse(p, "%s: out of memory for a list of %zu ids", shown, capacity);
    free(p->out->ids);
    p->out->ids = ids;
    p->out->n_ids = 0;

    const char *s = text + strspn(text, " ");
    bool bracket = *s == '[';
    if (bracket) s++;
    for (;;) {
        s += strspn(s, " ");
        size_t digits = strspn(s, "0123456789");
        if (!digits) break;
        errno = 0;
        long long value = strtoll(s, NULL, 10);
        if (errno || value > INT32_MAX)
            return refuse(p, "%s: \"%.*s\" is not a token id from 0 to %d", shown, (int)(digits > 40 ? 40 : digits), s,
                          INT32_MAX);
        ids[n++] = (int32_t)value;
        s += digits;
        size_t spaces = strspn(s, " ");
        s += spaces;
        if (*s == ',')
            s++;
        else if (!spaces)
            break;
    }
    if (bracket && *s == ']') {
        s++;
        bracket = false;
    }
    s += strspn(s, " ");
    if (*s || bracket) return refuse(p, "%s: \"%.40s\" is not a list of token ids such as 1,2,3", shown, text);
    if (!n) return refuse(p, "%s: the list of token ids is empty", shown);
    p->out->n_ids = n;
    return true;
}

static bool take_value(parser *p, const cli_option *option, const char *shown, const char *text) {
    char range[160];
    void *at = (char *)p->out + option->offset;
    int64_t integer;
    double real;
    const char *name;
    switch (option->kind) {
    case CLI_FLAG: *(bool *)at = true; return true;
    case CLI_TEXT: *(const char **)at = text; return true;
    case CLI_FILE:
        if (!*text) return refuse(p, "%s: the name of the file is empty", shown);
        *(const char **)at = text;
        return true;
    case CLI_CHOICE:
    case CLI_DEVICE:
        for (size_t i = 0; (name = choice(option, p->device_name, i)); i++) {
            if (strcmp(name, text)) continue;
            *(const char **)at = name;
            return true;
        }
        cli_option_range(option, p->device_name, range, sizeof range);
        return refuse(p, "%s: \"%.60s\" is not one of %s", shown, text, range);
    case CLI_INTEGER:
        if (!read_integer(text, &integer) || integer < option->min || integer > option->max)
            return refuse(p, "%s: \"%.60s\" is not a number from %lld to %lld", shown, text, (long long)option->min,
                          (long long)option->max);
        *(int64_t *)at = integer;
        return true;
    case CLI_REAL:
        if (!read_real(text, &real) || !(real >= option->low && real <= option->high))
            return refuse(p, "%s: \"%.60s\" is not a number from %g to %g", shown, text, option->low, option->high);
        *(double *)at = real;
        return true;
    case CLI_SEED:
        if (!read_seed(text, p->out))
            return refuse(p, "%s: \"%.60s\" is not a number from 0 to %llu, or -1", shown, text,
                          (unsigned long long)UINT64_MAX);
        return true;
    case CLI_IDS: return read_ids(p, shown, text);
    }
    return refuse(p, "%s: an option of no kind", shown);
}

/* ---- words ------------------------------------------------------------------------------------------------ */

/* "run, score": the commands that take an option. */
static void name_commands(unsigned commands, char *text, size_t capacity) {
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < CLI_COMMANDS && used + 1 < capacity; i++) {
        if (!(commands >> i & 1) || cli_command_table[i].hidden) continue;
        used += (size_t)snprintf(text + used, capacity - used, "%s%s", used ? ", " : "", cli_command_table[i].name);
    }
}

static bool elsewhere(parser *p, const cli_option *option, const char *shown) {
    char commands[80];
    name_commands(option->commands, commands, sizeof commands);
    return refuse(p, "%s is an option of %s, not of %s", shown, commands, p->command->name);
}

static bool unknown(parser *p, const char *name, const char *shown) {
    const cli_option *nearest = NULL;
    unsigned least = UINT32_MAX;
    for (size_t i = 0; i < cli_option_count; i++) {
        unsigned distance;
        if (!takes(p, &cli_option_table[i]) || !cli_resembles(name, cli_option_table[i].name, &distance) ||
            distance >= least)
            continue;
        /* Every command takes these two, and nearly any word resembles them: only a slip of one letter counts. */
        size_t offset = cli_option_table[i].offset;
        if (distance > 1 && (offset == offsetof(cli_options, help) || offset == offsetof(cli_options, version)))
            continue;
        nearest = &cli_option_table[i];
        least = distance;
    }
    if (nearest) return refuse(p, "%s is not an option; did you mean --%s?", shown, nearest->name);
    return refuse(p, "%s is not an option", shown);
}

static void note(cli_options *out, const char *text) {
    for (size_t i = 0; i < out->n_notes; i++)
        if (out->notes[i] == text) return;
    if (out->n_notes < sizeof out->notes / sizeof *out->notes) out->notes[out->n_notes++] = text;
}

static bool renamed(parser *p, const char *shown, const cli_option *ours) {
    char letter[8] = "", commands[80] = "";
    if (ours->letter) snprintf(letter, sizeof letter, "-%c, ", ours->letter);
    if (takes(p, ours)) return refuse(p, "%s is called %s--%s here", shown, letter, ours->name);
    name_commands(ours->commands, commands, sizeof commands);
    return refuse(p, "%s is called %s--%s here, an option of %s", shown, letter, ours->name, commands);
}

/* -ngl: without layers on a GPU the device is the CPU; any other number leaves the choice as it is. */
static bool gpu_layers(parser *p, const char *shown, const char *value) {
    int64_t layers;
    if (!value && p->at < p->argc) value = p->argv[p->at++];
    if (!value) return refuse(p, "%s needs a value: a number of layers, all or auto", shown);
    if (read_integer(value, &layers) ? layers < -1 || layers > 9999 : strcmp(value, "all") && strcmp(value, "auto"))
        return refuse(p, "%s: \"%.60s\" is not a number from -1 to 9999, all or auto", shown, value);
    const char *name;
    for (size_t i = 0; !strcmp(value, "0") && p->device_name && (name = p->device_name(i)); i++)
        if (!strcmp(name, "cpu")) p->out->device = name;
    return true;
}

static bool is_switch(const char *value) {
    return !strcmp(value, "on") || !strcmp(value, "off") || !strcmp(value, "auto");
}

/* `value` is what stood behind a "=", or NULL. */
static bool take_option(parser *p, const cli_option *option, const char *shown, const char *value) {
    if (!takes(p, option)) return elsewhere(p, option, shown);
    if (option->kind == CLI_FLAG) {
        if (value) return refuse(p, "%s takes no value", shown);
        return take_value(p, option, shown, "");
    }
    if (value) return take_value(p, option, shown, value);
    if (p->at == p->argc) return refuse(p, "%s needs a value: %s", shown, option->argument);
    return take_value(p, option, shown, p->argv[p->at++]);
}

/* `value` as above. */
static bool habit(parser *p, const cli_habit *row, const char *shown, const char *value) {
    const cli_option *device = find_name("device", 6);
    switch (row->kind) {
    case CLI_HABIT_ABSENT: return refuse(p, "%s: %s", shown, row->text);
    case CLI_HABIT_RENAMED: return renamed(p, shown, find_name(row->text, strlen(row->text)));
    case CLI_HABIT_LAYERS:
        if (!takes(p, device)) return elsewhere(p, device, shown);
        if (!gpu_layers(p, shown, value)) return false;
        break;
    case CLI_HABIT_TRUE:
        if (value && !row->may_have_value) return refuse(p, "%s takes no value", shown);
        if (value && !is_switch(value)) return refuse(p, "%s: \"%.60s\" is not one of on, off, auto", shown, value);
        if (!value && row->may_have_value && p->at < p->argc && is_switch(p->argv[p->at])) p->at++;
        break;
    }
    note(p->out, row->text);
    return true;
}

static bool long_option(parser *p, const char *word) {
    char shown[64];
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    snprintf(shown, sizeof shown, "%.*s", (int)(length > 60 ? 60 : length), word);
    const char *value = equals ? equals + 1 : NULL;
    const cli_option *option = find_name(word + 2, length - 2);
    if (option) return take_option(p, option, shown, value);
    const cli_habit *row = find_habit(word, length);
    return row ? habit(p, row, shown, value) : unknown(p, shown + 2, shown);
}

static bool short_options(parser *p, const char *word) {
    size_t length = strcspn(word, "=");
    const cli_habit *row = find_habit(word, length);
    char shown[64];
    if (row) {
        snprintf(shown, sizeof shown, "%.*s", (int)(length > 60 ? 60 : length), word);
        return habit(p, row, shown, word[length] ? word + length + 1 : NULL);
    }
    if (length > 2 && find_name(word + 1, length - 1)) { /* -temp would be -t with the value "emp" */
        snprintf(shown, sizeof shown, "%.*s", (int)length, word);
        return refuse(p, "%s is not an option; did you mean -%s?", shown, shown);
    }
    for (const char *letter = word + 1; *letter; letter++) {
        snprintf(shown, sizeof shown, "-%c", *letter);
        const cli_option *option = find_letter(*letter);
        if (!option) {
            if (!word[2]) return unknown(p, "", shown);
            /* a word such as -temp: a long name with a dash too few */
            snprintf(shown, sizeof shown, "%.60s", word);
            return unknown(p, word + 1, shown);
        }
        if (!takes(p, option)) return elsewhere(p, option, shown);
        if (option->kind == CLI_FLAG) {
            /* Behind a flag come only flags: "-hf" is no -h. */
            const cli_option *next = letter[1] ? find_letter(letter[1]) : NULL;
            if (letter[1] && (!next || next->kind != CLI_FLAG)) {
                snprintf(shown, sizeof shown, "%.60s", word);
                return unknown(p, "", shown);
            }
            if (!take_value(p, option, shown, "")) return false;
            continue;
        }
        if (letter[1]) return take_value(p, option, shown, letter + 1);
        if (p->at == p->argc) return refuse(p, "%s needs a value: %s", shown, option->argument);
        return take_value(p, option, shown, p->argv[p->at++]);
    }
    return true;
}

static bool plain_word(parser *p, const char *word) {
    if (p->out->n_words == p->command->max_words) {
        if (!p->out->n_words) return refuse(p, "\"%.60s\": %s takes options only", word, p->command->name);
        return refuse(p, "\"%.60s\": %s takes one %s only", word, p->command->name, p->command->words);
    }
    p->out->words[p->out->n_words++] = word;
    return true;
}

bool cli_options_parse(const cli_command *command, int argc, char **argv, const char *(*device_name)(size_t index),
                       cli_options *options) {
    *options =
        (cli_options){.batch = 512, .predict = -1, .temperature = -1, .top_k = -1, .top_p = -1, .min_p = -1, .top = -1};
    parser p = {command, device_name, argv, argc, 0, options};
    options->words = calloc((size_t)argc + 1, sizeof *options->words);
    if (!options->words) return refuse(&p, "out of memory for %d words", argc);
    bool ended = false;
    while (p.at < argc) {
        const char *word = argv[p.at++];
        bool ok;
        if (ended || word[0] != '-' || !word[1])
            ok = plain_word(&p, word);
        else if (word[1] != '-')
            ok = short_options(&p, word);
        else if (word[2])
            ok = long_option(&p, word);
        else
            ok = ended = true;
        if (!ok) return false;
        if (options->help || options->version) return true; /* whatever follows */
    }
    return true;
}

void cli_options_free(cli_options *options) {
    free(options->words);
    free(options->ids);
    options->words = NULL;
    options->ids = NULL;
    options->n_words = options->n_ids = 0;
}
