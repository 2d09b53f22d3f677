/* capture.h - turns a live cache and its recorder into a snapshot.
 *
 * The one place that sees both the allocator and the snapshot format: the allocator knows nothing
 * of files, the snapshot nothing of allocators. Symbols are resolved here, once per distinct
 * address. May be called while other threads allocate: rows and segments are those of one instant.
 */
#ifndef TIDE_CAPTURE_CAPTURE_H
#define TIDE_CAPTURE_CAPTURE_H

#include <stdint.h>

#include "allocator/cache.h"
#include "recorder/recorder.h"
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

/* The same in two halves. The first one copies the tables: other threads go on meanwhile, but for
 * the moments that tide_captured_pause_ns tells. The second one needs neither cache nor recorder
 * any more and may run on another thread: it resolves symbols, which takes most of the time. It
 * consumes `captured`, whatever comes of it. */
typedef struct tide_captured tide_captured;
TIDE_NODISCARD tide_status tide_capture_begin(tide_recorder *recorder, tide_cache *cache,
                                              const tide_capture_options *options,
                                              tide_captured **ret_captured, tide_error *error);
TIDE_NODISCARD tide_status tide_capture_end(tide_captured *captured, tide_snapshot **ret_snapshot,
                                            tide_error *error);
/* Instead of the second half. NULL is allowed. */
void tide_captured_destroy(tide_captured *captured);
/* The longest that the copy kept another thread's allocation, release or scope waiting, in ns. */
int64_t tide_captured_pause_ns(const tide_captured *captured);

/* tide_capture without options, saved to PATH (see tide_snapshot_save). */
TIDE_NODISCARD tide_status tide_snapshot_write(tide_recorder *recorder, tide_cache *cache,
                                               const char *path, tide_error *error);

/* For whoever recovers the recorder's log file: settings of the cache, and the run (NULL: not
 * described). Nothing without a log file. */
TIDE_NODISCARD tide_status tide_capture_describe(tide_recorder *recorder, tide_cache *cache,
                                                 const tide_snapshot_run *run, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
