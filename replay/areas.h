/* areas.h - the peaks of a recorded program without work areas of cuDNN, with the likely ones,
 * which it had, and with the largest ones: its requests through the allocator again.
 *
 * An area is freed when its call returns, and as a free block it serves later requests. So a larger
 * area may lower a peak, and the peaks of both ends are computed, never added up. An area never
 * takes more than is free at its moment: PyTorch chooses another plan where memory runs out.
 */
#ifndef TIDE_REPLAY_AREAS_H
#define TIDE_REPLAY_AREAS_H

#include "replay/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills snapshot->work_areas, for the devices whose recorded peaks a replay reproduces; nothing
 * without calls that compute with an area. `limits_bytes`: what the allocator could reserve of each
 * device; UINT64_MAX: unknown; NULL: of all. Errors of tide_replay_run. */
TIDE_NODISCARD tide_status tide_replay_add_work_areas(tide_snapshot *snapshot,
                                                      const uint64_t *limits_bytes,
                                                      tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
