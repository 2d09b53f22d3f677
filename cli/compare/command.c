/* tidemark compare: runs side by side. */
#include <stdio.h>
#include <string.h>

#include "cli/beside.h"
#include "cli/cli.h"
#include "cli/compare/internal.h"
#include "cli/load.h"
#include "cli/own_model.h"
#include "cli/options/report_options.h"
#include "cli/words/snapshot_words.h"
#include "report/table.h"
#include "snapshot/compare/compare.h"
#include "snapshot/document/implementation.h"
#include "snapshot/document/snapshot.h"

enum { KEY_BYTES = 96 };

typedef struct compare_options {
    tide_report_options report; /* how the report is printed */
    uint64_t top;               /* rows of the table of differences */
    tide_option_texts fail_if;
    tide_load_options load; /* how the files are read */
} compare_options;

#define AT(member) offsetof(compare_options, member)

static const tide_option OPTIONS[] = {
    TIDE_REPORT_ROWS(AT(report)),
    TIDE_OPTION(COUNT, "top", "N", AT(top),
                "number of rows in the table of what differs at the peak; default 10"),
    TIDE_OPTION(TEXTS, "fail-if", "CONDITION", AT(fail_if),
                "end with exit status 4 if a condition such as 'peak_allocated > +2%' holds for a "
                "run against the base; may be given several times"),
    TIDE_LOAD_ROWS(AT(load)),
};

static const tide_option_table TABLE = {
    .command = "compare",
    .operands = "FILE FILE...",
    .intro =
        "Shows runs side by side: their peaks, what is alive at the peaks by category, by kind\n"
        "of layer and by tensor, their times, and the ratios.\n"
        "The first file is the base of the ratios. Runs with the base's workload (model, context,\n"
        "batch, mode) are compared in a sentence; for other runs it says what sets their peak.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 2,
    .max_operands = TIDE_COMPARE_MAX_RUNS,
    .notes =
        "In the place of a later FILE, pytorch:2025 or pytorch:2026 means a forecast of the\n"
        "first file's run under PyTorch, eager, with the course assignment's code of that year. "
        "If\n"
        "it is the second FILE, tables show where the difference comes from, by category and by\n"
        "tensor (docs/model/pytorch-forecast.md).\n"
        "\n"
        "A CONDITION is QUANTITY OPERATOR BOUND.\n"
        "Quantities: peak_allocated, peak_requested, peak_active, peak_reserved, end_allocated,\n"
        "category:NAME (bytes at the peak), n_allocs, n_device_allocs, time_PHASE (median).\n"
        "Operators: >, >=, < and <=.\n"
        "Bounds: relative to the base (+2%, -2%), a difference from it (+100MiB, +3ms, +10), or\n"
        "absolute (24GiB, 150ms, 1200). A figure that a file lacks is a failure (exit status 1).\n",
};

void tide_compare_run_column(tide_table *table, size_t run, const char *unit, const char *title,
                             bool is_number) {
    char key[KEY_BYTES];
    snprintf(key, sizeof(key), "run%zu_%s", run + 1, unit);
    tide_table_column(table, key, title, is_number);
}

void tide_compare_run_columns(tide_table *table, const tide_compare *compare, const char *unit) {
    for (size_t i = 0; i < compare->n_runs; i++) {
        tide_compare_run_column(table, i, unit, compare->runs[i].name, true);
        if (i > 0) {
            tide_compare_run_column(table, i, "ratio", "ratio", true);
        }
    }
}

double tide_compare_ratio(const tide_compare *compare, size_t run, double value, double base) {
    bool ended = !compare->runs[0].is_oom && !compare->runs[run].is_oom;
    return ended && value >= 0.0 && base > 0.0 ? value / base : -1.0;
}

static void bytes_row(tide_table *table, const tide_compare *compare, const char *label,
                      int64_t (*bytes_of)(const tide_compare_run *run, int which), int which) {
    TIDE_ROW(table, tide_as_text(label));
    for (size_t i = 0; i < compare->n_runs; i++) {
        int64_t n_bytes = bytes_of(&compare->runs[i], which);
        TIDE_CELLS(table, tide_as_bytes(n_bytes));
        if (i > 0) {
            TIDE_CELLS(table, tide_as_ratio(
                                  tide_compare_ratio(compare, i, (double)n_bytes,
                                                     (double)bytes_of(&compare->runs[0], which))));
        }
    }
}

