/* The table of what a sweep found. People see the columns in which something stands; programs get
 * all of them. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/sweep/internal.h"

enum { DATE_BYTES = 32 };

/* ---- columns ---- */

/* What a cell of the table is made of. */
typedef struct source {
    const tide_sweep_row *row;
    size_t place; /* number of its environment; 0: none */
} source;

static void put_name(const source *from, tide_table *table) {
    tide_cell_text(table, from->row->name);
}
static void put_size(const source *from, tide_table *table) {
    tide_cell_text(table, from->row->size);
}
static void put_mode(const source *from, tide_table *table) {
    tide_cell_text(table, from->row->mode);
}
static void put_context(const source *from, tide_table *table) {
    if (from->row->attention[0] == '\0') { /* an MLP has neither */
        tide_cell_none(table);
    } else {
        tide_cell_count(table, from->row->context_length);
    }
}
static void put_batch(const source *from, tide_table *table) {
    tide_cell_count(table, from->row->batch_size);
}
static void put_precision(const source *from, tide_table *table) {
    tide_cell_text(table, from->row->precision);
}
static void put_attention(const source *from, tide_table *table) {
    tide_sweep_cell_words(table, from->row->attention);
}
static void put_recompute(const source *from, tide_table *table) {
    tide_sweep_cell_words(table, from->row->recompute);
}
static void put_outcome(const source *from, tide_table *table) {
    tide_cell_text(table, tide_trial_outcome_name((int)from->row->result.outcome));
}
#define PUT_TIME(phase, NUMBER)                                                                    \
    static void put_##phase(const source *from, tide_table *table) {                               \
        tide_cell_ms(table, from->row->result.ms[NUMBER].mean);                                    \
    }                                                                                              \
    static void put_##phase##_std(const source *from, tide_table *table) {                         \
        tide_cell_ms(table, from->row->result.ms[NUMBER].std);                                     \
    }
PUT_TIME(forward, TIDE_TIMED_FORWARD)
PUT_TIME(backward, TIDE_TIMED_BACKWARD)
PUT_TIME(optimizer, TIDE_TIMED_OPTIMIZER)
PUT_TIME(step, TIDE_TIMED_STEP)
static void put_tokens(const source *from, tide_table *table) {
    double rate = from->row->result.tokens_per_second;
    if (rate < 0.0) {
        tide_cell_none(table);
    } else {
        tide_cell_count(table, (int64_t)(rate + 0.5));
    }
}
static void put_tflops(const source *from, tide_table *table) {
    double flops = from->row->result.achieved_flops;
    tide_cell_ratio(table, flops < 0.0 ? -1.0 : flops * 1e-12);
}
static void put_stated(const source *from, tide_table *table) {
    double flops = from->row->result.stated_peak_flops;
    tide_cell_ratio(table, flops < 0.0 ? -1.0 : flops * 1e-12);
}
static void put_share(const source *from, tide_table *table) {
    double share = from->row->result.peak_share;
    if (share < 0.0) {
        tide_cell_none(table);
    } else {
        tide_cell_percent(table, 100.0 * share);
    }
}
#define PUT_BYTES(member)                                                                          \
    static void put_##member(const source *from, tide_table *table) {                              \
        tide_cell_bytes(table, from->row->result.member);                                          \
    }
PUT_BYTES(requested_peak_bytes)
PUT_BYTES(allocated_peak_bytes)
PUT_BYTES(reserved_peak_bytes)
PUT_BYTES(device_used_bytes)
PUT_BYTES(device_used_before_bytes)
PUT_BYTES(host_peak_bytes)
PUT_BYTES(asked_bytes)
PUT_BYTES(segment_bytes)
PUT_BYTES(free_bytes)
static void put_place(const source *from, tide_table *table) {
    if (from->place == 0) {
        tide_cell_none(table);
    } else {
        tide_cell_count(table, (int64_t)from->place);
    }
}

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
static void put_started(const source *from, tide_table *table) {
    char text[DATE_BYTES];
    tide_sweep_cell_words(table, format_date(from->row->result.started_unix_us, text));
}
static void put_snapshot(const source *from, tide_table *table) {
    tide_sweep_cell_words(table, from->row->result.snapshot_path);
}
static void put_reason(const source *from, tide_table *table) {
    tide_sweep_cell_words(table, from->row->result.reason);
}

/* When a column is shown to people; programs get all of them. */
typedef enum column_use {
    USE_ALWAYS,
    USE_VARIED,  /* where cells, or those of the whole grid, differ in it */
    USE_KNOWN,   /* where some cell has a value */
    USE_PROGRAMS /* never */
} column_use;

