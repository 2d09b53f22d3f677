/* document_log.c - a document from the log of a live recording (programs/live/): turns the log's
 * notes into marks, names and scopes, as in PyTorch's own history. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hostmem.h"
#include "programs/launch/document/document.h"
#include "programs/launch/document/document_internal.h"
#include "programs/wire/run_areas.h"
#include "snapshot/document/implementation.h"

enum { MAX_DEVICES = 256, KEY_BYTES = 64 };

/* ---- places among the rows of each device ---- */

/* The number of rows of each device, up to a place in the table of events. */
typedef struct row_counter {
    const tide_snapshot *snapshot; /* borrowed */
    size_t n_passed;               /* events */
    int64_t rows[MAX_DEVICES];
} row_counter;

static void count_to(row_counter *of, size_t n_events) {
    for (; of->n_passed < n_events && of->n_passed < of->snapshot->n_events; of->n_passed++) {
        const tide_event event = tide_event_at(of->snapshot, of->n_passed);
        of->rows[event.device] += tide_document_is_row(event.action);
    }
}

static tide_status make_marks(const tide_recover_notes *notes, tide_snapshot *snapshot,
                              tide_left *left) {
    row_counter counter = {.snapshot = snapshot};
    tide_left_mark *marks = tide_arena_alloc(&snapshot->arena, notes->n_marks, sizeof(*marks));
    if (marks == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < notes->n_marks; i++) {
        count_to(&counter, notes->marks[i].n_before);
        int64_t *rows =
            tide_arena_copy(&snapshot->arena, counter.rows, snapshot->n_devices, sizeof(*rows));
        if (rows == NULL) {
            return TIDE_NO_MEMORY;
        }
        marks[i] = (tide_left_mark){
            .name = notes->marks[i].name, .rows = rows, .number = notes->marks[i].number};
    }
    tide_left_mark *chosen =
        tide_arena_alloc(&snapshot->arena, 2 * notes->n_marks, sizeof(*chosen));
    if (chosen == NULL) {
        return TIDE_NO_MEMORY;
    }
    left->n_marks = tide_document_choose_marks(marks, notes->n_marks, chosen);
    left->marks = chosen;
    return TIDE_OK;
}

/* The device of the live block at an address is that of its allocation: addresses of different
 * devices differ. */
static tide_status make_names(const tide_recover_notes *notes, tide_snapshot *snapshot,
                              tide_left *left) {
    row_counter counter = {.snapshot = snapshot};
    size_t n_devices = snapshot->n_devices;
    tide_left_name *names =
        tide_arena_alloc(&snapshot->arena, notes->n_labels * n_devices, sizeof(*names));
    size_t n = 0;
    if (names == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < notes->n_labels; i++) {
        const tide_recover_label *label = &notes->labels[i];
        if (strcmp(label->category, TIDE_RUN_AREA_CATEGORY) == 0) {
            continue; /* not a name: make_areas */
        }
        count_to(&counter, label->n_before);
        /* A result that is not kept has no address, which would show its device. */
        size_t n_of = label->address != 0 || n_devices == 1 ? n_devices : 0;
        for (size_t d = 0; d < n_of; d++) {
            names[n++] = (tide_left_name){
                .device = d,
                .row = counter.rows[d],
                .address = label->address,
                .category = label->certainty != TIDE_CERTAINTY_UNKNOWN ? label->category : "",
                .name = label->name,
                .is_by_rule = label->certainty != TIDE_CERTAINTY_NAMED};
        }
    }
    left->names = names;
    left->n_names = n;
    return TIDE_OK;
}

/* The calls that may compute with a work area of cuDNN. */
static tide_status make_areas(const tide_recover_notes *notes, tide_snapshot *snapshot) {
    tide_snapshot_area_call *calls =
        tide_arena_alloc(&snapshot->arena, notes->n_labels, sizeof(*calls));
    size_t n = 0;
    if (calls == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < notes->n_labels; i++) {
        const tide_recover_label *label = &notes->labels[i];
        tide_run_area area;
        if (strcmp(label->category, TIDE_RUN_AREA_CATEGORY) == 0 &&
            tide_run_area_parse(label->name, &area) && area.device < snapshot->n_devices &&
            area.likely_bytes <= area.most_bytes) {
            calls[n++] = (tide_snapshot_area_call){.event = label->n_before,
                                                   .address = label->address,
                                                   .stream = area.stream,
                                                   .likely_bytes = area.likely_bytes,
                                                   .most_bytes = area.most_bytes,
                                                   .device = area.device,
                                                   .is_benchmark = area.is_benchmark};
        }
    }
    snapshot->area_calls = calls;
    snapshot->n_area_calls = n;
    return TIDE_OK;
}

