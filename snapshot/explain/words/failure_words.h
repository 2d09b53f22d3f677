/* failure_words.h - the sentences about a failed request: what failed, where, and what
 * fragmentation has to do with it.
 */
#ifndef TIDE_SNAPSHOT_FAILURE_WORDS_H
#define TIDE_SNAPSHOT_FAILURE_WORDS_H

#include "common/text/text.h"
#include "snapshot/explain/causes/causes.h"
#include "snapshot/explain/facts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "Out of memory at forward (c15.py:12): 4.64 GiB asked for, 2.10 GiB free beside the 20.94 GiB
 * that PyTorch had reserved of 23.63 GiB."; all figures are of the first failed request. Adds
 * nothing if no request failed. */
void tide_failure_words_add(const tide_facts *facts, tide_text *to);

/* The sentence after the first cause: "Fragmentation plays no part: even in one piece, 1.20 GiB
 * would be missing."; without a cause, "The card is too small: ...". Adds nothing
 * if the causes name fragmentation, another owner or a limit, or if no request failed. */
void tide_failure_words_add_margin(const tide_facts *facts, const tide_causes *causes,
                                   tide_text *to);

#ifdef __cplusplus
}
#endif

#endif
