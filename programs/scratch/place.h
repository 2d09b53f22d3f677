/* place.h - what a path of the program means in the view: the walk over its components.
 *
 * A path of the view is absolute, and links, "." and ".." are followed in it, also in folders that
 * stay real: where a path ends decides whether it is real. Its copy lies at
 * FOLDER/files/PATH; what really lies at PATH shows through where there is no copy, no mark that it
 * is gone, and no folder above that covers it. A folder that the program made covers always; one
 * that is only on the way to a copy never does, and a real folder lies below it.
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
    bool is_real;      /* nothing is kept away here; only `path`, is_changed, is_foreign are set */
    bool is_foreign;   /* a link of /proc led to what has no path here: it may only be read */
    bool is_changed;   /* `path` must be used; else the program's own arguments mean the same */
    bool has_copy;     /* at `copy` */
    bool is_folder;    /* the copy is one */
    bool is_gone;      /* a mark lies at `copy` */
    bool shows_below;  /* what really lies at `path` is seen: nothing above or at `copy` hides it */
    bool has_parent;   /* the folder of the copy exists */
    bool parent_below; /* what really lies in the folder of the path is seen */
    bool ends_in_slash;
} tide_scratch_place;

/* Whether the last component is followed if it is a link. */
typedef enum tide_scratch_follow {
    TIDE_SCRATCH_NOFOLLOW = 0,
    TIDE_SCRATCH_FOLLOW
} tide_scratch_follow;

/* Looks up `path` from the folder that the descriptor `at` stands for (AT_FDCWD: the current one).
 * 0, also for a path at which nothing is; or -errno: -ENOENT where a folder on the way is missing,
 * -ENOTDIR, -ELOOP, -ENAMETOOLONG, -EBADF; -ENXIO: `at` is nothing that has a path. */
int tide_scratch_look(int at, const char *path, tide_scratch_follow follow,
                      tide_scratch_place *ret_place);

/* The arguments with which a real call that only reads meets what the program sees; the path is
 * valid as long as the place and the caller's own. -ENOENT: the program sees nothing there, though
 * something really is; or another failure of tide_scratch_look. Costs nothing until something is
 * written. */
int tide_scratch_see(int *at, const char **path, tide_scratch_follow follow,
                     tide_scratch_place *place);

/* The path of the view of an open descriptor, or of the current folder for AT_FDCWD. -ENXIO if it
 * is no file with a path. */
int tide_scratch_path_of(int fd, char ret_path[TIDE_SCRATCH_PATH_BYTES]);

/* The arguments of a real call, where the program's own path is real or shows through. */
static inline int tide_scratch_at(const tide_scratch_place *place, int at) {
    return place->is_changed ? -100 /* AT_FDCWD */ : at;
}
const char *tide_scratch_text(const tide_scratch_place *place, const char *path);

/* -EROFS, and one line for people, for a place that may not be written: it is_foreign. Else 0. */
int tide_scratch_may_write(const tide_scratch_place *place);

/* The real path of what lies below the copy. */
const char *tide_scratch_below(const tide_scratch_place *place);

/* What the program sees there: as fstatat without following links. -ENOENT if nothing. */
int tide_scratch_status(const tide_scratch_place *place, struct stat *ret_status);

/* Fits the state of the copy of a folder to the state of the folder itself, where both are seen:
 * the folder keeps its identity, and has the newer times. */
void tide_scratch_merge_status(const tide_scratch_place *place, struct stat *status);

/* Cuts FOLDER/files from a real path. False: it does not begin so. */
bool tide_scratch_strip(char *path);

#ifdef __cplusplus
}
#endif

#endif