/* Counts the rows of each device. The log itself describes everything before its first event. */
static tide_status make_peaks(tide_snapshot *snapshot, tide_left *left) {
    row_counter counter = {.snapshot = snapshot};
    tide_left_peak *peaks = tide_arena_alloc(&snapshot->arena, snapshot->n_devices, sizeof(*peaks));
    if (peaks == NULL) {
        return TIDE_NO_MEMORY;
    }
    count_to(&counter, snapshot->n_events);
    for (size_t d = 0; d < snapshot->n_devices; d++) {
        peaks[d] = (tide_left_peak){.n_rows = counter.rows[d]};
    }
    left->peaks = peaks;
    left->n_devices = snapshot->n_devices;
    return TIDE_OK;
}

/* ---- the document ---- */

const char *tide_document_text(const tide_recover_notes *notes, const char *key) {
    const char *found = "";
    for (size_t i = 0; i < notes->n_texts; i++) {
        found = strcmp(notes->texts[i].key, key) == 0 ? notes->texts[i].value : found;
    }
    return found;
}

/* The package's text about a device; "" if there is none. */
static const char *device_text(const tide_recover_notes *notes, size_t device, const char *what) {
    char key[KEY_BYTES];
    snprintf(key, sizeof(key), "device.%zu.%s", device, what);
    return tide_document_text(notes, key);
}

static int64_t number_of(const char *text) {
    return text[0] >= '0' && text[0] <= '9' ? strtoll(text, NULL, 10) : -1;
}

static int64_t device_number(const tide_recover_notes *notes, size_t device, const char *what) {
    return number_of(device_text(notes, device, what));
}

static tide_status set_devices(const tide_recover_notes *notes, tide_snapshot *snapshot) {
    size_t n = 1;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        n = snapshot->events.device[i] >= n ? (size_t)snapshot->events.device[i] + 1 : n;
    }
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        size_t device = snapshot->start_segments[i].device;
        n = device >= n ? device + 1 : n;
    }
    for (size_t i = 0; i < snapshot->n_streams; i++) { /* its rows may have been dropped */
        n = snapshot->streams[i].device >= n ? (size_t)snapshot->streams[i].device + 1 : n;
    }
    tide_snapshot_device *devices = tide_arena_alloc(&snapshot->arena, n, sizeof(*devices));
    if (devices == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        const char *kind = device_text(notes, i, "kind");
        devices[i] = (tide_snapshot_device){.kind = kind[0] != '\0' ? kind : "cuda",
                                            .name = device_text(notes, i, "name"),
                                            .total_bytes = device_number(notes, i, "total_bytes"),
                                            .compute_capability =
                                                device_number(notes, i, "compute_capability"),
                                            .driver_version = -1,
                                            .runtime_version = -1,
                                            .sm_clock_khz = -1,
                                            .memory_clock_khz = -1};
        if ((int)i == notes->pinned_device) {
            devices[i].kind = TIDE_KIND_PINNED;
            devices[i].name = "pinned memory of the host";
            devices[i].total_bytes = -1;
            devices[i].compute_capability = -1;
        }
    }
    snapshot->devices = devices;
    snapshot->n_devices = n;
    return TIDE_OK;
}

static tide_status set_software(const tide_recover_notes *notes, tide_snapshot *snapshot) {
    static const char *const NAMES[] = {"python", "torch", "cuda"};
    enum { N_NAMES = 3 };
    tide_snapshot_setting *rows = tide_arena_alloc(&snapshot->arena, N_NAMES, sizeof(*rows));
    size_t n = 0;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < N_NAMES; i++) {
        char key[KEY_BYTES];
        snprintf(key, sizeof(key), "software.%s", NAMES[i]);
        const char *version = tide_document_text(notes, key);
        if (version[0] != '\0') {
            rows[n++] = (tide_snapshot_setting){.name = NAMES[i], .text = version};
        }
    }
    snapshot->software = rows;
    snapshot->n_software = n;
    return TIDE_OK;
}

