/* validate.h - whether the tables of a snapshot agree with each other: every index in range,
 * parents before children, blocks tiling their segments.
 */
#ifndef TIDE_SNAPSHOT_VALIDATE_H
#define TIDE_SNAPSHOT_VALIDATE_H

#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_PLACE_BYTES = 128 };

/* TIDE_FORMAT for the first violation: ret_place is its key path ("events.stack[12]",
 * "start.segments[0].blocks[3].block_bytes"), which the message leaves out. A snapshot that passes
 * can be summarised, written and walked without further checks of indices. `ret_place` is written
 * only on failure. */
TIDE_NODISCARD tide_status tide_snapshot_validate(const tide_snapshot *snapshot,
                                                  char ret_place[TIDE_PLACE_BYTES],
                                                  tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
