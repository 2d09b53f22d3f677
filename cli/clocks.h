/* clocks.h - the phases of a run by its clocks, side by side: the host's with a wait after each
 * phase, the device's between two events, and the sum of the kernels that were traced.
 */
#ifndef TIDE_CLI_CLOCKS_H
#define TIDE_CLI_CLOCKS_H

#include "common/status.h"
#include "report/table.h"
#include "snapshot/document/snapshot.h"

/* Adds the table `clocks` and sentences about it, if the host waited for the device after each
 * phase (timing.phases_synced) and the phases have times; else nothing. */
TIDE_NODISCARD tide_status tide_add_clocks(tide_report *report, const tide_snapshot *snapshot);

#endif
