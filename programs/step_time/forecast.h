/* forecast.h - the answer: how long a step takes on a card, what it is bound by, and how certain
 * that is.
 *
 * The figures are of one step of the program: of the complete steps after the first, or of those
 * that are alike if more than half are, the one at the lower quartile of their times, or the only
 * one. The card's interval is that of its kernels' families (compared.h), and holds 80 of 100
 * published times; the host's range held 99 of 100 (calibrated.c).
 */
#ifndef TIDE_STEP_TIME_FORECAST_H
#define TIDE_STEP_TIME_FORECAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/step_time/calibration.h"
#include "programs/step_time/compared.h"
#include "programs/step_time/ranges.h"
#include "programs/step_time/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_time_limit {
    TIDE_TIME_GPU_BOUND = 0, /* the card works longer than every known host */
    TIDE_TIME_HOST_BOUND,    /* the host works longer than the card */
    TIDE_TIME_EITHER_BOUND   /* it depends on the host */
} tide_time_limit;

/* Kernels of one name in the step. */
typedef struct tide_time_kernel {
    const char *name; /* the log's text; "" if there is none */
    tide_run_launch_kind kind;
    uint8_t family;     /* tide_run_family, of copies tide_run_copy */
    tide_run_type type; /* of products */
    bool is_backward;   /* of attention and convolutions */
    uint64_t n_launches;
    double us;             /* of all launches together */
    double min_us, max_us; /* of one launch */
    tide_time_bound bound; /* of the largest part of that time */
    tide_time_basis basis;
} tide_time_kernel;

/* Kernels, longest time first. */
typedef struct tide_time_kernels {
    tide_time_kernel *rows; /* owned */
    size_t n;
    /* The time by the launches' comparisons (compared.h): a kernel may have small launches and
     * large ones. */
    double compared_us[TIDE_TIME_N_SLOTS];
    double uncompared_us, guessed_us;
} tide_time_kernels;

typedef struct tide_time_forecast {
    const tide_time_card *card; /* borrowed */
    size_t n_steps, step;       /* complete steps of the log; the step of the figures */
    bool is_whole;              /* the log has no steps: figures are of the whole log */
    tide_time_host host;        /* its factor and the factor's basis */
    double waited_share;        /* of the log */
    bool has_own_card;          /* shares of the card's rates were measured on such a card */
    tide_time_totals likely;    /* with the factors as fitted */
    tide_time_totals low, high; /* ends of the range */
    double phase_us[TIDE_TIME_N_PHASES]; /* each as if the program waited before and after it; -1:
                                          * the step has no such phase */
    tide_time_limit limit;
    double flops;       /* of matrix products in the step */
    double utilisation; /* flops over time and the stated rate of their types, 0 to 1; -1 if none */
    uint64_t n_launches, n_guessed, n_uncompared;
    double guessed_share, uncompared_share; /* of the time of all kernels together */
    double error_share;  /* the median error of the compared kernels' families, weighted by their
                          * time; 0: no kernel was compared */
    bool is_lower_bound; /* more than 5 % is guessed: the time is at least low.total_us */
    tide_time_kernels kernels;
    const tide_hostmem *mem; /* borrowed */
} tide_time_forecast;

/* The largest guessed part of a forecast, by launches or by time. */
#define TIDE_TIME_MOST_GUESSED 0.05

/* host: copied; its calibrations are borrowed as long as the forecast is used. TIDE_INVALID: the
 * log has no launches. The caller calls tide_time_forecast_fini, also after a failure. */
TIDE_NODISCARD tide_status tide_time_forecast_init(const tide_time_model *model,
                                                   const tide_time_ranges *ranges,
                                                   const tide_time_host *host,
                                                   tide_time_forecast *ret_forecast,
                                                   tide_error *error);
void tide_time_forecast_fini(tide_time_forecast *forecast);

/* Whether the host is known well enough for a narrow range. */
static inline bool tide_time_is_calibrated(const tide_time_forecast *forecast) {
    return forecast->host.basis >= TIDE_TIME_HOST_GIVEN;
}

/* "the GPU", "the host" or "the GPU or the host". */
const char *tide_time_limit_name(tide_time_limit limit);

/* kernels.c: the kernels of any range. The caller releases the rows with the log's heap. */
TIDE_NODISCARD tide_status tide_time_kernels_of(const tide_time_model *model,
                                                const tide_time_range *range,
                                                tide_time_kernels *ret_kernels);

/* The name of a row of kernels: the kernel's name, or "GEMM bf16" if the log has none. */
void tide_time_kernel_name(const tide_time_kernel *kernel, char *ret_name, size_t n_room);

#ifdef __cplusplus
}
#endif

#endif
