/* left_log.c - a process that left only its log: it was killed, or it is not a Python process. */
#include <stdlib.h>
#include <string.h>

#include "capture/recover.h"
#include "programs/launch/left/left_friend.h"

/* The memory of a device allocated so far, and its peak. */
typedef struct account {
    int64_t allocated_bytes, reserved_bytes;
    tide_left_peak peak;
} account;

static void raise(account *of) {
    tide_left_peak *peak = &of->peak;
    if (of->allocated_bytes > peak->allocated_bytes) {
        peak->allocated_bytes = of->allocated_bytes;
    }
    if (of->reserved_bytes > peak->reserved_bytes) {
        peak->reserved_bytes = of->reserved_bytes;
    }
}

static void take(account *of, const tide_event *event) {
    int64_t bytes = (int64_t)event->block_bytes;
    switch (event->action) {
    case TIDE_ACTION_ALLOC:
        of->allocated_bytes += bytes;
        of->peak.ends_refused = false;
        break;
    case TIDE_ACTION_FREE:
    case TIDE_ACTION_FREE_REQUESTED:
        of->allocated_bytes -= bytes;
        break;
    case TIDE_ACTION_SEGMENT_ALLOC:
    case TIDE_ACTION_SEGMENT_MAP:
        of->reserved_bytes += bytes;
        break;
    case TIDE_ACTION_SEGMENT_FREE:
    case TIDE_ACTION_SEGMENT_UNMAP:
        of->reserved_bytes -= bytes;
        break;
    case TIDE_ACTION_OOM:
        of->peak.n_oom++;
        of->peak.ends_refused = true;
        break;
    default:
        break;
    }
    of->peak.n_rows++;
    raise(of);
}

static void start(account *accounts, const tide_snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        account *of = &accounts[segment->device];
        of->reserved_bytes += (int64_t)segment->total_bytes;
        for (size_t b = 0; b < segment->n_blocks; b++) {
            const tide_block_row *block = &snapshot->start_blocks[segment->first_block + b];
            of->allocated_bytes +=
                block->state == TIDE_BLOCK_ALLOCATED ? (int64_t)block->block_bytes : 0;
        }
        raise(of);
    }
}

/* The cards of a process, without the host's memory. */
static tide_status add_up(const tide_snapshot *snapshot, int pinned_device, tide_left_list *list,
                          tide_left *process) {
    enum { MAX_DEVICES = 256 };
    account accounts[MAX_DEVICES] = {{0}};
    size_t n_devices = 1;
    start(accounts, snapshot);
    for (size_t i = 0; i < snapshot->n_start_segments; i++) { /* it may have been idle since */
        size_t device = snapshot->start_segments[i].device;
        bool is_card = (int)device != pinned_device;
        n_devices = is_card && device >= n_devices ? device + 1 : n_devices;
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        size_t device = snapshot->events.device[i];
        bool is_card = (int)device != pinned_device;
        n_devices = is_card && device >= n_devices ? device + 1 : n_devices;
        const tide_event event = tide_event_at(snapshot, i);
        take(&accounts[device], &event);
    }
    tide_left_peak *peaks = tide_arena_alloc(&list->arena, n_devices, sizeof(*peaks));
    if (peaks == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_devices; i++) {
        peaks[i] = accounts[i].peak;
        peaks[i].name = "";
        peaks[i].total_bytes = -1;
        peaks[i].compute_capability = -1;
    }
    process->peaks = peaks;
    process->n_devices = n_devices;
    return TIDE_OK;
}

static tide_status copy_text(const tide_recover_notes *notes, const char *key, tide_left_list *list,
                             const char **ret_text) {
    const char *found = "";
    for (size_t i = 0; i < notes->n_texts; i++) {
        found = strcmp(notes->texts[i].key, key) == 0 ? notes->texts[i].value : found;
    }
    *ret_text = tide_arena_text(&list->arena, found);
    return *ret_text != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status describe(const tide_recover_notes *notes, tide_left_list *list,
                            tide_left *process) {
    const char *rank = "";
    TIDE_TRY(copy_text(notes, "software.torch", list, &process->torch));
    TIDE_TRY(copy_text(notes, "software.cuda", list, &process->cuda));
    TIDE_TRY(copy_text(notes, "software.python", list, &process->python));
    TIDE_TRY(copy_text(notes, "run.command", list, &process->command));
    TIDE_TRY(copy_text(notes, "environment.RANK", list, &rank));
    process->rank = rank[0] >= '0' && rank[0] <= '9' ? strtoll(rank, NULL, 10) : -1;
    return TIDE_OK;
}

tide_status tide_left_read_log(const char *path, int64_t pid, tide_left_list *list,
                               tide_left *ret_process, tide_error *error) {
    tide_snapshot *snapshot = NULL;
    tide_recover_report report;
    tide_recover_notes notes;
    tide_left process = {.pid = pid,
                         .rank = -1,
                         .log_path = path,
                         .backend = "native",
                         .exception = "",
                         .failing_line = "",
                         .n_steps = -1,
                         .n_calls = -1,
                         .host_peak_bytes = -1};
    TIDE_TRY(tide_recover_with_notes(path, NULL, &snapshot, &report, &notes, error));
    process.is_running = report.is_live;
    process.was_cut = !report.is_closed && !report.is_live;
    tide_status status = add_up(snapshot, notes.pinned_device, list, &process);
    if (status == TIDE_OK) {
        status = describe(&notes, list, &process);
    }
    bool is_empty = snapshot->n_events == 0 && snapshot->n_start_segments == 0;
    tide_snapshot_destroy(snapshot);
    if (is_empty) {
        return tide_fail(error, TIDE_FORMAT, "%s: the log has no event", path);
    }
    if (status == TIDE_OK) {
        *ret_process = process;
    }
    return status;
}
