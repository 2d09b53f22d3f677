#include "cli/summary/verdict.h"

#include <string.h>

#include "cli/words/snapshot_words.h"
#include "common/text/text.h"
#include "snapshot/explain/words/answer.h"

enum {
    WORDS_BYTES = 1024,
    LEAST_UNKNOWN_PERCENT = 5 /* of the memory; less is not worth a sentence */
};

tide_status tide_verdict_init(tide_verdict *verdict, const tide_summary_view *of) {
    const tide_summary_peak *peak = &of->device->peak;
    *verdict = (tide_verdict){0};
    TIDE_TRY(tide_facts_init(&verdict->facts, of->snapshot, of->lifetimes, of->device_number));
    TIDE_TRY(tide_causes_init(&verdict->causes, &verdict->facts));
    return tide_peak_lines_init_of(&verdict->lines, &verdict->facts, peak->blocks, peak->n_blocks);
}

void tide_verdict_fini(tide_verdict *verdict) {
    tide_peak_lines_fini(&verdict->lines);
    tide_causes_fini(&verdict->causes);
    tide_facts_fini(&verdict->facts);
}

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

/* A run that was only timed. */
static void say_not_recorded(const tide_summary_view *of) {
    const tide_snapshot *snapshot = of->snapshot;
    if (!tide_summary_is_of_pytorch(of) && snapshot->n_events == 0 &&
        snapshot->n_start_blocks == 0) {
        tide_report_say(of->report, "not_recorded",
                        "The allocations of this run were not recorded.");
    }
}

static tide_status say_answer(const tide_summary_view *of, const tide_verdict *verdict) {
    const tide_answer_input input = {.facts = &verdict->facts,
                                     .causes = &verdict->causes,
                                     .lines = &verdict->lines,
                                     .when = !has_history(of) ? "when the file was written"
                                             : of->is_peak    ? NULL
                                                              : of->when};
    tide_answer answer;
    tide_status status = tide_answer_init(&answer, &input);
    for (size_t i = 0; status == TIDE_OK && i < answer.n_sentences; i++) {
        tide_report_say(of->report, answer.sentences[i].key, "%s", answer.sentences[i].text);
    }
    tide_answer_fini(&answer);
    return status;
}

tide_status tide_say_verdict(const tide_summary_view *of, const tide_verdict *verdict) {
    say_no_history(of);
    say_not_recorded(of);
    tide_say_cut(of);
    return say_answer(of, verdict);
}

/* ---- data that the file lacks ---- */

/* Bytes whose line is not known for a reason. */
static int64_t bytes_of_kind(const tide_verdict *verdict, tide_place_kind kind) {
    int64_t bytes = 0;
    for (size_t i = 0; i < verdict->lines.n_lines; i++) {
        const tide_peak_line *line = &verdict->lines.lines[i];
        bytes += line->place.kind == kind ? line->bytes : 0;
    }
    return bytes;
}

static void add_unexplained(const tide_summary_view *of, const tide_verdict *verdict,
                            tide_text *to) {
    int64_t older = bytes_of_kind(verdict, TIDE_PLACE_BEFORE);
    int64_t without_stack = bytes_of_kind(verdict, TIDE_PLACE_UNKNOWN);
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

static void say_unknown(const tide_summary_view *of, const tide_verdict *verdict) {
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

void tide_say_rest(const tide_summary_view *of, const tide_verdict *verdict) {
    say_unknown(of, verdict);
    tide_summary_warnings(of);
    tide_say_unfinished(of->report, of->snapshot, NULL);
    tide_say_inexact(of);
    tide_shorten_answer(of->report, tide_causes_admit_setting(&verdict->facts, &verdict->causes));
}
