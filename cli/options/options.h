/* options.h - command line options by table: one table per command drives the parser, the messages
 * and the --help text.
 *
 * Accepted: --name value, --name=value, flags, one-letter options (-o value), aliases, "_" for "-"
 * inside a name (--model_size), "--" before operands, and options and operands in any order. The
 * last of several wins (except TIDE_OPTION_TEXTS). An error names the option, lists the valid
 * values and suggests the nearest.
 */
#ifndef TIDE_CLI_OPTIONS_H
#define TIDE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/text/nearest.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_OPTION_LIST_ITEMS = 16,    /* the most values in a comma list */
    TIDE_OPTION_ITEM_BYTES = 48,    /* the longest item of a comma list, with its NUL */
    TIDE_OPTION_FILES_BYTES = 4096, /* the names of a list of files, each with its NUL */
    TIDE_OPTION_ROWS = 64,          /* the most rows of a table, headings included */
    TIDE_MAX_OPERANDS = 4096
};

/* The kind of value of an option, and the type of its member in the struct of values. */
typedef enum tide_option_kind {
    TIDE_OPTION_FLAG = 0,  /* bool, set to true */
    TIDE_OPTION_TEXT,      /* const char *, borrowed from argv */
    TIDE_OPTION_TEXTS,     /* tide_option_texts: may be given several times, each adds one */
    TIDE_OPTION_FILES,     /* tide_option_files: names of files, comma-separated, none twice */
    TIDE_OPTION_COUNT,     /* uint64_t: decimal digits */
    TIDE_OPTION_SIZE,      /* uint64_t: bytes, in the form of tide_bytes_parse */
    TIDE_OPTION_REAL,      /* double, finite */
    TIDE_OPTION_POSITIVE,  /* double, finite and above 0, so 0 may mean "not given" */
    TIDE_OPTION_CHOICE,    /* const char *, one of the choices in its first spelling */
    TIDE_OPTION_CHOICES,   /* tide_option_list of choices, comma-separated, no value twice */
    TIDE_OPTION_COUNTS,    /* tide_option_list of counts, comma-separated, no value twice */
    TIDE_OPTION_SHORTHAND, /* tide_option_list: a flag that means one value of another option */
    TIDE_OPTION_HEADING /* not an option: `help` is a heading above the following options in --help
                         */
} tide_option_kind;

/* The values of a comma list. n 0: the option was not given. */
typedef struct tide_option_list {
    size_t n;
    char texts[TIDE_OPTION_LIST_ITEMS][TIDE_OPTION_ITEM_BYTES]; /* choices in their first spelling;
                                                                   counts as written */
    uint64_t counts[TIDE_OPTION_LIST_ITEMS];                    /* TIDE_OPTION_COUNTS only */
} tide_option_list;

/* The values of an option that was given n times. */
typedef struct tide_option_texts {
    size_t n;
    const char *texts[TIDE_OPTION_LIST_ITEMS]; /* borrowed from argv */
} tide_option_texts;

/* The names of a comma list of files. n 0: the option was not given. It may be copied. */
typedef struct tide_option_files {
    size_t n;
    uint16_t at[TIDE_OPTION_LIST_ITEMS]; /* offset of each in `names` */
    char names[TIDE_OPTION_FILES_BYTES]; /* one after the other, each with its NUL */
} tide_option_files;

/* The i-th name, borrowed from the list; NULL past the last. */
const char *tide_option_files_at(const tide_option_files *files, size_t i);
/* All names, borrowed from the list, and their number. */
size_t tide_option_files_list(const tide_option_files *files,
                              const char *ret_names[TIDE_OPTION_LIST_ITEMS]);

