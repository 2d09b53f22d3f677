/* Sentences about two runs of the same workload: how their peaks compare, and why. They use only
 * the bytes of each category at the two peaks; nothing is assumed about the effect of a precision
 * or a setting. */
#include <string.h>

#include "common/text/text.h"
#include "snapshot/compare/compare_cause.h"
#include "snapshot/compare/compare_internal.h"

enum {
    SAME_PER_MILLE = 10,      /* peaks that differ by at most 1 % of the base count as equal */
    TELLING_PER_MILLE = 10,   /* a category's change is named from 1 % of the base's peak */
    SURPRISING_PER_MILLE = 1, /* a narrower type that takes more is explained from 0.1 % */
    CAUSE_BYTES = 1024
};

/* "parameters with fp32 and by gradients with bf16" */
static void say_setting_by_run(tide_text *to, const tide_compare_run *base,
                               const tide_compare_run *other) {
    tide_compare_say_setting(to, base, NULL, false);
    tide_text_add(to, " with %s and by ", base->name);
    tide_compare_say_setting(to, other, NULL, false);
    tide_text_add(to, " with %s", other->name);
}

/* How much more of a category `other` has at its peak; 0 if the change is too small to name. */
static int64_t telling_change(const tide_compare_run *base, const tide_compare_run *other,
                              int category) {
    int64_t change = other->category_bytes[category] - base->category_bytes[category];
    int64_t bound = base->allocated_bytes / 1000 * TELLING_PER_MILLE;
    return change > bound || change < -bound ? change : 0;
}

/* The category that shrinks most from `base` to `other`; -1 if none shrinks enough to name. */
static int largest_shrinking(const tide_compare_run *base, const tide_compare_run *other) {
    int found = -1;
    int64_t lowest = 0;
    for (size_t i = 0; i < base->n_categories; i++) {
        int64_t change = telling_change(base, other, (int)i);
        if (change < lowest) {
            lowest = change;
            found = (int)i;
        }
    }
    return found;
}

/* ": activations take 3.20 GiB less, parameters 1.00 GiB more", largest first; nothing if all
 * changes are small. */
static void say_changes(tide_text *to, const tide_compare_run *base,
                        const tide_compare_run *other) {
    int64_t before = INT64_MAX; /* size and number of the last category named */
    int said = -1;
    for (size_t n_said = 0;; n_said++) {
        int next = -1;
        int64_t largest = 0;
        for (int i = 0; i < (int)base->n_categories; i++) {
            int64_t change = telling_change(base, other, i);
            int64_t size = change < 0 ? -change : change;
            if (size > largest && (size < before || (size == before && i > said))) {
                largest = size;
                next = i;
            }
        }
        if (next < 0) {
            return;
        }
        before = largest;
        said = next;
        tide_text_add(to, "%s%s %s", n_said == 0 ? ": there " : ", ",
                      tide_compare_category_words(other, next),
                      n_said > 0                                                       ? ""
                      : next == TIDE_OPTIMIZER_STATE || next >= (int)TIDE_N_CATEGORIES ? "takes "
                                                                                       : "take ");
        tide_compare_say_bytes(to, largest);
        tide_text_add(to, " %s", telling_change(base, other, next) < 0 ? "less" : "more");
    }
}

/* Adds the move of the peak, if it moves. */
static void say_move(tide_text *to, const tide_compare_run *base, const tide_compare_run *other) {
    const char *from = base->device->peak.scope_path;
    const char *there = other->device->peak.scope_path;
    if (strcmp(from, there) != 0 && from[0] != '\0' && there[0] != '\0') {
        tide_text_add(to, "; it moves from %s to %s", from, there);
    }
}

static double percent(int64_t value, int64_t base) {
    return base > 0 ? 100.0 * (double)(value - base) / (double)base : 0.0;
}

static bool nearly_equal(const tide_compare_run *base, const tide_compare_run *other) {
    int64_t difference = other->allocated_bytes - base->allocated_bytes;
    int64_t bound = base->allocated_bytes / 1000 * SAME_PER_MILLE;
    return difference <= bound && difference >= -bound;
}

/* "The peak is set by optimizer state (2.00 GiB of 3.00 GiB) in the optimizer phase in both: X
 * hardly changes it (...)"; shorter if an earlier clause has described the base. */
static void say_nearly_equal(tide_text *to, const tide_compare_run *base,
                             const tide_compare_run *other, bool base_is_known) {
    bool same = tide_compare_count_setting(base, other) > 0;
    if (!same) {
        tide_text_add(to, "The peak is set by ");
        say_setting_by_run(to, base, other);
        tide_text_add(to, ", at nearly the same height (");
    } else if (base_is_known && other->name != other->label) {
        tide_text_add(to, "%s hardly changes the peak, set by ", other->name);
        tide_compare_say_setting(to, other, base, false);
        tide_text_add(to, " there too (");
    } else {
        tide_text_add(to, "The peak is set by ");
        tide_compare_say_dominant(to, base);
        tide_compare_say_phase(to, base);
        if (other->name == other->label) { /* no setting distinguishes the two */
            tide_text_add(to, " in both (");
        } else {
            tide_text_add(to, " in both: %s hardly changes it (", other->name);
        }
    }
    tide_compare_say_bytes(to, base->allocated_bytes);
    tide_text_add(to, " with %s, ", base->name);
    tide_compare_say_bytes(to, other->allocated_bytes);
    tide_text_add(to, " with %s).", other->name);
}

