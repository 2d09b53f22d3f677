#include "cli/time_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plural.h"
#include "common/text.h"

enum { MS_BYTES = 32 };

/* Three digits: "0.482", "4.82", "48.2", "482". */
static const char *as_ms(double us, char ret[MS_BYTES]) {
    double ms = us * 1e-3;
    int n_decimals = ms >= 99.95 ? 0 : ms >= 9.995 ? 1 : ms >= 0.9995 ? 2 : 3;
    snprintf(ret, MS_BYTES, "%.*f", n_decimals, ms);
    return ret;
}

const char *tide_time_limit_words(tide_time_limit limit) {
    return limit == TIDE_TIME_GPU_BOUND    ? "the GPU"
           : limit == TIDE_TIME_HOST_BOUND ? "the host"
                                           : "the GPU or the host";
}

static void add_bound(tide_text *to, const tide_time_forecast *of) {
    tide_text_add(to, "; bound by %s", tide_time_limit_words(of->limit));
    if (of->limit != TIDE_TIME_GPU_BOUND && !of->is_calibrated) {
        tide_text_add(to,
                      ", so that the range is wide: `tidemark bench calibrate` measures a host");
    }
}

void tide_time_words_step(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS]) {
    char one[MS_BYTES];
    char low[MS_BYTES];
    char high[MS_BYTES];
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    const char *what = of->is_whole ? "the program" : "a step";
    if (of->is_lower_bound) {
        tide_text_add(&to, "%s takes at least %s ms; more is not forecast", what,
                      as_ms(of->low.total_us, low));
        return;
    }
    bool says_one = of->limit == TIDE_TIME_GPU_BOUND || of->is_calibrated;
    if (says_one) {
        tide_text_add(&to, "%s takes %s ms (%s to %s)", what, as_ms(of->likely.total_us, one),
                      as_ms(of->low.total_us, low), as_ms(of->high.total_us, high));
    } else {
        tide_text_add(&to, "%s takes %s to %s ms", what, as_ms(of->low.total_us, low),
                      as_ms(of->high.total_us, high));
    }
    tide_text_add(&to, ": GPU busy %s ms (%s to %s)", as_ms(of->likely.busy_us, one),
                  as_ms(of->low.busy_us, low), as_ms(of->high.busy_us, high));
    tide_text_add(&to, ", host %s ms", as_ms(of->likely.host_us, one));
    add_bound(&to, of);
    if (of->utilisation >= 0.0 && says_one) {
        tide_text_add(&to, "; model FLOPs utilisation %.0f %%", 100.0 * of->utilisation);
    }
}

void tide_time_words_phases(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS]) {
    char one[MS_BYTES];
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    for (size_t i = 0; i < TIDE_TIME_N_PHASES && !of->is_lower_bound; i++) {
        if (of->phase_us[i] > 0.0) {
            tide_text_add_item(&to, ", ", "%s %s ms", tide_time_phase_name((tide_time_phase)i),
                               as_ms(of->phase_us[i], one));
        }
    }
}

/* "softmax, norm" */
static void add_families(tide_text *to, const tide_time_forecast *of, tide_time_basis basis) {
    bool is_told[TIDE_RUN_N_FAMILIES] = {false};
    bool is_first = true;
    for (size_t i = 0; i < of->n_kernels; i++) {
        const tide_time_kernel *kernel = &of->kernels[i];
        if (kernel->basis != basis || kernel->kind != TIDE_RUN_KERNEL || is_told[kernel->family]) {
            continue;
        }
        is_told[kernel->family] = true;
        tide_text_add(to, "%s%s", is_first ? " (" : ", ",
                      tide_time_family_name((tide_run_family)kernel->family));
        is_first = false;
    }
    tide_text_add(to, "%s", is_first ? "" : ")");
}

void tide_time_words_basis(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS]) {
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    tide_text_add(&to, "of %" PRIu64 " launches %" PRIu64 " are guessed, with %.1f %% of the time",
                  of->n_launches, of->n_guessed, 100.0 * of->guessed_share);
    if (of->is_lower_bound) {
        tide_text_add(&to, ", which is more than 5 %%");
    }
    if (of->n_uncompared > 0) {
        tide_text_add(&to,
                      "; %.1f %% of the time is in kernels whose work is known, but that were "
                      "never compared with a published time",
                      100.0 * of->uncompared_share);
        add_families(&to, of, TIDE_TIME_UNCOMPARED);
    }
    if (!of->card->is_compared) {
        tide_text_add(&to, "; no published time of this card was compared");
    }
}

void tide_time_words_host(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS]) {
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    if (of->is_calibrated) {
        tide_text_add(&to,
                      "the host's time is that of this run times %.2f, as `tidemark bench "
                      "calibrate` measured",
                      of->host_factor);
    } else {
        tide_text_add(&to,
                      "the host's time is that of this run times %.2f, the middle of published "
                      "hosts; ends of the range are for 0.19 and 0.99",
                      of->host_factor);
    }
}

static const char *type_name(tide_run_type type) {
    static const char *const NAMES[TIDE_RUN_N_TYPES] = {[TIDE_RUN_FP32] = "fp32",
                                                        [TIDE_RUN_TF32] = "tf32",
                                                        [TIDE_RUN_BF16] = "bf16",
                                                        [TIDE_RUN_FP16] = "fp16",
                                                        [TIDE_RUN_FP64] = "fp64",
                                                        [TIDE_RUN_FP8] = "fp8",
                                                        [TIDE_RUN_INT8] = "int8",
                                                        [TIDE_RUN_COMPLEX64] = "complex64",
                                                        [TIDE_RUN_COMPLEX128] = "complex128",
                                                        [TIDE_RUN_INT32] = "int32",
                                                        [TIDE_RUN_FP4] = "fp4"};
    return (size_t)type < TIDE_RUN_N_TYPES ? NAMES[type] : "?";
}

void tide_time_words_kernel(const tide_time_kernel *kernel, char *ret_words, size_t n_room) {
    switch (kernel->kind) {
    case TIDE_RUN_PRODUCT:
        snprintf(ret_words, n_room, "GEMM %s", type_name(kernel->type));
        return;
    case TIDE_RUN_ATTENTION:
        snprintf(ret_words, n_room, "attention %s", type_name(kernel->type));
        return;
    case TIDE_RUN_CONVOLUTION:
        snprintf(ret_words, n_room, "convolution %s", type_name(kernel->type));
        return;
    case TIDE_RUN_COPY:
        snprintf(ret_words, n_room, "%s",
                 kernel->family == TIDE_RUN_COPY_ON_CARD ? "copy on the card" : "copy");
        return;
    case TIDE_RUN_FILL:
        snprintf(ret_words, n_room, "fill");
        return;
    case TIDE_RUN_COLLECTIVE:
        snprintf(ret_words, n_room, "collective");
        return;
    case TIDE_RUN_GRAPH_LAUNCH:
        snprintf(ret_words, n_room, "CUDA graph");
        return;
    default:
        snprintf(ret_words, n_room, "%s", kernel->name[0] != '\0' ? kernel->name : "?");
    }
}
