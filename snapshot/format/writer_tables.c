
#include "common/assert.h"
#include "snapshot/format/columns_internal.h"
#include "snapshot/format/writer_friend.h"
#include "snapshot/format/writer_keys_internal.h"

enum {
    BATCH_ROWS = 512
}; /* values of one column at a time: few enough for the first-level cache */

/* A table and its columns. */
typedef struct table_part {
    const tide_column_table *columns; /* borrowed, with everything below */
    const void *rows;                 /* NULL: events */
    const tide_snapshot *snapshot;    /* of events; else NULL */
    size_t n_rows;
    uint64_t unit_bytes; /* addresses are divided by it */
} table_part;

/* Loads the values of a column as in a file, before differences are taken. */
static void load(const table_part *part, const tide_column_rule *rule, size_t first, size_t n_rows,
                 int64_t values[BATCH_ROWS]) {
    if (part->snapshot != NULL) {
        size_t width = 0;
        const char *column = tide_column_of_events(rule, part->snapshot, &width);
        tide_column_load(rule->kind, (tide_column_step){width, width}, column + first * width,
                         n_rows, values);
        return;
    }
    size_t stride = part->columns->row_bytes;
    const char *rows = (const char *)part->rows + first * stride;
    if (rule->derive == NULL) {
        tide_column_load(rule->kind, (tide_column_step){rule->width, stride}, rows + rule->offset,
                         n_rows, values);
        return;
    }
    for (size_t i = 0; i < n_rows; i++) {
        values[i] = rule->derive(rows + i * stride);
    }
}

/* Converts to units. Rows without an address repeat the last one, so their difference is 0. */
static void scale_addresses(const table_part *part, size_t first, size_t n_rows, int64_t last,
                            int64_t values[BATCH_ROWS]) {
    TIDE_ASSERT(part->snapshot != NULL); /* only events have addresses */
    const uint8_t *actions = part->snapshot->events.action + first;
    for (size_t i = 0; i < n_rows; i++) {
        if (tide_action_has_address(actions[i])) {
            last = (int64_t)((uint64_t)values[i] / part->unit_bytes);
        }
        values[i] = last;
    }
}

static bool has_column(const table_part *part, const tide_column_rule *rule) {
    size_t width = 0;
    return !rule->is_optional || tide_column_of_events(rule, part->snapshot, &width) != NULL;
}

static void write_column(tide_json_writer *json, const table_part *part,
                         const tide_column_rule *rule) {
    int64_t values[BATCH_ROWS];
    int64_t last = 0;
    tide_json_key(json, rule->key);
    tide_json_begin_array(json);
    for (size_t first = 0; first < part->n_rows; first += BATCH_ROWS) {
        size_t n_left = part->n_rows - first;
        size_t n = n_left < BATCH_ROWS ? n_left : BATCH_ROWS;
        load(part, rule, first, n, values);
        if (rule->encoding == TIDE_COLUMN_ADDRESS) {
            scale_addresses(part, first, n, last, values);
        }
        if (rule->encoding == TIDE_COLUMN_PLAIN) {
            for (size_t i = 0; i < n; i++) {
                tide_json_integer(json, values[i]);
            }
        } else {
            for (size_t i = 0; i < n; i++) {
                tide_json_integer(json, values[i] - last);
                last = values[i];
            }
        }
    }
    tide_json_end_array(json);
    tide_json_line(json);
}

static void write_table(tide_json_writer *json, const char *key, const table_part *part) {
    tide_json_key(json, key);
    tide_json_begin_object(json);
    for (size_t i = 0; i < part->columns->n_rules; i++) {
        const tide_column_rule *rule = &part->columns->rules[i];
        if (has_column(part, rule)) {
            write_column(json, part, rule);
        }
    }
    tide_json_end_object(json);
    tide_json_line(json);
}

/* A table of rows. */
static void write_rows(tide_json_writer *json, const char *key, const tide_column_table *columns,
                       const void *rows, size_t n_rows) {
    write_table(json, key,
                &(table_part){.columns = columns, .rows = rows, .n_rows = n_rows, .unit_bytes = 1});
}

void tide_write_document_strings(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    tide_json_writer *json = writer->json;
    tide_json_key(json, key);
    tide_json_begin_array(json);
    for (size_t i = 0; i < snapshot->n_strings; i++) {
        tide_json_text(json, snapshot->strings[i]);
    }
    tide_json_end_array(json);
    tide_json_line(json);
}

void tide_write_document_source(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    if (snapshot->n_source > 0 || snapshot->n_source_omitted > 0) {
        tide_write_object(writer, key, &tide_writable_source, snapshot);
        tide_json_line(writer->json);
    }
}

void tide_write_source_lines(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    const tide_row_list list = {snapshot->source, snapshot->n_source, sizeof(*snapshot->source)};
    tide_write_rows(writer, key, &tide_writable_source_line, list);
}

