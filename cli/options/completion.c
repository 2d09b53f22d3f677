/* The completion for bash. The possible completions are in three functions written from the tables:
 * the commands, the options of a command, and the values of an option. */
#include <ctype.h>
#include <string.h>

#include "cli/options/manual.h"

static const char HEAD[] =
    "# Completion of tidemark for bash, written by tidemark --completion from the tables of\n"
    "# --help.\n";

/* The written functions and this one share `words`, `kind` and `whole`. bash also cuts the line at
 * = and :. Here the pieces of a word are joined again; the answer omits the pieces before the last
 * one, because readline replaces only the last one. */
static const char TAIL[] =
    "_tidemark() {\n"
    "    local i word kind value option=\n"
    "    local piece=${COMP_WORDS[COMP_CWORD]}\n"
    "    local -a line=() words=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if ((i > 1)) && [[ -n $word && ($word == [=:] || ${COMP_WORDS[i - 1]} == [=:]) ]]; "
    "then\n"
    "            line[${#line[@]} - 1]+=$word\n"
    "        else\n"
    "            line+=(\"$word\")\n"
    "        fi\n"
    "    done\n"
    "    [[ $piece == [=:] ]] && piece=\n"
    "    local -i last=$((${#line[@]} - 1))\n"
    "    local whole=${line[last]} command=${line[1]}\n"
    "    local kept=${whole%\"$piece\"}\n"
    "    COMPREPLY=()\n"
    "    value=$whole\n"
    "    if ((last <= 1)); then\n"
    "        _tidemark_commands\n"
    "        kind=word\n"
    "    else\n"
    "        for ((i = 2; i < last; i++)); do\n"
    "            word=${line[i]}\n"
    "            if [[ $word == -- ]]; then\n"
    "                command+=' --'\n"
    "                break\n"
    "            elif [[ $word == -?* ]]; then\n"
    "                [[ $word != *=* ]] && _tidemark_values \"$command $word\" && i=$((i + 1))\n"
    "            elif _tidemark_takes_program \"$command\"; then\n"
    "                command+=' --'\n"
    "                break\n"
    "            fi\n"
    "        done\n"
    "        kind= words=()\n"
    "        if [[ $command == help ]]; then\n"
    "            _tidemark_commands\n"
    "            kind=word\n"
    "        elif [[ $command == *' --' ]] && _tidemark_takes_program \"${command%% *}\"; then\n"
    "            kind=file\n"
    "        elif [[ $command != *' --' && $whole == --*=* ]]; then\n"
    "            option=${whole%%=*}\n"
    "            value=${whole#*=}\n"
    "            _tidemark_values \"$command $option\"\n"
    "        elif ((last > 2)) && _tidemark_values \"$command ${line[last - 1]}\"; then\n"
    "            :\n"
    "        elif [[ $command != *' --' && $whole == -* ]]; then\n"
    "            _tidemark_options \"$command\"\n"
    "            kind=word\n"
    "        elif _tidemark_takes_program \"$command\"; then\n"
    "            kind=program\n"
    "        else\n"
    "            _tidemark_values \"${command%% *}\"\n"
    "        fi\n"
    "    fi\n"
    "    local before=${whole%\"$value\"}\n"
    "    if [[ $kind == list && $value == *,* ]]; then\n"
    "        before+=${value%,*},\n"
    "    fi\n"
    "    for word in \"${words[@]}\"; do\n"
    "        [[ $kind == list && ,${value%,*}, == *,\"$word\",* && $value == *,* ]] && continue\n"
    "        [[ $before$word == \"$whole\"* ]] && COMPREPLY+=(\"$before$word\")\n"
    "    done\n"
    "    if [[ $kind == program ]]; then\n"
    "        while IFS= read -r word; do\n"
    "            COMPREPLY+=(\"$before$word\")\n"
    "        done < <({ compgen -c -- \"$value\"; compgen -f -- \"$value\"; } | sort -u)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "    elif [[ $kind == file ]]; then\n"
    "        while IFS= read -r word; do\n"
    "            COMPREPLY+=(\"$before$word\")\n"
    "        done < <(compgen -f -- \"$value\")\n"
    "        compopt -o filenames 2>/dev/null\n"
    "    elif [[ $kind == list ]]; then\n"
    "        compopt -o nospace 2>/dev/null # a comma may follow\n"
    "    fi\n"
    "    for i in \"${!COMPREPLY[@]}\"; do\n"
    "        COMPREPLY[i]=${COMPREPLY[i]#\"$kept\"}\n"
    "    done\n"
    "}\n"
    "complete -F _tidemark tidemark\n";

/* A word of bash: 'it'\''s'. */
static void put_word(FILE *out, const char *prefix, const char *word, size_t n) {
    fprintf(out, " '%s", prefix);
    for (size_t i = 0; i < n; i++) {
        if (word[i] == '\'') {
            fputs("'\\''", out);
        } else {
            fputc(word[i], out);
        }
    }
    fputc('\'', out);
}

