/* A grid of runs: reads its description, and keeps its known rows. */
#include "programs/runs/sweep.h"

#include <stdio.h>
#include <string.h>

/* Reads a whole number from 1 to `limit`; 0 if it is not one. */
static size_t count_of(const cJSON *json, const char *key, size_t limit) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    double number = cJSON_IsNumber(item) ? item->valuedouble : 0.0;
    return number >= 1.0 && number <= (double)limit && number == (double)(size_t)number
               ? (size_t)number
               : 0;
}

static tide_status take_names(const cJSON *names, tide_sweep *sweep, tide_error *error) {
    const cJSON *name = NULL;
    size_t n = 0;
    if (!cJSON_IsArray(names)) {
        return TIDE_OK; /* the header has only their number */
    }
    cJSON_ArrayForEach(name, names) {
        if (!cJSON_IsString(name) || strlen(name->valuestring) >= TIDE_RUN_NAME_BYTES) {
            return tide_fail(error, TIDE_FORMAT, "a name among its cells is none");
        }
        sweep->names[n++] = name->valuestring;
    }
    return TIDE_OK;
}

tide_status tide_sweep_init(tide_sweep *sweep, cJSON *header, tide_error *error) {
    *sweep = (tide_sweep){.header = header};
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(header, "format");
    if (!cJSON_IsString(format) || strcmp(format->valuestring, TIDE_SWEEP_FORMAT) != 0) {
        return tide_fail(error, TIDE_FORMAT, "its first line does not describe a sweep");
    }
    if (count_of(header, "version", 1000000) != TIDE_SWEEP_VERSION) {
        return tide_fail(error, TIDE_FORMAT, "its version is not %d, which this program reads",
                         (int)TIDE_SWEEP_VERSION);
    }
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(header, "cells");
    const cJSON *grid = cJSON_GetObjectItemCaseSensitive(header, "grid");
    int n_cells = cJSON_IsArray(names) ? cJSON_GetArraySize(names)
                                       : (int)count_of(header, "cells", TIDE_SWEEP_MAX_CELLS);
    sweep->n_shards = count_of(header, "shards", 1 << 30);
    sweep->shard = count_of(header, "shard", sweep->n_shards);
    sweep->n_repeats =
        cJSON_HasObjectItem(grid, "repeats") ? count_of(grid, "repeats", TIDE_SWEEP_MAX_CELLS) : 1;
    if (!cJSON_IsObject(grid) || sweep->shard == 0 || n_cells < 1 ||
        n_cells > TIDE_SWEEP_MAX_CELLS || sweep->n_repeats == 0 ||
        (size_t)n_cells % sweep->n_repeats != 0) {
        return tide_fail(error, TIDE_FORMAT, "its first line does not describe a grid");
    }
    const tide_hostmem *mem = tide_hostmem_default();
    sweep->rows = tide_hostmem_zeroed(mem, (size_t)n_cells, sizeof(*sweep->rows));
    sweep->names = tide_hostmem_zeroed(mem, (size_t)n_cells, sizeof(*sweep->names));
    if (sweep->rows == NULL || sweep->names == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "there is no host memory for %d rows", n_cells);
    }
    sweep->n_cells = (size_t)n_cells;
    return take_names(names, sweep, error);
}

void tide_sweep_fini(tide_sweep *sweep) {
    for (size_t i = 0; i < sweep->n_cells; i++) {
        tide_sweep_row_destroy(sweep->rows[i]);
    }
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, sweep->rows);
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, sweep->names);
    cJSON_Delete(sweep->header);
    *sweep = (tide_sweep){.header = NULL};
}

bool tide_sweep_owns(const tide_sweep *sweep, size_t cell) {
    return cell % sweep->n_shards + 1 == sweep->shard;
}

size_t tide_sweep_n_distinct(const tide_sweep *sweep) {
    return sweep->n_cells / sweep->n_repeats;
}

void tide_sweep_name_repeat(char name[TIDE_RUN_NAME_BYTES], size_t repeat) {
    char end[32];
    int n_end = snprintf(end, sizeof(end), "-repeat-%zu", repeat);
    size_t n = strlen(name);
    size_t room = TIDE_RUN_NAME_BYTES - 1 - (size_t)(n_end > 0 ? n_end : 0);
    memcpy(name + (n < room ? n : room), end, strlen(end) + 1);
}

void tide_sweep_name_once(const tide_sweep *sweep, size_t cell, char name[TIDE_RUN_NAME_BYTES]) {
    char end[TIDE_RUN_NAME_BYTES] = "";
    size_t n = strlen(name);
    tide_sweep_name_repeat(end, cell / tide_sweep_n_distinct(sweep) + 1);
    size_t n_end = strlen(end);
    if (sweep->n_repeats > 1 && n > n_end && strcmp(name + n - n_end, end) == 0) {
        name[n - n_end] = '\0';
    }
}

