#include "cli/words/loss_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/text/text.h"

enum { NUMBER_BYTES = 32, STEPS_BYTES = 48 };

/* Six decimals: beyond fp32's resolution of a loss above 4, so differing runs show the
 * difference. */
static const char *number(double loss, char text[NUMBER_BYTES]) {
    snprintf(text, NUMBER_BYTES, fabs(loss) < 1e6 || !isfinite(loss) ? "%.6f" : "%.6e", loss);
    return text;
}

tide_loss_steps tide_loss_steps_of(const tide_snapshot_timing *timing) {
    size_t n = timing->n_losses;
    size_t n_warmup = timing->warmup_steps > 0 ? (size_t)timing->warmup_steps : 0;
    return (tide_loss_steps){
        .has_any = n > 0, .first_measured = n_warmup < n ? n_warmup : 0, .last = n > 0 ? n - 1 : 0};
}

/* The first step whose loss is not finite; n_losses: none. */
static size_t find_not_finite(const tide_snapshot_timing *timing) {
    size_t i = 0;
    while (i < timing->n_losses && isfinite(timing->losses[i])) {
        i++;
    }
    return i;
}

void tide_words_losses(const tide_snapshot_timing *timing, char *ret_text, size_t n_room) {
    char one[NUMBER_BYTES];
    tide_loss_steps steps = tide_loss_steps_of(timing);
    size_t not_finite = find_not_finite(timing);
    tide_text to = tide_text_in(ret_text, n_room);
    if (!steps.has_any) {
        return;
    }
    tide_text_add(&to, "loss: %s in the run's first step", number(timing->losses[0], one));
    if (steps.first_measured > 0) {
        tide_text_add(&to, ", %s in the first measured one",
                      number(timing->losses[steps.first_measured], one));
    }
    if (steps.last > steps.first_measured) {
        tide_text_add(&to, ", %s in the last", number(timing->losses[steps.last], one));
    }
    if (not_finite < timing->n_losses) {
        tide_text_add(&to, "; it is no finite number from step %zu of the run on", not_finite);
    }
}

void tide_words_loss_scale(const tide_snapshot_timing *timing, char *ret_text, size_t n_room) {
    tide_text to = tide_text_in(ret_text, n_room);
    if (!timing->scales_loss) {
        return;
    }
    tide_text_add(&to, "loss scale: %.10g after the last step; ", timing->loss_scale);
    if (timing->n_skipped_steps == 0) {
        tide_text_add(&to, "no step was skipped");
        return;
    }
    tide_text_add(
        &to, "%" PRId64 " of %zu steps %s skipped, because a gradient held an infinity or a NaN",
        timing->n_skipped_steps, timing->n_losses, timing->n_skipped_steps == 1 ? "was" : "were");
}

/* Unlike in C, NaN equals NaN here. */
static bool is_same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

void tide_words_same_losses(const char *a, const tide_snapshot_timing *of_a, const char *b,
                            const tide_snapshot_timing *of_b, char *ret_text, size_t n_room) {
    char one[NUMBER_BYTES];
    char other[NUMBER_BYTES];
    size_t n = of_a->n_losses < of_b->n_losses ? of_a->n_losses : of_b->n_losses;
    size_t i = 0;
    ret_text[0] = '\0';
    if (n == 0) {
        return;
    }
    while (i < n && is_same(of_a->losses[i], of_b->losses[i])) {
        i++;
    }
    if (i == n) {
        char steps[STEPS_BYTES] = "the first step";
        if (n > 1) {
            snprintf(steps, sizeof(steps), "%s %zu steps",
                     of_a->n_losses == of_b->n_losses ? "all" : "the first", n);
        } else if (of_a->n_losses == of_b->n_losses) {
            snprintf(steps, sizeof(steps), "the one step");
        }
        snprintf(ret_text, n_room, "the losses of %s and %s are the same in %s", a, b, steps);
        return;
    }
    snprintf(ret_text, n_room,
             "the losses of %s and %s differ from step %zu of the run on: %s against %s", a, b, i,
             number(of_a->losses[i], one), number(of_b->losses[i], other));
}