typedef struct tide_option {
    tide_option_kind kind;
    const char *name;    /* without dashes: "memory-limit"; NULL for a heading */
    const char *letter;  /* "o" for -o; NULL: none. With a letter, the name may be NULL. */
    const char *value;   /* placeholder in --help: "SIZE"; NULL: the choices, or a flag */
    const char *help;    /* one sentence, no full stop */
    const char *aliases; /* other names, space-separated; NULL: none */
    /* Of choices: "bf16=bf16-mixed", space-separated; NULL: none. Of a shorthand: the value that it
     * means; any other value in the list is refused. */
    const char *synonyms;
    /* The i-th choice, NULL past the last; of TIDE_OPTION_TEXT: a value that completion offers
     * among others that are valid. NULL: free. */
    const char *(*choice_at)(size_t i);
    size_t offset; /* offset of the member in the values' struct */
    /* Of choices: maps any other text to a choice, NULL if it means none; and the message about
     * such a text. NULL: other texts are not valid. */
    const char *(*find)(const char *text);
    const char *(*unknown)(const char *text, char ret_text[TIDE_NEAREST_TEXT]);
} tide_option;

/* A row without letter and other names, TIDE_OPTION(SIZE, "memory-limit", "BYTES", offset, help);
 * and one whose values are choices. */
#define TIDE_OPTION(of_kind, named, with_value, at, help_text)                                     \
    TIDE_OPTION_OF(of_kind, named, with_value, NULL, at, help_text)
#define TIDE_OPTION_OF(of_kind, named, with_value, choice, at, help_text)                          \
    {                                                                                              \
        .kind = TIDE_OPTION_##of_kind, .name = (named), .value = (with_value),                     \
        .help = (help_text), .choice_at = (choice), .offset = (at)                                 \
    }

/* An option that other commands have but this one does not need: the error explains why. */
typedef struct tide_option_unneeded {
    const char *name;   /* without dashes; NULL ends the list */
    const char *reason; /* a clause without a full stop */
} tide_option_unneeded;

typedef struct tide_option_table {
    const char *command;  /* "profile" */
    const char *operands; /* "FILE..." in --help; NULL: none */
    const char *intro;    /* the purpose of the command: complete lines of --help */
    const tide_option *options;
    size_t n_options;                     /* at most TIDE_OPTION_ROWS */
    size_t min_operands, max_operands;    /* the maximum is at most TIDE_MAX_OPERANDS */
    const char *notes;                    /* complete lines below the options; NULL: none */
    const tide_option_unneeded *unneeded; /* NULL: none */
} tide_option_table;

/* The operands of a command line, and the options given on it. */
typedef struct tide_operands {
    const char *texts[TIDE_MAX_OPERANDS]; /* borrowed from argv */
    size_t n;
    bool is_given[TIDE_OPTION_ROWS]; /* for each row of the table: the option was given */
    bool wants_help;                 /* --help or -h was given: nothing else was checked */
} tide_operands;

/* Parses argv[1..argc - 1]. Options that are not given leave `values` unchanged, so fill it with
 * defaults first. TIDE_INVALID, TIDE_LIMIT: the message is one line, without the command's name. */
TIDE_NODISCARD tide_status tide_options_parse(const tide_option_table *table, int argc, char **argv,
                                              void *values, tide_operands *ret_operands,
                                              tide_error *error);

/* The index of the program on a command line that ends with one: after the first "--", or at the
 * first argument that is neither an option nor the value of one. *ret_n_own: the number of the
 * command's own arguments before it, without the "--". Returns argc if there is no program. */
int tide_options_program_at(const tide_option_table *table, int argc, char **argv, int *ret_n_own);

/* The first option of the table that is on the command line and not in the space-separated list
 * `used` of names, or of letters if there is no name; NULL: none. */
const tide_option *tide_options_find_unused(const tide_option_table *table,
                                            const tide_operands *operands, const char *used);

/* Whether the option of that name, or of that letter if it has no name, is on the command line. */
bool tide_options_is_given(const tide_option_table *table, const tide_operands *operands,
                           const char *name);

/* The --help text. */
void tide_options_print_help(const tide_option_table *table, FILE *out);

#ifdef __cplusplus
}
#endif

#endif
