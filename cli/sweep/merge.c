/* Joins the parts of a sweep. The result does not depend on the order of the files. */
#include <string.h>

#include "cli/cli.h"
#include "cli/sweep/internal.h"
#include "common/text/plural.h"

/* A merge in progress. */
typedef struct merger {
    tide_sweep *into;   /* borrowed */
    const char *first;  /* borrowed: the file whose grid it is */
    const char **paths; /* owned, n_cells: the file that each row comes from; NULL: no row yet */
    size_t n_again;     /* rows that were dropped because their cell had an equal one */
} merger;

bool tide_sweep_is_preferred(const tide_sweep_row *row, const tide_sweep_row *there) {
    bool has_failed = tide_sweep_is_failed(row);
    if (has_failed != tide_sweep_is_failed(there)) {
        return !has_failed;
    }
    int64_t begin_us = row->result.started_unix_us;
    int64_t other_us = there->result.started_unix_us;
    if (begin_us != other_us) {
        return has_failed ? begin_us > other_us : begin_us < other_us;
    }
    if (row->result.host_peak_bytes != there->result.host_peak_bytes) {
        return row->result.host_peak_bytes < there->result.host_peak_bytes;
    }
    return strcmp(row->result.environment.host.name, there->result.environment.host.name) < 0;
}

/* Takes the row out of `from`, if it is kept. */
static tide_status move_row(merger *to, tide_sweep *from, size_t cell, const char *path,
                            tide_error *error) {
    tide_sweep *into = to->into;
    tide_sweep_row *row = from->rows[cell];
    tide_sweep_row *there = into->rows[cell];
    if (there != NULL) {
        bool some_failed = tide_sweep_is_failed(row) || tide_sweep_is_failed(there);
        if (!some_failed && !tide_sweep_row_agrees(row, there)) {
            return tide_fail(error, TIDE_INVALID,
                             "%s: the cell %s has another row in %s, with other figures: leave one "
                             "of the files out, or say --repeat N if they are repeats of a grid "
                             "that was run N times",
                             path, row->name, to->paths[cell]);
        }
        to->n_again++;
        if (!tide_sweep_is_preferred(row, there)) {
            return TIDE_OK;
        }
        into->rows[cell] = NULL;
        into->n_rows--;
        tide_sweep_row_destroy(there);
    }
    TIDE_TRY(tide_sweep_add(into, row, error));
    from->rows[cell] = NULL;
    from->n_rows--;
    to->paths[cell] = path;
    return TIDE_OK;
}

tide_status tide_sweep_take_names(tide_sweep *into, const tide_sweep *from, tide_error *error) {
    if (tide_sweep_has_names(into) || !tide_sweep_has_names(from)) {
        return TIDE_OK;
    }
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(from->header, "cells");
    return tide_sweep_set_names(into, cJSON_Duplicate(names, true), error);
}

/* A sweep of the whole grid with the header of the first file. */
static tide_status begin(merger *to, const tide_sweep *part, tide_error *error) {
    cJSON *header = cJSON_Duplicate(part->header, true);
    cJSON *shard = cJSON_GetObjectItemCaseSensitive(header, "shard");
    cJSON *shards = cJSON_GetObjectItemCaseSensitive(header, "shards");
    if (shard == NULL || shards == NULL) {
        cJSON_Delete(header);
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the grid");
    }
    (void)cJSON_SetNumberValue(shard, 1);
    (void)cJSON_SetNumberValue(shards, 1);
    TIDE_TRY(tide_sweep_init(to->into, header, error));
    to->paths = tide_hostmem_zeroed(tide_hostmem_default(), part->n_cells, sizeof(*to->paths));
    return TIDE_OK;
}

static tide_status add_rows(merger *to, tide_sweep *part, const char *path, tide_error *error) {
    if (to->paths == NULL) {
        to->first = path;
        TIDE_TRY(begin(to, part, error));
    }
    if (to->paths == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the grid");
    }
    tide_status status = tide_sweep_check_same(to->into, part, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "%s is of another grid than %s", path, to->first);
        return status;
    }
    TIDE_TRY(tide_sweep_take_names(to->into, part, error));
    for (size_t i = 0; i < part->n_cells; i++) {
        if (part->rows[i] != NULL) {
            TIDE_TRY(move_row(to, part, i, path, error));
        }
    }
    return TIDE_OK;
}

tide_status tide_sweep_read_part(const char *path, tide_sweep *ret_part, tide_error *error) {
    size_t n_good_bytes = 0;
    bool was_cut = false;
    tide_status status = tide_sweep_read(path, ret_part, &n_good_bytes, &was_cut, error);
    if (status == TIDE_OK && was_cut) {
        tide_cli_note(
            "sweep",
            "%s: the incomplete row at its end is left out, because its writer was interrupted",
            path);
    }
    return status;
}

static tide_status add_part(merger *to, const char *path, tide_error *error) {
    tide_sweep part;
    tide_status status = tide_sweep_read_part(path, &part, error);
    if (status == TIDE_OK) {
        status = add_rows(to, &part, path, error);
    }
    tide_sweep_fini(&part);
    return status;
}

tide_status tide_sweep_complete_names(tide_sweep *sweep, tide_error *error) {
    if (tide_sweep_has_names(sweep) || sweep->n_rows < sweep->n_cells) {
        return TIDE_OK;
    }
    cJSON *names = cJSON_CreateArray();
    for (size_t i = 0; i < sweep->n_cells; i++) {
        (void)cJSON_AddItemToArray(names, cJSON_CreateString(sweep->rows[i]->name));
    }
    return tide_sweep_set_names(sweep, names, error); /* it counts them */
}

tide_status tide_sweep_merge(const char *const *paths, size_t n_paths, tide_sweep *ret_sweep,
                             tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_sweep_paths files;
    merger to = {.into = ret_sweep};
    *ret_sweep = (tide_sweep){.header = NULL};
    tide_status status = tide_sweep_paths_init(paths, n_paths, &files, error);
    for (size_t i = 0; status == TIDE_OK && i < files.n; i++) {
        status = add_part(&to, files.paths[i], error);
    }
    if (status == TIDE_OK) {
        status = tide_sweep_complete_names(ret_sweep, error);
    }
    if (status == TIDE_OK && to.n_again > 0) {
        tide_cli_note("sweep", "%zu %s left out, because another row of %s is kept", to.n_again,
                      tide_plural(to.n_again, "row is", "rows are"),
                      tide_plural(to.n_again, "its cell", "their cells"));
    }
    mem->release(mem->ctx, to.paths);
    tide_sweep_paths_fini(&files);
    return status;
}
