/* fit_kernels CASES.tsv [--cases | --fit | --fit-folds | --fit-all | --table | --check]: compares
 * forecasts of kernels with published times, with the constants of the program (--cases: time by
 * time), or with constants that are fitted here. --fit-folds also leaves a fifth of the
 * configurations out in turn, and
 * --fit-all each card, each source and each program, and fits the others from the start of before
 * any of these times was seen; it prints the errors of what was left out, and how much of it the
 * other groups' intervals hold. --table prints programs/step_time/compared_table.c from a fifth
 * left out. --check fails if that table, or how many times its intervals hold, is not what the
 * program has. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step_time/kernel_fit.h"
#include "step_time/kernel_table.h"

/* ---- errors ---- */

typedef struct errors {
    double percent[MOST_KERNEL_CASES], ratios[MOST_KERNEL_CASES]; /* measured / forecast */
    size_t n, n_inside;
} errors;

static void say(const char *title, errors *of, bool has_coverage) {
    if (of->n == 0) {
        return;
    }
    kernel_sort(of->percent, of->n);
    kernel_sort(of->ratios, of->n);
    (void)printf("%-52s n %4zu  median %5.1f  p90 %5.1f  measured/forecast %.2f to %.2f", title,
                 of->n, kernel_quantile(of->percent, of->n, 0.5),
                 kernel_quantile(of->percent, of->n, 0.9), kernel_quantile(of->ratios, of->n, 0.1),
                 kernel_quantile(of->ratios, of->n, 0.9));
    if (has_coverage) {
        (void)printf("  inside %3.0f %%", 100.0 * (double)of->n_inside / (double)of->n);
    }
    (void)printf("\n");
}

/* Of all cases: the intervals that the other groups' errors give. NULL: there are no groups. */
typedef struct intervals {
    double least[MOST_KERNEL_CASES], most[MOST_KERNEL_CASES];
} intervals;

static void add(errors *to, const kernel_results *results, size_t i, const intervals *within) {
    double published_us = results->cases->cases[i].published_us;
    double us = results->of[i].us;
    to->percent[to->n] = 100.0 * fabs(us / published_us - 1.0);
    to->ratios[to->n++] = published_us / us;
    to->n_inside +=
        within != NULL && published_us >= within->least[i] && published_us <= within->most[i];
}

static const char *source_of(const kernel_case *one) {
    return strncmp(one->program, "timm infer", 10) == 0   ? "timm infer"
           : strncmp(one->program, "timm train", 10) == 0 ? "timm train"
                                                          : "kernels";
}

/* The parts of all times for which errors are printed. */
typedef enum part { KERNELS, NOT_HOST, INFERENCE, TRAINING, ALL, N_PARTS } part;
static const char *const PARTS[N_PARTS] = {"kernels", "kernels that no host bounds",
                                           "timm inference", "timm training", "all"};

static bool is_in_part(const kernel_results *results, size_t i, part which) {
    const kernel_case *one = &results->cases->cases[i];
    bool is_kernel = strncmp(one->program, "timm", 4) != 0;
    switch (which) {
    case KERNELS:
        return is_kernel;
    case NOT_HOST:
        return is_kernel && !results->of[i].may_be_host;
    case INFERENCE:
        return strncmp(one->program, "timm infer", 10) == 0;
    case TRAINING:
        return strncmp(one->program, "timm train", 10) == 0;
    default:
        return true;
    }
}

static void say_parts(const kernel_results *results, const char *title, const intervals *within) {
    static errors of;
    for (part which = KERNELS; which < N_PARTS; which++) {
        char line[4 * KERNEL_TEXT];
        of.n = of.n_inside = 0;
        for (size_t i = 0; i < results->cases->n; i++) {
            if (results->cases->cases[i].weight > 0.0 && is_in_part(results, i, which)) {
                add(&of, results, i, within);
            }
        }
        (void)snprintf(line, sizeof(line), "%s: %s", title, PARTS[which]);
        say(line, &of, within != NULL);
    }
}

static bool is_same_program(const kernel_case *a, const kernel_case *b) {
    return strcmp(a->program, b->program) == 0 && strcmp(a->card_name, b->card_name) == 0;
}

