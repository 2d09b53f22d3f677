/* From figures to words. What is said of a category is what its bytes at the two peaks say; nothing
 * is assumed about what a precision or a setting ought to do. */
#include <inttypes.h>
#include <string.h>

#include "common/bytes.h"
#include "common/text.h"
#include "snapshot/compare_cause.h"
#include "snapshot/compare_internal.h"

enum {
    TEXT_BYTES = 16384,       /* room for the sentences of all runs; more is cut */
    SAME_PER_MILLE = 10,      /* peaks nearer than 1 % of the base count as equal */
    TELLING_PER_MILLE = 10,   /* a category's change is told from 1 % of the base's peak on */
    SURPRISING_PER_MILLE = 1, /* a narrower type that takes more is explained from 0.1 % on */
    CAUSE_BYTES = 1024
};

static void say_bytes(tide_text *to, int64_t n_bytes) {
    char text[TIDE_BYTES_TEXT];
    tide_text_add(to, "%s", tide_bytes_format(n_bytes, text));
}

static const char *category_words(const tide_compare_run *run, int category) {
    return tide_compare_category_words(run, category);
}

bool tide_compare_is_dominant(const tide_compare_run *run, size_t category) {
    int64_t most = run->category_bytes[run->dominant];
    return most - run->category_bytes[category] <= most / 1000 * SAME_PER_MILLE;
}

/* Whether the category sets the peak of the run, and of the other one where there is one. */
static bool sets_peak(const tide_compare_run *run, const tide_compare_run *other, size_t category) {
    return tide_compare_is_dominant(run, category) &&
           (other == NULL || tide_compare_is_dominant(other, category));
}

static size_t count_setting(const tide_compare_run *run, const tide_compare_run *other) {
    size_t n = 0;
    for (size_t i = 0; i < run->n_categories; i++) {
        n += sets_peak(run, other, i);
    }
    return n;
}

/* "parameters and gradients" (or their bytes): what sets the peak of the run, and of the other one
 * where there is one. */
static void say_setting(tide_text *to, const tide_compare_run *run, const tide_compare_run *other,
                        bool as_bytes) {
    size_t n = count_setting(run, other);
    size_t n_said = 0;
    for (size_t i = 0; i < run->n_categories; i++) {
        if (!sets_peak(run, other, i)) {
            continue;
        }
        tide_text_add(to, "%s", n_said == 0 ? "" : n_said + 1 == n ? " and " : ", ");
        n_said++;
        if (as_bytes) {
            say_bytes(to, run->category_bytes[i]);
        } else {
            tide_text_add(to, "%s", category_words(run, (int)i));
        }
    }
}

void tide_compare_dominant_words(const tide_compare_run *run, char *ret_text, size_t n_room) {
    tide_text text = tide_text_in(ret_text, n_room);
    say_setting(&text, run, NULL, false);
}

/* "optimizer state (25.84 of 63.10 GiB)"; of a tie "parameters and gradients (1.00 GiB and 1.00 GiB of
 * 2.00 GiB)". */
static void say_dominant(tide_text *to, const tide_compare_run *run) {
    say_setting(to, run, NULL, false);
    tide_text_add(to, " (");
    say_setting(to, run, NULL, true);
    tide_text_add(to, " of ");
    say_bytes(to, run->allocated_bytes);
    tide_text_add(to, ")");
}

/* "parameters with fp32 and by gradients with bf16" */
static void say_setting_by_run(tide_text *to, const tide_compare_run *base,
                               const tide_compare_run *other) {
    say_setting(to, base, NULL, false);
    tide_text_add(to, " with %s and by ", base->name);
    say_setting(to, other, NULL, false);
    tide_text_add(to, " with %s", other->name);
}

/* ", in the optimizer phase" where the file says so. */
static void say_phase(tide_text *to, const tide_compare_run *run) {
    if (run->device != NULL && run->device->peak.phase[0] != '\0') {
        tide_text_add(to, " in the %s phase", run->device->peak.phase);
    }
}

/* How much more of a category `other` has at its peak; 0 where the change is too small to tell. */
static int64_t telling_change(const tide_compare_run *base, const tide_compare_run *other,
                              int category) {
    int64_t change = other->category_bytes[category] - base->category_bytes[category];
    int64_t bound = base->allocated_bytes / 1000 * TELLING_PER_MILLE;
    return change > bound || change < -bound ? change : 0;
}

