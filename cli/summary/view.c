#include "cli/summary/view.h"

#include <inttypes.h>

#include "snapshot/analysis/instant.h"

/* The instant of a report if none is given. Of a truncated PyTorch history, the end is known and
 * the peak is not. */
static int64_t usual_event(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                           size_t device) {
    return tide_snapshot_lacks_peak(snapshot)
               ? (int64_t)snapshot->n_events - 1
               : lifetimes->devices[device].max[TIDE_MAX_ALLOCATED].event;
}

/* Fills the view, which has its snapshot and its lifetimes. */
static tide_status fill(tide_summary_view *view, const tide_instant *at, bool is_usual,
                        tide_error *error) {
    const tide_snapshot *snapshot = view->snapshot;
    TIDE_TRY(tide_scope_paths_init(&view->own.paths, snapshot, view->lifetimes->mem));
    view->paths = &view->own.paths;
    TIDE_TRY(tide_summary_create_from(snapshot, view->lifetimes, at, &view->own.summary, error));
    view->device = &view->own.summary->devices[at->device];
    view->device_number = at->device;
    int64_t highest = view->lifetimes->devices[at->device].max[TIDE_MAX_ALLOCATED].event;
    view->is_cut = snapshot->n_dropped > 0;
    bool has_history = snapshot->n_events > 0; /* else there is one instant, when it was written */
    view->is_peak = at->event == highest && !view->is_cut && has_history;
    view->when = view->is_peak ? "at the peak"
                 : !has_history || (is_usual && tide_snapshot_lacks_peak(snapshot))
                     ? "when the file was written"
                 : at->event == highest ? "at the highest point of the events that were kept"
                 : at->event < 0        ? "before the first event"
                                 : tide_report_text(view->report, "at event %" PRId64, at->event);
    return TIDE_OK;
}

tide_status tide_summary_view_init(tide_summary_view *view, tide_report *report,
                                   const tide_snapshot *snapshot, const tide_summary_choice *choice,
                                   tide_error *error) {
    *view = (tide_summary_view){.report = report, .snapshot = snapshot};
    if (choice->device != TIDE_ANY_DEVICE && choice->device >= snapshot->n_devices) {
        return tide_fail(error, TIDE_INVALID, "there is no device %" PRIu64 ": the file has %zu",
                         choice->device, snapshot->n_devices);
    }
    TIDE_TRY(tide_lifetimes_init(&view->own.lifetimes, snapshot, snapshot->arena.mem, error));
    view->lifetimes = &view->own.lifetimes;
    tide_instant at = {tide_lifetimes_main_device(view->lifetimes), -1};
    at.device = choice->device != TIDE_ANY_DEVICE ? (size_t)choice->device : at.device;
    if (choice->at == NULL) {
        at.event = usual_event(snapshot, view->lifetimes, at.device);
    } else {
        TIDE_TRY(
            tide_instant_find(snapshot, view->lifetimes, at.device, choice->at, &at.event, error));
    }
    return fill(view, &at, choice->at == NULL, error);
}

tide_status tide_summary_view_init_from(tide_summary_view *view, tide_report *report,
                                        const tide_snapshot *snapshot,
                                        const tide_lifetimes *lifetimes, size_t device,
                                        tide_error *error) {
    const tide_instant at = {device, usual_event(snapshot, lifetimes, device)};
    *view = (tide_summary_view){.report = report, .snapshot = snapshot, .lifetimes = lifetimes};
    return fill(view, &at, true, error);
}

int64_t tide_summary_peak_bytes(const tide_summary_view *of, int total) {
    return of->is_cut ? -1 : of->device->max[total].bytes;
}

void tide_summary_view_fini(tide_summary_view *view) {
    tide_summary_destroy(view->own.summary);
    if (view->paths != NULL) {
        tide_scope_paths_fini(&view->own.paths);
    }
    if (view->lifetimes == &view->own.lifetimes) {
        tide_lifetimes_fini(&view->own.lifetimes);
    }
}
