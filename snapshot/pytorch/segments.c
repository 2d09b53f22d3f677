/* The segments and blocks of a dump. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/pytorch/internal.h"

tide_status tide_pytorch_add_segment(const tide_hostmem *mem, tide_pytorch_state *state,
                                     tide_segment_row segment) {
    tide_segment_row *segments = tide_hostmem_grow(mem, state->segments, &state->segment_capacity,
                                                   state->n_segments + 1, sizeof(*segments));
    if (segments == NULL) {
        return TIDE_NO_MEMORY;
    }
    state->segments = segments;
    segments[state->n_segments++] = segment;
    return TIDE_OK;
}

tide_status tide_pytorch_add_block(const tide_hostmem *mem, tide_pytorch_state *state,
                                   tide_block_row block) {
    tide_block_row *blocks = tide_hostmem_grow(mem, state->blocks, &state->block_capacity,
                                               state->n_blocks + 1, sizeof(*blocks));
    if (blocks == NULL) {
        return TIDE_NO_MEMORY;
    }
    state->blocks = blocks;
    blocks[state->n_blocks++] = block;
    return TIDE_OK;
}

tide_status tide_pytorch_add_free_block(const tide_hostmem *mem, tide_pytorch_state *state,
                                        uint64_t offset_bytes, uint64_t block_bytes) {
    return block_bytes == 0 ? TIDE_OK
                            : tide_pytorch_add_block(mem, state,
                                                     (tide_block_row){.offset_bytes = offset_bytes,
                                                                      .block_bytes = block_bytes,
                                                                      .stack = TIDE_NONE,
                                                                      .scope = TIDE_NONE,
                                                                      .name = TIDE_NONE,
                                                                      .state = TIDE_BLOCK_FREE});
}

tide_status tide_pytorch_stream(tide_pytorch_import *in, size_t device, tide_pickle_value value,
                                const tide_pytorch_place *dict, uint8_t *ret_stream) {
    int64_t handle = 0;
    tide_pytorch_place at = {.up = dict, .key = "stream"};
    switch (tide_pickle_kind_of(in->pickle, value)) {
    case TIDE_PICKLE_NOTHING: /* old files have none */
        break;
    case TIDE_PICKLE_INTEGER:
        handle = tide_pickle_integer(in->pickle, value);
        break;
    case TIDE_PICKLE_HUGE: /* cudaStreamPerThread and the like as unsigned numbers: one is enough */
        handle = -1;
        break;
    default:
        tide_pytorch_odd(in, &at);
    }
    size_t i = 0;
    while (i < in->n_streams && (in->streams[i].handle != (uint64_t)handle ||
                                 in->streams[i].device != (uint8_t)device)) {
        i++;
    }
    if (i == TIDE_PYTORCH_MAX_STREAMS) {
        return tide_pytorch_fail(in, &at, TIDE_LIMIT, "more than the limit of %d streams",
                                 TIDE_PYTORCH_MAX_STREAMS);
    }
    if (i == in->n_streams) {
        in->streams[in->n_streams++] =
            (tide_stream_row){.handle = (uint64_t)handle, .device = (uint8_t)device};
    }
    *ret_stream = (uint8_t)i;
    return TIDE_OK;
}

/* PyTorch up to 2.0 wrote no frames but a history of the block's users, newest first; the first
 * releases also had no requested_size. The block's own values take precedence. */
static tide_status read_history(tide_pytorch_import *in, tide_pickle_value history,
                                const tide_pytorch_place *block, tide_pickle_value *requested,
                                tide_pickle_value *frames) {
    static const tide_pytorch_key KEYS[] = {TIDE_PYTORCH_KEY("real_size"),
                                            TIDE_PYTORCH_KEY("frames")};
    const tide_pickle_container *list = NULL;
    tide_pytorch_place at = {.up = block, .key = "history"};
    if (tide_pickle_kind_of(in->pickle, history) != TIDE_PICKLE_LIST) {
        tide_pytorch_odd(in, &at);
        return TIDE_OK;
    }
    TIDE_TRY(tide_pytorch_list(in, history, &at, &list));
    if (list->n_items > 0) {
        tide_pytorch_place item = {.up = &at, .index = 0};
        tide_pickle_value values[2];
        if (tide_pickle_kind_of(in->pickle, list->items[0]) != TIDE_PICKLE_DICT) {
            tide_pytorch_odd(in, &item);
            return TIDE_OK;
        }
        TIDE_TRY(tide_pytorch_dict(in, list->items[0], &item, KEYS, 2, values));
        *requested = *requested != 0 ? *requested : values[0];
        *frames = *frames != 0 ? *frames : values[1];
    }
    return TIDE_OK;
}

