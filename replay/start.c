/* The start of a replay: the blocks that were allocated before the first event.
 *
 * They are either adopted at their recorded addresses, with the segments around them, or requested
 * again. Expandable segments need a third step, because a snapshot records the mapped memory, but
 * not the reserved range around it: the ranges are computed from all memory that the file shows as
 * mapped at any time.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/assert.h"
#include "replay/replay_internal.h"

/* A range of an expandable segment in the recorded start. */
typedef struct range {
    uint8_t stream;    /* of the snapshot */
    int pool;          /* TIDE_POOL_SMALL or TIDE_POOL_LARGE */
    uint64_t recorded; /* its lowest address that the file mentions */
    uint64_t address;  /* the same byte on the replay's device */
} range;

enum { MAX_RANGES = 64 };
#define BOUGHT UINT32_MAX
/* The allocator's defaults: a recording that omits the pool has neither constant. */
#define SMALL_BYTES (UINT64_C(1) << 20)         /* of the largest block of the small pool */
#define SMALL_SEGMENT_BYTES (UINT64_C(2) << 20) /* of its segments */

typedef struct starter {
    tide_replay_lane *lane; /* borrowed */
    range ranges[MAX_RANGES];
    size_t n_ranges;
    struct piece *pieces; /* owned; by address; NULL until a start segment is expandable */
    size_t n_pieces;
} starter;

static const tide_snapshot *snapshot_of(const tide_replay_lane *lane) {
    return lane->replay->snapshot;
}

static int pool_for(uint64_t block_bytes) {
    return block_bytes <= SMALL_BYTES ? TIDE_POOL_SMALL : TIDE_POOL_LARGE;
}

/* The pool of a start segment. A file that does not name the pool still shows it: a segment has
 * blocks of only one pool, so any block in it decides, one present now or, in mapped memory, a
 * later one. Without any block, the size of the segment decides. */
static int pool_of(const tide_snapshot *snapshot, const tide_segment_row *segment) {
    if (segment->pool != TIDE_SEGMENT_UNKNOWN) {
        return segment->pool == TIDE_SEGMENT_SMALL ? TIDE_POOL_SMALL : TIDE_POOL_LARGE;
    }
    for (size_t i = 0; i < segment->n_blocks; i++) {
        const tide_block_row *block = &snapshot->start_blocks[segment->first_block + i];
        if (block->state != TIDE_BLOCK_FREE) {
            return pool_for(block->block_bytes);
        }
    }
    for (size_t i = 0; i < snapshot->n_events && segment->is_expandable; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        if (event.action == TIDE_ACTION_ALLOC && event.device == segment->device &&
            event.address >= segment->address &&
            event.address - segment->address < segment->total_bytes) {
            return pool_for(event.block_bytes);
        }
    }
    return segment->total_bytes <= SMALL_SEGMENT_BYTES ? TIDE_POOL_SMALL : TIDE_POOL_LARGE;
}

/* ---- ranges ---- */

/* Memory that was mapped or allocated at some time of the run. */
typedef struct piece {
    uint64_t address;
    uint64_t end;
    uint32_t key; /* stream and pool of a range; BOUGHT: not part of a range */
} piece;

static uint32_t key_of(uint8_t stream, int pool) {
    return (uint32_t)stream << 2 | (uint32_t)pool;
}

static int by_address(const void *a, const void *b) {
    const piece *left = a;
    const piece *right = b;
    return (left->address > right->address) - (left->address < right->address);
}

/* All pieces of the device, by address. The row of a map does not name its pool, but the request
 * after it does: memory is mapped only for requests. Maps after the last request are unknown and
 * are left out. */
static tide_status find_pieces(const tide_snapshot *snapshot, uint8_t device,
                               const tide_hostmem *mem, piece **ret_pieces, size_t *ret_n) {
    size_t n = 0;
    size_t n_known = 0;
    piece *pieces = tide_hostmem_zeroed(mem, snapshot->n_start_segments + snapshot->n_events + 1,
                                        sizeof(*pieces));
    if (pieces == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        if (segment->device == device) {
            pieces[n++] =
                (piece){segment->address, segment->address + segment->total_bytes,
                        segment->is_expandable ? key_of(segment->stream, pool_of(snapshot, segment))
                                               : BOUGHT};
        }
    }
    n_known = n;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        if (event.device != device) {
            continue;
        }
        if (event.action == TIDE_ACTION_SEGMENT_MAP) {
            pieces[n++] = (piece){event.address, event.address + event.block_bytes, 0};
        } else if (event.action == TIDE_ACTION_SEGMENT_ALLOC) {
            pieces[n++] = (piece){event.address, event.address + event.block_bytes, BOUGHT};
        } else if (event.action == TIDE_ACTION_ALLOC || event.action == TIDE_ACTION_OOM) {
            int pool = pool_for(event.requested_bytes);
            for (; n_known < n; n_known++) {
                pieces[n_known].key =
                    pieces[n_known].key == BOUGHT ? BOUGHT : key_of(event.stream, pool);
            }
        }
    }
    qsort(pieces, n_known, sizeof(*pieces), by_address);
    *ret_pieces = pieces;
    *ret_n = n_known;
    return TIDE_OK;
}

