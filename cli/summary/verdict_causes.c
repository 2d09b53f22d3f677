/* The failure and its causes in words: each cause with its cure, the most important first. */
#include "cli/summary/verdict.h"
#include "common/text/text.h"
#include "snapshot/explain/words/failure_words.h"

enum { WORDS_BYTES = 2048 };

tide_status tide_verdict_init(tide_verdict *verdict, const tide_summary_view *of) {
    *verdict = (tide_verdict){0};
    TIDE_TRY(tide_facts_init(&verdict->facts, of->snapshot, of->lifetimes, of->device_number));
    return tide_causes_init(&verdict->causes, &verdict->facts);
}

void tide_verdict_fini(tide_verdict *verdict) {
    tide_causes_fini(&verdict->causes);
    tide_facts_fini(&verdict->facts);
}

void tide_say_causes(const tide_summary_view *of, const tide_verdict *verdict) {
    char words[WORDS_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_failure_words_add(&verdict->facts, &text);
    if (words[0] != '\0') {
        tide_report_say(of->report, "oom", "%s", words);
    }
    for (size_t i = 0; i < verdict->causes.n_causes && i < TIDE_MOST_CAUSES; i++) {
        text = tide_text_in(words, sizeof(words));
        tide_cause_add_text(&verdict->causes.causes[i], i == 0, &text);
        tide_report_say(of->report, "cause", "%s", words);
    }
    text = tide_text_in(words, sizeof(words));
    tide_failure_words_add_margin(&verdict->facts, &verdict->causes, &text);
    if (words[0] != '\0') {
        tide_report_say(of->report, "oom_cause", "%s", words);
    }
}
