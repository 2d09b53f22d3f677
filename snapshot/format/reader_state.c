#include <string.h>

#include "snapshot/format/columns_internal.h"
#include "snapshot/format/reader_keys_internal.h"

enum { POOL_BYTES = 16 }; /* "small" */

/* Segments and blocks in growing arrays: their number is unknown until the end. */
struct tide_growing_state {
    tide_segment_row *segments; /* owned */
    size_t n_segments;
    size_t segment_capacity;
    tide_block_row *blocks; /* owned */
    size_t n_blocks;
    size_t block_capacity;
    uint8_t *certainty; /* owned; of each block */
    size_t certainty_capacity;
    bool has_certainty; /* of any block */
};

static tide_block_row read_block(tide_json *json, const tide_column_keys *keys,
                                 tide_growing_state *state) {
    tide_block_row row = {0};
    int field = -1;
    tide_json_enter_object(json);
    while ((field = tide_json_next_field(json, keys->keys, keys->n, keys->required)) >= 0) {
        const tide_column_rule *rule = keys->rules[field];
        if (rule->is_optional) { /* the certainty */
            state->certainty[state->n_blocks] =
                (uint8_t)tide_json_get_odd_integer(json, rule->min, rule->max, *rule->odd);
            state->has_certainty = true;
            continue;
        }
        int64_t value = tide_json_get_integer(json, rule->min, rule->max);
        tide_column_store((tide_column_step){rule->width, sizeof(row)}, (char *)&row + rule->offset,
                          1, &value);
    }
    return row;
}

/* Room for one more block. */
static bool grow_blocks(tide_reader *reader, tide_growing_state *state) {
    size_t n_wanted = state->n_blocks + 1;
    tide_block_row *blocks = tide_hostmem_grow(reader->mem, state->blocks, &state->block_capacity,
                                               n_wanted, sizeof(*blocks));
    state->blocks = blocks != NULL ? blocks : state->blocks;
    uint8_t *certainty =
        tide_hostmem_grow(reader->mem, state->certainty, &state->certainty_capacity, n_wanted, 1);
    state->certainty = certainty != NULL ? certainty : state->certainty;
    return blocks != NULL && certainty != NULL;
}

void tide_read_segment_blocks(tide_reader *reader, void *object) {
    tide_json *json = &reader->json;
    tide_segment_row *segment = object;
    tide_growing_state *state = reader->state;
    tide_column_keys keys;
    tide_column_keys_of(&tide_block_columns, &keys);
    segment->first_block = state->n_blocks;
    tide_json_enter_array(json);
    while (tide_json_next_item(json)) {
        if (!grow_blocks(reader, state)) {
            tide_json_fail(json, TIDE_NO_MEMORY, json->at, "no memory for the blocks");
            return;
        }
        state->certainty[state->n_blocks] = TIDE_CERTAINTY_UNKNOWN;
        state->blocks[state->n_blocks] = read_block(json, &keys, state);
        state->n_blocks++;
    }
    segment->n_blocks = state->n_blocks - segment->first_block;
}

/* A pool name that tidemark does not know is read as an unknown pool. */
void tide_read_segment_pool(tide_reader *reader, void *segment) {
    char text[POOL_BYTES];
    uint8_t *pool = &((tide_segment_row *)segment)->pool;
    *pool = TIDE_SEGMENT_UNKNOWN;
    if (tide_json_peek(&reader->json) != TIDE_JSON_STRING) {
        (void)tide_json_get_odd_text(&reader->json, &reader->snapshot->arena);
        return;
    }
    const char *name = tide_json_get_short_text(&reader->json, text, sizeof(text));
    if (strcmp(name, "small") == 0) {
        *pool = TIDE_SEGMENT_SMALL;
    } else if (strcmp(name, "large") == 0) {
        *pool = TIDE_SEGMENT_LARGE;
    }
}

