#include "cli/words/spill_words.h"

#include <inttypes.h>
#include <string.h>

#include "allocator/cache.h"
#include "common/text/plural.h"

/* "the card has 7.75 GiB, 115.00 MiB of it context and libraries". */
static const char *describe_card(tide_report *report, const tide_run_limits *limits) {
    tide_device_info card;
    uint64_t usable_bytes = 0;
    if (tide_run_limits_usable(limits, &usable_bytes, &card, NULL) != TIDE_OK) {
        return "the card is full";
    }
    const char *total = tide_report_bytes(report, card.total_bytes);
    return card.context_bytes > 0
               ? tide_report_text(report, "the card has %s, %s of it context and libraries", total,
                                  tide_report_bytes(report, card.context_bytes))
               : tide_report_text(report,
                                  "the card has %s, and what context and libraries take of it is "
                                  "not measured",
                                  total);
}

/* ", in backward": the phase of the first mark of such a segment; "" if none is recorded. */
static const char *phase_of(tide_report *report, const tide_snapshot *snapshot) {
    for (size_t i = 0; snapshot != NULL && i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        if (row.action != TIDE_ACTION_MARK || row.name >= snapshot->n_strings ||
            strstr(snapshot->strings[row.name], TIDE_CACHE_SPILL_MARK) == NULL) {
            continue;
        }
        for (uint32_t at = row.scope; at < snapshot->n_scopes; at = snapshot->scopes[at].parent) {
            if (snapshot->scopes[at].kind == TIDE_SCOPE_PHASE) {
                return tide_report_text(report, ", in %.40s",
                                        snapshot->strings[snapshot->scopes[at].name]);
            }
        }
        return "";
    }
    return "";
}

static const char *describe_start(tide_report *report, const tide_run_memory *memory,
                                  const tide_snapshot *snapshot) {
    const char *phase = phase_of(report, snapshot);
    return memory->spill_step < 0
               ? tide_report_text(report, "before the first step%s", phase)
               : tide_report_text(report, "in step %" PRId64 ", warm-up counted%s",
                                  memory->spill_step, phase);
}

void tide_say_spill(tide_report *report, const char *name, const tide_run_limits *limits,
                    const tide_run_memory *memory, const tide_snapshot *snapshot) {
    const char *of = name != NULL ? tide_report_text(report, "%s: ", name) : "";
    if (limits->spill_bytes == 0 || memory->n_spilled < 0) {
        return;
    }
    if (name == NULL) {
        tide_report_figure_bytes(report, "spill_peak_bytes", memory->spill_peak_bytes);
        tide_report_figure_count(report, "spilled_segments", memory->n_spilled);
        tide_report_figure_count(report, "spill_step",
                                 memory->n_spilled > 0 ? memory->spill_step : -1);
    }
    if (memory->n_spilled == 0) {
        tide_report_say(report, "spill", "%snothing is in the host's memory: %s", of,
                        describe_card(report, limits));
        return;
    }
    tide_report_say(report, "spill",
                    "%s%s of the segments lie in the host's memory at most: %s; %" PRId64
                    " segment%s %s bought there, the first %s. The model puts whole segments there "
                    "in the order of their purchase; a real driver chooses the pages itself",
                    of, tide_report_bytes(report, memory->spill_peak_bytes),
                    describe_card(report, limits), memory->n_spilled,
                    tide_plural((uint64_t)memory->n_spilled, "", "s"),
                    tide_plural((uint64_t)memory->n_spilled, "was", "were"),
                    describe_start(report, memory, snapshot));
}
