/* reserved_words.h - the sentences about reserved memory that no tensor held.
 */
#ifndef TIDE_SNAPSHOT_RESERVED_WORDS_H
#define TIDE_SNAPSHOT_RESERVED_WORDS_H

#include "common/text/text.h"
#include "snapshot/explain/causes/causes.h"
#include "snapshot/explain/facts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the free memory was when most was reserved, its largest piece and the line that bought most
 * of it. Adds nothing unless 15 % of the reserved memory and 200 MiB were free, or if the causes
 * explain reserved memory. */
void tide_reserved_words_add(const tide_facts *facts, const tide_causes *causes, tide_text *to);

#ifdef __cplusplus
}
#endif

#endif
