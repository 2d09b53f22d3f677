/* attention.h - a row of fused attention, from the sizes that a kernel or a library is called
 * with. */
#ifndef TIDE_VIRTUAL_CUDA_WORK_ATTENTION_H
#define TIDE_VIRTUAL_CUDA_WORK_ATTENTION_H

#include <stdint.h>

#include "programs/wire/run_launches.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which keys a query sees. From the bottom right: the last query sees all keys. */
typedef enum tide_vc_mask {
    TIDE_VC_MASK_NONE = 0,
    TIDE_VC_MASK_TOP_LEFT,
    TIDE_VC_MASK_BOTTOM_RIGHT
} tide_vc_mask;

typedef struct tide_vc_attention {
    uint64_t n_queries, n_keys;            /* in a sequence */
    uint64_t n_channels, n_value_channels; /* in a head: of queries and keys, and of values */
    uint64_t n_heads;                      /* in all sequences together */
    tide_vc_mask mask;
    tide_run_type type;
} tide_vc_attention;

/* The number of pairs of a query and a key that are computed in one head. */
static inline uint64_t tide_vc_attention_pairs(const tide_vc_attention *of) {
    uint64_t m = of->n_queries;
    uint64_t n = of->n_keys;
    if (of->mask == TIDE_VC_MASK_NONE) {
        return m * n;
    }
    if (m > n) { /* from the top left the first n queries have the triangle, and the others see all
                  * keys; from the bottom right the others see none */
        return n * (n + 1) / 2 + (of->mask == TIDE_VC_MASK_TOP_LEFT ? (m - n) * n : 0);
    }
    return m * (m + 1) / 2 + (of->mask == TIDE_VC_MASK_BOTTOM_RIGHT ? (n - m) * m : 0);
}

/* Fills in the row's kind, sizes, type and TIDE_RUN_CAUSAL. That flag means half of the products.
 * If the mask leaves out another part, the row has the mean number of keys that a query sees. */
static inline void tide_vc_attention_fill(const tide_vc_attention *of, tide_run_launch *row) {
    uint64_t n_keys = of->n_keys;
    if (of->mask != TIDE_VC_MASK_NONE && of->n_queries == of->n_keys) {
        row->flags |= TIDE_RUN_CAUSAL;
    } else if (of->mask != TIDE_VC_MASK_NONE && of->n_queries > 0) {
        n_keys = (tide_vc_attention_pairs(of) + of->n_queries - 1) / of->n_queries;
    }
    row->kind = TIDE_RUN_ATTENTION;
    row->family = 0;
    row->m = (uint32_t)of->n_queries;
    row->n = (uint32_t)n_keys;
    row->k = (uint32_t)((of->n_channels + of->n_value_channels + 1) / 2);
    row->count = (uint32_t)of->n_heads;
    row->type = (uint8_t)of->type;
    row->out_type = (uint8_t)of->type;
}

#ifdef __cplusplus
}
#endif

#endif
