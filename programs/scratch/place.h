/* place.h - resolves a program's path in the view: the walk over its components.
 *
 * A path of the view is absolute, and links, "." and ".." are followed in it, also in folders that
 * stay real: the end of the path decides whether it is real. Its copy is at FOLDER/files/PATH. The
 * real file at PATH shows through if there is no copy, no mark that it is deleted, and no parent
 * folder that covers it. A folder that the program made always covers. A folder that is only a
 * parent of a copy never covers, and has a real folder beneath it.
 */
#ifndef TIDE_SCRATCH_PLACE_H
#define TIDE_SCRATCH_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "programs/scratch/state.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_scratch_place {
    char copy[TIDE_SCRATCH_PATH_BYTES]; /* real path of the copy: FOLDER/files, then the path */
    const char *path;                   /* the path of the view, inside `copy`; "" for the root */
    bool is_real;      /* outside the view; only `path`, is_changed, is_foreign are set */
    bool is_foreign;   /* a link of /proc led to a file without a path here: read only */
    bool is_changed;   /* use `path`; otherwise the program's own arguments are equivalent */
    bool has_copy;     /* at `copy` */
    bool is_folder;    /* the copy is one */
    bool is_gone;      /* `copy` is a mark */
    bool shows_below;  /* the real file at `path` is visible: nothing above or at `copy` hides it */
    bool has_parent;   /* the folder of the copy exists */
    bool parent_below; /* the real content of the path's folder is visible */
    bool ends_in_slash;
} tide_scratch_place;

/* Whether the last component is followed if it is a link. */
typedef enum tide_scratch_follow {
    TIDE_SCRATCH_NOFOLLOW = 0,
    TIDE_SCRATCH_FOLLOW
} tide_scratch_follow;

/* Looks up `path` relative to the folder of the descriptor `at` (AT_FDCWD: the current one). 0,
 * also if nothing exists at the path; or -errno: -ENOENT if a folder on the way is missing,
 * -ENOTDIR, -ELOOP, -ENAMETOOLONG, -EBADF; -ENXIO: `at` has no path. */
int tide_scratch_look(int at, const char *path, tide_scratch_follow follow,
                      tide_scratch_place *ret_place);

/* The arguments with which a real read-only call finds the program's view of the file. The path is
 * valid as long as the place and the caller's path. -ENOENT: the program sees nothing there, though
 * a real file may exist; or another failure of tide_scratch_look. Costs next to nothing until
 * something is written. A file of the card (devices.h) leaves the other members of the place as
 * they were. */
int tide_scratch_see(int *at, const char **path, tide_scratch_follow follow,
                     tide_scratch_place *place);

/* The path of the view of an open descriptor, or of the current folder for AT_FDCWD. -ENXIO if it
 * has no path. */
int tide_scratch_path_of(int fd, char ret_path[TIDE_SCRATCH_PATH_BYTES]);

/* The arguments of a real call if the program's own path is real or shows through. */
static inline int tide_scratch_at(const tide_scratch_place *place, int at) {
    return place->is_changed ? -100 /* AT_FDCWD */ : at;
}
const char *tide_scratch_text(const tide_scratch_place *place, const char *path);

/* Returns -EROFS and prints one line for a place that may not be written: is_foreign. Otherwise
 * 0. */
int tide_scratch_may_write(const tide_scratch_place *place);

/* The real path beneath the copy. */
const char *tide_scratch_below(const tide_scratch_place *place);

/* The file that the program sees there: as fstatat without following links. -ENOENT if there is
 * none. */
int tide_scratch_status(const tide_scratch_place *place, struct stat *ret_status);

/* Merges the state of a folder's copy with the state of the real folder, if both are visible: the
 * folder keeps its identity, and has the newer times. */
void tide_scratch_merge_status(const tide_scratch_place *place, struct stat *status);

/* Removes FOLDER/files from the beginning of a real path. False: it does not begin with that. */
bool tide_scratch_strip(char *path);

#ifdef __cplusplus
}
#endif

#endif
