/* The grid of a sweep: its description, its parts, and its known rows. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sweep/internal.h"

static const char FORMAT_NAME[] = "tidemark-sweep";

tide_status tide_sweep_parse_shard(const char *text, size_t *ret_shard, size_t *ret_n_shards,
                                   tide_error *error) {
    unsigned long long shard = 1;
    unsigned long long n_shards = 1;
    int n_read = 0;
    if (text != NULL && (strspn(text, "0123456789/") != strlen(text) || strlen(text) > 16 ||
                         sscanf(text, "%llu/%llu%n", &shard, &n_shards, &n_read) != 2 ||
                         (size_t)n_read != strlen(text) || shard < 1 || shard > n_shards)) {
        return tide_fail(error, TIDE_INVALID, "--shard %.64s: must be I/N, part I of N: 1/4 to 4/4",
                         text);
    }
    *ret_shard = (size_t)shard;
    *ret_n_shards = (size_t)n_shards;
    return TIDE_OK;
}

/* ---- the header ---- */

static bool add_texts(cJSON *json, const char *key, const tide_option_list *list,
                      const char *fallback) {
    cJSON *array = cJSON_AddArrayToObject(json, key);
    bool is_complete = array != NULL;
    for (size_t i = 0; is_complete && i < (list->n > 0 ? list->n : 1); i++) {
        cJSON *item = cJSON_CreateString(list->n > 0 ? list->texts[i] : fallback);
        is_complete = item != NULL && cJSON_AddItemToArray(array, item);
    }
    return is_complete;
}

static bool add_counts(cJSON *json, const char *key, const tide_option_list *list,
                       size_t fallback) {
    cJSON *array = cJSON_AddArrayToObject(json, key);
    bool is_complete = array != NULL;
    for (size_t i = 0; is_complete && i < (list->n > 0 ? list->n : 1); i++) {
        cJSON *item = cJSON_CreateNumber((double)(list->n > 0 ? list->counts[i] : fallback));
        is_complete = item != NULL && cJSON_AddItemToArray(array, item);
    }
    return is_complete;
}

static bool add_number(cJSON *json, const char *key, double number) {
    return cJSON_AddNumberToObject(json, key, number) != NULL;
}

static bool add_text(cJSON *json, const char *key, const char *text) {
    return cJSON_AddStringToObject(json, key, text) != NULL;
}

/* Adds the dimensions of the model of each size, taken from the first cell of that size. */
static bool add_models(cJSON *json, const tide_run_options *grid) {
    cJSON *array = cJSON_AddArrayToObject(json, "models");
    size_t n_sizes = grid->sizes.n > 0 ? grid->sizes.n : 1;
    size_t n_cells_of_size = tide_run_options_n_runs(grid) / n_sizes;
    bool is_complete = array != NULL;
    for (size_t i = 0; is_complete && i < n_sizes; i++) {
        tide_run_config config;
        tide_run_labels labels;
        tide_run_dimension dimensions[TIDE_RUN_MAX_DIMENSIONS];
        /* A refused cell also has a model. */
        (void)!tide_run_options_configure(grid, i * n_cells_of_size, "", &config, NULL);
        tide_run_workload_labels(&config.workload, &labels);
        size_t n = tide_run_workload_dimensions(&config.workload, dimensions);
        cJSON *item = cJSON_CreateObject();
        is_complete = item != NULL && add_text(item, "size", labels.size);
        for (size_t k = 0; is_complete && k < n; k++) {
            is_complete = add_number(item, dimensions[k].key, dimensions[k].value);
        }
        cJSON_AddItemToArray(array, item); /* NULL is left out */
    }
    return is_complete;
}

/* A list that was not given has one item, which is the label of the first cell: the model's file
 * may set context and batch. An MLP has no contexts, attention or recomputation. */
