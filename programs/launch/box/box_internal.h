/* box_internal.h - one ring. */
#ifndef TIDE_LAUNCH_BOX_INTERNAL_H
#define TIDE_LAUNCH_BOX_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "programs/launch/launch.h"

/* Writes snapshot and digest, each under a temporary name first. */
TIDE_NODISCARD tide_status tide_box_write(const char *ring, tide_error *error);

/* Whether the digest of the ring exists. */
bool tide_box_is_written(const char *ring);

/* Removes the ring; of a link, also its target. */
void tide_box_remove(const char *ring);

#endif
