/* launch_log.h - the launch log of the process (common/run_launches.h), which TIDEMARK_LAUNCHES=1
 * asks for.
 *
 * A call of CUDA that gives a card something to do begins with tide_vc_launch_begin and ends with
 * tide_vc_launch_end. What lies between is taken out of the host's time, since it is not what a
 * real driver does. Without a log neither does anything. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_LAUNCH_LOG_H
#define TIDE_VIRTUAL_CUDA_LAUNCH_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/run_launches.h"

/* The beginning of a call. */
typedef struct tide_vc_entry {
    int64_t began_ns; /* of the monotonic clock; 0: nothing is logged */
    int64_t host_ns;  /* the same, less the time that calls took so far; two at once count twice */
} tide_vc_entry;

/* For tide_vc_launch_begin alone: 0: nobody has looked yet; 1: there is no log; 2: there is. */
extern int tide_vc_launch_log_state;

tide_vc_entry tide_vc_launch_begin_logged(void);

static inline tide_vc_entry tide_vc_launch_begin(void) {
    tide_vc_entry none = {0, 0};
    return __atomic_load_n(&tide_vc_launch_log_state, __ATOMIC_RELAXED) == 1
               ? none
               : tide_vc_launch_begin_logged();
}

static inline bool tide_vc_is_logged(tide_vc_entry entry) {
    return entry.began_ns != 0;
}

/* Adds a row: the caller gives what its kind has; time, thread, stream, device and capture are
 * filled in. `stream`: the handle. `name`: a text that stays where it is, such as a kernel's name
 * or
 * __func__; NULL: none. */
void tide_vc_launch_end(tide_vc_entry entry, const tide_run_launch *row, void *stream,
                        const char *name);

/* The same of something that no stream does, on a device. */
void tide_vc_launch_end_on(tide_vc_entry entry, const tide_run_launch *row, int device,
                           const char *name);

#endif