static void say_programs(const kernel_results *results, const intervals *within) {
    static errors of;
    for (size_t i = 0; i < results->cases->n; i++) {
        const kernel_case *first = &results->cases->cases[i];
        bool is_new = true;
        of.n = of.n_inside = 0;
        for (size_t j = 0; j < results->cases->n; j++) {
            if (is_same_program(&results->cases->cases[j], first)) {
                is_new = is_new && j >= i;
                add(&of, results, j, within);
            }
        }
        if (is_new) {
            char line[4 * KERNEL_TEXT];
            (void)snprintf(line, sizeof(line), "  %s, %s%s", first->program, first->card_name,
                           first->weight > 0.0 ? "" : " (not fitted)");
            say(line, &of, within != NULL);
        }
    }
}

/* By the family and size that take most of the time. */
static void say_families(const kernel_results *results, const intervals *within) {
    static errors of;
    for (size_t slot = 0; slot <= TIDE_TIME_N_SLOTS; slot++) {
        char line[4 * KERNEL_TEXT];
        of.n = of.n_inside = 0;
        for (size_t i = 0; i < results->cases->n; i++) {
            if (kernel_counts(results, i) && kernel_main_slot(&results->of[i]) == slot) {
                add(&of, results, i, within);
            }
        }
        (void)snprintf(line, sizeof(line), "  %s, %s", kernel_family_name(slot / TIDE_TIME_N_SIZES),
                       slot % TIDE_TIME_N_SIZES == TIDE_TIME_LARGE ? "100 us and more"
                                                                   : "below 100 us");
        say(line, &of, within != NULL);
    }
}

/* Each time: published, forecast, measured / forecast, and the families with the most time. */
static void say_cases(const kernel_results *results) {
    for (size_t i = 0; i < results->cases->n; i++) {
        const kernel_case *one = &results->cases->cases[i];
        kernel_forecast left = results->of[i];
        (void)printf("%-24s %-11s %-100s %10.1f %10.1f %5.2f%s", one->program, one->card_name,
                     one->config, one->published_us, left.us, one->published_us / left.us,
                     left.may_be_host ? " host?" : "");
        for (size_t slot = kernel_main_slot(&left); left.us_of[slot] > 0.05 * left.us;
             slot = kernel_main_slot(&left)) {
            (void)printf(" | %s%s %.0f %%", kernel_family_name(slot / TIDE_TIME_N_SIZES),
                         slot % TIDE_TIME_N_SIZES == TIDE_TIME_SMALL ? " <" : "",
                         100.0 * left.us_of[slot] / left.us);
            left.us_of[slot] = 0.0;
        }
        (void)printf("\n");
    }
}

/* ---- what is left out ---- */

typedef enum way { BY_FOLD, BY_CARD, BY_SOURCE, BY_PROGRAM, N_WAYS } way;
static const char *const WAYS[N_WAYS] = {"a fifth left out", "each card left out",
                                         "each source left out", "each program left out"};

static bool is_same_group(const kernel_case *a, const kernel_case *b, way by) {
    switch (by) {
    case BY_FOLD:
        return a->fold == b->fold;
    case BY_CARD:
        return strcmp(a->card_name, b->card_name) == 0;
    case BY_SOURCE:
        return strcmp(source_of(a), source_of(b)) == 0;
    default:
        return strcmp(a->program, b->program) == 0;
    }
}

/* Numbers the groups in the order of their first case; returns how many there are. */
static size_t find_groups(const kernel_cases *cases, way by, size_t *ret_groups) {
    size_t n = 0;
    for (size_t i = 0; i < cases->n; i++) {
        size_t j = 0;
        while (!is_same_group(&cases->cases[j], &cases->cases[i], by)) {
            j++;
        }
        ret_groups[i] = j < i ? ret_groups[j] : n++;
    }
    return n;
}

static void leave_out(kernel_cases *cases, way by, kernel_results *results) {
    size_t n_groups = find_groups(cases, by, results->group);
    for (size_t group = 0; group < n_groups; group++) {
        kernel_parameters at = KERNEL_START;
        for (size_t i = 0; i < cases->n; i++) {
            cases->cases[i].is_left_out = results->group[i] == group;
        }
        kernel_fit(cases, &at);
        for (size_t i = 0; i < cases->n; i++) {
            if (cases->cases[i].is_left_out) {
                kernel_case_forecast(&cases->cases[i], &at, &results->of[i]);
            }
            cases->cases[i].is_left_out = false;
        }
    }
}

