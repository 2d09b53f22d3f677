/* moved.h - where a real file, or folder, went that the program gave another name.
 *
 * A descriptor that was opened before leads to the real one, whose name is gone from the view. What
 * is changed by the descriptor must be changed at the new name. FOLDER/moved has a link for each
 * real file, to one for its copy, which has the path of the view.
 */
#ifndef TIDE_SCRATCH_MOVED_H
#define TIDE_SCRATCH_MOVED_H

#include <sys/stat.h>

#include "programs/scratch/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Under the lock: `path` of the view now has the real copy `copy`. `real` is the state of what
 * really has the old name; NULL: nothing, but the copy may be of something that has moved before.
 */
void tide_scratch_note_moved(const struct stat *real, const char *copy, const char *path);

/* The path of the view of the real file that has the real path `path`, or lies in a folder that has
 * moved. -ENOENT: it has not moved, or what it became is gone. */
int tide_scratch_moved_to(const char *path, char ret_path[TIDE_SCRATCH_PATH_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
