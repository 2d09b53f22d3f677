/* Parts of a recording that are missing, contradictory or not exact. */
#include <inttypes.h>
#include <string.h>

#include "cli/words/snapshot_words.h"
#include "cli/summary/view.h"
#include "common/text/plural.h"
#include "common/text/text.h"

enum {
    MOST_INEXACT = 3, /* rows that the sentence has; a table has all */
    INEXACT_BYTES = 2048
};

bool tide_summary_is_of_pytorch(const tide_summary_view *of) {
    return strcmp(of->snapshot->origin.format, "pytorch") == 0;
}

/* ---- a history that was cut ---- */

/* The number of entries that the program must keep next time: a power of ten above the current
 * number. */
static uint64_t enough_entries(uint64_t n_events) {
    uint64_t n = 1000000;
    while (n <= n_events && n < UINT64_MAX / 10) {
        n *= 10;
    }
    return n;
}

void tide_say_cut(const tide_summary_view *of) {
    uint64_t n = of->snapshot->n_dropped;
    uint64_t n_events = of->snapshot->origin.n_events;
    if (n == 0 || !tide_summary_is_of_pytorch(of)) {
        return;
    }
    tide_report_say(
        of->report, "cut",
        "The history was cut%s: %" PRIu64 " %s the call stack of %s allocation, which "
        "was recorded, but the events of that are missing, and the peak is not known. To "
        "keep all events, record with "
        "torch.cuda.memory._record_memory_history(max_entries=%" PRIu64 ") and start it only once.",
        n_events == 1 ? " (_record_memory_history(True) keeps one event)" : "", n,
        tide_plural(n, "block has", "blocks have"), tide_plural(n, "its", "their"),
        enough_entries(n_events));
}

/* ---- warnings ---- */

static void say_lost(const tide_summary_view *of) {
    const tide_snapshot *snapshot = of->snapshot;
    if (snapshot->n_dropped > 0 && !tide_summary_is_of_pytorch(of)) { /* else reported by `cut` */
        char words[TIDE_LOST_TEXT];
        tide_words_lost(snapshot, words);
        tide_report_say(of->report, "dropped",
                        "warning: %s: what happened then is missing below, and the peak may have "
                        "been then",
                        words);
    }
    if (snapshot->n_scopes_dropped > 0) {
        bool one = snapshot->n_scopes_dropped == 1;
        tide_report_say(
            of->report, "dropped_scopes",
            "warning: %" PRIu64 " %s lost because their table was full or the log was "
            "damaged: what happened in %s is reported under the scope around %s, or under none",
            snapshot->n_scopes_dropped, one ? "scope was" : "scopes were", one ? "it" : "them",
            one ? "it" : "them");
    }
}

static void say_contradictions(const tide_summary_view *of) {
    uint64_t n = of->snapshot->origin.n_contradictions;
    int64_t n_unmatched = of->device->n_unmatched;
    if (n > 0) {
        tide_report_say(of->report, "contradictions",
                        "warning: events and segments of the dump contradict each other %" PRIu64
                        " %s (was recording stopped before the dump?): bytes below may be wrong",
                        n, tide_plural(n, "time", "times"));
    }
    if (n_unmatched > 0) {
        bool one = n_unmatched == 1;
        tide_report_say(of->report, "unmatched",
                        "warning: %" PRId64
                        " event%s those before %s (a free without its block, a block on "
                        "top of another): bytes below may be wrong",
                        n_unmatched, one ? " contradicts" : "s contradict", one ? "it" : "them");
    }
}

void tide_summary_warnings(const tide_summary_view *of) {
    say_lost(of);
    say_contradictions(of);
    tide_say_emulated(of->report, tide_words_emulated(of->snapshot), NULL);
}

void tide_say_inexact(const tide_summary_view *of) {
    char words[INEXACT_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    size_t n = of->snapshot->n_inexact;
    for (size_t i = 0; i < n && i < MOST_INEXACT; i++) {
        const tide_snapshot_inexact *row = &of->snapshot->inexact[i];
        const char *bound = row->bound_bytes >= 0
                                ? tide_report_text(of->report, " (at most %s)",
                                                   tide_report_bytes(of->report, row->bound_bytes))
                                : "";
        tide_text_add_item(&text, "; ", "%s%s%s: %s", row->call, bound,
                           row->is_refused ? ", which was refused" : "", row->what);
    }
    if (n > MOST_INEXACT) {
        tide_text_add(&text, "; and %zu more, which tidemark summary lists", n - MOST_INEXACT);
    }
    if (n > 0) {
        tide_report_say(of->report, "inexact", "not exact: %s", words);
    }
}
