/* settings.h - allocator settings with which the requests of a run would fit a room: a replay finds
 * them without another run.
 */
#ifndef TIDE_PROGRAMS_PLAN_SETTINGS_H
#define TIDE_PROGRAMS_PLAN_SETTINGS_H

#include "programs/plan/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the fitting setting of a complete run whose allocated bytes fit the room and whose reserved
 * bytes do not; otherwise nothing. A history that cannot be replayed has no such setting. */
TIDE_NODISCARD tide_status tide_plan_find_setting(tide_plan_run *run, int64_t room_bytes,
                                                  tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
