/* What a run with a setting of the allocator showed, beside the run without it. */
#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "common/text/text.h"

#define WITH "with PYTORCH_CUDA_ALLOC_CONF=%s the same program "

const char *tide_run_verified_words(const tide_run_figures *first, const tide_run_figures *again,
                                    char text[TIDE_RUN_VERIFIED_BYTES]) {
    const char *settings = first->remedy.settings;
    char reserved[TIDE_BYTES_TEXT];
    char before[TIDE_BYTES_TEXT];
    tide_text to = tide_text_in(text, TIDE_RUN_VERIFIED_BYTES);
    (void)tide_bytes_format(again->reserved_bytes, reserved);
    (void)tide_bytes_format(first->reserved_bytes, before);
    if (again->n_processes == 0 || (again->has_failed && again->n_failed_requests == 0)) {
        tide_text_add(&to, "not verified: " WITH "failed for another reason than memory", settings);
    } else if (tide_replay_config_equal(&first->settings, &again->settings)) {
        tide_text_add(&to,
                      "not verified: PYTORCH_CUDA_ALLOC_CONF=%s had no effect, because the program "
                      "sets the variable itself",
                      settings);
    } else if (again->n_failed_requests > 0) {
        tide_text_add(&to,
                      "it did not help: " WITH "ran out of memory, with %s reserved at its peak",
                      settings, reserved);
    } else if (first->n_failed_requests > 0) {
        tide_text_add(&to,
                      "verified: " WITH "did not run out of memory, and reserved %s at its peak",
                      settings, reserved);
    } else {
        bool helped = again->reserved_bytes < first->reserved_bytes;
        tide_text_add(&to, "%s: " WITH "reserved %s at its peak instead of %s",
                      helped ? "verified" : "it did not help", settings, reserved, before);
    }
    return text;
}
