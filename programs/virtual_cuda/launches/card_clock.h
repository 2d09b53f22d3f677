/* card_clock.h - the model of programs/step_time/ while the program runs: how long a launch takes
 * on the card, when streams and events are done, and how far a wait advances the program's clock
 * (program_clock.h).
 *
 * It reads the rows of the launch log, which is written whenever the program sees the forecast,
 * through the functions that a replay uses. So `tidemark time` of the log gives the times that the
 * program saw, except that the host's usual time between two calls (usual_gaps.h) is that of the
 * calls so far, and a replay knows all steps. All threads share one clock, as in a replay.
 * Thread-safe. Without a forecast's clock every function here does nothing.
 */
#ifndef TIDE_VIRTUAL_CUDA_CARD_CLOCK_H
#define TIDE_VIRTUAL_CUDA_CARD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "programs/wire/run_launches.h"

/* Advances by a row, which is complete except for its name: a text that stays valid, or NULL. */
void tide_vc_card_clock_row(const tide_run_launch *row, const char *name);

/* The call that made the row has ended. Calls took `calls_ns` of real time so far, which is not the
 * program's time. The program's clock does not see the row before this call. */
void tide_vc_card_clock_settle(int64_t calls_ns);

/* When the event was complete, in microseconds of the program's clock. False if there is no
 * forecast or the event was never recorded. */
bool tide_vc_card_clock_event(uint64_t number, double *ret_us);
/* The event is gone. */
void tide_vc_card_clock_forget(uint64_t number);

#endif
