/* The table of a sweep. People see the columns that are not empty; programs get all columns. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/sweep/internal.h"

enum { DATE_BYTES = 32 };

/* ---- columns ---- */

/* The data of the cells of a row. */
typedef struct source {
    const tide_sweep_row *row;
    tide_sweep_row *average;  /* owned by the rows of the table; NULL: the row is not an average */
    size_t place;             /* number of its environment; 0: none, or several */
    char repeat[24];          /* its number, or "average"; "": no repeats */
    char started[DATE_BYTES]; /* 2026-01-31T12:00:00Z; "": unknown */
} source;

static tide_cell outcome_cell(const source *from) {
    return tide_as_text(tide_outcome_name((int)from->row->result.outcome));
}

/* "near": less is left than what is not measured. */
static tide_cell fits_cell(const source *from) {
    const tide_run_result *result = &from->row->result;
    if (result->outcome == TIDE_OUTCOME_OOM) {
        return tide_as_text("no");
    }
    if (result->outcome != TIDE_OUTCOME_COMPLETED) {
        return tide_as_none();
    }
    return tide_as_text(result->program.is_near == 1 ? "near" : "yes");
}

static tide_cell repeat_cell(const source *from) {
    return tide_as_words(from->repeat);
}

static tide_cell place_cell(const source *from) {
    return from->place != 0 ? tide_as_count((int64_t)from->place) : tide_as_none();
}

static tide_cell start_cell(const source *from) {
    return tide_as_words(from->started);
}

/* An MLP has neither context nor attention. */
static tide_cell context_cell(const source *from) {
    return from->row->attention[0] != '\0' ? tide_as_count(from->row->context_length)
                                           : tide_as_none();
}

/* When a column is shown to people; programs get all columns. */
typedef enum column_use {
    USE_ALWAYS,
    USE_VARIED,  /* if the cells that were run, or those of the whole grid, differ in it */
    USE_KNOWN,   /* if some cell has a value */
    USE_PROGRAMS /* never */
} column_use;

/* The sweeps that have the column. */
typedef enum column_of { OF_BOTH = 0, OF_MODELS, OF_PROGRAMS } column_of;

