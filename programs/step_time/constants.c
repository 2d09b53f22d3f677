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
 * 40 GB have a factor of 1: their published steps determined the shares. The factors of products of
 * the chips with HBM2e, and of GeForce cards, are those of MLPs and of vision models. */
#define KERNEL_CONSTANTS                                                                           \
    .memory_factor = {1.0, 0.85, 1.0, 1.09, 1.10, 0.92},                                           \
    .tensor_factor = {1.0, 1.116, 1.0, 1.0, 1.067, 1.07},                                          \
    .strided_cycles = {0.61, 0.763, 1.914, 3.24}, .softmax_warp_share = 1.0,                       \
    .softmax_block_share = 0.90, .softmax_backward_share = 1.0, .layer_share = 0.96,               \
    .layer_backward_share = 1.0, .layer_parameters_share = 0.76, .groups_share = 0.76,             \
    .columns_share = 0.71, .segments_share = 1.0, .single_share = 1.0, .partial_sums_share = 0.45, \
    .softmax_row_us = 1.2, .softmax_backward_row_us = 0.8, .indexed_rows_cycles = 1.87,            \
    .layer_row_us = 0.082, .layer_backward_row_us = 0.519, .convolution_share = 0.957,             \
    .grouped_share = 0.5, .layout_copies_bandwidth = 1.3

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
    .casting_share = 0.87,
    .strided_share = 0.683,
    .reduction_share = 0.707,
    .generated_share = GENERATED_SHARE,
    .generated_turns_share = GENERATED_TURNS_SHARE,
    .atomic_cycles = ATOMIC_CYCLES,
    .cache_factor = 1.36,
    .issue_rate = 1.39,
    KERNEL_CONSTANTS,
    .fp32_share = {0.977, GRAPHICS_FP32_SHARE, GRAPHICS_FP32_SHARE, 0.721},
    .tensor_share = {0.762, 0.762, GEFORCE_TENSOR_SHARE, 0.662},
    .tf32_share = 0.663,
    .layout_factor = 0.73,
    .launch_us = 13.7,
    .reference_us = REFERENCE_US,
    .host_factor = 0.54};
