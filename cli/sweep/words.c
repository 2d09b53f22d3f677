/* The sentences around the table of a sweep. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/words/snapshot_words.h"
#include "cli/sweep/internal.h"
#include "cli/time_runs.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "common/text/text.h"
#include "snapshot/document/implementation.h"

enum { WORDS_BYTES = 512, MAX_REASONS = 16 };

static const cJSON *grid_item(const tide_sweep *sweep, const char *key) {
    const cJSON *grid = cJSON_GetObjectItemCaseSensitive(sweep->header, "grid");
    return cJSON_GetObjectItemCaseSensitive(grid, key);
}

static double grid_number(const tide_sweep *sweep, const char *key) {
    const cJSON *item = grid_item(sweep, key);
    return cJSON_IsNumber(item) ? item->valuedouble : -1.0;
}

static const char *grid_text(const tide_sweep *sweep, const char *key) {
    const cJSON *item = grid_item(sweep, key);
    return cJSON_IsString(item) ? item->valuestring : "?";
}

static bool grid_flag(const tide_sweep *sweep, const char *key) {
    return cJSON_IsTrue(grid_item(sweep, key));
}

static bool is_virtual(const tide_sweep *sweep) {
    return strncmp(grid_text(sweep, "device"), "virtual", strlen("virtual")) == 0;
}

bool tide_sweep_is_mlp(const tide_sweep *sweep) {
    return strcmp(grid_text(sweep, "workload"), "mlp") == 0;
}

bool tide_sweep_varies(const tide_sweep *sweep, const char *list) {
    return cJSON_GetArraySize(grid_item(sweep, list)) > 1;
}

/* The only item of a list of the grid; NULL if it has several. */
static const cJSON *grid_only(const tide_sweep *sweep, const char *key) {
    const cJSON *list = grid_item(sweep, key);
    return cJSON_GetArraySize(list) == 1 ? cJSON_GetArrayItem(list, 0) : NULL;
}

/* "320 completed, 40 out of memory" */
static void count_outcomes(const tide_sweep *sweep, char text[WORDS_BYTES]) {
    tide_text to = tide_text_in(text, WORDS_BYTES);
    for (int outcome = 0; outcome < TIDE_N_OUTCOMES; outcome++) {
        size_t n = 0;
        for (size_t i = 0; i < sweep->n_cells; i++) {
            n += sweep->rows[i] != NULL && (int)sweep->rows[i]->result.outcome == outcome;
        }
        if (n > 0) {
            tide_text_add_item(&to, ", ", "%zu %s", n, tide_outcome_name(outcome));
        }
    }
}

/* Reports the common values of all cells, because no column shows them. */
static void say_common(const tide_sweep *sweep, tide_report *report) {
    static const struct {
        const char *key;
        const char *word;
    } LISTS[] = {
        {"modes", "mode"},           {"contexts", "context"},     {"batches", "batch"},
        {"precisions", "precision"}, {"attentions", "attention"}, {"recomputes", "recompute"},
    };
    char text[WORDS_BYTES];
    tide_text to = tide_text_in(text, sizeof(text));
    for (size_t i = 0; i < sizeof(LISTS) / sizeof(LISTS[0]); i++) {
        const cJSON *only = grid_only(sweep, LISTS[i].key);
        if (cJSON_IsString(only)) {
            tide_text_add_item(&to, ", ", "%s %.64s", LISTS[i].word, only->valuestring);
        } else if (cJSON_IsNumber(only)) {
            tide_text_add_item(&to, ", ", "%s %.0f", LISTS[i].word, only->valuedouble);
        }
    }
    if (is_virtual(sweep)) {
        bool is_pytorch = strcmp(grid_text(sweep, "residuals"), "eager") == 0;
        tide_text_add_item(&to, ", ", "%s", is_pytorch ? TIDE_WORDS_PYTORCH : TIDE_WORDS_OWN);
    }
    if (grid_flag(sweep, "keep_graph")) {
        tide_text_add_item(&to, ", ", "the graph is kept");
    }
    if (grid_number(sweep, "memory_limit_bytes") >= 0.0) {
        tide_text_add_item(
            &to, ", ", "memory limit %s",
            tide_report_bytes(report, (int64_t)grid_number(sweep, "memory_limit_bytes")));
    }
    if (grid_number(sweep, "spill_bytes") > 0.0) {
        tide_text_add_item(&to, ", ", "%s more in the host's memory",
                           tide_report_bytes(report, (int64_t)grid_number(sweep, "spill_bytes")));
    }
    if (text[0] != '\0') {
        tide_report_say(report, "common", "every cell: %s", text);
    }
}

static void say_times(const tide_sweep *sweep, bool has_times, tide_report *report) {
    if (!has_times) {
        char words[TIDE_TIME_WORDS] = "times: none, because no cell completed";
        tide_time_runs forecasts = {.n = 0};
        for (size_t i = 0; i < sweep->n_cells; i++) {
            if (sweep->rows[i] != NULL) {
                tide_time_runs_add(&forecasts, &sweep->rows[i]->result);
            }
        }
        if (is_virtual(sweep)) {
            tide_time_runs_words(&forecasts, grid_text(sweep, "device"), words);
        }
        tide_report_say(report, "times", "%s", words);
        return;
    }
    double steps = grid_number(sweep, "steps");
    tide_report_say(report, "times",
                    "times: mean%s of %.0f measured step%s after %.0f of warm-up, by the "
                    "device's clock",
                    steps > 1.0 ? " and sample standard deviation" : "", steps,
                    steps > 1.0 ? "s" : "", grid_number(sweep, "warmup_steps"));
    tide_report_say(report, "tflops",
                    "TFLOP/s: matrix products of a step by the closed form, those of a "
                    "recomputation left out, over the step's mean time");
}

