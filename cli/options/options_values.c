/* options_values.c - the values of options, as written on the command line. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/options_internal.h"
#include "common/text/bytes.h"

static const char *choice_at(const void *ctx, size_t i) {
    const tide_option *option = ctx;
    return option->choice_at(i);
}

const char *tide_options_spelling(const tide_option *option, char text[TIDE_OPTIONS_NAME_BYTES]) {
    if (option->name != NULL) {
        snprintf(text, TIDE_OPTIONS_NAME_BYTES, "--%s", option->name);
    } else {
        snprintf(text, TIDE_OPTIONS_NAME_BYTES, "-%s", option->letter);
    }
    return text;
}

static tide_status find_choice(const tide_option *option, const char *text, const char **ret_choice,
                               tide_error *error) {
    char given[TIDE_OPTIONS_NAME_BYTES + 1];
    snprintf(given, sizeof(given), "%s=", text);
    for (const char *at = option->synonyms; at != NULL && *at != '\0';) {
        if (strncmp(at, given, strlen(given)) == 0) {
            const char *meant = at + strlen(given);
            for (size_t i = 0; option->choice_at(i) != NULL; i++) {
                const char *choice = option->choice_at(i);
                if (strncmp(meant, choice, strlen(choice)) == 0 &&
                    strlen(choice) == strcspn(meant, " ")) {
                    *ret_choice = choice;
                    return TIDE_OK;
                }
            }
        }
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    for (size_t i = 0; option->choice_at(i) != NULL; i++) {
        if (strcmp(option->choice_at(i), text) == 0) {
            *ret_choice = option->choice_at(i);
            return TIDE_OK;
        }
    }
    if (option->find != NULL && option->find(text) != NULL) {
        *ret_choice = option->find(text);
        return TIDE_OK;
    }
    char name[TIDE_OPTIONS_NAME_BYTES];
    char unknown[TIDE_NEAREST_TEXT];
    if (option->unknown != NULL) {
        return tide_fail(error, TIDE_INVALID, "%s: %s", tide_options_spelling(option, name),
                         option->unknown(text, unknown));
    }
    const tide_words choices = {.word_at = choice_at, .ctx = option};
    return tide_fail(error, TIDE_INVALID, "%s: unknown value %s",
                     tide_options_spelling(option, name),
                     tide_unknown_word(&choices, text, unknown));
}

static tide_status parse_count(const tide_option *option, const char *text, uint64_t *ret_count,
                               tide_error *error) {
    char name[TIDE_OPTIONS_NAME_BYTES];
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0') {
        return tide_fail(error, TIDE_INVALID, "%s: '%.64s' is not a whole number of 0 or more",
                         tide_options_spelling(option, name), text);
    }
    errno = 0;
    unsigned long long count = strtoull(text, NULL, 10);
    if (errno != 0 || count > INT64_MAX) {
        return tide_fail(error, TIDE_LIMIT, "%s: %.64s is beyond the limit of 2^63 - 1",
                         tide_options_spelling(option, name), text);
    }
    *ret_count = count;
    return TIDE_OK;
}

static tide_status parse_real(const tide_option *option, const char *text, double *ret_real,
                              tide_error *error) {
    char name[TIDE_OPTIONS_NAME_BYTES];
    char *end = NULL;
    double real = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(real)) {
        return tide_fail(error, TIDE_INVALID, "%s: '%.64s' is not a number",
                         tide_options_spelling(option, name), text);
    }
    if (option->kind == TIDE_OPTION_POSITIVE && real <= 0.0) {
        return tide_fail(error, TIDE_INVALID, "%s must be above 0",
                         tide_options_spelling(option, name));
    }
    *ret_real = real;
    return TIDE_OK;
}

static tide_status parse_item(const tide_option *option, const char *text, tide_option_list *list,
                              tide_error *error) {
    char name[TIDE_OPTIONS_NAME_BYTES];
    if (list->n == TIDE_OPTION_LIST_ITEMS) {
        return tide_fail(error, TIDE_LIMIT, "%s: a list may hold at most %d values",
                         tide_options_spelling(option, name), (int)TIDE_OPTION_LIST_ITEMS);
    }
    const char *choice = text;
    if (option->kind == TIDE_OPTION_COUNTS) {
        TIDE_TRY(parse_count(option, text, &list->counts[list->n], error));
    } else {
        TIDE_TRY(find_choice(option, text, &choice, error));
    }
    for (size_t i = 0; i < list->n; i++) {
        bool is_same = option->kind == TIDE_OPTION_COUNTS
                           ? list->counts[i] == list->counts[list->n] /* "4" and "04" */
                           : strcmp(list->texts[i], choice) == 0;
        if (is_same) {
            return tide_fail(error, TIDE_INVALID, "%s: %s is in the list twice",
                             tide_options_spelling(option, name), choice);
        }
    }
    snprintf(list->texts[list->n], TIDE_OPTION_ITEM_BYTES, "%s", choice);
    list->n++;
    return TIDE_OK;
}