static bool add_lists(cJSON *json, const tide_run_options *grid, const tide_run_labels *first) {
    bool is_mlp = first->attention[0] == '\0';
    return add_texts(json, "modes", &grid->modes, first->mode) &&
           (is_mlp ||
            add_counts(json, "contexts", &grid->contexts, (size_t)first->context_length)) &&
           add_counts(json, "batches", &grid->batches, (size_t)first->batch_size) &&
           add_texts(json, "precisions", &grid->precisions, first->precision) &&
           (is_mlp || (add_texts(json, "attentions", &grid->attentions, first->attention) &&
                       add_texts(json, "recomputes", &grid->recomputes, first->recompute)));
}

static bool add_settings(cJSON *json, const tide_sweep_options *options, const char *device) {
    const tide_run_options *grid = &options->grid;
    const char *environment = getenv("TIDEMARK_ALLOC_CONF");
    double limit =
        grid->memory_limit_bytes == TIDE_RUN_UNLIMITED ? -1.0 : (double)grid->memory_limit_bytes;
    /* The file keeps the words of its first version, so that a file that was begun with them can be
     * resumed. */
    bool is_pytorch = strcmp(grid->emulate, "pytorch") == 0;
    bool is_usual =
        strcmp(grid->workload, "transformer") == 0; /* a file without this key is of transformers */
    return (is_usual || add_text(json, "workload", grid->workload)) &&
           add_text(json, "device", device) && add_number(json, "memory_limit_bytes", limit) &&
           add_text(json, "residuals", is_pytorch ? "eager" : "own") &&
           add_text(json, "edition", grid->edition != NULL ? grid->edition : "") &&
           add_text(json, "alloc_conf", grid->alloc_conf != NULL ? grid->alloc_conf : "") &&
           add_text(json, "alloc_conf_environment", environment != NULL ? environment : "") &&
           add_number(json, "warmup_steps", (double)grid->warmup_steps) &&
           add_number(json, "steps", (double)grid->steps) &&
           add_number(json, "seed", (double)grid->seed) &&
           add_number(json, "clip_grad_norm", grid->clip_grad_norm) &&
           cJSON_AddBoolToObject(json, "keep_graph", grid->keep_graph) != NULL &&
           cJSON_AddBoolToObject(json, "recorded", options->snapshots != NULL) != NULL;
}

/* Adds the names of all cells. If no cell is valid, fails with the reason of the first one. */
static tide_status add_names(cJSON *json, const tide_run_options *grid, size_t n_cells,
                             tide_error *error) {
    cJSON *array = cJSON_AddArrayToObject(json, "cells");
    tide_status refusal = TIDE_OK;
    bool some_make_sense = false;
    for (size_t i = 0; array != NULL && i < n_cells; i++) {
        tide_run_config config;
        char name[TIDE_RUN_NAME_BYTES];
        tide_status status =
            tide_run_options_configure(grid, i, "", &config, i == 0 ? error : NULL);
        refusal = i == 0 ? status : refusal;
        some_make_sense = some_make_sense || status == TIDE_OK;
        tide_run_workload_name(&config.workload, name);
        cJSON *item = cJSON_CreateString(name);
        if (item == NULL || !cJSON_AddItemToArray(array, item)) {
            return TIDE_NO_MEMORY;
        }
    }
    return array == NULL ? TIDE_NO_MEMORY : some_make_sense ? TIDE_OK : refusal;
}

/* Rows and snapshots are found by the names of cells, so no two cells may have the same name. */
static tide_status check_sizes(const tide_run_options *grid, tide_error *error) {
    if (tide_run_options_is_custom(grid) && grid->sizes.n > 1) {
        return tide_fail(error, TIDE_INVALID,
                         "--size with several values excludes --d-model, --layers, --heads, --d-ff "
                         "and --vocab, because all these models would be called custom");
    }
    return TIDE_OK;
}

