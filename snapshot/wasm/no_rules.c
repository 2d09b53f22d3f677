/* no_rules.c - in place of snapshot/analysis/category_rules_file.c: the page has no file of the
 * user's rules, and so needs no regular expressions, which would be a fifth of the engine.
 */
#include "snapshot/analysis/own_rules_friend.h"

tide_status tide_rules_read(tide_rules *rules, const char *path, tide_error *error) {
    (void)rules;
    return tide_fail(error, TIDE_UNSUPPORTED, "cannot open '%s': the page has no files", path);
}

bool tide_own_rule_matches(const tide_own_rule *rule, const char *place) {
    (void)rule;
    (void)place;
    return false;
}

void tide_own_rule_fini(tide_own_rule *rule) {
    (void)rule;
}
