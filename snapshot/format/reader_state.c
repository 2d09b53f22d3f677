#include <string.h>

#include "snapshot/format/columns_internal.h"
#include "snapshot/format/reader_internal.h"

enum { POOL_BYTES = 16 }; /* "small" */

/* Segments and blocks in growing arrays: their number is known only at the end. */
typedef struct growing_state {
    tide_segment_row *segments; /* owned */
    size_t n_segments;
    size_t segment_capacity;
    tide_block_row *blocks; /* owned */
    size_t n_blocks;
    size_t block_capacity;
    uint8_t *certainty; /* owned; of each block */
    size_t certainty_capacity;
    bool has_certainty; /* of any block */
} growing_state;

static uint64_t get_bytes(tide_json *json) {
    return (uint64_t)tide_json_get_integer(json, 0, INT64_MAX);
}

static tide_block_row read_block(tide_json *json, const tide_column_keys *keys,
                                 growing_state *state) {
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
static bool grow_blocks(tide_reader *reader, growing_state *state) {
    size_t n_wanted = state->n_blocks + 1;
    tide_block_row *blocks = tide_hostmem_grow(reader->mem, state->blocks, &state->block_capacity,
                                               n_wanted, sizeof(*blocks));
    state->blocks = blocks != NULL ? blocks : state->blocks;
    uint8_t *certainty =
        tide_hostmem_grow(reader->mem, state->certainty, &state->certainty_capacity, n_wanted, 1);
    state->certainty = certainty != NULL ? certainty : state->certainty;
    return blocks != NULL && certainty != NULL;
}

static void read_blocks(tide_reader *reader, growing_state *state, tide_segment_row *segment) {
    tide_json *json = &reader->json;
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

/* A name that tidemark does not know is an unknown pool. */
static uint8_t read_pool(tide_reader *reader) {
    char text[POOL_BYTES];
    if (tide_json_peek(&reader->json) != TIDE_JSON_STRING) {
        (void)tide_json_get_odd_text(&reader->json, &reader->snapshot->arena);
        return TIDE_SEGMENT_UNKNOWN;
    }
    const char *pool = tide_json_get_short_text(&reader->json, text, sizeof(text));
    return strcmp(pool, "small") == 0   ? TIDE_SEGMENT_SMALL
           : strcmp(pool, "large") == 0 ? TIDE_SEGMENT_LARGE
                                        : TIDE_SEGMENT_UNKNOWN;
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

static tide_segment_row read_segment(tide_reader *reader, growing_state *state) {
    enum {
        DEVICE,
        ADDRESS,
        TOTAL,
        STREAM,
        BLOCKS,
        N_REQUIRED,
        EXPANDABLE = N_REQUIRED,
        POOL,
        POOL_ID
    };
    static const char *const KEYS[] = {
        [DEVICE] = "device", [ADDRESS] = "address", [TOTAL] = "total_bytes",
        [STREAM] = "stream", [BLOCKS] = "blocks",   [EXPANDABLE] = "is_expandable",
        [POOL] = "pool",     [POOL_ID] = "pool_id",
    };
    enum { N_KEYS = sizeof(KEYS) / sizeof(KEYS[0]) };
    tide_json *json = &reader->json;
    tide_segment_row row = {0};
    int field = -1;
    tide_json_enter_object(json);
    while ((field = tide_json_next_field(json, KEYS, N_KEYS, (1U << N_REQUIRED) - 1)) >= 0) {
        switch (field) {
        case DEVICE:
            row.device = (uint8_t)tide_json_get_integer(json, 0, UINT8_MAX);
            break;
        case ADDRESS:
            row.address = get_bytes(json);
            break;
        case TOTAL:
            row.total_bytes = get_bytes(json);
            break;
        case STREAM:
            row.stream = (uint8_t)tide_json_get_integer(json, 0, UINT8_MAX);
            break;
        case BLOCKS:
            read_blocks(reader, state, &row);
            break;
        case EXPANDABLE:
            row.is_expandable = tide_json_get_odd_boolean(json);
            break;
        case POOL:
            row.pool = read_pool(reader);
            break;
        default:
            tide_read_pool_id(json, row.pool_id);
        }
    }
    return row;
}

static void read_segments(tide_reader *reader, growing_state *state) {
    tide_json *json = &reader->json;
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
        tide_segment_row row = read_segment(reader, state);
        state->segments[state->n_segments++] = row;
    }
}

/* A copy in the snapshot's arena. */
static void *keep(tide_reader *reader, const void *rows, size_t n_rows, size_t row_bytes) {
    void *copy = tide_arena_copy(&reader->snapshot->arena, rows, n_rows, row_bytes);
    if (copy == NULL) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory for %zu rows",
                       n_rows);
    }
    return copy;
}

/* One of the states as it is kept in the arena. */
typedef struct kept_state {
    tide_segment_row *segments;
    tide_block_row *blocks;
    const uint8_t *certainty; /* of each block; NULL: the file says it of none */
    size_t n_segments, n_blocks;
} kept_state;

static kept_state read_state(tide_reader *reader) {
    static const char *const KEYS[] = {"segments"};
    growing_state state = {0};
    kept_state kept = {0};
    tide_json_enter_object(&reader->json);
    while (tide_json_next_field(&reader->json, KEYS, 1, 1) >= 0) {
        read_segments(reader, &state);
    }
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

void tide_read_start(tide_reader *reader) {
    tide_snapshot *snapshot = reader->snapshot;
    kept_state kept = read_state(reader);
    snapshot->start_segments = reader->start_segments = kept.segments;
    snapshot->n_start_segments = kept.n_segments;
    snapshot->start_blocks = reader->start_blocks = kept.blocks;
    snapshot->n_start_blocks = kept.n_blocks;
    snapshot->start_block_certainty = kept.certainty;
}

void tide_read_end(tide_reader *reader) {
    tide_snapshot *snapshot = reader->snapshot;
    kept_state kept = read_state(reader);
    snapshot->end_segments = reader->end_segments = kept.segments;
    snapshot->n_end_segments = kept.n_segments;
    snapshot->end_blocks = reader->end_blocks = kept.blocks;
    snapshot->n_end_blocks = kept.n_blocks;
    snapshot->end_block_certainty = kept.certainty;
}
