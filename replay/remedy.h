/* remedy.h - the setting of the allocator that would have helped a recorded run, found by replays.
 *
 * A setting is found only if the replay under the recorded settings reproduces the recorded
 * failure, or the recorded peak. Whether a setting can be a cure at all, and not growth for
 * example, is the caller's question.
 */
#ifndef TIDE_REPLAY_REMEDY_H
#define TIDE_REPLAY_REMEDY_H

#include "replay/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_remedy {
    char settings[TIDE_REPLAY_NAME_BYTES]; /* "expandable_segments:True", to be added to the
                                              recorded ones; "": none helps */
    int64_t reserved_bytes;                /* with it: the peak */
    int64_t recorded_bytes;                /* the smaller of the recorded peak and its replay */
} tide_remedy;

/* `failed_row`: of the device's first failed request, which all settings must serve; -1: nothing
 * failed, and less reserved memory is the aim. The recorded PyTorch accepts the setting.
 * TIDE_FORMAT, TIDE_UNSUPPORTED, TIDE_INVALID: the recording cannot be replayed. `progress` may be
 * NULL. */
TIDE_NODISCARD tide_status tide_remedy_find(const tide_snapshot *snapshot, size_t device,
                                            int64_t failed_row,
                                            const tide_replay_progress *progress,
                                            tide_remedy *ret_remedy, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
