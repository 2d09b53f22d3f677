/* copy_friend.h - a copy of the recording in three steps, so that a cache can have the
 * second one under its own lock: rows and segments of one and the same instant, while the program
 * waits for neither the bulk of the rows nor the other tables.
 */
#ifndef TIDE_RECORDER_COPY_FRIEND_H
#define TIDE_RECORDER_COPY_FRIEND_H

#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_recorder_copying {
    tide_recording recording; /* what is there so far; the caller finishes it on failure */
    size_t capacity;          /* of its events */
    uint64_t first_row;       /* number of its first event: 0 for the first one ever recorded */
    uint64_t first_kept;      /* the same for the first one that the log had at the instant */
    int64_t instant_ns;       /* that the copy is of, on the recorder's clock */
    int64_t locked_ns;        /* since when the lock is held that is held now */
    int64_t pause_ns;         /* longest that a lock was held so far */
} tide_recorder_copying;

/* Most of the rows. TIDE_NO_MEMORY leaves nothing behind. No lock of the caller's should be held.
 */
TIDE_NODISCARD tide_status tide_recorder_copy_begin(tide_recorder *recorder,
                                                    const tide_hostmem *mem,
                                                    tide_recorder_copying *ret_copying);
/* The rows since. */
TIDE_NODISCARD tide_status tide_recorder_copy_instant(tide_recorder *recorder,
                                                      tide_recorder_copying *copying);
/* The other tables, as they were at that instant. */
TIDE_NODISCARD tide_status tide_recorder_copy_end(tide_recorder *recorder,
                                                  tide_recorder_copying *copying);

#ifdef __cplusplus
}
#endif

#endif
