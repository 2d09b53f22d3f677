#include "step_time/kernel_fit.h"

#include <math.h>
#include <stdio.h>

/* The constants of programs/step_time/constants.c before commit c383c0f8b, in which the first of
 * these times was fitted. Terms that the model did not have then begin without effect: factors at
 * 1, shares at those of their family, cycles at those of the other elementwise kernels,
 * convolutions at the 0.7 of a product's rate of then. Times of rows cannot begin at 0, because a
 * search by factors would never leave it: a pass takes the latency of memory, about 0.5 us, and a
 * multiprocessor has 2 rows of softmax or 16 of layer norm in work. Those of do_bench begin with
 * one byte written back for 2, an event of 2 us, and launches of 10 us. */
const kernel_parameters KERNEL_START = {
    .constants = {.kernel_us = 2.18,
                  .product_us = 3.05,
                  .vectorised_share = 0.872,
                  .casting_share = 0.75,
                  .strided_share = 0.683,
                  .reduction_share = 0.707,
                  .cache_bytes = 14.0,
                  .issue_rate = 1.39,
                  .memory_factor = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0},
                  .tensor_factor = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0},
                  .strided_cycles = 0.72,
                  .pointer_cycles = 0.24,
                  .division_cycles = 0.2,
                  .rows_share = 0.707,
                  .moments_share = 0.707,
                  .partial_sums_share = 0.683,
                  .row_us = 1.5,
                  .indexed_rows_cycles = 0.72,
                  .convolution_share = 0.7,
                  .pointwise_share = 0.7,
                  .grouped_share = 0.7,
                  .gradient_factor = 1.0,
                  .layout_copies_bandwidth = 0.872,
                  .fp32_share = {0.977, 0.67, 0.67, 0.721},
                  .tensor_share = {0.762, 0.762, 1.0, 0.662},
                  .tf32_share = 0.663,
                  .layout_factor = 0.73,
                  .launch_us = 13.7,
                  .reference_us = 11.03,
                  .host_factor = 0.54},
    .bench = {.evicted = 0.5, .event_us = 2.0, .old_row_us = 1.5, .launch_us = {10.0, 10.0, 10.0}}};

kernel_parameters kernel_parameters_of_program(void) {
    return (kernel_parameters){
        TIDE_TIME_CONSTANTS,
        {.evicted = 0.393, .event_us = 1.7, .old_row_us = 3.57, .launch_us = {18.2, 12.8, 13.5}}};
}

#define C(member) offsetof(kernel_parameters, constants.member)
#define B(member) offsetof(kernel_parameters, bench.member)
/* What is fitted. Shares of the stated bandwidth are at most 1. */
static const struct {
    const char *name;
    size_t offset;
    bool is_share;
} FITTED[] = {
    {"memory_factor[HBM2E]", C(memory_factor[TIDE_TIME_HBM2E]), false},
    {"memory_factor[GDDR6X]", C(memory_factor[TIDE_TIME_GDDR6X]), false},
    {"memory_factor[GDDR6X_CACHED]", C(memory_factor[TIDE_TIME_GDDR6X_CACHED]), false},
    {"memory_factor[GDDR7]", C(memory_factor[TIDE_TIME_GDDR7]), false},
    {"pointer_cycles", C(pointer_cycles), false},
    {"strided_share", C(strided_share), true},
    {"casting_share", C(casting_share), true},
    {"cache_bytes", C(cache_bytes), false},
    {"division_cycles", C(division_cycles), false},
    {"strided_cycles", C(strided_cycles), false},
    {"rows_share", C(rows_share), true},
    {"moments_share", C(moments_share), true},
    {"partial_sums_share", C(partial_sums_share), true},
    {"row_us", C(row_us), false},
    {"indexed_rows_cycles", C(indexed_rows_cycles), false},
    {"convolution_share", C(convolution_share), false},
    {"pointwise_share", C(pointwise_share), false},
    {"grouped_share", C(grouped_share), false},
    {"gradient_factor", C(gradient_factor), false},
    {"layout_copies_bandwidth", C(layout_copies_bandwidth), false},
    {"tensor_factor[HBM2E]", C(tensor_factor[TIDE_TIME_HBM2E]), false},
    {"tensor_factor[GDDR7]", C(tensor_factor[TIDE_TIME_GDDR7]), false},
    {"bench evicted", B(evicted), false},
    {"bench event_us", B(event_us), false},
    {"bench old_row_us", B(old_row_us), false},
    {"bench launch_us[A100]", B(launch_us[0]), false},
    {"bench launch_us[H100]", B(launch_us[1]), false},
    {"bench launch_us[others]", B(launch_us[2]), false},
};
enum { N_FITTED = sizeof(FITTED) / sizeof(FITTED[0]), MOST_ROUNDS = 150 };
#define FARTHEST 6.0 /* of a constant from its start, as a factor */
#define NEAR 2.0
#define PULL 0.0005     /* towards the start, for constants that few times determine */
#define LAST_STEP 0.001 /* of the logarithm */

