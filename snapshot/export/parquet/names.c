/* names.c - the tables that events refer to, and the table of devices. */
#include "snapshot/export/parquet/tables_internal.h"

void tide_pq_put_unless(tide_parquet_file *file, size_t column, int64_t value, int64_t none) {
    if (value == none) {
        tide_parquet_put_null(file, column);
    } else {
        tide_parquet_put_integer(file, column, value);
    }
}

void tide_pq_put_index(tide_parquet_file *file, size_t column, uint32_t index) {
    tide_pq_put_unless(file, column, index, TIDE_NONE);
}

void tide_pq_put_string(tide_parquet_file *file, size_t column, const tide_snapshot *document,
                        uint32_t string) {
    tide_parquet_put_text(file, column,
                          string == TIDE_NONE ? NULL : tide_snapshot_text(document, string));
}

/* Puts a text that is "" if unknown. */
static void put_known(tide_parquet_file *file, size_t column, const char *text) {
    tide_parquet_put_text(file, column, text[0] == '\0' ? NULL : text);
}

/* The groups of ranks that the process was in. */
static tide_status put_groups(const tide_snapshot *document, tide_parquet_file *file) {
    for (size_t i = 0; i < document->rank.n_groups; i++) {
        const tide_snapshot_group *group = &document->rank.groups[i];
        tide_parquet_put_integer(file, GROUP_GROUP, (int64_t)i);
        tide_parquet_put_text(file, GROUP_NAME, group->name);
        put_known(file, GROUP_DESCRIPTION, group->description);
        tide_pq_put_unless(file, GROUP_SIZE, group->size, -1);
        tide_pq_put_unless(file, GROUP_POSITION, group->position, -1);
        tide_pq_put_unless(file, GROUP_FIRST, group->first, -1);
        tide_pq_put_unless(file, GROUP_STRIDE, group->stride > 0 ? group->stride : -1, -1);
        TIDE_TRY(tide_parquet_end_row(file));
    }
    return TIDE_OK;
}

tide_status tide_pq_write_names(const tide_event_source *source, const uint32_t *user_frames,
                                tide_pq_folder *folder) {
    const tide_snapshot *document = source->document;
    tide_parquet_file *frames = folder->files[TIDE_PQ_FRAMES];
    tide_parquet_file *stacks = folder->files[TIDE_PQ_STACKS];
    for (size_t i = 0; i < document->n_frames; i++) {
        const tide_frame_row *frame = &document->frames[i];
        tide_parquet_put_integer(frames, FRAME_FRAME, (int64_t)i);
        tide_pq_put_string(frames, FRAME_FUNCTION, document, frame->function);
        tide_pq_put_string(frames, FRAME_FILE, document, frame->file);
        tide_pq_put_unless(frames, FRAME_LINE, frame->line, 0);
        tide_parquet_put_integer(frames, FRAME_IS_INLINED, frame->inlined);
        TIDE_TRY(tide_parquet_end_row(frames));
    }
    for (size_t i = 0; i < document->n_stacks; i++) {
        const tide_stack_row *stack = &document->stacks[i];
        tide_parquet_put_integer(stacks, STACK_STACK, (int64_t)i);
        tide_pq_put_index(stacks, STACK_PARENT, stack->parent);
        tide_parquet_put_integer(stacks, STACK_FRAME, stack->frame);
        tide_pq_put_index(stacks, STACK_USER_FRAME, user_frames[i]);
        TIDE_TRY(tide_parquet_end_row(stacks));
    }
    return put_groups(document, folder->files[TIDE_PQ_GROUPS]);
}

tide_status tide_pq_write_scopes(const tide_event_source *source, tide_pq_places *places,
                                 tide_parquet_file *file, tide_error *error) {
    for (uint64_t i = 0; i < source->n_scopes; i++) {
        tide_scope_row row;
        tide_pq_place place;
        TIDE_TRY(source->scope(source->ctx, (uint32_t)i, &row, error));
        TIDE_TRY(tide_pq_places_find(places, (uint32_t)i, &place, error));
        tide_parquet_put_integer(file, SCOPE_SCOPE, (int64_t)i);
        tide_pq_put_index(file, SCOPE_PARENT, row.parent);
        tide_parquet_put_text(file, SCOPE_KIND, tide_scope_kind_name(row.kind));
        tide_parquet_put_text(file, SCOPE_NAME, tide_snapshot_text(source->document, row.name));
        tide_pq_put_unless(file, SCOPE_INDEX, row.index, -1);
        tide_parquet_put_text(file, SCOPE_PATH, tide_pq_places_path(places, place.path));
        tide_pq_put_unless(file, SCOPE_STEP, place.step_index, -1);
        tide_parquet_put_integer(file, SCOPE_THREAD, row.thread);
        tide_parquet_put_integer(file, SCOPE_BEGIN_NS, row.begin_ns);
        tide_pq_put_unless(file, SCOPE_DURATION_NS, row.duration_ns < 0 ? -1 : row.duration_ns, -1);
        tide_pq_put_unless(file, SCOPE_DEVICE_BEGIN_NS, row.device_begin_ns, -1);
        tide_pq_put_unless(file, SCOPE_DEVICE_DURATION_NS, row.device_duration_ns, -1);
        TIDE_TRY(tide_parquet_end_row(file));
    }
    return TIDE_OK;
}

