#include "programs/launch/left/peaks.h"

#include "common/hostmem.h"
#include "snapshot/explain/growth.h"
#include "snapshot/analysis/steps.h"

/* The larger of a statistic and the history's peak. */
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

size_t tide_left_fullest_device(const tide_left *process, const tide_summary *summary) {
    size_t fullest = 0;
    for (size_t d = 1; d < process->n_devices; d++) {
        if (tide_left_reserved_peak(process, summary, d) >
            tide_left_reserved_peak(process, summary, fullest)) {
            fullest = d;
        }
    }
    return fullest;
}

int64_t tide_left_growth_from(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                              size_t device, tide_text *to, int64_t *ret_step) {
    tide_steps steps;
    tide_growth growth;
    int64_t bytes_per_step = 0;
    *ret_step = -1;
    if (tide_steps_init(&steps, snapshot, lifetimes, device) != TIDE_OK) {
        return 0;
    }
    if (tide_growth_init(&growth, snapshot, lifetimes, &steps) == TIDE_OK && growth.n_lines > 0) {
        bytes_per_step = growth.bytes_per_step;
        *ret_step = steps.steps[growth.last_step].number;
        if (to != NULL) {
            tide_growth_add(&growth, snapshot, &steps, to);
        }
    }
    tide_growth_fini(&growth);
    tide_steps_fini(&steps);
    return bytes_per_step;
}

int64_t tide_left_growth(const tide_snapshot *snapshot, size_t device, tide_text *to,
                         int64_t *ret_step) {
    tide_lifetimes lifetimes;
    *ret_step = -1;
    if (tide_lifetimes_init(&lifetimes, snapshot, tide_hostmem_default(), NULL) != TIDE_OK) {
        return 0;
    }
    int64_t growth = tide_left_growth_from(snapshot, &lifetimes, device, to, ret_step);
    tide_lifetimes_fini(&lifetimes);
    return growth;
}

int64_t tide_left_last_failure(const tide_snapshot *snapshot) {
    for (size_t i = snapshot != NULL ? snapshot->n_events : 0; i > 0; i--) {
        if (snapshot->events.action[i - 1] == TIDE_ACTION_OOM) {
            return (int64_t)i - 1;
        }
    }
    return -1;
}
