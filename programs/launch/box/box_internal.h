/* box_internal.h - one ring. */
#ifndef TIDE_LAUNCH_BOX_INTERNAL_H
#define TIDE_LAUNCH_BOX_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "programs/launch/box/ended.h"
#include "programs/launch/launch.h"

/* How the process ended (ended.h), and when it was noticed. */
typedef struct tide_box_ended {
    char text[TIDE_ENDED_BYTES]; /* "": it has not ended, or it is unknown how */
    int64_t unix_us;
} tide_box_ended;

/* Writes snapshot and digest, each under a temporary name first. */
TIDE_NODISCARD tide_status tide_box_write(const char *ring, const tide_box_ended *ended,
                                          tide_error *error);

/* Adds to the digest, which is there, how the process ended. */
TIDE_NODISCARD tide_status tide_box_add_end(const char *ring, const tide_box_ended *ended,
                                            tide_error *error);

/* Whether the digest of the ring exists. */
bool tide_box_is_written(const char *ring);

/* Where a ring is. Without --ring it is a file of the folder, and else a link. */
typedef enum tide_box_place {
    TIDE_BOX_HERE,      /* in the folder, or in this machine's memory */
    TIDE_BOX_ELSEWHERE, /* in the memory of the machine in its name, or it was there */
    TIDE_BOX_LOST,      /* it was in this machine's memory before the machine started again */
    TIDE_BOX_ABSENT     /* this machine's by its name, but missing here */
} tide_box_place;

tide_box_place tide_box_find(const char *ring);

/* Removes the ring; of a link, also its target. */
void tide_box_remove(const char *ring);

#endif
