/* real_time.h - waits by the real clock, whatever clock the program sees.
 *
 * Thread-safe, takes no lock, and may be used in signal handlers.
 */
#ifndef TIDE_VIRTUAL_CUDA_REAL_TIME_H
#define TIDE_VIRTUAL_CUDA_REAL_TIME_H

#include <time.h>

/* Waits for that span. Returns 0 or an error number. deadlines.c. */
int tide_vc_pause_real(const struct timespec *span);

/* Sleeps on a futex for at most that span while it is `value`. system_calls.c. */
long tide_vc_sleep_on_real(void *word, unsigned value, const struct timespec *most);

/* Makes common/ read and wait by the real clock in this object. To be called before the program's
 * clock leaves the real one. */
void tide_vc_real_time_begin(void);

#endif
