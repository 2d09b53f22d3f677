/* Makes a snapshot of a replayed run: its own events and segments, with the recorded stacks, scopes
 * and texts, to which the rows of the replay refer. */
#include <string.h>

#include "common/assert.h"
#include "replay/replay_internal.h"
#include "replay/settings_internal.h"

tide_status tide_replay_copy_state(const tide_replay_lane *lane, tide_replay_state *state,
                                   tide_error *error) {
    const tide_hostmem *mem = lane->replay->mem;
    tide_cache_state now;
    TIDE_TRY(tide_cache_copy_state(lane->cache, mem, &now, error));
    tide_status status = TIDE_OK;
    tide_segment_row *segments =
        tide_hostmem_grow(mem, state->segments, &state->segments_capacity,
                          state->n_segments + now.n_segments + 1, sizeof(*segments));
    if (segments != NULL) {
        state->segments = segments;
    }
    tide_block_row *blocks = tide_hostmem_grow(mem, state->blocks, &state->blocks_capacity,
                                               state->n_blocks + now.n_blocks + 1, sizeof(*blocks));
    if (blocks != NULL) {
        state->blocks = blocks;
    }
    if (segments == NULL || blocks == NULL) {
        status = tide_fail(error, TIDE_NO_MEMORY, "no host memory for the replay's snapshot");
        goto done;
    }
    for (size_t i = 0; i < now.n_segments; i++) {
        tide_segment_row row = now.segments[i];
        TIDE_ASSERT(row.first_block + row.n_blocks <= now.n_blocks);
        row.device = lane->number;
        row.stream = lane->stream_of[row.stream];
        row.first_block += state->n_blocks;
        segments[state->n_segments++] = row;
    }
    if (now.n_blocks > 0) {
        memcpy(&blocks[state->n_blocks], now.blocks, now.n_blocks * sizeof(*blocks));
        state->n_blocks += now.n_blocks;
    }

done:
    tide_cache_state_fini(&now);
    return status;
}

tide_status tide_replay_snapshot(const tide_replay *replay, tide_snapshot **ret_snapshot,
                                 tide_error *error) {
    tide_snapshot *snapshot = NULL;
    if (tide_snapshot_create(replay->mem, &snapshot) != TIDE_OK) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the replay's snapshot");
    }
    tide_arena arena = snapshot->arena;
    *snapshot = *replay->snapshot; /* the recorded tables are borrowed */
    snapshot->arena = arena;
    const tide_replay_state *start = &replay->states->start;
    const tide_replay_state *end = &replay->states->end;
    snapshot->start_segments = start->segments;
    snapshot->n_start_segments = start->n_segments;
    snapshot->start_blocks = start->blocks;
    snapshot->n_start_blocks = start->n_blocks;
    snapshot->end_segments = end->segments;
    snapshot->n_end_segments = end->n_segments;
    snapshot->end_blocks = end->blocks;
    snapshot->n_end_blocks = end->n_blocks;
    snapshot->n_events = replay->n_rows;
    snapshot->run.memory_limit_bytes = replay->config.memory_limit_bytes == TIDE_UNLIMITED
                                           ? -1
                                           : (int64_t)replay->config.memory_limit_bytes;
    snapshot->run.outcome = replay->figures.n_ooms > 0 ? TIDE_SNAPSHOT_OOM : snapshot->run.outcome;
    if (tide_event_table_from_rows(&snapshot->arena, replay->rows, replay->n_rows,
                                   &snapshot->events) != TIDE_OK ||
        tide_replay_set_settings(&replay->config, snapshot) != TIDE_OK) {
        tide_snapshot_destroy(snapshot);
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the replay's snapshot");
    }
    *ret_snapshot = snapshot;
    return TIDE_OK;
}
