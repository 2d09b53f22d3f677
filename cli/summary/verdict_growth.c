/* Growth from step to step: which line, how much per step, since when. */
#include "cli/summary/verdict.h"

#include "cli/words/snapshot_words.h"
#include "common/text/text.h"

enum { WORDS_BYTES = 1024 };

tide_status tide_verdict_init(tide_verdict *verdict, const tide_summary_view *of) {
    *verdict = (tide_verdict){.cause = TIDE_OOM_OTHER};
    TIDE_TRY(
        tide_steps_init_named(&verdict->steps, of->snapshot, of->lifetimes, of->device_number));
    return tide_growth_init(&verdict->growth, of->snapshot, of->lifetimes, &verdict->steps);
}

void tide_verdict_fini(tide_verdict *verdict) {
    tide_growth_fini(&verdict->growth);
    tide_steps_fini(&verdict->steps);
}

void tide_say_growth(const tide_summary_view *of, const tide_verdict *verdict) {
    char words[WORDS_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    if (verdict->growth.n_lines > 0) {
        tide_growth_add(&verdict->growth, of->snapshot, &verdict->steps, &text);
        tide_report_say(of->report, "grows", "It grows %s%s.", words,
                        tide_words_steps(of->report, &verdict->steps));
    }
}
