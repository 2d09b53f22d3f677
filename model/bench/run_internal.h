/* run_internal.h - how a benchmark adds results to its run, and the list of all benchmarks.
 *
 * A benchmark asserts at compile time that its groups and rows have room in the run: a dropped
 * group or row would be an unnoticed error.
 */
#ifndef TIDE_MODEL_BENCH_RUN_INTERNAL_H
#define TIDE_MODEL_BENCH_RUN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "model/bench/bench.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const tide_bench tide_bench_allocator;
extern const tide_bench tide_bench_recorder;
extern const tide_bench tide_bench_symbols;
extern const tide_bench tide_bench_matmul;
extern const tide_bench tide_bench_mlp;
extern const tide_bench tide_bench_mlp_scaling;
extern const tide_bench tide_bench_layernorm;
extern const tide_bench tide_bench_layer_forward;
extern const tide_bench tide_bench_layer_backward;
extern const tide_bench tide_bench_copy;
extern const tide_bench tide_bench_mlp_norm;
extern const tide_bench tide_bench_gemv;
extern const tide_bench tide_bench_gather_gemv;
extern const tide_bench tide_bench_suite;

/* A sentence. After run->heading has been set it goes below the rows. */
void tide_bench_say(tide_bench_run *run, const char *key, const char *format, ...)
    TIDE_PRINTF(3, 4);

/* The n groups of a new set, each zeroed. */
tide_bench_group *tide_bench_add_groups(tide_bench_run *run, const char *key, const char *title,
                                        size_t n, size_t base);

/* A bound that is met if measured <= bound. */
void tide_bench_add_target(tide_bench_run *run, const char *what, const char *unit, double bound,
                           double measured);

/* Reports to the caller which case is measured next. */
void tide_bench_show_case(const tide_bench_run *run, const char *name, const char *label,
                          const char *dtype);

/* A row with its times. It takes over the timing. */
tide_bench_row *tide_bench_add_row(tide_bench_run *run, const char *label, const char *dtype,
                                   const tide_timing *timing);

/* A row with its times and rates, and its record: `work` FLOP or bytes a call. It takes over the
 * timing. Returns the figure, or -1 without one. */
double tide_bench_add_figure(tide_bench_run *run, const char *label, const char *dtype, double work,
                             const tide_timing *timing, bool is_judged);

/* The row of a case that ended because the device had no memory for it: the reason becomes a
 * sentence and `error` is cleared, so the next case can follow. NULL if the case ended
 * otherwise. */
tide_bench_row *tide_bench_add_unfit(tide_bench_run *run, const char *label, const char *dtype,
                                     tide_status status, tide_error *error);

void tide_bench_add_record(tide_bench_run *run, const tide_bench_record *record);

#ifdef __cplusplus
}
#endif

#endif
