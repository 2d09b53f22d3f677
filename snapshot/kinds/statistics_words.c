/* Sentences about what memory_stats() and memory_summary() print. */
#include <inttypes.h>

#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "snapshot/kinds/file_answer_internal.h"

#define BYTES(n) tide_bytes_format((n), (char[TIDE_BYTES_TEXT]){""})

static void say_now(tide_file_answer *answer, const tide_statistics_text *of) {
    if (of->allocated_bytes >= 0 && of->reserved_bytes >= of->allocated_bytes) {
        int64_t cached = of->reserved_bytes - of->allocated_bytes;
        tide_file_answer_say(answer, "filled",
                             "When the figures were printed, %s was allocated of %s reserved.",
                             BYTES(of->allocated_bytes), BYTES(of->reserved_bytes));
        if (of->stuck_bytes > 0 && of->stuck_bytes <= cached) {
            tide_file_answer_say(
                answer, "reserved",
                "Of the %s that was reserved and not allocated, %s was in segments "
                "that also held tensors, and `torch.cuda.empty_cache()` could not "
                "return it.",
                BYTES(cached), BYTES(of->stuck_bytes));
        }
    }
}

static void say_peaks(tide_file_answer *answer, const tide_statistics_text *of) {
    if (of->allocated_peak_bytes >= 0) {
        tide_file_answer_say(answer, "filled", "The highest allocated memory was %s.",
                             BYTES(of->allocated_peak_bytes));
    }
    if (of->reserved_peak_bytes >= 0) {
        tide_file_answer_say(answer, "reserved",
                             "The highest reserved memory was %s, perhaps at another time.",
                             BYTES(of->reserved_peak_bytes));
    }
}

static void say_failures(tide_file_answer *answer, const tide_statistics_text *of) {
    if (of->n_ooms > 0) {
        tide_file_answer_say(answer, "oom", "%" PRId64 " %s found no memory.", of->n_ooms,
                             tide_plural((uint64_t)of->n_ooms, "request", "requests"));
    } else if (of->n_ooms == 0) {
        tide_file_answer_say(answer, "oom", "No request failed before the figures were printed.");
    }
    if (of->n_retries > 0) {
        tide_file_answer_say(
            answer, "retries",
            "At the card's limit, %" PRId64 " %s: the device refused a request at "
            "first, and the allocator freed its cache and asked again, which is slow.",
            of->n_retries, tide_plural((uint64_t)of->n_retries, "retry", "retries"));
    }
}

void tide_file_answer_statistics(tide_file_answer *answer, const tide_log_text *log) {
    const tide_statistics_text *of = &log->statistics;
    say_failures(answer, of);
    say_peaks(answer, of);
    say_now(answer, of);
    tide_file_answer_figure(answer, "device", of->device);
    tide_file_answer_figure(answer, "allocated_bytes", of->allocated_bytes);
    tide_file_answer_figure(answer, "allocated_peak_bytes", of->allocated_peak_bytes);
    tide_file_answer_figure(answer, "reserved_bytes", of->reserved_bytes);
    tide_file_answer_figure(answer, "reserved_peak_bytes", of->reserved_peak_bytes);
    tide_file_answer_figure(answer, "ooms", of->n_ooms);
    tide_file_answer_figure(answer, "retries", of->n_retries);
    tide_file_answer_say_record(
        answer, &log->trace, TIDE_FILE_CUDA, "these figures",
        "which lines hold the memory, when the peaks were, and whether anything "
        "grows");
}
