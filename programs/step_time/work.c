#include "programs/step_time/work_internal.h"

#include <math.h>
#include <stddef.h>

#include "programs/step_time/compared.h"

const char *tide_time_bound_name(tide_time_bound bound) {
    static const char *const NAMES[TIDE_TIME_N_BOUNDS] = {[TIDE_TIME_BY_GEMM] = "GEMM",
                                                          [TIDE_TIME_BY_MEMORY] = "memory",
                                                          [TIDE_TIME_BY_LAUNCH] = "launch",
                                                          [TIDE_TIME_BY_ADDRESSES] =
                                                              "address arithmetic",
                                                          [TIDE_TIME_BY_LINK] = "link"};
    const char *name = (size_t)bound < TIDE_TIME_N_BOUNDS ? NAMES[bound] : NULL;
    return name != NULL ? name : "";
}

double tide_time_type_bytes(tide_run_type type) {
    static const double BYTES[TIDE_RUN_N_TYPES] = {
        [TIDE_RUN_FP32] = 4,  [TIDE_RUN_TF32] = 4,      [TIDE_RUN_BF16] = 2,
        [TIDE_RUN_FP16] = 2,  [TIDE_RUN_FP64] = 8,      [TIDE_RUN_FP8] = 1,
        [TIDE_RUN_INT8] = 1,  [TIDE_RUN_COMPLEX64] = 8, [TIDE_RUN_COMPLEX128] = 16,
        [TIDE_RUN_INT32] = 4, [TIDE_RUN_FP4] = 0.5};
    return (size_t)type < TIDE_RUN_N_TYPES ? BYTES[type] : 0.0;
}

double tide_time_bandwidth(const tide_time_constants *constants, const tide_time_card *card) {
    double factor = constants->memory_factor[card->memory];
    return card->bandwidth * 1e-6 * (factor > 0.0 ? factor : 1.0);
}

double tide_time_memory_us(const tide_time_constants *constants, const tide_time_card *card,
                           double bytes, double share) {
    double cached = fmax(0.0, 1.0 - bytes / card->cache_bytes);
    double per_us = tide_time_bandwidth(constants, card) * share;
    double cache_per_us = constants->cache_bytes * card->n_multiprocessors * card->clock_hz * 1e-6;
    return bytes * ((1.0 - cached) / per_us + cached / fmax(per_us, cache_per_us));
}

static tide_work_time product(const tide_time_constants *constants, const tide_time_card *card,
                              const tide_run_launch *row) {
    double m = row->m;
    double n = row->n;
    double k = row->k;
    double bytes = row->count * ((m * k + k * n) * tide_time_type_bytes(row->type) +
                                 m * n * tide_time_type_bytes(row->out_type)) +
                   (double)row->bytes;
    double memory = bytes / (tide_time_bandwidth(constants, card) * constants->vectorised_share);
    double compute = tide_product_us(constants, card, row);
    double work = fmax(memory, compute);
    tide_work_time time = {.us = constants->product_us + work,
                           .flops = 2.0 * m * n * k * row->count,
                           .basis = compute < 0.0 ? TIDE_TIME_GUESSED : TIDE_TIME_COMPARED};
    time.bound = constants->product_us > work ? TIDE_TIME_BY_LAUNCH
                 : memory > compute           ? TIDE_TIME_BY_MEMORY
                                              : TIDE_TIME_BY_GEMM;
    return time;
}

static tide_work_time copy(const tide_time_constants *constants, const tide_time_card *card,
                           const tide_run_launch *row) {
    double bytes = (double)row->bytes;
    double per_us = tide_time_bandwidth(constants, card) * constants->vectorised_share;
    if (row->kind == TIDE_RUN_FILL || row->family == TIDE_RUN_COPY_ON_CARD) {
        double n_times = row->kind == TIDE_RUN_FILL ? 1.0 : 2.0; /* read and written */
        double work = n_times * bytes / per_us;
        return (tide_work_time){.us = constants->kernel_us + work,
                                .bound = work < constants->kernel_us ? TIDE_TIME_BY_LAUNCH
                                                                     : TIDE_TIME_BY_MEMORY,
                                .basis = TIDE_TIME_COMPARED};
    }
    return row->family == TIDE_RUN_COPY_HOST ? (tide_work_time){.us = 0.0}
                                             : tide_time_link_copy(constants, card, row);
}

static tide_work_time time_of(const tide_time_constants *constants, const tide_time_card *card,
                              const tide_run_launch *row) {
    switch (row->kind) {
    case TIDE_RUN_KERNEL:
        return tide_time_kernel_work(constants, card, row);
    case TIDE_RUN_PRODUCT:
        return product(constants, card, row);
    case TIDE_RUN_ATTENTION:
        return tide_time_attention(constants, card, row);
    case TIDE_RUN_CONVOLUTION:
        return tide_time_convolution(constants, card, row);
    case TIDE_RUN_COPY:
    case TIDE_RUN_FILL:
        return copy(constants, card, row);
    case TIDE_RUN_COLLECTIVE:
        return tide_time_collective(constants, card, row);
    default:
        return (tide_work_time){.us = 0.0};
    }
}

/* Guesses: without evidence, half to twice. */
#define LEAST_GUESSED 0.5
#define MOST_GUESSED 2.0

/* `of`: NULL for a guess. */
static void set_interval(tide_work_time *work, const tide_time_comparison *of) {
    for (size_t i = 0; i < TIDE_TIME_N_BASES; i++) {
        work->us_of[i] = i == (size_t)work->basis ? work->us : 0.0;
    }
    work->us_at[TIDE_TIME_LIKELY] = work->us;
    work->us_at[TIDE_TIME_LEAST] = work->us * (of != NULL ? of->least : LEAST_GUESSED);
    work->us_at[TIDE_TIME_MOST] = work->us * (of != NULL ? of->most : MOST_GUESSED);
    work->error_us = work->basis == TIDE_TIME_COMPARED ? 0.01 * of->median_percent * work->us : 0.0;
}

void tide_work_time_guess(tide_work_time *work) {
    work->basis = TIDE_TIME_GUESSED;
    set_interval(work, NULL);
}

tide_work_time tide_work_time_of(const tide_time_constants *constants, const tide_time_card *card,
                                 const tide_run_launch *row) {
    tide_work_time time = time_of(constants, card, row);
    if (time.basis == TIDE_TIME_GUESSED) {
        tide_work_time_guess(&time);
        return time;
    }
    const tide_time_comparison *of = tide_time_comparison_of(row, time.us);
    time.basis = of != NULL ? TIDE_TIME_COMPARED : TIDE_TIME_UNCOMPARED;
    set_interval(&time, of != NULL ? of : &TIDE_TIME_NEVER_COMPARED);
    return time;
}
