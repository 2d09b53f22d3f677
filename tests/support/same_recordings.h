/* same_recordings.h - asserts that two recordings of the same workload have the same rows.
 */
#ifndef TIDE_TESTS_SUPPORT_SAME_RECORDINGS_H
#define TIDE_TESTS_SUPPORT_SAME_RECORDINGS_H

#include <stddef.h>

#include "model/workload/workload.h"
#include "recorder/recorder.h"

/* All scopes: names, kinds, numbers, parents and threads. Times may differ. */
void expect_same_scopes(const tide_recording *a, const tide_recording *b);

/* Asserts that row `i` of `a` and row `k` of `b` record the same request: action, name, size,
 * category, stream and scope. */
void expect_same_request(const tide_recording *a, size_t i, const tide_recording *b, size_t k);

/* All rows: the request, the device, the block's size, and its address relative to the beginning of
 * its own recording's memory (0: addresses are the same). */
void expect_same_events(const tide_recording *a, uint64_t a_begin, const tide_recording *b,
                        uint64_t b_begin);

/* Variant 0 to 15: all modes, attentions and recompute settings, with clipping in half of them. */
tide_workload_config workload_variant(const tide_model_config *model, tide_precision precision,
                                      int variant);

#endif
