/* settings.c - the allocator's effective constants, under PyTorch's names, in bytes. */
#include <stdio.h>
#include <string.h>

#include "capture/capture_internal.h"
#include "common/assert.h"

enum { DIVISIONS_TEXT = 512 };

static double bytes_or_unlimited(size_t n_bytes) {
    return n_bytes == TIDE_UNLIMITED ? -1.0 : (double)n_bytes;
}

/* "[1:0,2:4,...,32768:8]", each interval by its lower bound in MiB; NULL and the number when all
 * are the same. */
static tide_status set_divisions(const size_t *divisions, tide_arena *arena,
                                 tide_snapshot_setting *setting) {
    char text[DIVISIONS_TEXT];
    size_t n_used = 0;
    bool all_same = true;
    for (size_t i = 0; i < TIDE_N_ROUNDUP_INTERVALS; i++) {
        all_same = all_same && divisions[i] == divisions[0];
        int n = snprintf(text + n_used, sizeof(text) - n_used, "%c%zu:%zu", i == 0 ? '[' : ',',
                         (size_t)1 << i, divisions[i]);
        n_used += n < 0 ? 0 : (size_t)n;
        TIDE_ASSERT(n_used < sizeof(text) - 1); /* 16 entries of at most 1 + 5 + 1 + 20 bytes */
    }
    setting->number = (double)divisions[0];
    if (all_same) {
        return TIDE_OK;
    }
    memcpy(text + n_used, "]", 2);
    setting->text = tide_arena_text(arena, text);
    return setting->text == NULL ? TIDE_NO_MEMORY : TIDE_OK;
}

tide_status tide_capture_settings(const tide_cache_config *config, tide_snapshot *snapshot) {
    const tide_snapshot_setting known[] = {
        {"memory_limit", NULL, bytes_or_unlimited(config->memory_limit_bytes)},
        {"per_process_memory_fraction", NULL, config->per_process_memory_fraction},
        {"min_block_size", NULL, (double)config->min_block_bytes},
        {"small_size", NULL, (double)config->small_bytes},
        {"small_buffer", NULL, (double)config->small_segment_bytes},
        {"min_large_alloc", NULL, (double)config->min_large_bytes},
        {"large_segment_size", NULL, (double)config->large_segment_bytes},
        {"round_large", NULL, (double)config->round_large_bytes},
        {"max_split_size", NULL, bytes_or_unlimited(config->max_split_bytes)},
        {"max_non_split_rounding", NULL, bytes_or_unlimited(config->max_non_split_rounding_bytes)},
        {"garbage_collection_threshold", NULL, config->garbage_collection_threshold},
        {"expandable_segments", NULL, config->expandable_segments ? 1.0 : 0.0},
    };
    const size_t n_known = sizeof(known) / sizeof(known[0]);
    tide_snapshot_setting *settings =
        tide_arena_alloc(&snapshot->arena, n_known + 1, sizeof(*settings));
    if (settings == NULL) {
        return TIDE_NO_MEMORY;
    }
    memcpy(settings, known, sizeof(known));
    settings[n_known].name = "roundup_power2_divisions";
    TIDE_TRY(set_divisions(config->roundup_power2_divisions, &snapshot->arena, &settings[n_known]));
    snapshot->settings = settings;
    snapshot->n_settings = n_known + 1;
    return TIDE_OK;
}