void tide_read_pool_id(tide_json *json, uint32_t ret_id[2]) {
    static const tide_json_odd NO_NUMBER = {.unknown = -1, .range_is_fine = true};
    int64_t numbers[2] = {-1, -1};
    size_t n = 0;
    uint64_t n_odd = json->n_odd;
    if (tide_json_peek(json) != TIDE_JSON_ARRAY) {
        tide_json_count_odd(json);
        tide_json_skip(json);
        return;
    }
    tide_json_enter_array(json);
    while (tide_json_next_item(json)) {
        int64_t number = tide_json_get_odd_integer(json, 0, UINT32_MAX, NO_NUMBER);
        numbers[n < 2 ? n : 1] = number;
        n++;
    }
    if (n == 2 && numbers[0] >= 0 && numbers[1] >= 0) {
        ret_id[0] = (uint32_t)numbers[0];
        ret_id[1] = (uint32_t)numbers[1];
    } else if (json->n_odd == n_odd) {
        tide_json_count_odd(json);
    }
}

void tide_read_segment_pool_id(tide_reader *reader, void *segment) {
    tide_read_pool_id(&reader->json, ((tide_segment_row *)segment)->pool_id);
}

void tide_read_segment_stack(tide_reader *reader, void *segment) {
    ((tide_segment_row *)segment)->stack_after =
        (uint32_t)tide_json_get_integer(&reader->json, 0, TIDE_NONE - 1) + 1;
}

void tide_read_state_segments(tide_reader *reader, void *object) {
    tide_json *json = &reader->json;
    tide_growing_state *state = reader->state;
    (void)object;
    tide_json_enter_array(json);
    while (tide_json_next_item(json)) {
        tide_segment_row *segments =
            tide_hostmem_grow(reader->mem, state->segments, &state->segment_capacity,
                              state->n_segments + 1, sizeof(*segments));
        if (segments == NULL) {
            tide_json_fail(json, TIDE_NO_MEMORY, json->at, "no memory for the segments");
            return;
        }
        state->segments = segments;
        tide_segment_row row = {0};
        tide_read_object(reader, &tide_readable_segment, &row);
        state->segments[state->n_segments++] = row;
    }
}

/* Copies rows into the snapshot's arena. */
static void *keep(tide_reader *reader, const void *rows, size_t n_rows, size_t row_bytes) {
    void *copy = tide_arena_copy(&reader->snapshot->arena, rows, n_rows, row_bytes);
    if (copy == NULL) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory for %zu rows",
                       n_rows);
    }
    return copy;
}

/* A state, as kept in the arena. */
typedef struct kept_state {
    tide_segment_row *segments;
    tide_block_row *blocks;
    const uint8_t *certainty; /* of each block; NULL: unknown for all */
    size_t n_segments, n_blocks;
} kept_state;

static kept_state read_state(tide_reader *reader) {
    tide_growing_state state = {0};
    kept_state kept = {0};
    reader->state = &state;
    tide_read_object(reader, &tide_readable_state, reader->snapshot);
    reader->state = NULL;
    kept.segments = keep(reader, state.segments, state.n_segments, sizeof(*state.segments));
    kept.blocks = keep(reader, state.blocks, state.n_blocks, sizeof(*state.blocks));
    if (state.has_certainty) {
        kept.certainty = keep(reader, state.certainty, state.n_blocks, sizeof(*state.certainty));
    }
    kept.n_segments = kept.segments != NULL ? state.n_segments : 0;
    kept.n_blocks = kept.blocks != NULL ? state.n_blocks : 0;
    reader->mem->release(reader->mem->ctx, state.segments);
    reader->mem->release(reader->mem->ctx, state.blocks);
    reader->mem->release(reader->mem->ctx, state.certainty);
    return kept;
}

void tide_read_document_start(tide_reader *reader, void *object) {
    tide_snapshot *snapshot = object;
    kept_state kept = read_state(reader);
    snapshot->start_segments = reader->start_segments = kept.segments;
    snapshot->n_start_segments = kept.n_segments;
    snapshot->start_blocks = reader->start_blocks = kept.blocks;
    snapshot->n_start_blocks = kept.n_blocks;
    snapshot->start_block_certainty = kept.certainty;
}

void tide_read_document_end(tide_reader *reader, void *object) {
    tide_snapshot *snapshot = object;
    kept_state kept = read_state(reader);
    snapshot->end_segments = reader->end_segments = kept.segments;
    snapshot->n_end_segments = kept.n_segments;
    snapshot->end_blocks = reader->end_blocks = kept.blocks;
    snapshot->n_end_blocks = kept.n_blocks;
    snapshot->end_block_certainty = kept.certainty;
}
