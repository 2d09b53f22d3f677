/* verdict.h - the answer to "where does the memory go?" in at most eight sentences: whether the run
 * ran out of memory, what fills the peak, whether anything grows from step to step, what would
 * help, and what the file cannot tell.
 */
#ifndef TIDE_CLI_SUMMARY_VERDICT_H
#define TIDE_CLI_SUMMARY_VERDICT_H

#include "cli/summary/view.h"
#include "common/status.h"

/* Adds the sentences that follow from the recording alone, the most urgent first: `no_history`,
 * `cut`, `oom` and `oom_cause`, `retries`, `filled`, `grows`. */
TIDE_NODISCARD tide_status tide_say_verdict(const tide_summary_view *of);

/* Adds `help`: replays the recorded requests under other settings of the allocator, and says which
 * of them survives, or takes least memory. */
TIDE_NODISCARD tide_status tide_say_help(const tide_summary_view *of, tide_error *error);

/* Adds `unknown`: what the file cannot tell, and how to record it. */
TIDE_NODISCARD tide_status tide_say_unknown(const tide_summary_view *of);

/* How to record what is from before the recording, what has no call stack, and steps: in the words
 * of whoever recorded the file. */
const char *tide_advice_older(const tide_summary_view *of);
const char *tide_advice_stacks(const tide_summary_view *of);
const char *tide_advice_steps(const tide_summary_view *of);

/* The parts of tide_say_verdict. */
TIDE_NODISCARD tide_status tide_say_oom(const tide_summary_view *of);
TIDE_NODISCARD tide_status tide_say_growth(const tide_summary_view *of);

#endif
