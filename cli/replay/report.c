/* What `tidemark replay` tells. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay/internal.h"
#include "cli/snapshot_words.h"
#include "common/bytes.h"
#include "common/plural.h"

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

/* Where the limit of each device comes from, unless it was given or recorded. */
static void say_limits(tide_report *report, const tide_replay_runs *runs) {
    char limit[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    char left[TIDE_BYTES_TEXT];
    for (size_t i = 0; runs->n_entries > 0 && i < runs->snapshot->n_devices; i++) {
        const tide_replay_limit *from = &runs->limits[i];
        if (from->limit_bytes != UINT64_MAX) {
            tide_report_say(report, "limit",
                            "device %zu may reserve %s here: %s were reserved and %s free when it "
                            "ran out of memory at event %zu; --memory-limit sets another limit",
                            i, tide_bytes_format((int64_t)from->limit_bytes, limit),
                            tide_bytes_format((int64_t)from->reserved_bytes, reserved),
                            tide_bytes_format((int64_t)from->free_bytes, left), from->event);
        } else if (runs->recorded_by_device[i].n_ooms > 0 &&
                   tide_replay_limit_in_use(runs, i) == UINT64_MAX) {
            tide_report_say(report, "limit",
                            "note: device %zu ran out of memory when recorded, and the file does "
                            "not tell how much was free: nothing runs out here without "
                            "--memory-limit",
                            i);
        }
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
    say_limits(report, runs);
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
                    const tide_replay_entry *entry, size_t device) {
    const tide_replay_oom *oom = &entry->replay->oom_by_device[device];
    int64_t n_ooms = entry->replay->by_device[device].n_ooms;
    char place[KEY_BYTES] = "";
    char scope[WORDS_BYTES];
    char stack[WORDS_BYTES];
    char asked[TIDE_BYTES_TEXT];
    char left[TIDE_BYTES_TEXT];
    char allocated[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    char event[KEY_BYTES];
    if (n_ooms == 0) {
        return;
    }
    if (runs->snapshot->n_devices > 1) {
        snprintf(place, sizeof(place), " on device %zu", device);
    }
    snprintf(event, sizeof(event), "at event %" PRId64, oom->event);
    bool is_larger = oom->free_bytes <= INT64_MAX && oom->free_bytes >= oom->requested_bytes;
    scope_words(runs->snapshot, oom->scope, scope, sizeof(scope));
    tide_words_stack(runs->snapshot, oom->stack, SHOWN_FRAMES, stack, sizeof(stack));
    tide_report_say(report, "oom",
                    "%s: out of memory%s %s%s%s: asked for %s (%" PRIu64
                    " bytes), free %s%s, allocated %s, reserved %s; %" PRId64
                    " request%s in all; call stack: %s",
                    entry->name, place, oom->event < 0 ? "before the first event" : event,
                    scope[0] != '\0' ? " in " : "", scope,
                    tide_bytes_format((int64_t)oom->requested_bytes, asked), oom->requested_bytes,
                    oom->free_bytes > INT64_MAX ? "unlimited"
                                                : tide_bytes_format((int64_t)oom->free_bytes, left),
                    is_larger ? ", too little for a new segment" : "",
                    tide_bytes_format((int64_t)oom->allocated_bytes, allocated),
                    tide_bytes_format((int64_t)oom->reserved_bytes, reserved), n_ooms,
                    n_ooms == 1 ? " fails" : "s fail", stack);
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

/* What ran out of memory under the entry's settings, or no longer does. */
static void say_survival(tide_report *report, const tide_replay_runs *runs,
                         const tide_replay_entry *entry) {
    for (size_t i = 0; i < runs->snapshot->n_devices; i++) {
        say_oom(report, runs, entry, i);
    }
    if (entry->replay->n_lost > 0) {
        tide_report_say(report, "lost",
                        "%s: %zu block%s missing from then on, so that what follows is a bound at "
                        "best",
                        entry->name, entry->replay->n_lost,
                        entry->replay->n_lost == 1 ? " is" : "s are");
    }
    say_succeeded(report, entry);
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

static const tide_replay_figures *base_figures(const tide_replay_runs *runs, size_t device) {
    return runs->base == SIZE_MAX ? &runs->recorded_by_device[device]
                                  : &runs->entries[runs->base].replay->by_device[device];
}

static void figures_row(tide_table *table, const tide_replay_runs *runs, size_t device,
                        const figure_row *row) {
    int64_t recorded = figure_of(row, &runs->recorded_by_device[device]);
    tide_table_row_begin(table);
    if (runs->snapshot->n_devices > 1) {
        tide_cell_count(table, (int64_t)device);
    }
    tide_cell_text(table, row->label);
    value_cell(table, row, recorded);
    if (runs->verified != NULL) {
        int64_t value = figure_of(row, &runs->verified->by_device[device]);
        value_cell(table, row, value);
        change_cell(table, row, value, recorded);
    }
    for (size_t i = 0; i < runs->n_entries; i++) {
        int64_t value = figure_of(row, &runs->entries[i].replay->by_device[device]);
        value_cell(table, row, value);
        if (i != runs->base) {
            change_cell(table, row, value, figure_of(row, base_figures(runs, device)));
        }
    }
}

static void figures_table(tide_report *report, const tide_replay_runs *runs, size_t device) {
    bool is_one_of_many = runs->snapshot->n_devices > 1;
    char title[2 * KEY_BYTES] = "Recorded and replayed";
    if (is_one_of_many) {
        snprintf(title, sizeof(title), "Recorded and replayed, device %zu", device);
    }
    tide_table *table = tide_report_table(report, "figures", title);
    if (is_one_of_many) {
        tide_table_column(table, "device", "device", true);
    }
    tide_table_column(table, "figure", "figure", false);
    tide_table_column(table, "recorded", "recorded", true);
    if (runs->verified != NULL) {
        run_columns(table, 1, "replayed", true);
    }
    for (size_t i = 0; i < runs->n_entries; i++) {
        run_columns(table, i + 1, runs->entries[i].name, i != runs->base);
    }
    for (size_t r = 0; r < N_ROWS; r++) {
        figures_row(table, runs, device, &ROWS[r]);
    }
}

/* Each device by itself: a sum over devices says nothing of whether one of them has enough. */
static void figures_tables(tide_report *report, const tide_replay_runs *runs) {
    for (size_t i = 0; i < runs->snapshot->n_devices; i++) {
        if (runs->snapshot->n_devices == 1 || tide_replay_uses_device(runs, i)) {
            figures_table(report, runs, i);
        }
    }
}

static double percent_of(int64_t part, int64_t whole) {
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

/* `has_name`: there are several runs, whose rows are told apart by a column. */
static void time_table(tide_report *report, const tide_replay *replay, const char *name,
                       bool has_name) {
    char title[TIDE_REPLAY_NAME_BYTES + 48];
    if (replay->n_samples == 0) {
        return;
    }
    snprintf(title, sizeof(title), "Over time%s: %s",
             replay->snapshot->n_devices > 1 ? ", all devices together" : "", name);
    tide_table *table = tide_report_table(report, "over_time", title);
    if (has_name) {
        tide_table_column(table, "settings", "settings", false);
    }
    tide_table_column(table, "event", "after event", true);
    tide_table_column(table, "time_ms", "time", true);
    tide_table_column(table, "allocated_bytes", "allocated", true);
    tide_table_column(table, "reserved_bytes", "reserved", true);
    tide_table_column(table, "cached_bytes", "reserved - allocated", true);
    tide_table_column(table, "cached_percent", "of reserved", true);
    tide_table_column(table, "pinned_bytes", "pinned", true);
    tide_table_column(table, "pinned_percent", "of reserved", true);
    for (size_t i = 0; i < replay->n_samples; i++) {
        const tide_replay_sample *at = &replay->samples[i];
        int64_t cached = at->reserved_bytes - at->allocated_bytes;
        tide_table_row_begin(table);
        if (has_name) {
            tide_cell_text(table, name);
        }
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

static const tide_replay *any_replay(const tide_replay_runs *runs) {
    return runs->verified != NULL ? runs->verified : runs->entries[0].replay;
}

/* The recording, and the replay that is best, or the only one. Of the devices the highest. */
static void add_figures(tide_report *report, const tide_replay_runs *runs) {
    int64_t recorded_bytes = 0;
    int64_t least_bytes = INT64_MAX;
    const char *best = runs->verified != NULL ? "recorded settings" : NULL;
    for (size_t i = 0; i < runs->snapshot->n_devices; i++) {
        int64_t bytes = runs->recorded_by_device[i].peak_reserved_bytes;
        recorded_bytes = bytes > recorded_bytes ? bytes : recorded_bytes;
    }
    for (size_t k = 0; k < runs->n_entries + (runs->verified != NULL); k++) {
        const tide_replay *replay = k < runs->n_entries ? runs->entries[k].replay : runs->verified;
        int64_t most_bytes = 0;
        int64_t n_ooms = 0;
        for (size_t i = 0; i < runs->snapshot->n_devices; i++) {
            int64_t bytes = replay->by_device[i].peak_reserved_bytes;
            most_bytes = bytes > most_bytes ? bytes : most_bytes;
            n_ooms += replay->by_device[i].n_ooms;
        }
        if (n_ooms == 0 && most_bytes < least_bytes) {
            least_bytes = most_bytes;
            best = k < runs->n_entries ? runs->entries[k].name : best;
        }
    }
    bool survives = least_bytes != INT64_MAX;
    tide_report_figure_count(report, "requests", (int64_t)any_replay(runs)->n_requests);
    tide_report_figure_bytes(report, "recorded_reserved_peak_bytes", recorded_bytes);
    tide_report_figure_bytes(report, "best_reserved_peak_bytes", survives ? least_bytes : -1);
    tide_report_figure_text(report, "best_settings", survives ? best : NULL);
    if (runs->verified != NULL) {
        tide_report_figure_text(report, "is_as_recorded",
                                tide_replay_is_same(&runs->verified->verified) ? "yes" : "no");
    }
}

void tide_replay_report(tide_report *report, const tide_replay_runs *runs, const char *path) {
    add_figures(report, runs);
    tide_report_say(report, "run", "%s: %zu %s on %zu %s", path, any_replay(runs)->n_requests,
                    tide_plural(any_replay(runs)->n_requests, "request", "requests"),
                    runs->snapshot->n_devices,
                    tide_plural(runs->snapshot->n_devices, "device", "devices"));
    if (runs->verified != NULL) {
        say_verified(report, runs);
    }
    say_start(report, runs);
    say_warnings(report, runs);
    /* The table of a grid says it of the others. */
    for (size_t i = 0; i < (runs->command->grid ? 1 : runs->n_entries); i++) {
        say_survival(report, runs, &runs->entries[i]);
    }
    if (runs->command->grid) {
        tide_replay_report_ranks(report, runs);
    } else {
        figures_tables(report, runs);
    }
    if (runs->verified != NULL) {
        time_table(report, runs->verified, "recorded settings", runs->n_entries > 0);
    }
    for (size_t i = 0; i < runs->n_entries; i++) {
        time_table(report, runs->entries[i].replay, runs->entries[i].name,
                   runs->n_entries > 1 || runs->verified != NULL);
    }
}
