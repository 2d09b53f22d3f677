/* fit_kernels CASES.tsv [--fit]: compares forecasts of kernels with published times, with the
 * constants of the program, or with constants that are fitted here. The constants of variants of
 * kernels, of memories, convolutions and products by chip are fitted; those that published steps
 * determine (fit_step_time) stay. Errors are also printed for times that were not fitted: a fifth
 * of the configurations, each card and each program is left out in turn. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step_time/kernel_cases.h"

typedef struct parameters {
    tide_time_constants constants;
    kernel_bench bench;
} parameters;

static const kernel_bench BENCH = {
    .evicted = 0.4, .event_us = 1.9, .old_row_us = 3.7, .launch_us = {22.0, 12.0, 12.0}};

#define C(member) offsetof(parameters, constants.member)
#define B(member) offsetof(parameters, bench.member)
/* What is fitted, and the most that it may be: no share is above 1. */
static const struct {
    const char *name;
    size_t offset;
    double least, most;
} FITTED[] = {
    {"memory_factor[HBM2E]", C(memory_factor[TIDE_TIME_HBM2E]), 0.85, 1.1},
    {"memory_factor[GDDR6X]", C(memory_factor[TIDE_TIME_GDDR6X]), 0.85, 1.1},
    {"memory_factor[GDDR6X_CACHED]", C(memory_factor[TIDE_TIME_GDDR6X_CACHED]), 0.85, 1.1},
    {"memory_factor[GDDR7]", C(memory_factor[TIDE_TIME_GDDR7]), 0.85, 1.1},
    {"strided_cycles[2]", C(strided_cycles[0]), 0.3, 1.0},
    {"strided_cycles[3]", C(strided_cycles[1]), 0.5, 0.8},
    {"strided_cycles[4]", C(strided_cycles[2]), 0.8, 3.0},
    {"strided_cycles[6]", C(strided_cycles[3]), 1.0, 5.0},
    {"strided_share", C(strided_share), 0.6, 1.0},
    {"casting_share", C(casting_share), 0.6, 0.87},
    {"softmax_warp_share", C(softmax_warp_share), 0.5, 1.0},
    {"softmax_block_share", C(softmax_block_share), 0.5, 1.0},
    {"softmax_backward_share", C(softmax_backward_share), 0.5, 1.0},
    {"layer_share", C(layer_share), 0.5, 1.0},
    {"layer_backward_share", C(layer_backward_share), 0.5, 1.0},
    {"layer_parameters_share", C(layer_parameters_share), 0.2, 1.0},
    {"groups_share", C(groups_share), 0.4, 1.0},
    {"columns_share", C(columns_share), 0.3, 1.0},
    {"segments_share", C(segments_share), 0.4, 1.0},
    {"single_share", C(single_share), 0.4, 1.0},
    {"partial_sums_share", C(partial_sums_share), 0.2, 1.0},
    {"indexed_rows_cycles", C(indexed_rows_cycles), 0.7, 4.0},
    {"softmax_row_us", C(softmax_row_us), 0.2, 5.0},
    {"softmax_backward_row_us", C(softmax_backward_row_us), 0.2, 5.0},
    {"layer_row_us", C(layer_row_us), 0.02, 2.0},
    {"layer_backward_row_us", C(layer_backward_row_us), 0.02, 2.0},
    {"convolution_share", C(convolution_share), 0.5, 1.1},
    {"grouped_share", C(grouped_share), 0.2, 1.0},
    {"layout_copies_bandwidth", C(layout_copies_bandwidth), 0.6, 2.0},
    {"tensor_factor[HBM2E]", C(tensor_factor[TIDE_TIME_HBM2E]), 0.9, 1.15},
    {"tensor_factor[GDDR6X]", C(tensor_factor[TIDE_TIME_GDDR6X]), 0.85, 1.15},
    {"tensor_factor[GDDR6X_CACHED]", C(tensor_factor[TIDE_TIME_GDDR6X_CACHED]), 0.85, 1.15},
    {"tensor_factor[GDDR7]", C(tensor_factor[TIDE_TIME_GDDR7]), 0.85, 1.2},
    {"bench evicted", B(evicted), 0.1, 1.0},
    {"bench event_us", B(event_us), 0.5, 4.0},
    {"bench old_row_us", B(old_row_us), 1.0, 8.0},
    {"bench launch_us[A100]", B(launch_us[0]), 10.0, 30.0},
    {"bench launch_us[H100]", B(launch_us[1]), 6.0, 20.0},
    {"bench launch_us[others]", B(launch_us[2]), 6.0, 20.0},
};
enum { N_FITTED = sizeof(FITTED) / sizeof(FITTED[0]) };

static double *member(parameters *of, size_t i) {
    return (double *)(void *)((char *)of + FITTED[i].offset);
}

/* ---- the search ---- */

#define PULL 0.0015 /* towards the start, for constants that few times determine */

