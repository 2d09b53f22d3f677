/* fit_step_time TIMES.csv FOLDER [--measured-host]: fits the constants of
 * programs/step_time/constants.c and prints them, and the errors by source, card and regime, also
 * of sources that are left out of the fit. The host's time of a launch is a stated one
 * (fit_rows.c), unless that of the logs is requested. fit_step_time TIMES.csv FOLDER --check MEDIAN
 * P90: nothing is fitted. The constants of the program are compared with the table, with the stated
 * host, so that the errors are the same on every machine; status 1 if they are larger than these,
 * in percent. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step_time/fit.h"

typedef struct errors {
    double percent[FIT_MAX_ROWS];
    size_t n;
} errors;

static int by_value(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Returns whether the errors are within those bounds. */
static bool say(const char *title, errors *of, double most_median, double most_ninth) {
    if (of->n == 0) {
        return true;
    }
    qsort(of->percent, of->n, sizeof(of->percent[0]), by_value);
    double at = 0.9 * (double)(of->n - 1);
    size_t below = (size_t)at;
    double ninth = of->percent[below];
    if (below + 1 < of->n) {
        ninth += (at - (double)below) * (of->percent[below + 1] - ninth);
    }
    double median = (of->percent[(of->n - 1) / 2] + of->percent[of->n / 2]) / 2.0;
    (void)printf("%-48s n %3zu  median %5.1f  p90 %5.1f  worst %5.1f\n", title, of->n, median,
                 ninth, of->percent[of->n - 1]);
    return median <= most_median && ninth <= most_ninth;
}

static const char *regime_of(const fit_row *row) {
    return row->last.host_us > 1.1 * row->last.busy_us   ? "host"
           : row->last.host_us > 0.7 * row->last.busy_us ? "mixed"
                                                         : "GPU";
}

/* The errors of the rows with `wanted` in one of their words. */
static bool say_of(fit_data *data, const char *title, const char *wanted, bool left_out,
                   double most_median, double most_ninth) {
    errors of = {.n = 0};
    for (size_t i = 0; i < data->n_rows; i++) {
        const fit_row *row = &data->rows[i];
        char words[6 * FIT_TEXT];
        (void)snprintf(words, sizeof(words), "%s|%s|%s|%s|%s|", row->source, row->card,
                       row->precision, row->phase, regime_of(row));
        if (!row->is_used && (!left_out || row->is_left_out) && strstr(words, wanted) != NULL) {
            of.percent[of.n++] = 100.0 * fabs(row->last.total_us * 1e-3 / row->published_ms - 1.0);
        }
    }
    char line[128];
    (void)snprintf(line, sizeof(line), "%s %s", title, wanted);
    return say(line, &of, most_median, most_ninth);
}

static void predict_all(fit_data *data, const tide_time_constants *constants,
                        const double *factors) {
    for (size_t i = 0; i < data->n_rows; i++) {
        (void)fit_predict(&data->rows[i], constants, factors[data->rows[i].session]);
    }
}

static void say_all(fit_data *data, const char *title, bool left_out) {
    static const char *const GROUPS[] = {"",         "brandon", "charlie", "yyin",  "h100|",
                                         "a100-40|", "fp32|",   "tf32|",   "bf16|", "fwd|",
                                         "bwd|",     "GPU|",    "mixed|",  "host|"};
    for (size_t i = 0; i < sizeof(GROUPS) / sizeof(GROUPS[0]); i++) {
        (void)say_of(data, title, GROUPS[i], left_out, INFINITY, INFINITY);
    }
}

