#include "cli/forecast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- changes ---- */

/* A workload's peaks where nothing is short, and whether it fits the room. */
static tide_status try_change(const tide_forecast *f, const tide_workload_config *workload,
                              tide_forecast_change *change, tide_error *error) {
    tide_dry_room unbounded = f->room;
    tide_dry_run run;
    unbounded.capacity_bytes = UINT64_MAX;
    unbounded.cache.memory_limit_bytes = TIDE_UNLIMITED;
    unbounded.cache.per_process_memory_fraction = 1.0;
    TIDE_TRY(tide_dry_run_do(&unbounded, workload, &change->free, error));
    TIDE_TRY(tide_dry_run_do(&f->room, workload, &run, error));
    change->fits = run.fits;
    return TIDE_OK;
}

static tide_status change_attention(tide_forecast *f, tide_forecast_change_kind kind,
                                    tide_error *error) {
    static const char *const TEXTS[] = {"flash attention", "recompute of each block",
                                        "flash attention and recompute"};
    tide_forecast_change *change = &f->changes[kind];
    tide_workload_config workload = f->workload;
    bool has_flash = workload.attention == TIDE_ATTENTION_FLASH;
    bool has_recompute = workload.recompute == TIDE_RECOMPUTE_BLOCK;
    bool keeps = workload.mode != TIDE_FORWARD || workload.keep_graph;
    change->applies = kind == TIDE_CHANGE_FLASH       ? !has_flash
                      : kind == TIDE_CHANGE_RECOMPUTE ? keeps && !has_recompute
                                                      : keeps && !has_flash && !has_recompute;
    if (!change->applies) {
        return TIDE_OK;
    }
    (void)snprintf(change->text, sizeof(change->text), "%s", TEXTS[kind]);
    if (kind != TIDE_CHANGE_RECOMPUTE) {
        workload.attention = TIDE_ATTENTION_FLASH;
    }
    if (kind != TIDE_CHANGE_FLASH) {
        workload.recompute = TIDE_RECOMPUTE_BLOCK;
    }
    return try_change(f, &workload, change, error);
}

static void set_value(tide_workload_config *workload, tide_forecast_change_kind kind,
                      size_t value) {
    if (kind == TIDE_CHANGE_BATCH) {
        workload->model.batch_size = value;
    } else {
        workload->model.context_length = value;
    }
}

/* The largest value below the run's that fits, by bisection; 0: none does. */
static tide_status largest_below(const tide_forecast *f, tide_forecast_change_kind kind,
                                 size_t step, size_t *ret_value, tide_error *error) {
    const tide_model_config *model = &f->workload.model;
    size_t value = kind == TIDE_CHANGE_BATCH ? model->batch_size : model->context_length;
    size_t low = 0;                          /* in steps: fits, or is nothing */
    size_t high = (value + step - 1) / step; /* does not fit */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        tide_workload_config workload = f->workload;
        tide_dry_run run;
        set_value(&workload, kind, middle * step);
        TIDE_TRY(tide_dry_run_do(&f->room, &workload, &run, error));
        if (run.fits) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *ret_value = low * step;
    return TIDE_OK;
}

static tide_status change_value(tide_forecast *f, tide_forecast_change_kind kind,
                                tide_error *error) {
    tide_forecast_change *change = &f->changes[kind];
    size_t context = f->workload.model.context_length;
    size_t step = kind == TIDE_CHANGE_BATCH || context <= TIDE_FORECAST_CONTEXT_STEP
                      ? 1
                      : (size_t)TIDE_FORECAST_CONTEXT_STEP;
    size_t value = 0;
    TIDE_TRY(largest_below(f, kind, step, &value, error));
    change->applies = kind != TIDE_CHANGE_BATCH || f->workload.model.batch_size > 1;
    (void)snprintf(change->text, sizeof(change->text), "%s %zu",
                   kind == TIDE_CHANGE_BATCH ? "batch" : "context", value > 0 ? value : step);
    if (!change->applies) {
        return TIDE_OK;
    }
    tide_workload_config workload = f->workload;
    set_value(&workload, kind, value > 0 ? value : step);
    return try_change(f, &workload, change, error);
}

