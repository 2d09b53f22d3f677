/* Made by fit_kernels CASES.tsv --table (tests/step_time/). */
#include "programs/step_time/compared.h"

const tide_time_comparison TIDE_TIME_COMPARISONS[TIDE_TIME_N_SLOTS] = {
    [TIDE_TIME_SLOT(TIDE_RUN_VECTORISED, TIDE_TIME_SMALL)] = {"elementwise", 17, 3, 4.0, 0.90,
                                                              1.20},
    [TIDE_TIME_SLOT(TIDE_RUN_VECTORISED, TIDE_TIME_LARGE)] = {"elementwise", 46, 7, 5.6, 0.91,
                                                              1.15},
    [TIDE_TIME_SLOT(TIDE_RUN_CASTING, TIDE_TIME_SMALL)] = {"elementwise, casts", 7, 1, 18.3, 1.00,
                                                           1.44},
    [TIDE_TIME_SLOT(TIDE_RUN_CASTING, TIDE_TIME_LARGE)] = {"elementwise, casts", 4, 1, 3.8, 0.93,
                                                           1.20},
    [TIDE_TIME_SLOT(TIDE_RUN_STRIDED, TIDE_TIME_SMALL)] = {"elementwise, strided", 21, 3, 1.6, 0.98,
                                                           1.11},
    [TIDE_TIME_SLOT(TIDE_RUN_STRIDED, TIDE_TIME_LARGE)] = {"elementwise, strided", 38, 6, 3.9, 0.88,
                                                           1.09},
    [TIDE_TIME_SLOT(TIDE_RUN_REDUCTION, TIDE_TIME_SMALL)] = {"reduction", 6, 4, 7.9, 0.79, 1.27},
    [TIDE_TIME_SLOT(TIDE_RUN_REDUCTION, TIDE_TIME_LARGE)] = {"reduction", 6, 4, 7.9, 0.88, 1.14},
    [TIDE_TIME_SLOT(TIDE_RUN_SOFTMAX, TIDE_TIME_SMALL)] = {"softmax", 13, 1, 20.5, 0.71, 1.27},
    [TIDE_TIME_SLOT(TIDE_RUN_SOFTMAX, TIDE_TIME_LARGE)] = {"softmax", 7, 2, 13.2, 0.78, 1.56},
    [TIDE_TIME_SLOT(TIDE_RUN_NORM, TIDE_TIME_SMALL)] = {"norm", 16, 3, 9.5, 0.86, 1.22},
    [TIDE_TIME_SLOT(TIDE_RUN_NORM, TIDE_TIME_LARGE)] = {"norm", 22, 5, 3.1, 0.96, 1.13},
    [TIDE_TIME_SLOT(TIDE_RUN_GATHER_ROWS, TIDE_TIME_LARGE)] = {"gather", 16, 1, 2.6, 0.90, 1.08},
    [TIDE_TIME_SLOT(TIDE_RUN_SCATTER_ROWS, TIDE_TIME_SMALL)] = {"scatter", 1, 1, 3.7, 0.76, 1.23},
    [TIDE_TIME_SLOT(TIDE_RUN_SCATTER_ROWS, TIDE_TIME_LARGE)] = {"scatter", 8, 2, 10.6, 0.76, 1.39},
    [TIDE_TIME_SLOT(TIDE_RUN_SORT, TIDE_TIME_LARGE)] = {"sort", 4, 1, 2.8, 0.88, 1.09},
    [TIDE_TIME_SLOT(TIDE_TIME_PRODUCTS, TIDE_TIME_LARGE)] = {"matrix products", 55, 3, 3.6, 0.90,
                                                             1.10},
    [TIDE_TIME_SLOT(TIDE_TIME_CONVOLUTIONS, TIDE_TIME_SMALL)] = {"convolutions", 3, 1, 61.8, 1.00,
                                                                 3.45},
    [TIDE_TIME_SLOT(TIDE_TIME_CONVOLUTIONS, TIDE_TIME_LARGE)] = {"convolutions", 62, 3, 4.9, 0.92,
                                                                 1.11},
    [TIDE_TIME_SLOT(TIDE_TIME_COPIES, TIDE_TIME_SMALL)] = {"copies and fills", 12, 2, 10.1, 0.79,
                                                           1.27},
    [TIDE_TIME_SLOT(TIDE_TIME_COPIES, TIDE_TIME_LARGE)] = {"copies and fills", 12, 2, 10.1, 0.88,
                                                           1.14},
};

const tide_time_comparison TIDE_TIME_NEVER_COMPARED = {"never compared", 188, 6, 8.6, 0.83, 1.92};
