/* moved.h - the new name of a real file or folder that the program renamed.
 *
 * A descriptor that was opened before still refers to the real file, whose old name is gone from
 * the view. A change through the descriptor must be made at the new name. FOLDER/moved has a link
 * for each real file to a link for its copy, which holds the path of the view.
 */
#ifndef TIDE_SCRATCH_MOVED_H
#define TIDE_SCRATCH_MOVED_H

#include <sys/stat.h>

#include "programs/scratch/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Under the lock: `path` of the view now has the real copy `copy`. `real` is the state of the real
 * file with the old name; NULL: there is none, but the copy may be of a file that has moved before.
 */
void tide_scratch_note_moved(const struct stat *real, const char *copy, const char *path);

/* The path of the view for the real file at `path`, which has moved or is in a folder that has.
 * -ENOENT: it has not moved, or its new name is gone. */
int tide_scratch_moved_to(const char *path, char ret_path[TIDE_SCRATCH_PATH_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
