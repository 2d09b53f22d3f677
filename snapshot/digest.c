#include "snapshot/digest.h"

#include <string.h>

#include "snapshot/digest_internal.h"

static const char *own_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* ---- the rank ---- */

/* The one rank that texts of the recording name; -1: none, or several. */
static int64_t rank_of_strings(const tide_snapshot *snapshot) {
    int64_t found = -1;
    for (size_t i = 0; i < snapshot->n_strings; i++) {
        int64_t rank = tide_digest_rank_of_text(snapshot->strings[i]);
        if (rank >= 0 && found >= 0 && rank != found) {
            return -1;
        }
        found = rank >= 0 ? rank : found;
    }
    return found;
}

int64_t tide_digest_find_rank(const tide_snapshot *snapshot, const tide_digest_source *source,
                              const char **ret_from) {
    const struct {
        const char *from;
        int64_t rank;
    } PLACES[] = {{TIDE_RANK_OPTION, source->rank},
                  {TIDE_RANK_RECORDED, snapshot->rank.rank},
                  {TIDE_RANK_ANNOTATION, rank_of_strings(snapshot)},
                  {TIDE_RANK_FILE_NAME, tide_digest_rank_of_path(source->path)}};
    for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++) {
        if (PLACES[i].rank >= 0) {
            *ret_from = PLACES[i].from;
            return PLACES[i].rank;
        }
    }
    *ret_from = TIDE_RANK_UNKNOWN;
    return -1;
}

/* ---- devices ---- */

static tide_digest_bytes bytes_of(const tide_totals *totals) {
    return (tide_digest_bytes){totals->requested_bytes, totals->allocated_bytes,
                               totals->active_bytes, totals->reserved_bytes};
}

