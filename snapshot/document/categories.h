/* categories.h - the categories of one file: first those that tidemark knows (common/event.h), then
 * the file's own names in order of first appearance.
 */
#ifndef TIDE_SNAPSHOT_CATEGORIES_H
#define TIDE_SNAPSHOT_CATEGORIES_H

#include <stddef.h>

#include "common/arena.h"
#include "common/event.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_OWN_CATEGORIES = TIDE_MAX_CATEGORIES - TIDE_N_CATEGORIES, /* room for a file's own */
    TIDE_CATEGORY_BYTES = 128 /* longest name of one; a word, not a text */
};

/* A file's own words while it is read. */
typedef struct tide_category_list {
    const char *names[TIDE_OWN_CATEGORIES]; /* borrowed; of the numbers TIDE_N_CATEGORIES and up */
    size_t n;                               /* of them */
} tide_category_list;

/* The number of a name, a new one where it is met first; "" counts as unknown. `name` is kept and
 * outlives the list. TIDE_LIMIT: it is longer than TIDE_CATEGORY_BYTES, or one more than there is
 * room for; the message says which. */
TIDE_NODISCARD tide_status tide_category_list_number(tide_category_list *list, const char *name,
                                                     uint8_t *ret_number, tide_error *error);

/* Gives the snapshot copies of the words of the list. */
TIDE_NODISCARD tide_status tide_category_list_store(const tide_category_list *list,
                                                    tide_snapshot *snapshot);

#ifdef __cplusplus
}
#endif

#endif
