/* What `tidemark replay` tells. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay_internal.h"
#include "cli/snapshot_words.h"
#include "common/bytes.h"

enum { SHOWN_FRAMES = 3, WORDS_BYTES = 512, KEY_BYTES = 48 };

/* ---- sentences ---- */

/* ", 3 of 4 WHAT" where there are any. */
static void add_share(char *text, size_t n_room, size_t n_same, size_t n, const char *what) {
    size_t n_used = strlen(text);
    if (n > 0) {
        snprintf(text + n_used, n_room - n_used, "%s%zu of %zu %s", n_used > 0 ? ", " : "", n_same,
                 n, what);
    }
}

static void say_verified(tide_report *report, const tide_replay_runs *runs) {
    const tide_replay_verified *found = &runs->verified->verified;
    char shares[WORDS_BYTES] = "";
    add_share(shares, sizeof(shares), found->n_allocs_same, found->n_allocs, "addresses");
    add_share(shares, sizeof(shares), found->n_segments_same, found->n_segments, "segments bought");
    add_share(shares, sizeof(shares), found->n_returns_same, found->n_returns, "given back");
    add_share(shares, sizeof(shares), found->n_ooms_same, found->n_ooms, "out of memory");
    tide_report_say(report, "verified", "replayed under %s: %s as recorded%s",
                    runs->command->confs.n > 0 ? runs->command->confs.texts[0]
                                               : "the recorded settings",
                    shares[0] != '\0' ? shares : "nothing to compare",
                    tide_replay_is_same(found) ? "" : "; not all is as it was");
    if (!tide_replay_is_same(found)) {
        tide_report_say(report, "difference", "first difference: %s", found->first_difference);
        if (!runs->is_told) {
            tide_report_say(report, "settings",
                            "note: the file does not tell all settings (large_segment_size_mb, a "
                            "memory limit): --verify --alloc-conf tries others");
        }
    }
}

static void say_start(tide_report *report, const tide_replay_runs *runs) {
    const tide_snapshot *snapshot = runs->snapshot;
    size_t n_blocks = 0;
    for (size_t i = 0; i < snapshot->n_start_blocks; i++) {
        n_blocks += snapshot->start_blocks[i].state != TIDE_BLOCK_FREE;
    }
    if (runs->n_entries > 0 && runs->entries[0].replay->is_rebuilt) {
        tide_report_say(report, "start",
                        "note: the %zu blocks that were alive before the first event are requested "
                        "anew, in the order of their addresses (--start recorded keeps their "
                        "segments); what is compared with is the recorded settings replayed so",
                        n_blocks);
    }
}

static void say_warnings(tide_report *report, const tide_replay_runs *runs) {
    const tide_snapshot *snapshot = runs->snapshot;
    size_t n_private = 0;
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const uint32_t *id = snapshot->start_segments[i].pool_id;
        n_private += id[0] != 0 || id[1] != 0;
    }
    for (size_t i = 0; i < snapshot->n_end_segments; i++) {
        const uint32_t *id = snapshot->end_segments[i].pool_id;
        n_private += id[0] != 0 || id[1] != 0;
    }
    if (n_private > 0) {
        tide_report_say(report, "pools",
                        "note: the file has segments of private pools (CUDA graphs, MemPool); "
                        "their requests are replayed as if they had none");
    }
    if (snapshot->n_dropped > 0) {
        char words[TIDE_LOST_TEXT];
        tide_words_lost(snapshot, words);
        tide_report_say(report, "dropped", "warning: %s: the replay covers what is left", words);
    }
    if (runs->recorded_figures.n_ooms > 0 && runs->n_entries > 0 &&
        runs->entries[0].config.memory_limit_bytes == TIDE_UNLIMITED) {
        tide_report_say(report, "limit",
                        "note: the recorded run ran out of memory; nothing does here without "
                        "--memory-limit");
    }
}

