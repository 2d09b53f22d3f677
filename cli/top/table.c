/* The report of `tidemark top` on the processes that it read. */
#include <inttypes.h>

#include "cli/top/internal.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "report/table.h"

enum { COMMAND_BYTES = 160 };

static const char *certainty_words(int certainty) {
    return certainty == TIDE_CERTAINTY_NAMED  ? "named"
           : certainty == TIDE_CERTAINTY_RULE ? "by rule"
                                              : "unknown";
}

/* A device that the process has not used is not reported. */
static bool is_used(const tide_glance_device *device) {
    return device->reserved_peak_bytes > 0 || device->allocated_peak_bytes > 0;
}

/* ---- sentences ---- */

static void say_process(const tide_top_process *of, tide_report *report) {
    const char *command = of->snapshot->run.command;
    const char *rank = of->rank >= 0 ? tide_report_text(report, ", rank %" PRId64, of->rank) : "";
    tide_report_say(report, "process", "process %" PRId64 "%s%s: %.*s%s", of->pid, rank,
                    of->is_running ? "" : ", which has ended", COMMAND_BYTES,
                    command != NULL && command[0] != '\0' ? command : "command unknown",
                    of->snapshot->n_dropped > 0
                        ? "; its log has dropped the oldest events, and peaks before are not known"
                        : "");
}

static void say_progress(const tide_top_process *of, tide_report *report) {
    const tide_glance *glance = &of->glance;
    const char *steps =
        glance->n_steps > 0
            ? tide_report_text(report, "%" PRId64 " %s so far; ", glance->n_steps,
                               tide_plural((uint64_t)glance->n_steps, "step", "steps"))
            : "no step so far; ";
    const char *rate = glance->events_per_second >= 0
                           ? tide_report_text(report, ", %.0f a second", glance->events_per_second)
                           : "";
    const char *silent = of->silent_seconds >= 0
                             ? tide_report_text(report, ", the last %.1f s ago", of->silent_seconds)
                             : "";
    tide_report_say(report, "progress", "%s%" PRIu64 " %s%s%s", steps, glance->n_events,
                    tide_plural(glance->n_events, "event", "events"), rate, silent);
}

static void say_devices(const tide_top_process *of, tide_report *report) {
    char bytes[TIDE_BYTES_TEXT];
    for (size_t i = 0; i < of->glance.n_devices; i++) {
        const tide_glance_device *device = &of->glance.devices[i];
        if (device->growth_bytes > 0) {
            tide_report_say(report, "growth",
                            "device %zu: memory grows by %s on each pass of a loop", i,
                            tide_bytes_format(device->growth_bytes, bytes));
        }
        if (device->n_failures > 0) {
            tide_report_say(report, "failures", "device %zu: %" PRId64 " %s for memory failed", i,
                            device->n_failures,
                            tide_plural((uint64_t)device->n_failures, "request", "requests"));
        }
    }
}

/* ---- tables ---- */

static void add_process_row(const tide_top_process *of, tide_table *table) {
    const tide_glance *glance = &of->glance;
    TIDE_ROW(table, tide_as_count(of->pid),
             of->rank >= 0 ? tide_as_count(of->rank) : tide_as_none(),
             tide_as_words(of->snapshot->run.command),
             tide_as_text(of->is_running ? "running" : "ended"), tide_as_count(glance->n_steps),
             tide_as_count((int64_t)glance->n_events), tide_as_real(glance->events_per_second),
             tide_as_real(of->silent_seconds), tide_as_count((int64_t)of->snapshot->n_dropped));
}

/* For programs; people get the sentences. */
static void add_processes(const tide_top_view *view, tide_report *report) {
    tide_table *table = tide_report_table(report, "processes", "Processes");
    TIDE_COLUMNS(
        table, TIDE_NUMBER("process", "process"), TIDE_NUMBER("rank", "rank"),
        TIDE_TEXT("command", "command"), TIDE_TEXT("state", "state"), TIDE_NUMBER("steps", "steps"),
        TIDE_NUMBER("events", "events"), TIDE_NUMBER("events_per_second", "events a second"),
        TIDE_NUMBER("silent_seconds", "silent for"), TIDE_NUMBER("dropped_events", "dropped"));
    for (size_t i = 0; i < view->n_processes; i++) {
        add_process_row(&view->processes[i], table);
    }
}

static void add_devices(const tide_top_process *of, bool for_programs, tide_report *report) {
    tide_table *table = tide_report_table(report, "devices", "Devices");
    if (for_programs) {
        TIDE_COLUMNS(table, TIDE_NUMBER("process", "process"));
    }
    TIDE_COLUMNS(
        table, TIDE_NUMBER("device", "device"), TIDE_TEXT("name", "card"),
        TIDE_NUMBER("allocated_bytes", "allocated"),
        TIDE_NUMBER("allocated_peak_bytes", "its peak"), TIDE_NUMBER("reserved_bytes", "reserved"),
        TIDE_NUMBER("reserved_peak_bytes", "its peak"), TIDE_NUMBER("total_bytes", "card has"));
    if (for_programs) { /* people have sentences */
        TIDE_COLUMNS(table, TIDE_NUMBER("growth_bytes", "grows a pass"),
                     TIDE_NUMBER("failed_requests", "failed requests"));
    }
    for (size_t i = 0; i < of->glance.n_devices; i++) {
        const tide_glance_device *device = &of->glance.devices[i];
        if (!is_used(device)) {
            continue;
        }
        tide_table_row_begin(table);
        if (for_programs) {
            TIDE_CELLS(table, tide_as_count(of->pid));
        }
        TIDE_CELLS(
            table, tide_as_count((int64_t)i), tide_as_words(of->snapshot->devices[i].name),
            tide_as_bytes(device->now.allocated_bytes), tide_as_bytes(device->allocated_peak_bytes),
            tide_as_bytes(device->now.reserved_bytes), tide_as_bytes(device->reserved_peak_bytes),
            tide_as_bytes(of->snapshot->devices[i].total_bytes));
        if (for_programs) {
            TIDE_CELLS(table, tide_as_bytes(device->growth_bytes),
                       tide_as_count(device->n_failures));
        }
    }
}

