#include "snapshot/document/snapshot.h"

#include <string.h>

static void init_texts(tide_snapshot *snapshot) {
    snapshot->tool_version = "";
    snapshot->first_odd = "";
    snapshot->tool_build = "";
    snapshot->origin.format = "";
    snapshot->user_path = "";
    snapshot->clock_source = "none";
    snapshot->full_policy = "";
    snapshot->run.command = "";
    snapshot->run.precision = "";
    snapshot->run.mode = "";
    snapshot->run.attention = "";
    snapshot->run.recompute = "";
    snapshot->run.implementation = "";
    snapshot->run.outcome = "";
    snapshot->run.host_name = "";
    snapshot->run.host_os = "";
    snapshot->run.host_cpu = "";
    snapshot->run.host_computed_by = "";
    snapshot->forecast.card = "";
    snapshot->forecast.bound = "";
}

static void init_numbers(tide_snapshot *snapshot) {
    tide_snapshot_run *run = &snapshot->run;
    snapshot->device_uncertainty_ns = -1;
    run->started_unix_us = -1;
    run->batch_size = -1;
    run->context_length = -1;
    run->seed = -1;
    run->memory_limit_bytes = -1;
    run->clip_grad_norm = -1.0;
    run->host_n_cpus = -1;
    run->host_total_bytes = -1;
    snapshot->rank = (tide_snapshot_rank){-1, -1, -1, NULL, 0};
    run->model = (tide_snapshot_model){NULL, -1, -1, -1, -1, -1, -1};
    snapshot->at_failure = (tide_snapshot_at_failure){
        .device = -1, .allocated_bytes = -1, .collected_bytes = -1, .n_not_asked = -1};
    snapshot->timing.warmup_steps = -1;
    snapshot->timing.measured_steps = -1;
    snapshot->timing.flops = -1.0;
    snapshot->timing.stated_peak_flops = -1.0;
    snapshot->timing.recorder_ns_per_event = -1.0;
    tide_snapshot_forecast *forecast = &snapshot->forecast;
    forecast->step_ms = forecast->low_ms = forecast->high_ms = -1.0;
    forecast->gpu_ms = forecast->host_ms = forecast->utilisation = -1.0;
    forecast->guessed_share = forecast->uncompared_share = forecast->host_factor = -1.0;
    forecast->n_steps = forecast->step = -1;
    snapshot->timing.loss_scale = -1.0;
    snapshot->timing.n_skipped_steps = -1;
}

tide_status tide_snapshot_create(const tide_hostmem *mem, tide_snapshot **ret_snapshot) {
    if (mem == NULL) {
        mem = tide_hostmem_default();
    }
    tide_snapshot *snapshot = tide_hostmem_zeroed(mem, 1, sizeof(*snapshot));
    if (snapshot == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_arena_init(&snapshot->arena, mem);
    init_texts(snapshot);
    init_numbers(snapshot);
    *ret_snapshot = snapshot;
    return TIDE_OK;
}

void tide_snapshot_destroy(tide_snapshot *snapshot) {
    if (snapshot == NULL) {
        return;
    }
    const tide_hostmem *mem = snapshot->arena.mem;
    tide_arena_fini(&snapshot->arena);
    mem->release(mem->ctx, snapshot);
}

const char *tide_snapshot_text(const tide_snapshot *snapshot, uint32_t string) {
    return string < snapshot->n_strings ? snapshot->strings[string] : "";
}

bool tide_snapshot_lacks_peak(const tide_snapshot *snapshot) {
    return snapshot->n_dropped > 0 && strcmp(snapshot->origin.format, "pytorch") == 0;
}

bool tide_snapshot_is_pinned(const tide_snapshot *snapshot, size_t device) {
    return device < snapshot->n_devices &&
           strcmp(snapshot->devices[device].kind, TIDE_KIND_PINNED) == 0;
}

bool tide_snapshot_has_rank(const tide_snapshot *snapshot) {
    const tide_snapshot_rank *rank = &snapshot->rank;
    return rank->rank >= 0 || rank->local_rank >= 0 || rank->world_size >= 0 || rank->n_groups > 0;
}

const tide_snapshot_range *tide_snapshot_range_of(const tide_snapshot *snapshot, size_t device) {
    for (size_t i = 0; i < snapshot->n_ranges; i++) {
        if (snapshot->ranges[i].device == (int64_t)device) {
            return &snapshot->ranges[i];
        }
    }
    return NULL;
}

/* "/a/b", or of a recording that was made under Windows, "C:\\a\\b". */
static bool is_absolute(const char *text) {
    bool has_drive = ((text[0] >= 'A' && text[0] <= 'Z') || (text[0] >= 'a' && text[0] <= 'z')) &&
                     text[1] == ':' && (text[2] == '\\' || text[2] == '/');
    return text[0] == '/' || has_drive;
}

/* The last component of an absolute path, and any other text as it is. */
static const char *without_folder(const char *text) {
    if (!is_absolute(text)) {
        return text;
    }
    const char *name = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '/' || (*at == '\\' && text[0] != '/')) {
            name = at + 1;
        }
    }
    return name;
}

/* The programs of other people, perhaps. */
static tide_status strip_processes(tide_snapshot *snapshot) {
    tide_snapshot_at_failure *at = &snapshot->at_failure;
    tide_snapshot_process *rows =
        tide_arena_copy(&snapshot->arena, at->processes, at->n_processes, sizeof(*rows));
    for (size_t i = 0; rows != NULL && i < at->n_processes; i++) {
        rows[i].name = "";
    }
    at->processes = rows;
    return rows != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

tide_status tide_snapshot_strip_private(tide_snapshot *snapshot) {
    const char **strings =
        tide_arena_alloc(&snapshot->arena, snapshot->n_strings, sizeof(*strings));
    tide_snapshot_setting *settings =
        tide_arena_alloc(&snapshot->arena, snapshot->n_settings, sizeof(*settings));
    if (strings == NULL || settings == NULL || strip_processes(snapshot) != TIDE_OK) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < snapshot->n_strings; i++) {
        strings[i] = without_folder(snapshot->strings[i]);
    }
    for (size_t i = 0; i < snapshot->n_settings; i++) {
        settings[i] = snapshot->settings[i];
        if (settings[i].text != NULL) {
            settings[i].text = without_folder(settings[i].text);
        }
    }
    snapshot->strings = strings;
    snapshot->settings = settings;
    snapshot->user_path = without_folder(snapshot->user_path);
    snapshot->run.command = "";
    snapshot->run.host_name = "";
    snapshot->source = NULL;
    snapshot->n_source = 0;
    snapshot->n_source_omitted = 0;
    return TIDE_OK;
}
