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

const tide_time_constants TIDE_TIME_CONSTANTS = {
    .kernel_us = 2.18,
    .product_us = 3.05,
    .vectorised_share = 0.872,
    .casting_share = 0.75,
    .strided_share = 0.683,
    .reduction_share = 0.707,
    .cache_factor = 1.36,
    .issue_rate = 1.39,
    .fp32_share = {0.977, GRAPHICS_FP32_SHARE, GRAPHICS_FP32_SHARE, 0.721},
    .tensor_share = {0.762, 0.762, GEFORCE_TENSOR_SHARE, 0.662},
    .tf32_share = 0.663,
    .layout_factor = 0.73,
    .launch_us = 13.7,
    .reference_us = REFERENCE_US,
    .host_factor = 0.54};
