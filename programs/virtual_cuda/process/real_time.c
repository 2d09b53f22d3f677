#include "programs/virtual_cuda/process/real_time.h"

#include "common/real_time.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/program_clock.h"

static const tide_real_time REAL = {.read = tide_vc_clock_read_real,
                                    .pause = tide_vc_pause_real,
                                    .sleep_on = tide_vc_sleep_on_real};

void tide_vc_real_time_begin(void) {
    tide_real_time_set(&REAL);
}

/* For the recording, which measures with the real clock too (programs/live/real_time.c). */
TIDE_VC_EXPORT const tide_real_time *tide_vc_real_time(void);
const tide_real_time *tide_vc_real_time(void) {
    return &REAL;
}
