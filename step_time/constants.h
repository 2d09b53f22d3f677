/* constants.h - the constants of the model of time, which were fitted to published times of steps.
 *
 * docs/virtual-time.md says to which, with what errors, and what each is worth.
 */
#ifndef TIDE_STEP_TIME_CONSTANTS_H
#define TIDE_STEP_TIME_CONSTANTS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Times in microseconds; shares are of the figure that the card's data sheet states. */
typedef struct tide_time_constants {
    double kernel_us;        /* a kernel takes at least this */
    double product_us;       /* the same of a product of matrices */
    double vectorised_share; /* of the bandwidth, with 16 bytes a load */
    double casting_share;    /* elementwise with casts */
    double strided_share;    /* elementwise with strides */
    double reduction_share;  /* reductions, and what works by rows: softmax, norms, losses */
    double cache_factor;     /* how much faster what fits half of the L2 cache is */
    double issue_rate;       /* elements a multiprocessor and cycle, where addresses are computed */
    double fp32_old_share;   /* of the stated peak, before compute capability 9.0 */
    double fp32_new_share;   /* from 9.0 on */
    double tf32_new_share;   /* TF32 from 9.0 on */
    double tensor_old_share; /* TF32, bf16 and fp16 before 9.0 */
    double half_new_share;   /* bf16 and fp16 from 9.0 on */
    double layout_factor;    /* TF32 from 9.0 on, unless both factors have k as their inner
                                dimension: the tensor cores take no other layout of TF32 */
    double launch_us;        /* what a launch takes of the host beyond its time on a virtual card,
                                where no driver works; before the host's factor */
    double reference_us;     /* what `tidemark bench calibrate` gives for a launch on the machine
                                that they were fitted on, the mean of forward and backward */
    double host_factor;      /* the host's time over that of the machine that they were fitted on,
                                for a host that was not measured */
} tide_time_constants;

/* The fitted ones. */
extern const tide_time_constants TIDE_TIME_CONSTANTS;

#ifdef __cplusplus
}
#endif

#endif
