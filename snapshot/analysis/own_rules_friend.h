/* own_rules_friend.h - the rules of a file, which hold regular expressions. The engine of the
 * viewer's page has another implementation in place of category_rules_file.c.
 */
#ifndef TIDE_SNAPSHOT_OWN_RULES_FRIEND_H
#define TIDE_SNAPSHOT_OWN_RULES_FRIEND_H

#include <regex.h>
#include <stdbool.h>

#include "common/status.h"
#include "snapshot/analysis/category_rules.h"

typedef struct tide_own_rule {
    const char *category; /* in the arena of the rules, like the text */
    const char *text;
    regex_t pattern;
} tide_own_rule;

/* Reads a file of rules into `rules`. */
TIDE_NODISCARD tide_status tide_rules_read(tide_rules *rules, const char *path, tide_error *error);

/* Whether the rule fits a place, FILE:FUNCTION. */
bool tide_own_rule_matches(const tide_own_rule *rule, const char *place);

/* Releases the pattern. */
void tide_own_rule_fini(tide_own_rule *rule);

#endif
