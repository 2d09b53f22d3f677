#define _DEFAULT_SOURCE /* realpath */
#include "cli/load.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "cli/cli.h"

/* Recordings name files by absolute paths; a folder that is not on this machine is taken as it is
 * written. */
static tide_status set_user_path(tide_snapshot *snapshot, const char *path) {
    char whole[PATH_MAX];
    const char *found = realpath(path, whole);
    snapshot->user_path = tide_arena_text(&snapshot->arena, found != NULL ? found : path);
    return snapshot->user_path != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

tide_status tide_cli_load(const char *path, const tide_load_options *options,
                          tide_snapshot **ret_snapshot, tide_error *error) {
    tide_snapshot *snapshot = NULL;
    TIDE_TRY(tide_snapshot_load(path, NULL, &snapshot, error));
    if (snapshot->n_odd == 1) {
        tide_cli_note(NULL, "warning: %s: the value of %s is not valid and is read as unknown",
                      path, snapshot->first_odd);
    } else if (snapshot->n_odd > 1) {
        tide_cli_note(NULL,
                      "warning: %s: %" PRIu64
                      " values are not valid and are read as unknown (the first: %s)",
                      path, snapshot->n_odd, snapshot->first_odd);
    }
    if (options != NULL && options->user_path != NULL) {
        tide_status status = set_user_path(snapshot, options->user_path);
        if (status != TIDE_OK) {
            tide_snapshot_destroy(snapshot);
            return tide_fail(error, status, "no host memory to read '%s'", path);
        }
    }
    *ret_snapshot = snapshot;
    return TIDE_OK;
}
