/* assumed_words.h - sentences about values that were assumed. `tidemark run`, `fit`, `explain` and
 * the page print the same.
 */
#ifndef TIDE_SNAPSHOT_ASSUMED_WORDS_H
#define TIDE_SNAPSHOT_ASSUMED_WORDS_H

#include "common/text/text.h"
#include "snapshot/explain/assumed.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_ASSUMED_SENTENCES = 3 }; /* of an answer, about the first values */

/* "The mask at loss.py:31 is assumed: 4,096 of 8,192 rows; each row more takes 481.28 KiB, all of
 * them 1.88 GiB more." */
void tide_assumed_words_add(const tide_snapshot_assumed *row, tide_text *to);

/* "6 values are assumed in all; `tidemark explain --format json` lists them." Nothing if the
 * sentences have all n. */
void tide_assumed_words_add_all(size_t n, tide_text *to);

/* " if the mask at loss.py:31 gives at most 5,000 rows; with all 8,192 it does not", which follows
 * "it fits the card". Nothing if the run fits with all rows. */
void tide_assumed_words_add_limit(const tide_assumed_limit *limit, tide_text *to);

#ifdef __cplusplus
}
#endif

#endif
