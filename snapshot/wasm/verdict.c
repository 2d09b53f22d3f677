/* verdict.c - what `tidemark explain` prints about a snapshot of PyTorch, by the code of that
 * command: the sentences that follow only from the recording, for each device.
 */
#include "cli/summary/verdict.h"
#include "snapshot/wasm/engine_internal.h"

/* The keys of these sentences in the report, in the order of tide_say_verdict. */
static const char *const KEYS[] = {"no_history", "cut",    "oom",   "cause",   "oom_cause",
                                   "retries",    "filled", "kinds", "reserved"};

/* Whether the page can show the device: the first, and those with events or blocks. */
static bool is_shown(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                     size_t device) {
    bool is_used = device == 0;
    for (int action = 0; action < TIDE_N_ACTIONS; action++) {
        is_used = is_used || lifetimes->devices[device].counts[action] > 0;
    }
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        is_used = is_used || (segment->device == device && segment->n_blocks > 0);
    }
    return is_used;
}

static tide_status say(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                       size_t device, tide_report *report) {
    tide_summary_view view;
    tide_verdict verdict;
    tide_error ignored = {""};
    tide_status status =
        tide_summary_view_init_from(&view, report, snapshot, lifetimes, device, &ignored);
    if (status == TIDE_OK) {
        status = tide_verdict_init(&verdict, &view);
        if (status == TIDE_OK) {
            status = tide_say_verdict(&view, &verdict);
        }
        tide_verdict_fini(&verdict);
    }
    tide_summary_view_fini(&view);
    return status;
}

static void write_sentences(tide_json_writer *json, const tide_report *report) {
    for (size_t key = 0; key < sizeof(KEYS) / sizeof(KEYS[0]); key++) {
        const char *text = tide_report_sentence(report, KEYS[key], 0);
        for (size_t i = 1; text != NULL; i++) {
            tide_json_text(json, text);
            text = tide_report_sentence(report, KEYS[key], i);
        }
    }
}

static void write_device(tide_json_writer *json, const tide_snapshot *snapshot,
                         const tide_lifetimes *lifetimes, size_t device) {
    tide_report report;
    tide_report_init(&report, "explain");
    tide_json_begin_array(json);
    if (is_shown(snapshot, lifetimes, device) &&
        say(snapshot, lifetimes, device, &report) == TIDE_OK && !report.no_memory) {
        tide_shorten_answer(&report);
        write_sentences(json, &report);
    }
    tide_json_end_array(json);
    tide_report_fini(&report);
}

void tide_engine_write_verdicts(tide_json_writer *json, const tide_snapshot *snapshot,
                                const tide_lifetimes *lifetimes) {
    tide_json_key(json, "verdicts");
    tide_json_begin_array(json);
    for (size_t device = 0; lifetimes != NULL && device < snapshot->n_devices; device++) {
        write_device(json, snapshot, lifetimes, device);
    }
    tide_json_end_array(json);
}
