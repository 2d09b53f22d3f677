#include "model/commands/study/conclusions.h"

#include <inttypes.h>
#include <string.h>

#include "common/text/bytes.h"
#include "common/text/text.h"
#include "snapshot/compare/compare_cause.h"
#include "snapshot/document/categories.h"

static double ratio(double a, double b) {
    return b > 0.0 ? a / b : 0.0;
}

static double percent(double a, double b) {
    return 100.0 * ratio(a, b);
}

/* ---- parameters ---- */

void tide_conclusion_of_parameters(const tide_conclusion_size *sizes, size_t n,
                                   char ret_text[TIDE_CONCLUSION_BYTES]) {
    tide_text to = tide_text_in(ret_text, TIDE_CONCLUSION_BYTES);
    char bytes[TIDE_BYTES_TEXT];
    const tide_conclusion_size *least = sizes;
    const tide_conclusion_size *most = sizes;
    for (size_t i = 1; i < n; i++) {
        least = sizes[i].n_parameters < least->n_parameters ? &sizes[i] : least;
        most = sizes[i].n_parameters > most->n_parameters ? &sizes[i] : most;
    }
    if (n == 0) {
        tide_text_add(&to, "no model was asked for");
        return;
    }
    if (least != most) {
        tide_text_add(
            &to,
            "%s has %.1f times the parameters of %s; embedding and lm_head are %.1f %% of them in "
            "%s and %.1f %% in %s",
            most->label, ratio((double)most->n_parameters, (double)least->n_parameters),
            least->label, percent((double)least->n_embedding, (double)least->n_parameters),
            least->label, percent((double)most->n_embedding, (double)most->n_parameters),
            most->label);
    } else {
        tide_text_add(&to,
                      "%s has %" PRIu64 " parameters, %.1f %% of them in embedding and lm_head",
                      most->label, most->n_parameters,
                      percent((double)most->n_embedding, (double)most->n_parameters));
    }
    tide_text_add(
        &to, "; before the first activation, training %s in fp32 takes %s, %.0f bytes a parameter",
        most->label, tide_bytes_format((int64_t)most->train_bytes, bytes),
        ratio((double)most->train_bytes, (double)most->n_parameters));
}

/* ---- memory ---- */

static bool is_same(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}

/* Finds the run that differs from `peak` only in the given values (NULL, 0: as in peak). NULL if
 * there is none. */
static const tide_conclusion_peak *find_peak(const tide_conclusion_peak *peaks, size_t n,
                                             const tide_conclusion_peak *peak, const char *mode,
                                             const char *precision) {
    for (size_t i = 0; i < n; i++) {
        if (peaks[i].allocated_bytes >= 0 && is_same(peaks[i].size, peak->size) &&
            peaks[i].context_length == peak->context_length && is_same(peaks[i].rest, peak->rest) &&
            is_same(peaks[i].mode, mode != NULL ? mode : peak->mode) &&
            is_same(peaks[i].precision, precision != NULL ? precision : peak->precision)) {
            return &peaks[i];
        }
    }
    return NULL;
}

/* The conclusion is about the first run with the highest mode, at the longest context. */
static const tide_conclusion_peak *main_peak(const tide_conclusion_peak *peaks, size_t n) {
    const tide_conclusion_peak *found = NULL;
    for (size_t i = 0; i < n; i++) {
        if (peaks[i].allocated_bytes < 0) {
            continue;
        }
        bool is_train = is_same(peaks[i].mode, "train");
        bool was_train = found != NULL && is_same(found->mode, "train");
        if (found == NULL || is_train > was_train ||
            (is_train == was_train && peaks[i].context_length > found->context_length)) {
            found = &peaks[i];
        }
    }
    return found;
}

/* Explains why the run of a narrower type needs more memory than that of a wider one, if it
 * does. */
static void add_cause(tide_text *to, const tide_conclusion_peak *narrow,
                      const tide_conclusion_peak *wide) {
    const char *words[TIDE_N_CATEGORIES];
    char text[TIDE_CONCLUSION_BYTES];
    if (narrow->allocated_bytes <= wide->allocated_bytes ||
        !tide_precision_is_narrower(narrow->precision, wide->precision)) {
        return;
    }
    for (int i = 0; i < TIDE_N_CATEGORIES; i++) {
        words[i] = tide_category_words(i);
    }
    const tide_cause cause = {words, narrow->category_bytes, wide->category_bytes,
                              TIDE_N_CATEGORIES};
    tide_cause_words(&cause, text, sizeof(text));
    if (text[0] != '\0') {
        tide_text_add(to, ", although its type is smaller: %s", text);
    }
}

