#include "cli/options/options.h"

#include <string.h>

#include "cli/options/options_internal.h"
#include "common/text/nearest.h"

/* ---- the table ---- */

/* Whether n letters are equal; "_" equals "-", because options are often spelled so in Python. */
static bool is_same_name(const char *name, const char *given, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (name[i] != (given[i] == '_' ? '-' : given[i])) {
            return false;
        }
    }
    return true;
}

/* Whether the space-separated list contains the name of n letters. */
static bool list_holds(const char *list, const char *word, size_t n) {
    for (const char *at = list; at != NULL && *at != '\0';) {
        size_t n_item = strcspn(at, " ");
        if (n_item == n && is_same_name(at, word, n)) {
            return true;
        }
        at += n_item;
        at += strspn(at, " ");
    }
    return false;
}

static const tide_option *find_option(const tide_option_table *table, const char *name, size_t n) {
    for (size_t i = 0; i < table->n_options; i++) {
        const tide_option *option = &table->options[i];
        if (option->name != NULL && strlen(option->name) == n &&
            is_same_name(option->name, name, n)) {
            return option;
        }
        if (list_holds(option->aliases, name, n)) {
            return option;
        }
    }
    return NULL;
}

static const tide_option *find_letter(const tide_option_table *table, char letter) {
    for (size_t i = 0; i < table->n_options; i++) {
        if (table->options[i].letter != NULL && table->options[i].letter[0] == letter) {
            return &table->options[i];
        }
    }
    return NULL;
}

/* The i-th long name that --help shows; NULL past the last. */
static const char *name_at(const void *ctx, size_t i) {
    const tide_option_table *table = ctx;
    for (size_t k = 0; k < table->n_options; k++) {
        const tide_option *option = &table->options[k];
        if (option->name == NULL) {
            continue;
        }
        if (i == 0) {
            return option->name;
        }
        i--;
    }
    return i == 0 ? "help" : NULL;
}

/* The option that replaced an option of earlier versions; NULL if there was no such option. */
static const char *successor_of(const char *name) {
    static const char *const RENAMED[][2] = {{"residuals", "emulate"}};
    for (size_t i = 0; i < sizeof(RENAMED) / sizeof(RENAMED[0]); i++) {
        if (strcmp(name, RENAMED[i][0]) == 0) {
            return RENAMED[i][1];
        }
    }
    return NULL;
}

/* Why the command does not need an option that others have; NULL: it is simply unknown. */
static const char *unneeded(const tide_option_table *table, const char *name) {
    for (const tide_option_unneeded *one = table->unneeded; one != NULL && one->name != NULL;
         one++) {
        if (strcmp(name, one->name) == 0) {
            return one->reason;
        }
    }
    return NULL;
}

static tide_status unknown_option(const tide_option_table *table, const char *argument, size_t n,
                                  tide_error *error) {
    char given[TIDE_OPTIONS_NAME_BYTES] = "";
    snprintf(given, sizeof(given), "%.*s",
             (int)(n < TIDE_OPTIONS_NAME_BYTES ? n : TIDE_OPTIONS_NAME_BYTES - 1), argument);
    char valid[TIDE_OPTIONS_LIST_TEXT] = "";
    for (size_t i = 0; name_at(table, i) != NULL; i++) {
        tide_options_append(valid, i == 0 ? "--" : " --");
        tide_options_append(valid, name_at(table, i));
        const tide_option *option =
            find_option(table, name_at(table, i), strlen(name_at(table, i)));
        if (option != NULL && option->letter != NULL) {
            tide_options_append(valid, " -");
            tide_options_append(valid, option->letter);
        }
    }
    for (size_t i = 0; i < table->n_options; i++) { /* options that have only a letter */
        if (table->options[i].name == NULL && table->options[i].letter != NULL) {
            tide_options_append(valid, " -");
            tide_options_append(valid, table->options[i].letter);
        }
    }
    const char *word = given + strspn(given, "-");
    const char *successor = successor_of(word);
    if (successor != NULL && find_option(table, successor, strlen(successor)) != NULL) {
        return tide_fail(error, TIDE_INVALID, "unknown option '%s': it is --%s now (valid: %s)",
                         given, successor, valid);
    }
    const char *reason = unneeded(table, word);
    if (reason != NULL) {
        return tide_fail(error, TIDE_INVALID, "unknown option '%s': %s (valid: %s)", given, reason,
                         valid);
    }
    const tide_words names = {.word_at = name_at, .ctx = table, .prefix = "--"};
    char guess[TIDE_NEAREST_TEXT];
    return tide_fail(error, TIDE_INVALID, "unknown option '%s'%s (valid: %s)", given,
                     tide_did_you_mean(&names, word, guess), valid);
}