static void put_peak(tide_parquet_file *file, const tide_walk_device *walked) {
    const tide_totals *peak = &walked->at_peak;
    const tide_totals *end = &walked->now;
    tide_parquet_put_integer(file, DEVICE_PEAK_REQUESTED_BYTES, peak->requested_bytes);
    tide_parquet_put_integer(file, DEVICE_PEAK_ALLOCATED_BYTES, peak->allocated_bytes);
    tide_parquet_put_integer(file, DEVICE_PEAK_ACTIVE_BYTES, peak->active_bytes);
    tide_parquet_put_integer(file, DEVICE_PEAK_RESERVED_BYTES, peak->reserved_bytes);
    tide_parquet_put_integer(file, DEVICE_PEAK_BLOCKS, peak->n_blocks);
    tide_parquet_put_integer(file, DEVICE_MAX_REQUESTED_BYTES,
                             walked->max[TIDE_MAX_REQUESTED].bytes);
    tide_parquet_put_integer(file, DEVICE_MAX_ACTIVE_BYTES, walked->max[TIDE_MAX_ACTIVE].bytes);
    tide_parquet_put_integer(file, DEVICE_MAX_RESERVED_BYTES, walked->max[TIDE_MAX_RESERVED].bytes);
    tide_parquet_put_integer(file, DEVICE_END_REQUESTED_BYTES, end->requested_bytes);
    tide_parquet_put_integer(file, DEVICE_END_ALLOCATED_BYTES, end->allocated_bytes);
    tide_parquet_put_integer(file, DEVICE_END_ACTIVE_BYTES, end->active_bytes);
    tide_parquet_put_integer(file, DEVICE_END_RESERVED_BYTES, end->reserved_bytes);
}

tide_status tide_pq_write_devices(const tide_event_source *source, const tide_live_walk *walk,
                                  tide_pq_places *places, tide_parquet_file *file,
                                  tide_error *error) {
    const tide_snapshot *document = source->document;
    for (size_t i = 0; i < document->n_devices; i++) {
        const tide_snapshot_device *device = &document->devices[i];
        const tide_walk_device *walked = tide_live_walk_device(walk, i);
        tide_pq_place place;
        int64_t n_events = 0;
        for (size_t j = 0; j < TIDE_N_ACTIONS; j++) {
            n_events += walked->counts[j];
        }
        TIDE_TRY(tide_pq_places_find(places, walked->peak_scope, &place, error));
        tide_parquet_put_integer(file, DEVICE_DEVICE, (int64_t)i);
        tide_parquet_put_text(file, DEVICE_KIND, device->kind);
        put_known(file, DEVICE_NAME, device->name);
        tide_pq_put_unless(file, DEVICE_TOTAL_BYTES, device->total_bytes, -1);
        tide_parquet_put_integer(file, DEVICE_N_EVENTS, n_events);
        tide_parquet_put_integer(file, DEVICE_N_DROPPED, (int64_t)document->n_dropped);
        tide_parquet_put_integer(file, DEVICE_N_UNMATCHED, walked->n_unmatched);
        tide_parquet_put_integer(file, DEVICE_PEAK_EVENT, walked->max[TIDE_MAX_ALLOCATED].event);
        tide_pq_put_unless(file, DEVICE_PEAK_NS, walked->peak_ns, -1);
        tide_pq_put_unless(file, DEVICE_PEAK_STEP, place.step_index, -1);
        put_peak(file, walked);
        put_known(file, DEVICE_OUTCOME, document->run.outcome);
        put_known(file, DEVICE_COMMAND, document->run.command);
        tide_pq_put_unless(file, DEVICE_STARTED_UNIX_US, document->run.started_unix_us, -1);
        tide_pq_put_unless(file, DEVICE_RECORDED_RANK, document->rank.rank, -1);
        tide_pq_put_unless(file, DEVICE_LOCAL_RANK, document->rank.local_rank, -1);
        tide_pq_put_unless(file, DEVICE_WORLD_SIZE, document->rank.world_size, -1);
        TIDE_TRY(tide_parquet_end_row(file));
    }
    return TIDE_OK;
}
