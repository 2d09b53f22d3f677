/* training.h - a small made training run: two blocks, one step, whose peaks can be counted by hand.
 *
 *     MiB             forward                    backward             optimizer
 *     parameter 100   h.0: 10 + 4   h.1: 10 + 4   h.1: gradient 40     state 200
 *                     logits 30                   h.0: gradient 40     temporary 50
 */
#ifndef TIDE_TESTS_UNIT_PLAN_TRAINING_H
#define TIDE_TESTS_UNIT_PLAN_TRAINING_H

#include "snapshot/document/snapshot.h"

#define MIB ((int64_t)1 << 20)

/* The peak without changes, in MiB: parameter, gradients, state and the optimizer's temporary. */
enum { TRAINING_PEAK_MIB = 100 + 2 * 40 + 200 + 50 };

/* The facts that the run said of itself: n rows, borrowed. The caller destroys the snapshot. */
tide_snapshot *made_training(const tide_snapshot_setting *facts, size_t n_facts);

#endif
