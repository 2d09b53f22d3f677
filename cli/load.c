#define _DEFAULT_SOURCE /* realpath */
#include "cli/load.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "snapshot/analysis/category_rules.h"

/* Recordings name files by absolute paths; a folder that is not on this machine is used as
 * written. */
static tide_status set_user_path(tide_snapshot *snapshot, const char *path) {
    char whole[PATH_MAX];
    const char *found = realpath(path, whole);
    snapshot->user_path = tide_arena_text(&snapshot->arena, found != NULL ? found : path);
    return snapshot->user_path != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status apply_rules(tide_snapshot *snapshot, const char *path, tide_error *error) {
    tide_rules *rules = NULL;
    TIDE_TRY(tide_rules_create(path, snapshot->arena.mem, &rules, error));
    tide_status status = tide_rules_apply(rules, snapshot, error);
    tide_rules_destroy(rules);
    return status;
}

static tide_status apply_options(tide_snapshot *snapshot, const tide_load_options *options,
                                 tide_error *error) {
    if (options->user_path != NULL && set_user_path(snapshot, options->user_path) != TIDE_OK) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for --user-path");
    }
    return options->rules != NULL ? apply_rules(snapshot, options->rules, error) : TIDE_OK;
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
    tide_status status = options != NULL ? apply_options(snapshot, options, error) : TIDE_OK;
    if (status != TIDE_OK) {
        tide_snapshot_destroy(snapshot);
        return status;
    }
    *ret_snapshot = snapshot;
    return TIDE_OK;
}
