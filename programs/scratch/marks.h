/* marks.h - how the folder of copies says that something is gone.
 *
 * A path that the program removed has a link in its place, whose target no program can have made:
 * it names a file in /proc, where nothing can be created. A folder that does not show what really
 * lies below its path, because it took the place of a removed one, holds a file with a name of its
 * own. Neither is ever shown to a program.
 */
#ifndef TIDE_SCRATCH_MARKS_H
#define TIDE_SCRATCH_MARKS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_SCRATCH_GONE "/proc/self/tidemark-gone"
#define TIDE_SCRATCH_COVERS ".tidemark-covers"

/* Whether the text of a link is the mark. */
bool tide_scratch_is_gone(const char *target, size_t n_bytes);

/* Whether the file or link with this real path is a mark of either kind. */
bool tide_scratch_is_mark(const char *path, const char *name);

/* Makes a mark with the real path `copy`, in place of a file that may lie there. 0 or -errno. */
int tide_scratch_mark_gone(const char *copy);

/* Makes the folder `copy` cover what really lies below its path. 0 or -errno. */
int tide_scratch_mark_covers(const char *copy);

#ifdef __cplusplus
}
#endif

#endif