static void say_constants(const tide_time_constants *c) {
    (void)printf(".kernel_us = %.3f, .product_us = %.3f, .vectorised_share = %.3f, "
                 ".casting_share = %.3f,\n.strided_share = %.3f, .reduction_share = %.3f, "
                 ".cache_bytes = %.3f, .issue_rate = %.3f,\n.fp32_share = %.3f and "
                 "%.3f, .tf32_share = %.3f, .tensor_share = %.3f and %.3f,\n"
                 ".layout_factor = %.3f, .launch_us = %.2f\n",
                 c->kernel_us, c->product_us, c->vectorised_share, c->casting_share,
                 c->strided_share, c->reduction_share, c->cache_bytes, c->issue_rate,
                 c->fp32_share[TIDE_TIME_COMPUTE], c->fp32_share[TIDE_TIME_HOPPER], c->tf32_share,
                 c->tensor_share[TIDE_TIME_COMPUTE], c->tensor_share[TIDE_TIME_HOPPER],
                 c->layout_factor, c->launch_us);
}

/* Each source in turn is left out of the fit, and its hosts get one scalar each. */
static void leave_out(fit_data *data) {
    static const char *const SOURCES[] = {"brandon", "charlie", "yyin"};
    double factors[FIT_MAX_SESSIONS];
    errors all = {.n = 0};
    for (size_t s = 0; s < sizeof(SOURCES) / sizeof(SOURCES[0]); s++) {
        tide_time_constants constants;
        for (size_t i = 0; i < data->n_rows; i++) {
            data->rows[i].is_left_out = strstr(data->rows[i].source, SOURCES[s]) != NULL;
            data->rows[i].is_used = false;
        }
        fit_search(data, &constants, factors);
        fit_calibrate(data, &constants, true, factors);
        predict_all(data, &constants, factors);
        (void)say_of(data, "left out:", SOURCES[s], true, INFINITY, INFINITY);
        for (size_t i = 0; i < data->n_rows; i++) {
            const fit_row *row = &data->rows[i];
            if (row->is_left_out && !row->is_used) {
                all.percent[all.n++] =
                    100.0 * fabs(row->last.total_us * 1e-3 / row->published_ms - 1.0);
            }
        }
    }
    (void)say("left out: all sources, each in turn", &all, INFINITY, INFINITY);
}

static void clear_marks(fit_data *data) {
    for (size_t i = 0; i < data->n_rows; i++) {
        data->rows[i].is_left_out = false;
        data->rows[i].is_used = false;
    }
}

static int check(fit_data *data, double most_median, double most_ninth) {
    double factors[FIT_MAX_SESSIONS] = {0};
    fit_calibrate(data, &TIDE_TIME_CONSTANTS, false, factors);
    predict_all(data, &TIDE_TIME_CONSTANTS, factors);
    say_all(data, "one scalar a host:", false);
    bool is_good = say_of(data, "all", "", false, most_median, most_ninth);
    (void)printf("%s: a median of %.1f %% and %.1f %% for nine in ten are the most\n",
                 is_good ? "within bounds" : "TOO LARGE", most_median, most_ninth);
    return is_good ? 0 : 1;
}

int main(int argc, char **argv) {
    static fit_data data;
    double factors[FIT_MAX_SESSIONS] = {0};
    bool only_checks = argc == 6 && strcmp(argv[3], "--check") == 0;
    bool is_measured = argc == 4 && strcmp(argv[3], "--measured-host") == 0;
    tide_time_constants constants = TIDE_TIME_CONSTANTS;
    if ((argc != 3 && !only_checks && !is_measured) ||
        !fit_read(argv[1], argv[2], !is_measured, &data)) {
        (void)fprintf(stderr, "usage: fit_step_time TIMES.csv FOLDER "
                              "[--measured-host | --check MEDIAN P90]\n");
        return 2;
    }
    if (only_checks) {
        return check(&data, atof(argv[4]), atof(argv[5]));
    }
    fit_calibrate(&data, &TIDE_TIME_CONSTANTS, false, factors);
    predict_all(&data, &TIDE_TIME_CONSTANTS, factors);
    say_all(&data, "constants of the program, one scalar a host:", false);
    clear_marks(&data);
    fit_search(&data, &constants, factors);
    predict_all(&data, &constants, factors);
    say_all(&data, "fitted on all:", false);
    say_constants(&constants);
    for (size_t i = 0; i < data.n_sessions; i++) {
        (void)printf("host %-40s %.3f\n", data.sessions[i], factors[i]);
    }
    leave_out(&data);
    return 0;
}
