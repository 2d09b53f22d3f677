/* real_links.h - links in folders that stay real. The links of processes in /proc are among them:
 * they lead to a file or folder itself, and their text is only its name.
 */
#ifndef TIDE_SCRATCH_REAL_LINKS_H
#define TIDE_SCRATCH_REAL_LINKS_H

#include <stddef.h>

#include "programs/scratch/state.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_scratch_link {
    TIDE_SCRATCH_NO_LINK = 0,
    TIDE_SCRATCH_BY_TEXT, /* an ordinary link */
    TIDE_SCRATCH_BY_NAME, /* of a process, to what the text names: a path of the view */
    TIDE_SCRATCH_ITSELF,  /* of a process, to a pipe or another thing without a name, or to a file
                             that was open for writing before the run */
    TIDE_SCRATCH_FOREIGN /* of a process, to a file of the user's that has no path here: its name is
                            deleted, or is one of another root */
} tide_scratch_link;

/* What the real `path` is. Sets the text, without a NUL, where it is to be followed. A kind of
 * link, or -errno. */
int tide_scratch_real_link(const char *path, char ret_text[TIDE_SCRATCH_PATH_BYTES],
                           size_t *ret_bytes);

#ifdef __cplusplus
}
#endif

#endif