/* The category that shrinks most from `base` to `other`; -1 where none shrinks enough to tell. */
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

/* ": activations take 3.20 GiB less, parameters 1.00 GiB more", by size; nothing where no category
 * tells. */
static void say_changes(tide_text *to, const tide_compare_run *base,
                        const tide_compare_run *other) {
    int64_t before = INT64_MAX; /* size and number of the one that was said last */
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
        tide_text_add(to, "%s%s %s", n_said == 0 ? ": there " : ", ", category_words(other, next),
                      n_said > 0                                                       ? ""
                      : next == TIDE_OPTIMIZER_STATE || next >= (int)TIDE_N_CATEGORIES ? "takes "
                                                                                       : "take ");
        say_bytes(to, largest);
        tide_text_add(to, " %s", telling_change(base, other, next) < 0 ? "less" : "more");
    }
}

/* Where the peak moves, if it does. */
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

/* "The peak is set by optimizer state (2.00 GiB of 3.00 GiB) in the optimizer phase in both: X hardly
 * changes it (...)"; short where an earlier clause has described the base. */
static void say_nearly_equal(tide_text *to, const tide_compare_run *base,
                             const tide_compare_run *other, bool base_is_known) {
    bool same = count_setting(base, other) > 0;
    if (!same) {
        tide_text_add(to, "The peak is set by ");
        say_setting_by_run(to, base, other);
        tide_text_add(to, ", at nearly the same height (");
    } else if (base_is_known && other->name != other->label) {
        tide_text_add(to, "%s hardly changes the peak, set by ", other->name);
        say_setting(to, other, base, false);
        tide_text_add(to, " there too (");
    } else {
        tide_text_add(to, "The peak is set by ");
        say_dominant(to, base);
        say_phase(to, base);
        if (other->name == other->label) { /* no setting tells the two apart */
            tide_text_add(to, " in both (");
        } else {
            tide_text_add(to, " in both: %s hardly changes it (", other->name);
        }
    }
    say_bytes(to, base->allocated_bytes);
    tide_text_add(to, " with %s, ", base->name);
    say_bytes(to, other->allocated_bytes);
    tide_text_add(to, " with %s).", other->name);
}

/* Both runs ended well, and differ in nothing but the precision: does the narrower one take more,
 * by what can be seen? */
static bool is_surprising(const tide_compare_run *narrow, const tide_compare_run *wide) {
    const tide_snapshot_run *a = &narrow->snapshot->run;
    const tide_snapshot_run *b = &wide->snapshot->run;
    return tide_precision_is_narrower(a->precision, b->precision) &&
           strcmp(a->attention, b->attention) == 0 && strcmp(a->recompute, b->recompute) == 0 &&
           a->keep_graph == b->keep_graph &&
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
    say_bytes(to, narrow->allocated_bytes - wide->allocated_bytes);
    tide_text_add(to, " more than %s although its type is smaller: %s, each at its own peak.",
                  wide->name, text);
}

