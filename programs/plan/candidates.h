/* candidates.h - the changes that the observed run of a program offers, what each could reach, and
 * why others are left out.
 */
#ifndef TIDE_PROGRAMS_PLAN_CANDIDATES_H
#define TIDE_PROGRAMS_PLAN_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "programs/plan/changes.h"
#include "programs/plan/own.h"
#include "programs/plan/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_PLAN_NAME_BYTES = 96,
    TIDE_PLAN_TITLE_BYTES = 160,
    TIDE_PLAN_REASON_BYTES = 512,
    TIDE_PLAN_CANDIDATES = TIDE_PLAN_TOGETHER,
    TIDE_PLAN_CLASSES = 2 /* of blocks whose checkpointing is tried */
};

/* A candidate that may lower the peak by less is not run for its memory. */
#define TIDE_PLAN_LEAST_SHARE 0.01

typedef enum tide_plan_state {
    TIDE_PLAN_OPEN = 0,    /* possible, and not run yet */
    TIDE_PLAN_IMPOSSIBLE,  /* the program has no place for it: see the reason */
    TIDE_PLAN_NOT_ALLOWED, /* it needs a word of --allow */
    TIDE_PLAN_POINTLESS,   /* it cannot lower the peak of the runs so far */
    TIDE_PLAN_NOT_RUN,     /* the budget had no run for it */
    TIDE_PLAN_FAILED,      /* the program failed with it: see the reason */
    TIDE_PLAN_REFUSED,     /* it was not applied in its run: see the reason */
    TIDE_PLAN_RAN          /* by itself, or with the best combination */
} tide_plan_state;

typedef struct tide_plan_candidate {
    const tide_plan_change *change;    /* static */
    char name[TIDE_PLAN_NAME_BYTES];   /* "checkpoint:Block" */
    char title[TIDE_PLAN_TITLE_BYTES]; /* "checkpoint each Block" */
    tide_plan_state state;
    tide_plan_risk risk; /* the change's, or a greater one that the program gives it */
    char reason[TIDE_PLAN_REASON_BYTES];
    char *detail;            /* owned: what the observed run said; NULL unless possible */
    int64_t lowest_bytes;    /* peak that it could reach alone, of the first run */
    tide_plan_shares shares; /* of that run's blocks */
    size_t row;              /* of the run alone; SIZE_MAX: none */
    int64_t saved_bytes;     /* of the allocated peak, when it ran alone */
    double worth;            /* part of its shares that saves so much, 0 to 1; 1 until run */
    double gpu_ms;           /* that it added to the card's time */
} tide_plan_candidate;

typedef struct tide_plan_candidates {
    tide_plan_candidate *rows; /* owned; TIDE_PLAN_CANDIDATES of them */
    size_t n;
    int64_t peak_bytes; /* of the first run, by the walk */
} tide_plan_candidates;

/* What the user restricts. */
typedef struct tide_plan_allowed {
    const tide_plan_own *own; /* changes of the command itself */
    const char *words;        /* of --allow, separated by commas; NULL: none */
    const char *const *names; /* of --try: only these; none: all */
    size_t n_names;
    int64_t n_ranks; /* of the job; below 2: no sharding */
} tide_plan_allowed;

/* TIDE_INVALID if a name of --try is unknown, or lacks what it needs: a patch, a part of the batch.
 */
TIDE_NODISCARD tide_status tide_plan_check_names(const tide_plan_allowed *allowed,
                                                 tide_error *error);

/* Makes the candidates of an observed run. The names of --try were checked. The caller calls fini,
 * also after a failure. */
TIDE_NODISCARD tide_status tide_plan_candidates_init(tide_plan_candidates *candidates,
                                                     const tide_plan_timeline *timeline,
                                                     const tide_plan_allowed *allowed);
void tide_plan_candidates_fini(tide_plan_candidates *candidates);

/* The lowest peak that a candidate could reach from another run, such as the best so far. */
TIDE_NODISCARD tide_status tide_plan_could_reach(const tide_plan_candidate *candidate,
                                                 const tide_plan_timeline *timeline,
                                                 int64_t *ret_bytes);

/* Whether two candidates cannot be made together: they are of one group, unless they change
 * different modules, none of them within another. */
bool tide_plan_excludes(const tide_plan_candidate *one, const tide_plan_candidate *other);

/* Whether that could lower the peak enough to be worth a run. */
bool tide_plan_may_matter(int64_t lowest_bytes, int64_t peak_bytes);

#ifdef __cplusplus
}
#endif

#endif
