#include "programs/step_time/constants.h"

/* Eight runs of the bursts of `bench calibrate` under `chrt -r 10` with PyTorch 2.14.1 on
 * 2026-11-27 gave 10.86 to 16.7 us for the mean of forward and backward; this is their lower
 * quartile. Other programs ran on the machine meanwhile. */
#define REFERENCE_US 11.03

/* No published step of these chips was used for fitting. A published table of large products in
 * PyTorch, by owners of the cards, has 24.5 and 24.8 TFLOP/s of fp32 on an RTX 3090 (of 35.6
 * stated), a median of 54.7 of six RTX 4090 (of 82.6) and 69.2 on an RTX 5090 (of 104.8): 0.69,
 * 0.66, 0.66. */
#define GRAPHICS_FP32_SHARE 0.67
/* The same table has 76.3 and 76.7 TFLOP/s of bf16 on an RTX 3090 (of 71), 160 to 173 on an RTX
 * 4090 (of 165.2) and 236 on an RTX 5090 (of 209.5). Values above 1 result from clocks above the
 * stated one, which are not guaranteed. */
#define GEFORCE_TENSOR_SHARE 1.0

/* Fitted by fit_kernels (tests/step_time/) to published times of kernels of five cards and of whole
 * steps of vision models of three, which docs/internals/time-model.md names. HBM3 and the A100 with
 * 40 GB have a factor of 1: their published steps determined the shares. The factors of products
 * are those of MLPs on an A100 with 80 GB and of vision models on an RTX 5090. */
#define KERNEL_CONSTANTS                                                                           \
    .memory_factor = {1.0, 0.856, 1.0, 1.172, 1.151, 0.946},                                       \
    .tensor_factor = {1.0, 1.11, 1.0, 1.0, 1.0, 1.061}, .cache_bytes = 14.0,                       \
    .strided_cycles = 0.714, .pointer_cycles = 1.02, .division_cycles = 0.16, .rows_share = 0.875, \
    .moments_share = 0.118, .partial_sums_share = 0.373, .row_us = 1.77,                           \
    .indexed_rows_cycles = 1.875, .convolution_share = 1.232, .pointwise_share = 0.887,            \
    .grouped_share = 0.527, .gradient_factor = 0.673, .layout_copies_bandwidth = 0.791

/* Published times of Liger-Kernel's Triton kernels on an A100 and an H100: those that read and
 * write their rows once, and the backward passes of its norms. */
#define GENERATED_SHARE 0.95
#define GENERATED_TURNS_SHARE 0.45
/* The backward pass of its embedding on an A100, the only card with such times. */
#define ATOMIC_CYCLES 4.5

const tide_time_constants TIDE_TIME_CONSTANTS = {
    .kernel_us = 2.18,
    .product_us = 3.05,
    .vectorised_share = 0.872,
    .casting_share = 1.0,
    .strided_share = 0.672,
    .reduction_share = 0.707,
    .generated_share = GENERATED_SHARE,
    .generated_turns_share = GENERATED_TURNS_SHARE,
    .atomic_cycles = ATOMIC_CYCLES,
    .issue_rate = 1.39,
    KERNEL_CONSTANTS,
    .fp32_share = {0.977, GRAPHICS_FP32_SHARE, GRAPHICS_FP32_SHARE, 0.721},
    .tensor_share = {0.762, 0.762, GEFORCE_TENSOR_SHARE, 0.662},
    .tf32_share = 0.663,
    .layout_factor = 0.73,
    .launch_us = 13.7,
    .reference_us = REFERENCE_US,
    .host_factor = 0.54};
