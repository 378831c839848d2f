/* completions.c: completions for bash, zsh and fish, written from the tables; `generate`, which the build calls.
 *
 * bash's need no bash-completion package. Refuses nothing but an unknown shell. */
#include "cli/cli.h"

#include <string.h>

static const char *choice(const cli_option *option, size_t index) {
    if (option->kind == CLI_CHOICE) return option->choices[index];
    if (option->kind == CLI_DEVICE) return index ? sh_device_name(index - 1) : "auto";
    return NULL;
}

static void put_choices(const cli_option *option) {
    const char *name;
    for (size_t i = 0; (name = choice(option, i)); i++) cli_print("%s%s", i ? " " : "", name);
}

/* Text inside single quotes of a shell, with `also` escaped by a backslash. */
static void put_quoted(const char *text, const char *also) {
    for (; *text; text++) {
        if (*text == '\'')
            cli_print("'\\''");
        else
            cli_print("%s%c", strchr(also, *text) ? "\\" : "", *text);
    }
}

static void put_command_names(void) {
    bool any = false;
    for (size_t i = 0; i < CLI_COMMANDS; i++) {
        if (cli_command_table[i].hidden) continue;
        cli_print("%s%s", any ? " " : "", cli_command_table[i].name);
        any = true;
    }
}

/* ---- bash ------------------------------------------------------------------------------------------------- */

static void put_bash_case(const cli_option *option) {
    if (option->letter) cli_print("    -%c | --%s)\n", option->letter, option->name);
    if (!option->letter) cli_print("    --%s)\n", option->name);
    if (option->kind == CLI_FILE) {
        cli_print("        _shohin_files\n");
    } else if (choice(option, 0)) {
        cli_print("        _shohin_words \"");
        put_choices(option);
        cli_print("\"\n");
    }
    cli_print("        return\n        ;;\n");
}

static void put_bash(void) {
    cli_print("# bash completion for shohin, written by 'shohin generate bash'.\n"
              "\n"
              "_shohin_words() {\n"
              "    local word\n"
              "    while IFS= read -r word; do COMPREPLY+=(\"$word\"); done < <(compgen -W \"$1\" -- \"$cur\")\n"
              "}\n"
              "\n"
              "_shohin_files() {\n"
              "    local file\n"
              "    compopt -o filenames 2>/dev/null\n"
              "    while IFS= read -r file; do COMPREPLY+=(\"$file\"); done < <(compgen -f -- \"$cur\")\n"
              "}\n"
              "\n"
              "_shohin() {\n"
              "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
              "    COMPREPLY=()\n"
              "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
              "        _shohin_words \"");
    put_command_names();
    cli_print(" --help --version\"\n"
              "        return\n"
              "    fi\n"
              "    # --name=value comes as three words\n"
              "    if [ \"$cur\" = \"=\" ]; then\n"
              "        cur=\n"
              "    elif [ \"$prev\" = \"=\" ]; then\n"
              "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
              "    fi\n"
              "    case $prev in\n");
    for (size_t i = 0; i < cli_option_count; i++)
        if (cli_option_table[i].argument) put_bash_case(&cli_option_table[i]);
    cli_print("    esac\n"
              "    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < CLI_COMMANDS; i++) {
        const cli_command *command = &cli_command_table[i];
        if (command->hidden) continue;
        cli_print("    %s)\n", command->name);
        if (i == CLI_ID_HELP || i == CLI_ID_INFO) {
            cli_print("        case $cur in\n        -*) ;;\n        *)\n            ");
            if (i == CLI_ID_INFO) {
                cli_print("_shohin_files\n");
            } else {
                cli_print("_shohin_words \"");
                put_command_names();
                cli_print("\"\n");
            }
            cli_print("            return\n            ;;\n        esac\n");
        }
        cli_print("        _shohin_words \"");
        bool any = false;
        for (size_t j = 0; j < cli_option_count; j++) {
            if (!(cli_option_table[j].commands & cli_command_bit(command))) continue;
            cli_print("%s--%s", any ? " " : "", cli_option_table[j].name);
            any = true;
        }
        cli_print("\"\n        ;;\n");
    }
    cli_print("    esac\n"
              "}\n"
              "complete -F _shohin shohin\n");
}

/* ---- zsh -------------------------------------------------------------------------------------------------- */