/* A table of shares: of the categories, or of the modules. */
typedef struct share_table {
    const char *key, *title; /* of the table */
    const tide_glance_share *shares;
    size_t n;
    size_t n_shown;      /* the others are summed in one row */
    bool has_categories; /* and not modules */
} share_table;

static void add_share(const share_table *of, const tide_top_process *process, size_t device,
                      const tide_glance_share *share, bool for_programs, tide_table *to) {
    tide_table_row_begin(to);
    if (for_programs) {
        TIDE_CELLS(to, tide_as_count(process->pid), tide_as_count((int64_t)device));
    }
    TIDE_CELLS(to, tide_as_text(share->name));
    if (of->has_categories) {
        TIDE_CELLS(to, tide_as_text(certainty_words(share->certainty)));
    }
    int64_t allocated_bytes = process->glance.devices[device].now.allocated_bytes;
    TIDE_CELLS(to, tide_as_bytes(share->bytes),
               tide_as_share((double)share->bytes, (double)allocated_bytes),
               tide_as_count(share->n_blocks));
}

static void add_shares(const share_table *of, const tide_top_process *process, size_t device,
                       bool for_programs, tide_report *report) {
    tide_table *table = tide_report_table(report, of->key, of->title);
    if (for_programs) {
        TIDE_COLUMNS(table, TIDE_NUMBER("process", "process"), TIDE_NUMBER("device", "device"));
    }
    if (of->has_categories) {
        TIDE_COLUMNS(table, TIDE_TEXT("category", "category"),
                     TIDE_TEXT("certainty", "category is"));
    } else {
        TIDE_COLUMNS(table, TIDE_TEXT("module", "module"));
    }
    TIDE_COLUMNS(table, TIDE_NUMBER("allocated_bytes", "allocated"),
                 TIDE_NUMBER("share_percent", "share"), TIDE_NUMBER("blocks", "blocks"));
    tide_glance_share rest = {.name = "(all others)"};
    for (size_t i = 0; i < of->n; i++) {
        tide_glance_share share = of->shares[i];
        if (i >= of->n_shown) {
            rest.bytes += share.bytes;
            rest.n_blocks += share.n_blocks;
            continue;
        }
        share.name = share.name[0] != '\0' ? share.name : "(outside of modules)";
        add_share(of, process, device, &share, for_programs, table);
    }
    if (rest.n_blocks > 0) {
        add_share(of, process, device, &rest, for_programs, table);
    }
}

/* "Process 4711, device 1: by module": a process or device is not named if it is the only one. */
static const char *title_of(const tide_top_view *view, const tide_top_process *process,
                            size_t device, const char *what, tide_report *report) {
    size_t n_used = 0;
    for (size_t i = 0; i < process->glance.n_devices; i++) {
        n_used += is_used(&process->glance.devices[i]);
    }
    const char *who = view->n_processes > 1
                          ? tide_report_text(report, "process %" PRId64 ", ", process->pid)
                          : "";
    const char *where = n_used > 1 ? tide_report_text(report, "device %zu, ", device) : "";
    return tide_report_text(report, "Allocated now, %s%s%s", who, where, what);
}

static void add_process(const tide_top_view *view, const tide_top_process *process,
                        const tide_top_options *options, tide_report *report) {
    bool for_programs = tide_format_is_for_programs(tide_format_chosen(&options->report));
    say_process(process, report);
    say_progress(process, report);
    say_devices(process, report);
    add_devices(process, for_programs, report);
    for (size_t i = 0; i < process->glance.n_devices; i++) {
        const tide_glance_device *device = &process->glance.devices[i];
        if (!is_used(device)) {
            continue;
        }
        const share_table categories = {.key = "categories",
                                        .title = title_of(view, process, i, "by category", report),
                                        .shares = device->categories,
                                        .n = device->n_categories,
                                        .n_shown = device->n_categories,
                                        .has_categories = true};
        const share_table modules = {.key = "modules",
                                     .title = title_of(view, process, i, "by module", report),
                                     .shares = device->modules,
                                     .n = device->n_modules,
                                     .n_shown = (size_t)options->top};
        add_shares(&categories, process, i, for_programs, report);
        add_shares(&modules, process, i, for_programs, report);
    }
}

void tide_top_say(const tide_top_view *view, const tide_top_options *options, tide_report *report) {
    if (tide_format_is_for_programs(tide_format_chosen(&options->report))) {
        add_processes(view, report);
    }
    for (size_t i = 0; i < view->n_processes; i++) {
        add_process(view, &view->processes[i], options, report);
    }
}
