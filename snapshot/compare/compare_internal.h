/* compare_internal.h - the parts of a comparison: its words, and one step of making its rows.
 */
#ifndef TIDE_SNAPSHOT_COMPARE_INTERNAL_H
#define TIDE_SNAPSHOT_COMPARE_INTERNAL_H

#include "common/text/text.h"
#include "snapshot/compare/compare.h"
#include "snapshot/compare/compare_rows.h"

/* One sentence for each run but the base, from the figures of `compare`. In its arena; NULL without
 * memory. */
const char *tide_compare_sentence(tide_compare *compare);

/* compare_cause.c: tide_cause_words of two runs of a comparison. */
void tide_compare_cause_words(const tide_compare_run *narrow, const tide_compare_run *wide,
                              char *ret_text, size_t n_room);

/* ---- compare_words.c: words about one run, added to a sentence ---- */

void tide_compare_say_bytes(tide_text *to, int64_t n_bytes);

/* How many categories set the peak of the run, and also of `other` unless it is NULL: the largest,
 * and those within 1 % of it. */
size_t tide_compare_count_setting(const tide_compare_run *run, const tide_compare_run *other);
/* Their names, "parameters and gradients", or their bytes. */
void tide_compare_say_setting(tide_text *to, const tide_compare_run *run,
                              const tide_compare_run *other, bool as_bytes);

/* "optimizer state (25.84 of 63.10 GiB)"; for a tie "parameters and gradients (1.00 GiB and 1.00
 * GiB of 2.00 GiB)". */
void tide_compare_say_dominant(tide_text *to, const tide_compare_run *run);

/* " in the optimizer phase" if the file has the phase. */
void tide_compare_say_phase(tide_text *to, const tide_compare_run *run);

/* How the run ended: "fp32 does not fit: it asked for ..." for one that ran out of memory,
 * "bf16-mixed peaks at 3.00 GiB, set by ..." for one that completed; say_outcome for either. */
void tide_compare_say_oom(tide_text *to, const tide_compare_run *run);
void tide_compare_say_peak(tide_text *to, const tide_compare_run *run);
void tide_compare_say_outcome(tide_text *to, const tide_compare_run *run);

/* ---- compare_pair.c ---- */

/* Compares two runs of the same workload. Both have a device. `base_is_known`: an earlier clause
 * has described the base. */
void tide_compare_say_pair(tide_text *to, const tide_compare_run *base,
                           const tide_compare_run *other, bool base_is_known);

/* ---- compare_lines.c ---- */

/* ": 4.00 GiB less at softmax (nn_utils.py:7), ..." for two runs that have a device; false: no
 * memory.
 */
bool tide_compare_say_lines(tide_text *to, tide_compare *compare, const tide_compare_run *base,
                            const tide_compare_run *other);
/* Whether lines say more than categories: both have a device and completed, and the peak of one is
 * mostly without a category, or has its categories at most from rules. */
bool tide_compare_is_told_by_lines(const tide_compare_run *base, const tide_compare_run *other);
/* Compares two runs that completed, by lines; false: no memory. */
bool tide_compare_say_pair_by_lines(tide_text *to, tide_compare *compare,
                                    const tide_compare_run *base, const tide_compare_run *other);

/* The differences between ranks of one job, by line; false: no memory. */
bool tide_compare_say_ranks(tide_text *to, tide_compare *compare);

/* ---- compare_join.c ---- */

/* Joins rows with the same nonempty name, scope path and category if no run has blocks in more than
 * one of them. They are the same tensors, which the runs allocated from different callers: a
 * captured step has other callers than one that is not captured. The rows must be in the order of
 * first appearance and stay so; equal names and paths must be the same pointers. */
TIDE_NODISCARD tide_status tide_compare_join_rows(const tide_hostmem *mem, tide_compare_row *rows,
                                                  size_t n_runs, size_t *n_rows);

#endif