/* "step 1 > forward > layer 3": at most eight scopes, the outermost first. */
static void scope_words(const tide_snapshot *snapshot, uint32_t scope, char *text, size_t n_room) {
    uint32_t path[8];
    size_t n = 0;
    size_t n_used = 0;
    text[0] = '\0';
    for (; scope != TIDE_NONE && n < sizeof(path) / sizeof(path[0]); n++) {
        path[n] = scope;
        scope = snapshot->scopes[scope].parent;
    }
    for (; n > 0 && n_used < n_room; n--) {
        const tide_scope_row *row = &snapshot->scopes[path[n - 1]];
        int n_more = snprintf(text + n_used, n_room - n_used, "%s%.64s", n_used > 0 ? " > " : "",
                              tide_snapshot_text(snapshot, row->name));
        n_used += n_more > 0 ? (size_t)n_more : 0;
        if (row->index >= 0 && n_used < n_room) {
            n_more = snprintf(text + n_used, n_room - n_used, " %d", (int)row->index);
            n_used += n_more > 0 ? (size_t)n_more : 0;
        }
    }
}

static void say_oom(tide_report *report, const tide_replay_runs *runs,
                    const tide_replay_entry *entry) {
    const tide_replay_oom *oom = &entry->replay->first_oom;
    char scope[WORDS_BYTES];
    char stack[WORDS_BYTES];
    char asked[TIDE_BYTES_TEXT];
    char left[TIDE_BYTES_TEXT];
    char allocated[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    char event[KEY_BYTES];
    if (entry->replay->figures.n_ooms == 0) {
        return;
    }
    snprintf(event, sizeof(event), "at event %" PRId64, oom->event);
    bool is_larger = oom->free_bytes <= INT64_MAX && oom->free_bytes >= oom->requested_bytes;
    scope_words(runs->snapshot, oom->scope, scope, sizeof(scope));
    tide_words_stack(runs->snapshot, oom->stack, SHOWN_FRAMES, stack, sizeof(stack));
    tide_report_say(report, "oom",
                    "%s: out of memory %s%s%s: asked for %s (%" PRIu64
                    " bytes), free %s%s, allocated %s, reserved %s; %" PRId64
                    " request%s in all, %zu block%s missing from then on; call stack: %s",
                    entry->name, oom->event < 0 ? "before the first event" : event,
                    scope[0] != '\0' ? " in " : "", scope,
                    tide_bytes_format((int64_t)oom->requested_bytes, asked), oom->requested_bytes,
                    oom->free_bytes > INT64_MAX ? "unlimited"
                                                : tide_bytes_format((int64_t)oom->free_bytes, left),
                    is_larger ? ", too little for a new segment" : "",
                    tide_bytes_format((int64_t)oom->allocated_bytes, allocated),
                    tide_bytes_format((int64_t)oom->reserved_bytes, reserved),
                    entry->replay->figures.n_ooms,
                    entry->replay->figures.n_ooms == 1 ? " fails" : "s fail", entry->replay->n_lost,
                    entry->replay->n_lost == 1 ? " is" : "s are", stack);
}

static void say_succeeded(tide_report *report, const tide_replay_entry *entry) {
    if (entry->replay->n_succeeded > 0) {
        bool one = entry->replay->n_succeeded == 1;
        tide_report_say(report, "succeeded",
                        "%s: %zu request%s that ran out of memory when recorded %s given back at "
                        "once",
                        entry->name, entry->replay->n_succeeded, one ? "" : "s",
                        one ? "succeeds; its block is" : "succeed; their blocks are");
    }
}

/* ---- figures ---- */

typedef enum row_kind { ROW_BYTES, ROW_COUNT } row_kind;

typedef struct figure_row {
    const char *label;
    row_kind kind;
    size_t offset; /* of the figure */
} figure_row;

#define FIGURE(member) offsetof(tide_replay_figures, member)

static const figure_row ROWS[] = {
    {"peak reserved", ROW_BYTES, FIGURE(peak_reserved_bytes)},
    {"peak active", ROW_BYTES, FIGURE(peak_active_bytes)},
    {"peak allocated", ROW_BYTES, FIGURE(peak_allocated_bytes)},
    {"peak requested", ROW_BYTES, FIGURE(peak_requested_bytes)},
    {"reserved at the end", ROW_BYTES, FIGURE(end_reserved_bytes)},
    {"reserved - allocated, highest", ROW_BYTES, FIGURE(max_cached_bytes)},
    {"reserved - allocated, mean", ROW_BYTES, FIGURE(mean_cached_bytes)},
    {"pinned at the reserved peak", ROW_BYTES, FIGURE(pinned_bytes)},
    {"segments bought", ROW_COUNT, FIGURE(n_segment_allocs)},
    {"segments given back", ROW_COUNT, FIGURE(n_segment_frees)},
    {"retries", ROW_COUNT, FIGURE(n_retries)},
    {"out of memory", ROW_COUNT, FIGURE(n_ooms)},
};
enum { N_ROWS = sizeof(ROWS) / sizeof(ROWS[0]) };

static int64_t figure_of(const figure_row *row, const tide_replay_figures *figures) {
    int64_t value = 0;
    memcpy(&value, (const char *)figures + row->offset, sizeof(value));
    return value;
}

static void value_cell(tide_table *table, const figure_row *row, int64_t value) {
    if (value < 0) {
        tide_cell_none(table);
    } else if (row->kind == ROW_BYTES) {
        tide_cell_bytes(table, value);
    } else {
        tide_cell_count(table, value);
    }
}

static void change_cell(tide_table *table, const figure_row *row, int64_t value, int64_t base) {
    if (value < 0 || base < 0) {
        tide_cell_none(table);
    } else if (row->kind == ROW_BYTES) {
        tide_cell_change(table, value - base);
    } else {
        tide_cell_count(table, value - base);
    }
}

/* A run and its difference from the base. */
static void run_columns(tide_table *table, size_t i, const char *name, bool has_change) {
    char key[KEY_BYTES];
    snprintf(key, sizeof(key), "replay%zu", i);
    tide_table_column(table, key, name, true);
    if (has_change) {
        snprintf(key, sizeof(key), "replay%zu_difference", i);
        tide_table_column(table, key, "difference", true);
    }
}

static const tide_replay_figures *base_figures(const tide_replay_runs *runs) {
    return runs->base == SIZE_MAX ? &runs->recorded_figures
                                  : &runs->entries[runs->base].replay->figures;
}

static void figures_table(tide_report *report, const tide_replay_runs *runs) {
    tide_table *table =
        tide_report_table(report, "figures", "Recorded and replayed, all devices together");
    tide_table_column(table, "figure", "figure", false);
    tide_table_column(table, "recorded", "recorded", true);
    if (runs->verified != NULL) {
        run_columns(table, 1, "replayed", true);
    }
    for (size_t i = 0; i < runs->n_entries; i++) {
        run_columns(table, i + 1, runs->entries[i].name, i != runs->base);
    }
    for (size_t r = 0; r < N_ROWS; r++) {
        const figure_row *row = &ROWS[r];
        int64_t recorded = figure_of(row, &runs->recorded_figures);
        tide_table_row_begin(table);
        tide_cell_text(table, row->label);
        value_cell(table, row, recorded);
        if (runs->verified != NULL) {
            int64_t value = figure_of(row, &runs->verified->figures);
            value_cell(table, row, value);
            change_cell(table, row, value, recorded);
        }
        for (size_t i = 0; i < runs->n_entries; i++) {
            int64_t value = figure_of(row, &runs->entries[i].replay->figures);
            value_cell(table, row, value);
            if (i != runs->base) {
                change_cell(table, row, value, figure_of(row, base_figures(runs)));
            }
        }
    }
}

static void devices_table(tide_report *report, const tide_replay_runs *runs) {
    size_t n_devices = runs->snapshot->n_devices;
    if (n_devices < 2) {
        return;
    }
    tide_table *table = tide_report_table(report, "devices", "Peak of reserved bytes by device");
    tide_table_column(table, "device", "device", true);
    if (runs->verified != NULL) {
        run_columns(table, 1, "replayed", false);
    }
    for (size_t i = 0; i < runs->n_entries; i++) {
        run_columns(table, i + 1, runs->entries[i].name, false);
    }
    for (size_t d = 0; d < n_devices; d++) {
        tide_table_row_begin(table);
        tide_cell_count(table, (int64_t)d);
        if (runs->verified != NULL) {
            tide_cell_bytes(table, runs->verified->by_device[d].peak_reserved_bytes);
        }
        for (size_t i = 0; i < runs->n_entries; i++) {
            tide_cell_bytes(table, runs->entries[i].replay->by_device[d].peak_reserved_bytes);
        }
    }
}

static double percent_of(int64_t part, int64_t whole) {
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

static void time_table(tide_report *report, const tide_replay *replay, const char *name) {
    char title[TIDE_REPLAY_NAME_BYTES + 32];
    if (replay->n_samples == 0) {
        return;
    }
    snprintf(title, sizeof(title), "Over time: %s", name);
    tide_table *table = tide_report_table(report, "over_time", title);
    tide_table_column(table, "event", "after event", true);
    tide_table_column(table, "time_ms", "time", true);
    tide_table_column(table, "allocated_bytes", "allocated", true);
    tide_table_column(table, "reserved_bytes", "reserved", true);
    tide_table_column(table, "cached_bytes", "reserved - allocated", true);
    tide_table_column(table, "cached_share", "of reserved", true);
    tide_table_column(table, "pinned_bytes", "pinned", true);
    tide_table_column(table, "pinned_share", "of reserved", true);
    for (size_t i = 0; i < replay->n_samples; i++) {
        const tide_replay_sample *at = &replay->samples[i];
        int64_t cached = at->reserved_bytes - at->allocated_bytes;
        tide_table_row_begin(table);
        tide_cell_count(table, (int64_t)at->event);
        tide_cell_ms(table, (double)at->time_ns / 1e6);
        tide_cell_bytes(table, at->allocated_bytes);
        tide_cell_bytes(table, at->reserved_bytes);
        tide_cell_bytes(table, cached);
        tide_cell_percent(table, percent_of(cached, at->reserved_bytes));
        tide_cell_bytes(table, at->pinned_bytes);
        tide_cell_percent(table, percent_of(at->pinned_bytes, at->reserved_bytes));
    }
}

/* ---- ranks ---- */

static int64_t calls_of(const tide_replay_entry *entry) {
    const tide_replay_figures *figures = &entry->replay->figures;
    return figures->n_segment_allocs + figures->n_segment_frees;
}

/* What runs out of memory less often, then reserves less, then calls the device less often; then in
 * the order of the grid. */
static int compare_entries(const void *a, const void *b) {
    const tide_replay_entry *left = *(const tide_replay_entry *const *)a;
    const tide_replay_entry *right = *(const tide_replay_entry *const *)b;
    const int64_t of_left[] = {left->replay->figures.n_ooms,
                               left->replay->figures.peak_reserved_bytes, calls_of(left)};
    const int64_t of_right[] = {right->replay->figures.n_ooms,
                                right->replay->figures.peak_reserved_bytes, calls_of(right)};
    for (size_t i = 0; i < 3; i++) {
        if (of_left[i] != of_right[i]) {
            return of_left[i] < of_right[i] ? -1 : 1;
        }
    }
    return left < right ? -1 : 1;
}

static void say_best(tide_report *report, const tide_replay_entry *best,
                     const tide_replay_entry *base) {
    char peak[TIDE_BYTES_TEXT];
    char saved[TIDE_BYTES_TEXT];
    int64_t base_bytes = base->replay->figures.peak_reserved_bytes;
    int64_t best_bytes = best->replay->figures.peak_reserved_bytes;
    tide_bytes_format(best_bytes, peak);
    if (best == base) {
        tide_report_say(report, "best",
                        "best: the recorded settings, with a peak of %s reserved; nothing tried "
                        "here is better",
                        peak);
    } else if (base->replay->figures.n_ooms > best->replay->figures.n_ooms) {
        tide_report_say(report, "best",
                        "best: %s, with a peak of %s reserved; %" PRId64
                        " requests run out of memory, with the recorded settings %" PRId64,
                        best->name, peak, best->replay->figures.n_ooms,
                        base->replay->figures.n_ooms);
    } else {
        tide_report_say(report, "best",
                        "best: %s, with a peak of %s reserved; it saves %s (%.1f %%) of the "
                        "recorded settings' peak",
                        best->name, peak, tide_bytes_format(base_bytes - best_bytes, saved),
                        percent_of(base_bytes - best_bytes, base_bytes));
    }
}

static void ranks_table(tide_report *report, const tide_replay_runs *runs) {
    const tide_replay_entry *order[TIDE_REPLAY_MAX_RUNS];
    const tide_replay_entry *base = &runs->entries[0];
    for (size_t i = 0; i < runs->n_entries; i++) {
        order[i] = &runs->entries[i];
    }
    qsort(order, runs->n_entries, sizeof(order[0]), compare_entries);
    say_best(report, order[0], base);
    tide_table *table = tide_report_table(report, "ranks", "Settings by peak of reserved bytes");
    tide_table_column(table, "rank", "rank", true);
    tide_table_column(table, "settings", "settings", false);
    tide_table_column(table, "peak_reserved_bytes", "peak reserved", true);
    tide_table_column(table, "difference_bytes", "difference", true);
    tide_table_column(table, "peak_allocated_bytes", "peak allocated", true);
    tide_table_column(table, "mean_cached_bytes", "mean reserved - allocated", true);
    tide_table_column(table, "pinned_bytes", "pinned", true);
    tide_table_column(table, "device_calls", "device calls", true);
    tide_table_column(table, "retries", "retries", true);
    tide_table_column(table, "ooms", "out of memory", true);
    for (size_t i = 0; i < runs->n_entries; i++) {
        const tide_replay_figures *figures = &order[i]->replay->figures;
        tide_table_row_begin(table);
        tide_cell_count(table, (int64_t)i + 1);
        tide_cell_text(table, order[i]->name);
        tide_cell_bytes(table, figures->peak_reserved_bytes);
        tide_cell_change(table,
                         figures->peak_reserved_bytes - base->replay->figures.peak_reserved_bytes);
        tide_cell_bytes(table, figures->peak_allocated_bytes);
        tide_cell_bytes(table, figures->mean_cached_bytes);
        tide_cell_bytes(table, figures->pinned_bytes);
        tide_cell_count(table, calls_of(order[i]));
        tide_cell_count(table, figures->n_retries);
        tide_cell_count(table, figures->n_ooms);
    }
}

static const tide_replay *any_replay(const tide_replay_runs *runs) {
    return runs->verified != NULL ? runs->verified : runs->entries[0].replay;
}

void tide_replay_report(tide_report *report, const tide_replay_runs *runs, const char *path) {
    tide_report_say(report, "run", "%s: %zu requests on %zu device%s", path,
                    any_replay(runs)->n_requests, runs->snapshot->n_devices,
                    runs->snapshot->n_devices == 1 ? "" : "s");
    if (runs->verified != NULL) {
        say_verified(report, runs);
    }
    say_start(report, runs);
    say_warnings(report, runs);
    for (size_t i = 0; i < runs->n_entries; i++) {
        say_oom(report, runs, &runs->entries[i]);
        say_succeeded(report, &runs->entries[i]);
    }
    if (runs->command->grid) {
        ranks_table(report, runs);
    } else {
        figures_table(report, runs);
        devices_table(report, runs);
    }
    if (runs->verified != NULL) {
        time_table(report, runs->verified, "recorded settings");
    }
    for (size_t i = 0; i < runs->n_entries; i++) {
        time_table(report, runs->entries[i].replay, runs->entries[i].name);
    }
}
