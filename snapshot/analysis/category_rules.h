/* category_rules.h - categories by rule, for blocks that nobody named: from the functions of a
 * block's call stack, from who released it, and from whether it is older than the recording; and
 * rules of the user's own.
 *
 * A rule gives the certainty TIDE_CERTAINTY_RULE. Blocks whose category is known for certain keep
 * it. docs/reference/categories.md has the built-in rules.
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

/* Categories of a file's own that the built-in rules give. */
#define TIDE_CATEGORY_COMMUNICATION "communication"
#define TIDE_CATEGORY_OLDER "parameter_or_older"

enum {
    TIDE_MAX_OWN_RULES = 64, /* of a file of rules */
    TIDE_NO_RULE = UINT8_MAX
};

typedef struct tide_rules tide_rules;

/* The built-in rules, behind those of the file at `path`, whose first that fits a block wins. NULL:
 * only the built-in ones. A file has a rule on each line: a category and, behind blanks, an
 * extended regular expression of POSIX, which is searched in "file:function" of each frame of the
 * call stack; empty lines and lines that begin with '#' are skipped. TIDE_IO: it cannot be read.
 * TIDE_INVALID: a line is no rule; the message has its number. The caller destroys the rules. */
TIDE_NODISCARD tide_status tide_rules_create(const char *path, const tide_hostmem *mem,
                                             tide_rules **ret_rules, tide_error *error);
void tide_rules_destroy(tide_rules *rules);

/* How many there are, the words of one for people ("workspace of cuBLAS or cuDNN"; of the user's
 * own the regular expression), and the category that it gives. */
size_t tide_rules_count(const tide_rules *rules);
const char *tide_rules_words(const tide_rules *rules, size_t rule);
const char *tide_rules_category(const tide_rules *rules, size_t rule);

/* The rule for each of `n_blocks` lifetimes of the snapshot, whatever their categories are;
 * TIDE_NO_RULE. */
TIDE_NODISCARD tide_status tide_rules_match(const tide_rules *rules, const tide_snapshot *snapshot,
                                            const tide_lifetime *blocks, size_t n_blocks,
                                            uint8_t *ret_rules);

/* Gives every block of a document that was just read a category, unless it has one that is known
 * for certain, or, with the built-in rules alone, one at all: events, start and end. TIDE_LIMIT:
 * too many categories. */
TIDE_NODISCARD tide_status tide_rules_apply(const tide_rules *rules, tide_snapshot *snapshot,
                                            tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
