/* serving.h - what libraries that serve or compile models report of their own memory: the pool of
 * keys and values of a server such as vLLM, and XLA's figures of a JAX program.
 */
#ifndef TIDE_SNAPSHOT_SERVING_H
#define TIDE_SNAPSHOT_SERVING_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The cache of keys and values that a server of language models keeps on a card, by its own count.
 * If it is too small for one request, it ended the program. Unknown numbers are -1. */
typedef struct tide_snapshot_kv_pool {
    const char *library; /* "vLLM" */
    int64_t card;        /* index of the device */
    int64_t bytes;       /* too small: that were left for it */
    int64_t n_tokens;    /* that it holds; too small: -1 */
    /* The longest request; too small: the longest that would fit, or -1. */
    int64_t n_request_tokens;
    bool is_fitted;             /* the server chose the longest request by the cache */
    int64_t n_requests_percent; /* 100 times the number of such requests that fit together */
    int64_t n_asked_tokens;     /* too small: the longest request that was asked for; else -1 */
    int64_t asked_bytes;        /* too small: that such a request needs; else -1 */
} tide_snapshot_kv_pool;

/* A card of a JAX program by XLA's own count, or a line that made arrays. Unknown numbers are -1.
 */
typedef struct tide_snapshot_xla {
    const char *place;   /* the program's line that failed, or the line of the arrays; "" */
    int64_t array_bytes; /* of the arrays that this line made and that were alive at the end; else
                            -1, and the numbers below are of a card */
    int64_t n_arrays;
    int64_t card;          /* index of the device */
    int64_t peak_bytes;    /* in use together: memory_stats() */
    int64_t limit_bytes;   /* of the pool */
    int64_t program_bytes; /* that the largest compiled function needs: memory_analysis() */
    int64_t asked_bytes;   /* by a request that found no room and ended the program */
    bool lacks_graphs;     /* XLA_FLAGS switch off CUDA graphs */
    bool lacks_autotuning; /* and the choice of kernels by time */
} tide_snapshot_xla;

/* A row without figures. */
#define TIDE_SNAPSHOT_NO_XLA                                                                       \
    {                                                                                              \
        .place = "", .array_bytes = -1, .n_arrays = -1, .card = -1, .peak_bytes = -1,              \
        .limit_bytes = -1, .program_bytes = -1, .asked_bytes = -1                                  \
    }

#ifdef __cplusplus
}
#endif

#endif
