/* changes.h - the table of changes that a plan can make to a program of PyTorch.
 *
 * python/tidemark/changes/ makes them, and knows where each is possible. This table knows what a
 * change is called, what it may do to the numbers that the program computes, which changes exclude
 * each other, and which share of each block a change could leave at best (shares.c).
 */
#ifndef TIDE_PROGRAMS_PLAN_CHANGES_H
#define TIDE_PROGRAMS_PLAN_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/plan/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a change does to the numbers that the program computes. */
typedef enum tide_plan_risk {
    TIDE_PLAN_SAME = 0, /* nothing */
    TIDE_PLAN_ROUNDING, /* the order of sums changes, and with it the rounding */
    TIDE_PLAN_YOURS,    /* what the user's own patch does, which is not looked at */
    TIDE_PLAN_NUMBERS,  /* the training itself: other precision, optimizer or statistics */
    TIDE_PLAN_N_RISKS
} tide_plan_risk;

/* "same numbers", "same up to rounding", "your patch", "changes the numbers". */
const char *tide_plan_risk_name(tide_plan_risk risk);

/* Changes of one group exclude each other. */
typedef enum tide_plan_group {
    TIDE_PLAN_GROUP_NONE = -1,
    TIDE_PLAN_GROUP_ACTIVATIONS = 0, /* which activations are recomputed */
    TIDE_PLAN_GROUP_OPTIMIZER,       /* which optimizer, and how it loops */
    TIDE_PLAN_GROUP_LOSS,            /* how head and loss are computed */
    TIDE_PLAN_GROUP_PRECISION,       /* in which type it computes */
    TIDE_PLAN_GROUP_BATCH            /* how much of the batch at a time */
} tide_plan_group;

typedef struct tide_plan_change {
    const char *name;   /* "checkpoint"; all texts are static */
    const char *title;  /* "checkpoint each %s": %s is the argument; without one: a plain text */
    const char *effect; /* what it costs, a clause; "" without */
    const char *allow;  /* the word of --allow that it needs; NULL: none */
    tide_plan_group group;
    tide_plan_risk risk;
    size_t n_classes; /* of modules for which it is tried, by the bytes they hold; 0: it is not made
                         class by class */
    bool may_save_time; /* worth a run even if it cannot lower the peak */
    /* Sets what the change leaves of each block. `argument` is the part after the colon of
     * "checkpoint:Block", `detail` what the observed run said of the change. */
    tide_status (*leave)(const tide_plan_timeline *timeline, const char *argument,
                         const char *detail, tide_plan_shares *shares);
} tide_plan_change;

/* The change of "checkpoint:Block", and its argument, "Block" or ""; NULL: unknown. */
const tide_plan_change *tide_plan_change_of(const char *words, const char **ret_argument);

/* The functions of the table (shares.c). */
#define TIDE_PLAN_LEAVE(name)                                                                      \
    tide_status tide_plan_leave_##name(const tide_plan_timeline *timeline, const char *argument,   \
                                       const char *detail, tide_plan_shares *shares)
TIDE_PLAN_LEAVE(recomputed);
TIDE_PLAN_LEAVE(recomputed_half);
TIDE_PLAN_LEAVE(recomputed_some);
TIDE_PLAN_LEAVE(activations);
TIDE_PLAN_LEAVE(optimizer_temporaries);
TIDE_PLAN_LEAVE(gradients);
TIDE_PLAN_LEAVE(gradients_and_temporaries);
TIDE_PLAN_LEAVE(factored_state);
TIDE_PLAN_LEAVE(state_of_8_bits);
TIDE_PLAN_LEAVE(half_of_activations);
TIDE_PLAN_LEAVE(half_of_all);
TIDE_PLAN_LEAVE(loss);
TIDE_PLAN_LEAVE(head_and_loss);
TIDE_PLAN_LEAVE(part_of_batch);
TIDE_PLAN_LEAVE(part_of_state);
TIDE_PLAN_LEAVE(evaluation);
TIDE_PLAN_LEAVE(nothing);

#ifdef __cplusplus
}
#endif

#endif
