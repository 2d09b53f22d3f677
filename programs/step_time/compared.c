#include "programs/step_time/compared.h"

#include <stdbool.h>

/* The sizes of rows that values choose are estimates, and are compared as such. Other estimates
 * result from a name that leaves a type open, which no published time has. */
static bool is_certain(const tide_run_launch *row) {
    bool by_values = row->family == TIDE_RUN_GATHER_ROWS || row->family == TIDE_RUN_SCATTER_ROWS ||
                     row->family == TIDE_RUN_SORT;
    return by_values || (row->flags & TIDE_RUN_ESTIMATED) == 0;
}

/* Published are vision models in fp16. Gradients of grouped convolutions took 1.0 to 2.8 times the
 * forecast there, by a cuDNN of 2022. */
static bool is_like_published(const tide_run_launch *row) {
    bool is_half = row->type == TIDE_RUN_FP16 || row->type == TIDE_RUN_BF16;
    bool is_grouped_gradient = row->count > 1 && (row->flags & TIDE_RUN_BACKWARD) != 0;
    return is_half && !is_grouped_gradient;
}

/* TIDE_TIME_N_FAMILIES: none. */
static size_t family_of(const tide_run_launch *row) {
    switch (row->kind) {
    case TIDE_RUN_KERNEL:
        return is_certain(row) ? row->family : TIDE_TIME_N_FAMILIES;
    case TIDE_RUN_PRODUCT:
        return TIDE_TIME_PRODUCTS;
    case TIDE_RUN_CONVOLUTION:
        return is_like_published(row) ? TIDE_TIME_CONVOLUTIONS : TIDE_TIME_N_FAMILIES;
    case TIDE_RUN_ATTENTION: /* published are forward passes */
        return (row->flags & TIDE_RUN_BACKWARD) == 0 && row->family != TIDE_RUN_OWN
                   ? TIDE_TIME_ATTENTION
                   : TIDE_TIME_N_FAMILIES;
    case TIDE_RUN_FILL:
        return TIDE_TIME_COPIES;
    case TIDE_RUN_COPY:
        return row->family == TIDE_RUN_COPY_ON_CARD ? TIDE_TIME_COPIES : TIDE_TIME_N_FAMILIES;
    default:
        return TIDE_TIME_N_FAMILIES;
    }
}

size_t tide_time_slot_of(const tide_run_launch *row, double us) {
    size_t family = family_of(row);
    if (us <= 0.0 || (row->flags & TIDE_RUN_GUESSED) != 0 || family == TIDE_TIME_N_FAMILIES) {
        return TIDE_TIME_N_SLOTS;
    }
    bool is_small = us < TIDE_TIME_LARGE_US && family != TIDE_TIME_PRODUCTS;
    return TIDE_TIME_SLOT(family, is_small ? TIDE_TIME_SMALL : TIDE_TIME_LARGE);
}

const tide_time_comparison *tide_time_comparison_of(const tide_run_launch *row, double us) {
    size_t slot = tide_time_slot_of(row, us);
    bool is_compared = slot < TIDE_TIME_N_SLOTS && TIDE_TIME_COMPARISONS[slot].n_comparisons > 0;
    return is_compared ? &TIDE_TIME_COMPARISONS[slot] : NULL;
}