static double loss(kernel_cases *cases, parameters *at, parameters *start) {
    double sum = 0.0;
    double weights = 0.0;
    for (size_t i = 0; i < cases->n; i++) {
        kernel_case *one = &cases->cases[i];
        if (!one->is_left_out && one->weight > 0.0) {
            double us = kernel_case_predict(one, &at->constants, &at->bench);
            sum += one->weight * fabs(log(us / one->published_us));
            weights += one->weight;
        }
    }
    double pull = 0.0;
    for (size_t i = 0; i < N_FITTED; i++) {
        pull += PULL * fabs(log(*member(at, i) / *member(start, i)));
    }
    return sum / weights + pull;
}

static void search(kernel_cases *cases, parameters *at, parameters *start, int n_rounds) {
    double steps[N_FITTED];
    for (size_t i = 0; i < N_FITTED; i++) {
        steps[i] = 0.12;
    }
    double best = loss(cases, at, start);
    for (int round = 0; round < n_rounds; round++) {
        for (size_t i = 0; i < N_FITTED; i++) {
            double before = *member(at, i);
            bool is_better = false;
            for (int sign = 1; sign >= -1 && !is_better; sign -= 2) {
                double value = before * exp(sign * steps[i]);
                *member(at, i) = fmin(fmax(value, FITTED[i].least), FITTED[i].most);
                double now = loss(cases, at, start);
                is_better = now < best - 1e-6;
                best = is_better ? now : best;
            }
            if (!is_better) {
                *member(at, i) = before;
            }
            steps[i] *= is_better ? 1.3 : 0.5;
            steps[i] = fmax(steps[i], 0.004);
        }
    }
}

/* ---- errors ---- */

typedef struct errors {
    double percent[MOST_KERNEL_CASES], ratios[MOST_KERNEL_CASES]; /* measured / forecast */
    size_t n;
} errors;

