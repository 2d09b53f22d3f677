/* copy_friend.h - a copy of the recording in three steps.
 *
 * The cache does the second step under its own lock, together with its segments, so rows and
 * segments are of the same instant. Most rows are copied before and the other tables after, while
 * the program continues.
 */
#ifndef TIDE_RECORDER_COPY_FRIEND_H
#define TIDE_RECORDER_COPY_FRIEND_H

#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_recorder_copying {
    tide_recording recording; /* the tables copied so far; after a failure the caller calls fini */
    size_t capacity;          /* of its events */
    uint64_t first_row;       /* number of its first event: 0 for the first one ever recorded */
    uint64_t first_kept;      /* number of the first event that the log still contained at the
                                 instant */
    int64_t instant_ns;       /* the instant of the copy, on the recorder's clock */
    int64_t locked_ns;        /* when the currently held lock was taken */
    int64_t pause_ns;         /* the longest time that a lock was held so far */
} tide_recorder_copying;

/* Copies most of the rows. TIDE_NO_MEMORY leaves nothing to release. The caller should hold no
 * lock, because the time grows with the log. */
TIDE_NODISCARD tide_status tide_recorder_copy_begin(tide_recorder *recorder,
                                                    const tide_hostmem *mem,
                                                    tide_recorder_copying *ret_copying);
/* Copies the rows that were added since. The caller holds the log lock. */
TIDE_NODISCARD tide_status tide_recorder_copy_instant(tide_recorder *recorder,
                                                      tide_recorder_copying *copying);
/* Copies the other tables as they were at that instant. */
TIDE_NODISCARD tide_status tide_recorder_copy_end(tide_recorder *recorder,
                                                  tide_recorder_copying *copying);

#ifdef __cplusplus
}
#endif

#endif
