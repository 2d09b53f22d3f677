/* The report of `tidemark replay`. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay/internal.h"
#include "cli/words/snapshot_words.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "common/text/text.h"
#include "snapshot/document/scope_paths.h"

enum { SHOWN_FRAMES = 3, WORDS_BYTES = 512, KEY_BYTES = 48 };

/* ---- sentences ---- */

/* ", 3 of 4 WHAT" if there are any. */
static void add_share(tide_text *to, size_t n_same, size_t n, const char *what) {
    if (n > 0) {
        tide_text_add_item(to, ", ", "%zu of %zu %s", n_same, n, what);
    }
}

static void say_verified(tide_report *report, const tide_replay_runs *runs) {
    const tide_replay_verified *found = &runs->verified->verified;
    char shares[WORDS_BYTES];
    tide_text to = tide_text_in(shares, sizeof(shares));
    add_share(&to, found->n_allocs_same, found->n_allocs, "addresses");
    add_share(&to, found->n_segments_same, found->n_segments, "segments bought");
    add_share(&to, found->n_returns_same, found->n_returns, "freed");
    add_share(&to, found->n_ooms_same, found->n_ooms, "out of memory");
    tide_report_say(report, "verified", "replayed under %s: %s as recorded%s",
                    runs->verified_conf != NULL ? runs->verified_conf : "the recorded settings",
                    shares[0] != '\0' ? shares : "nothing to compare",
                    tide_replay_is_same(found) ? "" : "; not all is as it was");
    if (!tide_replay_is_same(found)) {
        tide_report_say(report, "difference", "first difference: %s", found->first_difference);
        if (!runs->is_told) {
            tide_report_say(report, "settings",
                            "note: the file does not list all settings (large_segment_size_mb, a "
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

/* Reports the source of each device's limit, unless it was given or recorded. */
static void say_limits(tide_report *report, const tide_replay_runs *runs) {
    for (size_t i = 0; runs->n_entries > 0 && i < runs->snapshot->n_devices; i++) {
        const tide_replay_limit *from = &runs->limits[i];
        if (from->limit_bytes != UINT64_MAX) {
            tide_report_say(report, "limit",
                            "device %zu may reserve %s here: %s were reserved and %s free when it "
                            "ran out of memory at event %zu; --memory-limit sets another limit",
                            i, tide_report_bytes(report, (int64_t)from->limit_bytes),
                            tide_report_bytes(report, (int64_t)from->reserved_bytes),
                            tide_report_bytes(report, (int64_t)from->free_bytes), from->event);
        } else if (runs->recorded_by_device[i].n_ooms > 0 &&
                   tide_replay_limit_in_use(runs, i) == UINT64_MAX) {
            tide_report_say(report, "limit",
                            "note: device %zu ran out of memory when recorded, and the file does "
                            "not record how much was free: nothing runs out here without "
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

static void say_oom(tide_report *report, const tide_replay_runs *runs,
                    const tide_replay_entry *entry, size_t device) {
    const tide_replay_oom *oom = &entry->replay->oom_by_device[device];
    int64_t n_ooms = entry->replay->by_device[device].n_ooms;
    if (n_ooms == 0) {
        return;
    }
    const char *place =
        runs->snapshot->n_devices > 1 ? tide_report_text(report, " on device %zu", device) : "";
    const char *event = oom->event < 0 ? "before the first event"
                                       : tide_report_text(report, "at event %" PRId64, oom->event);
    char scope[WORDS_BYTES];
    (void)tide_scope_describe(runs->snapshot, oom->scope, TIDE_N_SCOPE_KINDS, true, scope,
                              sizeof(scope));
    bool is_larger = oom->free_bytes <= INT64_MAX && oom->free_bytes >= oom->requested_bytes;
    tide_report_say(report, "oom",
                    "%s: out of memory%s %s%s%s: asked for %s (%" PRIu64
                    " bytes), free %s%s, allocated %s, reserved %s; %" PRId64
                    " request%s in all; call stack: %s",
                    entry->name, place, event, scope[0] != '\0' ? " in " : "", scope,
                    tide_report_bytes(report, (int64_t)oom->requested_bytes), oom->requested_bytes,
                    oom->free_bytes > INT64_MAX
                        ? "unlimited"
                        : tide_report_bytes(report, (int64_t)oom->free_bytes),
                    is_larger ? ", too little for a new segment" : "",
                    tide_report_bytes(report, (int64_t)oom->allocated_bytes),
                    tide_report_bytes(report, (int64_t)oom->reserved_bytes), n_ooms,
                    n_ooms == 1 ? " fails" : "s fail",
                    tide_report_stack(report, runs->snapshot, oom->stack, SHOWN_FRAMES));
}

static void say_succeeded(tide_report *report, const tide_replay_entry *entry) {
    if (entry->replay->n_succeeded > 0) {
        bool one = entry->replay->n_succeeded == 1;
        tide_report_say(report, "succeeded",
                        "%s: %zu request%s that ran out of memory when recorded %s freed "
                        "immediately",
                        entry->name, entry->replay->n_succeeded, one ? "" : "s",
                        one ? "succeeds; its block is" : "succeed; their blocks are");
    }
}

/* Reports the requests that ran out of memory under the entry's settings, or no longer did. */
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

#define BYTES(title, member)                                                                       \
    { "", (title), TIDE_FIELD_BYTES, offsetof(tide_replay_figures, member) }
#define COUNT(title, member)                                                                       \
    { "", (title), TIDE_FIELD_COUNT, offsetof(tide_replay_figures, member) }

/* A row each; the columns are the runs. */
static const tide_field ROWS[] = {
    BYTES("peak reserved", peak_reserved_bytes),
    BYTES("peak active", peak_active_bytes),
    BYTES("peak allocated", peak_allocated_bytes),
    BYTES("peak requested", peak_requested_bytes),
    BYTES("reserved at the end", end_reserved_bytes),
    BYTES("reserved - allocated, highest", max_cached_bytes),
    BYTES("reserved - allocated, mean", mean_cached_bytes),
    BYTES("pinned at the reserved peak", pinned_bytes),
    COUNT("segments bought", n_segment_allocs),
    COUNT("segments freed", n_segment_frees),
    COUNT("retries", n_retries),
    COUNT("out of memory", n_ooms),
};
enum { N_ROWS = sizeof(ROWS) / sizeof(ROWS[0]) };

static tide_cell change_of(const tide_field *row, const tide_replay_figures *figures,
                           const tide_replay_figures *base) {
    tide_cell from = tide_as_field(row, base);
    tide_cell to = tide_as_field(row, figures);
    if (from.kind == TIDE_CELL_NONE || to.kind == TIDE_CELL_NONE) {
        return tide_as_none();
    }
    return row->kind == TIDE_FIELD_BYTES ? tide_as_change(to.integer - from.integer)
                                         : tide_as_count(to.integer - from.integer);
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
                        const tide_field *row) {
    const tide_replay_figures *recorded = &runs->recorded_by_device[device];
    tide_table_row_begin(table);
    if (runs->snapshot->n_devices > 1) {
        TIDE_CELLS(table, tide_as_count((int64_t)device));
    }
    TIDE_CELLS(table, tide_as_text(row->title), tide_as_field(row, recorded));
    if (runs->verified != NULL) {
        const tide_replay_figures *verified = &runs->verified->by_device[device];
        TIDE_CELLS(table, tide_as_field(row, verified), change_of(row, verified, recorded));
    }
    for (size_t i = 0; i < runs->n_entries; i++) {
        const tide_replay_figures *figures = &runs->entries[i].replay->by_device[device];
        TIDE_CELLS(table, tide_as_field(row, figures));
        if (i != runs->base) {
            TIDE_CELLS(table, change_of(row, figures, base_figures(runs, device)));
        }
    }
}

static void figures_table(tide_report *report, const tide_replay_runs *runs, size_t device) {
    bool is_one_of_many = runs->snapshot->n_devices > 1;
    const char *title = is_one_of_many
                            ? tide_report_text(report, "Recorded and replayed, device %zu", device)
                            : "Recorded and replayed";
    tide_table *table = tide_report_table(report, "figures", title);
    if (is_one_of_many) {
        tide_table_column(table, "device", "device", true);
    }
    TIDE_COLUMNS(table, TIDE_TEXT("figure", "figure"), TIDE_NUMBER("recorded", "recorded"));
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

/* Each device separately, because a sum over devices does not show whether each has enough. */
static void figures_tables(tide_report *report, const tide_replay_runs *runs) {
    for (size_t i = 0; i < runs->snapshot->n_devices; i++) {
        if (runs->snapshot->n_devices == 1 || tide_replay_uses_device(runs, i)) {
            figures_table(report, runs, i);
        }
    }
}

/* `has_name`: there are several runs, whose rows a column distinguishes. */
static void time_table(tide_report *report, const tide_replay *replay, const char *name,
                       bool has_name) {
    if (replay->n_samples == 0) {
        return;
    }
    const char *title =
        tide_report_text(report, "Over time%s: %s",
                         replay->snapshot->n_devices > 1 ? ", all devices together" : "", name);
    tide_table *table = tide_report_table(report, "over_time", title);
    if (has_name) {
        tide_table_column(table, "settings", "settings", false);
    }
    TIDE_COLUMNS(
        table, TIDE_NUMBER("event", "after event"), TIDE_NUMBER("time_ms", "time"),
        TIDE_NUMBER("allocated_bytes", "allocated"), TIDE_NUMBER("reserved_bytes", "reserved"),
        TIDE_NUMBER("cached_bytes", "reserved - allocated"),
        TIDE_NUMBER("cached_percent", "of reserved"), TIDE_NUMBER("pinned_bytes", "pinned"),
        TIDE_NUMBER("pinned_percent", "of reserved"));
    for (size_t i = 0; i < replay->n_samples; i++) {
        const tide_replay_sample *at = &replay->samples[i];
        int64_t cached = at->reserved_bytes - at->allocated_bytes;
        tide_table_row_begin(table);
        if (has_name) {
            TIDE_CELLS(table, tide_as_text(name));
        }
        TIDE_CELLS(table, tide_as_count((int64_t)at->event), tide_as_ms((double)at->time_ns / 1e6),
                   tide_as_bytes(at->allocated_bytes), tide_as_bytes(at->reserved_bytes),
                   tide_as_bytes(cached), tide_as_share((double)cached, (double)at->reserved_bytes),
                   tide_as_bytes(at->pinned_bytes),
                   tide_as_share((double)at->pinned_bytes, (double)at->reserved_bytes));
    }
}

static const tide_replay *any_replay(const tide_replay_runs *runs) {
    return runs->verified != NULL ? runs->verified : runs->entries[0].replay;
}

/* The recording, and the best or only replay. The highest figures over the devices. */
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

/* Settings are not all that can change; a plan runs the program itself. */
static void say_plan(tide_report *report, const tide_snapshot *snapshot) {
    bool is_torch = strcmp(snapshot->origin.format, "pytorch") == 0;
    for (size_t i = 0; i < snapshot->n_software; i++) {
        is_torch = is_torch || strcmp(snapshot->software[i].name, "torch") == 0;
    }
    if (is_torch && !tide_snapshot_has_rank(snapshot)) {
        tide_report_say(report, "plan",
                        "if the program trains a model with PyTorch, tidemark plan tries changes "
                        "of the program, with settings of the allocator where these are needed");
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
    /* For the others, the table of the grid has it. */
    for (size_t i = 0; i < (runs->has_grid ? 1 : runs->n_entries); i++) {
        say_survival(report, runs, &runs->entries[i]);
    }
    if (runs->has_grid) {
        tide_replay_report_ranks(report, runs);
        say_plan(report, runs->snapshot);
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
