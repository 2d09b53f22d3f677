/* fit_words.h - whether a run fits its virtual card, and the sentence about one near the limit.
 */
#ifndef TIDE_SNAPSHOT_FIT_WORDS_H
#define TIDE_SNAPSHOT_FIT_WORDS_H

#include <stddef.h>

#include "common/text/text.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "yes"; "near": it fits, and leaves less than what is not measured, or too little for the largest
 * work areas of cuDNN; "no": it ran out of memory. NULL: the file does not show it. */
const char *tide_fit_of(const tide_snapshot *snapshot, size_t device);

/* "The run fits NVIDIA GeForce RTX 3090, near the limit: ..."; nothing if it is not near. */
void tide_fit_words_add(const tide_snapshot *snapshot, size_t device, tide_text *to);

#ifdef __cplusplus
}
#endif

#endif
