/* host_time.h - the host's own time between the rows of a launch log: real time, without the time
 * that this library spends on logging and without the time that a thread waited for a processor
 * because other programs ran. Thread-safe.
 *
 *   real time   |--- host ---|--- waits for a processor ---|- host -|- logs -|--- host ---|
 *   host's own  |--- host ---|- host -|--- host ---|
 */
#ifndef TIDE_VIRTUAL_CUDA_HOST_TIME_H
#define TIDE_VIRTUAL_CUDA_HOST_TIME_H

#include <stdint.h>

/* The host's own time when a call begins at real_ns of the monotonic clock. */
int64_t tide_vc_host_time_begin(int64_t real_ns);

/* The call ends, and all time since its begin was spent on logging. Returns the real time so far
 * that is not the host's own. */
int64_t tide_vc_host_time_end(int64_t began_ns);

/* The time so far that threads waited for a processor between their rows, in ns. 0 if the system
 * does not report it. */
int64_t tide_vc_host_time_waited_ns(void);

/* The second number of /proc/thread-self/schedstat, the ns that the thread was ready to run and had
 * no processor; -1 if the text has none. */
int64_t tide_vc_host_time_parse(const char *text);

#endif
