/* verdict.h - the answer to "where does the memory go?" in a few sentences: whether the run
 * ran out of memory, what fills the peak, whether anything grows from step to step, possible
 * remedies, and data that the file lacks.
 */
#ifndef TIDE_CLI_SUMMARY_VERDICT_H
#define TIDE_CLI_SUMMARY_VERDICT_H

#include "cli/summary/view.h"
#include "common/status.h"
#include "snapshot/explain/causes/causes.h"
#include "snapshot/explain/facts.h"
#include "snapshot/explain/peak_lines.h"

/* The data that several sentences need. */
typedef struct tide_verdict {
    tide_facts facts;
    tide_causes causes;
    tide_peak_lines lines; /* of the view's instant */
} tide_verdict;

/* The caller finishes it, also after a failure. */
TIDE_NODISCARD tide_status tide_verdict_init(tide_verdict *verdict, const tide_summary_view *of);
void tide_verdict_fini(tide_verdict *verdict);

/* Adds the sentences that follow only from the recording, the most urgent first: `no_history`,
 * `not_recorded`, `cut`, and those of snapshot/explain/words/answer.h. */
TIDE_NODISCARD tide_status tide_say_verdict(const tide_summary_view *of,
                                            const tide_verdict *verdict);

/* Adds `help`: replays the recorded requests under other settings of the allocator, if the cause is
 * fragmentation, or if much more is reserved than allocated. Adds nothing if the replay under the
 * recorded settings does not reproduce the recording. */
TIDE_NODISCARD tide_status tide_say_help(const tide_summary_view *of, const tide_verdict *verdict,
                                         tide_error *error);

/* Adds the last sentences of `tidemark explain`: `unknown`, what the file does not contain, and how
 * to record it; the warnings; and what is not exact. Then shortens the answer. */
void tide_say_rest(const tide_summary_view *of, const tide_verdict *verdict);

/* Leaves out the least important sentences of an answer until it has at most eight. `may_help`: a
 * replay may add `help`, which has a place among them even where no replay is made, as in a page:
 * the other sentences are the same everywhere. */
void tide_shorten_answer(tide_report *report, bool may_help);

/* Adds the facts with their evidence as tables, for programs: `causes`, `growth`, `failure`,
 * `peak_lines`, `peak_categories`, `reserved`, `loops`, and the figure `facts_version`. */
void tide_add_facts(const tide_summary_view *of, const tide_verdict *verdict);

/* How to record older memory and missing call stacks, with the switches of the file's recorder. */
const char *tide_advice_older(const tide_summary_view *of);
const char *tide_advice_stacks(const tide_summary_view *of);

#endif
