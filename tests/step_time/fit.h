/* fit.h - fits the constants of programs/step_time/ to published times, and reports the errors.
 *
 * A published time is a row of ../shared/facts/step-times.csv. The launches of its configuration
 * are in a launch log, FOLDER/SIZE-CONTEXT-PRECISION.launches, with "fp32" also for TF32: both have
 * the same log, except for the mode of the library, which is set here.
 */
#ifndef TESTS_STEP_TIME_FIT_H
#define TESTS_STEP_TIME_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/step_time/forecast.h"

enum { FIT_MAX_ROWS = 512, FIT_MAX_TRACES = 128, FIT_MAX_SESSIONS = 64, FIT_TEXT = 96 };

/* The launches of one step of a configuration. */
typedef struct fit_trace {
    char name[FIT_TEXT]; /* "small-128-fp32" */
    tide_time_log log;
    tide_time_ranges ranges;
    size_t first[TIDE_TIME_N_PHASES], last[TIDE_TIME_N_PHASES]; /* rows of the step's phases */
    size_t *same; /* by row: the first row that does the same work */
    /* Room for predictions, by row; the search makes some 100,000 of them. */
    tide_work_time *work, *once;
    uint32_t *zeros;
    bool *is_done;
} fit_trace;

/* A published time. */
typedef struct fit_row {
    char source[FIT_TEXT], card[FIT_TEXT], size[FIT_TEXT], precision[FIT_TEXT], phase[FIT_TEXT];
    int context;
    double published_ms;
    size_t session; /* times of one host */
    fit_trace *trace;
    tide_time_card rates;
    bool is_left_out, is_used; /* of the source that is left out; it gave the host's scalar */
    tide_time_totals last;     /* of the last prediction */
} fit_row;

typedef struct fit_data {
    fit_row rows[FIT_MAX_ROWS];
    size_t n_rows;
    fit_trace traces[FIT_MAX_TRACES];
    size_t n_traces;
    char sessions[FIT_MAX_SESSIONS][FIT_TEXT];
    size_t n_sessions;
} fit_data;

/* Reads the table and the logs of its configurations; prints on stderr what is missing. False on
 * failure. has_stated_host: the host's time of a launch is a stated one (fit_rows.c), so that
 * errors do not depend on the load of the machine; else the logs' time. */
bool fit_read(const char *times, const char *folder, bool has_stated_host, fit_data *data);

/* Milliseconds of a row with the host's factor; fills row->last. */
double fit_predict(fit_row *row, const tide_time_constants *constants, double factor);

/* Changes constants and factors so that the rows that are not left out fit best. */
void fit_search(fit_data *data, tide_time_constants *constants, double factors[FIT_MAX_SESSIONS]);

/* The factor of each session, from its row that the host bounds most. */
void fit_calibrate(fit_data *data, const tide_time_constants *constants, bool only_left_out,
                   double factors[FIT_MAX_SESSIONS]);

#endif
