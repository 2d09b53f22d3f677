/* calibrate.h - `tidemark bench calibrate`.
 */
#ifndef TIDE_MODEL_COMMANDS_BENCH_CALIBRATE_H
#define TIDE_MODEL_COMMANDS_BENCH_CALIBRATE_H

#include <stddef.h>

#include "common/status.h"
#include "report/table.h"
#include "programs/step_time/calibration.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_BENCH_CALIBRATE "calibrate"

/* Measures the host, and the GPU if there is one, with that Python (NULL: the default one), writes
 * the file (NULL: that of this machine) and prints a report. TIDE_UNSUPPORTED if the Python has no
 * PyTorch, or one that the virtual card does not support. */
TIDE_NODISCARD tide_status tide_bench_calibrate(const char *python, const char *path,
                                                tide_format format, tide_error *error);

/* calibrate_gpu.c. Runs the script in mode gpu and reads its output; does nothing if this machine
 * has no driver or no GPU. n_launches: of a burst, forward and backward. */
TIDE_NODISCARD tide_status tide_bench_calibrate_gpu(const char *python, const char *script,
                                                    const size_t n_launches[2],
                                                    tide_calibration *to, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
