/* The causes in words: each with its cure, the most important first. */
#include "cli/summary/verdict.h"

tide_status tide_verdict_init(tide_verdict *verdict, const tide_summary_view *of) {
    *verdict = (tide_verdict){.cause = TIDE_OOM_OTHER};
    TIDE_TRY(tide_facts_init(&verdict->facts, of->snapshot, of->lifetimes, of->device_number));
    return tide_causes_init(&verdict->causes, &verdict->facts);
}

void tide_verdict_fini(tide_verdict *verdict) {
    tide_causes_fini(&verdict->causes);
    tide_facts_fini(&verdict->facts);
}

void tide_say_causes(const tide_summary_view *of, const tide_verdict *verdict) {
    for (size_t i = 0; i < verdict->causes.n_causes && i < TIDE_MOST_CAUSES; i++) {
        const tide_cause *cause = &verdict->causes.causes[i];
        const char *cost = "";
        if (cause->cost[0] != '\0') {
            cost = tide_report_text(of->report, " Cost: %s.", cause->cost);
        }
        tide_report_say(of->report, "cause", "%s%s Cure: %s.%s", i > 0 ? "Also: " : "",
                        cause->words, cause->cure, cost);
    }
}
