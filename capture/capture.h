/* capture.h - turns a live cache and its recorder into a snapshot.
 *
 * Only this module sees both the allocator and the snapshot format: the allocator does not know
 * files, and the snapshot does not know allocators. Symbols are resolved here, once for each
 * distinct address. Other threads may allocate meanwhile: rows and segments are of one instant.
 */
#ifndef TIDE_CAPTURE_CAPTURE_H
#define TIDE_CAPTURE_CAPTURE_H

#include <stdint.h>

#include "allocator/cache.h"
#include "common/hostmem.h"
#include "common/status.h"
#include "recorder/recorder.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Data that only the caller has. Everything is borrowed during the call and copied. */
typedef struct tide_capture_options {
    const tide_hostmem *mem;            /* NULL: tide_hostmem_default() */
    const tide_snapshot_run *run;       /* NULL: an empty description */
    const tide_snapshot_timing *timing; /* NULL: nothing was timed */
} tide_capture_options;

/* `recorder` is the recorder of the cache, NULL for a cache without one; any other is TIDE_INVALID.
 * `options` may be NULL. The caller destroys the snapshot. */
TIDE_NODISCARD tide_status tide_capture(tide_recorder *recorder, tide_cache *cache,
                                        const tide_capture_options *options,
                                        tide_snapshot **ret_snapshot, tide_error *error);

/* The same in two halves. The first one copies the tables. Other threads continue meanwhile, except
 * for the pause that tide_captured_pause_ns returns. The second half resolves symbols, which takes
 * most of the time. It needs neither cache nor recorder, may run on another thread, and consumes
 * `captured` even if it fails. */
typedef struct tide_captured tide_captured;
TIDE_NODISCARD tide_status tide_capture_begin(tide_recorder *recorder, tide_cache *cache,
                                              const tide_capture_options *options,
                                              tide_captured **ret_captured, tide_error *error);
TIDE_NODISCARD tide_status tide_capture_end(tide_captured *captured, tide_snapshot **ret_snapshot,
                                            tide_error *error);
/* Frees a copy that no second half will use. NULL is allowed. */
void tide_captured_destroy(tide_captured *captured);
/* The longest time that the copy kept another thread's allocation, release or scope waiting, in
 * ns. */
int64_t tide_captured_pause_ns(const tide_captured *captured);

/* tide_capture without options, saved to PATH (see tide_snapshot_save). */
TIDE_NODISCARD tide_status tide_snapshot_write(tide_recorder *recorder, tide_cache *cache,
                                               const char *path, tide_error *error);

/* Writes the cache's settings and the run (NULL: not described) into the recorder's log file, for
 * tide_recover. Does nothing without a log file. */
TIDE_NODISCARD tide_status tide_capture_describe(tide_recorder *recorder, tide_cache *cache,
                                                 const tide_snapshot_run *run, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
