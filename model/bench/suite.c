/* suite.c - the four micro-benchmarks of PyTorch's benchmarks/gpt_fast, in its order. Each measures
 * its own sizes and types.
 */
#include "model/bench/run_internal.h"

static const tide_bench *const PARTS[] = {&tide_bench_mlp_norm, &tide_bench_layernorm,
                                          &tide_bench_gather_gemv, &tide_bench_gemv, NULL};

const tide_bench tide_bench_suite = {
    .name = "suite",
    .summary = "mlp-norm, layernorm, gather-gemv and gemv one after the other, with their types",
    .parts = PARTS,
    .takes = TIDE_BENCH_TAKES_DEVICE | TIDE_BENCH_TAKES_SIZES | TIDE_BENCH_TAKES_FLUSH |
             TIDE_BENCH_TAKES_PEAK,
};
