#include "launch/peaks.h"

#include "common/hostmem.h"
#include "snapshot/lifetimes.h"
#include "snapshot/steps.h"

/* The larger of a statistic and what the history shows. */
static int64_t peak_of(int64_t stated_bytes, const tide_summary *summary, size_t device,
                       size_t which) {
    if (summary == NULL || device >= summary->n_devices) {
        return stated_bytes;
    }
    int64_t seen_bytes = summary->devices[device].max[which].bytes;
    return seen_bytes > stated_bytes ? seen_bytes : stated_bytes;
}

int64_t tide_left_allocated_peak(const tide_left *process, const tide_summary *summary,
                                 size_t device) {
    return peak_of(process->peaks[device].allocated_bytes, summary, device, TIDE_MAX_ALLOCATED);
}

int64_t tide_left_reserved_peak(const tide_left *process, const tide_summary *summary,
                                size_t device) {
    return peak_of(process->peaks[device].reserved_bytes, summary, device, TIDE_MAX_RESERVED);
}

bool tide_left_is_growing(const tide_snapshot *snapshot, size_t device, size_t *ret_n_steps) {
    tide_lifetimes lifetimes;
    tide_steps steps;
    bool grows = false;
    *ret_n_steps = 0;
    if (tide_lifetimes_init(&lifetimes, snapshot, tide_hostmem_default(), NULL) != TIDE_OK) {
        return false;
    }
    if (tide_steps_init(&steps, snapshot, &lifetimes, device) == TIDE_OK) {
        size_t n = steps.n_steps;
        *ret_n_steps = n;
        grows = n >= 2 && steps.steps[n - 1].peak_bytes > steps.steps[n - 2].peak_bytes;
        tide_steps_fini(&steps);
    }
    tide_lifetimes_fini(&lifetimes);
    return grows;
}

int64_t tide_left_last_failure(const tide_snapshot *snapshot) {
    for (size_t i = snapshot != NULL ? snapshot->n_events : 0; i > 0; i--) {
        if (snapshot->events[i - 1].action == TIDE_ACTION_OOM) {
            return (int64_t)i - 1;
        }
    }
    return -1;
}