/* Whether a placeholder means a file: it starts with FILE or has an ending, such as
 * "FILE.json.gz". */
static bool is_file(const char *placeholder) {
    if (placeholder == NULL) {
        return false;
    }
    const char *dot = strchr(placeholder, '.');
    return strncmp(placeholder, "FILE", 4) == 0 ||
           (dot != NULL && isalpha((unsigned char)dot[1]) != 0);
}

/* The names shown in --help; aliases are known but not offered. */
static void put_option_names(FILE *out, const tide_option *options, size_t n_options) {
    for (size_t i = 0; i < n_options; i++) {
        if (options[i].kind == TIDE_OPTION_HEADING) {
            continue;
        }
        if (options[i].name != NULL) {
            put_word(out, "--", options[i].name, strlen(options[i].name));
        }
        if (options[i].letter != NULL) {
            put_word(out, "-", options[i].letter, strlen(options[i].letter));
        }
    }
    fputs(" '--help'", out);
}

/* "    'profile --size' | 'profile --model-size')" */
static void put_pattern(FILE *out, const char *command, const tide_option *option) {
    const char *bar = "   ";
    if (option->name != NULL) {
        fprintf(out, "%s '%s --%s'", bar, command, option->name);
        bar = " |";
    }
    if (option->letter != NULL) {
        fprintf(out, "%s '%s -%s'", bar, command, option->letter);
        bar = " |";
    }
    for (const char *at = option->aliases; at != NULL && *at != '\0';) {
        int n = (int)strcspn(at, " ");
        fprintf(out, "%s '%s --%.*s'", bar, command, n, at);
        bar = " |";
        at += n;
        at += strspn(at, " ");
    }
    fputs(")", out);
}

static void put_values(FILE *out, const char *command, const tide_option *option) {
    if (option->kind == TIDE_OPTION_FLAG || option->kind == TIDE_OPTION_SHORTHAND ||
        option->kind == TIDE_OPTION_HEADING) {
        return;
    }
    put_pattern(out, command, option);
    if (option->choice_at == NULL) {
        bool takes_file = (option->kind == TIDE_OPTION_TEXT || option->kind == TIDE_OPTION_FILES) &&
                          is_file(option->value);
        fprintf(out, " kind=%s ;;\n", takes_file ? "file" : "word");
        return;
    }
    fprintf(out, " kind=%s words=(", option->kind == TIDE_OPTION_CHOICES ? "list" : "word");
    for (size_t i = 0; option->choice_at(i) != NULL; i++) {
        put_word(out, "", option->choice_at(i), strlen(option->choice_at(i)));
    }
    fputs(" ) ;;\n", out);
}

static void put_programs(const tide_program *program, FILE *out) {
    fputs("# COMMAND: whether the user's program follows its options.\n"
          "_tidemark_takes_program() {\n    case $1 in\n",
          out);
    for (size_t i = 0; i < program->n_commands; i++) {
        const tide_option_table *table = program->commands[i]->options;
        if (table->operands != NULL && strstr(table->operands, "[--] COMMAND") != NULL) {
            fprintf(out, "    %s) return 0 ;;\n", table->command);
        }
    }
    fputs("    *) return 1 ;;\n    esac\n}\n\n", out);
}

void tide_completion_print(const tide_program *program, FILE *out) {
    fputs(HEAD, out);
    fputs("\n_tidemark_commands() {\n    words=(", out);
    for (size_t i = 0; i < program->n_commands; i++) {
        put_word(out, "", program->commands[i]->name, strlen(program->commands[i]->name));
    }
    fputs(" 'help' 'version' )\n    [[ $whole != -* ]] || words=(", out);
    put_option_names(out, program->options, program->n_options);
    fputs(" )\n}\n\n# COMMAND: sets words.\n_tidemark_options() {\n    case $1 in\n", out);
    for (size_t i = 0; i < program->n_commands; i++) {
        const tide_option_table *table = program->commands[i]->options;
        fprintf(out, "    %s) words=(", table->command);
        put_option_names(out, table->options, table->n_options);
        fputs(" ) ;;\n", out);
    }
    fputs(
        "    esac\n}\n\n# 'COMMAND OPTION' or COMMAND: sets kind (word: one of the words; list: a "
        "comma list\n# of them; file) and words, false for what takes no value.\n"
        "_tidemark_values() {\n    case $1 in\n",
        out);
    for (size_t i = 0; i < program->n_commands; i++) {
        const tide_option_table *table = program->commands[i]->options;
        for (size_t k = 0; k < table->n_options; k++) {
            put_values(out, table->command, &table->options[k]);
        }
        if (is_file(table->operands)) {
            fprintf(out, "    '%s') kind=file ;;\n", table->command);
        }
    }
    fputs("    *) return 1 ;;\n    esac\n}\n\n", out);
    put_programs(program, out);
    fputs(TAIL, out);
}
