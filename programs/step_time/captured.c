#include "programs/step_time/captured.h"

#include <stddef.h>

#include "programs/step_time/forecast.h"

void tide_time_captured_add(tide_work_time *sum, const tide_work_time *work) {
    sum->us += work->us;
    sum->flops += work->flops;
    for (size_t i = 0; i < TIDE_TIME_N_BASES; i++) {
        sum->us_of[i] += work->us_of[i];
    }
    for (size_t i = 0; i < TIDE_TIME_N_ENDS; i++) {
        sum->us_at[i] += work->us_at[i];
    }
    sum->error_us += work->error_us;
    sum->bound = TIDE_TIME_BY_MEMORY;
}

tide_work_time tide_time_captured_launch(const tide_work_time *sum) {
    tide_work_time whole = *sum;
    double most = TIDE_TIME_MOST_GUESSED * whole.us;
    double guessed = sum->us_of[TIDE_TIME_GUESSED];
    whole.basis = guessed > most                                      ? TIDE_TIME_GUESSED
                  : guessed + sum->us_of[TIDE_TIME_UNCOMPARED] > most ? TIDE_TIME_UNCOMPARED
                                                                      : TIDE_TIME_COMPARED;
    return whole;
}

tide_work_time tide_time_captured_row(const tide_work_time *work) {
    tide_work_time row = *work;
    row.us = 0.0;
    row.flops = 0.0;
    return row;
}
