/* card_clock.h - the model of programs/step_time/ while the program runs: what a launch takes on
 * the card, when streams and events are done, and how far a wait moves the program's clock
 * (program_clock.h).
 *
 * It goes by the rows of the launch log, which is written whenever the program sees the forecast,
 * and by the functions with which a replay goes by them: `tidemark time` of the log gives the times
 * that the program saw. All threads have one clock, as they have in a replay. Thread-safe. Without
 * a forecast's clock nothing here does anything.
 */
#ifndef TIDE_VIRTUAL_CUDA_CARD_CLOCK_H
#define TIDE_VIRTUAL_CUDA_CARD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/run_launches.h"

/* Does a row, complete but for its name. */
void tide_vc_card_clock_row(const tide_run_launch *row);

/* The call that the row was made of has ended, and calls took so much real time so far, which is
 * none of the program's. Until then its clock does not see the row. */
void tide_vc_card_clock_settle(int64_t calls_ns);

/* When the event was complete, in microseconds of the program's clock. False: there is no forecast,
 * or the event was never recorded. */
bool tide_vc_card_clock_event(uint64_t number, double *ret_us);
/* The event is gone. */
void tide_vc_card_clock_forget(uint64_t number);

#endif
