#include "programs/step_time/compared.h"

#include <stdbool.h>
#include <stddef.h>

/* Kernels below this time are bound by effects that the model does not have, such as the data that
 * the kernel before left in the L2 cache. Their intervals are wider. */
#define LARGE_US 100.0

enum { SMALL = 0, LARGE = 1, N_SIZES = 2 };

/* Of kernels, by family and size, from times of which a fifth was left out of the fit in turn.
 * Casts, reductions and copies take the most time of no published function: their figures are of an
 * earlier comparison, of functions that contain them. The intervals of strided small kernels, of
 * scatters and of sorts are widened by hand, because 3 or 4 times determine none. No comparisons:
 * never compared. */
static const tide_time_comparison KERNELS[TIDE_RUN_N_FAMILIES][N_SIZES] = {
    [TIDE_RUN_VECTORISED] = {{"elementwise", 8, 3, 10.6, 0.89, 1.51},
                             {"elementwise", 70, 7, 4.1, 0.92, 1.08}},
    [TIDE_RUN_CASTING] = {{"elementwise, casts", 45, 3, 9.0, 0.75, 1.40},
                          {"elementwise, casts", 45, 3, 4.6, 0.90, 1.15}},
    [TIDE_RUN_STRIDED] = {{"elementwise, strided", 3, 2, 4.1, 0.75, 1.40},
                          {"elementwise, strided", 61, 6, 4.2, 0.88, 1.08}},
    [TIDE_RUN_REDUCTION] = {{"reduction", 50, 4, 6.8, 0.75, 1.40},
                            {"reduction", 50, 4, 3.2, 0.90, 1.15}},
    [TIDE_RUN_SOFTMAX] = {{"softmax", 12, 1, 16.4, 0.69, 1.25}, {"softmax", 8, 2, 5.1, 0.89, 1.08}},
    [TIDE_RUN_NORM] = {{"norm", 8, 2, 4.1, 0.92, 1.10}, {"norm", 29, 4, 3.5, 0.94, 1.10}},
    [TIDE_RUN_GATHER_ROWS] = {{.n_comparisons = 0}, {"gather", 13, 1, 2.4, 0.93, 1.03}},
    [TIDE_RUN_SCATTER_ROWS] = {{.n_comparisons = 0}, {"scatter", 4, 1, 16.8, 0.81, 1.15}},
    [TIDE_RUN_SORT] = {{.n_comparisons = 0}, {"sort", 4, 1, 1.4, 0.90, 1.15}},
};

/* The times are counted with the 155 of language models' steps, to which products were fitted. */
static const tide_time_comparison PRODUCTS = {"matrix products", 204, 5, 3.6, 0.94, 1.10};
static const tide_time_comparison CONVOLUTIONS = {"convolutions", 49, 3, 4.8, 0.93, 1.11};
static const tide_time_comparison COPIES[N_SIZES] = {{"copies and fills", 45, 2, 6.0, 0.75, 1.40},
                                                     {"copies and fills", 45, 2, 3.2, 0.90, 1.15}};

/* Of 183 times of kernels, with the constants of before any of their families was compared. */
const tide_time_comparison TIDE_TIME_NEVER_COMPARED = {"never compared", 183, 6, 16.9, 0.65, 1.60};

static const tide_time_comparison *kernel(const tide_run_launch *row, size_t size) {
    const tide_time_comparison *of = &KERNELS[row->family][size];
    bool is_certain = (row->flags & (TIDE_RUN_GUESSED | TIDE_RUN_ESTIMATED)) == 0;
    return is_certain && of->n_comparisons > 0 ? of : NULL;
}

/* Published are vision models in fp16. Gradients of grouped convolutions took 1.0 to 2.8 times the
 * forecast there, by a cuDNN of 2022. */
static bool is_like_published(const tide_run_launch *row) {
    bool is_half = row->type == TIDE_RUN_FP16 || row->type == TIDE_RUN_BF16;
    bool is_grouped_gradient = row->count > 1 && (row->flags & TIDE_RUN_BACKWARD) != 0;
    return is_half && !is_grouped_gradient;
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
        return is_like_published(row) ? &CONVOLUTIONS : NULL;
    case TIDE_RUN_FILL:
        return &COPIES[size];
    case TIDE_RUN_COPY:
        return row->family == TIDE_RUN_COPY_ON_CARD ? &COPIES[size] : NULL;
    default:
        return NULL;
    }
}