static void add_other_precisions(tide_text *to, const tide_conclusion_peak *peaks, size_t n,
                                 const tide_conclusion_peak *base) {
    char bytes[TIDE_BYTES_TEXT];
    for (size_t i = 0; i < n; i++) {
        if (is_same(peaks[i].precision, base->precision) ||
            find_peak(peaks, n, base, NULL, peaks[i].precision) != &peaks[i]) {
            continue;
        }
        double change = percent((double)(peaks[i].allocated_bytes - base->allocated_bytes),
                                (double)base->allocated_bytes);
        tide_text_add(to, "; %s takes %s, %.1f %% %s", peaks[i].precision,
                      tide_bytes_format(peaks[i].allocated_bytes, bytes),
                      change < 0 ? -change : change, change < 0 ? "less" : "more");
        add_cause(to, &peaks[i], base);
    }
}

void tide_conclusion_of_memory(const tide_conclusion_peak *peaks, size_t n,
                               char ret_text[TIDE_CONCLUSION_BYTES]) {
    tide_text to = tide_text_in(ret_text, TIDE_CONCLUSION_BYTES);
    char bytes[TIDE_BYTES_TEXT];
    char other[TIDE_BYTES_TEXT];
    const tide_conclusion_peak *base = main_peak(peaks, n);
    if (base == NULL) {
        tide_text_add(&to, "no run fits");
        return;
    }
    tide_text_add(&to, "%s, %s, context %" PRIu64 "%s%s, peaks at %s in %s", base->size, base->mode,
                  base->context_length, base->rest[0] != '\0' ? ", " : "", base->rest,
                  tide_bytes_format(base->allocated_bytes, bytes), base->precision);
    const tide_conclusion_peak *forward = find_peak(peaks, n, base, "forward", NULL);
    if (forward != NULL && forward != base) {
        tide_text_add(&to, ", %.1f times as high as forward alone (%s)",
                      ratio((double)base->allocated_bytes, (double)forward->allocated_bytes),
                      tide_bytes_format(forward->allocated_bytes, other));
    }
    add_other_precisions(&to, peaks, n, base);
    if (base->eager_bytes >= 0) {
        tide_text_add(&to, "; PyTorch, eager, takes %s in %s, %.2f times as much",
                      tide_bytes_format(base->eager_bytes, bytes), base->precision,
                      ratio((double)base->eager_bytes, (double)base->allocated_bytes));
    }
    if (base->tensor_bytes >= 0) {
        tide_text_add(
            &to,
            "; of the activations that a step makes there the largest are %s (%s each, %.1f times "
            "a tensor of the residual stream, %s)",
            base->tensor, tide_bytes_format(base->tensor_bytes, bytes),
            ratio((double)base->tensor_bytes, (double)base->residual_bytes),
            tide_bytes_format(base->residual_bytes, other));
    }
}

/* ---- residuals ---- */

static void add_gradients(tide_text *to, const tide_conclusion_block *block) {
    char made[TIDE_BYTES_TEXT];
    char drop[TIDE_BYTES_TEXT];
    int64_t off = block->gradient_bytes - block->theory_bytes;
    bool falls = block->allocated_drop_bytes >= 0;
    tide_text_add(to, "; its backward makes %s of gradients, ",
                  tide_bytes_format(block->gradient_bytes, made));
    if (off == 0) {
        tide_text_add(to, "to the byte what theory says");
    } else {
        tide_text_add(to, "%" PRId64 " bytes %s than theory says", off < 0 ? -off : off,
                      off < 0 ? "less" : "more");
    }
    tide_text_add(to, ", so that what is alive %s by %s", falls ? "falls" : "grows",
                  tide_bytes_format(
                      falls ? block->allocated_drop_bytes : -block->allocated_drop_bytes, drop));
}

