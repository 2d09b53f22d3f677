/* categories.h - the categories of one file: the known ones (common/event.h), then the file's own
 * names in order of first appearance.
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
    TIDE_CATEGORY_BYTES = 128                                      /* longest name */
};

/* A file's own categories while it is read. */
typedef struct tide_category_list {
    const char *names[TIDE_OWN_CATEGORIES]; /* borrowed; numbered from TIDE_N_CATEGORIES */
    size_t n;                               /* of names */
} tide_category_list;

/* Returns the number of a name, and adds the name if it is new; "" counts as unknown. `name` is
 * borrowed and must outlive the list. TIDE_LIMIT: the name is longer than TIDE_CATEGORY_BYTES, or
 * the list is full; the message says which. */
TIDE_NODISCARD tide_status tide_category_list_number(tide_category_list *list, const char *name,
                                                     uint8_t *ret_number, tide_error *error);

/* Copies the names of the list into the snapshot. */
TIDE_NODISCARD tide_status tide_category_list_store(const tide_category_list *list,
                                                    tide_snapshot *snapshot);

/* "optimizer state": the words for a category of common/event.h in every sentence and legend, in
 * PyTorch's terms; "unknown kind" for TIDE_UNKNOWN. */
const char *tide_category_words(int category);

#ifdef __cplusplus
}
#endif

#endif
