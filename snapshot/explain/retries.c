#include "snapshot/explain/retries.h"

#include <stdbool.h>
#include <string.h>

#include "snapshot/document/owners.h"
#include "snapshot/document/reserved.h"

static bool collects_garbage(const tide_snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->n_settings; i++) {
        const tide_snapshot_setting *setting = &snapshot->settings[i];
        if (strcmp(setting->name, "garbage_collection_threshold") == 0 &&
            (setting->text != NULL || setting->number > 0.0)) {
            return true;
        }
    }
    return false;
}

/* A program without PyTorch has no cache that would be emptied: it frees memory of the device and
 * allocates it again where it pleases. */
static bool has_cache(const tide_snapshot *snapshot) {
    return strcmp(snapshot->origin.format, "pytorch") == 0 ||
           snapshot->run.implementation[0] != '\0';
}

/* What PyTorch could certainly reserve of the device: its highest reserved bytes. A device refuses
 * only what exceeds this. Where the cache is emptied to try plans, also what was never used: of
 * other programs it may be beyond a fraction that they set. */
static uint64_t certain_room(const tide_snapshot *snapshot, size_t device) {
    const tide_snapshot_work_areas *areas = tide_work_areas_of(snapshot, device);
    bool tries_plans = areas != NULL && areas->is_benchmark;
    int64_t left_bytes = tries_plans ? tide_owners_left(snapshot, device) : 0;
    uint64_t peak_bytes = tide_reserved_peak(snapshot, device);
    return left_bytes > 0 && (uint64_t)left_bytes < UINT64_MAX - peak_bytes
               ? peak_bytes + (uint64_t)left_bytes
               : peak_bytes;
}

int64_t tide_retries_count(const tide_snapshot *snapshot, size_t device) {
    int64_t n = 0;
    uint32_t freed_by = TIDE_NONE; /* the stack of the preceding rows, which free segments */
    uint64_t before_bytes = 0;     /* reserved before these rows */
    if (collects_garbage(snapshot) || !has_cache(snapshot)) {
        return 0;
    }
    uint64_t room_bytes = certain_room(snapshot, device);
    uint64_t reserved_bytes = tide_reserved_at_start(snapshot, device);
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        if (row.device != device) {
            continue;
        }
        bool frees = tide_action_takes_segment(row.action);
        bool allocates = tide_action_gives_segment(row.action);
        uint32_t stack = frees || allocates ? row.stack : TIDE_NONE;
        before_bytes = frees && freed_by != stack ? reserved_bytes : before_bytes;
        /* No segment is larger than the peak, so the difference does not wrap. */
        n += allocates && freed_by != TIDE_NONE && stack == freed_by &&
             room_bytes - row.block_bytes < before_bytes;
        freed_by = frees ? stack : TIDE_NONE;
        tide_reserved_pass(&row, &reserved_bytes);
    }
    return n;
}
