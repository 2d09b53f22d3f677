/* recorder_cost.h - the share of a step that recording took: from the cost of one event, and from
 * steps with and without recording.
 *
 * The first is as exact as the cost of an event but leaves out the cost of scopes. The second
 * includes everything but drowns in the spread of the steps' times unless recording is expensive.
 */
#ifndef TIDE_SNAPSHOT_RECORDER_COST_H
#define TIDE_SNAPSHOT_RECORDER_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_RECORDER_MIN_PAIRS = 6,   /* fewer may be chance: 2 of 2^5 throws of 5 coins show one side
                                      only */
    TIDE_RECORDER_MAX_PAIRS = 1000 /* in a file */
};

/* Shares are of a recorded step: 0.01 is 1 %. */
typedef struct tide_recorder_cost {
    int64_t n_events;    /* in the phases of the last measured step; -1: unknown */
    double ns_per_event; /* -1: not measured */
    double step_ms;      /* mean of the measured steps by the host's clock; -1: not measured */
    double event_share;  /* from n_events * ns_per_event; -1: unknown */
    size_t n_pairs;      /* of steps, with and without; 0: not compared */
    double pair_share;   /* median of the pairs; may be below 0 by chance */
    double low_share;    /* 95 % confidence interval of the median, by order statistics: one slow */
    double high_share;   /* step does not widen it; with fewer than TIDE_RECORDER_MIN_PAIRS pairs
                            the full range, with less confidence */
} tide_recorder_cost;

tide_recorder_cost tide_recorder_cost_of(const tide_snapshot *snapshot);

/* Whether the pairs show that recording costs anything at all. */
bool tide_recorder_cost_shows(const tide_recorder_cost *cost);

#ifdef __cplusplus
}
#endif

#endif
