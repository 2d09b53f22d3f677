/* The ends of the range of a peak that depends on when work on streams completes, which the
 * snapshots store: both if the program was run twice, or the one of a single run. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/hostmem.h"

/* The peaks of one process of a run. */
struct tide_run_end {
    int64_t rank;
    size_t n_devices;
    int64_t allocated_bytes[TIDE_RUN_DEVICES], reserved_bytes[TIDE_RUN_DEVICES];
    char path[TIDE_PATH_BYTES]; /* of its snapshot; "": none written */
};

/* A failed program may not have reached its peak. */
static bool is_whole(const tide_run_answer *of) {
    return of->launch->exit_status == 0 && of->launch->signal_number == 0;
}

static size_t n_devices_of(const tide_run_saved *process) {
    size_t n = process->left->n_devices;
    n = process->snapshot->n_devices < n ? process->snapshot->n_devices : n;
    return n < TIDE_RUN_DEVICES ? n : TIDE_RUN_DEVICES;
}

void tide_run_take_ends(const tide_run_answer *of, tide_run_figures *to) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n = of->list->n_processes;
    tide_run_end *ends = is_whole(of) ? tide_hostmem_zeroed(mem, n + 1, sizeof(*ends)) : NULL;
    for (size_t i = 0; ends != NULL && i < n; i++) {
        const tide_run_saved *process = &of->processes[i];
        ends[i].rank = process->left->rank;
        (void)snprintf(ends[i].path, sizeof(ends[i].path), "%s", process->path);
        ends[i].n_devices = process->snapshot != NULL ? n_devices_of(process) : 0;
        for (size_t d = 0; d < ends[i].n_devices; d++) {
            ends[i].allocated_bytes[d] = tide_run_allocated_peak(of, (tide_run_place){i, d});
            ends[i].reserved_bytes[d] = tide_run_reserved_peak(of, (tide_run_place){i, d});
        }
    }
    to->ends = ends;
}

void tide_run_figures_fini(tide_run_figures *figures) {
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, figures->ends);
    figures->ends = NULL;
    tide_run_log_destroy(figures->log);
    figures->log = NULL;
}

static int64_t lower(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t higher(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Cards that neither run used, and memory of the host, have no range. */
static tide_status set_ranges(tide_snapshot *snapshot, const tide_run_end *now,
                              const tide_run_end *late) {
    tide_snapshot_range *rows =
        tide_arena_alloc(&snapshot->arena, now->n_devices + 1, sizeof(*rows));
    size_t n = 0;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t d = 0; d < now->n_devices; d++) {
        bool is_used = now->reserved_bytes[d] > 0 || late->reserved_bytes[d] > 0;
        if (is_used && !tide_snapshot_is_pinned(snapshot, d)) {
            rows[n++] = (tide_snapshot_range){
                .device = (int64_t)d,
                .allocated_low_bytes = lower(now->allocated_bytes[d], late->allocated_bytes[d]),
                .allocated_high_bytes = higher(now->allocated_bytes[d], late->allocated_bytes[d]),
                .reserved_low_bytes = lower(now->reserved_bytes[d], late->reserved_bytes[d]),
                .reserved_high_bytes = higher(now->reserved_bytes[d], late->reserved_bytes[d])};
        }
    }
    snapshot->ranges = rows;
    snapshot->n_ranges = n;
    return TIDE_OK;
}

static tide_status keep(const tide_run_end *now, const tide_run_end *late, tide_error *error) {
    tide_snapshot *snapshot = NULL;
    TIDE_TRY(tide_snapshot_load(now->path, NULL, &snapshot, error));
    tide_status status = set_ranges(snapshot, now, late);
    if (status == TIDE_OK) {
        status = tide_snapshot_save(snapshot, now->path, error);
    }
    tide_snapshot_destroy(snapshot);
    return status;
}

/* Processes are ordered by rank, which is the only way to distinguish them. */
static bool are_alike(const tide_run_figures *now, const tide_run_figures *late) {
    bool alike = now->n_processes == late->n_processes;
    for (size_t i = 0; alike && i < now->n_processes; i++) {
        alike = now->ends[i].rank == late->ends[i].rank &&
                now->ends[i].n_devices == late->ends[i].n_devices;
    }
    return alike;
}

tide_status tide_run_keep_range(const tide_run_figures *now, const tide_run_figures *late,
                                tide_error *error) {
    if (now->ends == NULL || late->ends == NULL || !are_alike(now, late)) {
        tide_cli_note(TIDE_COMMAND_RUN, "the snapshots do not have the range of the peaks: %s",
                      now->ends == NULL || late->ends == NULL
                          ? "a run of the two failed, so that its peak may be none"
                          : "the processes of the two runs were not the same");
        return TIDE_OK;
    }
    for (size_t i = 0; i < now->n_processes; i++) {
        if (now->ends[i].path[0] != '\0') {
            TIDE_TRY(keep(&now->ends[i], &late->ends[i], error));
        }
    }
    return TIDE_OK;
}

tide_status tide_run_set_end(const tide_run_answer *of, size_t i, tide_snapshot *snapshot) {
    const tide_run_saved *process = &of->processes[i];
    bool is_late = strcmp(of->config->streams, "late") == 0;
    if (!is_whole(of) || !tide_run_reduced_large(of, i)) {
        return TIDE_OK;
    }
    size_t n_devices = n_devices_of(process);
    tide_snapshot_range *rows = tide_arena_alloc(&snapshot->arena, n_devices + 1, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t d = 0; d < n_devices; d++) {
        const tide_run_place at = {i, d};
        int64_t allocated_bytes = tide_run_allocated_peak(of, at);
        int64_t reserved_bytes = tide_run_reserved_peak(of, at);
        if (reserved_bytes > 0 && !tide_snapshot_is_pinned(snapshot, d)) {
            rows[snapshot->n_ranges++] =
                (tide_snapshot_range){.device = (int64_t)d,
                                      .allocated_low_bytes = is_late ? -1 : allocated_bytes,
                                      .allocated_high_bytes = is_late ? allocated_bytes : -1,
                                      .reserved_low_bytes = is_late ? -1 : reserved_bytes,
                                      .reserved_high_bytes = is_late ? reserved_bytes : -1};
        }
    }
    snapshot->ranges = rows;
    return TIDE_OK;
}
