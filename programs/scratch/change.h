/* change.h - removes and gives names in the view: the calls with these names, as the kernel would
 * answer them.
 *
 * Each is atomic for other processes, which see a name either as before or as after. All return 0
 * or -errno. A path that stays real gets the real call.
 */
#ifndef TIDE_SCRATCH_CHANGE_H
#define TIDE_SCRATCH_CHANGE_H

#include "programs/scratch/place.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_SCRATCH_UNTOUCHED = 1 }; /* the path stays real, and the caller makes the real call */

int tide_scratch_unlink(int at, const char *path);
int tide_scratch_rmdir(int at, const char *path);
int tide_scratch_mkdir(int at, const char *path, unsigned mode);
int tide_scratch_symlink(const char *target, int at, const char *path);
int tide_scratch_mknod(int at, const char *path, unsigned mode, unsigned long device);

/* flags as for linkat and renameat2. */
int tide_scratch_link(int old_at, const char *old_path, int at, const char *path, int flags);
int tide_scratch_rename(int old_at, const char *old_path, int at, const char *path, unsigned flags);

typedef enum tide_scratch_right {
    TIDE_SCRATCH_BY_OWNER = 0, /* chmod, chown, utimes with times */
    TIDE_SCRATCH_BY_WRITER     /* truncate, utimes with the present */
} tide_scratch_right;

/* Gives an existing path a copy, on which the caller makes its change: place->copy. May return
 * TIDE_SCRATCH_UNTOUCHED. */
int tide_scratch_own(int at, const char *path, tide_scratch_follow follow, tide_scratch_right right,
                     tide_scratch_place *ret_place);

/* Prepares for a new name: looks up the path and takes the lock, which is still held on success.
 * TIDE_SCRATCH_UNTOUCHED: without the lock. -EEXIST if the name exists; -ENOENT, -EACCES and so on
 * if it cannot be created. */
int tide_scratch_begin_new(int at, const char *path, tide_scratch_place *ret_place);

/* Moves a new file from FOLDER/tmp to the place, which is empty or has a mark. */
int tide_scratch_put(const char *made, tide_scratch_place *place);

#ifdef __cplusplus
}
#endif

#endif
