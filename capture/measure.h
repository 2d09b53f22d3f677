/* measure.h - the cost of recording on this machine. */
#ifndef TIDE_CAPTURE_MEASURE_H
#define TIDE_CAPTURE_MEASURE_H

#include "common/status.h"
#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Host time of one recorded event in ns: its call stack of at least 16 frames, its name and its
 * row, on a private recorder with this configuration (NULL: defaults) and a small log. Median of
 * several rounds; takes a few milliseconds. */
TIDE_NODISCARD tide_status tide_recorder_measure_ns(const tide_recorder_config *config,
                                                    double *ret_ns, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
