/* area_words.h - the sentence about the work areas of cuDNN. */
#ifndef TIDE_SNAPSHOT_AREA_WORDS_H
#define TIDE_SNAPSHOT_AREA_WORDS_H

#include <stdint.h>

#include "common/text/text.h"
#include "snapshot/document/work_areas.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "cuDNN's work areas: likely 148 MiB at once; the reserved peak is 3,290 MiB without, 3,396
 * likely, 3,410 at most." With torch.backends.cudnn.benchmark, a sentence about the area in which
 * plans are tried. Nothing if the areas change the reserved peak by less than 1 %, or if a
 * figure is unknown. */
void tide_area_words_add(const tide_snapshot_work_areas *row, tide_text *to);

/* The bytes by which the largest areas raise the reserved peak above that of the likely ones. */
int64_t tide_area_margin_bytes(const tide_snapshot_work_areas *row);

#ifdef __cplusplus
}
#endif

#endif