#define FIELD(key, title, kind, member)                                                            \
    { (key), (title), TIDE_FIELD_##kind, offsetof(tide_sweep_row, member) }
/* A figure of the result, a time with its deviation, and a value that a list of the grid varies. */
#define KNOWN(key, title, kind, member)                                                            \
    { FIELD(key, title, kind, result.member), USE_KNOWN, NULL, NULL, OF_BOTH }
#define OF_COMMAND(key, title, kind, member)                                                       \
    { FIELD(key, title, kind, result.program.member), USE_KNOWN, NULL, NULL, OF_PROGRAMS }
#define OF_MODEL(key, title, kind, member)                                                         \
    { FIELD(key, title, kind, result.program.member), USE_KNOWN, NULL, NULL, OF_MODELS }
#define TIMES(name, phase)                                                                         \
    KNOWN(name "_ms", name, MS, ms[phase].mean),                                                   \
        KNOWN(name "_std_ms", "± sample std", MS, ms[phase].std)
#define LISTED(name, list)                                                                         \
    { FIELD(#name, #name, CHARS, name), USE_VARIED, list, NULL, OF_MODELS }

static const struct {
    tide_field field; /* of tide_sweep_row */
    column_use use;
    const char *list;                      /* of the grid, which has its values; NULL: none */
    tide_cell (*cell)(const source *from); /* in place of the field's member; NULL: the member */
    column_of of;
} COLUMNS[] = {
    {FIELD("cell", "cell", CHARS, name), USE_PROGRAMS, NULL, NULL, OF_BOTH},
    {FIELD("card", "card", CHARS, device), USE_VARIED, "devices", NULL, OF_PROGRAMS},
    {FIELD("size", "size", CHARS, size), USE_ALWAYS, NULL, NULL, OF_MODELS},
    LISTED(mode, "modes"),
    {{"context_length", "context", TIDE_FIELD_COUNT, 0},
     USE_VARIED,
     "contexts",
     context_cell,
     OF_MODELS},
    {FIELD("batch_size", "batch", COUNT, batch_size), USE_VARIED, "batches", NULL, OF_MODELS},
    LISTED(precision, "precisions"),
    LISTED(attention, "attentions"),
    LISTED(recompute, "recomputes"),
    {{"repeat", "repeat", TIDE_FIELD_TEXT, 0}, USE_VARIED, NULL, repeat_cell, OF_BOTH},
    {{"outcome", "outcome", TIDE_FIELD_TEXT, 0}, USE_ALWAYS, NULL, outcome_cell, OF_BOTH},
    TIMES("forward", TIDE_TIMED_FORWARD),
    TIMES("backward", TIDE_TIMED_BACKWARD),
    TIMES("optimizer", TIDE_TIMED_OPTIMIZER),
    TIMES("step", TIDE_TIMED_STEP),
    KNOWN("tokens_per_second", "tokens/s", RATE, tokens_per_second),
    KNOWN("tflops", "TFLOP/s", TERA, achieved_flops),
    {FIELD("stated_peak_tflops", "stated peak, TFLOP/s", TERA, result.stated_peak_flops),
     USE_PROGRAMS, NULL, NULL, OF_BOTH},
    KNOWN("peak_percent", "of stated peak", SHARE, peak_share),
    OF_COMMAND("steps_done", "steps", COUNT, n_steps),
    OF_COMMAND("forecast_step_ms", "step, forecast", MS, step_ms),
    OF_COMMAND("forecast_step_low_ms", "at least", MS, step_low_ms),
    OF_COMMAND("forecast_step_high_ms", "at most", MS, step_high_ms),
    {FIELD("forecast_host", "host of the forecast", CHARS, result.program.host), USE_PROGRAMS, NULL,
     NULL, OF_PROGRAMS},
    KNOWN("requested_peak_bytes", "peak requested", BYTES, memory.requested_peak_bytes),
    KNOWN("allocated_peak_bytes", "peak allocated", BYTES, memory.allocated_peak_bytes),
    KNOWN("reserved_peak_bytes", "peak reserved", BYTES, memory.reserved_peak_bytes),
    OF_COMMAND("margin_bytes", "left", BYTES, margin_bytes),
    {{"fits", "fits", TIDE_FIELD_TEXT, 0}, USE_PROGRAMS, NULL, fits_cell, OF_PROGRAMS},
    {FIELD("unmeasured_bytes", "not measured", BYTES, result.program.unmeasured_bytes),
     USE_PROGRAMS, NULL, NULL, OF_PROGRAMS},
    OF_COMMAND("inexact_calls", "inexact calls", COUNT, n_inexact),
    KNOWN("spill_peak_bytes", "in the host's memory", BYTES, memory.spill_peak_bytes),
    KNOWN("device_used_bytes", "in use on device", BYTES, device_used_bytes),
    KNOWN("device_used_before_bytes", "in use before", BYTES, device_used_before_bytes),
    KNOWN("host_peak_bytes", "host peak", BYTES, host_peak_bytes),
    KNOWN("asked_bytes", "asked", BYTES, asked_bytes),
    KNOWN("segment_bytes", "in a segment of", BYTES, segment_bytes),
    KNOWN("free_bytes", "free", BYTES, free_bytes),
    /* For our own models these were added later, and programs count columns. */
    OF_MODEL("forecast_step_ms", "step, forecast", MS, step_ms),
    OF_MODEL("forecast_step_low_ms", "at least", MS, step_low_ms),
    OF_MODEL("forecast_step_high_ms", "at most", MS, step_high_ms),
    KNOWN("forecast_bound", "bound by", CHARS, program.step_bound),
    {{"environment", "environment", TIDE_FIELD_COUNT, 0}, USE_VARIED, NULL, place_cell, OF_BOTH},
    {{"started", "started", TIDE_FIELD_TEXT, 0}, USE_PROGRAMS, NULL, start_cell, OF_BOTH},
    KNOWN("snapshot", "snapshot", CHARS, snapshot_path),
    {FIELD("reason", "reason", CHARS, result.reason), USE_PROGRAMS, NULL, NULL, OF_BOTH},
};

enum {
    LAST_NAME = 1, /* the values of a program follow its card */
    N_COLUMNS = sizeof(COLUMNS) / sizeof(COLUMNS[0])
};

static bool has_column(const tide_sweep *sweep, size_t column) {
    return COLUMNS[column].of == OF_BOTH ||
           tide_sweep_is_program(sweep) == (COLUMNS[column].of == OF_PROGRAMS);
}

/* ---- rows ---- */

/* The rows of the table: for each cell its repeats, and then their average. */
typedef struct lines {
    source *items; /* owned, with their averages */
    size_t n;
} lines;

static void lines_fini(lines *all) {
    for (size_t i = 0; i < all->n; i++) {
        tide_sweep_row_destroy(all->items[i].average);
    }
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, all->items);
}

static source source_of(const tide_sweep *sweep, const tide_sweep_places *found, size_t cell) {
    source from = {.row = sweep->rows[cell], .place = found->of_cell[cell], .started = ""};
    int64_t unix_us = from.row->result.started_unix_us;
    time_t seconds = (time_t)(unix_us / 1000000);
    struct tm parts;
    if (unix_us >= 0 && gmtime_r(&seconds, &parts) != NULL) {
        (void)strftime(from.started, DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    return from;
}

static tide_status add_average(const tide_sweep *sweep, size_t cell, lines *to) {
    tide_sweep_row *average = tide_sweep_average(sweep, cell);
    if (average == NULL) {
        return TIDE_NO_MEMORY;
    }
    source from = {.row = average, .average = average, .repeat = "average"};
    for (size_t i = to->n;
         i > 0 && to->items[i - 1].row->cell % tide_sweep_n_distinct(sweep) == cell; i--) {
        size_t place = to->items[i - 1].place;
        from.place = i == to->n || from.place == place ? place : 0;
    }
    to->items[to->n++] = from;
    return TIDE_OK;
}

static tide_status lines_init(const tide_sweep *sweep, const tide_sweep_places *found, lines *ret) {
    size_t n_distinct = tide_sweep_n_distinct(sweep);
    ret->items = tide_hostmem_zeroed(tide_hostmem_default(), sweep->n_cells + n_distinct,
                                     sizeof(*ret->items));
    if (ret->items == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t cell = 0; cell < n_distinct; cell++) {
        size_t n_before = ret->n;
        for (size_t r = 0; r < sweep->n_repeats; r++) {
            size_t at = cell + r * n_distinct;
            if (sweep->rows[at] == NULL) {
                continue;
            }
            source from = source_of(sweep, found, at);
            if (sweep->n_repeats > 1) {
                (void)snprintf(from.repeat, sizeof(from.repeat), "%zu", r + 1);
            }
            ret->items[ret->n++] = from;
        }
        if (ret->n > n_before + 1) { /* a single row has no average */
            TIDE_TRY(add_average(sweep, cell, ret));
        }
    }
    return TIDE_OK;
}

static tide_cell cell_of(size_t column, const source *from) {
    return COLUMNS[column].cell != NULL ? COLUMNS[column].cell(from)
                                        : tide_as_field(&COLUMNS[column].field, from->row);
}

/* Fills a table with the columns that are shown. */
static void fill(const tide_sweep *sweep, const tide_sweep_places *found, const lines *all,
                 const bool is_shown[N_COLUMNS], bool with_places, tide_table *table) {
    for (size_t c = 0; c < N_COLUMNS; c++) {
        tide_field field = COLUMNS[c].field;
        bool is_rows = field.kind == TIDE_FIELD_RATE && tide_sweep_is_mlp(sweep);
        field.title = is_rows ? "rows/s" : field.title;
        tide_table_fields(table, &field, is_shown[c] ? 1 : 0);
        if (c == LAST_NAME && tide_sweep_is_program(sweep)) {
            tide_sweep_value_columns(sweep, table);
        }
    }
    if (with_places) {
        tide_sweep_place_columns(table);
    }
    for (size_t i = 0; i < all->n; i++) {
        const source *from = &all->items[i];
        tide_table_row_begin(table);
        for (size_t c = 0; c < N_COLUMNS; c++) {
            if (is_shown[c]) {
                TIDE_CELLS(table, cell_of(c, from));
            }
            if (c == LAST_NAME && tide_sweep_is_program(sweep)) {
                tide_sweep_value_cells(sweep, from->row, table);
            }
        }
        if (with_places && from->place > 0) {
            tide_sweep_place_cells(table, &found->places[from->place - 1]);
        }
    }
}

static bool is_same_cell(tide_cell a, tide_cell b) {
    return a.kind == b.kind && a.integer == b.integer &&
           (a.kind != TIDE_CELL_TEXT || strcmp(a.text, b.text) == 0);
}

/* Chooses the columns that people see, by the cells of all rows and the varied values of the
 * grid. */
static void choose(const tide_sweep *sweep, const lines *all, bool is_shown[N_COLUMNS]) {
    for (size_t c = 0; c < N_COLUMNS; c++) {
        is_shown[c] = COLUMNS[c].use == USE_ALWAYS ||
                      (COLUMNS[c].use == USE_VARIED && COLUMNS[c].list != NULL &&
                       tide_sweep_varies(sweep, COLUMNS[c].list));
    }
    for (size_t i = 0; i < all->n; i++) {
        for (size_t c = 0; c < N_COLUMNS; c++) {
            tide_cell cell = cell_of(c, &all->items[i]);
            is_shown[c] =
                is_shown[c] || (COLUMNS[c].use == USE_KNOWN && cell.kind != TIDE_CELL_NONE) ||
                (COLUMNS[c].use == USE_VARIED && !is_same_cell(cell, cell_of(c, &all->items[0])));
        }
    }
}

/* ---- the report ---- */

tide_status tide_sweep_print(const tide_sweep *sweep, tide_format format, FILE *out,
                             tide_error *error) {
    bool is_for_programs = tide_format_is_for_programs(format);
    bool is_shown[N_COLUMNS];
    tide_sweep_places found;
    lines all = {.n = 0};
    tide_report report;
    tide_report_init(&report, "sweep");
    tide_status status = tide_sweep_places_init(sweep, &found);
    if (status == TIDE_OK) {
        status = lines_init(sweep, &found, &all);
    }
    for (size_t c = 0; c < N_COLUMNS; c++) {
        is_shown[c] = true;
    }
    if (status == TIDE_OK) {
        tide_sweep_say(sweep, !is_for_programs, &report);
        if (!is_for_programs) {
            tide_sweep_say_places(&found, &report);
        }
        if (!is_for_programs && sweep->n_rows > 0) {
            choose(sweep, &all, is_shown);
        }
        for (size_t c = 0; c < N_COLUMNS; c++) {
            is_shown[c] = is_shown[c] && has_column(sweep, c);
        }
        fill(sweep, &found, &all, is_shown, is_for_programs,
             tide_report_table(&report, "cells", "cells"));
        tide_sweep_say_repeats(sweep, &report);
        tide_sweep_say_reasons(sweep, &report);
        status = tide_report_print(&report, format, out, stderr, error);
    }
    tide_report_fini(&report);
    lines_fini(&all);
    tide_sweep_places_fini(&found);
    return status == TIDE_NO_MEMORY
               ? tide_fail(error, status, "the host has no memory left for a table")
               : status;
}