static void put_zsh_option(const cli_option *option) {
    if (option->letter)
        cli_print("            '(-%c --%s)'{-%c%s,--%s%s}'", option->letter, option->name, option->letter,
                  option->argument ? "+" : "", option->name, option->argument ? "=" : "");
    else
        cli_print("            '--%s%s", option->name, option->argument ? "=" : "");
    cli_print("[");
    put_quoted(option->help, "[]\\");
    cli_print("]");
    if (option->argument) {
        cli_print(":%s:", option->argument);
        if (option->kind == CLI_FILE) {
            cli_print("_files");
        } else if (choice(option, 0)) {
            cli_print("(");
            put_choices(option);
            cli_print(")");
        }
    }
    cli_print("' \\\n");
}

static void put_zsh(void) {
    cli_print("#compdef shohin\n"
              "# zsh completion for shohin, written by 'shohin generate zsh'.\n"
              "\n"
              "_shohin() {\n"
              "    local -a commands\n"
              "    commands=(\n");
    for (size_t i = 0; i < CLI_COMMANDS; i++) {
        if (cli_command_table[i].hidden) continue;
        cli_print("        '%s:", cli_command_table[i].name);
        put_quoted(cli_command_table[i].summary, ":\\");
        cli_print("'\n");
    }
    cli_print("    )\n"
              "    if (( CURRENT == 2 )); then\n"
              "        _describe command commands\n"
              "        return\n"
              "    fi\n"
              "    local command=$words[2]\n"
              "    shift words\n"
              "    (( CURRENT-- ))\n"
              "    case $command in\n");
    for (size_t i = 0; i < CLI_COMMANDS; i++) {
        const cli_command *command = &cli_command_table[i];
        if (command->hidden) continue;
        cli_print("    (%s)\n        _arguments -s -S \\\n", command->name);
        for (size_t j = 0; j < cli_option_count; j++)
            if (cli_option_table[j].commands & cli_command_bit(command)) put_zsh_option(&cli_option_table[j]);
        if (i == CLI_ID_HELP) {
            cli_print("            '1:command:(");
            put_command_names();
            cli_print(")'\n");
        } else if (i == CLI_ID_INFO) {
            cli_print("            '1:file:_files'\n");
        } else {
            cli_print("            '*:text:'\n");
        }
        cli_print("        ;;\n");
    }
    cli_print("    esac\n"
              "}\n"
              "\n"
              "_shohin \"$@\"\n");
}

/* ---- fish ------------------------------------------------------------------------------------------------- */

static void put_fish(void) {
    cli_print("# fish completion for shohin, written by 'shohin generate fish'.\n"
              "complete -c shohin -f\n");
    for (size_t i = 0; i < CLI_COMMANDS; i++) {
        if (cli_command_table[i].hidden) continue;
        cli_print("complete -c shohin -n __fish_use_subcommand -a %s -d '", cli_command_table[i].name);
        put_quoted(cli_command_table[i].summary, "\\");
        cli_print("'\n");
    }
    for (size_t j = 0; j < cli_option_count; j++) {
        const cli_option *option = &cli_option_table[j];
        cli_print("complete -c shohin -n '__fish_seen_subcommand_from");
        for (size_t i = 0; i < CLI_COMMANDS; i++)
            if (!cli_command_table[i].hidden && option->commands >> i & 1) cli_print(" %s", cli_command_table[i].name);
        cli_print("' -l %s", option->name);
        if (option->letter) cli_print(" -s %c", option->letter);
        if (option->kind == CLI_FILE) {
            cli_print(" -r -F");
        } else if (option->argument) {
            cli_print(" -x");
            if (choice(option, 0)) {
                cli_print(" -a '");
                put_choices(option);
                cli_print("'");
            }
        }
        cli_print(" -d '");
        put_quoted(option->help, "\\");
        cli_print("'\n");
    }
    cli_print("complete -c shohin -n '__fish_seen_subcommand_from %s' -F\n", cli_command_table[CLI_ID_INFO].name);
    cli_print("complete -c shohin -n '__fish_seen_subcommand_from %s' -a '", cli_command_table[CLI_ID_HELP].name);
    put_command_names();
    cli_print("'\n");
}

void cli_print_completions(const char *shell) {
    if (!strcmp(shell, "bash")) put_bash();
    if (!strcmp(shell, "zsh")) put_zsh();
    if (!strcmp(shell, "fish")) put_fish();
}

int cli_generate(const cli_options *options) {
    const char *what = options->n_words ? options->words[0] : "";
    if (!strcmp(what, "man"))
        cli_print_manual();
    else if (!strcmp(what, "bash") || !strcmp(what, "zsh") || !strcmp(what, "fish"))
        cli_print_completions(what);
    else
        return cli_wrong(&cli_command_table[CLI_ID_GENERATE], "\"%.60s\" is not one of man, bash, zsh, fish", what);
    return CLI_DONE;
}
