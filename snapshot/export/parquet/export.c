#include "snapshot/export/parquet/export.h"

#include "snapshot/export/parquet/tables_internal.h"
#include "snapshot/analysis/user_frame.h"

typedef struct exporter {
    const tide_hostmem *mem;         /* borrowed */
    const tide_event_source *source; /* borrowed */
    const tide_snapshot *document;   /* the source's */
    tide_error *error;               /* borrowed */
    tide_pq_folder folder;           /* owned; its files are open */
    tide_pq_places *places;          /* owned */
    tide_pq_steps *steps;            /* owned */
    tide_live_walk *walk;            /* owned */
    uint32_t *user_frames;           /* owned; of each stack */
} exporter;

/* ---- rows ---- */

static void put_moment(tide_parquet_file *file, size_t event_column, int64_t event,
                       int64_t time_ns) {
    tide_pq_put_unless(file, event_column, event, TIDE_WALK_NEVER);
    tide_pq_put_unless(file, event_column + 1, time_ns, -1); /* its time is the next column */
}

/* How the category became known; NULL if the recording has no certainty of any. */
static const char *certainty_text(const exporter *to, uint8_t certainty) {
    return tide_snapshot_has_certainty(to->document) ? tide_certainty_name(certainty) : NULL;
}

/* Puts the line of the program for the block. */
static void put_line(const exporter *to, tide_parquet_file *file, uint32_t stack) {
    uint32_t number = stack != TIDE_NONE ? to->user_frames[stack] : TIDE_NONE;
    static const tide_frame_row NONE = {.function = TIDE_NONE, .file = TIDE_NONE};
    const tide_frame_row *frame = number != TIDE_NONE ? &to->document->frames[number] : &NONE;
    tide_pq_put_string(file, BLOCK_FUNCTION, to->document, frame->function);
    tide_pq_put_string(file, BLOCK_FILE, to->document, frame->file);
    tide_pq_put_unless(file, BLOCK_LINE, frame->line, 0);
}

static tide_status put_block(void *ctx, const tide_walk_block *block) {
    exporter *to = ctx;
    tide_parquet_file *file = to->folder.files[TIDE_PQ_BLOCKS];
    tide_pq_place place;
    TIDE_TRY(tide_pq_places_find(to->places, block->scope, &place, to->error));
    tide_parquet_put_integer(file, BLOCK_BLOCK, (int64_t)block->number);
    tide_parquet_put_integer(file, BLOCK_DEVICE, block->device);
    tide_parquet_put_integer(file, BLOCK_STREAM, block->stream);
    tide_parquet_put_integer(file, BLOCK_ADDRESS, (int64_t)block->address);
    tide_parquet_put_integer(file, BLOCK_REQUESTED_BYTES, (int64_t)block->requested_bytes);
    tide_parquet_put_integer(file, BLOCK_BLOCK_BYTES, (int64_t)block->block_bytes);
    tide_parquet_put_text(file, BLOCK_CATEGORY,
                          tide_snapshot_category(to->document, block->category));
    tide_parquet_put_text(file, BLOCK_CERTAINTY, certainty_text(to, block->certainty));
    tide_pq_put_string(file, BLOCK_NAME, to->document, block->name);
    tide_pq_put_index(file, BLOCK_STACK, block->stack);
    put_line(to, file, block->stack);
    tide_pq_put_index(file, BLOCK_SCOPE, block->scope);
    tide_parquet_put_text(file, BLOCK_SCOPE_PATH, tide_pq_places_path(to->places, place.path));
    tide_pq_put_unless(file, BLOCK_STEP, place.step_index, -1);
    put_moment(file, BLOCK_BIRTH_EVENT, block->born, block->born_ns);
    put_moment(file, BLOCK_FREE_EVENT, block->freed, block->freed_ns);
    put_moment(file, BLOCK_DEATH_EVENT, block->completed, block->completed_ns);
    return tide_parquet_end_row(file);
}

static tide_status put_segment(void *ctx, const tide_walk_segment *segment) {
    exporter *to = ctx;
    tide_parquet_file *file = to->folder.files[TIDE_PQ_SEGMENTS];
    tide_parquet_put_integer(file, SEGMENT_SEGMENT, (int64_t)segment->number);
    tide_parquet_put_integer(file, SEGMENT_DEVICE, segment->device);
    tide_parquet_put_integer(file, SEGMENT_STREAM, segment->stream);
    tide_parquet_put_integer(file, SEGMENT_ADDRESS, (int64_t)segment->address);
    tide_parquet_put_integer(file, SEGMENT_TOTAL_BYTES, (int64_t)segment->total_bytes);
    tide_parquet_put_integer(file, SEGMENT_IS_EXPANDABLE, segment->is_expandable);
    put_moment(file, SEGMENT_BIRTH_EVENT, segment->born, segment->born_ns);
    put_moment(file, SEGMENT_DEATH_EVENT, segment->gone, segment->gone_ns);
    return tide_parquet_end_row(file);
}

/* Puts the bytes of rows that have any; for oom rows, the free bytes of the device. */
static void put_sizes(tide_parquet_file *file, const tide_event *event) {
    bool is_oom = event->action == TIDE_ACTION_OOM;
    bool is_sized = tide_action_has_address(event->action);
    tide_pq_put_unless(file, EVENT_ADDRESS, is_sized ? (int64_t)event->address : -1, -1);
    tide_pq_put_unless(file, EVENT_REQUESTED_BYTES,
                       is_sized || is_oom ? (int64_t)event->requested_bytes : -1, -1);
    tide_pq_put_unless(file, EVENT_BLOCK_BYTES, is_sized ? (int64_t)event->block_bytes : -1, -1);
    bool is_limited = is_oom && event->block_bytes < (uint64_t)INT64_MAX;
    tide_pq_put_unless(file, EVENT_FREE_BYTES, is_limited ? (int64_t)event->block_bytes : -1, -1);
}