static int64_t category_bytes(const tide_compare_run *run, int category) {
    return run->category_bytes[category];
}

static int64_t peak_bytes(const tide_compare_run *run, int which) {
    const int64_t bytes[TIDE_N_MAX] = {run->requested_bytes, run->allocated_bytes,
                                       run->active_bytes, run->reserved_bytes};
    return bytes[which];
}

static void footprint_table(tide_report *report, const tide_compare *compare) {
    tide_table *table = tide_report_table(report, "footprint", "Alive at the peak, by category");
    tide_table_column(table, "category", "category", false);
    tide_compare_run_columns(table, compare, "bytes");
    for (size_t i = 0; i < compare->n_categories; i++) {
        bool any = false;
        for (size_t j = 0; j < compare->n_runs; j++) {
            any = any || compare->runs[j].category_bytes[i] > 0;
        }
        if (any) {
            bytes_row(table, compare, compare->categories[i], category_bytes, (int)i);
        }
    }
    bytes_row(table, compare, "all", peak_bytes, TIDE_MAX_ALLOCATED);
}

static void peaks_table(tide_report *report, const tide_compare *compare) {
    tide_table *table = tide_report_table(report, "peaks", "Highest bytes");
    tide_table_column(table, "quantity", "bytes", false);
    tide_compare_run_columns(table, compare, "bytes");
    tide_table_column(table, "counted", "counted", false);
    for (int i = 0; i < TIDE_N_MAX; i++) {
        bytes_row(table, compare, tide_words_total(i), peak_bytes, i);
        TIDE_CELLS(table, tide_as_text(tide_words_total_rule(i)));
    }
}

/* A text that all runs have in common; NULL: they differ, or one lacks it. */
static const char *common_implementation(const tide_compare *compare) {
    const char *first = compare->runs[0].snapshot->run.implementation;
    for (size_t i = 1; i < compare->n_runs; i++) {
        if (strcmp(compare->runs[i].snapshot->run.implementation, first) != 0) {
            return NULL;
        }
    }
    return first[0] != '\0' ? first : NULL;
}

/* Reports the implementation: in a sentence if it is the same for all, not at all if the names of
 * the runs contain it, otherwise in a column of the table of runs. */
static bool is_implementation_said(tide_report *report, const tide_compare *compare) {
    const char *common = common_implementation(compare);
    bool is_any_unsaid = false;
    for (size_t i = 0; i < compare->n_runs; i++) {
        const tide_compare_run *run = &compare->runs[i];
        const char *words = tide_implementation_words(run->snapshot->run.implementation);
        is_any_unsaid = is_any_unsaid || strstr(run->name, words) == NULL;
    }
    if (common != NULL) {
        tide_report_say(report, "implementation", "all runs: %s",
                        tide_implementation_words(common));
    }
    return common != NULL || !is_any_unsaid;
}

static void outcome_table(tide_report *report, const tide_compare *compare) {
    bool has_column = !is_implementation_said(report, compare);
    tide_table *table = tide_report_table(report, "runs", "Runs");
    tide_table_column(table, "run", "run", false);
    if (has_column) {
        tide_table_column(table, "run_by", "run by", false);
    }
    TIDE_COLUMNS(table, TIDE_TEXT("file", "file"), TIDE_TEXT("outcome", "outcome"),
                 TIDE_TEXT("peak_phase", "peak in"), TIDE_TEXT("dominant", "most of it"),
                 TIDE_NUMBER("dropped_events", "lost events"));
    for (size_t i = 0; i < compare->n_runs; i++) {
        const tide_compare_run *run = &compare->runs[i];
        TIDE_ROW(table, tide_as_text(run->name));
        if (has_column) {
            const char *words = tide_implementation_words(run->snapshot->run.implementation);
            TIDE_CELLS(table, tide_as_text(words[0] != '\0' ? words : "not said"));
        }
        TIDE_CELLS(table, tide_as_text(run->label), tide_as_text(run->snapshot->run.outcome),
                   tide_as_text(run->device != NULL ? run->device->peak.phase : ""));
        char dominant[2 * KEY_BYTES] = "not recorded";
        if (run->device != NULL) {
            tide_compare_dominant_words(run, dominant, sizeof(dominant));
        }
        TIDE_CELLS(table, tide_as_text(dominant), tide_as_count((int64_t)run->snapshot->n_dropped));
    }
}