/* ---- the command line ---- */

/* Whether the argument is exactly one of the table's options, "-o" or "--size", and so not a value.
 */
static bool is_option(const tide_option_table *table, const char *text) {
    if (text[0] != '-' || text[1] == '\0') {
        return false;
    }
    return text[1] == '-' ? find_option(table, text + 2, strlen(text + 2)) != NULL
                          : text[2] == '\0' && find_letter(table, text[1]) != NULL;
}

static bool takes_value(const tide_option *option) {
    return option->kind != TIDE_OPTION_FLAG && option->kind != TIDE_OPTION_SHORTHAND;
}

/* The state of parsing a command line. */
typedef struct reading {
    const tide_option_table *table; /* borrowed */
    int argc;
    char **argv;             /* borrowed */
    int at;                  /* the argument that is being read */
    void *values;            /* borrowed */
    tide_operands *operands; /* borrowed */
} reading;

/* The value of an option: `text` from the same argument, or the next argument. */
static tide_status take_value(reading *from, const tide_option *option, const char **text,
                              tide_error *error) {
    char name[TIDE_OPTIONS_NAME_BYTES];
    if (!takes_value(option) && *text != NULL) {
        return tide_fail(error, TIDE_INVALID, "%s takes no value, but '%.64s' was given",
                         tide_options_spelling(option, name), *text);
    }
    if (!takes_value(option) || *text != NULL) {
        return TIDE_OK;
    }
    if (from->at + 1 >= from->argc) {
        return tide_fail(error, TIDE_INVALID, "%s needs a value%s%s",
                         tide_options_spelling(option, name), option->value != NULL ? ": " : "",
                         option->value != NULL ? option->value : "");
    }
    *text = from->argv[++from->at];
    if (is_option(from->table, *text)) {
        return tide_fail(error, TIDE_INVALID, "%s needs a value, but the option %.64s follows",
                         tide_options_spelling(option, name), *text);
    }
    return TIDE_OK;
}

/* Handles the option at from->at and leaves that on the last argument that belongs to it. */
static tide_status parse_option(reading *from, tide_error *error) {
    const char *argument = from->argv[from->at];
    bool is_long = argument[1] == '-';
    size_t n = strcspn(argument, "=");
    const char *text = is_long && argument[n] == '=' ? argument + n + 1 : NULL;
    const tide_option *option = NULL;
    if (is_long) {
        option = find_option(from->table, argument + 2, n - 2);
    } else {
        option = find_letter(from->table, argument[1]);
        text = argument[2] != '\0' ? argument + 2 : NULL;
    }
    if (option == NULL) {
        return unknown_option(from->table, argument, is_long ? n : strlen(argument), error);
    }
    TIDE_TRY(take_value(from, option, &text, error));
    from->operands->is_given[option - from->table->options] = true;
    return tide_options_store(option, text != NULL ? text : "", from->values,
                              error); /* a flag has no text */
}

bool tide_options_is_given(const tide_option_table *table, const tide_operands *operands,
                           const char *name) {
    for (size_t i = 0; i < table->n_options; i++) {
        const tide_option *option = &table->options[i];
        const char *own = option->name != NULL ? option->name : option->letter;
        if (operands->is_given[i] && strcmp(own, name) == 0) {
            return true;
        }
    }
    return false;
}

const tide_option *tide_options_find_unused(const tide_option_table *table,
                                            const tide_operands *operands, const char *used) {
    for (size_t i = 0; i < table->n_options; i++) {
        const tide_option *option = &table->options[i];
        const char *name = option->name != NULL ? option->name : option->letter;
        if (operands->is_given[i] && !list_holds(used, name, strlen(name))) {
            return option;
        }
    }
    return NULL;
}

