#include "snapshot/explain/retries.h"

#include <stdbool.h>
#include <string.h>

#include "snapshot/document/owners.h"

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

/* The reserved bytes of a device, by the rows so far. Figures of a file may be any: sums wrap. */
typedef struct reserve {
    uint64_t now_bytes, peak_bytes;
} reserve;

static reserve at_start(const tide_snapshot *snapshot, size_t device) {
    reserve of = {.now_bytes = 0};
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        of.now_bytes += segment->device == device ? segment->total_bytes : 0;
    }
    of.peak_bytes = of.now_bytes;
    return of;
}

static bool frees_segment(uint8_t action) {
    return action == TIDE_ACTION_SEGMENT_FREE || action == TIDE_ACTION_SEGMENT_UNMAP;
}

static void pass(reserve *of, const tide_snapshot *snapshot, size_t i) {
    uint8_t action = snapshot->events.action[i];
    bool gives = tide_action_gives_segment(action);
    if (gives || frees_segment(action)) {
        uint64_t n_bytes = tide_event_at(snapshot, i).block_bytes;
        of->now_bytes += gives ? n_bytes : (uint64_t)0 - n_bytes;
        of->peak_bytes = of->now_bytes > of->peak_bytes ? of->now_bytes : of->peak_bytes;
    }
}

static bool tries_plans(const tide_snapshot *snapshot, size_t device) {
    for (size_t i = 0; i < snapshot->n_work_areas; i++) {
        if (snapshot->work_areas[i].device == (int64_t)device) {
            return snapshot->work_areas[i].is_benchmark;
        }
    }
    return false;
}

/* What PyTorch could certainly reserve of the device: its highest reserved bytes. A device refuses
 * only what exceeds this. Where the cache is emptied to try plans, also what was never used: of
 * other programs it may be beyond a fraction that they set. */
static uint64_t certain_room(const tide_snapshot *snapshot, size_t device) {
    reserve of = at_start(snapshot, device);
    int64_t left_bytes = tries_plans(snapshot, device) ? tide_owners_left(snapshot, device) : 0;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (snapshot->events.device[i] == device) {
            pass(&of, snapshot, i);
        }
    }
    return of.peak_bytes + (left_bytes > 0 ? (uint64_t)left_bytes : 0);
}

int64_t tide_retries_count(const tide_snapshot *snapshot, size_t device) {
    int64_t n = 0;
    uint32_t freed_by = TIDE_NONE; /* the stack of the preceding rows, which free segments */
    uint64_t before_bytes = 0;     /* reserved before these rows */
    if (collects_garbage(snapshot) || !has_cache(snapshot)) {
        return 0;
    }
    uint64_t room_bytes = certain_room(snapshot, device);
    reserve of = at_start(snapshot, device);
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (snapshot->events.device[i] != device) {
            continue;
        }
        uint8_t action = snapshot->events.action[i];
        bool frees = frees_segment(action);
        bool allocates = tide_action_gives_segment(action);
        uint32_t stack = frees || allocates ? tide_index_at(&snapshot->events.stack, i) : TIDE_NONE;
        before_bytes = frees && freed_by != stack ? of.now_bytes : before_bytes;
        n += allocates && freed_by != TIDE_NONE && stack == freed_by &&
             before_bytes + tide_event_at(snapshot, i).block_bytes > room_bytes;
        freed_by = frees ? stack : TIDE_NONE;
        pass(&of, snapshot, i);
    }
    return n;
}