/* `certainty`: of the block's category; NULL: unknown for all blocks. */
static void write_block(tide_json_writer *json, const tide_block_row *block,
                        const uint8_t *certainty) {
    tide_json_begin_object(json);
    for (size_t i = 0; i < tide_block_columns.n_rules; i++) {
        const tide_column_rule *rule = &tide_block_columns.rules[i];
        int64_t value = 0;
        if (!rule->is_optional) {
            tide_column_load(rule->kind, (tide_column_step){rule->width, sizeof(*block)},
                             (const char *)block + rule->offset, 1, &value);
        } else if (certainty != NULL) {
            value = *certainty;
        } else {
            continue;
        }
        tide_json_key_integer(json, rule->key, value);
    }
    tide_json_end_object(json);
}

void tide_write_segment_pool(const tide_writer *writer, const char *key, const void *object) {
    const tide_segment_row *segment = object;
    if (segment->pool != TIDE_SEGMENT_UNKNOWN) {
        tide_json_key_text(writer->json, key,
                           segment->pool == TIDE_SEGMENT_SMALL ? "small" : "large");
    }
}

void tide_write_segment_pool_id(const tide_writer *writer, const char *key, const void *object) {
    const tide_segment_row *segment = object;
    if (segment->pool_id[0] != 0 || segment->pool_id[1] != 0) {
        tide_json_key(writer->json, key);
        tide_json_begin_array(writer->json);
        tide_json_integer(writer->json, segment->pool_id[0]);
        tide_json_integer(writer->json, segment->pool_id[1]);
        tide_json_end_array(writer->json);
    }
}

void tide_write_segment_stack(const tide_writer *writer, const char *key, const void *object) {
    const tide_segment_row *segment = object;
    if (segment->stack_after != 0) {
        tide_json_key_integer(writer->json, key, (int64_t)segment->stack_after - 1);
    }
}

/* The state at one instant. */
struct tide_state_part {
    const tide_segment_row *segments; /* borrowed, with the blocks */
    size_t n_segments;
    const tide_block_row *blocks;
    const uint8_t *certainty; /* of each block; may be NULL */
};

void tide_write_segment_blocks(const tide_writer *writer, const char *key, const void *object) {
    const tide_segment_row *segment = object;
    const tide_state_part *state = writer->state;
    tide_json_key(writer->json, key);
    tide_json_begin_array(writer->json);
    for (size_t i = 0; i < segment->n_blocks; i++) {
        size_t block = segment->first_block + i;
        write_block(writer->json, &state->blocks[block],
                    state->certainty != NULL ? &state->certainty[block] : NULL);
    }
    tide_json_end_array(writer->json);
}

void tide_write_state_segments(const tide_writer *writer, const char *key, const void *snapshot) {
    const tide_state_part *state = writer->state;
    const tide_row_list list = {state->segments, state->n_segments, sizeof(*state->segments)};
    (void)snapshot;
    tide_write_rows(writer, key, &tide_writable_segment, list);
}

static void write_state(const tide_writer *writer, const char *key, const tide_state_part *state) {
    tide_writer with_state = *writer;
    with_state.state = state;
    tide_write_object(&with_state, key, &tide_writable_state, writer->snapshot);
    tide_json_line(writer->json);
}

void tide_write_document_start(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    write_state(writer, key,
                &(tide_state_part){snapshot->start_segments, snapshot->n_start_segments,
                                   snapshot->start_blocks, snapshot->start_block_certainty});
}

void tide_write_document_end(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    write_state(writer, key,
                &(tide_state_part){snapshot->end_segments, snapshot->n_end_segments,
                                   snapshot->end_blocks, snapshot->end_block_certainty});
}

void tide_write_document_frames(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    write_rows(writer->json, key, &tide_frame_columns, snapshot->frames, snapshot->n_frames);
}

void tide_write_document_stacks(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    write_rows(writer->json, key, &tide_stack_columns, snapshot->stacks, snapshot->n_stacks);
}

void tide_write_document_scopes(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    write_rows(writer->json, key, &tide_scope_columns, snapshot->scopes, snapshot->n_scopes);
}

void tide_write_document_kernels(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    if (snapshot->n_kernels > 0) {
        write_rows(writer->json, key, &tide_kernel_columns, snapshot->kernels, snapshot->n_kernels);
    }
}

void tide_write_document_events(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    write_table(writer->json, key,
                &(table_part){.columns = &tide_event_columns,
                              .snapshot = snapshot,
                              .n_rows = snapshot->n_events,
                              .unit_bytes = writer->unit_bytes});
}

void tide_write_document_oom(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    tide_json_key(writer->json, key);
    tide_json_begin_array(writer->json);
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        if (row.action == TIDE_ACTION_OOM) {
            const tide_oom_part part = {(int64_t)i, (int64_t)row.requested_bytes,
                                        tide_oom_free_bytes(&row)};
            tide_write_object(writer, NULL, &tide_writable_oom, &part);
        }
    }
    tide_json_end_array(writer->json);
}

void tide_write_document_summary(const tide_writer *writer, const char *key, const void *snapshot) {
    (void)snapshot;
    if (writer->summary != NULL) {
        writer->write_summary(writer, key);
    }
}

void tide_write_without_summary(tide_json_writer *json, const tide_snapshot *snapshot) {
    tide_write_members(&(tide_writer){.json = json, .snapshot = snapshot, .unit_bytes = 1},
                       &tide_writable_document, snapshot);
}