static tide_status parse_list(const tide_option *option, const char *text,
                              tide_option_list *ret_list, tide_error *error) {
    char name[TIDE_OPTIONS_NAME_BYTES];
    tide_option_list list = {0};
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, ",");
        char item[TIDE_OPTION_ITEM_BYTES];
        if (n == 0 || n >= sizeof(item)) {
            return tide_fail(error, TIDE_INVALID, "%s: '%.128s' is not a comma list of values",
                             tide_options_spelling(option, name), text);
        }
        memcpy(item, at, n);
        item[n] = '\0';
        TIDE_TRY(parse_item(option, item, &list, error));
        at += n;
        if (*at == '\0') {
            break;
        }
    }
    *ret_list = list;
    return TIDE_OK;
}

static tide_status add_text(const tide_option *option, const char *text, tide_option_texts *texts,
                            tide_error *error) {
    char name[TIDE_OPTIONS_NAME_BYTES];
    if (texts->n == TIDE_OPTION_LIST_ITEMS) {
        return tide_fail(error, TIDE_LIMIT, "%s was given more than %d times",
                         tide_options_spelling(option, name), (int)TIDE_OPTION_LIST_ITEMS);
    }
    texts->texts[texts->n++] = text;
    return TIDE_OK;
}

tide_status tide_options_store(const tide_option *option, const char *text, void *values,
                               tide_error *error) {
    char name[TIDE_OPTIONS_NAME_BYTES];
    void *member = (char *)values + option->offset;
    switch (option->kind) {
    case TIDE_OPTION_FLAG:
        *(bool *)member = true;
        return TIDE_OK;
    case TIDE_OPTION_SHORTHAND:
        return TIDE_OK; /* when the whole command line is known */
    case TIDE_OPTION_TEXT:
        *(const char **)member = text;
        return TIDE_OK;
    case TIDE_OPTION_TEXTS:
        return add_text(option, text, member, error);
    case TIDE_OPTION_FILES:
        return tide_options_parse_files(tide_options_spelling(option, name), text, member, error);
    case TIDE_OPTION_COUNT:
        return parse_count(option, text, member, error);
    case TIDE_OPTION_SIZE: {
        tide_status status = tide_bytes_parse(text, member, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "%s", tide_options_spelling(option, name));
        }
        return status;
    }
    case TIDE_OPTION_REAL:
    case TIDE_OPTION_POSITIVE:
        return parse_real(option, text, member, error);
    case TIDE_OPTION_CHOICE:
        return find_choice(option, text, member, error);
    case TIDE_OPTION_CHOICES:
    case TIDE_OPTION_COUNTS:
        return parse_list(option, text, member, error);
    case TIDE_OPTION_HEADING:
        break;
    }
    return tide_fail(error, TIDE_INVALID, "%s is not an option", option->help);
}
