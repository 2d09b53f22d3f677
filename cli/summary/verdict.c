#include "cli/summary/verdict.h"

#include <inttypes.h>
#include <string.h>

#include "cli/words/snapshot_words.h"
#include "common/text/plural.h"
#include "common/text/text.h"
#include "snapshot/explain/peak_lines.h"
#include "snapshot/explain/words/peak_words.h"
#include "snapshot/explain/words/reserved_words.h"
#include "snapshot/explain/retries.h"
#include "snapshot/analysis/user_frame.h"
#include "snapshot/explain/words/user_lines.h"

enum {
    WORDS_BYTES = 1024,
    SHOWN_LINES = 3,
    LEAST_UNKNOWN_PERCENT = 5 /* of the memory; less is not worth a sentence */
};

static bool has_history(const tide_summary_view *of) {
    for (size_t i = 0; i < of->snapshot->n_events; i++) {
        if (of->snapshot->events.device[i] == of->device_number) {
            return true;
        }
    }
    return false;
}

static void say_no_history(const tide_summary_view *of) {
    if (tide_summary_is_of_pytorch(of) && of->snapshot->n_events == 0) {
        tide_report_say(
            of->report, "no_history",
            "This file has no history, only what was allocated when it was written. To record one, "
            "put torch.cuda.memory._record_memory_history(max_entries=1000000) before the work and "
            "torch.cuda.memory._dump_snapshot('memory.pickle') after it.");
    }
}

/* "1.20 GiB at forward (model.py:15), 0.80 GiB at ..., and 1.00 GiB at 12 other lines" */
static void add_lines(const tide_summary_view *of, const tide_user_lines *lines, tide_text *to) {
    int64_t rest = 0;
    size_t n_rest = 0;
    for (size_t i = 0; i < lines->n_lines; i++) {
        const tide_user_line *line = &lines->lines[i];
        if (i >= SHOWN_LINES && line->frame != TIDE_NONE) {
            rest += line->bytes;
            n_rest++;
            continue;
        }
        const char *bytes = tide_report_bytes(of->report, line->bytes);
        if (line->frame == TIDE_NONE) {
            tide_text_add_item(to, ", ", "%s %s", bytes,
                               line->is_older ? tide_user_lines_before(of->snapshot)
                                              : "without a call stack");
        } else {
            tide_text_add_item(to, ", ", "%s at ", bytes);
            tide_user_lines_add_text(of->snapshot, line, to);
        }
    }
    if (n_rest > 0) {
        tide_text_add(to, ", %s at %zu other %s", tide_report_bytes(of->report, rest), n_rest,
                      tide_plural(n_rest, "line", "lines"));
    }
}

static tide_status say_filled(const tide_summary_view *of) {
    const tide_summary_peak *peak = &of->device->peak;
    char words[WORDS_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_user_lines lines;
    tide_status status = tide_user_lines_init(&lines, of->snapshot, peak, of->lifetimes->mem);
    if (status == TIDE_OK && peak->n_blocks > 0) {
        add_lines(of, &lines, &text);
        tide_report_say(of->report, "filled", "%s allocated %s: %s.",
                        tide_report_bytes(of->report, peak->totals.allocated_bytes),
                        has_history(of) ? of->when : "when the file was written", words);
    }
    tide_user_lines_fini(&lines);
    return status;
}

static void say_words(const tide_summary_view *of, const char *key, tide_text *words) {
    if (words->n_used > 0) {
        tide_report_say(of->report, key, "%s", words->bytes);
    }
    *words = tide_text_in(words->bytes, words->n_room);
}

static tide_status say_peak(const tide_summary_view *of, const tide_verdict *verdict) {
    char words[WORDS_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_peak_lines lines;
    tide_status status = tide_peak_lines_init(&lines, &verdict->facts);
    if (status == TIDE_OK) {
        tide_peak_words_add(&verdict->facts, &lines, &text);
        say_words(of, "filled", &text);
        tide_peak_words_add_kinds(&verdict->facts, &lines, &text);
        say_words(of, "kinds", &text);
    }
    tide_peak_lines_fini(&lines);
    tide_reserved_words_add(&verdict->facts, &verdict->causes, &text);
    say_words(of, "reserved", &text);
    return status;
}

static void say_retries(const tide_summary_view *of) {
    int64_t n = tide_retries_count(of->snapshot, of->device_number);
    if (n > 0) {
        tide_report_say(of->report, "retries",
                        "At the card's limit, %" PRId64 " %s: the device refused a request at "
                        "first, and the allocator freed its cache and asked again, which is slow.",
                        n, tide_plural((uint64_t)n, "retry", "retries"));
    }
}

tide_status tide_say_verdict(const tide_summary_view *of, const tide_verdict *verdict) {
    say_no_history(of);
    tide_say_cut(of);
    tide_say_causes(of, verdict);
    say_retries(of);
    return of->is_peak && has_history(of) ? say_peak(of, verdict) : say_filled(of);
}

/* ---- data that the file lacks ---- */

/* Bytes of the peak that were allocated before the recording, and others whose place is not
 * known. */
static void count_unexplained(const tide_summary_view *of, const tide_verdict *verdict,
                              int64_t *ret_older, int64_t *ret_without_stack) {
    const tide_summary_peak *peak = &of->device->peak;
    for (size_t i = 0; i < peak->n_blocks; i++) {
        const tide_lifetime *block = &peak->blocks[i];
        tide_place_kind kind = tide_place_of(&verdict->facts, block).kind;
        *ret_older += kind == TIDE_PLACE_BEFORE ? (int64_t)block->block_bytes : 0;
        *ret_without_stack += kind == TIDE_PLACE_UNKNOWN ? (int64_t)block->block_bytes : 0;
    }
}

static void add_unexplained(const tide_summary_view *of, const tide_verdict *verdict,
                            tide_text *to) {
    int64_t older = 0;
    int64_t without_stack = 0;
    count_unexplained(of, verdict, &older, &without_stack);
    int64_t least = of->device->peak.totals.allocated_bytes / 100 * LEAST_UNKNOWN_PERCENT;
    if (older > least) {
        tide_text_add_item(to, "; ", "who allocated %s before %s (%s)",
                           tide_report_bytes(of->report, older),
                           of->is_cut ? "the events that were kept" : "the recording began",
                           tide_advice_older(of));
    }
    if (without_stack > least) {
        tide_text_add_item(to, "; ", "which line allocated %s without a call stack (%s)",
                           tide_report_bytes(of->report, without_stack), tide_advice_stacks(of));
    }
}

void tide_say_unknown(const tide_summary_view *of, const tide_verdict *verdict) {
    char words[WORDS_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    if (!has_history(of)) {
        return; /* reported by `no_history` */
    }
    add_unexplained(of, verdict, &text);
    if (of->is_cut) {
        tide_text_add_item(&text, "; ", "what happened in the events that were lost");
    }
    if (words[0] != '\0') {
        tide_report_say(of->report, "unknown", "Not known from this file: %s.", words);
    }
}