/* The limits that the recording reported. */
static tide_status set_limits(const tide_recover_notes *notes, tide_snapshot *snapshot) {
    static const char *const KEYS[] = {"live.limited", "live.python_stacks", "live.native_stacks",
                                       "live.names"};
    enum { N_KEYS = 4 };
    tide_snapshot_inexact *rows = tide_arena_alloc(&snapshot->arena, N_KEYS, sizeof(*rows));
    size_t n = 0;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < N_KEYS; i++) {
        const char *what = tide_document_text(notes, KEYS[i]);
        if (what[0] != '\0') {
            rows[n++] = (tide_snapshot_inexact){
                .call = TIDE_LIVE_RECORDING, .what = what, .bound_bytes = -1};
        }
    }
    snapshot->inexact = rows;
    snapshot->n_inexact = n;
    return TIDE_OK;
}

static tide_status describe(const tide_recover_notes *notes, tide_snapshot *snapshot) {
    TIDE_TRY(set_devices(notes, snapshot));
    TIDE_TRY(set_limits(notes, snapshot));
    TIDE_TRY(set_software(notes, snapshot));
    if (notes->is_of_pytorch || tide_document_text(notes, "software.torch")[0] != '\0') {
        snapshot->run.implementation = TIDE_IMPLEMENTATION_RECORDED;
    }
    snapshot->run.command = tide_document_text(notes, "run.command");
    return TIDE_OK;
}

tide_status tide_document_from_log(const tide_left *process, tide_snapshot **ret_snapshot,
                                   tide_recover_report *ret_report, int64_t *ret_rank,
                                   tide_error *error) {
    tide_recover_notes notes;
    tide_snapshot *snapshot = NULL;
    tide_left left = *process;
    *ret_rank = -1;
    TIDE_TRY(
        tide_recover_with_notes(process->log_path, NULL, &snapshot, ret_report, &notes, error));
    if (notes.extras == NULL) { /* tidemark's own log */
        *ret_snapshot = snapshot;
        return TIDE_OK;
    }
    *ret_rank = number_of(tide_document_text(&notes, "environment.RANK"));
    left.was_cut = left.was_cut || (!ret_report->is_closed && !ret_report->is_live);
    tide_status status = describe(&notes, snapshot);
    status = status == TIDE_OK ? make_marks(&notes, snapshot, &left) : status;
    status = status == TIDE_OK ? make_names(&notes, snapshot, &left) : status;
    status = status == TIDE_OK ? make_areas(&notes, snapshot) : status;
    status = status == TIDE_OK ? make_peaks(snapshot, &left) : status;
    status = status == TIDE_OK ? tide_document_add_owners(snapshot, &notes) : status;
    status = status == TIDE_OK ? tide_document_add_source(snapshot, &notes) : status;
    status = status == TIDE_OK ? tide_document_add_types(snapshot, &notes) : status;
    status = status == TIDE_OK ? tide_document_add_plan(snapshot, &notes) : status;
    status = status == TIDE_OK ? tide_document_add_history(snapshot, &left, &notes) : status;
    if (status != TIDE_OK) {
        tide_snapshot_destroy(snapshot);
        return tide_fail(error, status, "%s: no host memory for the log", process->log_path);
    }
    *ret_snapshot = snapshot;
    return TIDE_OK;
}

tide_status tide_launch_read_log(const char *path, tide_launch_log *ret, tide_error *error) {
    const tide_left process = {.log_path = path, .pid = -1, .rank = -1, .exception = ""};
    tide_launch_log log = {.rank = -1};
    TIDE_TRY(tide_document_from_log(&process, &log.snapshot, &log.report, &log.rank, error));
    if (log.snapshot == NULL ||
        (log.snapshot->n_events == 0 && log.snapshot->n_start_segments == 0)) {
        tide_snapshot_destroy(log.snapshot);
        return tide_fail(error, TIDE_FORMAT, "%s: no event of the process can be recovered", path);
    }
    *ret = log;
    return TIDE_OK;
}

tide_status tide_launch_recover(const char *path, tide_snapshot **ret_snapshot,
                                tide_recover_report *ret_report, tide_error *error) {
    tide_launch_log log = {.rank = -1};
    TIDE_TRY(tide_launch_read_log(path, &log, error));
    *ret_snapshot = log.snapshot;
    *ret_report = log.report;
    return TIDE_OK;
}
