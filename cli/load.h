/* load.h - snapshots as commands read them: what is odd in a file is said once.
 */
#ifndef TIDE_CLI_LOAD_H
#define TIDE_CLI_LOAD_H

#include "common/status.h"
#include "snapshot/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tide_snapshot_load, and a line on stderr when ornaments of the file were odd: how many, and where
 * the first stands. */
TIDE_NODISCARD tide_status tide_cli_load(const char *path, tide_snapshot **ret_snapshot,
                                         tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
