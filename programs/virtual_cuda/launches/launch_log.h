/* launch_log.h - the launch log of the process (programs/wire/run_launches.h), written if
 * TIDEMARK_LAUNCHES=1.
 *
 * A call of CUDA that gives work to a card begins with tide_vc_launch_begin and ends with
 * tide_vc_launch_end. The time between them is subtracted from the host's time, because a real
 * driver does not do that work. Without a log both do nothing. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_LAUNCH_LOG_H
#define TIDE_VIRTUAL_CUDA_LAUNCH_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "programs/wire/run_launches.h"

/* The beginning of a call. */
typedef struct tide_vc_entry {
    int64_t began_ns; /* on the monotonic clock; 0: nothing is logged */
    int64_t host_ns;  /* the host's own time (host_time.h) */
} tide_vc_entry;

/* For tide_vc_launch_begin alone: 0: not known yet; 1: there is no log; 2: there is a log. */
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

/* Adds a row. The caller fills in the fields of its kind; this adds time, thread, stream, device
 * and capture. `stream`: the handle. `name`: a text that stays valid, such as a kernel's name or
 * __func__; NULL: none. */
void tide_vc_launch_end(tide_vc_entry entry, const tide_run_launch *row, void *stream,
                        const char *name);

/* The same for work of a device that belongs to no stream. */
void tide_vc_launch_end_on(tide_vc_entry entry, const tide_run_launch *row, int device,
                           const char *name);

#endif
