/* source.h - the recorded text of the program's lines.
 */
#ifndef TIDE_SNAPSHOT_SOURCE_H
#define TIDE_SNAPSHOT_SOURCE_H

#include <stdint.h>

#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most that a recording keeps, in lines and in bytes of each. */
enum { TIDE_SOURCE_LINES = 2000, TIDE_SOURCE_LINE_BYTES = 200 };

/* The line of a frame; NULL: its text was not recorded. Files are never read: a file may have
 * changed since the recording. */
const tide_source_row *tide_source_of(const tide_snapshot *snapshot, uint32_t frame);

#ifdef __cplusplus
}
#endif

#endif