tide_status tide_replay_range_total(const tide_snapshot *snapshot, uint8_t device,
                                    const tide_hostmem *mem, int64_t *ret_bytes) {
    piece *pieces = NULL;
    size_t n = 0;
    uint64_t room = UINT64_MAX;
    TIDE_TRY(find_pieces(snapshot, device, mem, &pieces, &n));
    size_t first = 0; /* the pieces of one range */
    /* The allocator reserves a range of 9/8 of the device's memory, rounded up. Two ranges that are
     * neighbours in the recording must not overlap in the replay, so the smallest distance between
     * the beginning of a range and the next piece limits the size of the device. */
    for (size_t i = 1; i < n; i++) {
        if (pieces[i].key != pieces[first].key) {
            uint64_t gap = pieces[i].address - pieces[first].address;
            room = pieces[first].key != BOUGHT && gap < room ? gap : room;
            first = i;
        }
    }
    mem->release(mem->ctx, pieces);
    *ret_bytes = room > INT64_MAX ? -1 : (int64_t)(room / 9 * 8);
    return TIDE_OK;
}

/* Where the range around a start segment begins: going down from the segment, the last piece of the
 * same stream and pool before one of another. */
static tide_status find_beginning(starter *s, const tide_segment_row *segment,
                                  uint64_t *ret_address) {
    const tide_replay_lane *lane = s->lane;
    if (s->pieces == NULL) {
        TIDE_TRY(find_pieces(snapshot_of(lane), lane->number, lane->replay->mem, &s->pieces,
                             &s->n_pieces));
    }
    uint32_t key = key_of(segment->stream, pool_of(snapshot_of(lane), segment));
    uint64_t address = segment->address;
    for (size_t i = s->n_pieces; i > 0; i--) {
        const piece *at = &s->pieces[i - 1];
        if (at->address < segment->address) {
            if (at->key != key) {
                break;
            }
            address = at->address;
        }
    }
    *ret_address = address;
    return TIDE_OK;
}

/* The range of an expandable start segment. The first segment of a range makes it; the others find
 * it, because they have the same beginning. */
static tide_status range_of(starter *s, const tide_segment_row *segment, range *ret_range,
                            tide_error *error) {
    tide_replay_lane *lane = s->lane;
    int pool = pool_of(snapshot_of(lane), segment);
    uint64_t beginning = 0;
    if (find_beginning(s, segment, &beginning) != TIDE_OK) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the replay's start");
    }
    for (size_t i = 0; i < s->n_ranges; i++) {
        if (s->ranges[i].stream == segment->stream && s->ranges[i].pool == pool &&
            s->ranges[i].recorded == beginning) {
            *ret_range = s->ranges[i];
            return TIDE_OK;
        }
    }
    if (s->n_ranges == MAX_RANGES) {
        return tide_fail(error, TIDE_LIMIT, "the start has more than %d expandable segments",
                         MAX_RANGES);
    }
    range *found = &s->ranges[s->n_ranges++];
    /* Sets in advance where the device must place the next reservation. */
    *found = (range){.stream = segment->stream, .pool = pool, .recorded = beginning};
    lane->device->range_address = beginning;
    TIDE_TRY(tide_cache_adopt_range(lane->cache, snapshot_of(lane)->streams[segment->stream].handle,
                                    pool, &found->address, error));
    *ret_range = *found;
    return TIDE_OK;
}

/* ---- the recorded segments ---- */

/* Blocks as the cache adopts them, into `rows`, which is large enough: neighbouring free blocks
 * become one, because the allocator always merges them and refuses others, and blocks that wait for
 * a stream are allocated at first, because adopting cannot create waiting blocks (remember() makes
 * them wait). */
static size_t copy_blocks(const tide_snapshot *snapshot, const tide_segment_row *segment,
                          tide_block_row *rows) {
    size_t n = 0;
    for (size_t i = 0; i < segment->n_blocks; i++) {
        tide_block_row row = snapshot->start_blocks[segment->first_block + i];
        if (row.state == TIDE_BLOCK_FREE && n > 0 && rows[n - 1].state == TIDE_BLOCK_FREE) {
            rows[n - 1].block_bytes += row.block_bytes;
            continue;
        }
        if (row.state != TIDE_BLOCK_FREE) {
            row.requested_bytes = row.requested_bytes > 0 ? row.requested_bytes : row.block_bytes;
            row.state = TIDE_BLOCK_ALLOCATED;
        }
        rows[n++] = row;
    }
    return n;
}

/* From now on the recorded address means the block at `address`; 0: the request ran out of memory,
 * and its free is skipped. */
static tide_status remember(tide_replay_lane *lane, uint64_t recorded, uint64_t address,
                            bool is_waiting, tide_error *error) {
    if (is_waiting) {
        return tide_replay_lane_wait(lane, recorded, address, error);
    }
    if (tide_map_put(&lane->addresses, recorded, address) != TIDE_OK) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the replay's start");
    }
    return TIDE_OK;
}

