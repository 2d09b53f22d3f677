/* tables.c - the results of a benchmark as sentences and tables. */
#include "model/commands/bench/internal.h"
#include "common/statistics.h"
#include "programs/runs/outcome.h"

/* Sentences above the tables of rows, or below. */
static void report_notes(tide_report *report, const tide_bench_run *run, bool is_below) {
    for (size_t i = 0; i < run->n_notes; i++) {
        if (run->notes[i].is_below == is_below) {
            tide_report_say(report, run->notes[i].key, "%s", run->notes[i].text);
        }
    }
}

/* ---- groups of variants ---- */

static void report_variant(tide_table *table, const tide_bench_group *group, size_t i,
                           size_t base) {
    TIDE_ROW(table, tide_as_text(group->name), tide_as_text(group->variants[i].name),
             tide_as_ns(tide_bench_min(group, i)), tide_as_ns(tide_bench_median(group, i)),
             i == 0 ? tide_as_none() : tide_as_ns(tide_bench_added(group, i, i - 1)),
             tide_as_ratio(tide_bench_ratio(group, i, base)));
}

static void report_group_samples(tide_table *table, const tide_bench_group *group) {
    for (size_t i = 0; i < group->n_variants; i++) {
        for (size_t round = 0; round < group->n_rounds; round++) {
            TIDE_ROW(table, tide_as_text(group->name), tide_as_text(group->variants[i].name),
                     tide_as_count((int64_t)round), tide_as_ns(group->variants[i].samples[round]));
        }
    }
}

/* `groups`: those of the set. */
static void report_set(tide_report *report, const tide_bench_group_set *set,
                       const tide_bench_group *groups, bool with_samples) {
    char ratio_title[64];
    (void)snprintf(ratio_title, sizeof(ratio_title), "x %s", groups[0].variants[set->base].name);
    tide_table *table = tide_report_table(report, set->key, set->title);
    TIDE_COLUMNS(table, TIDE_TEXT("workload", "workload"), TIDE_TEXT("variant", "variant"),
                 TIDE_NUMBER("min_ns", "min ns"), TIDE_NUMBER("median_ns", "median ns"),
                 TIDE_NUMBER("added_ns", "ns to the one above"));
    tide_table_column(table, "ratio", ratio_title, true);
    for (size_t g = 0; g < set->n_groups; g++) {
        for (size_t i = 0; i < groups[g].n_variants; i++) {
            report_variant(table, &groups[g], i, set->base);
        }
    }
    if (!with_samples) {
        return;
    }
    tide_table *samples = tide_report_table(report, "samples", "Samples in ns, one a round");
    TIDE_COLUMNS(samples, TIDE_TEXT("workload", "workload"), TIDE_TEXT("variant", "variant"),
                 TIDE_NUMBER("round", "round"), TIDE_NUMBER("ns", "ns"));
    for (size_t g = 0; g < set->n_groups; g++) {
        report_group_samples(samples, &groups[g]);
    }
}

/* ---- rows of cases ---- */

static void begin_rows(tide_table *table, tide_bench_rate rate) {
    TIDE_COLUMNS(table, TIDE_TEXT("case", "case"), TIDE_TEXT("dtype", "dtype"),
                 TIDE_TEXT("outcome", "outcome"), TIDE_NUMBER("min_us", "best us"),
                 TIDE_NUMBER("median_us", "median us"), TIDE_NUMBER("iqr_us", "quartiles apart us"),
                 TIDE_NUMBER("mean_us", "mean us"),
                 TIDE_NUMBER("sample_std_us", "± sample std us"));
    if (rate == TIDE_RATE_BYTES) {
        tide_table_column(table, "gb_per_s", "GB/s", true);
    } else {
        tide_table_column(table, "tflops", "TFLOP/s", true);
    }
    if (rate == TIDE_RATE_SHARE) {
        tide_table_column(table, "utilization", "of the peak", true);
    }
}

static void begin_scaling_rows(tide_table *table) {
    TIDE_COLUMNS(table, TIDE_TEXT("varied", "varied"), TIDE_NUMBER("value", "value"),
                 TIDE_NUMBER("factor", "times"), TIDE_TEXT("outcome", "outcome"),
                 TIDE_NUMBER("min_us", "best us"), TIDE_NUMBER("median_us", "median us"),
                 TIDE_NUMBER("mean_us", "mean us"), TIDE_NUMBER("std_us", "± sample std us"),
                 TIDE_NUMBER("ratio", "x base"));
}

/* Begins a row with the two cells that name the case. */
static void put_case(tide_table *table, const tide_bench_heading *heading,
                     const tide_bench_row *row) {
    tide_table_row_begin(table);
    if (heading->is_scaling) {
        TIDE_CELLS(table, tide_as_text(row->varied), tide_as_count((int64_t)row->value));
    } else {
        TIDE_CELLS(table, tide_as_text(row->label), tide_as_text(row->dtype));
    }
}

/* The quartiles' distance in us; -1: a single sample has none. */
static double quartiles_apart_us(const tide_timing *timing) {
    const double first = tide_statistics_quantile(timing->device_ms, timing->n_samples, 0.25);
    const double third = tide_statistics_quantile(timing->device_ms, timing->n_samples, 0.75);
    return timing->n_samples > 1 ? (third - first) * 1e3 : -1.0;
}

