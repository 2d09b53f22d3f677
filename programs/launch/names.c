#include "programs/launch/names.h"

#include <stdio.h>

#include "common/files/file_name.h"

tide_status tide_launch_name_snapshot(const char *path, const tide_left_list *list, size_t i,
                                      char *ret_path, size_t n_room, tide_error *error) {
    const tide_left *process = &list->processes[i];
    size_t stem = tide_file_stem_bytes(path);
    int n = 0;
    if (list->n_processes == 1 && (process->rank < 0 || process->world_size < 2)) {
        n = snprintf(ret_path, n_room, "%s", path);
    } else {
        n = snprintf(ret_path, n_room, "%.*s-%s%lld%s", (int)stem, path,
                     process->rank >= 0 ? "rank" : "process",
                     (long long)(process->rank >= 0 ? process->rank : process->pid), path + stem);
    }
    return n >= 0 && (size_t)n < n_room
               ? TIDE_OK
               : tide_fail(error, TIDE_LIMIT, "the path of a snapshot is longer than %zu bytes",
                           n_room - 1);
}