/* After the phase: median and deviation of each run, and for all except the base the ratio of the
 * means with half of its 95 % confidence interval. */
_Static_assert(1 + 4 * TIDE_COMPARE_MAX_RUNS - 2 <= TIDE_TABLE_MAX_COLUMNS,
               "a table has room for every run");

static void time_columns(tide_table *table, const tide_compare *compare) {
    for (size_t i = 0; i < compare->n_runs; i++) {
        tide_compare_run_column(table, i, "ms", compare->runs[i].name, true);
        tide_compare_run_column(table, i, "std_ms", "± sample std", true);
        if (i > 0) {
            tide_compare_run_column(table, i, "ratio", "ratio", true);
            tide_compare_run_column(table, i, "ratio_half_width", "± 95 %", true);
        }
    }
}

static bool any_time(const tide_compare *compare) {
    for (size_t i = 0; i < compare->n_runs; i++) {
        for (size_t j = 0; j < compare->n_times; j++) {
            if (compare->runs[i].times[j].ms.mean >= 0.0) {
                return true;
            }
        }
    }
    return false;
}

static bool has_forecast(const tide_compare *compare) {
    for (size_t i = 0; i < compare->n_runs; i++) {
        if (compare->runs[i].snapshot->forecast.card[0] != '\0') {
            return true;
        }
    }
    return false;
}

static void timing_table(tide_report *report, const tide_compare *compare) {
    if (!any_time(compare)) {
        tide_report_say(report, "timing", "timing: not computed in any of the runs");
        return;
    }
    const char *title = has_forecast(compare)
                            ? "Median time of a step's phases over all measured steps, and ratios "
                              "of the means; on virtual cards a forecast"
                            : "Median time of a step's phases, and ratios of the means";
    tide_table *table = tide_report_table(report, "timing", title);
    tide_table_column(table, "phase", "phase", false);
    time_columns(table, compare);
    for (size_t i = 0; i < compare->n_times; i++) {
        TIDE_ROW(table, tide_as_text(compare->runs[0].times[i].name));
        for (size_t j = 0; j < compare->n_runs; j++) {
            const tide_compare_time *time = &compare->runs[j].times[i];
            TIDE_CELLS(table, tide_as_ms(time->ms.median), tide_as_ms(time->ms.std));
            if (j > 0) {
                double ratio = tide_compare_ratio(compare, j, time->ms.mean,
                                                  compare->runs[0].times[i].ms.mean);
                TIDE_CELLS(table, tide_as_ratio(ratio),
                           tide_as_ratio(ratio < 0.0 ? -1.0 : time->to_base.half_width));
            }
        }
    }
}

/* Devices that had memory, without pinned memory of the host. */
static size_t count_used(const tide_summary *summary) {
    size_t n_used = 0;
    for (size_t i = 0; i < summary->n_devices; i++) {
        const tide_summary_device *device = &summary->devices[i];
        n_used += !device->is_pinned && device->max[TIDE_MAX_ALLOCATED].bytes > 0 ? 1 : 0;
    }
    return n_used;
}

static void say_warnings(tide_report *report, const tide_compare *compare) {
    for (size_t i = 0; i < compare->n_runs; i++) {
        const tide_snapshot *snapshot = compare->runs[i].snapshot;
        const char *name = compare->runs[i].name;
        if (compare->runs[i].is_oom) {
            tide_report_say(report, "oom",
                            "note: %s ran out of memory: its figures say how far it came, not what "
                            "it needs, so they have no ratios",
                            name);
        }
        tide_say_unfinished(report, snapshot, name);
        size_t n_used = count_used(compare->summaries[i]);
        if (n_used > 1) {
            tide_report_say(report, "devices",
                            "note: %s used %zu devices: compared is the one with the highest peak",
                            name, n_used);
        }
        if (snapshot->n_dropped > 0) {
            char words[TIDE_LOST_TEXT];
            tide_words_lost(snapshot, words);
            tide_report_say(report, "dropped", "warning: %s: %s: its figures may be too low", name,
                            words);
        }
        tide_say_emulated(report, tide_words_emulated(snapshot), name);
    }
}

