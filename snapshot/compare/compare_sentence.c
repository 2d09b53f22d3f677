/* The sentences below a comparison: the runs with the base's workload are compared with it; of the
 * others, only the outcome is stated. */
#include <inttypes.h>
#include <string.h>

#include "common/text/milliseconds.h"
#include "common/text/text.h"
#include "snapshot/compare/compare_internal.h"

enum { TEXT_BYTES = 16384 }; /* room for the sentences of all runs */

/* The sentence for a single run. */
static void say_single(tide_text *to, const tide_compare_run *run) {
    if (run->device == NULL || run->is_oom) {
        tide_compare_say_outcome(to, run);
    } else {
        tide_text_add(to, "The peak is set by ");
        tide_compare_say_dominant(to, run);
        tide_compare_say_phase(to, run);
    }
    tide_text_add(to, ".");
}

/* ---- runs of other workloads than the base's: their outcomes, without a comparison ---- */

/* The parts of a workload. Runs that differ in other settings can be compared. */
enum { IN_MODEL = 1, IN_CONTEXT = 2, IN_BATCH = 4, IN_MODE = 8, IS_UNSTATED = 16 };

/* Files of other tools do not describe their run. */
static bool is_stated(const tide_snapshot_run *run) {
    return run->model.d_model > 0 || run->context_length >= 0 || run->batch_size >= 0 ||
           run->mode[0] != '\0';
}

/* The parts in which the workloads of two runs differ; 0: they are the same. */
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

/* The runs with other workloads than the base's. `n_shared`: number of runs beside the base that
 * share its workload; if 0, the base has not been described yet. */
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
            tide_compare_say_outcome(to, &compare->runs[i]);
            before = "; ";
        }
    }
    tide_text_add(to, ".");
}

/* Compares each run that shares the base's workload with the base. Returns the number of these
 * runs. *ret_is_made becomes false without memory. */
static size_t say_shared_workload(tide_text *to, tide_compare *compare, bool *ret_is_made) {
    const tide_compare_run *base = &compare->runs[0];
    size_t n_shared = 0; /* once above 0, a clause has described the base */
    for (size_t i = 1; i < compare->n_runs; i++) {
        const tide_compare_run *other = &compare->runs[i];
        if (workload_difference(base, other) != 0) {
            continue;
        }
        tide_text_add(to, "%s", n_shared > 0 ? " " : "");
        if (base->device == NULL || other->device == NULL) {
            if (n_shared == 0) {
                tide_compare_say_outcome(to, base);
                tide_text_add(to, "; ");
            }
            tide_compare_say_outcome(to, other);
            tide_text_add(to, ".");
        } else if (tide_compare_is_told_by_lines(base, other)) {
            *ret_is_made = tide_compare_say_pair_by_lines(to, compare, base, other) && *ret_is_made;
        } else {
            tide_compare_say_pair(to, base, other, n_shared > 0);
        }
        n_shared++;
    }
    return n_shared;
}

/* "with bf16-mixed", "on rank 7". */
static void say_which(tide_text *to, const tide_compare *compare, size_t run) {
    if (tide_compare_is_of_ranks(compare)) {
        tide_text_add(to, "on rank %" PRId64, tide_compare_rank(&compare->runs[run]));
    } else {
        tide_text_add(to, "with %s", compare->runs[run].name);
    }
}

/* Forecasts of time come first: their ratio is better known than either time, because the errors of
 * the model are mostly the same in both. */
static void say_forecasts(tide_text *to, const tide_compare *compare) {
    const tide_snapshot_forecast *base = &compare->runs[0].snapshot->forecast;
    for (size_t i = 1; i < compare->n_runs; i++) {
        const tide_snapshot_forecast *other = &compare->runs[i].snapshot->forecast;
        if (base->step_ms > 0.0 && other->step_ms > 0.0) {
            char texts[2][TIDE_MS_TEXT];
            double ratio = other->step_ms / base->step_ms;
            tide_text_add(to, "By the forecast, a step takes %.*f times as long ",
                          ratio < 0.995 ? 3 : 2, ratio);
            say_which(to, compare, i);
            tide_text_add(to, " as ");
            say_which(to, compare, 0);
            tide_text_add(
                to,
                " (%s ms and %s ms, the step at the lower quartile of each run; the ratio is "
                "better known than the times). ",
                tide_ms_format(other->step_ms, texts[0]), tide_ms_format(base->step_ms, texts[1]));
        }
    }
}

const char *tide_compare_sentence(tide_compare *compare) {
    char *sentence = tide_arena_alloc(&compare->arena, TEXT_BYTES, 1);
    if (sentence == NULL) {
        return NULL;
    }
    tide_text to = tide_text_in(sentence, TEXT_BYTES);
    say_forecasts(&to, compare);
    if (compare->n_runs == 1) {
        say_single(&to, &compare->runs[0]);
    } else if (tide_compare_is_of_ranks(compare)) {
        return tide_compare_say_ranks(&to, compare) ? sentence : NULL;
    } else {
        bool is_made = true;
        say_other_workloads(&to, compare, say_shared_workload(&to, compare, &is_made));
        return is_made ? sentence : NULL;
    }
    return sentence;
}
