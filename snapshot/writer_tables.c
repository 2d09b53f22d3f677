#include "snapshot/writer_internal.h"

/* An index as it stands in a file. */
static int64_t index_or_none(uint32_t index) {
    return index == TIDE_NONE ? -1 : (int64_t)index;
}

static void begin_column(tide_json_writer *json, const char *key) {
    tide_json_key(json, key);
    tide_json_begin_array(json);
}

static void end_column(tide_json_writer *json) {
    tide_json_end_array(json);
    tide_json_line(json);
}

/* One column of a table: VALUE is an expression of row. */
#define COLUMN(json, key, row_type, rows, n_rows, VALUE)                                           \
    do {                                                                                           \
        begin_column(json, key);                                                                   \
        for (size_t column_i_ = 0; column_i_ < (n_rows); column_i_++) {                            \
            const row_type *row = &(rows)[column_i_];                                              \
            tide_json_integer(json, VALUE);                                                        \
        }                                                                                          \
        end_column(json);                                                                          \
    } while (0)

/* The same for a *_delta column: differences, the first from 0. */
#define DELTA_COLUMN(json, key, row_type, rows, n_rows, VALUE)                                     \
    do {                                                                                           \
        int64_t column_last_ = 0;                                                                  \
        begin_column(json, key);                                                                   \
        for (size_t column_i_ = 0; column_i_ < (n_rows); column_i_++) {                            \
            const row_type *row = &(rows)[column_i_];                                              \
            int64_t column_value_ = VALUE;                                                         \
            tide_json_integer(json, column_value_ - column_last_);                                 \
            column_last_ = column_value_;                                                          \
        }                                                                                          \
        end_column(json);                                                                          \
    } while (0)

static void begin_table(tide_json_writer *json, const char *key) {
    tide_json_key(json, key);
    tide_json_begin_object(json);
}

static void end_table(tide_json_writer *json) {
    tide_json_end_object(json);
    tide_json_line(json);
}

static void write_strings(tide_json_writer *json, const tide_snapshot *snapshot) {
    tide_json_key(json, "strings");
    tide_json_begin_array(json);
    for (size_t i = 0; i < snapshot->n_strings; i++) {
        tide_json_text(json, snapshot->strings[i]);
    }
    tide_json_end_array(json);
    tide_json_line(json);
}

static void write_stacks(tide_json_writer *json, const tide_snapshot *snapshot) {
    const tide_frame_row *frames = snapshot->frames;
    size_t n_frames = snapshot->n_frames;
    begin_table(json, "frames");
    COLUMN(json, "function", tide_frame_row, frames, n_frames, index_or_none(row->function));
    COLUMN(json, "file", tide_frame_row, frames, n_frames, index_or_none(row->file));
    COLUMN(json, "line", tide_frame_row, frames, n_frames, row->line);
    COLUMN(json, "inlined", tide_frame_row, frames, n_frames, row->inlined);
    end_table(json);
    const tide_stack_row *stacks = snapshot->stacks;
    size_t n_stacks = snapshot->n_stacks;
    begin_table(json, "stacks");
    COLUMN(json, "parent", tide_stack_row, stacks, n_stacks, index_or_none(row->parent));
    COLUMN(json, "frame", tide_stack_row, stacks, n_stacks, (int64_t)row->frame);
    end_table(json);
}

static void write_scopes(tide_json_writer *json, const tide_snapshot *snapshot) {
    const tide_scope_row *rows = snapshot->scopes;
    size_t n = snapshot->n_scopes;
    begin_table(json, "scopes");
    COLUMN(json, "parent", tide_scope_row, rows, n, index_or_none(row->parent));
    COLUMN(json, "kind", tide_scope_row, rows, n, row->kind);
    COLUMN(json, "name", tide_scope_row, rows, n, index_or_none(row->name));
    COLUMN(json, "index", tide_scope_row, rows, n, row->index);
    COLUMN(json, "thread", tide_scope_row, rows, n, row->thread);
    DELTA_COLUMN(json, "begin_delta", tide_scope_row, rows, n, row->begin_ns);
    COLUMN(json, "duration", tide_scope_row, rows, n, row->duration_ns);
    COLUMN(json, "device_begin", tide_scope_row, rows, n, row->device_begin_ns);
    COLUMN(json, "device_duration", tide_scope_row, rows, n, row->device_duration_ns);
    end_table(json);
}

/* The mean follows from the two columns before it: for readers that do not divide. */
static void write_kernels(tide_json_writer *json, const tide_snapshot *snapshot) {
    const tide_kernel_row *rows = snapshot->kernels;
    size_t n = snapshot->n_kernels;
    if (n == 0) {
        return;
    }
    begin_table(json, "kernels");
    COLUMN(json, "name", tide_kernel_row, rows, n, index_or_none(row->name));
    COLUMN(json, "phase", tide_kernel_row, rows, n, index_or_none(row->phase));
    COLUMN(json, "path", tide_kernel_row, rows, n, index_or_none(row->path));
    COLUMN(json, "launches", tide_kernel_row, rows, n, (int64_t)row->n_launches);
    COLUMN(json, "total_ns", tide_kernel_row, rows, n, row->total_ns);
    COLUMN(json, "mean_ns", tide_kernel_row, rows, n, row->total_ns / (int64_t)row->n_launches);
    COLUMN(json, "min_ns", tide_kernel_row, rows, n, row->min_ns);
    COLUMN(json, "max_ns", tide_kernel_row, rows, n, row->max_ns);
    end_table(json);
}

