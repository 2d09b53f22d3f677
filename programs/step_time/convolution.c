/* convolution.c - convolutions, which the library computes as products of matrices, without making
 * the matrix of windows. Its tensor cores read channels-last tensors: of the others it makes
 * copies, unless the window is one place. */
#include <math.h>

#include "programs/step_time/work_internal.h"

/* Groups with fewer filters than the columns of a tensor core's smallest tile are computed without
 * tensor cores.
 */
enum { LEAST_FILTERS = 8 };

/* Below 0: the card states no rate for the type. */
static double convolution_us(const tide_time_constants *constants, const tide_time_card *card,
                             const tide_run_launch *row) {
    if (row->n < LEAST_FILTERS && row->count > 1) {
        return 2.0 * row->m * row->n * row->k * row->count /
               (card->peak->fp32_flops * 1e-6 * constants->fp32_share[card->chip]);
    }
    tide_run_launch product = *row;
    product.flags = 0; /* those of convolutions mean something else in a product */
    return tide_product_us(constants, card, &product);
}

/* The copies of the input, the filter and the output in the other layout, read and written. */
static double copies_us(const tide_time_constants *constants, const tide_time_card *card,
                        const tide_run_launch *row) {
    bool has_copies = (row->flags & (TIDE_RUN_CHANNELS_LAST | TIDE_RUN_POINTWISE)) == 0 &&
                      row->count == 1 && row->elements > 0 && row->type != TIDE_RUN_FP32;
    double per_us = tide_time_bandwidth(constants, card) * constants->layout_copies_bandwidth;
    return has_copies && per_us > 0.0 ? 2.0 * (double)row->bytes / per_us : 0.0;
}

tide_work_time tide_time_convolution(const tide_time_constants *constants,
                                     const tide_time_card *card, const tide_run_launch *row) {
    double share = row->count > 1                           ? constants->grouped_share
                   : (row->flags & TIDE_RUN_POINTWISE) != 0 ? constants->pointwise_share
                                                            : constants->convolution_share;
    bool is_gradient = (row->flags & TIDE_RUN_BACKWARD) != 0 && constants->gradient_factor > 0.0;
    share *= is_gradient ? constants->gradient_factor : 1.0;
    double compute = convolution_us(constants, card, row) / share;
    double memory =
        tide_time_memory_us(constants, card, (double)row->bytes, constants->vectorised_share);
    double work = fmax(compute, memory) + copies_us(constants, card, row);
    tide_work_time time = {.us = constants->product_us + work,
                           .flops = 2.0 * row->m * row->n * row->k * row->count,
                           .basis = compute > 0.0 && (row->flags & TIDE_RUN_GUESSED) == 0
                                        ? TIDE_TIME_UNCOMPARED
                                        : TIDE_TIME_GUESSED};
    time.bound = constants->product_us > work ? TIDE_TIME_BY_LAUNCH
                 : memory > compute           ? TIDE_TIME_BY_MEMORY
                                              : TIDE_TIME_BY_GEMM;
    return time;
}
