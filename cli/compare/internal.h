/* internal.h - the parts of `tidemark compare`: the memory of the runs at their peaks, losses,
 * conditions.
 */
#ifndef TIDE_CLI_COMPARE_INTERNAL_H
#define TIDE_CLI_COMPARE_INTERNAL_H

#include "cli/options/options.h"
#include "report/table.h"
#include "snapshot/compare/compare.h"
#include "snapshot/compare/compare_rows.h"
#include "snapshot/compare/gate.h"

/* A column of a run of that index: its key is "run2_bytes" for the second and "bytes". */
void tide_compare_run_column(tide_table *table, size_t run, const char *unit, const char *title,
                             bool is_number);

/* A column per run, and after each run but the base a column for the ratio. */
void tide_compare_run_columns(tide_table *table, const tide_compare *compare, const char *unit);

/* -1: no ratio, also if one of the two runs ran out of memory, because its bytes only show how far
 * it got. */
double tide_compare_ratio(const tide_compare *compare, size_t run, double value, double base);

/* By layer kind and category. */
void tide_compare_report_kinds(tide_report *report, const tide_compare *compare,
                               const tide_compare_rows *rows);

/* The `top` rows that differ most; further rows sum up the others, so the column of each run adds
 * up to its last row. */
void tide_compare_report_rows(tide_report *report, const tide_compare *compare,
                              const tide_compare_rows *rows, size_t top);

/* Losses of the first and last steps, and where they begin to differ; nothing if no run has any. */
void tide_compare_report_losses(tide_report *report, const tide_compare *compare);

/* The conditions of --fail-if. */
typedef struct tide_compare_gates {
    size_t n;
    tide_gate gates[TIDE_OPTION_LIST_ITEMS];
} tide_compare_gates;

/* A row for each condition and each run except the base. */
void tide_compare_report_gates(tide_report *report, const tide_compare *compare,
                               const tide_compare_gates *gates);

/* One line on stderr for each condition that holds or cannot be judged. Returns the exit status: 4
 * if any holds, otherwise 1 if any cannot be judged. */
int tide_compare_say_gates(const tide_compare *compare, const tide_compare_gates *gates);

#endif