void tide_conclusion_of_residuals(const tide_conclusion_block *blocks, size_t n,
                                  char ret_text[TIDE_CONCLUSION_BYTES]) {
    tide_text to = tide_text_in(ret_text, TIDE_CONCLUSION_BYTES);
    char kept[TIDE_BYTES_TEXT];
    for (size_t i = 0; i < n; i++) {
        const tide_conclusion_block *block = &blocks[i];
        if (block->kept_bytes < 0) {
            continue;
        }
        tide_bytes_format(block->kept_bytes, kept);
        if (to.n_used > 0) {
            tide_text_add(&to, "; a block of %s keeps %s", block->label, kept);
            continue;
        }
        tide_text_add(&to, "a block of %s keeps %s for backward, %.1f %% of it in %s", block->label,
                      kept, percent((double)block->largest_bytes, (double)block->kept_bytes),
                      block->largest);
        if (block->n_top > 1) {
            tide_text_add(&to, " and %.1f %% in the %zu largest tensors",
                          percent((double)block->top_bytes, (double)block->kept_bytes),
                          block->n_top);
        }
        add_gradients(&to, block);
    }
    if (to.n_used == 0) {
        tide_text_add(&to, "no run fits");
    }
}

/* ---- times ---- */

static bool has_times(const tide_conclusion_times *run) {
    return run->step_ms.mean > 0.0;
}

/* The first or the last run with times; NULL: no run has any. */
static const tide_conclusion_times *first_with_times(const tide_conclusion_times *runs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (has_times(&runs[i])) {
            return &runs[i];
        }
    }
    return NULL;
}

static const tide_conclusion_times *last_with_times(const tide_conclusion_times *runs, size_t n) {
    for (size_t i = n; i > 0; i--) {
        if (has_times(&runs[i - 1])) {
            return &runs[i - 1];
        }
    }
    return NULL;
}

static void say_no_times(tide_text *to) {
    tide_text_add(to, "no time was measured: no run was computed");
}

/* The phase of a run whose samples vary most. */
typedef struct spread {
    const char *label; /* of the run */
    const char *phase; /* "forward", ... */
    double percent;    /* std of the mean */
} spread;

static void widen(spread *widest, const char *label, const char *phase, tide_statistics ms) {
    if (ms.mean > 0.0 && ms.std >= 0.0 &&
        (widest->label == NULL || percent(ms.std, ms.mean) > widest->percent)) {
        *widest = (spread){label, phase, percent(ms.std, ms.mean)};
    }
}

/* The ratio of backward time to forward time: the range over the runs. */
static void add_backward(tide_text *to, const tide_conclusion_times *runs, size_t n) {
    double least = 0.0;
    double most = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (has_times(&runs[i]) && runs[i].forward_ms.mean > 0.0 &&
            runs[i].backward_ms.mean > 0.0) {
            double times = runs[i].backward_ms.mean / runs[i].forward_ms.mean;
            least = least == 0.0 || times < least ? times : least;
            most = times > most ? times : most;
        }
    }
    if (most <= 0.0) {
        return;
    }
    if (most - least < 0.005) {
        tide_text_add(to, "; backward takes %.2f times as long as forward", most);
    } else {
        tide_text_add(to, "; backward takes %.2f to %.2f times as long as forward", least, most);
    }
}

void tide_conclusion_of_end_to_end(const tide_conclusion_times *runs, size_t n,
                                   char ret_text[TIDE_CONCLUSION_BYTES]) {
    tide_text to = tide_text_in(ret_text, TIDE_CONCLUSION_BYTES);
    const tide_conclusion_times *first = first_with_times(runs, n);
    const tide_conclusion_times *last = last_with_times(runs, n);
    spread widest = {NULL, NULL, 0.0};
    if (first == NULL) {
        say_no_times(&to);
        return;
    }
    tide_text_add(&to, "%s takes %.1f ms a step", last->label, last->step_ms.mean);
    if (first != last) {
        tide_text_add(&to, ", %.2f times as long as %s",
                      ratio(last->step_ms.mean, first->step_ms.mean), first->label);
        if (last->n_parameters != first->n_parameters) {
            tide_text_add(&to, " for %.2f times the parameters",
                          ratio((double)last->n_parameters, (double)first->n_parameters));
        }
    }
    add_backward(&to, runs, n);
    for (size_t i = 0; i < n; i++) {
        widen(&widest, runs[i].label, "forward", runs[i].forward_ms);
        widen(&widest, runs[i].label, "backward", runs[i].backward_ms);
    }
    if (widest.label != NULL) {
        tide_text_add(
            &to,
            "; the samples of %s in %s lie furthest apart, with a sample standard deviation of "
            "%.1f %% of the mean",
            widest.phase, widest.label, widest.percent);
    }
}

