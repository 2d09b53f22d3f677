/* compare_internal.h - the parts of a comparison: its words, and a step of its rows.
 */
#ifndef TIDE_SNAPSHOT_COMPARE_INTERNAL_H
#define TIDE_SNAPSHOT_COMPARE_INTERNAL_H

#include "common/text.h"
#include "snapshot/compare/compare.h"
#include "snapshot/compare/compare_rows.h"

/* One sentence per run beside the base, derived from the figures of `compare`. In its arena; NULL
 * when there is no memory. */
const char *tide_compare_sentence(tide_compare *compare);

/* compare_cause.c: tide_cause_words of two runs of a comparison. */
void tide_compare_cause_words(const tide_compare_run *narrow, const tide_compare_run *wide,
                              char *ret_text, size_t n_room);

/* ---- compare_words.c: what is said of one run, added to a sentence ---- */

void tide_compare_say_bytes(tide_text *to, int64_t n_bytes);

/* How many categories set the peak of the run, and of the other one where there is one (else NULL):
 * the largest, and those that come within 1 % of it. */
size_t tide_compare_count_setting(const tide_compare_run *run, const tide_compare_run *other);
/* Their names, "parameters and gradients", or their bytes. */
void tide_compare_say_setting(tide_text *to, const tide_compare_run *run,
                              const tide_compare_run *other, bool as_bytes);

/* "optimizer state (25.84 of 63.10 GiB)"; of a tie "parameters and gradients (1.00 GiB and 1.00 GiB
 * of 2.00 GiB)". */
void tide_compare_say_dominant(tide_text *to, const tide_compare_run *run);

/* " in the optimizer phase" where the file says so. */
void tide_compare_say_phase(tide_text *to, const tide_compare_run *run);

/* How the run ended: "fp32 does not fit: it asked for ..." of one that ran out of memory,
 * "bf16-mixed peaks at 3.00 GiB, set by ..." of one that completed, and say_outcome for either. */
void tide_compare_say_oom(tide_text *to, const tide_compare_run *run);
void tide_compare_say_peak(tide_text *to, const tide_compare_run *run);
void tide_compare_say_outcome(tide_text *to, const tide_compare_run *run);

/* ---- compare_pair.c ---- */

/* How two runs of the same workload stand to each other. Both have a device. `base_is_known`: an
 * earlier clause has said what became of the base. */
void tide_compare_say_pair(tide_text *to, const tide_compare_run *base,
                           const tide_compare_run *other, bool base_is_known);

/* ---- compare_lines.c ---- */

/* ": 4.00 GiB less at softmax (nn_utils.py:7), ..." of two runs that have a device; false: no
 * memory.
 */
bool tide_compare_say_lines(tide_text *to, tide_compare *compare, const tide_compare_run *base,
                            const tide_compare_run *other);
/* Both have a device and completed, and most of one's peak has no category, or rules at most tell
 * them: lines say more. */
bool tide_compare_is_told_by_lines(const tide_compare_run *base, const tide_compare_run *other);
/* How two runs that completed stand to each other, by lines; false: no memory. */
bool tide_compare_say_pair_by_lines(tide_text *to, tide_compare *compare,
                                    const tide_compare_run *base, const tide_compare_run *other);

/* What differs between ranks of one job, by line; false: no memory. */
bool tide_compare_say_ranks(tide_text *to, tide_compare *compare);

/* ---- compare_join.c ---- */

/* Makes one row of those that have the same name, not an empty one, scope path and category, where
 * no run has blocks in more than one of them. These are the same tensors, which the runs allocated
 * from different callers: a captured step has others than one that is not captured. The rows are in
 * the order in which they were first seen and stay so; a row's name and path are the same pointers
 * where they are equal texts. */
TIDE_NODISCARD tide_status tide_compare_join_rows(const tide_hostmem *mem, tide_compare_row *rows,
                                                  size_t n_runs, size_t *n_rows);

#endif
