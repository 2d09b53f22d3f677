/* names.h - names of the files that a run writes, one for each of its processes.
 */
#ifndef TIDE_LAUNCH_NAMES_H
#define TIDE_LAUNCH_NAMES_H

#include "programs/launch/left/left.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The name of the snapshot of process number i of the list; a single process gets the name `path`.
 * With more than one process, "-rank3" or "-process4711" comes before the ending. `ret_path` has
 * n_room bytes. TIDE_LIMIT: it is too long. */
TIDE_NODISCARD tide_status tide_launch_name_snapshot(const char *path, const tide_left_list *list,
                                                     size_t i, char *ret_path, size_t n_room,
                                                     tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