/* Whether the run with the narrower type takes noticeably more, which needs an explanation: both
 * completed and differ only in the precision. */
static bool is_surprising(const tide_compare_run *narrow, const tide_compare_run *wide) {
    const tide_snapshot_run *a = &narrow->snapshot->run;
    const tide_snapshot_run *b = &wide->snapshot->run;
    return tide_precision_is_narrower(a->precision, b->precision) &&
           strcmp(a->attention, b->attention) == 0 && strcmp(a->recompute, b->recompute) == 0 &&
           a->keep_graph == b->keep_graph && a->cuda_graph == b->cuda_graph &&
           narrow->allocated_bytes - wide->allocated_bytes >
               wide->allocated_bytes / 1000 * SURPRISING_PER_MILLE;
}

/* " bf16-mixed takes 510.00 MiB more than fp32 although its type is smaller: 6.15 GiB more of
 * copies of weights outweigh 5.65 GiB less of activations, each at its own peak." */
static void say_cause(tide_text *to, const tide_compare_run *narrow, const tide_compare_run *wide) {
    char text[CAUSE_BYTES];
    tide_compare_cause_words(narrow, wide, text, sizeof(text));
    if (text[0] == '\0') {
        return;
    }
    tide_text_add(to, " %s takes ", narrow->name);
    tide_compare_say_bytes(to, narrow->allocated_bytes - wide->allocated_bytes);
    tide_text_add(to, " more than %s although its type is smaller: %s, each at its own peak.",
                  wide->name, text);
}

/* Compares the peaks of two runs that completed. */
static void say_peaks(tide_text *to, const tide_compare_run *base, const tide_compare_run *other,
                      bool base_is_known) {
    if (nearly_equal(base, other)) {
        say_nearly_equal(to, base, other, base_is_known);
        return;
    }
    bool lower = other->allocated_bytes < base->allocated_bytes;
    bool same = tide_compare_count_setting(base, other) > 0;
    double change = percent(other->allocated_bytes, base->allocated_bytes);
    if (same && !lower) {
        tide_text_add(to, "The peak is set by ");
        tide_compare_say_setting(to, base, other, false);
        tide_text_add(to, " in both, and %s raises it by %.1f %%, from ", other->name, change);
    } else {
        tide_text_add(to, "%s %s the peak by %.1f %%, from ", other->name,
                      lower ? "lowers" : "raises", lower ? -change : change);
    }
    tide_compare_say_bytes(to, base->allocated_bytes);
    tide_text_add(to, " to ");
    tide_compare_say_bytes(to, other->allocated_bytes);
    if (!is_surprising(other, base) &&
        !is_surprising(base, other)) { /* say_cause explains a surprising change */
        say_changes(to, base, other);
    }
    say_move(to, base, other);
    if (!same) {
        tide_text_add(to, "; it is set by ");
        say_setting_by_run(to, base, other);
    } else if (lower) {
        tide_text_add(to, "; it is set by ");
        tide_compare_say_setting(to, base, other, false);
        tide_text_add(to, " in both");
    }
    tide_text_add(to, ".");
}

static void say_completed(tide_text *to, const tide_compare_run *base,
                          const tide_compare_run *other, bool base_is_known) {
    say_peaks(to, base, other, base_is_known);
    if (is_surprising(other, base)) {
        say_cause(to, other, base);
    } else if (is_surprising(base, other)) {
        say_cause(to, base, other);
    }
}

/* Adds the category that the fitting run has less of. */
static void say_less(tide_text *to, const tide_compare_run *fits, const tide_compare_run *stopped) {
    int less = largest_shrinking(stopped, fits);
    if (less >= 0) {
        tide_text_add(to, ": ");
        tide_compare_say_bytes(to, fits->category_bytes[less]);
        tide_text_add(to, " of %s against ", tide_compare_category_words(fits, less));
        tide_compare_say_bytes(to, stopped->category_bytes[less]);
        tide_text_add(to, " when %s ran out", stopped->name);
    }
}

/* One of the two runs ran out of memory. */
static void say_one_fits(tide_text *to, const tide_compare_run *base, const tide_compare_run *other,
                         bool base_is_known) {
    const tide_compare_run *fits = base->is_oom ? other : base;
    const tide_compare_run *stopped = base->is_oom ? base : other;
    if (stopped == other || !base_is_known) {
        tide_compare_say_oom(to, stopped);
    }
    tide_text_add(to, "%s", base_is_known ? "" : "; ");
    if (fits == other || !base_is_known) {
        tide_compare_say_peak(to, fits);
        say_less(to, fits, stopped);
    }
    tide_text_add(to, ".");
}

/* `base_is_known`: an earlier clause has described the base. Both have a device. */
void tide_compare_say_pair(tide_text *to, const tide_compare_run *base,
                           const tide_compare_run *other, bool base_is_known) {
    if (!base->is_oom && !other->is_oom) {
        say_completed(to, base, other, base_is_known);
    } else if (base->is_oom && other->is_oom) {
        if (!base_is_known) {
            tide_compare_say_oom(to, base);
            tide_text_add(to, "; ");
        }
        tide_compare_say_oom(to, other);
        tide_text_add(to, ".");
    } else {
        say_one_fits(to, base, other, base_is_known);
    }
}
