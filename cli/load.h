/* load.h - loads snapshots for commands, and reports invalid values of a file once.
 */
#ifndef TIDE_CLI_LOAD_H
#define TIDE_CLI_LOAD_H

#include "common/status.h"
#include "snapshot/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tide_snapshot_load, and a line on stderr if values of the file were not valid but could be read
 * as unknown: how many, and where the first one stands. */
TIDE_NODISCARD tide_status tide_cli_load(const char *path, tide_snapshot **ret_snapshot,
                                         tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
