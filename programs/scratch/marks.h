/* marks.h - how the folder of copies marks deleted paths.
 *
 * A path that the program deleted has a link in its place. No program can have made its target: it
 * names a file in /proc, where nothing can be created. A folder that replaced a deleted one hides
 * the real content at its path: it contains a file with a special name. Programs see neither kind
 * of mark.
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

/* Makes a mark with the real path `copy`, replacing a file there. 0 or -errno. */
int tide_scratch_mark_gone(const char *copy);

/* Makes the folder `copy` cover the real content at its path. 0 or -errno. */
int tide_scratch_mark_covers(const char *copy);

#ifdef __cplusplus
}
#endif

#endif