static tide_status add_operand(const tide_option_table *table, const char *text,
                               tide_operands *operands, tide_error *error) {
    if (operands->n >= table->max_operands || operands->n >= TIDE_MAX_OPERANDS) {
        if (table->max_operands == 0) {
            return tide_fail(error, TIDE_INVALID,
                             "'%.128s' is not an option: this command takes options only", text);
        }
        return tide_fail(error, TIDE_INVALID,
                         "'%.128s' is one argument too many: the command takes at most %zu", text,
                         table->max_operands);
    }
    operands->texts[operands->n++] = text;
    return TIDE_OK;
}

/* Sets the lists to which shorthands refer. A list with any other value contradicts them. */
static tide_status apply_shorthands(const tide_option_table *table, const tide_operands *operands,
                                    void *values, tide_error *error) {
    for (size_t i = 0; i < table->n_options; i++) {
        const tide_option *option = &table->options[i];
        if (option->kind != TIDE_OPTION_SHORTHAND || !operands->is_given[i]) {
            continue;
        }
        tide_option_list *list = (void *)((char *)values + option->offset);
        if (list->n > 1 || (list->n == 1 && strcmp(list->texts[0], option->synonyms) != 0)) {
            return tide_fail(
                error, TIDE_INVALID,
                "--%s means %s, but another option says %s%s: leave one of the two out",
                option->name, option->synonyms, list->texts[0], list->n > 1 ? " and more" : "");
        }
        list->n = 1;
        snprintf(list->texts[0], sizeof(list->texts[0]), "%s", option->synonyms);
    }
    return TIDE_OK;
}

/* The option that the argument names; NULL: none. */
static const tide_option *named_option(const tide_option_table *table, const char *argument) {
    return argument[1] == '-' ? find_option(table, argument + 2, strcspn(argument + 2, "="))
                              : find_letter(table, argument[1]);
}

/* Whether the value of the option is the next argument. */
static bool needs_next(const tide_option *option, const char *argument) {
    bool has_value = argument[1] == '-' ? strchr(argument, '=') != NULL : argument[2] != '\0';
    return option != NULL && takes_value(option) && !has_value;
}

int tide_options_program_at(const tide_option_table *table, int argc, char **argv, int *ret_n_own) {
    int at = 1;
    while (at < argc && argv[at][0] == '-' && argv[at][1] != '\0' && strcmp(argv[at], "--") != 0) {
        bool needs = needs_next(named_option(table, argv[at]), argv[at]) && at + 1 < argc &&
                     strcmp(argv[at + 1], "--") != 0 && !is_option(table, argv[at + 1]);
        at += needs ? 2 : 1;
    }
    *ret_n_own = at;
    return at < argc && strcmp(argv[at], "--") == 0 ? at + 1 : at;
}

tide_status tide_options_parse(const tide_option_table *table, int argc, char **argv, void *values,
                               tide_operands *ret_operands, tide_error *error) {
    tide_operands operands = {.n = 0};
    if (table->n_options > TIDE_OPTION_ROWS) {
        return tide_fail(error, TIDE_LIMIT, "the table of options has more than %d rows",
                         (int)TIDE_OPTION_ROWS);
    }
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            operands.wants_help = true;
            *ret_operands = operands;
            return TIDE_OK;
        }
    }
    bool only_operands = false;
    reading from = {table, argc, argv, 1, values, &operands};
    for (; from.at < argc; from.at++) {
        const char *argument = argv[from.at];
        if (!only_operands && strcmp(argument, "--") == 0) {
            only_operands = true;
        } else if (!only_operands && argument[0] == '-' && argument[1] != '\0') {
            TIDE_TRY(parse_option(&from, error));
        } else {
            TIDE_TRY(add_operand(table, argument, &operands, error));
        }
    }
    TIDE_TRY(apply_shorthands(table, &operands, values, error));
    if (operands.n > 0 && operands.n < table->min_operands) {
        return tide_fail(error, TIDE_INVALID,
                         "%zu %s where at least %zu are needed: tidemark %s [options] %s",
                         operands.n, operands.n == 1 ? "argument" : "arguments",
                         table->min_operands, table->command, table->operands);
    }
    if (operands.n < table->min_operands) {
        return tide_fail(error, TIDE_INVALID, "%s is missing: tidemark %s [options] %s",
                         table->operands, table->command, table->operands);
    }
    *ret_operands = operands;
    return TIDE_OK;
}
