#include "step_time/kernel_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the logarithms of measured / forecast. */
typedef struct sample {
    double logs[MOST_KERNEL_CASES], percent[MOST_KERNEL_CASES];
    const char *cards[MOST_KERNEL_CASES];
    size_t n, n_cards;
} sample;

static int by_value(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

void kernel_sort(double *values, size_t n) {
    qsort(values, n, sizeof(*values), by_value);
}

double kernel_quantile(const double *sorted, size_t n, double at) {
    double place = fmax(0.0, fmin(at, 1.0)) * (double)(n - 1);
    size_t below = (size_t)place;
    double above = below + 1 < n ? sorted[below + 1] : sorted[below];
    return sorted[below] + (place - (double)below) * (above - sorted[below]);
}

bool kernel_counts(const kernel_results *results, size_t i) {
    return results->cases->cases[i].weight > 0.0 && !results->of[i].may_be_host;
}

size_t kernel_main_slot(const kernel_forecast *of) {
    size_t best = TIDE_TIME_N_SLOTS;
    for (size_t i = 0; i < TIDE_TIME_N_SLOTS; i++) {
        best = of->us_of[i] > of->us_of[best] ? i : best;
    }
    return best;
}

/* ---- the interval of a sample ---- */

enum { FEWEST = 9 }; /* comparisons whose smallest and largest enclose 80 of 100 further ones */
#define INSIDE 0.8
#define NORMAL_QUANTILE 1.2816 /* of 90 % */
/* The same of Student's distribution, by degrees of freedom from 1 on. */
static const double STUDENT[FEWEST - 1] = {3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397};

static double spread_of(const sample *of, double mean) {
    double sum = 0.0;
    for (size_t i = 0; i < of->n; i++) {
        sum += (of->logs[i] - mean) * (of->logs[i] - mean);
    }
    return of->n > 1 ? sqrt(sum / (double)(of->n - 1)) : 0.0;
}

/* A further value is between neighbours i and i + 1 of n sorted ones with a probability of 1 / (n +
 * 1), so 80 of 100 are between places (n + 1) / 10 and 9 (n + 1) / 10. Below 9 values the first
 * place is before the smallest: the interval is then that of a normal distribution, for the spread
 * of these values or, if it is larger, that of all kernels of the size. The forecast itself is
 * always inside. */
static void set_interval(const sample *of, double usual_spread, tide_time_comparison *to) {
    double tail = (1.0 - INSIDE) / 2.0;
    double n = (double)of->n;
    if (of->n >= FEWEST) {
        double first = (tail * (n + 1.0) - 1.0) / (n - 1.0);
        to->least = fmin(1.0, exp(kernel_quantile(of->logs, of->n, first)));
        to->most = fmax(1.0, exp(kernel_quantile(of->logs, of->n, 1.0 - first)));
        return;
    }
    double mean = 0.0;
    for (size_t i = 0; i < of->n; i++) {
        mean += of->logs[i] / n;
    }
    double own = of->n > 1 ? STUDENT[of->n - 2] * spread_of(of, mean) : 0.0;
    double half = fmax(own, NORMAL_QUANTILE * usual_spread) * sqrt(1.0 + 1.0 / n);
    to->least = fmin(1.0, exp(mean - half));
    to->most = fmax(1.0, exp(mean + half));
}

/* ---- which cases count for which family ---- */

/* Families with fewer comparisons also count functions in which they take this share. */
#define LEAST_SHARE 0.25
/* Families that take the most time of no function count those in which they take this share. */
#define JOINT_SHARE 0.1
enum { FEWEST_JOINT = 5 };

/* The whole error of a function is ascribed to kernels that take a share of its time: at worst, the
 * others had none. */
static void add(sample *to, const kernel_case *one, double us, double share) {
    double ratio = log(one->published_us / us) / share;
    size_t i = 0;
    to->logs[to->n] = ratio;
    to->percent[to->n++] = 100.0 * fabs(exp(-ratio) - 1.0);
    while (i < to->n_cards && strcmp(to->cards[i], one->card_name) != 0) {
        i++;
    }
    to->cards[i] = one->card_name;
    to->n_cards += i == to->n_cards;
}

/* is_share: those in which the slot does not have the most time, but LEAST_SHARE. */
static void collect(const kernel_results *results, size_t without, size_t slot, bool is_share,
                    sample *to) {
    for (size_t i = 0; i < results->cases->n; i++) {
        const kernel_forecast *of = &results->of[i];
        const kernel_case *one = &results->cases->cases[i];
        if (!kernel_counts(results, i) || results->group[i] == without) {
            continue;
        }
        bool is_main = kernel_main_slot(of) == slot;
        double share = of->us_of[slot] / of->us;
        if (is_share ? !is_main && share >= LEAST_SHARE : is_main) {
            add(to, one, of->us, is_share ? share : 1.0);
        }
    }
}

static tide_time_comparison comparison_of(sample *of, double usual_spread) {
    tide_time_comparison made = {.n_comparisons = (unsigned)of->n,
                                 .n_cards = (unsigned)of->n_cards};
    if (of->n > 0) {
        kernel_sort(of->logs, of->n);
        kernel_sort(of->percent, of->n);
        made.median_percent = kernel_quantile(of->percent, of->n, 0.5);
        set_interval(of, usual_spread, &made);
    }
    return made;
}

/* Of all cases whose most time is in kernels of a size, as a normal distribution would have. */
static double usual_spread(const kernel_results *results, size_t without, size_t size) {
    static sample all;
    all.n = all.n_cards = 0;
    for (size_t slot = size; slot < TIDE_TIME_N_SLOTS; slot += TIDE_TIME_N_SIZES) {
        collect(results, without, slot, false, &all);
    }
    if (all.n < 2) {
        return 0.0;
    }
    kernel_sort(all.logs, all.n);
    return (kernel_quantile(all.logs, all.n, 0.9) - kernel_quantile(all.logs, all.n, 0.1)) /
           (2.0 * NORMAL_QUANTILE);
}

/* Of a family that shares all its functions with others: their errors are those of the functions,
 * and the interval is that of all kernels of the size, with the spread of two of them. */
static tide_time_comparison joint_comparison(const kernel_results *results, size_t without,
                                             size_t slot, double spread) {
    static sample of;
    size_t small = slot - slot % TIDE_TIME_N_SIZES;
    bool has_own = false;
    of.n = of.n_cards = 0;
    for (size_t i = 0; i < results->cases->n; i++) {
        const kernel_forecast *one = &results->of[i];
        double us = one->us_of[small + TIDE_TIME_SMALL] + one->us_of[small + TIDE_TIME_LARGE];
        if (kernel_counts(results, i) && results->group[i] != without &&
            us >= JOINT_SHARE * one->us) {
            size_t most = kernel_main_slot(one);
            has_own = has_own || most - most % TIDE_TIME_N_SIZES == small;
            add(&of, &results->cases->cases[i], one->us, 1.0);
        }
    }
    tide_time_comparison made = {.n_comparisons = 0};
    if (of.n >= FEWEST_JOINT && !has_own) {
        double half = NORMAL_QUANTILE * spread * sqrt(2.0);
        made = comparison_of(&of, spread);
        made.least = exp(-half);
        made.most = exp(half);
    }
    return made;
}

void kernel_table_make(const kernel_results *results, size_t without,
                       tide_time_comparison ret_table[TIDE_TIME_N_SLOTS]) {
    static sample of;
    for (size_t slot = 0; slot < TIDE_TIME_N_SLOTS; slot++) {
        double spread = usual_spread(results, without, slot % TIDE_TIME_N_SIZES);
        of.n = of.n_cards = 0;
        collect(results, without, slot, false, &of);
        if (of.n < FEWEST) {
            collect(results, without, slot, true, &of);
        }
        ret_table[slot] = of.n > 0 ? comparison_of(&of, spread)
                                   : joint_comparison(results, without, slot, spread);
        ret_table[slot].family =
            ret_table[slot].n_comparisons > 0 ? kernel_family_name(slot / TIDE_TIME_N_SIZES) : NULL;
    }
}

tide_time_comparison kernel_comparison_of_all(const kernel_results *results) {
    static sample of;
    of.n = of.n_cards = 0;
    for (size_t i = 0; i < results->cases->n; i++) {
        const kernel_case *one = &results->cases->cases[i];
        if (one->is_bench && kernel_counts(results, i)) {
            add(&of, one, results->of[i].us, 1.0);
        }
    }
    tide_time_comparison made = comparison_of(&of, 0.0);
    made.family = "never compared";
    return made;
}

void kernel_interval(const kernel_forecast *of, const tide_time_comparison *table,
                     const tide_time_comparison *never, double *ret_least, double *ret_most) {
    double rest = of->us;
    *ret_least = *ret_most = 0.0;
    for (size_t slot = 0; slot <= TIDE_TIME_N_SLOTS; slot++) {
        bool is_compared = slot < TIDE_TIME_N_SLOTS && table[slot].n_comparisons > 0;
        const tide_time_comparison *with = is_compared ? &table[slot] : never;
        *ret_least += of->us_of[slot] * with->least;
        *ret_most += of->us_of[slot] * with->most;
        rest -= of->us_of[slot];
    }
    *ret_least += rest; /* of do_bench's events */
    *ret_most += rest;
}

/* ---- the table as the program's source has it ---- */

#define FAMILY(name) [name] = #name
static const char *const FAMILIES[TIDE_TIME_N_FAMILIES] = {
    FAMILY(TIDE_RUN_OTHER),       FAMILY(TIDE_RUN_VECTORISED),    FAMILY(TIDE_RUN_CASTING),
    FAMILY(TIDE_RUN_STRIDED),     FAMILY(TIDE_RUN_REDUCTION),     FAMILY(TIDE_RUN_SOFTMAX),
    FAMILY(TIDE_RUN_NORM),        FAMILY(TIDE_RUN_LOSS),          FAMILY(TIDE_RUN_DROPOUT),
    FAMILY(TIDE_RUN_GATHER_ROWS), FAMILY(TIDE_RUN_SCATTER_ROWS),  FAMILY(TIDE_RUN_MULTI_TENSOR),
    FAMILY(TIDE_RUN_SORT),        FAMILY(TIDE_RUN_SCAN),          FAMILY(TIDE_RUN_GENERATED),
    FAMILY(TIDE_RUN_LIBRARY),     FAMILY(TIDE_RUN_OWN),           FAMILY(TIDE_RUN_ATTENTION_PARTS),
    FAMILY(TIDE_RUN_DEPTHWISE),   FAMILY(TIDE_RUN_OWN_ROWS),      FAMILY(TIDE_RUN_FOURIER),
    FAMILY(TIDE_TIME_PRODUCTS),   FAMILY(TIDE_TIME_CONVOLUTIONS), FAMILY(TIDE_TIME_COPIES),
    FAMILY(TIDE_TIME_ATTENTION)};

const char *kernel_family_name(size_t family) {
    return family < TIDE_RUN_N_FAMILIES       ? tide_time_family_name((tide_run_family)family)
           : family == TIDE_TIME_PRODUCTS     ? "matrix products"
           : family == TIDE_TIME_CONVOLUTIONS ? "convolutions"
           : family == TIDE_TIME_COPIES       ? "copies and fills"
           : family == TIDE_TIME_ATTENTION    ? "attention"
                                              : "the rest";
}

static void say_row(const tide_time_comparison *of) {
    (void)printf("{\"%s\", %u, %u, %.1f, %.2f, %.2f}", of->family != NULL ? of->family : "",
                 of->n_comparisons, of->n_cards, of->median_percent, of->least, of->most);
}

void kernel_table_say(const tide_time_comparison *table, const tide_time_comparison *never) {
    static const char *const SIZES[TIDE_TIME_N_SIZES] = {"TIDE_TIME_SMALL", "TIDE_TIME_LARGE"};
    (void)printf("/* Made by fit_kernels CASES.tsv --table (tests/step_time/). */\n"
                 "#include \"programs/step_time/compared.h\"\n\n"
                 "const tide_time_comparison TIDE_TIME_COMPARISONS[TIDE_TIME_N_SLOTS] = {\n");
    for (size_t slot = 0; slot < TIDE_TIME_N_SLOTS; slot++) {
        if (table[slot].n_comparisons > 0) {
            (void)printf("    [TIDE_TIME_SLOT(%s, %s)] = ", FAMILIES[slot / TIDE_TIME_N_SIZES],
                         SIZES[slot % TIDE_TIME_N_SIZES]);
            say_row(&table[slot]);
            (void)printf(",\n");
        }
    }
    (void)printf("};\n\nconst tide_time_comparison TIDE_TIME_NEVER_COMPARED = ");
    say_row(never);
    (void)printf(";\n");
}

/* ---- beside the program's ---- */

/* Of numbers that are printed with one and with two digits; the search of another build may end at
 * a slightly different place. */
#define NEAR_PERCENT 0.11
#define NEAR_RATIO 0.011

static bool agrees(const tide_time_comparison *made, const tide_time_comparison *programs) {
    bool is_near = made->n_comparisons == programs->n_comparisons &&
                   made->n_cards == programs->n_cards &&
                   fabs(made->median_percent - programs->median_percent) < NEAR_PERCENT &&
                   fabs(made->least - programs->least) < NEAR_RATIO &&
                   fabs(made->most - programs->most) < NEAR_RATIO;
    if (!is_near) {
        (void)printf("made here:       ");
        say_row(made);
        (void)printf("\nthe program has: ");
        say_row(programs);
        (void)printf("\n");
    }
    return is_near;
}

bool kernel_table_agrees(const tide_time_comparison *table, const tide_time_comparison *never) {
    bool all = agrees(never, &TIDE_TIME_NEVER_COMPARED);
    for (size_t slot = 0; slot < TIDE_TIME_N_SLOTS; slot++) {
        all = agrees(&table[slot], &TIDE_TIME_COMPARISONS[slot]) && all;
    }
    return all;
}
