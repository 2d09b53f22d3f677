/* calibration_log.h - the host's time for a launch, from the launch log of calibrate.py.
 */
#ifndef TIDE_STEP_TIME_CALIBRATION_LOG_H
#define TIDE_STEP_TIME_CALIBRATION_LOG_H

#include <stddef.h>

#include "common/status.h"
#include "programs/step_time/calibration.h"
#include "programs/step_time/log.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes the host's times from the launch log of calibrate.py: for each pass, the lower quartile
 * of its bursts after the warm-up, divided by their launches. ret_n_launches: of a burst, forward
 * and backward. TIDE_FORMAT: the log does not have them. */
TIDE_NODISCARD tide_status tide_calibration_take_host(const tide_time_log *log,
                                                      tide_calibration *to,
                                                      size_t ret_n_launches[2], tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