/* The common values of all rows, and the meaning of their times. */
static void say_kind(const tide_sweep *sweep, bool for_people, bool has_times,
                     tide_report *report) {
    if (tide_sweep_is_program(sweep)) {
        tide_sweep_say_program(sweep, report);
        return;
    }
    if (for_people) {
        say_common(sweep, report);
    }
    say_times(sweep, has_times, report);
}

void tide_sweep_say(const tide_sweep *sweep, bool for_people, tide_report *report) {
    char outcomes[WORDS_BYTES];
    bool has_times = false;
    bool has_use = false;
    unsigned emulated = 0;
    int64_t n_completed = 0;
    int64_t n_oom = 0;
    for (size_t i = 0; i < sweep->n_cells; i++) {
        const tide_sweep_row *row = sweep->rows[i];
        if (row == NULL) {
            continue;
        }
        bool is_timed = row->result.ms[TIDE_TIMED_STEP].mean >= 0.0;
        n_completed += row->result.outcome == TIDE_OUTCOME_COMPLETED;
        n_oom += row->result.outcome == TIDE_OUTCOME_OOM;
        has_times = has_times || is_timed;
        has_use = has_use || row->result.device_used_bytes >= 0;
        if (is_timed && strcmp(row->result.environment.device_kind, "cpu") == 0) {
            emulated |= tide_emulated_types(row->precision);
        }
    }
    tide_report_figure_count(report, "cells", (int64_t)sweep->n_cells);
    tide_report_figure_count(report, "rows", (int64_t)sweep->n_rows);
    tide_report_figure_count(report, "completed_rows", n_completed);
    tide_report_figure_count(report, "oom_rows", n_oom);
    count_outcomes(sweep, outcomes);
    tide_report_say(report, "sweep", "%zu of %zu %s on %s%s%s", sweep->n_rows, sweep->n_cells,
                    tide_plural(sweep->n_cells, "cell", "cells"), grid_text(sweep, "device"),
                    outcomes[0] != '\0' ? ": " : "", outcomes);
    if (sweep->n_repeats > 1) {
        tide_report_figure_count(report, "repeats", (int64_t)sweep->n_repeats);
        tide_report_say(report, "repeats",
                        "%zu repeats of %zu %s: a row for each, and then their average, which is "
                        "that of all their measured steps",
                        sweep->n_repeats, tide_sweep_n_distinct(sweep),
                        tide_plural(tide_sweep_n_distinct(sweep), "cell", "cells"));
    }
    say_kind(sweep, for_people, has_times, report);
    tide_say_emulated(report, emulated, NULL);
    if (has_use) {
        bool is_cpu = strcmp(grid_text(sweep, "device"), "cpu") == 0;
        tide_report_say(
            report, "device_used",
            "in use on device: %s; in use before: at its beginning; current use, not peaks",
            is_virtual(sweep) ? "context, libraries and what was bought, as the card would count "
                                "it at the end of a cell"
            : is_cpu          ? "what a cell itself has bought of the host's memory at its end"
                              : "what the whole device has in use by its own count at the end of "
                                "a cell, other processes included");
    }
    if (grid_flag(sweep, "recorded") && !tide_sweep_is_program(sweep)) {
        tide_report_say(report, "recorded", "every allocation was recorded, which takes time");
    }
}

void tide_sweep_say_reasons(const tide_sweep *sweep, tide_report *report) {
    const tide_sweep_row *firsts[MAX_REASONS];
    size_t counts[MAX_REASONS];
    size_t n = 0;
    for (size_t i = 0; i < sweep->n_cells; i++) {
        const tide_sweep_row *row = sweep->rows[i];
        /* Cells that did not fit have their figures in the table. */
        if (row == NULL || row->result.outcome == TIDE_OUTCOME_COMPLETED ||
            row->result.outcome == TIDE_OUTCOME_OOM ||
            row->result.outcome == TIDE_OUTCOME_NO_HOST) {
            continue;
        }
        size_t at = 0;
        while (at < n && (firsts[at]->result.outcome != row->result.outcome ||
                          strcmp(firsts[at]->result.reason, row->result.reason) != 0)) {
            at++;
        }
        if (at == n && n < MAX_REASONS) {
            firsts[n] = row;
            counts[n++] = 0;
        }
        if (at < n) {
            counts[at]++;
        }
    }
    for (size_t i = 0; i < n; i++) {
        char others[64] = "";
        if (counts[i] > 1) {
            (void)snprintf(others, sizeof(others), " and %zu more", counts[i] - 1);
        }
        tide_report_say(report, "reason", "%s%s: %s: %s", firsts[i]->name, others,
                        tide_outcome_name((int)firsts[i]->result.outcome),
                        firsts[i]->result.reason);
    }
}
