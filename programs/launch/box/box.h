/* box.h - the rings of black boxes (programs/live/box/black_box.h), from outside their processes:
 * snapshot and digest of each that did not end by itself.
 *
 * FOLDER/NAME.ring becomes FOLDER/NAME.json.gz and FOLDER/NAME.digest.json.gz. The ring may be a
 * link to a file in another folder; both are removed when the two files are written.
 */
#ifndef TIDE_LAUNCH_BOX_H
#define TIDE_LAUNCH_BOX_H

#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_BOX_RING ".ring"

/* Continues in a new process, which waits for the end of the process that writes the ring, and
 * makes the files after its first failed requests and after an end that left the ring. Returns
 * immediately in the calling process. TIDE_FORMAT: it is not a ring. */
TIDE_NODISCARD tide_status tide_box_watch(const char *ring, tide_error *error);

/* What became of the rings of a folder. */
typedef struct tide_box_folder {
    size_t n_rings;       /* found */
    size_t n_made;        /* of them, turned into files */
    size_t n_running;     /* of them, still being written */
    size_t n_failed;      /* of them, those that cannot be read; they stay */
    char message[1024];   /* about the first of these */
    size_t n_elsewhere;   /* of them, those in the memory of other machines; they stay */
    char elsewhere[1024]; /* about the first of these */
} tide_box_folder;

/* Makes the files of all rings in the folder whose processes have ended, and removes these rings.
 * Removes links to rings that this machine lost when it started again, and does not count them.
 * TIDE_IO: the folder cannot be read. */
TIDE_NODISCARD tide_status tide_box_recover(const char *folder, tide_box_folder *ret,
                                            tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
