#include "step_time/constants.h"

/* Eight runs of the bursts of `bench calibrate` under `chrt -r 10` with PyTorch 2.14.1 on
 * 2026-11-27 gave 10.86 to 16.7 us for the mean of forward and backward; this is their lower
 * quartile. Other programs ran on the machine meanwhile. */
#define REFERENCE_US 11.03

const tide_time_constants TIDE_TIME_CONSTANTS = {.kernel_us = 2.18,
                                                 .product_us = 3.05,
                                                 .vectorised_share = 0.872,
                                                 .casting_share = 0.75,
                                                 .strided_share = 0.683,
                                                 .reduction_share = 0.707,
                                                 .cache_factor = 1.36,
                                                 .issue_rate = 1.39,
                                                 .fp32_old_share = 0.977,
                                                 .fp32_new_share = 0.721,
                                                 .tf32_new_share = 0.663,
                                                 .tensor_old_share = 0.762,
                                                 .half_new_share = 0.662,
                                                 .layout_factor = 0.73,
                                                 .launch_us = 13.7,
                                                 .reference_us = REFERENCE_US,
                                                 .host_factor = 0.54};
