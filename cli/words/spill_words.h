/* spill_words.h - the sentence and the figures of segments that are in the host's memory because
 * the card was full (--spill), for every command that runs on a virtual card.
 */
#ifndef TIDE_CLI_SPILL_WORDS_H
#define TIDE_CLI_SPILL_WORDS_H

#include "report/table.h"
#include "programs/runs/run.h"

/* Reports the part of the run's memory that was in the host, with `name` in front (NULL: nothing),
 * and adds the figures spill_peak_bytes, spilled_segments and spill_step. Does nothing without
 * limits->spill_bytes. The figures are of a report about one run, without a name. `snapshot`: of
 * the run; it has the phase in which the first segment was placed there. NULL: none. */
void tide_say_spill(tide_report *report, const char *name, const tide_run_limits *limits,
                    const tide_run_memory *memory, const tide_snapshot *snapshot);

#endif
