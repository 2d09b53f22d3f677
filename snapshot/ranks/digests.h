/* digests.h - reads a file of digests, which may be damaged or hostile: a digest, or a list of
 * digests as a page of ranks contains it (docs/reference/digest.md).
 *
 * One digest is in memory at a time, and never the text of the file.
 */
#ifndef TIDE_SNAPSHOT_DIGESTS_H
#define TIDE_SNAPSHOT_DIGESTS_H

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/ranks/digest.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_DIGESTS_VERSION = 1,
    TIDE_DIGESTS_MOST = 16384,     /* in a list */
    TIDE_DIGESTS_BYTES = 512 << 20 /* of the text of a list */
};

/* What takes the digests, in the order of the file. The digest ends with the call. */
typedef struct tide_digests_sink {
    tide_status (*take)(void *ctx, const tide_digest *digest);
    void *ctx; /* borrowed; take's first */
} tide_digests_sink;

/* Hands on each digest. Errors are as those of tide_digest_load; those of a sink end the reading.
 * The digests before the one at fault have been taken by then. */
TIDE_NODISCARD tide_status tide_digests_load(const char *path, const tide_hostmem *mem,
                                             const tide_digests_sink *sink, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
