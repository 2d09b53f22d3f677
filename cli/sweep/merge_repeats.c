/* Joins files of a grid that was run several times. The rows of a cell are its repeats in the order
 * in which they were begun, not in the order of the files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sweep/internal.h"
#include "common/text/plural.h"

/* All rows of the files, and the grid without repeats. */
typedef struct collection {
    tide_sweep grid;       /* has no rows */
    const char *first;     /* borrowed: the file whose grid it is; NULL: none yet */
    tide_sweep_row **rows; /* owned, and so is each of them; cell and name are those of the grid */
    size_t n;
    size_t capacity; /* of rows */
    size_t n_again;  /* rows that were dropped, because they are also in another file, or failed */
} collection;

static void collection_fini(collection *all) {
    for (size_t i = 0; i < all->n; i++) {
        tide_sweep_row_destroy(all->rows[i]);
    }
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, all->rows);
    tide_sweep_fini(&all->grid);
}

/* ---- collecting ---- */

/* The names of the cells without repeats, or their number. NULL without host memory. */
static cJSON *cells_once(const tide_sweep *part) {
    size_t n = tide_sweep_n_distinct(part);
    if (!tide_sweep_has_names(part)) {
        return cJSON_CreateNumber((double)n);
    }
    cJSON *names = cJSON_CreateArray();
    for (size_t i = 0; names != NULL && i < n; i++) {
        char name[TIDE_RUN_NAME_BYTES];
        (void)snprintf(name, sizeof(name), "%s", part->names[i]);
        tide_sweep_name_once(part, i, name);
        (void)cJSON_AddItemToArray(names, cJSON_CreateString(name));
    }
    return names;
}

/* A sweep without rows of the whole grid that the part repeats. */
static tide_status grid_once(const tide_sweep *part, tide_sweep *ret, tide_error *error) {
    cJSON *header = cJSON_Duplicate(part->header, true);
    cJSON *cells = cells_once(part);
    cJSON *shard = cJSON_GetObjectItemCaseSensitive(header, "shard");
    cJSON *shards = cJSON_GetObjectItemCaseSensitive(header, "shards");
    if (cells == NULL || shard == NULL || shards == NULL ||
        !cJSON_ReplaceItemInObjectCaseSensitive(header, "cells", cells)) {
        cJSON_Delete(cells);
        cJSON_Delete(header);
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the grid");
    }
    (void)cJSON_SetNumberValue(shard, 1);
    (void)cJSON_SetNumberValue(shards, 1);
    cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(header, "grid"),
                                            "repeats");
    return tide_sweep_init(ret, header, error);
}

static tide_status check_grid(collection *all, const tide_sweep *part, const char *path,
                              tide_error *error) {
    tide_sweep grid = {.header = NULL};
    tide_status status = grid_once(part, &grid, error);
    if (status == TIDE_OK && all->first == NULL) {
        all->first = path;
        all->grid = grid;
        return TIDE_OK;
    }
    if (status == TIDE_OK) {
        status = tide_sweep_check_same(&all->grid, &grid, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "%s is of another grid than %s", path, all->first);
        }
    }
    if (status == TIDE_OK) {
        status = tide_sweep_take_names(&all->grid, &grid, error);
    }
    tide_sweep_fini(&grid);
    return status;
}

static tide_status collect_rows(collection *all, tide_sweep *part, tide_error *error) {
    for (size_t i = 0; i < part->n_cells; i++) {
        tide_sweep_row *row = part->rows[i];
        if (row == NULL) {
            continue;
        }
        tide_sweep_row **grown = tide_hostmem_grow(tide_hostmem_default(), all->rows,
                                                   &all->capacity, all->n + 1, sizeof(*grown));
        if (grown == NULL) {
            return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for a row");
        }
        all->rows = grown;
        tide_sweep_name_once(part, i, row->name);
        row->cell = i % tide_sweep_n_distinct(part);
        all->rows[all->n++] = row;
        part->rows[i] = NULL;
        part->n_rows--;
    }
    return TIDE_OK;
}

static tide_status collect(collection *all, const char *path, tide_error *error) {
    tide_sweep part;
    tide_status status = tide_sweep_read_part(path, &part, error);
    if (status == TIDE_OK) {
        status = check_grid(all, &part, path, error);
    }
    if (status == TIDE_OK) {
        status = collect_rows(all, &part, error);
    }
    tide_sweep_fini(&part);
    return status;
}

/* ---- the repeats ---- */

/* By cell, and within a cell the rows to keep first. */
static int by_cell(const void *a, const void *b) {
    const tide_sweep_row *const *first = a;
    const tide_sweep_row *const *second = b;
    if ((*first)->cell != (*second)->cell) {
        return (*first)->cell < (*second)->cell ? -1 : 1;
    }
    return (int)tide_sweep_is_preferred(*second, *first) -
           (int)tide_sweep_is_preferred(*first, *second);
}

static int by_start(const void *a, const void *b) {
    const tide_sweep_row *const *first = a;
    const tide_sweep_row *const *second = b;
    int64_t begin_us = (*first)->result.started_unix_us;
    int64_t other_us = (*second)->result.started_unix_us;
    return (begin_us > other_us) - (begin_us < other_us);
}

