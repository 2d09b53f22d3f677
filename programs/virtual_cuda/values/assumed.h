/* assumed.h - records the values that python/tidemark assumed because the card computes none, in
 * the run's folder (programs/wire/run_assumed.h). Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_ASSUMED_H
#define TIDE_VIRTUAL_CUDA_ASSUMED_H

#include <stdint.h>

/* For python/tidemark, by name. The parameters are the members of tide_snapshot_assumed
 * (snapshot/document/assumed.h). The latest call for the same place and kind of value counts.
 * Longer texts are cut. Does nothing without a folder, and for new rows once there are
 * TIDE_RUN_ASSUMED_ROWS. */
void tidemark_values_assumed(const char *place, const char *what, int64_t given_least,
                             int64_t given_most, int64_t possible, int64_t n_times,
                             int64_t row_bytes, int64_t all_bytes);

#endif
