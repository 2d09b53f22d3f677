/* real_links.h - links in folders that stay real, including the links of processes in /proc: these
 * refer to a file or folder itself, and their text is only its name.
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
    TIDE_SCRATCH_BY_NAME, /* of a process, to a path of the view that the text names */
    TIDE_SCRATCH_ITSELF,  /* of a process, to a pipe or another object without a name, or to a file
                           * that was open for writing before the run */
    TIDE_SCRATCH_FOREIGN /* of a process, to a user's file without a path here: its name is deleted,
                          * or belongs to another root */
} tide_scratch_link;

/* The kind of link at the real `path`, or -errno. Sets the text, without a NUL, if it is to be
 * followed. */
int tide_scratch_real_link(const char *path, char ret_text[TIDE_SCRATCH_PATH_BYTES],
                           size_t *ret_bytes);

#ifdef __cplusplus
}
#endif

#endif
