/* The manual page of the program. */
#include "cli/options/manual.h"

#include <string.h>

#include "cli/options/options_internal.h"

/* Writes text without a line break. troff would turn dashes, quotes and the like into typographic
 * characters, which a shell does not understand when they are copied, so they are escaped. A long
 * list of choices may break after its bars. */
static void put_text(FILE *out, const char *text, size_t n) {
    if (n > 0 && (text[0] == '.' || text[0] == '\'')) {
        fputs("\\&", out); /* otherwise troff reads the line as a request */
    }
    for (size_t i = 0; i < n; i++) {
        switch (text[i]) {
        case '\\':
            fputs("\\e", out);
            break;
        case '-':
            fputs("\\-", out);
            break;
        case '\'':
            fputs("\\(aq", out);
            break;
        case '`':
            fputs("\\(ga", out);
            break;
        case '^':
            fputs("\\(ha", out);
            break;
        case '~':
            fputs("\\(ti", out);
            break;
        case '|':
            fputs("|\\:", out);
            break;
        default:
            fputc(text[i], out);
        }
    }
}

static void put_line(FILE *out, const char *text) {
    put_text(out, text, strlen(text));
    fputc('\n', out);
}

/* Turns the lines of --help into paragraphs. troff fills them again; an empty line starts the next
 * paragraph. */
static void put_paragraphs(FILE *out, const char *text) {
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        if (n == 0) {
            fputs(".PP\n", out);
        } else {
            put_text(out, text, n);
            fputc('\n', out);
        }
        text += n;
        text += *text == '\n';
    }
}

/* "-o, --size SIZE": options are bold, their values italic. */
static void put_usage(FILE *out, const char *usage) {
    for (const char *at = usage; *at != '\0';) {
        size_t n = strcspn(at, " ");
        bool has_comma = n > 0 && at[n - 1] == ',' && at[0] == '-';
        fputs(at[0] == '-' ? "\\fB" : "\\fI", out);
        put_text(out, at, has_comma ? n - 1 : n);
        fputs(has_comma ? "\\fR," : "\\fR", out);
        at += n;
        if (*at == ' ') {
            fputc(' ', out);
            at++;
        }
    }
    fputc('\n', out);
}

static void put_options(FILE *out, const tide_option *options, size_t n_options) {
    for (size_t i = 0; i < n_options; i++) {
        char text[TIDE_OPTIONS_LIST_TEXT];
        if (options[i].kind == TIDE_OPTION_HEADING) {
            fputs(".PP\n\\fB", out);
            put_text(out, options[i].help, strlen(options[i].help));
            fputs("\\fR\n", out);
            continue;
        }
        fputs(".TP\n", out);
        tide_options_usage(&options[i], text);
        put_usage(out, text);
        tide_options_meaning(&options[i], text);
        put_line(out, text);
    }
    fputs(".TP\n"
          "\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n"
          "print this text\n",
          out);
}

static void put_command(FILE *out, const tide_command *command) {
    const tide_option_table *table = command->options;
    fputs(".SS \"tidemark ", out);
    put_text(out, command->name, strlen(command->name));
    fputs("\"\n\\fBtidemark ", out);
    put_text(out, command->name, strlen(command->name));
    fputs("\\fR [options]", out);
    if (table->operands != NULL) {
        fputs(" \\fI", out);
        put_text(out, table->operands, strlen(table->operands));
        fputs("\\fR", out);
    }
    fputs("\n.PP\n", out);
    put_paragraphs(out, table->intro);
    put_options(out, table->options, table->n_options);
    if (table->notes != NULL) {
        fputs(".PP\n", out);
        put_paragraphs(out, table->notes);
    }
}

static void put_heading(FILE *out, const char *name) {
    fprintf(out, ".SH %s\n", name);
}

static void put_items(FILE *out, const char *heading, const tide_program_item *item) {
    put_heading(out, heading);
    for (; item->name != NULL; item++) {
        fputs(".TP\n\\fB", out);
        put_text(out, item->name, strlen(item->name));
        fputs("\\fR\n", out);
        put_line(out, item->text);
    }
}

/* Prints the purpose of each example, and its command line below it. */
static void put_examples(FILE *out, const tide_program_item *item) {
    put_heading(out, "EXAMPLES");
    for (const char *separator = ""; item->name != NULL; item++, separator = ".PP\n") {
        fputs(separator, out);
        put_text(out, item->text, strlen(item->text));
        fputs(":\n.PP\n.RS 4\n.nf\n", out);
        put_line(out, item->name);
        fputs(".fi\n.RE\n", out);
    }
}

void tide_manual_print(const tide_program *program, FILE *out) {
    fputs(".\\\" Written by tidemark --manual from the tables of --help.\n", out);
    /* No date, so the same source makes the same page. */
    fprintf(out, ".TH TIDEMARK 1 \"\" \"tidemark %s\" \"User Commands\"\n", program->version);
    /* Text is ragged and not hyphenated, so names and values stay as typed. */
    fputs(".ad l\n.nh\n.SH NAME\ntidemark \\- ", out);
    put_line(out, program->title);
    fputs(".SH SYNOPSIS\n\\fBtidemark\\fR \\fICOMMAND\\fR [options]\n.SH DESCRIPTION\n", out);
    put_paragraphs(out, program->intro);
    const tide_command *const *command = program->commands;
    for (size_t g = 0; g < program->n_groups; g++) {
        fputs(".SS ", out);
        put_line(out, program->groups[g].title);
        for (size_t i = 0; i < program->groups[g].n_commands; i++, command++) {
            fputs(".TP\n\\fB", out);
            put_text(out, (*command)->name, strlen((*command)->name));
            fputs("\\fR\n", out);
            put_line(out, (*command)->summary);
        }
    }
    fputs(".SH OPTIONS\n", out);
    put_paragraphs(out, program->syntax);
    put_options(out, program->options, program->n_options);
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; i < program->n_commands; i++) {
        put_command(out, program->commands[i]);
    }
    put_heading(out, "\"EXIT STATUS\"");
    put_paragraphs(out, program->exit_statuses);
    put_items(out, "ENVIRONMENT", program->environment);
    put_items(out, "FILES", program->files);
    put_examples(out, program->examples);
}
