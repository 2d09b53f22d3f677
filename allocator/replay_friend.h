/* replay_friend.h - the functions of a cache that only a replay needs: they start it from a
 * recorded state, repeat the recorded program's use of streams, and query what the cache would do.
 *
 * A replay is the only thread that uses its cache, so the queries take no lock.
 */
#ifndef TIDE_ALLOCATOR_REPLAY_FRIEND_H
#define TIDE_ALLOCATOR_REPLAY_FRIEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/* config.c. The size of the block for a request, only by the rounding rule. */
size_t tide_cache_round_bytes(const tide_cache_config *config, size_t n_bytes);

/* ---- starting from a recorded state (adopt.c) ---- */

/* Makes a segment with this partition a part of the cache, as if it had been allocated and cut
 * earlier; nothing is recorded. Offsets count from `address`; blocks must tile the segment, be
 * multiples of min_block_bytes and at least as large as requested, and two free blocks must not be
 * neighbours. Blocks that wait for another stream are refused: adopt them as live, then release
 * them. The device must know `address` as a segment. */
TIDE_NODISCARD tide_status tide_cache_adopt_segment(tide_cache *cache, uint64_t address,
                                                    size_t total_bytes, tide_stream stream,
                                                    int pool, const tide_block_row *blocks,
                                                    size_t n_blocks, tide_error *error);
/* An expandable segment takes two steps. First, the device reserves a range of addresses. */
TIDE_NODISCARD tide_status tide_cache_adopt_range(tide_cache *cache, tide_stream stream, int pool,
                                                  uint64_t *ret_address, tide_error *error);
/* Then, the device maps memory to a part of the range that is unmapped and touches no free
 * block. */
TIDE_NODISCARD tide_status tide_cache_adopt_mapped(tide_cache *cache, uint64_t address,
                                                   size_t total_bytes, const tide_block_row *blocks,
                                                   size_t n_blocks, tide_error *error);

/* ---- repeating what was recorded (replay_queries.c, streams.c) ---- */

/* Gives a live block the stack, scope, name and category of `row`: those that the recorder would
 * have noted for the recorded caller. Rows about the block repeat its name. */
void tide_cache_describe_block(tide_cache *cache, uint64_t address, const tide_block_row *row);

/* Completes the release of the block at an address, regardless of its streams: the recording shows
 * when it completed. Does nothing if no block waits. */
void tide_cache_finish_waiting(tide_cache *cache, uint64_t address);

/* ---- questions (replay_queries.c, config.c) ---- */

/* TIDE_INVALID for contradictory sizes. */
TIDE_NODISCARD tide_status tide_cache_config_check(const tide_cache_config *config,
                                                   tide_error *error);

/* The statistics as the cache keeps them: `current` and the counters are right at any time, peaks
 * and sums only after tide_cache_get_stats. For inspection after every row, which a full copy would
 * make slow. */
const tide_cache_stats *tide_cache_peek_stats(const tide_cache *cache);

/* Bytes of free blocks that cannot be released to the device, because their segments also hold live
 * blocks. */
uint64_t tide_cache_pinned_bytes(const tide_cache *cache);

/* The block that a request needs. */
typedef struct tide_cache_wanted {
    size_t block_bytes; /* rounded */
    int pool;           /* by block_bytes */
    tide_stream stream; /* only its blocks fit */
} tide_cache_wanted;

tide_cache_wanted tide_cache_wanted_by(const tide_cache *cache, size_t requested_bytes,
                                       tide_stream stream);

/* Whether a free block can serve the request now, so the cache would release nothing for it. */
bool tide_cache_has_cached(tide_cache *cache, const tide_cache_wanted *wanted);

/* The block at `address` waits for a stream. Whether, with all waiting releases completed, the free
 * part of its segment around it would serve the request and stay in the cache whatever else is
 * released. */
bool tide_cache_would_serve(const tide_cache *cache, uint64_t address,
                            const tide_cache_wanted *wanted);

/* With all waiting releases completed, emptying the cache returns whole segments in a fixed order:
 * the one after the segment `last`, or the first one for NULL. NULL if there are no more. */
typedef struct tide_cache_segment tide_cache_segment;
const tide_cache_segment *tide_cache_next_returned(const tide_cache *cache,
                                                   const tide_cache_segment *last);
uint64_t tide_cache_segment_address(const tide_cache_segment *segment);

#ifdef __cplusplus
}
#endif

#endif
