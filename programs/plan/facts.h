/* facts.h - what a run with changes says of its program: python/tidemark/changes/ observes it, and
 * the facts are in the run's snapshot.
 *
 *     can.checkpoint:Block   the paths of the blocks: it is possible
 *     cannot.micro_batch     why it is not
 *     did.fused              what was changed
 *     lines.fused            the lines that were executed, to be pasted
 *     place.fused            where they belong: "train.py:50"
 *     model, attention       what was seen of the program
 */
#ifndef TIDE_PROGRAMS_PLAN_FACTS_H
#define TIDE_PROGRAMS_PLAN_FACTS_H

#include <stddef.h>

#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The text of a fact, such as "did" of "fused"; `of` may be "". NULL: the run did not say it. */
const char *tide_plan_fact(const tide_snapshot *snapshot, const char *kind, const char *of);

/* The name after "can." of the i-th fact if it is of that kind; NULL if it is of another. `i` is
 * below snapshot->n_plan. */
const char *tide_plan_fact_name(const tide_snapshot *snapshot, size_t i, const char *kind);

#ifdef __cplusplus
}
#endif

#endif
