/* search.h - which combination of changes fits a card and is fastest there, by few runs.
 *
 *     runs of single changes ──> effects ──┐
 *                                          ├──> predicted peak and time of each combination
 *     bounds of the first run ─────────────┘         │ the fastest that is expected to fit
 *                                                    v
 *                                          run it ──┬──> fits: the best, if it is the fastest
 *                                                   └──> does not fit: nor does a part of it,
 *                                                        if what is left out lowers the peak
 *
 * It works on numbers alone: the caller runs programs, and predicts peaks, which do not add up
 * (timeline.h). Times of the card are added up: in 29 combinations of six changes they were -14 to
 * +18 % off, and predicted peaks -9 to +65 %. If nothing that is expected to fit does, those follow
 * whose bound fits.
 */
#ifndef TIDE_PROGRAMS_PLAN_SEARCH_H
#define TIDE_PROGRAMS_PLAN_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_PLAN_CHANGES = 12 }; /* the most that a search combines: it predicts all sets of them */

typedef uint32_t tide_plan_set; /* of changes; bit i: change i */

static inline bool tide_plan_has(tide_plan_set set, size_t change) {
    return (set >> change & 1) != 0;
}

/* The part of the search that is known of a run. */
typedef struct tide_plan_tried {
    bool is_complete; /* false: the program failed, or found no memory even without a limit */
    bool fits;        /* the room */
    double gpu_ms;    /* the card's time of a step; infinite: no forecast */
} tide_plan_tried;

/* What the search asks of its caller. `ctx` is the first argument of each. */
typedef struct tide_plan_caller {
    void *ctx;
    /* Whether the set was run before, or the budget has a run for it. */
    bool (*may_run)(void *ctx, tide_plan_set set);
    /* Runs the program with these changes unless it was. A failure ends the search. */
    tide_status (*run)(void *ctx, tide_plan_set set, tide_plan_tried *ret, tide_error *error);
    /* The lowest peak that the set could reach, and the expected one, which is not lower. */
    void (*predict)(void *ctx, tide_plan_set set, int64_t *ret_lowest, int64_t *ret_expected);
} tide_plan_caller;

typedef struct tide_plan_problem {
    size_t n_changes;                 /* at most TIDE_PLAN_CHANGES */
    tide_plan_set usable;             /* only subsets of these are tried */
    int group[TIDE_PLAN_CHANGES];     /* changes of one group exclude each other; -1: of none */
    double gpu_ms[TIDE_PLAN_CHANGES]; /* that each alone adds to the card's time of a step */
    tide_plan_set raises;             /* changes that raised the peak when they were made alone */
    double base_ms;                   /* of the unchanged program; -1: no forecast */
    int64_t room_bytes;               /* that the peak may take */
} tide_plan_problem;

typedef struct tide_plan_found {
    bool has_best;
    tide_plan_set best;
    tide_plan_tried of_best;
    size_t n_tried; /* combinations that the search asked for */
    bool is_whole;  /* no untried combination is expected to fit and to be faster */
} tide_plan_found;

TIDE_NODISCARD tide_status tide_plan_search(const tide_plan_problem *problem,
                                            const tide_plan_caller *caller, tide_plan_found *ret,
                                            tide_error *error);

/* Whether a set has no two changes of one group. */
bool tide_plan_set_is_allowed(const tide_plan_problem *problem, tide_plan_set set);

#ifdef __cplusplus
}
#endif

#endif