static tide_status add_oom(const tide_digest_parts *of, const tide_summary_device *from,
                           tide_digest_device *device) {
    device->oom.event = from->oom_event;
    device->oom.line = "";
    device->oom.time_ns = -1;
    if (from->oom_event < 0) {
        return TIDE_OK;
    }
    device->oom.time_ns = of->snapshot->events[from->oom_event].time_ns;
    device->oom.requested_bytes = from->oom_requested_bytes;
    device->oom.free_bytes = from->oom_free_bytes;
    device->oom.line = tide_digest_line(of, of->snapshot->events[from->oom_event].stack);
    return device->oom.line != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_digest_device figures_of(const tide_snapshot *snapshot, const tide_summary *summary,
                                     size_t index) {
    const tide_summary_device *from = &summary->devices[index];
    const tide_snapshot_device *device = &snapshot->devices[index];
    const tide_snapshot_range *range = tide_snapshot_range_of(snapshot, index);
    int64_t reserved_bytes = from->max[TIDE_MAX_RESERVED].bytes;
    tide_digest_device made = {
        .index = (int64_t)index,
        .kind = device->kind,
        .name = device->name,
        .total_bytes = device->total_bytes,
        .n_dropped = (int64_t)summary->n_dropped,
        .peak = {.event = from->peak.event,
                 .time_ns = from->peak.time_ns,
                 .step = from->peak.step,
                 .phase = from->peak.phase,
                 .bytes = bytes_of(&from->peak.totals)},
        .max = {from->max[TIDE_MAX_REQUESTED].bytes, from->max[TIDE_MAX_ALLOCATED].bytes,
                from->max[TIDE_MAX_ACTIVE].bytes, reserved_bytes},
        .end = bytes_of(&from->end),
        .headroom_bytes = device->total_bytes >= 0 ? device->total_bytes - reserved_bytes : -1,
        .low_bytes = range != NULL ? range->allocated_low_bytes : -1,
        .high_bytes = range != NULL ? range->allocated_high_bytes : -1,
        .reserved_low_bytes = range != NULL ? range->reserved_low_bytes : -1,
        .reserved_high_bytes = range != NULL ? range->reserved_high_bytes : -1,
        .growth = {.since_step = -1, .line = ""},
    };
    for (int i = 0; i < TIDE_N_ACTIONS; i++) {
        made.n_events += from->counts[i];
    }
    return made;
}

static tide_status add_device(const tide_digest_parts *of, const tide_summary *summary,
                              tide_digest_device *device) {
    const tide_summary_device *from = &summary->devices[device->index];
    TIDE_TRY(add_oom(of, from, device));
    TIDE_TRY(tide_digest_add_rows(of, &from->peak, device));
    TIDE_TRY(tide_digest_add_steps(of, device));
    return tide_digest_add_timeline(of, device);
}

static tide_status add_devices(const tide_digest_parts *of, const tide_summary *summary,
                               tide_digest *digest) {
    tide_digest_device *devices = tide_arena_alloc(of->arena, summary->n_devices, sizeof(*devices));
    if (devices == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < summary->n_devices; i++) {
        tide_digest_device *device = &devices[digest->n_devices];
        *device = figures_of(of->snapshot, summary, i);
        if (device->n_events > 0 || device->max.reserved_bytes > 0) {
            TIDE_TRY(add_device(of, summary, device));
            digest->n_devices++;
        }
    }
    digest->devices = devices;
    return TIDE_OK;
}

/* ---- the whole ---- */

static void copy_plain(tide_digest *digest, const tide_snapshot *from) {
    digest->tool_version = from->tool_version;
    digest->tool_build = from->tool_build;
    digest->format = from->origin.format[0] != '\0' ? from->origin.format : "tidemark";
    digest->command = from->run.command;
    digest->outcome = from->run.outcome;
    digest->started_unix_us = from->run.started_unix_us;
    digest->node = from->run.host_name;
    digest->host_name = from->run.host_name;
    digest->host_os = from->run.host_os;
    digest->host_cpu = from->run.host_cpu;
    digest->software = from->software;
    digest->n_software = from->n_software;
    digest->settings = from->settings;
    digest->n_settings = from->n_settings;
    digest->owners = from->owners;
    digest->n_owners = from->n_owners;
    digest->inexact = from->inexact;
    digest->n_inexact = from->n_inexact;
}

static tide_status make(const tide_digest_parts *of, tide_digest *digest, tide_error *error) {
    tide_summary *summary = NULL;
    TIDE_TRY(tide_summary_create_from(of->snapshot, of->lifetimes, NULL, &summary, error));
    tide_status status = add_devices(of, summary, digest);
    for (size_t i = 0; status == TIDE_OK && i < digest->n_devices; i++) {
        /* The phase is the summary's, which goes. */
        tide_digest_device *device = &digest->devices[i];
        device->peak.phase = tide_arena_text(of->arena, device->peak.phase);
        status = device->peak.phase != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    }
    tide_summary_destroy(summary);
    return status;
}

tide_status tide_digest_make(const tide_snapshot *snapshot, const tide_digest_source *source,
                             tide_arena *arena, tide_digest **ret_digest, tide_error *error) {
    const tide_hostmem *mem = arena->mem;
    tide_lifetimes lifetimes;
    tide_scope_paths paths;
    tide_export_series series;
    tide_digest *digest = tide_arena_alloc(arena, 1, sizeof(*digest));
    if (digest == NULL) {
        return TIDE_NO_MEMORY;
    }
    copy_plain(digest, snapshot);
    digest->rank = snapshot->rank;
    digest->rank.rank = tide_digest_find_rank(snapshot, source, &digest->from);
    digest->file = tide_arena_text(arena, own_name(source->path));
    if (digest->file == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(tide_lifetimes_init(&lifetimes, snapshot, mem, error));
    tide_status status = tide_scope_paths_init(&paths, snapshot, mem);
    if (status != TIDE_OK) {
        goto fail_paths;
    }
    status = tide_export_series_init(&series, snapshot, error);
    if (status != TIDE_OK) {
        goto fail_series;
    }
    const tide_digest_parts parts = {snapshot, &lifetimes, &paths, &series, arena};
    status = make(&parts, digest, error);
    tide_export_series_fini(&series);
fail_series:
    tide_scope_paths_fini(&paths);
fail_paths:
    tide_lifetimes_fini(&lifetimes);
    if (status == TIDE_OK) {
        *ret_digest = digest;
    }
    return status;
}
