#include "launch/peaks.h"

#include "common/hostmem.h"
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

#define SEGMENT_BYTES (INT64_C(2) << 20) /* the smallest that PyTorch asks a card for */

int64_t tide_left_growth_of(const int64_t *peaks, size_t n_steps) {
    if (n_steps < 3) {
        return 0;
    }
    int64_t last = peaks[n_steps - 1];
    int64_t growth = last - peaks[n_steps - 2];
    for (size_t i = 0; i + 1 < n_steps; i++) {
        if (last <= peaks[i]) {
            return 0;
        }
    }
    bool repeats = n_steps >= 4 && peaks[n_steps - 2] > peaks[n_steps - 3];
    if (growth < SEGMENT_BYTES && !repeats) {
        return 0;
    }
    return repeats ? (last - peaks[n_steps - 3] + 1) / 2 : growth;
}

/* Whether a step bought memory for a CUDA graph, because it captured one. */
static bool captures(const tide_snapshot *snapshot, size_t device, const tide_step *step) {
    for (size_t i = step->first; snapshot->event_pool != NULL && i <= step->last; i++) {
        const tide_event *event = &snapshot->events[i];
        uint16_t pool = snapshot->event_pool[i];
        bool buys =
            event->action == TIDE_ACTION_SEGMENT_ALLOC || event->action == TIDE_ACTION_SEGMENT_MAP;
        if (buys && event->device == device && pool > 0 && snapshot->pools[pool - 1].id[0] > 0) {
            return true;
        }
    }
    return false;
}

int64_t tide_left_growth_from(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                              size_t device, int64_t *ret_step) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_steps steps;
    int64_t growth = 0;
    *ret_step = -1;
    if (tide_steps_init(&steps, snapshot, lifetimes, device) != TIDE_OK) {
        return 0;
    }
    int64_t *peaks = tide_hostmem_zeroed(mem, steps.n_steps + 1, sizeof(*peaks));
    /* Steps that nothing but a period tells are no ground for a warning. */
    size_t n = steps.source == TIDE_STEPS_INFERRED ? 0 : steps.n_steps;
    for (size_t i = 0; peaks != NULL && i < n; i++) {
        peaks[i] = steps.steps[i].peak_bytes;
    }
    if (n > 0) {
        *ret_step = steps.steps[n - 1].number;
    }
    /* A step that goes on has not had its peak yet, unless it is above the one before. */
    if (peaks != NULL && n > 1 && steps.steps[n - 1].is_open && peaks[n - 1] <= peaks[n - 2]) {
        n--;
    }
    /* A capture takes memory of its own, once: replays take no more. */
    if (n > 1 && captures(snapshot, device, &steps.steps[n - 1]) &&
        !captures(snapshot, device, &steps.steps[n - 2])) {
        n--;
    }
    growth = peaks != NULL ? tide_left_growth_of(peaks, n) : 0;
    mem->release(mem->ctx, peaks);
    tide_steps_fini(&steps);
    return growth;
}

int64_t tide_left_growth(const tide_snapshot *snapshot, size_t device, int64_t *ret_step) {
    tide_lifetimes lifetimes;
    *ret_step = -1;
    if (tide_lifetimes_init(&lifetimes, snapshot, tide_hostmem_default(), NULL) != TIDE_OK) {
        return 0;
    }
    int64_t growth = tide_left_growth_from(snapshot, &lifetimes, device, ret_step);
    tide_lifetimes_fini(&lifetimes);
    return growth;
}

int64_t tide_left_last_failure(const tide_snapshot *snapshot) {
    for (size_t i = snapshot != NULL ? snapshot->n_events : 0; i > 0; i--) {
        if (snapshot->events[i - 1].action == TIDE_ACTION_OOM) {
            return (int64_t)i - 1;
        }
    }
    return -1;
}
