/* Sentences about one run of a comparison: what sets its peak, in which phase, and how it ended. */
#include "common/text/bytes.h"
#include "common/text/text.h"
#include "snapshot/compare/compare_internal.h"

enum { SAME_PER_MILLE = 10 }; /* categories within 1 % of the largest set the peak with it */

void tide_compare_say_bytes(tide_text *to, int64_t n_bytes) {
    char text[TIDE_BYTES_TEXT];
    tide_text_add(to, "%s", tide_bytes_format(n_bytes, text));
}

bool tide_compare_is_dominant(const tide_compare_run *run, size_t category) {
    int64_t most = run->category_bytes[run->dominant];
    return most - run->category_bytes[category] <= most / 1000 * SAME_PER_MILLE;
}

/* Whether the category sets the peak of the run, and also of `other` unless it is NULL. */
static bool sets_peak(const tide_compare_run *run, const tide_compare_run *other, size_t category) {
    return tide_compare_is_dominant(run, category) &&
           (other == NULL || tide_compare_is_dominant(other, category));
}

size_t tide_compare_count_setting(const tide_compare_run *run, const tide_compare_run *other) {
    size_t n = 0;
    for (size_t i = 0; i < run->n_categories; i++) {
        n += sets_peak(run, other, i);
    }
    return n;
}

/* "parameters and gradients" (or their bytes): the categories that set the peak of the run, and
 * also of `other` unless it is NULL. */
void tide_compare_say_setting(tide_text *to, const tide_compare_run *run,
                              const tide_compare_run *other, bool as_bytes) {
    size_t n = tide_compare_count_setting(run, other);
    size_t n_said = 0;
    for (size_t i = 0; i < run->n_categories; i++) {
        if (!sets_peak(run, other, i)) {
            continue;
        }
        tide_text_add(to, "%s", n_said == 0 ? "" : n_said + 1 == n ? " and " : ", ");
        n_said++;
        if (as_bytes) {
            tide_compare_say_bytes(to, run->category_bytes[i]);
        } else {
            tide_text_add(to, "%s", tide_compare_category_words(run, (int)i));
        }
    }
}

void tide_compare_dominant_words(const tide_compare_run *run, char *ret_text, size_t n_room) {
    tide_text text = tide_text_in(ret_text, n_room);
    tide_compare_say_setting(&text, run, NULL, false);
}

/* "optimizer state (25.84 of 63.10 GiB)"; for a tie "parameters and gradients (1.00 GiB and 1.00
 * GiB of 2.00 GiB)". */
void tide_compare_say_dominant(tide_text *to, const tide_compare_run *run) {
    tide_compare_say_setting(to, run, NULL, false);
    tide_text_add(to, " (");
    tide_compare_say_setting(to, run, NULL, true);
    tide_text_add(to, " of ");
    tide_compare_say_bytes(to, run->allocated_bytes);
    tide_text_add(to, ")");
}

/* ", in the optimizer phase" if the file has the phase. */
void tide_compare_say_phase(tide_text *to, const tide_compare_run *run) {
    if (run->device != NULL && run->device->peak.phase[0] != '\0') {
        tide_text_add(to, " in the %s phase", run->device->peak.phase);
    }
}

/* "fp32 does not fit: it asked for 1.00 GiB with 0.50 GiB free in the backward phase, when
 * activations (40.00 of 78.00 GiB) were most of what was allocated" */
void tide_compare_say_oom(tide_text *to, const tide_compare_run *run) {
    tide_text_add(to, "%s does not fit", run->name);
    if (run->device == NULL || run->device->oom_event < 0) {
        return;
    }
    tide_text_add(to, ": it asked for ");
    tide_compare_say_bytes(to, run->device->oom_requested_bytes);
    tide_text_add(to, " with ");
    tide_compare_say_bytes(to, run->device->oom_free_bytes);
    tide_text_add(to, " free");
    if (run->device->oom_free_bytes >= run->device->oom_requested_bytes) {
        tide_text_add(to, "%s,",
                      tide_oom_why_not(run->snapshot, run->device->oom_requested_bytes,
                                       run->device->oom_free_bytes));
    }
    tide_compare_say_phase(to, run);
    tide_text_add(to, ", most of what it had allocated being ");
    tide_compare_say_dominant(to, run);
}

/* "bf16-mixed peaks at 3.00 GiB, set by activations (2.00 GiB of 3.00 GiB) in the backward phase"
 */
void tide_compare_say_peak(tide_text *to, const tide_compare_run *run) {
    tide_text_add(to, "%s peaks at ", run->name);
    tide_compare_say_bytes(to, run->allocated_bytes);
    tide_text_add(to, ", set by ");
    tide_compare_say_dominant(to, run);
    tide_compare_say_phase(to, run);
}

/* The outcome of one run, without a comparison. */
void tide_compare_say_outcome(tide_text *to, const tide_compare_run *run) {
    if (run->device == NULL) {
        tide_text_add(to, "%s has no recorded allocations", run->name);
    } else if (run->is_oom) {
        tide_compare_say_oom(to, run);
    } else {
        tide_compare_say_peak(to, run);
    }
}
