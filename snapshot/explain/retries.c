#include "snapshot/explain/retries.h"

#include <stdbool.h>
#include <string.h>

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

int64_t tide_retries_count(const tide_snapshot *snapshot, size_t device) {
    int64_t n = 0;
    uint32_t freed_by = TIDE_NONE; /* the stack of the preceding rows, which free segments */
    if (collects_garbage(snapshot) || !has_cache(snapshot)) {
        return 0;
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (snapshot->events.device[i] != device) {
            continue;
        }
        uint8_t action = snapshot->events.action[i];
        bool frees = action == TIDE_ACTION_SEGMENT_FREE || action == TIDE_ACTION_SEGMENT_UNMAP;
        bool allocates = tide_action_gives_segment(action);
        uint32_t stack = frees || allocates ? tide_index_at(&snapshot->events.stack, i) : TIDE_NONE;
        n += allocates && freed_by != TIDE_NONE && stack == freed_by;
        freed_by = frees ? stack : TIDE_NONE;
    }
    return n;
}