static int by_value(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double quantile(const double *sorted, size_t n, double at) {
    double place = at * (double)(n - 1);
    size_t below = (size_t)place;
    double above = below + 1 < n ? sorted[below + 1] : sorted[below];
    return sorted[below] + (place - (double)below) * (above - sorted[below]);
}

static void say(const char *title, errors *of) {
    if (of->n == 0) {
        return;
    }
    qsort(of->percent, of->n, sizeof(of->percent[0]), by_value);
    qsort(of->ratios, of->n, sizeof(of->ratios[0]), by_value);
    (void)printf("%-52s n %4zu  median %5.1f  p90 %5.1f  measured/forecast %.2f to %.2f\n", title,
                 of->n, quantile(of->percent, of->n, 0.5), quantile(of->percent, of->n, 0.9),
                 quantile(of->ratios, of->n, 0.1), quantile(of->ratios, of->n, 0.9));
}

static void add(errors *to, double us, double published_us) {
    to->percent[to->n] = 100.0 * fabs(us / published_us - 1.0);
    to->ratios[to->n++] = published_us / us;
}

/* us: by case. */
static void say_all(kernel_cases *cases, const char *title, const double *us) {
    static errors of;
    char line[4 * KERNEL_TEXT];
    static const char *const SOURCES[] = {"kernels", "timm infer", "timm train"};
    for (size_t s = 0; s < 3; s++) {
        of.n = 0;
        for (size_t i = 0; i < cases->n; i++) {
            const kernel_case *one = &cases->cases[i];
            bool is_timm = strncmp(one->program, "timm", 4) == 0;
            bool is_one = s == 0 ? !is_timm : strncmp(one->program, SOURCES[s], 10) == 0;
            if (is_one && one->weight > 0.0) {
                add(&of, us[i], one->published_us);
            }
        }
        (void)snprintf(line, sizeof(line), "%s: %s", title, SOURCES[s]);
        say(line, &of);
    }
}

static void say_programs(kernel_cases *cases, const double *us) {
    static errors of;
    for (size_t i = 0; i < cases->n; i++) {
        const kernel_case *first = &cases->cases[i];
        bool is_new = true;
        of.n = 0;
        for (size_t j = 0; j < cases->n; j++) {
            const kernel_case *one = &cases->cases[j];
            if (strcmp(one->program, first->program) == 0 &&
                strcmp(one->card_name, first->card_name) == 0) {
                is_new = is_new && j >= i;
                add(&of, us[j], one->published_us);
            }
        }
        if (is_new) {
            char line[4 * KERNEL_TEXT];
            (void)snprintf(line, sizeof(line), "  %s, %s%s", first->program, first->card_name,
                           first->weight > 0.0 ? "" : " (not fitted)");
            say(line, &of);
        }
    }
}

/* Each time: published, forecast, measured / forecast, and the kind that takes most of it. */
static void say_cases(const kernel_cases *cases, const double *us) {
    for (size_t i = 0; i < cases->n; i++) {
        const kernel_case *one = &cases->cases[i];
        (void)printf("%-24s %-11s %-100s %10.1f %10.1f %5.2f %s\n", one->program, one->card_name,
                     one->config, one->published_us, us[i], one->published_us / us[i],
                     kernel_kind_name(kernel_case_kind(one)));
    }
}

static size_t n_cards(const kernel_cases *cases, size_t kind, const double *us, bool is_large) {
    const char *cards[64];
    size_t n = 0;
    for (size_t i = 0; i < cases->n; i++) {
        const kernel_case *one = &cases->cases[i];
        size_t j = 0;
        if (one->weight <= 0.0 || one->may_be_host || kernel_case_kind(one) != kind ||
            (us[i] >= 100.0) != is_large) {
            continue;
        }
        while (j < n && strcmp(cards[j], one->card_name) != 0) {
            j++;
        }
        if (j == n && n < sizeof(cards) / sizeof(cards[0])) {
            cards[n++] = one->card_name;
        }
    }
    return n;
}

/* By the kind that takes most of the time, small and large. */
static void say_kinds(kernel_cases *cases, const double *us) {
    static errors of;
    for (size_t kind = 0; kind < 64; kind++) {
        for (int is_large = 0; is_large < 2; is_large++) {
            of.n = 0;
            for (size_t i = 0; i < cases->n; i++) {
                const kernel_case *one = &cases->cases[i];
                if (one->weight > 0.0 && !one->may_be_host && kernel_case_kind(one) == kind &&
                    (us[i] >= 100.0) == (is_large == 1)) {
                    add(&of, us[i], one->published_us);
                }
            }
            char line[4 * KERNEL_TEXT];
            (void)snprintf(line, sizeof(line), "  %s, %s, cards %zu", kernel_kind_name(kind),
                           is_large ? "100 us and more" : "below 100 us",
                           n_cards(cases, kind, us, is_large == 1));
            say(line, &of);
        }
    }
}

/* ---- what is left out ---- */

static void predict_all(kernel_cases *cases, parameters *with, double *ret_us) {
    for (size_t i = 0; i < cases->n; i++) {
        ret_us[i] = kernel_case_predict(&cases->cases[i], &with->constants, &with->bench);
    }
}

/* Whether the two cases are left out together. */
static bool is_same(const kernel_case *a, const kernel_case *b, int way) {
    return way == 0   ? a->fold == b->fold
           : way == 1 ? strcmp(a->card_name, b->card_name) == 0
                      : strcmp(a->program, b->program) == 0;
}

static void leave_out(kernel_cases *cases, int way, parameters *fitted, parameters *start,
                      double *ret_us) {
    static bool is_done[MOST_KERNEL_CASES];
    memset(is_done, 0, sizeof(is_done));
    for (size_t i = 0; i < cases->n; i++) {
        if (is_done[i]) {
            continue;
        }
        parameters at = way == 2 ? *start : *fitted;
        for (size_t j = 0; j < cases->n; j++) {
            cases->cases[j].is_left_out = is_same(&cases->cases[i], &cases->cases[j], way);
        }
        search(cases, &at, start, way == 2 ? 10 : 8);
        for (size_t j = 0; j < cases->n; j++) {
            kernel_case *one = &cases->cases[j];
            if (one->is_left_out) {
                ret_us[j] = kernel_case_predict(one, &at.constants, &at.bench);
                is_done[j] = true;
            }
            one->is_left_out = false;
        }
    }
}

int main(int argc, char **argv) {
    static kernel_cases cases;
    static double us[MOST_KERNEL_CASES];
    static const char *const WAYS[] = {"a fifth left out", "each card left out",
                                       "each program left out"};
    bool fits = argc >= 3 && strncmp(argv[2], "--fit", 5) == 0;
    if (argc < 2 || (argc > 2 && !fits) || !kernel_cases_read(argv[1], &cases)) {
        (void)fprintf(stderr, "usage: fit_kernels CASES.tsv [--fit | --fit-all]\n");
        return 2;
    }
    parameters start = {TIDE_TIME_CONSTANTS, BENCH};
    predict_all(&cases, &start, us);
    say_all(&cases, "constants of the program", us);
    say_programs(&cases, us);
    if (!fits) {
        say_kinds(&cases, us);
        say_cases(&cases, us);
        return 0;
    }
    parameters fitted = start;
    search(&cases, &fitted, &start, 25);
    predict_all(&cases, &fitted, us);
    say_all(&cases, "fitted", us);
    say_programs(&cases, us);
    for (size_t i = 0; i < N_FITTED; i++) {
        (void)printf("%-30s %.3f\n", FITTED[i].name, *member(&fitted, i));
    }
    for (int way = 0; way < 3 && strcmp(argv[2], "--fit-all") == 0; way++) {
        leave_out(&cases, way, &fitted, &start, us);
        say_all(&cases, WAYS[way], us);
        say_programs(&cases, us);
        say_kinds(&cases, us);
    }
    return 0;
}
