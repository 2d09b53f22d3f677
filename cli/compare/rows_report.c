/* The memory of the runs at their peaks, by kind of layer and row by row. */
#include <string.h>

#include "cli/compare/internal.h"
#include "cli/words/snapshot_words.h"
#include "common/text/text.h"

enum { WORDS_BYTES = 512, SHOWN_FRAMES = 3 };

/* Several rows that are shown as one. */
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
    TIDE_ROW(table, tide_as_text(kind), tide_as_text(category));
    for (size_t i = 0; i < compare->n_runs; i++) {
        TIDE_CELLS(table, tide_as_bytes(bytes[i]));
        if (i > 0) {
            TIDE_CELLS(table, tide_as_ratio(tide_compare_ratio(compare, i, (double)bytes[i],
                                                               (double)bytes[0])));
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
    TIDE_COLUMNS(table, TIDE_TEXT("layer_kind", "layer kind"), TIDE_TEXT("category", "category"));
    tide_compare_run_columns(table, compare, "bytes");
    for (int kind = 0; kind < TIDE_N_LAYER_KINDS; kind++) {
        kind_rows(table, compare, rows, kind, of_all);
    }
    kind_row(table, compare, "all", "all", of_all);
}

/* For each run its bytes and, except for the base, difference and change, then the blocks; texts
 * are last. */
_Static_assert(2 * TIDE_COMPARE_MAX_RUNS + 2 * (TIDE_COMPARE_MAX_RUNS - 1) + 4 <=
                   TIDE_TABLE_MAX_COLUMNS,
               "a table has room for every run");

static void row_columns(tide_table *table, const tide_compare *compare) {
    for (size_t i = 0; i < compare->n_runs; i++) {
        tide_compare_run_column(table, i, "bytes", compare->runs[i].name, true);
        if (i > 0) {
            tide_compare_run_column(table, i, "difference_bytes", "difference", true);
            tide_compare_run_column(table, i, "change", "change", false);
        }
    }
    for (size_t i = 0; i < compare->n_runs; i++) {
        tide_compare_run_column(table, i, "blocks", "blocks", true);
    }
    TIDE_COLUMNS(table, TIDE_TEXT("category", "category"), TIDE_TEXT("name", "name"),
                 TIDE_TEXT("scope", "scope"), TIDE_TEXT("stack", "call stack, innermost first"));
}

static void row_figures(tide_table *table, const tide_compare *compare, const int64_t *bytes,
                        const int64_t *n_blocks, const tide_compare_row *row) {
    tide_table_row_begin(table);
    for (size_t i = 0; i < compare->n_runs; i++) {
        TIDE_CELLS(table, tide_as_bytes(bytes[i]));
        if (i == 0) {
            continue;
        }
        TIDE_CELLS(
            table,
            bytes[0] < 0 || bytes[i] < 0 ? tide_as_none() : tide_as_change(bytes[i] - bytes[0]),
            tide_as_text(row == NULL ? ""
                                     : tide_row_change_name((int)tide_compare_row_change(row, i))));
    }
    for (size_t i = 0; i < compare->n_runs; i++) {
        TIDE_CELLS(table, tide_as_count(n_blocks[i]));
    }
}

/* Only functions if lines are ignored, because one row then has blocks of several lines. */
static const char *stack_words(tide_report *report, const tide_compare_row *row) {
    const tide_snapshot *snapshot = row->snapshot;
    uint32_t stack = row->stack;
    char words[WORDS_BYTES];
    tide_text to = tide_text_in(words, sizeof(words));
    if (stack == TIDE_NONE || row->name[0] == '\0') {
        return tide_report_stack(report, snapshot, stack, SHOWN_FRAMES);
    }
    for (int i = 0; i < SHOWN_FRAMES && stack != TIDE_NONE; i++) {
        uint32_t function = snapshot->frames[snapshot->stacks[stack].frame].function;
        const char *text = tide_snapshot_text(snapshot, function);
        tide_text_add_item(&to, " < ", "%.128s", text[0] != '\0' ? text : "?");
        stack = snapshot->stacks[stack].parent;
    }
    tide_text_add(&to, "%s", stack != TIDE_NONE ? " < ..." : "");
    return tide_report_text(report, "%s", words);
}

static void one_row(tide_report *report, tide_table *table, const tide_compare *compare,
                    const tide_compare_row *row) {
    row_figures(table, compare, row->bytes, row->n_blocks, row);
    TIDE_CELLS(table, tide_as_text(compare->categories[row->category]), tide_as_text(row->name),
               tide_as_text(tide_words_scope(row->scope_path)),
               tide_as_text(stack_words(report, row)));
}

static void sum_row(tide_table *table, const tide_compare *compare, const sum *of,
                    const char *label) {
    row_figures(table, compare, of->bytes, of->n_blocks, NULL);
    TIDE_CELLS(table, tide_as_text(label));
}

static void rest_row(tide_report *report, tide_table *table, const tide_compare *compare,
                     const sum *of, const char *what) {
    if (of->n_rows > 0) {
        sum_row(table, compare, of, tide_report_text(report, "(%zu %s)", of->n_rows, what));
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
            one_row(report, table, compare, row);
        } else {
            add(differs ? &more : &same, row, compare->n_runs);
        }
    }
    rest_row(report, table, compare, &more, "more");
    rest_row(report, table, compare, &same, "the same");
    if (all.n_rows > 0) {
        sum_row(table, compare, &all, "all");
    }
}
