/* settings.h - allocator settings with which the requests of a run would fit a room: a replay finds
 * them without another run.
 */
#ifndef TIDE_PROGRAMS_PLAN_SETTINGS_H
#define TIDE_PROGRAMS_PLAN_SETTINGS_H

#include "programs/plan/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Replays a complete run under the settings of a grid, unless that was done: sets the lowest
 * reserved peak, and the fitting setting if the run fits the room only with one. A history that
 * cannot be replayed has none, and the lowest is that of the run. */
TIDE_NODISCARD tide_status tide_plan_find_setting(tide_plan_run *run, int64_t room_bytes,
                                                  tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
