/* kernels.h - the part of `tidemark summary` about kernels. */
#ifndef TIDE_CLI_SUMMARY_KERNELS_H
#define TIDE_CLI_SUMMARY_KERNELS_H

#include "common/status.h"
#include "report/table.h"
#include "snapshot/document/snapshot.h"

/* The `top` kernels with the most device time, and the others in one row; nothing if none was
 * traced. */
TIDE_NODISCARD tide_status tide_summary_kernels(tide_report *report, const tide_snapshot *snapshot,
                                                size_t top);

#endif