static double *member(kernel_parameters *of, size_t i) {
    return (double *)(void *)((char *)of + FITTED[i].offset);
}

static double constant(const kernel_parameters *of, size_t i) {
    return *(const double *)(const void *)((const char *)of + FITTED[i].offset);
}

static double loss(const kernel_cases *cases, const kernel_parameters *at) {
    double sum = 0.0;
    double weights = 0.0;
    for (size_t i = 0; i < cases->n; i++) {
        const kernel_case *one = &cases->cases[i];
        if (!one->is_left_out && one->weight > 0.0) {
            double error = log(kernel_case_us(one, at) / one->published_us);
            sum += one->weight * sqrt(error * error + 1e-4); /* nearly the absolute error */
            weights += one->weight;
        }
    }
    double pull = 0.0;
    for (size_t i = 0; i < N_FITTED; i++) {
        double away = log(constant(at, i) / constant(&KERNEL_START, i)) / log(NEAR);
        pull += PULL * away * away;
    }
    return sum / weights + pull;
}

static double bounded(size_t i, double value) {
    double start = constant(&KERNEL_START, i);
    double most = FITTED[i].is_share ? 1.0 : start * FARTHEST;
    return fmin(fmax(value, start / FARTHEST), most);
}

/* Whether a step in one of the directions is better. */
static bool try_step(const kernel_cases *cases, kernel_parameters *at, size_t i, double step,
                     double *best) {
    double before = *member(at, i);
    for (int sign = 1; sign >= -1; sign -= 2) {
        *member(at, i) = bounded(i, before * exp(sign * step));
        double now = loss(cases, at);
        if (now < *best - 1e-6) {
            *best = now;
            return true;
        }
    }
    *member(at, i) = before;
    return false;
}

/* From those steps until none is larger than LAST_STEP. Returns the loss. */
static double descend(const kernel_cases *cases, kernel_parameters *at, double first_step) {
    double steps[N_FITTED];
    double largest = first_step;
    for (size_t i = 0; i < N_FITTED; i++) {
        steps[i] = first_step;
    }
    double best = loss(cases, at);
    for (int round = 0; round < MOST_ROUNDS && largest > 1.01 * LAST_STEP; round++) {
        largest = 0.0;
        for (size_t i = 0; i < N_FITTED; i++) {
            steps[i] *= try_step(cases, at, i, steps[i], &best) ? 1.3 : 0.5;
            steps[i] = fmax(steps[i], LAST_STEP);
            largest = fmax(largest, steps[i]);
        }
    }
    return best;
}

/* Several times, with smaller and larger first steps, because a search may end where no single
 * constant improves. */
void kernel_fit(kernel_cases *cases, kernel_parameters *at) {
    static const double FIRST_STEPS[] = {0.12, 0.5, 0.3, 0.2};
    for (size_t i = 0; i < sizeof(FIRST_STEPS) / sizeof(FIRST_STEPS[0]); i++) {
        (void)descend(cases, at, FIRST_STEPS[i]);
    }
}

void kernel_fit_say(const kernel_parameters *of) {
    for (size_t i = 0; i < N_FITTED; i++) {
        (void)printf("%-30s %.3f\n", FITTED[i].name, constant(of, i));
    }
}
