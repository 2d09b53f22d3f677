/* capture.h - turns a live cache and its recorder into a snapshot.
 *
 * The one place that sees both the allocator and the snapshot format: the allocator knows nothing
 * of files, the snapshot nothing of allocators. Symbols are resolved here, once per distinct
 * address. May be called while other threads allocate: rows and segments are those of one instant.
 */
#ifndef TIDE_CAPTURE_CAPTURE_H
#define TIDE_CAPTURE_CAPTURE_H

#include "allocator/cache.h"
#include "allocator/recorder.h"
#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What only the caller knows. Everything is borrowed during the call and copied. */
typedef struct tide_capture_options {
    const tide_hostmem *mem;            /* NULL: tide_hostmem_default() */
    const tide_snapshot_run *run;       /* NULL: an empty description */
    const tide_snapshot_timing *timing; /* NULL: nothing was timed */
} tide_capture_options;

/* `recorder` is the one that the cache was created with, NULL for a cache without one; another one
 * is TIDE_INVALID. `options` may be NULL. The caller destroys the snapshot. */
TIDE_NODISCARD tide_status tide_capture(tide_recorder *recorder, tide_cache *cache,
                                        const tide_capture_options *options,
                                        tide_snapshot **ret_snapshot, tide_error *error);

/* tide_capture without options, saved to PATH (see tide_snapshot_save). */
TIDE_NODISCARD tide_status tide_snapshot_write(tide_recorder *recorder, tide_cache *cache,
                                               const char *path, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
