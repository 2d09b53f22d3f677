/* bench.c - rounds of samples, their figures and their tables. */
#include "bench/bench.h"

#include <stdio.h>

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

static void report_variant(tide_table *table, const tide_bench_group *group, size_t i,
                           size_t base) {
    tide_table_row_begin(table);
    tide_cell_text(table, group->name);
    tide_cell_text(table, group->variants[i].name);
    tide_cell_ns(table, tide_bench_min(group, i));
    tide_cell_ns(table, tide_bench_median(group, i));
    if (i == 0) {
        tide_cell_none(table);
    } else {
        tide_cell_ns(table, tide_bench_added(group, i, i - 1));
    }
    tide_cell_ratio(table, tide_bench_ratio(group, i, base));
}

static void report_samples(tide_report *report, const tide_bench_group *groups, size_t n_groups) {
    tide_table *table = tide_report_table(report, "samples", "Samples in ns, one a round");
    tide_table_column(table, "workload", "workload", false);
    tide_table_column(table, "variant", "variant", false);
    tide_table_column(table, "round", "round", true);
    tide_table_column(table, "ns", "ns", true);
    for (size_t g = 0; g < n_groups; g++) {
        for (size_t i = 0; i < groups[g].n_variants; i++) {
            for (size_t round = 0; round < groups[g].n_rounds; round++) {
                tide_table_row_begin(table);
                tide_cell_text(table, groups[g].name);
                tide_cell_text(table, groups[g].variants[i].name);
                tide_cell_count(table, (int64_t)round);
                tide_cell_ns(table, groups[g].variants[i].samples[round]);
            }
        }
    }
}

void tide_bench_report_groups(tide_bench_run *run, const char *key, const char *title,
                              const tide_bench_group *groups, size_t n_groups, size_t base) {
    char ratio_title[64];
    (void)snprintf(ratio_title, sizeof(ratio_title), "x %s", groups[0].variants[base].name);
    tide_table *table = tide_report_table(run->report, key, title);
    tide_table_column(table, "workload", "workload", false);
    tide_table_column(table, "variant", "variant", false);
    tide_table_column(table, "min_ns", "min ns", true);
    tide_table_column(table, "median_ns", "median ns", true);
    tide_table_column(table, "added_ns", "ns to the one above", true);
    tide_table_column(table, "ratio", ratio_title, true);
    for (size_t g = 0; g < n_groups; g++) {
        for (size_t i = 0; i < groups[g].n_variants; i++) {
            report_variant(table, &groups[g], i, base);
        }
    }
    if (run->with_samples) {
        report_samples(run->report, groups, n_groups);
    }
}

void tide_bench_add_target(tide_bench_run *run, const char *what, const char *unit, double bound,
                           double measured) {
    if (run->n_targets < TIDE_BENCH_MAX_TARGETS) {
        tide_bench_target *target = &run->targets[run->n_targets++];
        *target = (tide_bench_target){.bound = bound, .measured = measured, .unit = unit};
        (void)snprintf(target->what, sizeof(target->what), "%s", what);
    }
}

bool tide_bench_report_targets(tide_bench_run *run) {
    bool is_missed = false;
    if (run->n_targets == 0) {
        return false;
    }
    tide_table *table = tide_report_table(run->report, "targets", "Targets");
    tide_table_column(table, "quantity", "quantity", false);
    tide_table_column(table, "unit", "unit", false);
    tide_table_column(table, "at_most", "at most", true);
    tide_table_column(table, "measured", "measured", true);
    tide_table_column(table, "result", "result", false);
    for (size_t i = 0; i < run->n_targets; i++) {
        const tide_bench_target *target = &run->targets[i];
        bool is_met = target->measured >= 0.0 && target->measured <= target->bound;
        tide_table_row_begin(table);
        tide_cell_text(table, target->what);
        tide_cell_text(table, target->unit);
        tide_cell_ns(table, target->bound);
        tide_cell_ns(table, target->measured);
        tide_cell_text(table, is_met ? "ok" : target->measured < 0.0 ? "not measured" : "missed");
        is_missed = is_missed || !is_met;
    }
    return is_missed;
}
