/* What the runs have at their peaks, by layer kind and row by row. */
#include <stdio.h>
#include <string.h>

#include "cli/compare/internal.h"
#include "cli/snapshot_words.h"

enum { KEY_BYTES = 96, WORDS_BYTES = 512, LABEL_BYTES = 64, SHOWN_FRAMES = 3 };

/* Rows that are shown as one. */
typedef struct sum {
    int64_t bytes[TIDE_COMPARE_MAX_RUNS];    /* -1: not recorded */
    int64_t n_blocks[TIDE_COMPARE_MAX_RUNS]; /* per run */
    size_t n_rows;
} sum;

static void add(sum *to, const tide_compare_row *row, size_t n_runs) {
    for (size_t i = 0; i < n_runs; i++) {
        to->bytes[i] = row->bytes[i] < 0 ? -1 : to->bytes[i] + row->bytes[i];
        to->n_blocks[i] += row->n_blocks[i];
    }
    to->n_rows++;
}

static void kind_row(tide_table *table, const tide_compare *compare, const char *kind,
                     const char *category, const int64_t *bytes) {
    tide_table_row_begin(table);
    tide_cell_text(table, kind);
    tide_cell_text(table, category);
    for (size_t i = 0; i < compare->n_runs; i++) {
        tide_cell_bytes(table, bytes[i]);
        if (i > 0) {
            tide_cell_ratio(table,
                            tide_compare_ratio(compare, i, (double)bytes[i], (double)bytes[0]));
        }
    }
}

static void kind_rows(tide_table *table, const tide_compare *compare, const tide_compare_rows *rows,
                      int kind, int64_t *of_all) {
    int64_t of_kind[TIDE_COMPARE_MAX_RUNS] = {0};
    int n_shown = 0;
    for (size_t category = 0; category < compare->n_categories; category++) {
        int64_t bytes[TIDE_COMPARE_MAX_RUNS] = {0};
        bool any = false;
        for (size_t i = 0; i < compare->n_runs; i++) {
            bytes[i] = rows->kinds[i].bytes[kind][category];
            any = any || bytes[i] > 0;
            of_kind[i] = bytes[i] < 0 ? -1 : of_kind[i] + bytes[i];
            of_all[i] = bytes[i] < 0 ? -1 : of_all[i] + bytes[i];
        }
        if (any) {
            kind_row(table, compare, tide_layer_kind_name(kind), compare->categories[category],
                     bytes);
            n_shown++;
        }
    }
    if (n_shown > 0) {
        kind_row(table, compare, tide_layer_kind_name(kind), "all", of_kind);
    }
}

void tide_compare_report_kinds(tide_report *report, const tide_compare *compare,
                               const tide_compare_rows *rows) {
    int64_t of_all[TIDE_COMPARE_MAX_RUNS] = {0};
    tide_table *table =
        tide_report_table(report, "layer_kinds", "Alive at the peak, by layer kind and category");
    tide_table_column(table, "layer_kind", "layer kind", false);
    tide_table_column(table, "category", "category", false);
    tide_compare_run_columns(table, compare, "bytes");
    for (int kind = 0; kind < TIDE_N_LAYER_KINDS; kind++) {
        kind_rows(table, compare, rows, kind, of_all);
    }
    kind_row(table, compare, "all", "all", of_all);
}

/* Per run the bytes, beside the base difference and change, then the blocks; texts come last. */
_Static_assert(2 * TIDE_COMPARE_MAX_RUNS + 2 * (TIDE_COMPARE_MAX_RUNS - 1) + 4 <=
                   TIDE_TABLE_MAX_COLUMNS,
               "a table has room for every run");

static void row_columns(tide_table *table, const tide_compare *compare) {
    char key[KEY_BYTES];
    for (size_t i = 0; i < compare->n_runs; i++) {
        snprintf(key, sizeof(key), "run%zu_bytes", i + 1);
        tide_table_column(table, key, compare->runs[i].name, true);
        if (i > 0) {
            snprintf(key, sizeof(key), "run%zu_difference_bytes", i + 1);
            tide_table_column(table, key, "difference", true);
            snprintf(key, sizeof(key), "run%zu_change", i + 1);
            tide_table_column(table, key, "change", false);
        }
    }
    for (size_t i = 0; i < compare->n_runs; i++) {
        snprintf(key, sizeof(key), "run%zu_blocks", i + 1);
        tide_table_column(table, key, "blocks", true);
    }
    tide_table_column(table, "category", "category", false);
    tide_table_column(table, "name", "name", false);
    tide_table_column(table, "scope", "scope", false);
    tide_table_column(table, "stack", "call stack, innermost first", false);
}