static tide_status read_state(const tide_pytorch_import *in, tide_pickle_value value,
                              const tide_pytorch_place *block, uint8_t *ret_state) {
    if (tide_pytorch_is(in, value, "inactive")) {
        *ret_state = TIDE_BLOCK_FREE;
    } else if (tide_pytorch_is(in, value, "active_allocated")) {
        *ret_state = TIDE_BLOCK_ALLOCATED;
    } else if (tide_pytorch_is(in, value, "active_pending_free") ||
               tide_pytorch_is(in, value, "active_awaiting_free")) {
        *ret_state = TIDE_BLOCK_PENDING_FREE;
    } else {
        tide_pytorch_place at = {.up = block, .key = "state"};
        return tide_pytorch_fail(in, &at, TIDE_FORMAT,
                                 "inactive, active_allocated or active_pending_free was expected");
    }
    return TIDE_OK;
}

enum { KEY_ADDRESS = 0, KEY_SIZE, KEY_REQUESTED, KEY_STATE, KEY_FRAMES, KEY_HISTORY, N_BLOCK_KEYS };

static const tide_pytorch_key BLOCK_KEYS[N_BLOCK_KEYS] = {
    TIDE_PYTORCH_KEY("address"), TIDE_PYTORCH_KEY("size"),   TIDE_PYTORCH_KEY("requested_size"),
    TIDE_PYTORCH_KEY("state"),   TIDE_PYTORCH_KEY("frames"), TIDE_PYTORCH_KEY("history")};

/* A block may begin after the end of the previous one; the caller fills the gap with a free block.
 */
static tide_status read_address(tide_pytorch_import *in, const tide_segment_row *segment,
                                tide_pickle_value value, const tide_pytorch_place *at,
                                tide_block_row *row) {
    int64_t number = 0;
    tide_pytorch_place address = {.up = at, .key = "address"};
    if (value == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_pytorch_integer(in, value, &address, 0, INT64_MAX, &number));
    uint64_t expected = segment->address + row->offset_bytes;
    if ((uint64_t)number < expected ||
        (uint64_t)number - expected > segment->total_bytes - row->offset_bytes) {
        return tide_pytorch_fail(in, &address, TIDE_FORMAT,
                                 "0x%" PRIx64 " is not where the block before it ends, 0x%" PRIx64,
                                 (uint64_t)number, expected);
    }
    row->offset_bytes += (uint64_t)number - expected;
    return TIDE_OK;
}

/* The request of a block; the block's size if it is missing or larger than the block. */
static void read_requested(tide_pytorch_import *in, tide_pickle_value value,
                           const tide_pytorch_place *at, tide_block_row *row) {
    tide_pytorch_place requested = {.up = at, .key = "requested_size"};
    row->requested_bytes = row->block_bytes;
    if (value != 0) {
        row->requested_bytes = (uint64_t)tide_pytorch_odd_integer(
            in, value, &requested, 0, (int64_t)row->block_bytes, (int64_t)row->block_bytes);
    }
}

static tide_status read_block(tide_pytorch_import *in, const tide_segment_row *segment,
                              tide_pickle_value value, tide_pytorch_place *at,
                              tide_block_row *row) {
    tide_pickle_value values[N_BLOCK_KEYS];
    TIDE_TRY(tide_pytorch_dict(in, value, at, BLOCK_KEYS, N_BLOCK_KEYS, values));
    int64_t number = 0;
    tide_pytorch_place size = {.up = at, .key = "size"};
    TIDE_TRY(tide_pytorch_integer(in, values[KEY_SIZE], &size, 0, TIDE_PYTORCH_MAX_BYTES, &number));
    row->block_bytes = (uint64_t)number;
    TIDE_TRY(read_state(in, values[KEY_STATE], at, &row->state));
    TIDE_TRY(read_address(in, segment, values[KEY_ADDRESS], at, row));
    if (row->state == TIDE_BLOCK_FREE) {
        return TIDE_OK; /* requested_size may be the last user's */
    }
    if (values[KEY_HISTORY] != 0 && (values[KEY_REQUESTED] == 0 || values[KEY_FRAMES] == 0)) {
        TIDE_TRY(
            read_history(in, values[KEY_HISTORY], at, &values[KEY_REQUESTED], &values[KEY_FRAMES]));
    }
    read_requested(in, values[KEY_REQUESTED], at, row);
    return tide_pytorch_stack(in, values[KEY_FRAMES], at, &row->stack);
}

