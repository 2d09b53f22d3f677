/* kernel_table.h - comparisons by family, from forecasts of times that were left out of the fit,
 * and whether their intervals hold.
 */
#ifndef TESTS_STEP_TIME_KERNEL_TABLE_H
#define TESTS_STEP_TIME_KERNEL_TABLE_H

#include "step_time/kernel_cases.h"

/* Forecasts of all cases, each with the constants of a fit that left it out. */
typedef struct kernel_results {
    const kernel_cases *cases;
    kernel_forecast of[MOST_KERNEL_CASES];
    size_t group[MOST_KERNEL_CASES]; /* cases that were left out together */
} kernel_results;

enum { KERNEL_NO_GROUP = MOST_KERNEL_CASES };

/* Whether errors of the case are those of its kernels. */
bool kernel_counts(const kernel_results *results, size_t i);
/* The slot with the most of the case's time; TIDE_TIME_N_SLOTS: the rest. */
size_t kernel_main_slot(const kernel_forecast *of);

/* The comparisons by slot, without the cases of a group. */
void kernel_table_make(const kernel_results *results, size_t without,
                       tide_time_comparison ret_table[TIDE_TIME_N_SLOTS]);
/* The comparison of all kernels of do_bench together. */
tide_time_comparison kernel_comparison_of_all(const kernel_results *results);

/* The interval that answers print for the case: the sum of its rows' intervals. never: of the rest.
 */
void kernel_interval(const kernel_forecast *of, const tide_time_comparison *table,
                     const tide_time_comparison *never, double *ret_least, double *ret_most);

const char *kernel_family_name(size_t family);
/* Prints compared_table.c. */
void kernel_table_say(const tide_time_comparison *table, const tide_time_comparison *never);

/* Whether the table is that of the program, compared_table.c, whose numbers are rounded. Prints
 * each difference. */
bool kernel_table_agrees(const tide_time_comparison *table, const tide_time_comparison *never);

/* The value at that share of the way through n sorted ones. */
double kernel_quantile(const double *sorted, size_t n, double at);
void kernel_sort(double *values, size_t n);

#endif
