#include "step_time/captured.h"

#include <stddef.h>

#include "step_time/forecast.h"

void tide_time_captured_add(tide_time_captured *sum, const tide_work_time *work) {
    sum->work.us += work->us;
    sum->work.flops += work->flops;
    sum->us[work->basis] += work->us;
    sum->work.bound = TIDE_TIME_BY_MEMORY;
}

void tide_time_captured_join(tide_time_captured *sum, const tide_time_captured *inner) {
    sum->work.us += inner->work.us;
    sum->work.flops += inner->work.flops;
    for (size_t i = 0; i < TIDE_TIME_N_BASES; i++) {
        sum->us[i] += inner->us[i];
    }
    sum->work.bound = TIDE_TIME_BY_MEMORY;
}

tide_work_time tide_time_captured_work(const tide_time_captured *sum) {
    tide_work_time whole = sum->work;
    double most = TIDE_TIME_MOST_GUESSED * whole.us;
    double guessed = sum->us[TIDE_TIME_GUESSED];
    whole.basis = guessed > most                                   ? TIDE_TIME_GUESSED
                  : guessed + sum->us[TIDE_TIME_UNCOMPARED] > most ? TIDE_TIME_UNCOMPARED
                                                                   : TIDE_TIME_COMPARED;
    return whole;
}