/* Whether both are one row that is in two files. */
static bool is_same_run(const tide_sweep_row *row, const tide_sweep_row *other) {
    return row->result.started_unix_us == other->result.started_unix_us &&
           row->result.host_peak_bytes == other->result.host_peak_bytes &&
           strcmp(row->result.environment.host.name, other->result.environment.host.name) == 0 &&
           tide_sweep_row_agrees(row, other);
}

/* Moves the rows that are kept to the beginning of `rows`, which are sorted and of one cell, and
 * returns their number. */
static size_t keep(tide_sweep_row **rows, size_t n, size_t n_repeats, size_t *ret_n_ok) {
    size_t n_kept = 0;
    *ret_n_ok = 0;
    for (size_t i = 0; i < n; i++) {
        if (n_kept > 0 && is_same_run(rows[i], rows[n_kept - 1])) {
            continue;
        }
        if (tide_sweep_is_failed(rows[i]) && n_kept >= n_repeats) {
            break;
        }
        tide_sweep_row *kept = rows[i];
        *ret_n_ok += !tide_sweep_is_failed(kept);
        rows[i] = rows[n_kept]; /* it stays in the array, which owns it */
        rows[n_kept++] = kept;
    }
    return n_kept;
}

/* Gives the rows of one cell to its repeats. */
static tide_status add_repeats(collection *all, size_t begin, size_t end, tide_sweep *into,
                               tide_error *error) {
    size_t n_ok = 0;
    size_t n_once = tide_sweep_n_distinct(into);
    tide_sweep_row **rows = all->rows + begin;
    size_t n_kept = keep(rows, end - begin, into->n_repeats, &n_ok);
    all->n_again += end - begin - n_kept;
    if (n_ok > into->n_repeats) {
        return tide_fail(error, TIDE_INVALID,
                         "the cell %s has %zu rows, more than --repeat %zu: leave out a file, or "
                         "say --repeat %zu",
                         rows[0]->name, n_ok, into->n_repeats, n_ok);
    }
    qsort(rows, n_kept, sizeof(*rows), by_start);
    for (size_t i = 0; i < n_kept; i++) {
        tide_sweep_row *row = rows[i];
        row->cell += i * n_once;
        if (into->n_repeats > 1) {
            tide_sweep_name_repeat(row->name, i + 1);
        }
        TIDE_TRY(tide_sweep_add(into, row, error));
        rows[i] = NULL;
    }
    return TIDE_OK;
}

/* A sweep without rows of the repeated grid. */
static tide_status begin_repeats(const collection *all, uint64_t n_repeats, tide_sweep *ret,
                                 tide_error *error) {
    TIDE_TRY(tide_sweep_check_repeats(all->grid.n_cells, n_repeats, error));
    cJSON *header = cJSON_Duplicate(all->grid.header, true);
    size_t n_cells = all->grid.n_cells * (size_t)n_repeats;
    bool has_names = tide_sweep_has_names(&all->grid);
    cJSON *cells = has_names ? cJSON_CreateArray() : cJSON_CreateNumber((double)n_cells);
    for (size_t i = 0; cells != NULL && has_names && i < n_cells; i++) {
        char name[TIDE_RUN_NAME_BYTES];
        (void)snprintf(name, sizeof(name), "%s", all->grid.names[i % all->grid.n_cells]);
        if (n_repeats > 1) {
            tide_sweep_name_repeat(name, i / all->grid.n_cells + 1);
        }
        (void)cJSON_AddItemToArray(cells, cJSON_CreateString(name));
    }
    if (cells == NULL || !cJSON_ReplaceItemInObjectCaseSensitive(header, "cells", cells) ||
        !tide_sweep_add_repeats(cJSON_GetObjectItemCaseSensitive(header, "grid"), n_repeats)) {
        cJSON_Delete(header);
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the grid");
    }
    return tide_sweep_init(ret, header, error);
}

static tide_status join(collection *all, uint64_t n_repeats, tide_sweep *ret, tide_error *error) {
    TIDE_TRY(begin_repeats(all, n_repeats, ret, error));
    if (all->n > 0) {
        qsort(all->rows, all->n, sizeof(*all->rows), by_cell);
    }
    size_t begin = 0;
    while (begin < all->n) {
        size_t end = begin + 1;
        while (end < all->n && all->rows[end]->cell == all->rows[begin]->cell) {
            end++;
        }
        TIDE_TRY(add_repeats(all, begin, end, ret, error));
        begin = end;
    }
    return tide_sweep_complete_names(ret, error);
}

tide_status tide_sweep_merge_repeats(const char *const *paths, size_t n_paths, uint64_t n_repeats,
                                     tide_sweep *ret_sweep, tide_error *error) {
    tide_sweep_paths files;
    collection all = {.rows = NULL};
    *ret_sweep = (tide_sweep){.header = NULL};
    tide_status status = tide_sweep_paths_init(paths, n_paths, &files, error);
    for (size_t i = 0; status == TIDE_OK && i < files.n; i++) {
        status = collect(&all, files.paths[i], error);
    }
    if (status == TIDE_OK) {
        status = join(&all, n_repeats, ret_sweep, error);
    }
    if (status == TIDE_OK && all.n_again > 0) {
        tide_cli_note("sweep",
                      "%zu %s left out, because %s in another file, too, or failed where enough "
                      "others did not",
                      all.n_again, tide_plural(all.n_again, "row is", "rows are"),
                      tide_plural(all.n_again, "it is", "each is"));
    }
    collection_fini(&all);
    tide_sweep_paths_fini(&files);
    return status;
}
