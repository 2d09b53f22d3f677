/* search.h - which combination of changes fits a card and is fastest there, by few runs.
 *
 *     runs so far ──> nearest run of each combination ──┐
 *                                                       ├──> estimates: memory, time, and how far
 *     bounds and expectations of the first run ─────────┘    each may be off
 *                 ^                                                │
 *                 └── run it, and estimate anew <── the combination with the greatest expected gain
 *
 * It works on numbers alone: the caller runs programs, and predicts peaks, which do not add up
 * (timeline.h). The estimate of a combination starts at the run that differs from it by the fewest
 * changes: its memory is scaled by the ratio of the predictions, its time is changed by what each
 * change added alone, of which another precision may scale each. An estimate is the less certain
 * the more changes the two differ by, and the more it depends on whether times scale. While
 * nothing fits, what may fit is run, the most likely first. The search ends when no combination is
 * expected to fit and to be faster than the best, and none that may be promises enough.
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

/* Changes in a set. */
size_t tide_plan_set_size(tide_plan_set set);

/* The part of the search that is known of a run. */
typedef struct tide_plan_tried {
    bool is_complete;     /* false: the program failed, or found no memory even without a limit */
    bool fits;            /* the room */
    double gpu_ms;        /* the card's time of a step; infinite: no forecast */
    int64_t needed_bytes; /* the smallest room that it is known or expected to fit */
} tide_plan_tried;

/* What the search asks of its caller. `ctx` is the first argument of each. */
typedef struct tide_plan_caller {
    void *ctx;
    /* Whether the budget has another run. */
    bool (*may_run)(void *ctx);
    /* Whether the set was run before, and what that showed. */
    bool (*recall)(void *ctx, tide_plan_set set, tide_plan_tried *ret);
    /* Runs the program with these changes. A failure ends the search. */
    tide_status (*run)(void *ctx, tide_plan_set set, tide_plan_tried *ret, tide_error *error);
    /* The lowest peak that the set could reach, and the expected one, which is not lower. */
    void (*predict)(void *ctx, tide_plan_set set, int64_t *ret_lowest, int64_t *ret_expected);
} tide_plan_caller;

typedef struct tide_plan_problem {
    size_t n_changes;             /* at most TIDE_PLAN_CHANGES */
    tide_plan_set usable;         /* only subsets of these are tried */
    int group[TIDE_PLAN_CHANGES]; /* changes of one group exclude each other; -1: of none */
    /* Those of its group that a change does not exclude. */
    tide_plan_set together[TIDE_PLAN_CHANGES];
    double gpu_ms[TIDE_PLAN_CHANGES]; /* that each alone adds to the card's time of a step */
    tide_plan_set scales;             /* changes that may scale what others add: of precision */
    double base_ms;                   /* of the unchanged program; -1: no forecast */
    int64_t room_bytes;               /* that the peak may take */
} tide_plan_problem;

typedef struct tide_plan_found {
    bool has_best;
    tide_plan_set best;
    tide_plan_tried of_best;
    size_t n_tried; /* runs that the search made */
    bool is_whole;  /* no other run was worth one */
} tide_plan_found;

TIDE_NODISCARD tide_status tide_plan_search(const tide_plan_problem *problem,
                                            const tide_plan_caller *caller, tide_plan_found *ret,
                                            tide_error *error);

/* Whether no change of a set excludes another. */
bool tide_plan_set_is_allowed(const tide_plan_problem *problem, tide_plan_set set);

#ifdef __cplusplus
}
#endif

#endif
