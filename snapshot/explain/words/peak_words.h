/* peak_words.h - the memory of an instant in a sentence, by line and by kind of memory. */
#ifndef TIDE_SNAPSHOT_PEAK_WORDS_H
#define TIDE_SNAPSHOT_PEAK_WORDS_H

#include "common/text/text.h"
#include "snapshot/explain/peak_lines.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds "The peak, 16.96 GiB, is 13.91 GiB at LM.forward (c15.py:15), mostly its backward pass, and
 * 3.05 GiB elsewhere.": the largest three places with at least 4 % of it. Nothing without blocks.
 * Of another instant, `when` has its words ("at event 1234"); NULL: the peak. */
void tide_peak_words_add(const tide_facts *facts, const tide_peak_lines *lines, const char *when,
                         tide_text *to);

/* Adds "By kind: 4.77 GiB of weights, 4.77 GiB of gradients.": up to four kinds with at least 3 %
 * of it. Nothing if only one kind is known, or none. */
void tide_peak_words_add_kinds(const tide_facts *facts, const tide_peak_lines *lines,
                               tide_text *to);

#ifdef __cplusplus
}
#endif

#endif
