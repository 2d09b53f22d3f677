/* work_areas.h - the work areas of cuDNN, whose sizes only the library knows: the calls that
 * compute with one, and the peaks of a device without areas, with the likely ones and with the
 * largest.
 */
#ifndef TIDE_SNAPSHOT_WORK_AREAS_H
#define TIDE_SNAPSHOT_WORK_AREAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A call of the recorded program. It is not in the file. */
typedef struct tide_snapshot_area_call {
    uint64_t event;   /* rows of the history before the call */
    uint64_t address; /* of the block that is its area; 0: it got none, because the likely area has
                         0 bytes, or the program had no room */
    uint64_t stream;  /* handle */
    uint64_t likely_bytes, most_bytes;
    uint32_t device;   /* index of the device */
    bool is_benchmark; /* with torch.backends.cudnn.benchmark */
} tide_snapshot_area_call;

/* The figures of a device, of which the program had the likely areas. A larger area may lower the
 * reserved peak: as a free block it serves later requests. -1: unknown. */
typedef struct tide_snapshot_work_areas {
    int64_t device;                   /* index of the device */
    int64_t n_calls;                  /* that compute with an area, or may */
    int64_t likely_bytes, most_bytes; /* the largest area of a call */
    int64_t allocated_none_bytes, allocated_likely_bytes, allocated_most_bytes; /* peaks */
    int64_t reserved_none_bytes, reserved_likely_bytes, reserved_most_bytes;
    bool is_most_refused; /* not all of the largest areas found room: smaller ones replaced them */
    bool is_benchmark; /* some calls were made with torch.backends.cudnn.benchmark, whose area for
                          trying plans may take all free memory; no figure above has it */
} tide_snapshot_work_areas;

/* A row without figures. */
#define TIDE_SNAPSHOT_NO_WORK_AREAS                                                                \
    { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, false, false }

struct tide_snapshot;

/* The figures of a device; NULL: no call computes with a work area. */
const tide_snapshot_work_areas *tide_work_areas_of(const struct tide_snapshot *snapshot,
                                                   size_t device);

#ifdef __cplusplus
}
#endif

#endif