void tide_conclusion_of_warmup(const tide_conclusion_times *runs, size_t n,
                               char ret_text[TIDE_CONCLUSION_BYTES]) {
    tide_text to = tide_text_in(ret_text, TIDE_CONCLUSION_BYTES);
    const tide_conclusion_times *base = last_with_times(runs, n);
    bool is_first = true;
    if (base == NULL) {
        say_no_times(&to);
        return;
    }
    for (const tide_conclusion_times *run = runs; run < base; run++) {
        if (!has_times(run)) {
            continue;
        }
        tide_text_add(&to, "%s%s of warm-up the mean is %.2f times", is_first ? "with " : ", with ",
                      run->label, ratio(run->step_ms.mean, base->step_ms.mean));
        if (base->step_ms.std > 0.0 && run->step_ms.std >= 0.0) {
            tide_text_add(&to, " and the sample standard deviation %.1f times",
                          ratio(run->step_ms.std, base->step_ms.std));
        }
        tide_text_add(&to, " that with %s", base->label);
        is_first = false;
    }
    if (is_first) {
        tide_text_add(&to, "with %s of warm-up a step takes %.2f ms", base->label,
                      base->step_ms.mean);
        if (base->step_ms.std >= 0.0) {
            tide_text_add(&to, ", with a sample standard deviation of %.2f ms", base->step_ms.std);
        }
        tide_text_add(&to, "; there is nothing to compare it with");
    }
}

void tide_conclusion_of_precision(const tide_conclusion_times *runs, size_t n,
                                  char ret_text[TIDE_CONCLUSION_BYTES]) {
    tide_text to = tide_text_in(ret_text, TIDE_CONCLUSION_BYTES);
    const tide_conclusion_times *base = first_with_times(runs, n);
    bool is_first = true;
    if (base == NULL) {
        say_no_times(&to);
        return;
    }
    for (const tide_conclusion_times *run = base + 1; run < runs + n; run++) {
        if (!has_times(run)) {
            continue;
        }
        double speed = ratio(base->step_ms.mean, run->step_ms.mean);
        tide_text_add(&to, "%s%s is %.2f times as %s as %s", is_first ? "" : ", ", run->label,
                      speed >= 1.0 ? speed : ratio(1.0, speed), speed >= 1.0 ? "fast" : "slow",
                      base->label);
        if (run->forward_ms.mean > 0.0 && run->backward_ms.mean > 0.0) {
            tide_text_add(&to, " (speed-up of forward %.2f, of backward %.2f)",
                          ratio(base->forward_ms.mean, run->forward_ms.mean),
                          ratio(base->backward_ms.mean, run->backward_ms.mean));
        }
        is_first = false;
    }
    if (is_first) {
        tide_text_add(&to, "%s takes %.2f ms a step, and there is nothing to compare it with",
                      base->label, base->step_ms.mean);
    }
}

/* ---- kernels ---- */

static void add_attention(tide_text *to, const tide_conclusion_kernels *kernels) {
    if (kernels->softmax_ms <= 0.0 || kernels->products_ms <= 0.0) {
        return;
    }
    double times = ratio(kernels->softmax_ms, kernels->products_ms);
    tide_text_add(
        to,
        "; in attention softmax takes %.2f times as long as the two products with %.1f %% of their "
        "FLOPs",
        times, percent(kernels->softmax_flops, kernels->products_flops));
}

void tide_conclusion_of_kernels(const tide_conclusion_kernels *kernels,
                                char ret_text[TIDE_CONCLUSION_BYTES]) {
    tide_text to = tide_text_in(ret_text, TIDE_CONCLUSION_BYTES);
    if (kernels->top_forward[0] == '\0') {
        say_no_times(&to);
        return;
    }
    tide_text_add(&to, "%s: the %s with most time in forward is %s (%.1f %%)", kernels->label,
                  kernels->unit, kernels->top_forward, 100.0 * kernels->top_forward_share);
    if (kernels->top_step[0] != '\0') {
        tide_text_add(&to, ", in the full step %s (%.1f %%)", kernels->top_step,
                      100.0 * kernels->top_step_share);
    }
    if (kernels->gemm_forward_share >= 0.0) {
        tide_text_add(&to, "; %s are %.1f %% of forward", kernels->products,
                      100.0 * kernels->gemm_forward_share);
        if (kernels->gemm_step_share >= 0.0) {
            tide_text_add(&to, " and %.1f %% of the full step", 100.0 * kernels->gemm_step_share);
        }
    }
    add_attention(&to, kernels);
}
