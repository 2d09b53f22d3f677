#include "step_time/constants.h"

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
                                                 .host_factor = 0.54};