static const struct {
    const char *key;
    const char *title;
    bool is_number;
    column_use use;
    void (*put)(const source *from, tide_table *table);
    const char *list; /* of the grid, that it has a value of; NULL: of none */
} COLUMNS[] = {
    {"cell", "cell", false, USE_PROGRAMS, put_name, NULL},
    {"size", "size", false, USE_ALWAYS, put_size, NULL},
    {"mode", "mode", false, USE_VARIED, put_mode, "modes"},
    {"context_length", "context", true, USE_VARIED, put_context, "contexts"},
    {"batch_size", "batch", true, USE_VARIED, put_batch, "batches"},
    {"precision", "precision", false, USE_VARIED, put_precision, "precisions"},
    {"attention", "attention", false, USE_VARIED, put_attention, "attentions"},
    {"recompute", "recompute", false, USE_VARIED, put_recompute, "recomputes"},
    {"outcome", "outcome", false, USE_ALWAYS, put_outcome, NULL},
    {"forward_ms", "forward", true, USE_KNOWN, put_forward, NULL},
    {"forward_std_ms", "± sample std", true, USE_KNOWN, put_forward_std, NULL},
    {"backward_ms", "backward", true, USE_KNOWN, put_backward, NULL},
    {"backward_std_ms", "± sample std", true, USE_KNOWN, put_backward_std, NULL},
    {"optimizer_ms", "optimizer", true, USE_KNOWN, put_optimizer, NULL},
    {"optimizer_std_ms", "± sample std", true, USE_KNOWN, put_optimizer_std, NULL},
    {"step_ms", "step", true, USE_KNOWN, put_step, NULL},
    {"step_std_ms", "± sample std", true, USE_KNOWN, put_step_std, NULL},
    {"tokens_per_second", "tokens/s", true, USE_KNOWN, put_tokens, NULL},
    {"tflops", "TFLOP/s", true, USE_KNOWN, put_tflops, NULL},
    {"stated_peak_tflops", "stated peak, TFLOP/s", true, USE_PROGRAMS, put_stated, NULL},
    {"peak_percent", "of stated peak", true, USE_KNOWN, put_share, NULL},
    {"requested_peak_bytes", "peak requested", true, USE_KNOWN, put_requested_peak_bytes, NULL},
    {"allocated_peak_bytes", "peak allocated", true, USE_KNOWN, put_allocated_peak_bytes, NULL},
    {"reserved_peak_bytes", "peak reserved", true, USE_KNOWN, put_reserved_peak_bytes, NULL},
    {"device_used_bytes", "in use on device", true, USE_KNOWN, put_device_used_bytes, NULL},
    {"device_used_before_bytes", "in use before", true, USE_KNOWN, put_device_used_before_bytes,
     NULL},
    {"host_peak_bytes", "host peak", true, USE_KNOWN, put_host_peak_bytes, NULL},
    {"asked_bytes", "asked", true, USE_KNOWN, put_asked_bytes, NULL},
    {"segment_bytes", "in a segment of", true, USE_KNOWN, put_segment_bytes, NULL},
    {"free_bytes", "free", true, USE_KNOWN, put_free_bytes, NULL},
    {"environment", "environment", true, USE_VARIED, put_place, NULL},
    {"started", "started", false, USE_PROGRAMS, put_started, NULL},
    {"snapshot", "snapshot", false, USE_KNOWN, put_snapshot, NULL},
    {"reason", "reason", false, USE_PROGRAMS, put_reason, NULL},
};

enum { N_COLUMNS = sizeof(COLUMNS) / sizeof(COLUMNS[0]) };

static source source_of(const tide_sweep *sweep, const tide_sweep_places *found, size_t cell) {
    return (source){.row = sweep->rows[cell], .place = found->of_cell[cell]};
}

/* All columns, as a table that is not printed: what is in it decides which ones people see. */
static void fill(const tide_sweep *sweep, const tide_sweep_places *found,
                 const bool is_shown[N_COLUMNS], tide_table *table) {
    for (size_t c = 0; c < N_COLUMNS; c++) {
        bool is_rows = COLUMNS[c].put == put_tokens && tide_sweep_is_mlp(sweep);
        if (is_shown[c]) {
            tide_table_column(table, COLUMNS[c].key, is_rows ? "rows/s" : COLUMNS[c].title,
                              COLUMNS[c].is_number);
        }
    }
    for (size_t i = 0; i < sweep->n_cells; i++) {
        if (sweep->rows[i] == NULL) {
            continue;
        }
        source from = source_of(sweep, found, i);
        tide_table_row_begin(table);
        for (size_t c = 0; c < N_COLUMNS; c++) {
            if (is_shown[c]) {
                COLUMNS[c].put(&from, table);
            }
        }
    }
}

static bool is_same_cell(const tide_cell *a, const tide_cell *b) {
    return a->kind == b->kind && a->integer == b->integer &&
           (a->kind != TIDE_CELL_TEXT || strcmp(a->text, b->text) == 0);
}

/* Which columns people see, by what a table of all of them holds and what the grid varies. */
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
    bool is_for_programs = format == TIDE_FORMAT_CSV || format == TIDE_FORMAT_JSON;
    bool is_shown[N_COLUMNS];
    tide_sweep_places found;
    tide_report whole; /* every column; not printed to people */
    tide_report report;
    tide_report_init(&whole);
    tide_report_init(&report);
    tide_status status = tide_sweep_places_init(sweep, &found);
    for (size_t c = 0; c < N_COLUMNS; c++) {
        is_shown[c] = true;
    }
    if (status == TIDE_OK && !is_for_programs && sweep->n_rows > 0) {
        tide_table *all = tide_report_table(&whole, "cells", "");
        fill(sweep, &found, is_shown, all);
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
        fill(sweep, &found, is_shown, tide_report_table(&report, "cells", "cells"));
        tide_sweep_say_reasons(sweep, &report);
        if (is_for_programs) {
            tide_sweep_add_places(&found, &report);
        }
        status = tide_report_print(&report, format, out);
    }
    tide_report_fini(&report);
    tide_report_fini(&whole);
    tide_sweep_places_fini(&found);
    return status == TIDE_OK ? TIDE_OK
                             : tide_fail(error, status, "the host has no memory left for a table");
}
