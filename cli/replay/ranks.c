/* The settings of a grid, ranked for each device. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/replay/internal.h"
#include "common/text/bytes.h"

/* The result of an entry on one device. */
typedef struct ranked {
    const tide_replay_entry *entry;     /* borrowed */
    const tide_replay_figures *figures; /* borrowed; of that device */
} ranked;

static int64_t calls_of(const tide_replay_figures *figures) {
    return figures->n_segment_allocs + figures->n_segment_frees;
}

/* If no settings survive: the memory that would be needed. */
static void say_hopeless(tide_report *report, const tide_replay_runs *runs, size_t device,
                         const char *place) {
    const tide_replay_need *need = &runs->needs[device];
    const char *base = "";
    const char *limit = tide_report_bytes(report, (int64_t)tide_replay_limit_in_use(runs, device));
    tide_report_say(report, "none_survives",
                    "%sno setting helps: under each of the %zu that were tried the run still runs "
                    "out of memory within %s",
                    place, runs->n_entries, limit);
    if (need->limit_bytes == UINT64_MAX) {
        tide_report_say(report, "need", "%sno other limit helps either", place);
        return;
    }
    if (need->entry != 0 && need->base_limit_bytes != UINT64_MAX) {
        base = tide_report_text(report, "; the recorded settings need %s",
                                tide_report_bytes(report, (int64_t)need->base_limit_bytes));
    }
    tide_report_say(report, "need",
                    "%sthe smallest limit at which one helps is %s, with %s%s (found by "
                    "replays in steps of 2 MiB, of what was recorded: a run that goes on may need "
                    "more)",
                    place, tide_report_bytes(report, (int64_t)need->limit_bytes),
                    need->entry == 0 ? "the recorded settings" : runs->entries[need->entry].name,
                    base);
}

static void say_saved(tide_report *report, const char *place, const ranked *best,
                      const tide_replay_figures *base) {
    int64_t saved_bytes = base->peak_reserved_bytes - best->figures->peak_reserved_bytes;
    const char *peak = tide_report_bytes(report, best->figures->peak_reserved_bytes);
    if (base->n_ooms > 0) {
        tide_report_say(report, "best",
                        "%sbest: %s, with a peak of %s reserved; it serves all requests, of which "
                        "%" PRId64 " run%s out of memory with the recorded settings",
                        place, best->entry->name, peak, base->n_ooms, base->n_ooms == 1 ? "s" : "");
    } else if (saved_bytes == 0) {
        tide_report_say(report, "best",
                        "%sbest: the recorded settings, with a peak of %s reserved; nothing tried "
                        "here reserves less",
                        place, peak);
    } else {
        tide_report_say(report, "best",
                        "%sbest: %s, with a peak of %s reserved; it saves %s (%.1f %%) of the "
                        "recorded settings' peak",
                        place, best->entry->name, peak, tide_report_bytes(report, saved_bytes),
                        100.0 * (double)saved_bytes / (double)base->peak_reserved_bytes);
    }
}

static void add_columns(tide_table *table, bool has_device) {
    if (has_device) {
        tide_table_column(table, "device", "device", true);
    }
    TIDE_COLUMNS(table, TIDE_NUMBER("rank", "rank"), TIDE_TEXT("settings", "settings"),
                 TIDE_TEXT("survives", "survives"),
                 TIDE_NUMBER("reserved_peak_bytes", "peak reserved"),
                 TIDE_NUMBER("difference_bytes", "difference"),
                 TIDE_NUMBER("allocated_peak_bytes", "peak allocated"),
                 TIDE_NUMBER("mean_cached_bytes", "mean reserved - allocated"),
                 TIDE_NUMBER("pinned_bytes", "pinned"), TIDE_NUMBER("device_calls", "device calls"),
                 TIDE_NUMBER("retries", "retries"), TIDE_NUMBER("ooms", "out of memory"));
}

/* Peaks of a run that ran out of memory only show how far it got, so they have no difference. */
static void add_row(tide_table *table, const ranked *of, const tide_replay_figures *base) {
    const tide_replay_figures *figures = of->figures;
    TIDE_CELLS(
        table, tide_as_text(of->entry->name), tide_as_text(figures->n_ooms == 0 ? "yes" : "no"),
        tide_as_bytes(figures->peak_reserved_bytes),
        figures->n_ooms == 0 && base->n_ooms == 0
            ? tide_as_change(figures->peak_reserved_bytes - base->peak_reserved_bytes)
            : tide_as_none(),
        tide_as_bytes(figures->peak_allocated_bytes), tide_as_bytes(figures->mean_cached_bytes),
        tide_as_bytes(figures->pinned_bytes), tide_as_count(calls_of(figures)),
        tide_as_count(figures->n_retries), tide_as_count(figures->n_ooms));
}

static void report_device(tide_report *report, const tide_replay_runs *runs, size_t device) {
    ranked order[TIDE_REPLAY_MAX_RUNS];
    size_t numbers[TIDE_REPLAY_MAX_RUNS]; /* of the entries, the best first */
    const tide_replay_figures *base = &runs->entries[0].replay->by_device[device];
    const size_t n = runs->n_entries;
    bool has_device = runs->snapshot->n_devices > 1;
    const char *place = "";
    const char *title = "Settings by survival, then by peak of reserved bytes";
    if (n == 0) {
        return; /* a grid begins with the recorded settings */
    }
    tide_replay_runs_rank(runs, device, numbers);
    for (size_t i = 0; i < n; i++) {
        const tide_replay_entry *entry = &runs->entries[numbers[i]];
        order[i] = (ranked){entry, &entry->replay->by_device[device]};
    }
    if (has_device) {
        place = tide_report_text(report, "device %zu: ", device);
        title = tide_report_text(report, "%s: device %zu", title, device);
    }
    if (order[0].figures->n_ooms > 0) {
        say_hopeless(report, runs, device, place);
    } else {
        say_saved(report, place, &order[0], base);
    }
    tide_table *table = tide_report_table(report, "ranks", title);
    add_columns(table, has_device);
    for (size_t i = 0; i < n; i++) {
        tide_table_row_begin(table);
        if (has_device) {
            TIDE_CELLS(table, tide_as_count((int64_t)device));
        }
        TIDE_CELLS(table, tide_as_count((int64_t)i + 1));
        add_row(table, &order[i], base);
    }
}

void tide_replay_report_ranks(tide_report *report, const tide_replay_runs *runs) {
    for (size_t i = 0; i < runs->snapshot->n_devices; i++) {
        if (tide_replay_uses_device(runs, i)) {
            report_device(report, runs, i);
        } else {
            tide_report_say(report, "unused", "device %zu: nothing was asked of it", i);
        }
    }
}