/* A free block for a gap that no block of the file covers. */
static tide_status add_free(tide_pytorch_import *in, uint64_t offset_bytes, uint64_t block_bytes) {
    if (block_bytes == 0) {
        return TIDE_OK;
    }
    in->n_contradictions++;
    return tide_pytorch_add_free_block(in->mem, &in->end, offset_bytes, block_bytes);
}

static tide_status read_blocks(tide_pytorch_import *in, tide_segment_row *segment,
                               tide_pickle_value value, const tide_pytorch_place *dict) {
    const tide_pickle_container *list = NULL;
    tide_pytorch_place at = {.up = dict, .key = "blocks"};
    TIDE_TRY(tide_pytorch_list(in, value, &at, &list));
    TIDE_TRY(tide_pytorch_count(in, list->n_items, &at));
    segment->first_block = in->end.n_blocks;
    uint64_t n_filled = 0;
    for (size_t i = 0; i < list->n_items; i++) {
        tide_pytorch_place item = {.up = &at, .index = i};
        tide_block_row row = {
            .offset_bytes = n_filled, .stack = TIDE_NONE, .scope = TIDE_NONE, .name = TIDE_NONE};
        TIDE_TRY(read_block(in, segment, list->items[i], &item, &row));
        if (row.block_bytes > segment->total_bytes - row.offset_bytes) {
            return tide_pytorch_fail(in, &item, TIDE_FORMAT,
                                     "the block ends after its segment of %" PRIu64 " bytes",
                                     segment->total_bytes);
        }
        TIDE_TRY(add_free(in, n_filled, row.offset_bytes - n_filled));
        TIDE_TRY(tide_pytorch_add_block(in->mem, &in->end, row));
        n_filled = row.offset_bytes + row.block_bytes;
    }
    TIDE_TRY(add_free(in, n_filled, segment->total_bytes - n_filled));
    segment->n_blocks = in->end.n_blocks - segment->first_block;
    return TIDE_OK;
}

/* Leaves (0, 0) if the value is missing or odd. */
static void read_pool_id(tide_pytorch_import *in, tide_pickle_value value,
                         const tide_pytorch_place *dict, uint32_t pool_id[2]) {
    tide_pytorch_place at = {.up = dict, .key = "segment_pool_id"};
    tide_pickle_kind kind = tide_pickle_kind_of(in->pickle, value);
    if (kind == TIDE_PICKLE_NOTHING) {
        return;
    }
    if (kind == TIDE_PICKLE_LIST || kind == TIDE_PICKLE_TUPLE) {
        const tide_pickle_container *pair = tide_pickle_items(in->pickle, value);
        int64_t numbers[2] = {-1, -1};
        for (size_t i = 0; pair->n_items == 2 && i < 2; i++) {
            if (tide_pickle_kind_of(in->pickle, pair->items[i]) == TIDE_PICKLE_INTEGER) {
                numbers[i] = tide_pickle_integer(in->pickle, pair->items[i]);
            }
        }
        if (numbers[0] >= 0 && numbers[0] <= UINT32_MAX && numbers[1] >= 0 &&
            numbers[1] <= UINT32_MAX) {
            pool_id[0] = (uint32_t)numbers[0];
            pool_id[1] = (uint32_t)numbers[1];
            return;
        }
    }
    tide_pytorch_odd(in, &at);
}

static bool read_expandable(tide_pytorch_import *in, tide_pickle_value value,
                            const tide_pytorch_place *dict) {
    tide_pytorch_place at = {.up = dict, .key = "is_expandable"};
    tide_pickle_kind kind = tide_pickle_kind_of(in->pickle, value);
    if (kind != TIDE_PICKLE_BOOLEAN && kind != TIDE_PICKLE_NOTHING) {
        tide_pytorch_odd(in, &at);
    }
    return kind == TIDE_PICKLE_BOOLEAN && tide_pickle_boolean(value);
}

enum {
    KEY_DEVICE = 0,
    KEY_SEGMENT_ADDRESS,
    KEY_TOTAL,
    KEY_STREAM,
    KEY_TYPE,
    KEY_POOL_ID,
    KEY_EXPANDABLE,
    KEY_SEGMENT_FRAMES,
    KEY_BLOCKS,
    N_SEGMENT_KEYS
};

static const tide_pytorch_key SEGMENT_KEYS[N_SEGMENT_KEYS] = {
    TIDE_PYTORCH_KEY("device"),        TIDE_PYTORCH_KEY("address"),
    TIDE_PYTORCH_KEY("total_size"),    TIDE_PYTORCH_KEY("stream"),
    TIDE_PYTORCH_KEY("segment_type"),  TIDE_PYTORCH_KEY("segment_pool_id"),
    TIDE_PYTORCH_KEY("is_expandable"), TIDE_PYTORCH_KEY("frames"),
    TIDE_PYTORCH_KEY("blocks")};

