/* compare_internal.h - the words of a comparison.
 */
#ifndef TIDE_SNAPSHOT_COMPARE_INTERNAL_H
#define TIDE_SNAPSHOT_COMPARE_INTERNAL_H

#include "snapshot/compare.h"

/* One sentence per run beside the base, derived from the figures of `compare`. In its arena; NULL
 * when there is no memory. */
const char *tide_compare_sentence(tide_compare *compare);

/* compare_cause.c: tide_cause_words of two runs of a comparison. */
void tide_compare_cause_words(const tide_compare_run *narrow, const tide_compare_run *wide,
                              char *ret_text, size_t n_room);

#endif
