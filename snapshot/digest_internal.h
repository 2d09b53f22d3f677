/* digest_internal.h - the parts of a digest, each made by its own file.
 */
#ifndef TIDE_SNAPSHOT_DIGEST_INTERNAL_H
#define TIDE_SNAPSHOT_DIGEST_INTERNAL_H

#include "snapshot/digest.h"
#include "snapshot/export_friend.h"
#include "snapshot/lifetimes.h"
#include "snapshot/scope_paths.h"
#include "snapshot/summary.h"

/* What all of them are made of. */
typedef struct tide_digest_parts {
    const tide_snapshot *snapshot;
    const tide_lifetimes *lifetimes;
    const tide_scope_paths *paths;
    const tide_export_series *series;
    tide_arena *arena; /* for the digest */
} tide_digest_parts;

/* The rows of the peak, and their rest. */
TIDE_NODISCARD tide_status tide_digest_add_rows(const tide_digest_parts *of,
                                                const tide_summary_peak *peak,
                                                tide_digest_device *device);
/* Steps, growth and timeline. */
TIDE_NODISCARD tide_status tide_digest_add_steps(const tide_digest_parts *of,
                                                 tide_digest_device *device);
TIDE_NODISCARD tide_status tide_digest_add_timeline(const tide_digest_parts *of,
                                                    tide_digest_device *device);

/* The line of a stack, in the arena; "" without a stack, NULL: no memory. */
const char *tide_digest_line(const tide_digest_parts *of, uint32_t stack);

#endif
