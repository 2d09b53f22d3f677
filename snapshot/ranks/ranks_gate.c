/* Conditions on the ranks of a job. */
#include <stdio.h>
#include <string.h>

#include "common/text/bytes.h"
#include "snapshot/compare/gate.h"
#include "snapshot/ranks/ranks.h"

typedef enum quantity { SPREAD = 0, PEAK, RESERVED, HEADROOM, GROWTH, N_QUANTITIES } quantity;
static const char *const NAMES[N_QUANTITIES] = {"spread", "peak", "reserved", "headroom", "growth"};

typedef struct condition {
    quantity of;
    tide_gate_operator op;
    bool is_percent;
    double bound; /* bytes, or percent */
} condition;

static tide_status refuse(const char *text, const char *what, tide_error *error) {
    return tide_fail(error, TIDE_INVALID, "--fail-if '%.64s': %s; for example 'spread>5%%'", text,
                     what);
}

static tide_status parse_bound(const char *text, const char *at, condition *to, tide_error *error) {
    char bound[TIDE_GATE_TEXT_BYTES];
    uint64_t n_bytes = 0;
    tide_gate_trim(at, bound);
    to->is_percent = tide_gate_is_percent(bound, &to->bound);
    if (to->is_percent) {
        return to->of != SPREAD && to->of != HEADROOM
                   ? refuse(text, "only spread and headroom have a percentage", error)
                   : TIDE_OK;
    }
    if (tide_bytes_parse(bound, &n_bytes, NULL) != TIDE_OK) {
        return refuse(text, "a bound is missing: a size such as 2GiB, or 5%", error);
    }
    to->bound = (double)n_bytes;
    return TIDE_OK;
}

static tide_status parse(const char *text, condition *to, tide_error *error) {
    const char *at = text + strspn(text, " \t");
    size_t n = strcspn(at, " \t<>=!");
    bool is_known = false;
    *to = (condition){.of = SPREAD};
    if (strlen(text) >= TIDE_GATE_TEXT_BYTES) {
        return refuse(text, "it is too long", error);
    }
    for (int i = 0; i < N_QUANTITIES; i++) {
        if (strlen(NAMES[i]) == n && strncmp(at, NAMES[i], n) == 0) {
            to->of = (quantity)i;
            is_known = true;
        }
    }
    if (!is_known) {
        return refuse(text, "unknown quantity: spread, peak, reserved, headroom or growth", error);
    }
    at += n;
    return tide_gate_take_operator(&at, &to->op)
               ? parse_bound(text, at, to, error)
               : refuse(text, "an operator is missing: >, >=, < or <=", error);
}

/* The figure of one rank, and what a percentage of it refers to; false: not known. */
static bool figure_of(const tide_digest_device *device, quantity of, double *ret_figure,
                      double *ret_whole) {
    *ret_whole = 0.0;
    int64_t growth = 0;
    bool is_explained = tide_digest_growth_bytes(device, &growth);
    switch (of) {
    case PEAK:
        *ret_figure = (double)device->max.allocated_bytes;
        return true;
    case RESERVED:
        *ret_figure = (double)device->max.reserved_bytes;
        return true;
    case HEADROOM:
        *ret_figure = (double)device->headroom_bytes;
        *ret_whole = (double)device->total_bytes;
        return device->total_bytes > 0;
    default:
        *ret_figure = (double)growth;
        return is_explained;
    }
}

static void say(const condition *of, const char *who, double figure, tide_ranks_verdict *ret) {
    char bytes[TIDE_BYTES_TEXT];
    if (of->is_percent) {
        snprintf(ret->words, sizeof(ret->words), "%s of %.96s is %.2f %%", NAMES[of->of], who,
                 figure);
    } else {
        snprintf(ret->words, sizeof(ret->words), "%s of %.96s is %s", NAMES[of->of], who,
                 tide_bytes_format((int64_t)figure, bytes));
    }
}

/* Takes the figure that is furthest in the condition's direction. */
static void take(const condition *of, const char *who, double figure, double *worst,
                 tide_ranks_verdict *ret) {
    bool is_above = of->op == TIDE_GATE_ABOVE || of->op == TIDE_GATE_AT_LEAST;
    if (ret->words[0] == '\0' || (is_above ? figure > *worst : figure < *worst)) {
        *worst = figure;
        ret->holds = tide_gate_compares(of->op, figure, of->bound);
        say(of, who, figure, ret);
    }
}

tide_status tide_ranks_judge(const tide_ranks *ranks, const char *text, tide_ranks_verdict *ret,
                             tide_error *error) {
    condition of;
    double worst = 0.0;
    TIDE_TRY(parse(text, &of, error));
    *ret = (tide_ranks_verdict){.is_known = true};
    for (size_t i = 0; of.of == SPREAD && i < ranks->n_groups; i++) {
        const tide_rank_group *group = &ranks->groups[i];
        double spread = (double)(group->high_bytes - group->low_bytes);
        double median = (double)group->median_bytes;
        ret->is_known = ret->is_known && group->low_bytes >= 0;
        take(&of, group->name,
             of.is_percent ? (median > 0.0 ? spread / median * 100.0 : 0.0) : spread, &worst, ret);
    }
    for (size_t i = 0; of.of != SPREAD && i < ranks->n_folds; i++) {
        const tide_digest_device *device = ranks->ranks[ranks->folds[i].first].device;
        char who[96];
        double figure = 0.0, whole = 0.0;
        if (device == NULL || !figure_of(device, of.of, &figure, &whole)) {
            ret->is_known = false;
            continue;
        }
        snprintf(who, sizeof(who), "%s %.80s", ranks->folds[i].n > 1 ? "ranks" : "rank",
                 ranks->folds[i].ranks);
        take(&of, who, of.is_percent ? figure / whole * 100.0 : figure, &worst, ret);
    }
    ret->is_known = ret->is_known && ret->words[0] != '\0';
    if (!ret->is_known && !ret->holds) {
        snprintf(ret->words, sizeof(ret->words), "the %s is not known of every rank", NAMES[of.of]);
    }
    return TIDE_OK;
}
