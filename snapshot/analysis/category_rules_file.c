/* A file of rules: a category and a regular expression on each line. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/document/categories.h"
#include "snapshot/analysis/category_rules_internal.h"

enum { LINE_BYTES = 4096, REASON_BYTES = 256 };

#define BLANKS " \t\r\n"

/* Cuts the line in two: the category, and the expression after the blanks. NULL: no rule in the
 * line.
 */
static char *split(char *line, char **ret_expression) {
    line += strspn(line, BLANKS);
    size_t n = strlen(line);
    while (n > 0 && strchr(BLANKS, line[n - 1]) != NULL) {
        line[--n] = '\0';
    }
    if (n == 0 || line[0] == '#') {
        return NULL;
    }
    char *expression = line + strcspn(line, BLANKS);
    if (*expression != '\0') {
        *expression++ = '\0';
        expression += strspn(expression, BLANKS);
    }
    *ret_expression = expression;
    return line;
}

static tide_status add_rule(tide_rules *rules, const char *category, const char *expression,
                            tide_error *error) {
    if (*expression == '\0') {
        return tide_fail(error, TIDE_INVALID,
                         "'%.100s' has no regular expression after it (a rule is: CATEGORY REGEX)",
                         category);
    }
    if (strlen(category) > TIDE_CATEGORY_BYTES) {
        return tide_fail(error, TIDE_INVALID, "a category has at most %d characters",
                         TIDE_CATEGORY_BYTES);
    }
    if (rules->n_own == TIDE_MAX_OWN_RULES) {
        return tide_fail(error, TIDE_LIMIT, "there are more than %d rules", TIDE_MAX_OWN_RULES);
    }
    tide_own_rule *rule = &rules->own[rules->n_own];
    int code = regcomp(&rule->pattern, expression, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char reason[REASON_BYTES];
        regerror(code, &rule->pattern, reason, sizeof(reason));
        return tide_fail(error, TIDE_INVALID, "'%.100s' is no regular expression: %s", expression,
                         reason);
    }
    rules->n_own++;
    rule->category = tide_arena_text(&rules->arena, category);
    rule->text = tide_arena_text(&rules->arena, expression);
    return rule->category != NULL && rule->text != NULL
               ? TIDE_OK
               : tide_fail(error, TIDE_NO_MEMORY, "no host memory for the rules");
}

static tide_status read_lines(tide_rules *rules, FILE *file, const char *path, tide_error *error) {
    char line[LINE_BYTES];
    for (size_t number = 1; fgets(line, sizeof(line), file) != NULL; number++) {
        char *expression = NULL;
        if (strlen(line) == sizeof(line) - 1 && line[sizeof(line) - 2] != '\n') {
            return tide_fail(error, TIDE_INVALID, "%s:%zu: the line has more than %d bytes", path,
                             number, LINE_BYTES - 2);
        }
        char *category = split(line, &expression);
        if (category == NULL) {
            continue;
        }
        tide_status status = add_rule(rules, category, expression, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "%s:%zu", path, number);
            return status;
        }
    }
    return ferror(file) == 0
               ? TIDE_OK
               : tide_fail(error, TIDE_IO, "cannot read '%s': %s", path, strerror(errno));
}

tide_status tide_rules_read(tide_rules *rules, const char *path, tide_error *error) {
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return tide_fail(error, TIDE_IO, "cannot open '%s': %s", path, strerror(errno));
    }
    tide_status status = read_lines(rules, file, path, error);
    (void)fclose(file);
    return status;
}

bool tide_own_rule_matches(const tide_own_rule *rule, const char *place) {
    return regexec(&rule->pattern, place, 0, NULL, 0) == 0;
}

void tide_own_rule_fini(tide_own_rule *rule) {
    regfree(&rule->pattern);
}
