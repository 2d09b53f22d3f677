/* plan.h - what would make a user's program fit its card, and fastest: tried, not guessed.
 *
 *     1  the unchanged program, observed       runs.h      without the card's limit, then with it
 *     2  what is possible, and could help      candidates.h
 *     3  each of these alone                   runs.h
 *     4  combinations, by expected gain        search.h
 *     5  what could help after all, now that   candidates.h: bounds of the best combination
 *        the peak is elsewhere: again 3 and 4
 *     6  the best under the card's own limit
 */
#ifndef TIDE_PROGRAMS_PLAN_PLAN_H
#define TIDE_PROGRAMS_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "programs/plan/candidates.h"
#include "programs/plan/runs.h"
#include "programs/plan/search.h"
#include "programs/plan/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_plan_options {
    const tide_run_config *config; /* borrowed, as all below: the unchanged program on its card */
    tide_plan_own *own;            /* changes of the command itself */
    const char *diff_path;         /* where a patch of the best is written; NULL: nowhere */
    tide_plan_allowed allowed;
    int64_t room_bytes; /* memory of the card that the program may use; -1: all */
    const char *folder; /* exists; the snapshots are written there */
    size_t n_most_runs, n_jobs;
    tide_plan_hooks hooks;
} tide_plan_options;

/* The best of a search. */
typedef struct tide_plan_answer {
    bool was_searched; /* otherwise there was nothing to search, and the others are meaningless */
    bool has_best;
    size_t row;          /* of the runs */
    tide_plan_set set;   /* of plan->combined */
    size_t verified_row; /* the same under the limit; SIZE_MAX: not run */
    bool is_whole;       /* the search was complete */
    size_t n_tried;      /* combinations */
    /* Changes of the set without which it does not fit, and those for which this is known: the set
     * without the change was run, or its bound is above the room. */
    tide_plan_set needed, known;
    /* The patch of the best: the run of the patched program, SIZE_MAX if there is none, and then
     * why; "" if none was wanted. */
    size_t diff_row;
    bool has_diff; /* it was written */
    char no_diff[TIDE_PLAN_REASON_BYTES];
} tide_plan_answer;

typedef struct tide_plan {
    const tide_plan_options *options; /* borrowed */
    tide_plan_runs runs;
    tide_plan_candidates candidates;
    tide_snapshot *snapshot;     /* owned: of the unchanged program */
    tide_plan_timeline timeline; /* of that */
    size_t base_row;             /* the unchanged program without a limit */
    size_t limited_row;          /* with it; SIZE_MAX: it certainly fits */
    int64_t room_bytes;          /* for PyTorch: without the context and libraries */
    bool fits_unchanged;
    size_t combined[TIDE_PLAN_CHANGES]; /* candidates that are combined: bit i of a set */
    size_t n_combined;
    bool is_cut; /* more changes help than a search combines: those that save least are left out */
    tide_plan_answer safe; /* of the changes that keep the numbers, up to rounding; with lists of
                              --try, of these */
    tide_plan_answer all;  /* of all allowed changes; without a best if none changes numbers */
} tide_plan;

/* Makes the plan. A program that does not fit with any change is an answer, too. TIDE_INVALID if
 * the unchanged program fails for another reason than memory, or was not observed; the message has
 * the reason. If the caller stops it, plan->runs.is_stopped. The caller calls fini, also after a
 * failure. */
TIDE_NODISCARD tide_status tide_plan_init(tide_plan *plan, const tide_plan_options *options,
                                          tide_error *error);
void tide_plan_fini(tide_plan *plan);

/* Whether the program fits, or something that was run makes it fit. */
bool tide_plan_has_answer(const tide_plan *plan);

/* Memory of the card that is there for PyTorch in a run. A change may take some of it, such as for
 * communicators of NCCL. */
int64_t tide_plan_room_of(const tide_plan *plan, const tide_plan_run *run);

/* Whether a run fits the room as it is, or with its fitting setting. */
bool tide_plan_fits(const tide_plan *plan, const tide_plan_run *run);

/* The list of changes of a set, "checkpoint:Block,fused". */
void tide_plan_set_words(const tide_plan *plan, tide_plan_set set,
                         char ret_words[TIDE_PLAN_LIST_BYTES]);

/* The lowest peak of allocated bytes that a list of changes could reach; -1: it names one that is
 * no possible candidate. */
int64_t tide_plan_lowest(const tide_plan *plan, const char *changes);

/* The greatest risk of a set's changes. */
tide_plan_risk tide_plan_set_risk(const tide_plan *plan, tide_plan_set set);

#ifdef __cplusplus
}
#endif

#endif
