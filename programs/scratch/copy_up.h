/* copy_up.h - copies a real file or folder into the folder of copies, before it is changed.
 *
 * The caller holds the lock (state.h). All functions return 0 or -errno.
 */
#ifndef TIDE_SCRATCH_COPY_UP_H
#define TIDE_SCRATCH_COPY_UP_H

#include <stdbool.h>

#include "programs/scratch/place.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the program may change the folder of this path: -EACCES or -EROFS as in reality. */
int tide_scratch_may_change(const tide_scratch_place *place);

/* Makes the parent folders of the copy, and records that something is written. */
int tide_scratch_ready(tide_scratch_place *place);

typedef enum tide_scratch_content {
    TIDE_SCRATCH_EMPTY = 0,
    TIDE_SCRATCH_WHOLE
} tide_scratch_content;

/* Gives the path a copy: of a file with its content or empty, of a link, or of a folder, in which
 * the real content stays visible. An existing copy is unchanged. -ENOENT if there is nothing;
 * -ENOTSUP for anything but a file, link or folder. */
int tide_scratch_copy_up(tide_scratch_place *place, tide_scratch_content content);

/* Copies the whole folder as the view shows it, with its copies and without deleted entries, into a
 * new real folder, which covers. */
int tide_scratch_copy_tree(const tide_scratch_place *place, const char *target);

/* Removes a file or a whole folder in FOLDER/tmp. */
void tide_scratch_discard(const char *path);

#ifdef __cplusplus
}
#endif

#endif
