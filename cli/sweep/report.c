/* The table of a sweep. People see the columns that are not empty; programs get all columns. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/figures.h"
#include "cli/sweep/internal.h"

enum { DATE_BYTES = 32 };

/* ---- columns ---- */

/* What a cell of the table is made of. */
typedef struct source {
    const tide_sweep_row *row;
    size_t place; /* number of its environment; 0: none */
} source;

/* What a column shows of a row: a figure of its result, or one of those below. */
typedef enum column_kind {
    SHOWS_MS = TIDE_FIGURE_MS,
    SHOWS_RATE = TIDE_FIGURE_RATE,
    SHOWS_TERA = TIDE_FIGURE_TERA,
    SHOWS_SHARE = TIDE_FIGURE_SHARE,
    SHOWS_BYTES = TIDE_FIGURE_BYTES,
    SHOWS_TEXT,  /* char[]; "" is none */
    SHOWS_COUNT, /* int64_t */
    SHOWS_CONTEXT,
    SHOWS_OUTCOME,
    SHOWS_PLACE,
    SHOWS_START
} column_kind;

/* When a column is shown to people; programs get all of them. */
typedef enum column_use {
    USE_ALWAYS,
    USE_VARIED,  /* if the cells that were run, or those of the whole grid, differ in it */
    USE_KNOWN,   /* if some cell has a value */
    USE_PROGRAMS /* never */
} column_use;

static const struct {
    const char *key;
    const char *title;
    bool is_number;
    column_use use;
    column_kind kind;
    size_t offset;    /* of what is shown, in tide_sweep_row; 0 where the kind knows it */
    const char *list; /* the list of the grid that has its values; NULL: none */
} COLUMNS[] = {
    {"cell", "cell", false, USE_PROGRAMS, SHOWS_TEXT, offsetof(tide_sweep_row, name), NULL},
    {"size", "size", false, USE_ALWAYS, SHOWS_TEXT, offsetof(tide_sweep_row, size), NULL},
    {"mode", "mode", false, USE_VARIED, SHOWS_TEXT, offsetof(tide_sweep_row, mode), "modes"},
    {"context_length", "context", true, USE_VARIED, SHOWS_CONTEXT,
     offsetof(tide_sweep_row, context_length), "contexts"},
    {"batch_size", "batch", true, USE_VARIED, SHOWS_COUNT, offsetof(tide_sweep_row, batch_size),
     "batches"},
    {"precision", "precision", false, USE_VARIED, SHOWS_TEXT, offsetof(tide_sweep_row, precision),
     "precisions"},
    {"attention", "attention", false, USE_VARIED, SHOWS_TEXT, offsetof(tide_sweep_row, attention),
     "attentions"},
    {"recompute", "recompute", false, USE_VARIED, SHOWS_TEXT, offsetof(tide_sweep_row, recompute),
     "recomputes"},
    {"outcome", "outcome", false, USE_ALWAYS, SHOWS_OUTCOME, 0, NULL},
    {"forward_ms", "forward", true, USE_KNOWN, SHOWS_MS,
     offsetof(tide_sweep_row, result.ms[TIDE_TIMED_FORWARD].mean), NULL},
    {"forward_std_ms", "± sample std", true, USE_KNOWN, SHOWS_MS,
     offsetof(tide_sweep_row, result.ms[TIDE_TIMED_FORWARD].std), NULL},
    {"backward_ms", "backward", true, USE_KNOWN, SHOWS_MS,
     offsetof(tide_sweep_row, result.ms[TIDE_TIMED_BACKWARD].mean), NULL},
    {"backward_std_ms", "± sample std", true, USE_KNOWN, SHOWS_MS,
     offsetof(tide_sweep_row, result.ms[TIDE_TIMED_BACKWARD].std), NULL},
    {"optimizer_ms", "optimizer", true, USE_KNOWN, SHOWS_MS,
     offsetof(tide_sweep_row, result.ms[TIDE_TIMED_OPTIMIZER].mean), NULL},
    {"optimizer_std_ms", "± sample std", true, USE_KNOWN, SHOWS_MS,
     offsetof(tide_sweep_row, result.ms[TIDE_TIMED_OPTIMIZER].std), NULL},
    {"step_ms", "step", true, USE_KNOWN, SHOWS_MS,
     offsetof(tide_sweep_row, result.ms[TIDE_TIMED_STEP].mean), NULL},
    {"step_std_ms", "± sample std", true, USE_KNOWN, SHOWS_MS,
     offsetof(tide_sweep_row, result.ms[TIDE_TIMED_STEP].std), NULL},
    {"tokens_per_second", "tokens/s", true, USE_KNOWN, SHOWS_RATE,
     offsetof(tide_sweep_row, result.tokens_per_second), NULL},
    {"tflops", "TFLOP/s", true, USE_KNOWN, SHOWS_TERA,
     offsetof(tide_sweep_row, result.achieved_flops), NULL},
    {"stated_peak_tflops", "stated peak, TFLOP/s", true, USE_PROGRAMS, SHOWS_TERA,
     offsetof(tide_sweep_row, result.stated_peak_flops), NULL},
    {"peak_percent", "of stated peak", true, USE_KNOWN, SHOWS_SHARE,
     offsetof(tide_sweep_row, result.peak_share), NULL},
    {"requested_peak_bytes", "peak requested", true, USE_KNOWN, SHOWS_BYTES,
     offsetof(tide_sweep_row, result.memory.requested_peak_bytes), NULL},
    {"allocated_peak_bytes", "peak allocated", true, USE_KNOWN, SHOWS_BYTES,
     offsetof(tide_sweep_row, result.memory.allocated_peak_bytes), NULL},
    {"reserved_peak_bytes", "peak reserved", true, USE_KNOWN, SHOWS_BYTES,
     offsetof(tide_sweep_row, result.memory.reserved_peak_bytes), NULL},
    {"device_used_bytes", "in use on device", true, USE_KNOWN, SHOWS_BYTES,
     offsetof(tide_sweep_row, result.device_used_bytes), NULL},
    {"device_used_before_bytes", "in use before", true, USE_KNOWN, SHOWS_BYTES,
     offsetof(tide_sweep_row, result.device_used_before_bytes), NULL},
    {"host_peak_bytes", "host peak", true, USE_KNOWN, SHOWS_BYTES,
     offsetof(tide_sweep_row, result.host_peak_bytes), NULL},
    {"asked_bytes", "asked", true, USE_KNOWN, SHOWS_BYTES,
     offsetof(tide_sweep_row, result.asked_bytes), NULL},
    {"segment_bytes", "in a segment of", true, USE_KNOWN, SHOWS_BYTES,
     offsetof(tide_sweep_row, result.segment_bytes), NULL},
    {"free_bytes", "free", true, USE_KNOWN, SHOWS_BYTES,
     offsetof(tide_sweep_row, result.free_bytes), NULL},
    {"environment", "environment", true, USE_VARIED, SHOWS_PLACE, 0, NULL},
    {"started", "started", false, USE_PROGRAMS, SHOWS_START, 0, NULL},
    {"snapshot", "snapshot", false, USE_KNOWN, SHOWS_TEXT,
     offsetof(tide_sweep_row, result.snapshot_path), NULL},
    {"reason", "reason", false, USE_PROGRAMS, SHOWS_TEXT, offsetof(tide_sweep_row, result.reason),
     NULL},
};

