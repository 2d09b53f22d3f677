#include "cli/load.h"

#include <inttypes.h>

#include "cli/cli.h"

tide_status tide_cli_load(const char *path, tide_snapshot **ret_snapshot, tide_error *error) {
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
    *ret_snapshot = snapshot;
    return TIDE_OK;
}
