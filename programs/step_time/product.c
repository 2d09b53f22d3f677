/* Products of matrices. A library computes the result in tiles, one on a multiprocessor at a time:
 * the last wave of tiles takes as long as a full one. It may also cut k into parts and add their
 * results. The forecast uses the best tile shape and the best number of parts, 1 to 8, as a
 * library's heuristic would. The slowdown of smaller tiles was set by hand, not fitted. */
#include <math.h>
#include <stddef.h>

#include "programs/step_time/work_internal.h"

typedef struct tile {
    double m, n;
    double rate; /* of the largest tile's rate */
} tile;

static const tile PLAIN[] = {
    {128, 128, 1.0}, {128, 64, 0.93}, {64, 64, 0.8}, {128, 32, 0.75}, {32, 32, 0.5}};
static const tile TENSOR[] = {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.93},
                              {128, 64, 0.72}, {64, 128, 0.72}, {256, 64, 0.82},
                              {64, 256, 0.82}, {64, 64, 0.55},  {64, 32, 0.35}};

enum { MOST_PARTS = 8 };
/* The share of the bandwidth for writing and adding the results of parts. */
#define PARTS_SHARE 0.8

double tide_time_share_of_peak(const tide_time_constants *constants, const tide_time_card *card,
                               const tide_run_launch *row) {
    bool is_straight =
        (row->flags & TIDE_RUN_TRANSPOSED_A) != 0 && (row->flags & TIDE_RUN_TRANSPOSED_B) == 0;
    if (row->type == TIDE_RUN_FP32) {
        return constants->fp32_share[card->chip];
    }
    if (row->type == TIDE_RUN_TF32 && card->chip == TIDE_TIME_HOPPER) {
        return constants->tf32_share * (is_straight ? 1.0 : constants->layout_factor);
    }
    double factor = constants->tensor_factor[card->memory];
    return constants->tensor_share[card->chip] * (factor > 0.0 ? factor : 1.0);
}

/* Products with few rows or columns would leave most of a tile empty. Libraries compute them on the
 * plain lanes, as products of a matrix and vectors, which the bytes bound. */
static double narrow_us(const tide_time_constants *constants, const tide_time_card *card,
                        const tide_run_launch *row) {
    enum { FEW = 8 };
    double lanes = card->peak->fp32_flops * 1e-6 * constants->fp32_share[card->chip];
    bool is_narrow = row->m <= FEW || row->n <= FEW;
    return is_narrow && lanes > 0.0 ? 2.0 * row->m * row->n * row->k * row->count / lanes
                                    : INFINITY;
}

double tide_product_us(const tide_time_constants *constants, const tide_time_card *card,
                       const tide_run_launch *row) {
    double stated = tide_time_card_flops(card, row->type);
    bool is_plain = row->type == TIDE_RUN_FP32;
    const tile *tiles = is_plain ? PLAIN : TENSOR;
    size_t n_tiles =
        is_plain ? sizeof(PLAIN) / sizeof(PLAIN[0]) : sizeof(TENSOR) / sizeof(TENSOR[0]);
    double sms = card->n_multiprocessors;
    double rate =
        stated * 1e-6 * tide_time_share_of_peak(constants, card, row) / sms; /* FLOP a us and SM */
    double best = INFINITY;
    if (stated <= 0.0) {
        return -1.0;
    }
    for (size_t i = 0; i < n_tiles; i++) {
        double n_wanted = ceil(row->m / tiles[i].m) * ceil(row->n / tiles[i].n) * row->count;
        for (int n_parts = 1; n_parts <= MOST_PARTS; n_parts *= 2) {
            double parts = n_parts;
            double us = ceil(n_wanted * parts / sms) * 2.0 * tiles[i].m * tiles[i].n *
                        ceil(row->k / parts) / (rate * tiles[i].rate);
            if (n_parts > 1) {
                double bytes = 2.0 * parts * row->m * row->n * row->count * sizeof(float);
                us += bytes / (tide_time_bandwidth(constants, card) * PARTS_SHARE) +
                      constants->kernel_us;
            }
            best = us < best ? us : best;
        }
    }
    return fmin(best, narrow_us(constants, card, row));
}
