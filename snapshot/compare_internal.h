/* compare_internal.h - the words of a comparison.
 */
#ifndef TIDE_SNAPSHOT_COMPARE_INTERNAL_H
#define TIDE_SNAPSHOT_COMPARE_INTERNAL_H

#include "snapshot/compare.h"

/* One sentence per run beside the base, derived from the figures of `compare`. In its arena; NULL
 * when there is no memory. */
const char *tide_compare_sentence(tide_compare *compare);

#endif
