/* program_clock.h - the clock that the program sees: the real one, or with TIDEMARK_CLOCK the
 * forecast.
 *
 * The forecast's clock begins at the real time at which this library was loaded. It advances by the
 * host's real time multiplied by a factor, and by what card_clock.h adds. Every clock that measures
 * time (monotonic ones and those of dates) advances so; processor times stay real. The clock never
 * goes back, in any thread.
 *
 * A wait until a time of such a clock waits until the real time at which the clock will reach it if
 * the card adds nothing meanwhile. So a program never waits for a time that is elsewhere on the
 * real clock. All of this is thread-safe, takes no lock, and may be used in signal handlers.
 */
#ifndef TIDE_VIRTUAL_CUDA_PROGRAM_CLOCK_H
#define TIDE_VIRTUAL_CUDA_PROGRAM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Whether the program sees the forecast. */
bool tide_vc_clock_is_virtual(void);

/* Whether a clock's differences are spans of time. Other clocks count processor time, or do not
 * exist.
 */
bool tide_vc_clock_is_of_time(int clock);

/* The real monotonic clock at which the program's clock began. */
int64_t tide_vc_clock_start_ns(void);

/* The program's clock reached `program_us` after its start when the real one was at `real_ns`.
 */
void tide_vc_clock_set(double program_us, int64_t real_ns);

/* The real monotonic clock when the program last read its own; 0: it has not. */
int64_t tide_vc_clock_read_ns(void);

/* The real and the program's time of a clock, a clockid_t. Returns 0, or -1 with errno. */
int tide_vc_clock_read_real(int clock, struct timespec *ret);
int tide_vc_clock_read(int clock, struct timespec *ret);

/* The real time at which a wait until a time of the program's clock ends. Returns `until` itself if
 * the two are equal, otherwise `room`. */
const struct timespec *tide_vc_clock_real_until(int clock, const struct timespec *until,
                                                struct timespec *room);

/* Guesses the clock of a time from its value: times of a monotonic clock come from a machine that
 * has been up for less than 30 years. */
int tide_vc_clock_of_time(const struct timespec *until);

/* The real length of a sleep, rounded up to be never too short; and the program's length of a
 * remaining real span, rounded down. A span above 0 stays above 0, because 0 disarms a timer. */
struct timespec tide_vc_clock_real_span(struct timespec span);
struct timespec tide_vc_clock_program_span(struct timespec span);

#endif
