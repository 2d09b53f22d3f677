/* Joins the parts of a sweep. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/sweep/internal.h"

/* The file that each row comes from, for the message about a second row of its cell. */
typedef struct origin {
    const char **paths; /* owned, n_cells; NULL: no row yet */
} origin;

static tide_status move_rows(tide_sweep *into, tide_sweep *from, const char *path, origin *origins,
                             tide_error *error) {
    for (size_t i = 0; i < from->n_cells; i++) {
        if (from->rows[i] == NULL) {
            continue;
        }
        if (into->rows[i] != NULL) {
            return tide_fail(error, TIDE_INVALID, "%s: the cell %s also has a row in %s", path,
                             from->names[i], origins->paths[i]);
        }
        TIDE_TRY(tide_sweep_add(into, from->rows[i], error));
        from->rows[i] = NULL;
        from->n_rows--;
        origins->paths[i] = path;
    }
    return TIDE_OK;
}

static tide_status add_part(tide_sweep *into, const char *first, const char *path, origin *origins,
                            tide_error *error) {
    tide_sweep part;
    size_t n_good_bytes = 0;
    bool was_cut = false;
    tide_status status = tide_sweep_read(path, &part, &n_good_bytes, &was_cut, error);
    if (status == TIDE_OK && was_cut) {
        tide_cli_note(
            "sweep",
            "%s: the incomplete row at its end is left out, because its writer was interrupted",
            path);
    }
    if (status == TIDE_OK) {
        status = tide_sweep_check_same(into, &part, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "%s is of another grid than %s", path, first);
        }
    }
    if (status == TIDE_OK) {
        status = move_rows(into, &part, path, origins, error);
    }
    tide_sweep_fini(&part);
    return status;
}

/* A sweep of the whole grid with the header of the first file. */
static tide_status begin(const char *path, tide_sweep *ret, tide_error *error) {
    tide_sweep part;
    size_t n_good_bytes = 0;
    bool was_cut = false;
    *ret = (tide_sweep){.header = NULL};
    tide_status status = tide_sweep_read(path, &part, &n_good_bytes, &was_cut, error);
    cJSON *header = status == TIDE_OK ? cJSON_Duplicate(part.header, true) : NULL;
    tide_sweep_fini(&part);
    TIDE_TRY(status);
    cJSON *shard = cJSON_GetObjectItemCaseSensitive(header, "shard");
    cJSON *shards = cJSON_GetObjectItemCaseSensitive(header, "shards");
    if (shard == NULL || shards == NULL) {
        cJSON_Delete(header);
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the grid");
    }
    (void)cJSON_SetNumberValue(shard, 1);
    (void)cJSON_SetNumberValue(shards, 1);
    return tide_sweep_init(ret, header, error);
}

tide_status tide_sweep_merge(const char *const *paths, size_t n_paths, tide_sweep *ret_sweep,
                             tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    TIDE_TRY(begin(paths[0], ret_sweep, error));
    origin origins = {.paths =
                          tide_hostmem_zeroed(mem, ret_sweep->n_cells, sizeof(*origins.paths))};
    if (origins.paths == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the grid");
    }
    tide_status status = TIDE_OK;
    for (size_t i = 0; status == TIDE_OK && i < n_paths; i++) {
        status = add_part(ret_sweep, paths[0], paths[i], &origins, error);
    }
    mem->release(mem->ctx, origins.paths);
    return status;
}
