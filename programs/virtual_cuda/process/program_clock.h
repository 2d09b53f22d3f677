/* program_clock.h - the clock that the program sees: the real one, or with TIDEMARK_CLOCK the
 * forecast.
 *
 * The forecast's clock begins at the real time at which this library was loaded. From there on it
 * advances by the host's real time times a factor, and by what card_clock.h adds. Every clock that
 * measures time (monotonic ones and those of dates) advances so; processor times stay real. It
 * never goes back, in no thread.
 *
 * A wait until a time of such a clock is a wait until the real time at which the clock will have
 * come there, if the card adds nothing meanwhile. So a program never waits for a time that lies
 * elsewhere on the real clock. All of this is thread-safe, takes no lock, and may be used in
 * handlers of signals.
 */
#ifndef TIDE_VIRTUAL_CUDA_PROGRAM_CLOCK_H
#define TIDE_VIRTUAL_CUDA_PROGRAM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Whether the program sees the forecast. */
bool tide_vc_clock_is_virtual(void);

/* Whether a clock's differences are spans of time. Others count a processor's work, or do not
 * exist.
 */
bool tide_vc_clock_is_of_time(int clock);

/* The real monotonic clock at which the program's clock began. */
int64_t tide_vc_clock_start_ns(void);

/* The program's clock has come to `program_us` since its start, when the real one was at `real_ns`.
 */
void tide_vc_clock_set(double program_us, int64_t real_ns);

/* The real and the program's time of a clock, a clockid_t; 0, or -1 with errno. */
int tide_vc_clock_read_real(int clock, struct timespec *ret);
int tide_vc_clock_read(int clock, struct timespec *ret);

/* The real time that a wait until a time of the program's clock lasts to: `until` itself where that
 * is the same, else *room. */
const struct timespec *tide_vc_clock_real_until(int clock, const struct timespec *until,
                                                struct timespec *room);

/* The clock of a time of which only its size is known: times of a monotonic clock are those of a
 * machine that has been up for less than 30 years. */
int tide_vc_clock_of_time(const struct timespec *until);

/* How long a sleep really lasts, rounded up, so that none is too short; and the other way round,
 * rounded down, for what is left of one. A span above 0 stays above 0: a timer of 0 stands. */
struct timespec tide_vc_clock_real_span(struct timespec span);
struct timespec tide_vc_clock_program_span(struct timespec span);

#endif
