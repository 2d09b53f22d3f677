/* The repeats of a grid that was run several times: their average, and whether their memory agrees.
 */
#include <stdio.h>
#include <string.h>

#include "cli/sweep/internal.h"
#include "common/text/text.h"

enum { MAX_SAID = 16, DIFFERENCES_BYTES = 256 };

/* ---- figures other than times ---- */

/* The bytes and counts of a result that do not follow from its samples. */
static const size_t FIGURES[] = {
    offsetof(tide_run_result, memory.requested_peak_bytes),
    offsetof(tide_run_result, memory.allocated_peak_bytes),
    offsetof(tide_run_result, memory.reserved_peak_bytes),
    offsetof(tide_run_result, memory.n_retries),
    offsetof(tide_run_result, memory.spill_peak_bytes),
    offsetof(tide_run_result, memory.n_spilled),
    offsetof(tide_run_result, memory.spill_step),
    offsetof(tide_run_result, device_used_bytes),
    offsetof(tide_run_result, device_used_before_bytes),
    offsetof(tide_run_result, host_peak_bytes),
    offsetof(tide_run_result, program.n_steps),
    offsetof(tide_run_result, program.growing_passes),
    offsetof(tide_run_result, program.growing_bytes),
    offsetof(tide_run_result, program.margin_bytes),
    offsetof(tide_run_result, program.n_inexact),
};

/* Equal in all repeats of one configuration on one device, because every repeat makes the same
 * requests in the same order. */
static const struct {
    const char *name;
    size_t offset; /* in tide_run_result */
} PEAKS[] = {
    {"peak requested", offsetof(tide_run_result, memory.requested_peak_bytes)},
    {"peak allocated", offsetof(tide_run_result, memory.allocated_peak_bytes)},
    {"peak reserved", offsetof(tide_run_result, memory.reserved_peak_bytes)},
};

static int64_t figure_of(const tide_run_result *result, size_t offset) {
    return *(const int64_t *)(const void *)((const char *)result + offset);
}

/* ---- the average ---- */

/* The row of a repeat, from 0; NULL if there is none. */
static const tide_sweep_row *row_of(const tide_sweep *sweep, size_t cell, size_t repeat) {
    return sweep->rows[cell + repeat * tide_sweep_n_distinct(sweep)];
}

/* Copies the common values of the rows of one cell. */
static void copy_labels(const tide_sweep_row *from, tide_sweep_row *row) {
    tide_run_result own = row->result;
    *row = *from;
    row->result = own;
}

/* Figures in which the repeats do not agree are unknown in their average. */
static void forget_differences(const tide_sweep *sweep, size_t cell, tide_run_result *result) {
    for (size_t r = 0; r < sweep->n_repeats; r++) {
        const tide_sweep_row *row = row_of(sweep, cell, r);
        for (size_t i = 0; row != NULL && i < sizeof(FIGURES) / sizeof(FIGURES[0]); i++) {
            int64_t *figure = (int64_t *)(void *)((char *)result + FIGURES[i]);
            *figure = figure_of(&row->result, FIGURES[i]) == *figure ? *figure : -1;
        }
    }
}

tide_sweep_row *tide_sweep_average(const tide_sweep *sweep, size_t cell) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_run_result *results = tide_hostmem_zeroed(mem, sweep->n_repeats, sizeof(*results));
    const tide_sweep_row *first = NULL;
    tide_sweep_row *average = NULL;
    size_t n = 0;
    for (size_t r = 0; results != NULL && r < sweep->n_repeats; r++) {
        const tide_sweep_row *row = row_of(sweep, cell, r);
        if (row != NULL) {
            results[n++] = row->result; /* borrowed: they are only read */
            first = first != NULL ? first : row;
        }
    }
    average = first != NULL ? tide_sweep_row_create(cell, NULL) : NULL;
    if (average != NULL) {
        copy_labels(first, average);
        tide_run_result_fini(&average->result);
        tide_run_result_join(results, n, &average->result);
        tide_sweep_name_once(sweep, first->cell, average->name);
        average->cell = cell;
        average->result.started_unix_us = -1;
        average->result.snapshot_path[0] = '\0';
        if (average->result.outcome == TIDE_OUTCOME_COMPLETED) {
            forget_differences(sweep, cell, &average->result);
        }
    }
    mem->release(mem->ctx, results);
    return average;
}

