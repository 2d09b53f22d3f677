/* category_rules.h - categories by rule, for blocks without a name: from the functions of a block's
 * call stack, from the place of its release, and from whether it is older than the recording; and
 * rules from a file of the user.
 *
 * A rule gives the certainty TIDE_CERTAINTY_RULE. Blocks with a certain category keep it.
 * docs/reference/categories.md describes the built-in rules.
 */
#ifndef TIDE_SNAPSHOT_CATEGORY_RULES_H
#define TIDE_SNAPSHOT_CATEGORY_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Categories of the built-in rules that are a file's own. */
#define TIDE_CATEGORY_COMMUNICATION "communication"
#define TIDE_CATEGORY_OLDER "parameter_or_older"

enum {
    TIDE_MAX_OWN_RULES = 64, /* in a file of rules */
    TIDE_NO_RULE = UINT8_MAX
};

typedef struct tide_rules tide_rules;

/* Makes the rules of the file at `path`, followed by the built-in rules; the first that fits a
 * block wins. NULL: only the built-in ones. Each line of the file has a category and, after blanks,
 * an extended regular expression of POSIX, which is searched in "file:function" of each frame of
 * the call stack; empty lines and lines that begin with '#' are skipped. TIDE_IO: the file cannot
 * be read. TIDE_INVALID: a line is not a rule; the message has its number. The caller destroys the
 * rules. */
TIDE_NODISCARD tide_status tide_rules_create(const char *path, const tide_hostmem *mem,
                                             tide_rules **ret_rules, tide_error *error);
void tide_rules_destroy(tide_rules *rules);

/* The number of rules; a rule in words ("workspace of cuBLAS or cuDNN"; for a rule of a file, its
 * regular expression); and its category. */
size_t tide_rules_count(const tide_rules *rules);
const char *tide_rules_words(const tide_rules *rules, size_t rule);
const char *tide_rules_category(const tide_rules *rules, size_t rule);

/* Finds the rule of each of `n_blocks` lifetimes of the snapshot, whatever their categories are;
 * TIDE_NO_RULE. */
TIDE_NODISCARD tide_status tide_rules_match(const tide_rules *rules, const tide_snapshot *snapshot,
                                            const tide_lifetime *blocks, size_t n_blocks,
                                            uint8_t *ret_rules);

/* Sets the categories of all blocks of a document that was just read: in events, start and end.
 * Blocks with a certain category keep it; built-in rules leave any category unchanged. TIDE_LIMIT:
 * too many categories. */
TIDE_NODISCARD tide_status tide_rules_apply(const tide_rules *rules, tide_snapshot *snapshot,
                                            tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