/* The intervals of each case from the errors of the other groups. */
static void find_intervals(const kernel_results *results, const tide_time_comparison *never,
                           intervals *ret) {
    static tide_time_comparison table[TIDE_TIME_N_SLOTS];
    for (size_t group = 0; group < results->cases->n; group++) {
        bool is_made = false;
        for (size_t i = 0; i < results->cases->n; i++) {
            if (results->group[i] == group) {
                if (!is_made) {
                    kernel_table_make(results, group, table);
                    is_made = true;
                }
                kernel_interval(&results->of[i], table, never, &ret->least[i], &ret->most[i]);
            }
        }
    }
}

static void predict_all(kernel_results *results, const kernel_parameters *with) {
    for (size_t i = 0; i < results->cases->n; i++) {
        kernel_case_forecast(&results->cases->cases[i], with, &results->of[i]);
        results->group[i] = KERNEL_NO_GROUP - 1;
    }
}

static void say_all(const kernel_results *results, const char *title, const intervals *within) {
    say_parts(results, title, within);
    say_programs(results, within);
    say_families(results, within);
}

static void fit_ways(kernel_cases *cases, kernel_results *results, way last,
                     const tide_time_comparison *never) {
    static intervals within;
    for (way by = BY_FOLD; by <= last; by++) {
        leave_out(cases, by, results);
        find_intervals(results, never, &within);
        say_all(results, WAYS[by], &within);
    }
}

/* The results are of a fifth left out. */
static bool held_agrees(const kernel_results *results, const tide_time_comparison *never) {
    static intervals within;
    static errors of;
    find_intervals(results, never, &within);
    for (size_t i = 0; i < results->cases->n; i++) {
        if (results->cases->cases[i].weight > 0.0) {
            add(&of, results, i, &within);
        }
    }
    double percent = of.n > 0 ? 100.0 * (double)of.n_inside / (double)of.n : 0.0;
    (void)printf("%zu of %zu times inside their intervals: %.1f %%; the program has %d\n",
                 of.n_inside, of.n, percent, (int)TIDE_TIME_HELD_PERCENT);
    return fabs(percent - TIDE_TIME_HELD_PERCENT) < 1.0;
}

int main(int argc, char **argv) {
    static kernel_cases cases;
    static kernel_results results = {.cases = &cases};
    static tide_time_comparison table[TIDE_TIME_N_SLOTS];
    const char *wanted = argc == 3 ? argv[2] : "";
    if (argc < 2 || argc > 3 || !kernel_cases_read(argv[1], &cases)) {
        (void)fprintf(stderr, "usage: fit_kernels CASES.tsv "
                              "[--cases | --fit | --fit-folds | --fit-all | --table | --check]\n");
        return 2;
    }
    predict_all(&results, &KERNEL_START);
    tide_time_comparison never = kernel_comparison_of_all(&results);
    if (strcmp(wanted, "--table") == 0 || strcmp(wanted, "--check") == 0) {
        leave_out(&cases, BY_FOLD, &results);
        kernel_table_make(&results, KERNEL_NO_GROUP, table);
        if (strcmp(wanted, "--table") == 0) {
            kernel_table_say(table, &never);
            return 0;
        }
        bool is_table = kernel_table_agrees(table, &never);
        return held_agrees(&results, &never) && is_table ? 0 : 1;
    }
    say_parts(&results, "the start", NULL);
    kernel_parameters at = kernel_parameters_of_program();
    predict_all(&results, &at);
    say_all(&results, "constants of the program", NULL);
    if (strcmp(wanted, "--cases") == 0) {
        say_cases(&results);
    }
    if (strncmp(wanted, "--fit", 5) == 0) {
        at = KERNEL_START;
        kernel_fit(&cases, &at);
        predict_all(&results, &at);
        say_all(&results, "fitted", NULL);
        kernel_fit_say(&at);
    }
    if (strcmp(wanted, "--fit") == 0) {
        say_cases(&results);
    }
    if (strcmp(wanted, "--fit-folds") == 0 || strcmp(wanted, "--fit-all") == 0) {
        fit_ways(&cases, &results, strcmp(wanted, "--fit-all") == 0 ? BY_PROGRAM : BY_FOLD, &never);
    }
    return 0;
}