/* ---- whether memory agrees ---- */

/* The least and the largest value among the repeats of the cell that completed. Returns their
 * number. */
static size_t find_range(const tide_sweep *sweep, size_t cell, size_t offset, int64_t *ret_least,
                         int64_t *ret_most) {
    size_t n = 0;
    for (size_t r = 0; r < sweep->n_repeats; r++) {
        const tide_sweep_row *row = row_of(sweep, cell, r);
        if (row == NULL || row->result.outcome != TIDE_OUTCOME_COMPLETED) {
            continue;
        }
        int64_t value = figure_of(&row->result, offset);
        *ret_least = n == 0 || value < *ret_least ? value : *ret_least;
        *ret_most = n == 0 || value > *ret_most ? value : *ret_most;
        n++;
    }
    return n;
}

/* Writes "peak allocated is 1 to 2 MiB". Returns the number of repeats that could be compared. */
static size_t list_differences(const tide_sweep *sweep, size_t cell, tide_report *report,
                               char text[DIFFERENCES_BYTES]) {
    tide_text to = tide_text_in(text, DIFFERENCES_BYTES);
    size_t n = 0;
    for (size_t i = 0; i < sizeof(PEAKS) / sizeof(PEAKS[0]); i++) {
        int64_t least = 0;
        int64_t most = 0;
        n = find_range(sweep, cell, PEAKS[i].offset, &least, &most);
        if (least != most) {
            tide_text_add_item(&to, ", ", "%s from %s to %s", PEAKS[i].name,
                               tide_report_bytes(report, least), tide_report_bytes(report, most));
        }
    }
    return n;
}

static void name_cell(const tide_sweep *sweep, size_t cell, char name[TIDE_RUN_NAME_BYTES]) {
    for (size_t r = 0; r < sweep->n_repeats; r++) {
        const tide_sweep_row *row = row_of(sweep, cell, r);
        if (row != NULL) {
            (void)snprintf(name, TIDE_RUN_NAME_BYTES, "%s", row->name);
            tide_sweep_name_once(sweep, row->cell, name);
            return;
        }
    }
}

void tide_sweep_say_repeats(const tide_sweep *sweep, tide_report *report) {
    size_t n_compared = 0;
    size_t n_differing = 0;
    if (sweep->n_repeats == 1) {
        return;
    }
    for (size_t cell = 0; cell < tide_sweep_n_distinct(sweep); cell++) {
        char text[DIFFERENCES_BYTES] = "";
        bool is_compared = list_differences(sweep, cell, report, text) > 1;
        n_compared += is_compared;
        if (text[0] != '\0' && n_differing++ < MAX_SAID) {
            char name[TIDE_RUN_NAME_BYTES] = "";
            name_cell(sweep, cell, name);
            tide_report_say(report, "repeat_memory",
                            "the repeats of %s differ in their memory%s: %s", name,
                            tide_sweep_is_program(sweep) ? "" : ", which should be equal", text);
        }
    }
    tide_report_figure_count(report, "cells_with_unequal_memory", (int64_t)n_differing);
    if (n_differing > MAX_SAID) {
        tide_report_say(report, "repeat_memory", "%zu more cells differ", n_differing - MAX_SAID);
    } else if (n_differing == 0 && n_compared > 0) {
        tide_report_say(report, "repeat_memory",
                        "memory: the three peaks are equal in all repeats of each cell that "
                        "completed");
    }
}