static void row_figures(tide_table *table, const tide_compare *compare, const int64_t *bytes,
                        const int64_t *n_blocks, const tide_compare_row *row) {
    tide_table_row_begin(table);
    for (size_t i = 0; i < compare->n_runs; i++) {
        tide_cell_bytes(table, bytes[i]);
        if (i == 0) {
            continue;
        }
        if (bytes[0] < 0 || bytes[i] < 0) {
            tide_cell_none(table);
        } else {
            tide_cell_change(table, bytes[i] - bytes[0]);
        }
        tide_cell_text(
            table, row == NULL ? "" : tide_row_change_name((int)tide_compare_row_change(row, i)));
    }
    for (size_t i = 0; i < compare->n_runs; i++) {
        tide_cell_count(table, n_blocks[i]);
    }
}

/* Functions alone where lines do not count, as blocks of several lines stand in one row. */
static void stack_words(const tide_compare_row *row, char words[WORDS_BYTES]) {
    const tide_snapshot *snapshot = row->snapshot;
    uint32_t stack = row->stack;
    size_t n = 0;
    if (stack == TIDE_NONE || row->name[0] == '\0') {
        tide_words_stack(snapshot, stack, SHOWN_FRAMES, words, WORDS_BYTES);
        return;
    }
    for (int i = 0; i < SHOWN_FRAMES && stack != TIDE_NONE && n < WORDS_BYTES; i++) {
        uint32_t function = snapshot->frames[snapshot->stacks[stack].frame].function;
        const char *text = tide_snapshot_text(snapshot, function);
        n += (size_t)snprintf(words + n, WORDS_BYTES - n, "%s%.128s", i > 0 ? " < " : "",
                              text[0] != '\0' ? text : "?");
        stack = snapshot->stacks[stack].parent;
    }
    if (stack != TIDE_NONE && n < WORDS_BYTES) {
        snprintf(words + n, WORDS_BYTES - n, " < ...");
    }
}

static void one_row(tide_table *table, const tide_compare *compare, const tide_compare_row *row) {
    char words[WORDS_BYTES];
    row_figures(table, compare, row->bytes, row->n_blocks, row);
    tide_cell_text(table, compare->categories[row->category]);
    tide_cell_text(table, row->name);
    tide_cell_text(table, row->scope_path[0] != '\0' ? row->scope_path : "(outside every scope)");
    stack_words(row, words);
    tide_cell_text(table, words);
}

static void sum_row(tide_table *table, const tide_compare *compare, const sum *of,
                    const char *label) {
    row_figures(table, compare, of->bytes, of->n_blocks, NULL);
    tide_cell_text(table, label);
}

static void rest_row(tide_table *table, const tide_compare *compare, const sum *of,
                     const char *what) {
    char label[LABEL_BYTES];
    if (of->n_rows > 0) {
        snprintf(label, sizeof(label), "(%zu %s)", of->n_rows, what);
        sum_row(table, compare, of, label);
    }
}

void tide_compare_report_rows(tide_report *report, const tide_compare *compare,
                              const tide_compare_rows *rows, size_t top) {
    sum more = {.n_rows = 0};
    sum same = {.n_rows = 0};
    sum all = {.n_rows = 0};
    if (compare->runs[0].device == NULL) {
        tide_report_say(report, "rows",
                        "what differs at the peak: not known, as %s has no recorded allocations",
                        compare->runs[0].name);
        return;
    }
    tide_table *table =
        tide_report_table(report, "rows", "What differs at the peak, by category, name and place");
    row_columns(table, compare);
    for (size_t i = 0; i < rows->n_rows; i++) {
        const tide_compare_row *row = &rows->rows[i];
        bool differs = row->difference_bytes > 0;
        add(&all, row, compare->n_runs);
        if (differs && i < top) {
            one_row(table, compare, row);
        } else {
            add(differs ? &more : &same, row, compare->n_runs);
        }
    }
    rest_row(table, compare, &more, "more");
    rest_row(table, compare, &same, "the same");
    if (all.n_rows > 0) {
        sum_row(table, compare, &all, "all");
    }
}
