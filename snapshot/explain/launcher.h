/* launcher.h - programs whose own code is one line that starts a library: a command in a bin
 * folder, `python -m package`.
 *
 * Such a line would be the line of every block. If nearly all memory has no other line of the
 * program, the package that the line starts counts as the program.
 */
#ifndef TIDE_SNAPSHOT_LAUNCHER_H
#define TIDE_SNAPSHOT_LAUNCHER_H

#include <stdbool.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `is_program`: of each frame, whether it is the program's own (tide_frame_is_user). Sets it also
 * for the frames of the package that a launcher starts. TIDE_NO_MEMORY leaves it unchanged. */
TIDE_NODISCARD tide_status tide_launcher_mark(const tide_snapshot *snapshot,
                                              const tide_hostmem *mem, bool *is_program);

#ifdef __cplusplus
}
#endif

#endif
