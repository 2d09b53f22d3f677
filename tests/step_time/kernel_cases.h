/* kernel_cases.h - published times of kernels and of steps, each with the launches that it covers.
 *
 * The table has a line for each time: launch log, number of the pair of events, how it was
 * measured, program, card, published microseconds. The launches between the two events of the pair
 * are those of the measured program, run on a virtual card. The table is made by hand: the programs
 * of tests/published/programs print no launches.
 */
#ifndef TESTS_STEP_TIME_KERNEL_CASES_H
#define TESTS_STEP_TIME_KERNEL_CASES_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/step_time/log.h"
#include "programs/step_time/work.h"

enum { KERNEL_TEXT = 96, MOST_KERNEL_CASES = 2048, MOST_KERNEL_LOGS = 32, KERNEL_FOLDS = 5 };

/* A launch, and how often the case has it one after the other. */
typedef struct kernel_case {
    char program[KERNEL_TEXT], card_name[KERNEL_TEXT], config[2 * KERNEL_TEXT];
    bool is_bench; /* of triton's do_bench; else a step in a loop */
    bool is_old;   /* with PyTorch 2.4, whose kernels differ from those of the log */
    double published_us;
    const tide_run_launch *rows; /* of the log */
    size_t n_rows;
    tide_time_card card;
    unsigned fold;    /* by the program and its configuration */
    double weight;    /* in the fit; 0: not fitted */
    bool may_be_host; /* a slow host's launches take longer than the kernels */
    bool is_left_out; /* of the fit under way */
    double us;        /* the last forecast */
    double us_of[64]; /* the same by kind of work, as kernel_kind_of */
} kernel_case;

/* How do_bench shows kernels: the cache holds other data that must be written back first, and the
 * host's launches are hidden in the time of the fill that came before. */
typedef struct kernel_bench {
    double evicted;      /* bytes written back for each byte that displaces them */
    double event_us;     /* of a pair of events */
    double old_row_us;   /* softmax_row_us of PyTorch 2.4 */
    double launch_us[3]; /* the host's time of a launch: A100, H100 SXM, other hosts */
} kernel_bench;

typedef struct kernel_cases {
    kernel_case cases[MOST_KERNEL_CASES];
    size_t n;
    char paths[MOST_KERNEL_LOGS][4 * KERNEL_TEXT];
    tide_time_log logs[MOST_KERNEL_LOGS];
    size_t n_logs;
} kernel_cases;

/* False: a file is missing or does not fit the table; the message is on stderr. */
bool kernel_cases_read(const char *table, kernel_cases *cases);

/* The forecast in microseconds; fills in us and us_of. */
double kernel_case_predict(kernel_case *of, const tide_time_constants *constants,
                           const kernel_bench *bench);

/* Kinds of work: families of kernels, and after them the other kinds of launches. */
size_t kernel_kind_of(const tide_run_launch *row);
const char *kernel_kind_name(size_t kind);
/* The kind with the most time. */
size_t kernel_case_kind(const kernel_case *of);

#endif
