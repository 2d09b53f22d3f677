/* constants.h - the constants of the model of time, which were fitted to published times of steps.
 *
 * docs/internals/time-model.md has the data, the errors, and the effect of each constant.
 */
#ifndef TIDE_STEP_TIME_CONSTANTS_H
#define TIDE_STEP_TIME_CONSTANTS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of chips. Each reaches other shares of the rates that its vendor states. */
typedef enum tide_time_chip {
    TIDE_TIME_COMPUTE = 0, /* compute capability 7.0, 7.5 and 8.0 */
    TIDE_TIME_GRAPHICS,    /* 8.6, 8.9 and 12.0: half of the fp32 lanes are shared with integers */
    TIDE_TIME_GEFORCE,     /* the same chips with tensor cores at half their rate with fp32 sums */
    TIDE_TIME_HOPPER,      /* 9.0 and 10.0: tensor cores read their factors from shared memory */
    TIDE_TIME_N_CHIPS
} tide_time_chip;

/* Kinds of memory whose published times of kernels were compared. They reach different shares of
 * their stated bandwidth. */
typedef enum tide_time_memory {
    TIDE_TIME_OTHER_MEMORY = 0, /* as the kinds to which the shares below were fitted */
    TIDE_TIME_HBM2E,            /* of A100 cards with 80 GB */
    TIDE_TIME_HBM3,             /* of compute capability 9.0 and 10.0 */
    TIDE_TIME_GDDR6X,           /* of GeForce cards of 8.6 */
    TIDE_TIME_GDDR6X_CACHED,    /* of GeForce cards of 8.9, which have a large L2 cache */
    TIDE_TIME_GDDR7,            /* of GeForce cards of 12.0 */
    TIDE_TIME_N_MEMORIES
} tide_time_memory;

/* Times in microseconds; shares are of the figure that the card's data sheet states. */
typedef struct tide_time_constants {
    double kernel_us;        /* the minimum for a kernel */
    double product_us;       /* the minimum for a product of matrices */
    double vectorised_share; /* of the bandwidth, with 16 bytes a load */
    double casting_share;    /* elementwise with casts */
    double strided_share;    /* elementwise with strides */
    double reduction_share;  /* reductions, and work by rows: softmax, norms, losses */
    double cache_bytes;      /* of the L2 cache to a multiprocessor in a cycle; 0: as of memory */
    double issue_rate;       /* elements a multiprocessor and cycle, if addresses are computed */
    double memory_factor[TIDE_TIME_N_MEMORIES]; /* of the shares of bandwidth; 0: 1 */
    /* Cycles of a multiprocessor for an element of a strided kernel, and for each pointer beyond
     * the fourth. */
    double strided_cycles, pointer_cycles;
    /* Shares of the bandwidth of variants of kernels (tide_run_variant). */
    double rows_share;    /* of work by rows that mostly reads */
    double moments_share; /* of means and variances of groups */
    double partial_sums_share;
    double row_us;          /* of a block of threads for a row, beyond its bytes */
    double division_cycles; /* of a multiprocessor for a division, where a kernel computes places
                             * by division */
    /* Shares of the bandwidth of Triton's kernels, and of those with a block or less for each
     * multiprocessor that loads and reduces its rows one after the other. */
    double generated_share, generated_turns_share;
    double atomic_cycles; /* of a multiprocessor for an atomic operation of Triton's kernels */
    double indexed_rows_cycles; /* of a multiprocessor for an element of rows chosen by division */
    double convolution_share;   /* of the rate of a product of the same size */
    double pointwise_share;     /* the same with windows of one place */
    double grouped_share;       /* the same with groups */
    double gradient_factor;     /* of these shares, for gradients; 0: 1 */
    double layout_copies_bandwidth;         /* share of the bandwidth of copies between layouts */
    double fp32_share[TIDE_TIME_N_CHIPS];   /* of the stated peak */
    double tensor_share[TIDE_TIME_N_CHIPS]; /* bf16 and fp16; also TF32, except HOPPER's */
    double tensor_factor[TIDE_TIME_N_MEMORIES]; /* of tensor_share: chips of a kind by their memory;
                                                   0: 1 */
    double tf32_share;                          /* TF32 of HOPPER */
    double layout_factor; /* TF32 of HOPPER, unless both factors have k as their inner dimension:
                           * the tensor cores support no other layout of TF32 */
    double launch_us;     /* the host's time for a launch beyond that on a virtual card, which has
                           * no driver; before the host's factor */
    double reference_us;  /* the result of `tidemark bench calibrate` for a launch on the machine of
                           * the fit, the mean of forward and backward */
    double host_factor;   /* an unmeasured host's time relative to the machine of the fit */
} tide_time_constants;

/* The fitted ones. */
extern const tide_time_constants TIDE_TIME_CONSTANTS;

#ifdef __cplusplus
}
#endif

#endif