static void write_block(tide_json_writer *json, const tide_block_row *block) {
    tide_json_begin_object(json);
    tide_json_key_integer(json, "offset_bytes", (int64_t)block->offset_bytes);
    tide_json_key_integer(json, "block_bytes", (int64_t)block->block_bytes);
    tide_json_key_integer(json, "requested_bytes", (int64_t)block->requested_bytes);
    tide_json_key_integer(json, "state", block->state);
    tide_json_key_integer(json, "stack", index_or_none(block->stack));
    tide_json_key_integer(json, "scope", index_or_none(block->scope));
    tide_json_key_integer(json, "category", block->category);
    tide_json_key_integer(json, "name", index_or_none(block->name));
    tide_json_end_object(json);
}

/* What only some recordings know. */
static void write_pool(tide_json_writer *json, const tide_segment_row *segment) {
    if (segment->is_expandable) {
        tide_json_key(json, "is_expandable");
        tide_json_boolean(json, true);
    }
    if (segment->pool != TIDE_SEGMENT_UNKNOWN) {
        tide_json_key_text(json, "pool", segment->pool == TIDE_SEGMENT_SMALL ? "small" : "large");
    }
    if (segment->pool_id[0] != 0 || segment->pool_id[1] != 0) {
        tide_json_key(json, "pool_id");
        tide_json_begin_array(json);
        tide_json_integer(json, segment->pool_id[0]);
        tide_json_integer(json, segment->pool_id[1]);
        tide_json_end_array(json);
    }
}

/* The state at one instant. */
typedef struct state_part {
    const tide_segment_row *segments; /* borrowed, with the blocks */
    size_t n_segments;
    const tide_block_row *blocks;
    uint64_t unit_bytes; /* addresses are divided by it */
} state_part;

static void write_state(tide_json_writer *json, const char *key, const state_part *state) {
    tide_json_key(json, key);
    tide_json_begin_object(json);
    tide_json_key(json, "segments");
    tide_json_begin_array(json);
    for (size_t i = 0; i < state->n_segments; i++) {
        const tide_segment_row *segment = &state->segments[i];
        tide_json_begin_object(json);
        tide_json_key_integer(json, "device", segment->device);
        tide_json_key_integer(json, "address", (int64_t)(segment->address / state->unit_bytes));
        tide_json_key_integer(json, "total_bytes", (int64_t)segment->total_bytes);
        tide_json_key_integer(json, "stream", segment->stream);
        write_pool(json, segment);
        tide_json_key(json, "blocks");
        tide_json_begin_array(json);
        for (size_t j = 0; j < segment->n_blocks; j++) {
            write_block(json, &state->blocks[segment->first_block + j]);
        }
        tide_json_end_array(json);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
    tide_json_end_object(json);
    tide_json_line(json);
}

/* Rows without an address repeat the last one. */
static void write_addresses(tide_json_writer *json, const tide_snapshot *snapshot,
                            uint64_t unit_bytes) {
    uint64_t last = 0;
    begin_column(json, "address_delta");
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event *row = &snapshot->events[i];
        uint64_t address = tide_action_has_address(row->action) ? row->address / unit_bytes : last;
        tide_json_integer(json, (int64_t)address - (int64_t)last);
        last = address;
    }
    end_column(json);
}

static void write_events(tide_json_writer *json, const tide_snapshot *snapshot,
                         uint64_t unit_bytes) {
    const tide_event *rows = snapshot->events;
    size_t n = snapshot->n_events;
    begin_table(json, "events");
    DELTA_COLUMN(json, "time_delta", tide_event, rows, n, row->time_ns);
    COLUMN(json, "action", tide_event, rows, n, row->action);
    COLUMN(json, "device", tide_event, rows, n, row->device);
    write_addresses(json, snapshot, unit_bytes);
    COLUMN(json, "requested_bytes", tide_event, rows, n, (int64_t)row->requested_bytes);
    COLUMN(json, "block_bytes", tide_event, rows, n, (int64_t)row->block_bytes);
    COLUMN(json, "stream", tide_event, rows, n, row->stream);
    COLUMN(json, "stack", tide_event, rows, n, index_or_none(row->stack));
    DELTA_COLUMN(json, "scope_delta", tide_event, rows, n, index_or_none(row->scope));
    COLUMN(json, "category", tide_event, rows, n, row->category);
    COLUMN(json, "name", tide_event, rows, n, index_or_none(row->name));
    end_table(json);
}

static void write_oom(tide_json_writer *json, const tide_snapshot *snapshot) {
    tide_json_key(json, "oom");
    tide_json_begin_array(json);
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event *row = &snapshot->events[i];
        if (row->action != TIDE_ACTION_OOM) {
            continue;
        }
        tide_json_begin_object(json);
        tide_json_key_integer(json, "event", (int64_t)i);
        tide_json_key_integer(json, "requested_bytes", (int64_t)row->requested_bytes);
        tide_json_key_integer(json, "free_bytes", tide_oom_free_bytes(row));
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
}

void tide_write_tables(tide_json_writer *json, const tide_snapshot *snapshot, uint64_t unit_bytes) {
    write_strings(json, snapshot);
    write_stacks(json, snapshot);
    write_scopes(json, snapshot);
    write_kernels(json, snapshot);
    write_state(json, "start",
                &(state_part){snapshot->start_segments, snapshot->n_start_segments,
                              snapshot->start_blocks, unit_bytes});
    write_state(json, "end",
                &(state_part){snapshot->end_segments, snapshot->n_end_segments,
                              snapshot->end_blocks, unit_bytes});
    write_events(json, snapshot, unit_bytes);
    write_oom(json, snapshot);
}
