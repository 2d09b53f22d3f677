/* The --help text of a table of options. */
#include "cli/options/options.h"

#include <string.h>

#include "cli/options/options_internal.h"

enum { HELP_COLUMN = 28, HELP_WIDTH = 96 };

void tide_options_append(char text[TIDE_OPTIONS_LIST_TEXT], const char *more) {
    size_t n = strlen(text);
    snprintf(text + n, TIDE_OPTIONS_LIST_TEXT - n, "%s", more);
}

void tide_options_usage(const tide_option *option, char text[TIDE_OPTIONS_LIST_TEXT]) {
    text[0] = '\0';
    if (option->letter != NULL) {
        tide_options_append(text, "-");
        tide_options_append(text, option->letter);
    }
    if (option->name != NULL) {
        tide_options_append(text, option->letter != NULL ? ", --" : "--");
        tide_options_append(text, option->name);
    }
    if (option->value != NULL) {
        tide_options_append(text, " ");
        tide_options_append(text, option->value);
    }
    for (size_t i = 0; option->value == NULL && option->choice_at != NULL; i++) {
        if (option->choice_at(i) == NULL) {
            break;
        }
        tide_options_append(text, i == 0 ? " " : "|");
        tide_options_append(text, option->choice_at(i));
    }
}

void tide_options_meaning(const tide_option *option, char text[TIDE_OPTIONS_LIST_TEXT]) {
    text[0] = '\0';
    tide_options_append(text, option->help);
    if (option->aliases == NULL) {
        return;
    }
    tide_options_append(text, " (also ");
    for (const char *at = option->aliases; *at != '\0';) {
        size_t n = strcspn(at, " ");
        char alias[TIDE_OPTIONS_NAME_BYTES];
        snprintf(alias, sizeof(alias), "--%.*s", (int)n, at);
        tide_options_append(text, alias);
        at += n;
        at += strspn(at, " ");
        tide_options_append(text, *at != '\0' ? ", " : "");
    }
    tide_options_append(text, ")");
}

/* Prints `text` from column `column` on, with a line break before each word that would reach past
 * HELP_WIDTH. */
static void print_wrapped(FILE *out, const char *text, int column) {
    int at = column;
    for (const char *word = text; *word != '\0';) {
        int n = (int)strcspn(word, " ");
        if (at > column && at + 1 + n > HELP_WIDTH) {
            fprintf(out, "\n%*s", column, "");
            at = column;
        } else if (at > column) {
            fputc(' ', out);
            at++;
        }
        fprintf(out, "%.*s", n, word);
        at += n;
        word += n;
        word += strspn(word, " ");
    }
    fputc('\n', out);
}

static void print_option(const tide_option *option, FILE *out) {
    if (option->kind == TIDE_OPTION_HEADING) {
        fprintf(out, "\n%s\n", option->help);
        return;
    }
    char left[TIDE_OPTIONS_LIST_TEXT];
    tide_options_usage(option, left);
    if (strlen(left) + 2 >= HELP_COLUMN) {
        fprintf(out, "  %s\n%*s", left, (int)HELP_COLUMN, "");
    } else {
        fprintf(out, "  %-*s", (int)HELP_COLUMN - 2, left);
    }
    char help[TIDE_OPTIONS_LIST_TEXT];
    tide_options_meaning(option, help);
    print_wrapped(out, help, HELP_COLUMN);
}

void tide_options_print_help(const tide_option_table *table, FILE *out) {
    fprintf(out, "usage: tidemark %s [options]%s%s\n\n%s", table->command,
            table->operands != NULL ? " " : "", table->operands != NULL ? table->operands : "",
            table->intro);
    if (table->n_options == 0 || table->options[0].kind != TIDE_OPTION_HEADING) {
        fprintf(out, "\nOptions\n");
    }
    for (size_t i = 0; i < table->n_options; i++) {
        print_option(&table->options[i], out);
    }
    fprintf(out, "%-*sprint this text\n", (int)HELP_COLUMN, "  -h, --help");
    if (table->notes != NULL) {
        fprintf(out, "\n%s", table->notes);
    }
}