static tide_status read_segment(tide_pytorch_import *in, tide_pickle_value value,
                                tide_pytorch_place *at) {
    tide_pickle_value values[N_SEGMENT_KEYS];
    tide_segment_row row = {0};
    int64_t number = 0;
    TIDE_TRY(tide_pytorch_dict(in, value, at, SEGMENT_KEYS, N_SEGMENT_KEYS, values));
    tide_pytorch_place device = {.up = at, .key = "device"};
    TIDE_TRY(tide_pytorch_integer(in, values[KEY_DEVICE], &device, 0, TIDE_PYTORCH_MAX_DEVICES - 1,
                                  &number));
    row.device = (uint8_t)number;
    in->n_devices = row.device >= in->n_devices ? row.device + 1U : in->n_devices;
    tide_pytorch_place address = {.up = at, .key = "address"};
    TIDE_TRY(tide_pytorch_integer(in, values[KEY_SEGMENT_ADDRESS], &address, 0,
                                  TIDE_PYTORCH_MAX_ADDRESS, &number));
    row.address = (uint64_t)number;
    tide_pytorch_place total = {.up = at, .key = "total_size"};
    TIDE_TRY(
        tide_pytorch_integer(in, values[KEY_TOTAL], &total, 0, TIDE_PYTORCH_MAX_BYTES, &number));
    row.total_bytes = (uint64_t)number;
    TIDE_TRY(tide_pytorch_stream(in, row.device, values[KEY_STREAM], at, &row.stream));
    row.pool = tide_pytorch_is(in, values[KEY_TYPE], "small")   ? TIDE_SEGMENT_SMALL
               : tide_pytorch_is(in, values[KEY_TYPE], "large") ? TIDE_SEGMENT_LARGE
                                                                : TIDE_SEGMENT_UNKNOWN;
    read_pool_id(in, values[KEY_POOL_ID], at, row.pool_id);
    row.is_expandable = read_expandable(in, values[KEY_EXPANDABLE], at);
    uint32_t stack = TIDE_NONE;
    TIDE_TRY(tide_pytorch_stack(in, values[KEY_SEGMENT_FRAMES], at, &stack));
    row.stack_after = stack != TIDE_NONE ? stack + 1 : 0;
    TIDE_TRY(read_blocks(in, &row, values[KEY_BLOCKS], at));
    return tide_pytorch_add_segment(in->mem, &in->end, row);
}

/* Segments of one address keep the order of the file: qsort is not stable. */
static int by_place(const void *a, const void *b) {
    const tide_segment_row *left = a;
    const tide_segment_row *right = b;
    if (left->device != right->device) {
        return left->device < right->device ? -1 : 1;
    }
    if (left->address != right->address) {
        return left->address < right->address ? -1 : 1;
    }
    return (left->first_block > right->first_block) - (left->first_block < right->first_block);
}

tide_status tide_pytorch_add_segments(tide_pytorch_import *in, const tide_pickle_value *items,
                                      size_t n_items, size_t first, tide_pytorch_place *at) {
    TIDE_TRY(tide_pytorch_count(in, n_items, at));
    tide_pickle_allow(in->pickle, (uint64_t)n_items * TIDE_PYTORCH_ROW_VALUES);
    for (size_t i = 0; i < n_items; i++) {
        tide_pytorch_place item = {.up = at, .index = first + i};
        TIDE_TRY(read_segment(in, items[i], &item));
    }
    return TIDE_OK;
}

tide_status tide_pytorch_read_segments(tide_pytorch_import *in, tide_pickle_value value) {
    const tide_pickle_container *list = NULL;
    tide_pytorch_place at = {.key = "segments"};
    bool is_taken = in->segments != 0 && in->segments == value;
    if (is_taken) {
        list = tide_pickle_items(in->pickle, value);
    } else if (in->segments != 0) {
        return tide_pytorch_fail(in, &at, TIDE_FORMAT,
                                 "segments stand in a part of the file where no snapshot has them");
    } else {
        TIDE_TRY(tide_pytorch_list(in, value, &at, &list));
    }
    TIDE_TRY(tide_pytorch_add_segments(in, list->items, list->n_items,
                                       is_taken ? in->n_taken_segments : 0, &at));
    if (in->end.n_segments > 0) {
        qsort(in->end.segments, in->end.n_segments, sizeof(*in->end.segments), by_place);
    }
    return TIDE_OK;
}