/* How the peaks of two runs that ended well stand to each other. */
static void say_peaks(tide_text *to, const tide_compare_run *base, const tide_compare_run *other,
                      bool base_is_known) {
    if (nearly_equal(base, other)) {
        say_nearly_equal(to, base, other, base_is_known);
        return;
    }
    bool lower = other->allocated_bytes < base->allocated_bytes;
    bool same = count_setting(base, other) > 0;
    double change = percent(other->allocated_bytes, base->allocated_bytes);
    if (same && !lower) {
        tide_text_add(to, "The peak is set by ");
        say_setting(to, base, other, false);
        tide_text_add(to, " in both: %s cannot lower it and raises it by %.1f %%, from ",
                      other->name, change);
    } else {
        tide_text_add(to, "%s %s the peak by %.1f %%, from ", other->name,
                      lower ? "lowers" : "raises", lower ? -change : change);
    }
    say_bytes(to, base->allocated_bytes);
    tide_text_add(to, " to ");
    say_bytes(to, other->allocated_bytes);
    if (!is_surprising(other, base) &&
        !is_surprising(base, other)) { /* else they are told as causes */
        say_changes(to, base, other);
    }
    say_move(to, base, other);
    if (!same) {
        tide_text_add(to, "; it is set by ");
        say_setting_by_run(to, base, other);
    } else if (lower) {
        tide_text_add(to, "; it is set by ");
        say_setting(to, base, other, false);
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

/* "fp32 does not fit: it asked for 1.00 GiB with 0.50 GiB free in the backward phase, when
 * activations (40.00 of 78.00 GiB) were most of what was allocated" */
static void say_oom(tide_text *to, const tide_compare_run *run) {
    tide_text_add(to, "%s does not fit", run->name);
    if (run->device == NULL || run->device->oom_event < 0) {
        return;
    }
    tide_text_add(to, ": it asked for ");
    say_bytes(to, run->device->oom_requested_bytes);
    tide_text_add(to, " with ");
    say_bytes(to, run->device->oom_free_bytes);
    tide_text_add(to, " free");
    if (run->device->oom_free_bytes >= run->device->oom_requested_bytes) {
        tide_text_add(to, ", too little for a new segment,");
    }
    say_phase(to, run);
    tide_text_add(to, ", most of what it had allocated being ");
    say_dominant(to, run);
}

/* "bf16-mixed peaks at 3.00 GiB, set by activations (2.00 GiB of 3.00 GiB) in the backward phase"
 */
static void say_peak(tide_text *to, const tide_compare_run *run) {
    tide_text_add(to, "%s peaks at ", run->name);
    say_bytes(to, run->allocated_bytes);
    tide_text_add(to, ", set by ");
    say_dominant(to, run);
    say_phase(to, run);
}

/* What became of one run, compared with nothing. */
static void say_outcome(tide_text *to, const tide_compare_run *run) {
    if (run->device == NULL) {
        tide_text_add(to, "%s has no recorded allocations", run->name);
    } else if (run->is_oom) {
        say_oom(to, run);
    } else {
        say_peak(to, run);
    }
}

/* What the run that fits has less of. */
static void say_less(tide_text *to, const tide_compare_run *fits, const tide_compare_run *stopped) {
    int less = largest_shrinking(stopped, fits);
    if (less >= 0) {
        tide_text_add(to, ": ");
        say_bytes(to, fits->category_bytes[less]);
        tide_text_add(to, " of %s against ", category_words(fits, less));
        say_bytes(to, stopped->category_bytes[less]);
        tide_text_add(to, " when %s ran out", stopped->name);
    }
}

/* One of the two ran out of memory. */
static void say_one_fits(tide_text *to, const tide_compare_run *base, const tide_compare_run *other,
                         bool base_is_known) {
    const tide_compare_run *fits = base->is_oom ? other : base;
    const tide_compare_run *stopped = base->is_oom ? base : other;
    if (stopped == other || !base_is_known) {
        say_oom(to, stopped);
    }
    tide_text_add(to, "%s", base_is_known ? "" : "; ");
    if (fits == other || !base_is_known) {
        say_peak(to, fits);
        say_less(to, fits, stopped);
    }
    tide_text_add(to, ".");
}

/* `base_is_known`: an earlier clause has said what became of the base. Both have a device. */
static void say_pair(tide_text *to, const tide_compare_run *base, const tide_compare_run *other,
                     bool base_is_known) {
    if (!base->is_oom && !other->is_oom) {
        say_completed(to, base, other, base_is_known);
    } else if (base->is_oom && other->is_oom) {
        if (!base_is_known) {
            say_oom(to, base);
            tide_text_add(to, "; ");
        }
        say_oom(to, other);
        tide_text_add(to, ".");
    } else {
        say_one_fits(to, base, other, base_is_known);
    }
}

/* The only run. */
static void say_single(tide_text *to, const tide_compare_run *run) {
    if (run->device == NULL || run->is_oom) {
        say_outcome(to, run);
    } else {
        tide_text_add(to, "The peak is set by ");
        say_dominant(to, run);
        say_phase(to, run);
    }
    tide_text_add(to, ".");
}

/* ---- runs of other workloads than the base's: what became of them, and no comparison ---- */

/* What makes a workload; the settings of a run that are left may be compared. */
enum { IN_MODEL = 1, IN_CONTEXT = 2, IN_BATCH = 4, IN_MODE = 8, IS_UNSTATED = 16 };

/* Files of other tools say nothing of what was run. */
static bool is_stated(const tide_snapshot_run *run) {
    return run->model.d_model > 0 || run->context_length >= 0 || run->batch_size >= 0 ||
           run->mode[0] != '\0';
}

/* In what the workloads of two runs differ; 0: they are the same. */
static unsigned workload_difference(const tide_compare_run *one, const tide_compare_run *other) {
    const tide_snapshot_run *a = &one->snapshot->run;
    const tide_snapshot_run *b = &other->snapshot->run;
    if (is_stated(a) != is_stated(b)) {
        return IS_UNSTATED;
    }
    bool same_model = a->model.d_model == b->model.d_model && a->model.d_ff == b->model.d_ff &&
                      a->model.n_layers == b->model.n_layers &&
                      a->model.n_heads == b->model.n_heads &&
                      a->model.vocab_size == b->model.vocab_size;
    return (same_model ? 0U : IN_MODEL) |
           (a->context_length == b->context_length ? 0U : IN_CONTEXT) |
           (a->batch_size == b->batch_size ? 0U : IN_BATCH) |
           (strcmp(a->mode, b->mode) == 0 ? 0U : IN_MODE);
}

/* "model, context" */
static void say_difference(tide_text *to, unsigned difference) {
    static const char *const NAMES[] = {"model", "context", "batch", "mode"};
    const char *before = "";
    for (unsigned i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if ((difference >> i & 1U) != 0) {
            tide_text_add(to, "%s%s", before, NAMES[i]);
            before = ", ";
        }
    }
}

/* The runs that do not share the base's workload. `n_shared`: those beside the base that do; where
 * there are none, nothing has been said of the base yet. */
static void say_other_workloads(tide_text *to, const tide_compare *compare, size_t n_shared) {
    const tide_compare_run *base = &compare->runs[0];
    unsigned difference = 0;
    for (size_t i = 1; i < compare->n_runs; i++) {
        difference |= workload_difference(base, &compare->runs[i]);
    }
    if (difference == 0) {
        return;
    }
    unsigned known = difference & ~(unsigned)IS_UNSTATED;
    if (known == 0) {
        tide_text_add(to, n_shared > 0
                              ? " Not compared, as not every file states its workload: "
                              : "The runs may be different workloads, as not every file states "
                                "its own: ");
    } else {
        bool one = (known & (known - 1)) == 0;
        tide_text_add(to, n_shared > 0 ? " Not compared, as the workload is another ("
                                       : "The runs are different workloads (");
        say_difference(to, known);
        tide_text_add(to, "%s): ", n_shared > 0 ? "" : one ? " differs" : " differ");
    }
    const char *before = "";
    for (size_t i = n_shared > 0 ? 1 : 0; i < compare->n_runs; i++) {
        if (i == 0 || workload_difference(base, &compare->runs[i]) != 0) {
            tide_text_add(to, "%s", before);
            say_outcome(to, &compare->runs[i]);
            before = "; ";
        }
    }
    tide_text_add(to, ".");
}

/* The runs that share the base's workload, each against it. Returns how many they are. */
static size_t say_shared_workload(tide_text *to, const tide_compare *compare) {
    const tide_compare_run *base = &compare->runs[0];
    size_t n_shared = 0; /* once it is above 0, a clause has said what became of the base */
    for (size_t i = 1; i < compare->n_runs; i++) {
        const tide_compare_run *other = &compare->runs[i];
        if (workload_difference(base, other) != 0) {
            continue;
        }
        tide_text_add(to, "%s", n_shared > 0 ? " " : "");
        if (base->device == NULL || other->device == NULL) {
            if (n_shared == 0) {
                say_outcome(to, base);
                tide_text_add(to, "; ");
            }
            say_outcome(to, other);
            tide_text_add(to, ".");
        } else {
            say_pair(to, base, other, n_shared > 0);
        }
        n_shared++;
    }
    return n_shared;
}

const char *tide_compare_sentence(tide_compare *compare) {
    char *sentence = tide_arena_alloc(&compare->arena, TEXT_BYTES, 1);
    if (sentence == NULL) {
        return NULL;
    }
    tide_text to = tide_text_in(sentence, TEXT_BYTES);
    if (compare->n_runs == 1) {
        say_single(&to, &compare->runs[0]);
    } else {
        say_other_workloads(&to, compare, say_shared_workload(&to, compare));
    }
    return sentence;
}
