#include "programs/step_time/compared.h"

#include <stdbool.h>
#include <stddef.h>

/* Kernels below this time are bound by effects that the model does not have, such as the data that
 * the kernel before left in the L2 cache. Their intervals are wider. */
#define LARGE_US 100.0

enum { SMALL = 0, LARGE = 1, N_SIZES = 2 };

/* Of kernels, by family and size. No comparisons: never compared. */
static const tide_time_comparison KERNELS[TIDE_RUN_N_FAMILIES][N_SIZES] = {
    [TIDE_RUN_VECTORISED] = {{"elementwise", 45, 2, 6.0, 0.75, 1.40},
                             {"elementwise", 45, 2, 3.2, 0.90, 1.15}},
    [TIDE_RUN_CASTING] = {{"elementwise, casts", 45, 3, 9.0, 0.75, 1.40},
                          {"elementwise, casts", 45, 3, 4.6, 0.90, 1.15}},
    [TIDE_RUN_STRIDED] = {{"elementwise, strided", 45, 3, 9.1, 0.75, 1.40},
                          {"elementwise, strided", 45, 3, 9.1, 0.90, 1.15}},
    [TIDE_RUN_REDUCTION] = {{"reduction", 50, 4, 6.8, 0.75, 1.40},
                            {"reduction", 50, 4, 3.2, 0.90, 1.15}},
    [TIDE_RUN_SOFTMAX] = {{"softmax", 36, 3, 14.4, 0.75, 1.40},
                          {"softmax", 36, 3, 4.6, 0.90, 1.15}},
    [TIDE_RUN_NORM] = {{"norm", 46, 3, 12.8, 0.75, 1.40}, {"norm", 46, 3, 10.2, 0.90, 1.15}},
    [TIDE_RUN_GATHER_ROWS] = {{"gather", 32, 1, 4.7, 0.75, 1.40},
                              {"gather", 32, 1, 2.7, 0.90, 1.15}},
    [TIDE_RUN_SCATTER_ROWS] = {{"scatter", 50, 2, 4.7, 0.75, 1.40},
                               {"scatter", 50, 2, 1.2, 0.90, 1.15}},
    [TIDE_RUN_SORT] = {{"sort", 18, 1, 1.2, 0.75, 1.40}, {"sort", 18, 1, 1.2, 0.90, 1.15}},
};

static const tide_time_comparison PRODUCTS = {"matrix products", 200, 6, 4.0, 0.93, 1.10};
static const tide_time_comparison CONVOLUTIONS = {"convolutions", 105, 3, 3.4, 0.90, 1.15};
static const tide_time_comparison COPIES[N_SIZES] = {{"copies and fills", 45, 2, 6.0, 0.75, 1.40},
                                                     {"copies and fills", 45, 2, 3.2, 0.90, 1.15}};

const tide_time_comparison TIDE_TIME_NEVER_COMPARED = {"never compared", 183, 6, 16.9, 0.65, 1.60};
const tide_time_comparison TIDE_TIME_COMPARED_STEPS = {"whole steps", 126, 2, 3.3, 0.90, 1.15};

static const tide_time_comparison *kernel(const tide_run_launch *row, size_t size) {
    const tide_time_comparison *of = &KERNELS[row->family][size];
    bool is_certain = (row->flags & (TIDE_RUN_GUESSED | TIDE_RUN_ESTIMATED)) == 0;
    return is_certain && of->n_comparisons > 0 ? of : NULL;
}

const tide_time_comparison *tide_time_comparison_of(const tide_run_launch *row, double us) {
    size_t size = us < LARGE_US ? SMALL : LARGE;
    if (us <= 0.0 || (row->flags & TIDE_RUN_GUESSED) != 0) {
        return NULL;
    }
    switch (row->kind) {
    case TIDE_RUN_KERNEL:
        return kernel(row, size);
    case TIDE_RUN_PRODUCT:
        return &PRODUCTS;
    case TIDE_RUN_CONVOLUTION:
        return &CONVOLUTIONS;
    case TIDE_RUN_FILL:
        return &COPIES[size];
    case TIDE_RUN_COPY:
        return row->family == TIDE_RUN_COPY_ON_CARD ? &COPIES[size] : NULL;
    default:
        return NULL;
    }
}
