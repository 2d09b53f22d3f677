/* run_areas.h - the work areas of cuDNN in the log of a process: a label for each call that may
 * compute with one, whose address is that of the area, or 0 if the call got none.
 */
#ifndef TIDE_WIRE_RUN_AREAS_H
#define TIDE_WIRE_RUN_AREAS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The category of such a label; no block has it. Its name is the text of a tide_run_area. */
#define TIDE_RUN_AREA_CATEGORY "cudnn work area"

enum { TIDE_RUN_AREA_BYTES = 96 };

typedef struct tide_run_area {
    uint64_t likely_bytes, most_bytes;
    uint64_t stream;   /* handle */
    unsigned device;   /* as the program numbers them */
    bool is_benchmark; /* PyTorch tries all plans at a shape's first call, in one area for all */
} tide_run_area;

/* Returns `text`. */
static inline const char *tide_run_area_format(const tide_run_area *area,
                                               char text[TIDE_RUN_AREA_BYTES]) {
    (void)snprintf(text, TIDE_RUN_AREA_BYTES, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %u %d",
                   area->likely_bytes, area->most_bytes, area->stream, area->device,
                   area->is_benchmark ? 1 : 0);
    return text;
}

/* False for any other text. */
static inline bool tide_run_area_parse(const char *text, tide_run_area *ret) {
    tide_run_area area = {.likely_bytes = 0};
    int is_benchmark = 0;
    if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %u %d", &area.likely_bytes,
               &area.most_bytes, &area.stream, &area.device, &is_benchmark) != 5) {
        return false;
    }
    area.is_benchmark = is_benchmark != 0;
    *ret = area;
    return true;
}

#endif
