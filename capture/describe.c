/* describe.c - copies device, run and timing into the document. */
#include <string.h>

#include "capture/capture_internal.h"

/* NULL becomes "". False without memory. */
static bool copy_text(tide_arena *arena, const char *text, const char **ret_copy) {
    *ret_copy = text == NULL ? "" : tide_arena_text(arena, text);
    return *ret_copy != NULL;
}

tide_status tide_capture_device(const tide_device_info *info, tide_snapshot *snapshot) {
    tide_snapshot_device *device = tide_arena_alloc(&snapshot->arena, 1, sizeof(*device));
    if (device == NULL) {
        return TIDE_NO_MEMORY;
    }
    device->kind = tide_device_kind_name(info->kind);
    device->total_bytes = info->total_bytes;
    device->compute_capability = info->compute_capability;
    device->driver_version = info->driver_version;
    device->runtime_version = info->runtime_version;
    device->sm_clock_khz = info->sm_clock_khz;
    device->memory_clock_khz = info->memory_clock_khz;
    if (!copy_text(&snapshot->arena, info->name, &device->name)) {
        return TIDE_NO_MEMORY;
    }
    snapshot->devices = device;
    snapshot->n_devices = 1;
    return TIDE_OK;
}

tide_status tide_capture_run(const tide_snapshot_run *run, tide_snapshot *snapshot) {
    if (run == NULL) {
        return TIDE_OK; /* tide_snapshot_create made it empty */
    }
    tide_arena *arena = &snapshot->arena;
    tide_snapshot_run copy = *run;
    bool copied = copy_text(arena, run->command, &copy.command) &&
                  copy_text(arena, run->precision, &copy.precision) &&
                  copy_text(arena, run->mode, &copy.mode) &&
                  copy_text(arena, run->attention, &copy.attention) &&
                  copy_text(arena, run->recompute, &copy.recompute) &&
                  copy_text(arena, run->implementation, &copy.implementation) &&
                  copy_text(arena, run->outcome, &copy.outcome) &&
                  copy_text(arena, run->host_name, &copy.host_name) &&
                  copy_text(arena, run->host_os, &copy.host_os) &&
                  copy_text(arena, run->host_cpu, &copy.host_cpu) &&
                  copy_text(arena, run->host_computed_by, &copy.host_computed_by);
    if (copied && run->model.size != NULL) { /* NULL: no model ran */
        copied = copy_text(arena, run->model.size, &copy.model.size);
    }
    if (!copied) {
        return TIDE_NO_MEMORY;
    }
    snapshot->run = copy;
    return TIDE_OK;
}

/* NULL stays NULL. False without memory. */
static bool copy_samples(tide_arena *arena, const double *samples, size_t n,
                         const double **ret_copy) {
    *ret_copy = NULL;
    if (samples == NULL) {
        return true;
    }
    double *copy = tide_arena_alloc(arena, n, sizeof(*copy));
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, samples, n * sizeof(*copy));
    *ret_copy = copy;
    return true;
}

tide_status tide_capture_timing(const tide_snapshot_timing *timing, tide_snapshot *snapshot) {
    if (timing == NULL) {
        return TIDE_OK;
    }
    tide_arena *arena = &snapshot->arena;
    tide_snapshot_phase *phases = tide_arena_alloc(arena, timing->n_phases, sizeof(*phases));
    if (phases == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < timing->n_phases; i++) {
        const tide_snapshot_phase *from = &timing->phases[i];
        phases[i].n_samples = from->n_samples;
        if (!copy_text(arena, from->name, &phases[i].name) ||
            !copy_samples(arena, from->host_ms, from->n_samples, &phases[i].host_ms) ||
            !copy_samples(arena, from->device_ms, from->n_samples, &phases[i].device_ms)) {
            return TIDE_NO_MEMORY;
        }
    }
    tide_snapshot_timing copy = *timing;
    copy.phases = phases;
    if (!copy_samples(arena, timing->recorded_step_ms, timing->n_recorder_pairs,
                      &copy.recorded_step_ms) ||
        !copy_samples(arena, timing->unrecorded_step_ms, timing->n_recorder_pairs,
                      &copy.unrecorded_step_ms) ||
        !copy_samples(arena, timing->losses, timing->n_losses, &copy.losses)) {
        return TIDE_NO_MEMORY;
    }
    snapshot->timing = copy;
    return TIDE_OK;
}