static tide_status put_event(exporter *to, const tide_event *event, uint8_t certainty,
                             int64_t block) {
    tide_parquet_file *file = to->folder.files[TIDE_PQ_EVENTS];
    const tide_totals *now = &tide_live_walk_device(to->walk, event->device)->now;
    int64_t row = tide_live_walk_n_events(to->walk) - 1;
    bool is_of_block = event->action <= TIDE_ACTION_FREE_COMPLETED;
    tide_pq_place place;
    TIDE_TRY(tide_pq_places_find(to->places, event->scope, &place, to->error));
    TIDE_TRY(tide_pq_steps_event(to->steps, &(tide_pq_moment){row, event, now}, &place, to->error));
    tide_parquet_put_integer(file, EVENT_EVENT, row);
    tide_parquet_put_integer(file, EVENT_TIME_NS, event->time_ns);
    tide_parquet_put_text(file, EVENT_ACTION, tide_action_name(event->action));
    tide_parquet_put_integer(file, EVENT_DEVICE, event->device);
    tide_parquet_put_integer(file, EVENT_STREAM, event->stream);
    put_sizes(file, event);
    tide_parquet_put_integer(file, EVENT_ALLOCATED_BYTES, now->allocated_bytes);
    tide_parquet_put_integer(file, EVENT_RESERVED_BYTES, now->reserved_bytes);
    tide_parquet_put_text(file, EVENT_CATEGORY,
                          is_of_block ? tide_snapshot_category(to->document, event->category)
                                      : NULL);
    tide_parquet_put_text(file, EVENT_CERTAINTY,
                          is_of_block ? certainty_text(to, certainty) : NULL);
    tide_pq_put_string(file, EVENT_NAME, to->document, event->name);
    tide_pq_put_unless(file, EVENT_STEP, place.step_index, -1);
    tide_pq_put_index(file, EVENT_SCOPE, event->scope);
    tide_pq_put_index(file, EVENT_STACK, event->stack);
    tide_pq_put_unless(file, EVENT_BLOCK, block, -1);
    return tide_parquet_end_row(file);
}

/* ---- the whole ---- */

static tide_status find_user_frames(exporter *to) {
    size_t n_stacks = to->document->n_stacks;
    to->user_frames = tide_hostmem_zeroed(to->mem, n_stacks, sizeof(*to->user_frames));
    if (to->user_frames == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_stacks; i++) {
        to->user_frames[i] = tide_user_frame(to->document, (uint32_t)i);
    }
    return TIDE_OK;
}

static tide_status put_events(exporter *to) {
    tide_event_rows rows = {.n_events = 0};
    do {
        TIDE_TRY(to->source->next(to->source->ctx, &rows, to->error));
        for (size_t i = 0; i < rows.n_events; i++) {
            uint8_t certainty = rows.certainty != NULL ? rows.certainty[i] : TIDE_CERTAINTY_UNKNOWN;
            int64_t block = -1;
            TIDE_TRY(tide_live_walk_event(to->walk, &rows.events[i], certainty, &block, to->error));
            TIDE_TRY(put_event(to, &rows.events[i], certainty, block));
        }
    } while (rows.n_events > 0);
    return tide_live_walk_finish(to->walk);
}

static tide_status put_all(exporter *to) {
    const tide_walk_sink sink = {.block = put_block, .segment = put_segment, .ctx = to};
    tide_parquet_file *const *files = to->folder.files;
    TIDE_TRY(find_user_frames(to));
    TIDE_TRY(tide_pq_places_create(to->source, to->mem, &to->places));
    TIDE_TRY(tide_pq_steps_create(to->source, files[TIDE_PQ_STEPS], to->mem, &to->steps));
    TIDE_TRY(tide_live_walk_create(to->document, &sink, to->mem, &to->walk, to->error));
    TIDE_TRY(put_events(to));
    TIDE_TRY(tide_pq_write_names(to->source, to->user_frames, &to->folder));
    TIDE_TRY(tide_pq_write_scopes(to->source, to->places, files[TIDE_PQ_SCOPES], to->error));
    TIDE_TRY(tide_pq_steps_finish(to->steps, to->error));
    return tide_pq_write_devices(to->source, to->walk, to->places, files[TIDE_PQ_DEVICES],
                                 to->error);
}

tide_status tide_parquet_export(const tide_event_source *source, const char *folder,
                                const tide_hostmem *mem, tide_error *error) {
    mem = mem != NULL ? mem : tide_hostmem_default();
    exporter *to = tide_hostmem_zeroed(mem, 1, sizeof(*to));
    if (to == NULL) {
        return TIDE_NO_MEMORY;
    }
    to->mem = mem;
    to->source = source;
    to->document = source->document;
    to->error = error;
    tide_status status = tide_pq_folder_open(&to->folder, folder, mem, error);
    if (status == TIDE_OK) {
        status = tide_pq_folder_end(&to->folder, put_all(to), error);
    }
    tide_live_walk_destroy(to->walk);
    tide_pq_steps_destroy(to->steps);
    tide_pq_places_destroy(to->places);
    mem->release(mem->ctx, to->user_frames);
    mem->release(mem->ctx, to);
    return status;
}
