/* kernel_cases.h - published times of kernels and of steps, each with the launches that it covers.
 *
 * The table has a line for each time: launch log, number of the pair of events, how it was
 * measured, program, card, published microseconds. The launches between the two events of the pair
 * are those of the measured program, run on a virtual card. make_kernel_logs.py makes the logs and
 * this table from cases.tsv, which names the published rows.
 */
#ifndef TESTS_STEP_TIME_KERNEL_CASES_H
#define TESTS_STEP_TIME_KERNEL_CASES_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/step_time/compared.h"
#include "programs/step_time/log.h"
#include "programs/step_time/work.h"

enum { KERNEL_TEXT = 96, MOST_KERNEL_CASES = 2048, MOST_KERNEL_LOGS = 32, KERNEL_FOLDS = 5 };

/* Launches of the same work. */
typedef struct kernel_launches {
    const tide_run_launch *row; /* of the log */
    double n;
} kernel_launches;

/* How do_bench shows kernels: the cache holds other data that must be written back first, and the
 * host's launches are hidden in the time of the fill that came before. */
typedef struct kernel_bench {
    double evicted;      /* bytes written back for each byte that displaces them */
    double event_us;     /* of a pair of events */
    double old_row_us;   /* row_us of softmax of PyTorch 2.4 */
    double launch_us[3]; /* the host's time of a launch: A100, H100 SXM, other hosts */
} kernel_bench;

/* What is fitted. */
typedef struct kernel_parameters {
    tide_time_constants constants;
    kernel_bench bench;
} kernel_parameters;

typedef struct kernel_case {
    char program[KERNEL_TEXT], card_name[KERNEL_TEXT], config[2 * KERNEL_TEXT];
    bool is_bench; /* of triton's do_bench; else a step in a loop */
    bool is_old;   /* with PyTorch 2.4, whose kernels differ from those of the log */
    double published_us;
    kernel_launches *launches; /* of a bench in their order; of a step each work once */
    size_t n_launches;
    tide_time_card card;
    unsigned fold;    /* by the program and its configuration */
    double weight;    /* in the fit; 0: not fitted */
    bool is_left_out; /* of the fit under way */
} kernel_case;

/* A forecast of a case. */
typedef struct kernel_forecast {
    double us;
    double us_of[TIDE_TIME_N_SLOTS + 1]; /* by the row's comparison (compared.h), and last of rows
                                          * that have none */
    bool may_be_host;                    /* a slow host's launches take longer than the kernels */
} kernel_forecast;

typedef struct kernel_cases {
    kernel_case cases[MOST_KERNEL_CASES];
    size_t n;
    char paths[MOST_KERNEL_LOGS][4 * KERNEL_TEXT];
    tide_time_log logs[MOST_KERNEL_LOGS];
    size_t n_logs;
} kernel_cases;

/* False: a file is missing or does not fit the table; the message is on stderr. */
bool kernel_cases_read(const char *table, kernel_cases *cases);

/* The forecast in microseconds. */
double kernel_case_us(const kernel_case *of, const kernel_parameters *with);
/* The same with its parts. */
void kernel_case_forecast(const kernel_case *of, const kernel_parameters *with,
                          kernel_forecast *ret_forecast);

#endif