enum { N_COLUMNS = sizeof(COLUMNS) / sizeof(COLUMNS[0]) };

/* 2026-01-31T12:00:00Z; "" unknown. */
static const char *format_date(int64_t unix_us, char text[DATE_BYTES]) {
    time_t seconds = (time_t)(unix_us / 1000000);
    struct tm parts;
    text[0] = '\0';
    if (unix_us >= 0 && gmtime_r(&seconds, &parts) != NULL) {
        (void)strftime(text, DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    return text;
}
static void put_count(bool is_known, int64_t count, tide_table *table) {
    if (is_known) {
        tide_cell_count(table, count);
    } else {
        tide_cell_none(table);
    }
}

static void put(size_t column, const source *from, tide_table *table) {
    const char *member = (const char *)from->row + COLUMNS[column].offset;
    char date[DATE_BYTES];
    int64_t whole = 0;
    switch (COLUMNS[column].kind) {
    case SHOWS_TEXT:
        tide_sweep_cell_words(table, member);
        break;
    case SHOWS_OUTCOME:
        tide_cell_text(table, tide_outcome_name((int)from->row->result.outcome));
        break;
    case SHOWS_PLACE:
        put_count(from->place != 0, (int64_t)from->place, table);
        break;
    case SHOWS_START:
        tide_sweep_cell_words(table, format_date(from->row->result.started_unix_us, date));
        break;
    case SHOWS_CONTEXT: /* an MLP has neither context nor attention */
        put_count(from->row->attention[0] != '\0', from->row->context_length, table);
        break;
    case SHOWS_COUNT:
        memcpy(&whole, member, sizeof(whole));
        tide_cell_count(table, whole);
        break;
    default:
        tide_figure_cell(
            &(tide_figure){.kind = (tide_figure_kind)COLUMNS[column].kind,
                           .offset = COLUMNS[column].offset - offsetof(tide_sweep_row, result)},
            &from->row->result, table);
        break;
    }
}

static source source_of(const tide_sweep *sweep, const tide_sweep_places *found, size_t cell) {
    return (source){.row = sweep->rows[cell], .place = found->of_cell[cell]};
}

/* Fills a table with the columns that are shown. */
static void fill(const tide_sweep *sweep, const tide_sweep_places *found,
                 const bool is_shown[N_COLUMNS], bool with_places, tide_table *table) {
    for (size_t c = 0; c < N_COLUMNS; c++) {
        bool is_rows = COLUMNS[c].kind == SHOWS_RATE && tide_sweep_is_mlp(sweep);
        if (is_shown[c]) {
            tide_table_column(table, COLUMNS[c].key, is_rows ? "rows/s" : COLUMNS[c].title,
                              COLUMNS[c].is_number);
        }
    }
    if (with_places) {
        tide_sweep_place_columns(table);
    }
    for (size_t i = 0; i < sweep->n_cells; i++) {
        if (sweep->rows[i] == NULL) {
            continue;
        }
        source from = source_of(sweep, found, i);
        tide_table_row_begin(table);
        for (size_t c = 0; c < N_COLUMNS; c++) {
            if (is_shown[c]) {
                put(c, &from, table);
            }
        }
        if (with_places && from.place > 0) {
            tide_sweep_place_cells(table, &found->places[from.place - 1]);
        }
    }
}

static bool is_same_cell(const tide_cell *a, const tide_cell *b) {
    return a->kind == b->kind && a->integer == b->integer &&
           (a->kind != TIDE_CELL_TEXT || strcmp(a->text, b->text) == 0);
}

/* Chooses the columns that people see, by the cells of a table with all columns and by what the
 * grid varies. */
static void choose(const tide_sweep *sweep, const tide_table *all, bool is_shown[N_COLUMNS]) {
    for (size_t c = 0; c < N_COLUMNS; c++) {
        bool is_known = false;
        bool is_varied = COLUMNS[c].list != NULL && tide_sweep_varies(sweep, COLUMNS[c].list);
        for (const tide_table_row *row = all->first; row != NULL; row = row->next) {
            is_known = is_known || row->cells[c].kind != TIDE_CELL_NONE;
            is_varied = is_varied || !is_same_cell(&row->cells[c], &all->first->cells[c]);
        }
        is_shown[c] = COLUMNS[c].use == USE_ALWAYS || (COLUMNS[c].use == USE_VARIED && is_varied) ||
                      (COLUMNS[c].use == USE_KNOWN && is_known);
    }
}

/* ---- the report ---- */

tide_status tide_sweep_print(const tide_sweep *sweep, tide_format format, FILE *out,
                             tide_error *error) {
    bool is_for_programs = tide_format_is_for_programs(format);
    bool is_shown[N_COLUMNS];
    tide_sweep_places found;
    tide_report whole; /* has every column: its cells decide which ones people see */
    tide_report report;
    tide_report_init(&whole, "sweep");
    tide_report_init(&report, "sweep");
    tide_status status = tide_sweep_places_init(sweep, &found);
    for (size_t c = 0; c < N_COLUMNS; c++) {
        is_shown[c] = true;
    }
    if (status == TIDE_OK && !is_for_programs && sweep->n_rows > 0) {
        tide_table *all = tide_report_table(&whole, "cells", "");
        fill(sweep, &found, is_shown, false, all);
        if (whole.no_memory) {
            status = TIDE_NO_MEMORY;
        } else {
            choose(sweep, all, is_shown);
        }
    }
    if (status == TIDE_OK) {
        tide_sweep_say(sweep, !is_for_programs, &report);
        if (!is_for_programs) {
            tide_sweep_say_places(&found, &report);
        }
        fill(sweep, &found, is_shown, is_for_programs,
             tide_report_table(&report, "cells", "cells"));
        tide_sweep_say_reasons(sweep, &report);
        status = tide_report_print(&report, format, out, stderr, error);
    }
    tide_report_fini(&report);
    tide_report_fini(&whole);
    tide_sweep_places_fini(&found);
    return status == TIDE_NO_MEMORY
               ? tide_fail(error, status, "the host has no memory left for a table")
               : status;
}