tide_status tide_sweep_header(const tide_sweep_options *options, const char *device, size_t shard,
                              size_t n_shards, cJSON **ret_header, tide_error *error) {
    const tide_run_options *grid = &options->grid;
    size_t n_cells = tide_run_options_n_runs(grid);
    tide_run_config first;
    tide_run_labels labels;
    if (n_cells > TIDE_SWEEP_MAX_CELLS) {
        return tide_fail(error, TIDE_LIMIT,
                         "the grid has %zu cells, more than the limit of %d: split it", n_cells,
                         (int)TIDE_SWEEP_MAX_CELLS);
    }
    TIDE_TRY(check_sizes(grid, error));
    (void)!tide_run_options_configure(grid, 0, "", &first, NULL);
    tide_run_workload_labels(&first.workload, &labels);
    cJSON *header = cJSON_CreateObject();
    cJSON *json = NULL;
    bool is_complete = add_text(header, "format", FORMAT_NAME) &&
                       add_number(header, "version", TIDE_SWEEP_VERSION) &&
                       add_number(header, "shard", (double)shard) &&
                       add_number(header, "shards", (double)n_shards);
    json = is_complete ? cJSON_AddObjectToObject(header, "grid") : NULL;
    is_complete = json != NULL && add_models(json, grid) && add_lists(json, grid, &labels) &&
                  add_settings(json, options, device);
    tide_status status = TIDE_NO_MEMORY;
    if (is_complete) {
        status = add_names(header, grid, n_cells, error);
    }
    if (status != TIDE_OK) {
        cJSON_Delete(header);
        return status;
    }
    *ret_header = header;
    return TIDE_OK;
}

/* ---- the sweep ---- */

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
    if (!cJSON_IsString(format) || strcmp(format->valuestring, FORMAT_NAME) != 0) {
        return tide_fail(error, TIDE_FORMAT, "its first line does not describe a sweep");
    }
    if (count_of(header, "version", 1000000) != TIDE_SWEEP_VERSION) {
        return tide_fail(error, TIDE_FORMAT, "its version is not %d, which this program reads",
                         (int)TIDE_SWEEP_VERSION);
    }
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(header, "cells");
    const cJSON *grid = cJSON_GetObjectItemCaseSensitive(header, "grid");
    int n_cells = cJSON_IsArray(names) ? cJSON_GetArraySize(names) : 0;
    sweep->n_shards = count_of(header, "shards", 1 << 30);
    sweep->shard = count_of(header, "shard", sweep->n_shards);
    if (!cJSON_IsObject(grid) || sweep->shard == 0 || n_cells < 1 ||
        n_cells > TIDE_SWEEP_MAX_CELLS) {
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

tide_status tide_sweep_check_same(const tide_sweep *sweep, const tide_sweep *other,
                                  tide_error *error) {
    const cJSON *grid = cJSON_GetObjectItemCaseSensitive(sweep->header, "grid");
    const cJSON *second = cJSON_GetObjectItemCaseSensitive(other->header, "grid");
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, grid) {
        const cJSON *match = cJSON_GetObjectItemCaseSensitive(second, item->string);
        if (cJSON_Compare(item, match, true)) {
            continue;
        }
        char *here = cJSON_PrintUnformatted(item);
        char *there = match != NULL ? cJSON_PrintUnformatted(match) : NULL;
        tide_status status =
            tide_fail(error, TIDE_INVALID, "%s is %.200s there and %.200s here", item->string,
                      there != NULL ? there : "missing", here != NULL ? here : "?");
        cJSON_free(here);
        cJSON_free(there);
        return status;
    }
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(sweep->header, "cells");
    if (!cJSON_Compare(names, cJSON_GetObjectItemCaseSensitive(other->header, "cells"), true)) {
        return tide_fail(error, TIDE_INVALID, "its cells have other names");
    }
    return TIDE_OK;
}

tide_status tide_sweep_add(tide_sweep *sweep, tide_sweep_row *row, tide_error *error) {
    if (row->cell >= sweep->n_cells || strcmp(row->name, sweep->names[row->cell]) != 0) {
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