static void report_row(tide_table *table, const tide_bench_heading *heading,
                       const tide_bench_row *row) {
    put_case(table, heading, row);
    if (heading->is_scaling) {
        TIDE_CELLS(table, tide_as_count((int64_t)row->factor));
    }
    TIDE_CELLS(table, tide_as_text(tide_outcome_name(row->is_unfit ? TIDE_OUTCOME_OOM
                                                                   : TIDE_OUTCOME_COMPLETED)));
    if (row->is_unfit) {
        return; /* the other cells stay empty */
    }
    TIDE_CELLS(table, tide_as_ns(row->us.min), tide_as_ns(row->us.median));
    if (!heading->is_scaling) {
        TIDE_CELLS(table, tide_as_ns(quartiles_apart_us(&row->timing)));
    }
    TIDE_CELLS(table, tide_as_ns(row->us.mean), tide_as_ns(row->us.std),
               tide_as_ratio(heading->is_scaling ? row->ratio : row->rate));
    if (heading->rate == TIDE_RATE_SHARE) {
        TIDE_CELLS(table, tide_as_ratio(row->share));
    }
}

static void report_exponents(tide_report *report, const tide_bench_run *run) {
    tide_table *table =
        tide_report_table(report, "exponents", "Exponent p of time ~ factor^p, least squares");
    TIDE_COLUMNS(table, TIDE_TEXT("varied", "varied"), TIDE_NUMBER("exponent", "p"),
                 TIDE_NUMBER("expected", "where products decide"));
    for (size_t i = 0; i < run->n_exponents; i++) {
        TIDE_ROW(table, tide_as_text(run->exponents[i].varied),
                 tide_as_ratio(run->exponents[i].exponent),
                 tide_as_ratio(run->exponents[i].expected));
    }
}

static void report_row_samples(tide_table *table, const tide_bench_heading *heading,
                               const tide_bench_row *row) {
    for (size_t i = 0; i < row->timing.n_samples; i++) {
        const double host_ms = row->timing.host_ms[i];
        put_case(table, heading, row);
        TIDE_CELLS(table, tide_as_count((int64_t)i), tide_as_ns(row->timing.device_ms[i] * 1e3));
        if (!heading->is_scaling) {
            TIDE_CELLS(table, tide_as_ns(host_ms < 0.0 ? -1.0 : host_ms * 1e3));
        }
    }
}

static void report_samples(tide_report *report, const tide_bench_run *run) {
    const bool is_scaling = run->heading.is_scaling;
    tide_table *table = tide_report_table(
        report, "samples", is_scaling ? "Samples in us of a run" : "Samples in us of a call");
    if (is_scaling) {
        TIDE_COLUMNS(table, TIDE_TEXT("varied", "varied"), TIDE_NUMBER("value", "value"));
    } else {
        TIDE_COLUMNS(table, TIDE_TEXT("case", "case"), TIDE_TEXT("dtype", "dtype"));
    }
    TIDE_COLUMNS(table, TIDE_NUMBER("round", "round"), TIDE_NUMBER("device_us", "device us"));
    if (!is_scaling) {
        TIDE_COLUMNS(table, TIDE_NUMBER("host_us", "host us"));
    }
    for (size_t i = 0; i < run->n_rows; i++) {
        report_row_samples(table, &run->heading, &run->rows[i]);
    }
}

static void report_rows(tide_report *report, const tide_bench_run *run, bool with_samples) {
    const tide_bench_heading *heading = &run->heading;
    tide_table *table = tide_report_table(report, "figures", heading->title);
    if (heading->is_scaling) {
        begin_scaling_rows(table);
    } else {
        begin_rows(table, heading->rate);
    }
    for (size_t i = 0; i < run->n_rows; i++) {
        report_row(table, heading, &run->rows[i]);
    }
    if (heading->is_scaling) {
        report_exponents(report, run);
    }
    if (with_samples) {
        report_samples(report, run);
    }
}

/* ---- targets, and everything ---- */

static void report_targets(tide_report *report, const tide_bench_run *run) {
    tide_table *table = tide_report_table(report, "targets", "Targets");
    TIDE_COLUMNS(table, TIDE_TEXT("quantity", "quantity"), TIDE_TEXT("unit", "unit"),
                 TIDE_NUMBER("at_most", "at most"), TIDE_NUMBER("measured", "measured"),
                 TIDE_TEXT("result", "result"));
    for (size_t i = 0; i < run->n_targets; i++) {
        const tide_bench_target *target = &run->targets[i];
        TIDE_ROW(table, tide_as_text(target->what), tide_as_text(target->unit),
                 tide_as_ns(target->bound), tide_as_ns(target->measured),
                 tide_as_text(tide_bench_target_is_met(target) ? "ok"
                              : target->measured < 0.0         ? "not measured"
                                                               : "missed"));
    }
}

void tide_bench_report_results(tide_report *report, const tide_bench_run *run, bool with_samples) {
    const tide_bench_group *groups = run->groups;
    report_notes(report, run, false);
    for (size_t i = 0; i < run->n_sets; i++) {
        report_set(report, &run->sets[i], groups, with_samples);
        groups += run->sets[i].n_groups;
    }
    if (run->heading.title != NULL) {
        report_rows(report, run, with_samples);
    }
    report_notes(report, run, true);
    if (run->n_targets > 0) {
        report_targets(report, run);
    }
}