/* Our own run and PyTorch's, tensor by tensor. */
static tide_status report_beside(tide_report *report, const tide_compare *compare, size_t top,
                                 tide_error *error) {
    tide_peak_tensors own;
    tide_peak_tensors pytorch = {.snapshot = NULL};
    tide_status status = tide_peak_tensors_init(&own, compare->runs[0].snapshot, error);
    if (status == TIDE_OK) {
        status = tide_peak_tensors_init(&pytorch, compare->runs[1].snapshot, error);
    }
    if (status == TIDE_OK) {
        tide_beside_report(report, "", &own, &pytorch, top);
    }
    tide_peak_tensors_fini(&pytorch);
    tide_peak_tensors_fini(&own);
    return status;
}

static const char PYTORCH[] = "pytorch:";

static bool names_pytorch(const char *operand) {
    return strncmp(operand, PYTORCH, sizeof(PYTORCH) - 1) == 0;
}

/* -1 if the operand is a file. */
static int edition_of(const char *operand) {
    return names_pytorch(operand) && tide_own_model_here != NULL
               ? tide_own_model_here->edition_of(operand + sizeof(PYTORCH) - 1)
               : -1;
}

/* An operand that means PyTorch must name a known edition and follow a run. */
static tide_status check_operands(const tide_operands *operands, tide_error *error) {
    for (size_t i = 0; i < operands->n; i++) {
        if (names_pytorch(operands->texts[i]) && tide_own_model_here == NULL) {
            return tide_own_model_refuse(operands->texts[i], error);
        }
        if (names_pytorch(operands->texts[i]) && edition_of(operands->texts[i]) < 0) {
            return tide_fail(error, TIDE_INVALID,
                             "%.64s: unknown edition: use pytorch:2025 or pytorch:2026",
                             operands->texts[i]);
        }
    }
    return TIDE_OK;
}

static void add_figures(tide_report *report, const tide_compare *compare) {
    tide_report_figure_count(report, "runs", (int64_t)compare->n_runs);
    for (size_t i = 0; i < compare->n_runs; i++) {
        const tide_compare_run *run = &compare->runs[i];
        double step_ms = -1.0;
        for (size_t t = 0; t < compare->n_times; t++) {
            step_ms = strcmp(run->times[t].name, "step") == 0 ? run->times[t].ms.median : step_ms;
        }
        const struct {
            const char *name;
            int64_t n_bytes;
        } BYTES[] = {{"requested_peak_bytes", run->requested_bytes},
                     {"allocated_peak_bytes", run->allocated_bytes},
                     {"active_peak_bytes", run->active_bytes},
                     {"reserved_peak_bytes", run->reserved_bytes}};
        for (size_t k = 0; k < sizeof(BYTES) / sizeof(BYTES[0]); k++) {
            tide_report_figure_bytes(report,
                                     tide_report_text(report, "run%zu_%s", i + 1, BYTES[k].name),
                                     BYTES[k].n_bytes);
        }
        tide_report_figure_ns_of_ms(report, tide_report_text(report, "run%zu_step_ns", i + 1),
                                    step_ms);
        tide_report_figure_count(report, tide_report_text(report, "run%zu_rank", i + 1),
                                 tide_compare_rank(run));
    }
}

