/* The axis of a picture: the whole recording, over time or event number. */
#include <string.h>

#include "picture/series_internal.h"

/* A device that computes nothing has no times. */
static bool has_clock(const tide_snapshot *snapshot, size_t device) {
    if (strcmp(snapshot->clock_source, "none") == 0) {
        return false;
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        bool is_its = i == device || tide_snapshot_is_pinned(snapshot, device);
        if (is_its && strcmp(snapshot->devices[i].kind, "virtual") == 0) {
            return false;
        }
    }
    return true;
}

/* The end of the last event or scope. */
static int64_t end_ns(const tide_snapshot *snapshot) {
    int64_t end = snapshot->n_events > 0 ? snapshot->events.time_ns[snapshot->n_events - 1] : 0;
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        const tide_scope_row *scope = &snapshot->scopes[i];
        int64_t n_ns = scope->duration_ns > 0 ? scope->duration_ns : 0;
        if (scope->begin_ns <= INT64_MAX - n_ns && scope->begin_ns + n_ns > end) {
            end = scope->begin_ns + n_ns;
        }
    }
    return end;
}

tide_status tide_picture_axis_init(tide_picture_axis *axis, const tide_snapshot *snapshot,
                                   size_t device, tide_picture_x kind, tide_error *error) {
    bool is_timed = has_clock(snapshot, device) && snapshot->n_events > 0;
    if (kind == TIDE_PICTURE_X_TIME && !is_timed) {
        return tide_fail(
            error, TIDE_UNSUPPORTED, "--x time: the recording has no times (%s): use --x event",
            snapshot->n_events == 0                       ? "it has no events"
            : strcmp(snapshot->clock_source, "none") == 0 ? "it was made without a clock"
                                                          : "a virtual device computes nothing");
    }
    *axis = (tide_picture_axis){.snapshot = snapshot,
                                .is_time = is_timed && kind != TIDE_PICTURE_X_EVENT};
    if (axis->is_time) {
        int64_t end = end_ns(snapshot);
        axis->begin = snapshot->events.time_ns[0];
        axis->end = end > axis->begin ? end : axis->begin + 1;
    } else {
        axis->end = snapshot->n_events > 0 ? (int64_t)snapshot->n_events : 1;
    }
    return TIDE_OK;
}

int64_t tide_picture_axis_place(const tide_picture_axis *axis, size_t event) {
    return axis->is_time ? axis->snapshot->events.time_ns[event] : (int64_t)event;
}
