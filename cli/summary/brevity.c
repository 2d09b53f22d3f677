/* An answer of at most eight sentences. */
#include "cli/summary/verdict.h"
#include "common/text/sentences.h"

enum { MOST_SENTENCES = 8 };

/* What is left out first, and how many texts of that key stay. The failure, its first cause, the
 * setting that helps, and warnings that bytes may be wrong are never in this list. */
static const struct {
    const char *key;
    size_t n_kept;
} ORDER[] = {{"kinds", 0},      {"plan", 0},          {"cause", 2},         {"assumed_value", 2},
             {"assumed", 2},    {"reserved", 0},      {"work_areas", 0},    {"retries", 0},
             {"emulated", 0},   {"inexact", 0},       {"unknown", 0},       {"xla_flags", 0},
             {"xla_arrays", 0}, {"assumed_value", 1}, {"assumed", 1},       {"oom_cause", 0},
             {"cause", 1},      {"assumed_count", 0}, {"assumed_value", 0}, {"filled", 0}};

/* Of an answer, with room for `help`. */
static size_t count(const tide_report *report, bool may_help) {
    const char *help = tide_report_sentence(report, "help", 0);
    size_t n = tide_report_count_sentences(report);
    size_t n_help = help != NULL ? tide_count_sentences(help) : 0;
    return n - n_help + (may_help ? 1 : n_help);
}

void tide_shorten_answer(tide_report *report, bool may_help) {
    size_t n = sizeof(ORDER) / sizeof(ORDER[0]);
    bool has_more = true;
    for (size_t i = 0; has_more && count(report, may_help) > MOST_SENTENCES;) {
        if (i < n) {
            i += !tide_report_drop(report, ORDER[i].key, ORDER[i].n_kept);
        } else {
            has_more = tide_report_drop(report, NULL, 1);
        }
    }
}
