/* loss_words.h - the losses of a run's steps as words and cells, for reports.
 */
#ifndef TIDE_CLI_LOSS_WORDS_H
#define TIDE_CLI_LOSS_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The steps that reports show, as indices of timing.losses. */
typedef struct tide_loss_steps {
    bool has_any;          /* false: the run has no losses, and the other members are undefined */
    size_t first_measured; /* 0 is the run's first; also 0 if no measured step was completed */
    size_t last;           /* of all */
} tide_loss_steps;

tide_loss_steps tide_loss_steps_of(const tide_snapshot_timing *timing);

/* "loss: 9.281234 in the run's first step, 9.101234 in the first measured one, 8.801234 in the
 * last", and the step from which on it is not finite; "" without losses. */
void tide_words_losses(const tide_snapshot_timing *timing, char *ret_text, size_t n_room);

/* "loss scale: 16384 after the last step; 2 of 12 steps were skipped, because a gradient held an
 * infinity or a NaN"; "" if the loss was not scaled. */
void tide_words_loss_scale(const tide_snapshot_timing *timing, char *ret_text, size_t n_room);

/* "the losses of a and b are the same in all 12 steps", "... differ from step 3 of the run on:
 * 9.281234 against 9.281236"; "" if one of them has none. */
void tide_words_same_losses(const char *a, const tide_snapshot_timing *of_a, const char *b,
                            const tide_snapshot_timing *of_b, char *ret_text, size_t n_room);

#ifdef __cplusplus
}
#endif

#endif
