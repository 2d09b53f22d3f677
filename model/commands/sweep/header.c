/* The first line of a file of rows of `tidemark sweep`, for the grid of our own model. */
#include <stdlib.h>
#include <string.h>

#include "model/commands/commands.h"
#include "model/commands/options/model_options.h"
#include "programs/runs/sweep.h"

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

/* Adds the dimensions of each model, taken from its first cell. */
static bool add_models(cJSON *json, const tide_run_options *grid) {
    cJSON *array = cJSON_AddArrayToObject(json, "models");
    size_t n_models = tide_run_options_n_models(grid);
    size_t n_cells_of_model = tide_run_options_n_runs(grid) / n_models;
    bool is_complete = array != NULL;
    for (size_t i = 0; is_complete && i < n_models; i++) {
        tide_run_config config;
        tide_run_labels labels;
        tide_run_dimension dimensions[TIDE_RUN_MAX_DIMENSIONS];
        /* A refused cell also has a model. */
        (void)!tide_run_options_configure(grid, i * n_cells_of_model, "", &config, NULL);
        tide_run_workload_labels(&config.workload, &labels);
        size_t n =
            tide_run_model_dimensions(&tide_run_model_of(&config.workload)->model, dimensions);
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
    /* The file keeps the words of its first version, so a file begun with them can be resumed. */
    bool is_pytorch = strcmp(grid->emulate, "pytorch") == 0;
    bool is_usual =
        strcmp(grid->workload, "transformer") == 0; /* a file without this key is of transformers */
    return (is_usual || add_text(json, "workload", grid->workload)) &&
           add_text(json, "device", device) && add_number(json, "memory_limit_bytes", limit) &&
           (grid->spill_bytes == 0 || add_number(json, "spill_bytes", (double)grid->spill_bytes)) &&
           add_text(json, "residuals", is_pytorch ? "eager" : "own") &&
           add_text(json, "edition", grid->edition != NULL ? grid->edition : "") &&
           add_text(json, "alloc_conf", grid->alloc_conf != NULL ? grid->alloc_conf : "") &&
           add_text(json, "alloc_conf_environment", environment != NULL ? environment : "") &&
           add_number(json, "warmup_steps", (double)grid->warmup_steps) &&
           add_number(json, "steps", (double)grid->steps) &&
           add_number(json, "seed", (double)grid->seed) &&
           add_number(json, "clip_grad_norm", grid->clip_grad_norm) &&
           cJSON_AddBoolToObject(json, "keep_graph", grid->keep_graph) != NULL &&
           cJSON_AddBoolToObject(json, "recorded", options->snapshots != NULL) != NULL &&
           tide_sweep_add_repeats(json, options->n_repeats);
}

/* Adds the number of cells for a file of a single one. If no cell is valid, fails with the reason
 * of the first one. */
static tide_status add_number_of_cells(cJSON *json, const tide_sweep_options *options,
                                       tide_error *error) {
    const tide_run_options *grid = &options->grid;
    tide_status refusal = TIDE_OK;
    for (size_t i = 0; i < tide_sweep_n_once(options); i++) {
        tide_run_config config;
        tide_status status =
            tide_run_options_configure(grid, i, "", &config, i == 0 ? error : NULL);
        refusal = i == 0 ? status : refusal;
        if (status == TIDE_OK) {
            return add_number(json, "cells", (double)tide_sweep_n_cells(options)) ? TIDE_OK
                                                                                  : TIDE_NO_MEMORY;
        }
    }
    return refusal;
}

/* Adds the names of all cells. If no cell is valid, fails with the reason of the first one. */
static tide_status add_names(cJSON *json, const tide_sweep_options *options, tide_error *error) {
    size_t n_cells = tide_sweep_n_cells(options);
    cJSON *array = cJSON_AddArrayToObject(json, "cells");
    tide_status refusal = TIDE_OK;
    bool some_make_sense = false;
    for (size_t i = 0; array != NULL && i < n_cells; i++) {
        tide_run_config config;
        char name[TIDE_RUN_NAME_BYTES];
        tide_status status = tide_sweep_configure(options, i, "", &config, i == 0 ? error : NULL);
        refusal = i == 0 ? status : refusal;
        some_make_sense = some_make_sense || status == TIDE_OK;
        tide_sweep_name_cell(options, i, &config.workload, name);
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

tide_status tide_model_sweep_header(const tide_sweep_options *options, const char *device,
                                    size_t shard, size_t n_shards, cJSON **ret_header,
                                    tide_error *error) {
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
    bool is_complete = add_text(header, "format", TIDE_SWEEP_FORMAT) &&
                       add_number(header, "version", TIDE_SWEEP_VERSION) &&
                       add_number(header, "shard", (double)shard) &&
                       add_number(header, "shards", (double)n_shards);
    json = is_complete ? cJSON_AddObjectToObject(header, "grid") : NULL;
    is_complete = json != NULL && add_models(json, grid) && add_lists(json, grid, &labels) &&
                  add_settings(json, options, device);
    tide_status status = TIDE_NO_MEMORY;
    if (is_complete) {
        status = options->cell != NULL ? add_number_of_cells(header, options, error)
                                       : add_names(header, options, error);
    }
    if (status != TIDE_OK) {
        cJSON_Delete(header);
        return status;
    }
    *ret_header = header;
    return TIDE_OK;
}