static tide_status adopt(starter *s, const tide_segment_row *segment, const tide_block_row *rows,
                         size_t n_rows, uint64_t *ret_address, tide_error *error) {
    tide_replay_lane *lane = s->lane;
    uint64_t address = segment->address;
    if (segment->is_expandable) {
        range around = {.address = 0};
        TIDE_TRY(range_of(s, segment, &around, error));
        TIDE_ASSERT(around.recorded <= segment->address);
        *ret_address = around.address + (segment->address - around.recorded);
        return tide_cache_adopt_mapped(lane->cache, *ret_address, (size_t)segment->total_bytes,
                                       rows, n_rows, error);
    }
    if (!lane->options->verify) {
        TIDE_TRY(
            tide_device_alloc(&lane->device->base, (size_t)segment->total_bytes, &address, error));
    } else {
        TIDE_TRY(tide_replay_device_sell(lane->device, address, segment->total_bytes, error));
    }
    *ret_address = address;
    return tide_cache_adopt_segment(lane->cache, address, (size_t)segment->total_bytes,
                                    snapshot_of(lane)->streams[segment->stream].handle,
                                    pool_of(snapshot_of(lane), segment), rows, n_rows, error);
}

static tide_status adopt_segment(starter *s, const tide_segment_row *segment, tide_error *error) {
    tide_replay_lane *lane = s->lane;
    const tide_snapshot *snapshot = snapshot_of(lane);
    const tide_hostmem *mem = lane->replay->mem;
    uint64_t address = 0;
    tide_block_row *rows = tide_hostmem_zeroed(mem, segment->n_blocks + 1, sizeof(*rows));
    if (rows == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the replay's start");
    }
    size_t n_rows = copy_blocks(snapshot, segment, rows);
    tide_status status =
        segment->address % tide_cache_get_config(lane->cache)->min_block_bytes == 0
            ? adopt(s, segment, rows, n_rows, &address, error)
            : tide_fail(error, TIDE_UNSUPPORTED,
                        "the segment at 0x%" PRIx64 " does not begin at a multiple of 512",
                        segment->address);
    mem->release(mem->ctx, rows);
    for (size_t i = 0; i < segment->n_blocks && status == TIDE_OK; i++) {
        const tide_block_row *block = &snapshot->start_blocks[segment->first_block + i];
        if (block->state != TIDE_BLOCK_FREE) {
            status = remember(lane, segment->address + block->offset_bytes,
                              address + block->offset_bytes,
                              block->state == TIDE_BLOCK_PENDING_FREE, error);
        }
    }
    if (status != TIDE_OK && status != TIDE_NO_MEMORY) {
        tide_error_prefix(error, "the recorded start does not fit these settings");
        return TIDE_UNSUPPORTED;
    }
    return status;
}

/* ---- blocks requested again ---- */

/* A block that runs out of memory here is counted, and the replay continues without it. */
static tide_status request_blocks(tide_replay_lane *lane, const tide_segment_row *segment,
                                  tide_error *error) {
    const tide_snapshot *snapshot = snapshot_of(lane);
    for (size_t i = 0; i < segment->n_blocks; i++) {
        tide_block_row block = snapshot->start_blocks[segment->first_block + i];
        uint64_t address = 0;
        if (block.state == TIDE_BLOCK_FREE) {
            continue;
        }
        if (block.requested_bytes == 0) { /* unknown */
            block.requested_bytes = block.block_bytes;
        }
        TIDE_TRY(tide_replay_lane_request(
            lane, SIZE_MAX, &block, snapshot->streams[segment->stream].handle, &address, error));
        lane->replay->n_lost += address == 0 ? 1 : 0;
        TIDE_TRY(remember(lane, segment->address + block.offset_bytes, address,
                          block.state == TIDE_BLOCK_PENDING_FREE, error));
    }
    return TIDE_OK;
}

static tide_status start_segments(starter *s, bool is_rebuilt, tide_error *error) {
    tide_replay_lane *lane = s->lane;
    const tide_snapshot *snapshot = snapshot_of(lane);
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        if (segment->device == lane->number) {
            TIDE_TRY(is_rebuilt ? request_blocks(lane, segment, error)
                                : adopt_segment(s, segment, error));
        }
    }
    return TIDE_OK;
}

tide_status tide_replay_lane_start(tide_replay_lane *lane, bool is_rebuilt, tide_error *error) {
    starter s = {.lane = lane};
    tide_status status = start_segments(&s, is_rebuilt, error);
    lane->replay->mem->release(lane->replay->mem->ctx, s.pieces);
    if (status != TIDE_OK) {
        return status;
    }
    if (lane->recorder != NULL) {
        lane->n_taken = tide_recorder_n_rows(lane->recorder);
    }
    tide_cache_reset_peaks(lane->cache);
    tide_cache_get_stats(lane->cache, &lane->base);
    /* The start counts as one row, so a recording without events also has figures. */
    lane->most_reserved_bytes = -1;
    tide_replay_count(lane);
    return TIDE_OK;
}
