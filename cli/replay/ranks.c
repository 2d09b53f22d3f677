/* The settings of a grid, ranked for each device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/replay/internal.h"
#include "common/bytes.h"

enum { PLACE_BYTES = 48 };

/* An entry as it ran on one device. */
typedef struct ranked {
    const tide_replay_entry *entry;     /* borrowed */
    const tide_replay_figures *figures; /* borrowed; of that device */
} ranked;

static int64_t calls_of(const tide_replay_figures *figures) {
    return figures->n_segment_allocs + figures->n_segment_frees;
}

/* What survives, then what runs out of memory less often, then what reserves less, then what calls
 * the device less often; then in the order of the grid. */
static int compare_ranked(const void *a, const void *b) {
    const ranked *left = a;
    const ranked *right = b;
    const int64_t of_left[] = {left->figures->n_ooms, left->figures->peak_reserved_bytes,
                               calls_of(left->figures)};
    const int64_t of_right[] = {right->figures->n_ooms, right->figures->peak_reserved_bytes,
                                calls_of(right->figures)};
    for (size_t i = 0; i < sizeof(of_left) / sizeof(of_left[0]); i++) {
        if (of_left[i] != of_right[i]) {
            return of_left[i] < of_right[i] ? -1 : 1;
        }
    }
    return left->entry < right->entry ? -1 : 1;
}

/* No settings survive: what would be needed. */
static void say_hopeless(tide_report *report, const tide_replay_runs *runs, size_t device,
                         const char *place) {
    const tide_replay_need *need = &runs->needs[device];
    char limit[TIDE_BYTES_TEXT];
    char least[TIDE_BYTES_TEXT];
    char recorded[TIDE_BYTES_TEXT];
    char base[PLACE_BYTES + TIDE_BYTES_TEXT] = "";
    tide_bytes_format((int64_t)tide_replay_limit_in_use(runs, device), limit);
    tide_report_say(report, "none_survives",
                    "%sno setting helps: under each of the %zu that were tried the run still runs "
                    "out of memory within %s",
                    place, runs->n_entries, limit);
    if (need->limit_bytes == UINT64_MAX) {
        tide_report_say(report, "need", "%sno other limit helps either", place);
        return;
    }
    if (need->entry != 0 && need->base_limit_bytes != UINT64_MAX) {
        (void)snprintf(base, sizeof(base), "; the recorded settings need %s",
                       tide_bytes_format((int64_t)need->base_limit_bytes, recorded));
    }
    tide_report_say(report, "need",
                    "%sthe smallest limit at which one helps is %s, with %s%s (found by "
                    "replays in steps of 2 MiB, of what was recorded: a run that goes on may need "
                    "more)",
                    place, tide_bytes_format((int64_t)need->limit_bytes, least),
                    need->entry == 0 ? "the recorded settings" : runs->entries[need->entry].name,
                    base);
}

static void say_saved(tide_report *report, const char *place, const ranked *best,
                      const tide_replay_figures *base) {
    char peak[TIDE_BYTES_TEXT];
    char saved[TIDE_BYTES_TEXT];
    int64_t saved_bytes = base->peak_reserved_bytes - best->figures->peak_reserved_bytes;
    tide_bytes_format(best->figures->peak_reserved_bytes, peak);
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
                        place, best->entry->name, peak, tide_bytes_format(saved_bytes, saved),
                        100.0 * (double)saved_bytes / (double)base->peak_reserved_bytes);
    }
}

static void add_columns(tide_table *table, bool has_device) {
    if (has_device) {
        tide_table_column(table, "device", "device", true);
    }
    tide_table_column(table, "rank", "rank", true);
    tide_table_column(table, "settings", "settings", false);
    tide_table_column(table, "survives", "survives", false);
    tide_table_column(table, "reserved_peak_bytes", "peak reserved", true);
    tide_table_column(table, "difference_bytes", "difference", true);
    tide_table_column(table, "allocated_peak_bytes", "peak allocated", true);
    tide_table_column(table, "mean_cached_bytes", "mean reserved - allocated", true);
    tide_table_column(table, "pinned_bytes", "pinned", true);
    tide_table_column(table, "device_calls", "device calls", true);
    tide_table_column(table, "retries", "retries", true);
    tide_table_column(table, "ooms", "out of memory", true);
}

/* Peaks of a run that ran out of memory say how far it came, so they have no difference. */
static void add_row(tide_table *table, const ranked *of, const tide_replay_figures *base) {
    const tide_replay_figures *figures = of->figures;
    tide_cell_text(table, of->entry->name);
    tide_cell_text(table, figures->n_ooms == 0 ? "yes" : "no");
    tide_cell_bytes(table, figures->peak_reserved_bytes);
    if (figures->n_ooms == 0 && base->n_ooms == 0) {
        tide_cell_change(table, figures->peak_reserved_bytes - base->peak_reserved_bytes);
    } else {
        tide_cell_none(table);
    }
    tide_cell_bytes(table, figures->peak_allocated_bytes);
    tide_cell_bytes(table, figures->mean_cached_bytes);
    tide_cell_bytes(table, figures->pinned_bytes);
    tide_cell_count(table, calls_of(figures));
    tide_cell_count(table, figures->n_retries);
    tide_cell_count(table, figures->n_ooms);
}

static void report_device(tide_report *report, const tide_replay_runs *runs, size_t device) {
    ranked order[TIDE_REPLAY_MAX_RUNS];
    const tide_replay_figures *base = &runs->entries[0].replay->by_device[device];
    bool has_device = runs->snapshot->n_devices > 1;
    char place[PLACE_BYTES] = "";
    char title[2 * PLACE_BYTES] = "Settings by survival, then by peak of reserved bytes";
    for (size_t i = 0; i < runs->n_entries; i++) {
        const tide_replay_entry *entry = &runs->entries[i];
        order[i] = (ranked){entry, &entry->replay->by_device[device]};
    }
    qsort(order, runs->n_entries, sizeof(order[0]), compare_ranked);
    if (has_device) {
        (void)snprintf(place, sizeof(place), "device %zu: ", device);
        (void)snprintf(title, sizeof(title),
                       "Settings by survival, then by peak of reserved bytes: device %zu", device);
    }
    if (order[0].figures->n_ooms > 0) {
        say_hopeless(report, runs, device, place);
    } else {
        say_saved(report, place, &order[0], base);
    }
    tide_table *table = tide_report_table(report, "ranks", title);
    add_columns(table, has_device);
    for (size_t i = 0; i < runs->n_entries; i++) {
        tide_table_row_begin(table);
        if (has_device) {
            tide_cell_count(table, (int64_t)device);
        }
        tide_cell_count(table, (int64_t)i + 1);
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
