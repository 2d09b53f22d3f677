/* texts.h - the changes of `tidemark plan` in words: their names, titles, costs and risks.
 *
 * One table for all commands that name such a change. programs/plan/changes.h adds how a plan
 * searches, python/tidemark/changes/ makes the changes.
 */
#ifndef TIDE_SNAPSHOT_PLAN_TEXTS_H
#define TIDE_SNAPSHOT_PLAN_TEXTS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_PLAN_PATCH "patch"         /* in a list of changes: the patch of --patch */
#define TIDE_PLAN_DIFF "plan.diff"      /* the patch that the plan made */
#define TIDE_PLAN_BATCH "smaller_batch" /* of a smaller batch, "smaller_batch:2" */

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

typedef struct tide_plan_text {
    const char *name;   /* "checkpoint"; all texts are static */
    const char *title;  /* "checkpoint each %s": %s is the argument; without one: a plain text */
    const char *effect; /* what it costs, a clause; "" without */
    const char *allow;  /* the word of --allow that it needs; NULL: none */
    tide_plan_risk risk;
} tide_plan_text;

/* Rows of the table. */
typedef enum tide_plan_kind {
    TIDE_PLAN_CHECKPOINT = 0,
    TIDE_PLAN_CHECKPOINT_HALF,
    TIDE_PLAN_CHECKPOINT_SELECTIVE,
    TIDE_PLAN_CHECKPOINT_LIBRARY,
    TIDE_PLAN_OFFLOAD,
    TIDE_PLAN_FUSED,
    TIDE_PLAN_NO_FOREACH,
    TIDE_PLAN_OPTIMIZER_IN_BACKWARD,
    TIDE_PLAN_SET_TO_NONE,
    TIDE_PLAN_ADAFACTOR,
    TIDE_PLAN_ADAMW8BIT,
    TIDE_PLAN_AUTOCAST,
    TIDE_PLAN_BF16,
    TIDE_PLAN_CHUNKED_LOSS,
    TIDE_PLAN_LINEAR_LOSS,
    TIDE_PLAN_MICRO_BATCH,
    TIDE_PLAN_OWN_BATCH,
    TIDE_PLAN_OWN_PATCH,
    TIDE_PLAN_BUCKET_VIEW,
    TIDE_PLAN_FULLY_SHARD,
    TIDE_PLAN_NO_GRAD_EVAL,
    TIDE_PLAN_COMPILE,
    TIDE_PLAN_N_KINDS
} tide_plan_kind;

extern const tide_plan_text tide_plan_texts[TIDE_PLAN_N_KINDS];

/* The text of "checkpoint:Block", and its argument, "Block" or ""; NULL: unknown. */
const tide_plan_text *tide_plan_text_of(const char *words, const char **ret_argument);

/* Writes the title with its argument, "checkpoint each Block". Without the argument that a title
 * needs, that is the name. A longer title is cut. */
void tide_plan_title(const tide_plan_text *of, const char *argument, char *ret_title,
                     size_t n_room);

#ifdef __cplusplus
}
#endif

#endif