static tide_status try_changes(tide_forecast *f, tide_error *error) {
    TIDE_TRY(change_attention(f, TIDE_CHANGE_FLASH, error));
    TIDE_TRY(change_attention(f, TIDE_CHANGE_RECOMPUTE, error));
    TIDE_TRY(change_attention(f, TIDE_CHANGE_BOTH, error));
    TIDE_TRY(change_value(f, TIDE_CHANGE_BATCH, error));
    return change_value(f, TIDE_CHANGE_CONTEXT, error);
}

/* ---- what is alive at the peak ---- */

const char *tide_forecast_without_layer(const char *name) {
    static const char LAYERS[] = "layers.";
    const size_t n_start = sizeof(LAYERS) - 1;
    size_t n_digits =
        strncmp(name, LAYERS, n_start) == 0 ? strspn(name + n_start, "0123456789") : 0;
    return n_digits > 0 && name[n_start + n_digits] == '.' ? name + n_start + n_digits + 1 : name;
}

static tide_forecast_group *group_of(tide_forecast_group *groups, size_t *n_groups,
                                     const char *name, uint8_t category) {
    for (size_t i = 0; i < *n_groups; i++) {
        if (groups[i].category == category && strcmp(groups[i].name, name) == 0) {
            return &groups[i];
        }
    }
    groups[*n_groups] = (tide_forecast_group){.name = name, .category = category};
    return &groups[(*n_groups)++];
}

static int by_bytes(const void *a, const void *b) {
    const tide_forecast_group *left = a;
    const tide_forecast_group *right = b;
    if (left->bytes != right->bytes) {
        return left->bytes < right->bytes ? 1 : -1;
    }
    return strcmp(left->name, right->name);
}

static tide_status group_blocks(tide_forecast *f) {
    const tide_summary_peak *peak = f->peak;
    tide_forecast_group *groups = tide_arena_alloc(&f->arena, peak->n_blocks, sizeof(*groups));
    if (groups == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < peak->n_blocks; i++) {
        const tide_life *block = &peak->blocks[i];
        const char *name = tide_snapshot_text(f->snapshot, block->name);
        tide_forecast_group *group =
            group_of(groups, &f->n_groups, tide_forecast_without_layer(name), block->category);
        group->bytes += (int64_t)block->block_bytes;
        group->n_blocks++;
    }
    qsort(groups, f->n_groups, sizeof(*groups), by_bytes);
    f->groups = groups;
    return TIDE_OK;
}

/* ---- the forecast ---- */

tide_status tide_forecast_make(const tide_dry_room *room, const tide_workload_config *workload,
                               tide_forecast *ret_forecast, tide_error *error) {
    tide_forecast *f = ret_forecast;
    *f = (tide_forecast){.workload = *workload, .room = *room};
    tide_arena_init(&f->arena, tide_hostmem_default());
    TIDE_TRY(tide_dry_room_usable(room, &f->usable_bytes, &f->device, error));
    TIDE_TRY(tide_dry_run_record(room, workload, &f->free, &f->snapshot, error));
    TIDE_TRY(tide_summary_create(f->snapshot, &f->summary, error));
    if (f->summary->n_devices == 0) {
        return tide_fail(error, TIDE_INVALID, "the run allocates nothing");
    }
    f->peak = &f->summary->devices[tide_summary_main_device(f->summary)].peak;
    TIDE_TRY(group_blocks(f));
    TIDE_TRY(tide_dry_run_do(room, workload, &f->bounded, error));
    return f->bounded.fits ? TIDE_OK : try_changes(f, error);
}

void tide_forecast_fini(tide_forecast *forecast) {
    tide_summary_destroy(forecast->summary);
    tide_snapshot_destroy(forecast->snapshot);
    tide_arena_fini(&forecast->arena);
    *forecast = (tide_forecast){.peak = NULL};
}
