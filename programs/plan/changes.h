/* changes.h - the table of changes that a plan can make to a program of PyTorch.
 *
 * python/tidemark/changes/ makes them, and knows where each is possible. snapshot/plan/texts.h has
 * what a change is called, and what it may do to the numbers that the program computes. This table
 * knows which changes exclude each other, and which share of each block a change could leave at
 * best (shares.c).
 */
#ifndef TIDE_PROGRAMS_PLAN_CHANGES_H
#define TIDE_PROGRAMS_PLAN_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/plan/timeline.h"
#include "snapshot/plan/texts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes of one group exclude each other, but not if they are made to different modules: see
 * tide_plan_excludes. */
typedef enum tide_plan_group {
    TIDE_PLAN_GROUP_NONE = -1,
    TIDE_PLAN_GROUP_ACTIVATIONS = 0, /* which activations are recomputed */
    TIDE_PLAN_GROUP_OPTIMIZER,       /* which optimizer, and how it loops */
    TIDE_PLAN_GROUP_LOSS,            /* how head and loss are computed */
    TIDE_PLAN_GROUP_PRECISION,       /* in which type it computes */
    TIDE_PLAN_GROUP_BATCH            /* how much of the batch at a time */
} tide_plan_group;

typedef struct tide_plan_change {
    const tide_plan_text *text; /* static: name, title, effect, risk */
    tide_plan_group group;
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
