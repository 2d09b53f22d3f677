/* groups.c - rounds of samples of a group, and their figures. */
#include "model/bench/result.h"

#include "common/statistics.h"

tide_status tide_bench_measure(tide_bench_group *group, size_t n_rounds, tide_error *error) {
    double ignored_ns = 0.0;
    for (size_t i = 0; i < group->n_variants; i++) {
        TIDE_TRY(group->variants[i].sample(group->variants[i].ctx, &ignored_ns, error));
    }
    group->n_rounds = 0;
    for (size_t round = 0; round < n_rounds; round++) {
        for (size_t i = 0; i < group->n_variants; i++) {
            tide_bench_variant *variant = &group->variants[(i + round) % group->n_variants];
            TIDE_TRY(variant->sample(variant->ctx, &variant->samples[round], error));
        }
        group->n_rounds++;
    }
    return TIDE_OK;
}

double tide_bench_min(const tide_bench_group *group, size_t variant) {
    return tide_statistics_of(group->variants[variant].samples, group->n_rounds).min;
}

double tide_bench_median(const tide_bench_group *group, size_t variant) {
    return tide_statistics_of(group->variants[variant].samples, group->n_rounds).median;
}

double tide_bench_ratio(const tide_bench_group *group, size_t variant, size_t base) {
    double ratios[TIDE_BENCH_MAX_ROUNDS];
    for (size_t i = 0; i < group->n_rounds; i++) {
        ratios[i] = group->variants[variant].samples[i] / group->variants[base].samples[i];
    }
    return tide_statistics_of(ratios, group->n_rounds).median;
}

double tide_bench_added(const tide_bench_group *group, size_t variant, size_t base) {
    return tide_bench_min(group, variant) - tide_bench_min(group, base);
}