const char *tide_sweep_cell_name(const tide_sweep *sweep, size_t cell) {
    if (sweep->names[cell] != NULL) {
        return sweep->names[cell];
    }
    return sweep->rows[cell] != NULL ? sweep->rows[cell]->name : "";
}

bool tide_sweep_has_names(const tide_sweep *sweep) {
    return cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(sweep->header, "cells"));
}

tide_status tide_sweep_set_names(tide_sweep *sweep, cJSON *names, tide_error *error) {
    if (names == NULL || (size_t)cJSON_GetArraySize(names) != sweep->n_cells ||
        !cJSON_ReplaceItemInObjectCaseSensitive(sweep->header, "cells", names)) {
        cJSON_Delete(names);
        return tide_fail(error, TIDE_NO_MEMORY,
                         "there is no host memory for the names of %zu cells", sweep->n_cells);
    }
    TIDE_TRY(take_names(names, sweep, error));
    for (size_t i = 0; i < sweep->n_cells; i++) {
        if (sweep->rows[i] != NULL && strcmp(sweep->rows[i]->name, sweep->names[i]) != 0) {
            return tide_fail(error, TIDE_FORMAT, "the cell %zu is called %s there and %s here", i,
                             sweep->names[i], sweep->rows[i]->name);
        }
    }
    return TIDE_OK;
}

size_t tide_sweep_n_owned(const tide_sweep *sweep) {
    size_t n = 0;
    for (size_t i = 0; i < sweep->n_cells; i++) {
        n += tide_sweep_owns(sweep, i);
    }
    return n;
}

size_t tide_sweep_n_missing(const tide_sweep *sweep) {
    size_t n = 0;
    for (size_t i = 0; i < sweep->n_cells; i++) {
        n += tide_sweep_owns(sweep, i) && sweep->rows[i] == NULL;
    }
    return n;
}

/* TIDE_INVALID names the first thing that only one grid has, or that differs. */
static tide_status check_items(const cJSON *grid, const cJSON *other, bool is_swapped,
                               tide_error *error) {
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, grid) {
        const cJSON *match = cJSON_GetObjectItemCaseSensitive(other, item->string);
        if (cJSON_Compare(item, match, true)) {
            continue;
        }
        char *own = cJSON_PrintUnformatted(item);
        char *its = match != NULL ? cJSON_PrintUnformatted(match) : NULL;
        const char *here = own != NULL ? own : "?";
        const char *there = its != NULL ? its : "missing";
        tide_status status =
            tide_fail(error, TIDE_INVALID, "%s is %.200s there and %.200s here", item->string,
                      is_swapped ? here : there, is_swapped ? there : here);
        cJSON_free(own);
        cJSON_free(its);
        return status;
    }
    return TIDE_OK;
}

tide_status tide_sweep_check_same(const tide_sweep *sweep, const tide_sweep *other,
                                  tide_error *error) {
    const cJSON *grid = cJSON_GetObjectItemCaseSensitive(sweep->header, "grid");
    const cJSON *second = cJSON_GetObjectItemCaseSensitive(other->header, "grid");
    TIDE_TRY(check_items(grid, second, false, error));
    TIDE_TRY(check_items(second, grid, true, error)); /* keys with default values may be omitted */
    if (sweep->n_cells != other->n_cells) {
        return tide_fail(error, TIDE_INVALID, "it has %zu cells there and %zu here", other->n_cells,
                         sweep->n_cells);
    }
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(sweep->header, "cells");
    if (tide_sweep_has_names(sweep) && tide_sweep_has_names(other) &&
        !cJSON_Compare(names, cJSON_GetObjectItemCaseSensitive(other->header, "cells"), true)) {
        return tide_fail(error, TIDE_INVALID, "its cells have other names");
    }
    return TIDE_OK;
}

tide_status tide_sweep_add(tide_sweep *sweep, tide_sweep_row *row, tide_error *error) {
    if (row->cell >= sweep->n_cells ||
        (sweep->names[row->cell] != NULL && strcmp(row->name, sweep->names[row->cell]) != 0)) {
        return tide_fail(error, TIDE_FORMAT, "the grid has no cell %zu named %s", row->cell,
                         row->name);
    }
    if (sweep->rows[row->cell] != NULL) {
        return tide_fail(error, TIDE_INVALID, "the cell %s has a row already", row->name);
    }
    sweep->rows[row->cell] = row;
    sweep->n_rows++;
    return TIDE_OK;
}

bool tide_sweep_is_failed(const tide_sweep_row *row) {
    return row->result.outcome == TIDE_OUTCOME_FAILED ||
           row->result.outcome == TIDE_OUTCOME_CRASHED;
}

size_t tide_sweep_forget_failed(tide_sweep *sweep) {
    size_t n = 0;
    for (size_t i = 0; i < sweep->n_cells; i++) {
        tide_sweep_row *row = sweep->rows[i];
        if (row != NULL && tide_sweep_is_failed(row)) {
            tide_sweep_row_destroy(row);
            sweep->rows[i] = NULL;
            sweep->n_rows--;
            n++;
        }
    }
    return n;
}
