#include "cli/summary/view.h"

#include <inttypes.h>

#include "snapshot/analysis/instant.h"

/* Whether the instant is the end although the peak is requested: of a truncated PyTorch history,
 * the end is known and the peak is not. */
static bool is_at_end(const tide_snapshot *snapshot, const tide_summary_choice *choice) {
    return choice->at == NULL && tide_snapshot_lacks_peak(snapshot);
}

/* Chooses the device and the instant. */
static tide_status find_instant(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                                const tide_summary_choice *choice, tide_instant *ret_at,
                                tide_error *error) {
    tide_instant at = {tide_lifetimes_main_device(lifetimes), -1};
    at.device = choice->device != TIDE_ANY_DEVICE ? (size_t)choice->device : at.device;
    TIDE_TRY(tide_instant_find(snapshot, lifetimes, at.device,
                               choice->at != NULL            ? choice->at
                               : is_at_end(snapshot, choice) ? "end"
                                                             : "peak",
                               &at.event, error));
    *ret_at = at;
    return TIDE_OK;
}

tide_status tide_summary_view_init(tide_summary_view *view, tide_report *report,
                                   const tide_snapshot *snapshot, const tide_summary_choice *choice,
                                   tide_error *error) {
    tide_instant at;
    *view = (tide_summary_view){.report = report, .snapshot = snapshot};
    if (choice->device != TIDE_ANY_DEVICE && choice->device >= snapshot->n_devices) {
        return tide_fail(error, TIDE_INVALID, "there is no device %" PRIu64 ": the file has %zu",
                         choice->device, snapshot->n_devices);
    }
    TIDE_TRY(tide_lifetimes_init(&view->own.lifetimes, snapshot, snapshot->arena.mem, error));
    view->lifetimes = &view->own.lifetimes;
    TIDE_TRY(find_instant(snapshot, view->lifetimes, choice, &at, error));
    TIDE_TRY(tide_scope_paths_init(&view->own.paths, snapshot, view->lifetimes->mem));
    view->paths = &view->own.paths;
    TIDE_TRY(tide_summary_create_from(snapshot, view->lifetimes, &at, &view->own.summary, error));
    view->device = &view->own.summary->devices[at.device];
    view->device_number = at.device;
    bool is_highest = at.event == view->lifetimes->devices[at.device].max[TIDE_MAX_ALLOCATED].event;
    view->is_cut = snapshot->n_dropped > 0;
    view->is_peak = is_highest && !view->is_cut;
    view->when = view->is_peak                 ? "at the peak"
                 : is_at_end(snapshot, choice) ? "when the file was written"
                 : is_highest                  ? "at the highest point of the events that were kept"
                 : at.event < 0                ? "before the first event"
                                : tide_report_text(report, "at event %" PRId64, at.event);
    return TIDE_OK;
}

int64_t tide_summary_peak_bytes(const tide_summary_view *of, int total) {
    return of->is_cut ? -1 : of->device->max[total].bytes;
}

void tide_summary_view_fini(tide_summary_view *view) {
    tide_summary_destroy(view->own.summary);
    if (view->paths != NULL) {
        tide_scope_paths_fini(&view->own.paths);
    }
    if (view->lifetimes != NULL) {
        tide_lifetimes_fini(&view->own.lifetimes);
    }
}