static tide_status report_on(const tide_compare *compare, const compare_options *options,
                             const tide_compare_gates *gates, tide_error *error) {
    tide_compare_rows *rows = NULL;
    TIDE_TRY(tide_compare_rows_create(compare, &rows));
    tide_report report;
    tide_status status = TIDE_OK;
    tide_report_init(&report, "compare");
    add_figures(&report, compare);
    tide_report_say(&report, "comparison", "%s", compare->sentence);
    say_warnings(&report, compare);
    outcome_table(&report, compare);
    footprint_table(&report, compare);
    tide_compare_report_kinds(&report, compare, rows);
    tide_compare_report_rows(&report, compare, rows, (size_t)options->top);
    peaks_table(&report, compare);
    timing_table(&report, compare);
    tide_compare_report_losses(&report, compare);
    if (edition_of(compare->runs[1].label) >= 0) {
        status = report_beside(&report, compare, (size_t)options->top, error);
    }
    tide_compare_report_gates(&report, compare, gates);
    status = tide_report_end(&report, status, tide_format_chosen(&options->report), error);
    tide_compare_rows_destroy(rows);
    return status;
}

static tide_status compare_files(const tide_operands *files, const compare_options *options,
                                 const tide_compare_gates *gates, int *ret_exit,
                                 tide_error *error) {
    tide_compare_input inputs[TIDE_COMPARE_MAX_RUNS];
    tide_snapshot *snapshots[TIDE_COMPARE_MAX_RUNS] = {NULL};
    tide_compare *compare = NULL;
    tide_status status = TIDE_OK;
    for (size_t i = 0; i < files->n && status == TIDE_OK; i++) {
        int edition = i > 0 ? edition_of(files->texts[i]) : -1;
        status = edition < 0
                     ? tide_cli_load(files->texts[i], &options->load, &snapshots[i], error)
                     : tide_own_model_here->as_pytorch(snapshots[0], edition, &snapshots[i], error);
        if (status != TIDE_OK && edition >= 0) {
            tide_error_prefix(error, "%s: %s", files->texts[i], files->texts[0]);
        }
        /* A comparison with PyTorch's forecast is not about attention or another setting, so the
         * runs get these names. */
        const char *name = i == 0 ? "tidemark" : edition >= 0 ? "PyTorch" : NULL;
        inputs[i] =
            (tide_compare_input){files->texts[i], snapshots[i], files->n == 2 ? name : NULL};
    }
    if (status == TIDE_OK) {
        status = tide_compare_create(inputs, files->n, &compare, error);
    }
    if (status == TIDE_OK) {
        status = report_on(compare, options, gates, error);
    }
    if (status == TIDE_OK) {
        *ret_exit = tide_compare_say_gates(compare, gates);
    }
    tide_compare_destroy(compare);
    for (size_t i = 0; i < files->n; i++) {
        tide_snapshot_destroy(snapshots[i]);
    }
    return status;
}

static tide_status parse_gates(const tide_option_texts *texts, tide_compare_gates *gates,
                               tide_error *error) {
    for (gates->n = 0; gates->n < texts->n; gates->n++) {
        const char *text = texts->texts[gates->n];
        tide_status status = tide_gate_parse(text, &gates->gates[gates->n], error);
        if (status != TIDE_OK) {
            bool is_long = strlen(text) >= TIDE_GATE_TEXT_BYTES;
            tide_error_prefix(error, "--fail-if '%.*s%s'", is_long ? 40 : TIDE_GATE_TEXT_BYTES,
                              text, is_long ? "..." : "");
            return status;
        }
    }
    return TIDE_OK;
}

static int run(int argc, char **argv) {
    compare_options options = {.top = TIDE_DEFAULT_TOP};
    tide_operands operands = {.n = 0};
    tide_compare_gates gates = {.n = 0};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    if (!tide_cli_check_top("compare", options.top)) {
        return TIDE_EXIT_USAGE;
    }
    tide_error error = {""};
    tide_status status = parse_gates(&options.fail_if, &gates, &error);
    if (status == TIDE_OK) {
        status = check_operands(&operands, &error);
    }
    if (status == TIDE_OK) {
        status = compare_files(&operands, &options, &gates, &exit_status, &error);
    }
    return tide_cli_end("compare", status, &error, exit_status);
}

const tide_command tide_command_compare = {
    .name = "compare",
    .summary = "runs side by side: footprint by category, peaks, times, ratios",
    .options = &TABLE,
    .run = run,
};
