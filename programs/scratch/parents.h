/* parents.h - a cache of the folders that paths lead to, which saves walking the whole path at each
 * lookup.
 *
 * An entry is valid until a folder, link or mark of the view comes or goes
 * (tide_scratch_generation). Any thread may ask; a thread that would have to wait walks instead.
 */
#ifndef TIDE_SCRATCH_PARENTS_H
#define TIDE_SCRATCH_PARENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_SCRATCH_PARENT_BYTES = 256 }; /* of cached texts */

typedef struct tide_scratch_parent {
    char path[TIDE_SCRATCH_PARENT_BYTES]; /* of the view, without links */
    size_t n_path;
    unsigned char flags; /* of the walk */
    bool is_changed;
} tide_scratch_parent;

/* The result for the folder with this text. False: not cached. */
bool tide_scratch_recall(const char *text, size_t n_text, uint32_t generation,
                         tide_scratch_parent *ret_parent);
void tide_scratch_remember(const char *text, size_t n_text, uint32_t generation,
                           const tide_scratch_parent *parent);

#ifdef __cplusplus
}
#endif

#endif
