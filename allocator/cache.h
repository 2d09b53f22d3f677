/* cache.h - the caching allocator: PyTorch's algorithm, to the byte, for any device.
 *
 * The cache allocates segments from the device and cuts them into blocks whose sizes are multiples
 * of 512. It keeps released blocks and reuses the smallest one that fits.
 * docs/internals/allocator.md has the rules; settings have PyTorch's names.
 *
 *   requested bytes   as requested by callers, until the release completes
 *   allocated bytes   whole blocks, until the release is requested
 *   active bytes      whole blocks, until the release completes
 *   reserved bytes    whole segments; of expandable ones, the mapped bytes
 *
 * Every function may be called from any thread.
 */
#ifndef TIDE_ALLOCATOR_CACHE_H
#define TIDE_ALLOCATOR_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"
#include "common/hostmem.h"
#include "common/status.h"
#include "device/device.h"
#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_cache tide_cache;

#define TIDE_UNLIMITED SIZE_MAX

/* The end of the text of a mark that follows a segment with bytes in the host's memory
 * (tide_device_spill). */
#define TIDE_CACHE_SPILL_MARK "lie in the host's memory: the card had no room"
enum { TIDE_N_ROUNDUP_INTERVALS = 16 }; /* [1,2) MiB, [2,4) MiB, ... from 64 GiB on */

/* Every effective constant of the algorithm. */
typedef struct tide_cache_config {
    const tide_hostmem *mem;    /* borrowed; outlives the cache */
    size_t memory_limit_bytes;  /* reserved bytes may not exceed it; TIDE_UNLIMITED: no limit */
    size_t min_block_bytes;     /* 512; fixed */
    size_t small_bytes;         /* 1 MiB; fixed: blocks up to this come from the small pool */
    size_t small_segment_bytes; /* 2 MiB; fixed */
    size_t min_large_bytes;     /* 10 MiB; fixed: smaller large blocks get a segment of
                                   large_segment_bytes */
    size_t large_segment_bytes; /* 20 MiB; large_segment_size_mb */
    size_t round_large_bytes;   /* 2 MiB; fixed: other large segments are multiples of this */
    size_t max_split_bytes;     /* TIDE_UNLIMITED: off; max_split_size_mb */
    size_t max_non_split_rounding_bytes; /* 20 MiB; max_non_split_rounding_mb */
    double garbage_collection_threshold; /* 0: off; garbage_collection_threshold */
    double per_process_memory_fraction;  /* 1: off; of the device's total: a second memory limit */
    bool expandable_segments;            /* false; memory is mapped into one range of addresses for
                                            each stream and pool; expandable_segments */
    size_t
        roundup_power2_divisions[TIDE_N_ROUNDUP_INTERVALS]; /* 0: off; roundup_power2_divisions */
} tide_cache_config;

/* PyTorch's defaults, without a memory limit. */
void tide_cache_config_init(tide_cache_config *config);

/* Applies "name:value,name:value" in PyTorch's spelling on top of the current settings. Unknown
 * names are refused with the list of valid ones; PyTorch's names that cannot apply here (backend,
 * pinned_use_cuda_host_register, ...) are refused by name with the reason. `config` is unchanged on
 * failure. */
TIDE_NODISCARD tide_status tide_cache_config_parse(tide_cache_config *config, const char *text,
                                                   tide_error *error);

/* Applies the text of the environment variable TIDEMARK_ALLOC_CONF in the same way. Does nothing if
 * the variable is not set. */
TIDE_NODISCARD tide_status tide_cache_config_from_environment(tide_cache_config *config,
                                                              tide_error *error);

/* The purpose of the bytes. `name` is copied; NULL: none. */
typedef struct tide_tag {
    tide_category category;
    const char *name; /* borrowed during the call; NULL: none */
} tide_tag;

/* `recorder` NULL: nothing is recorded. `config` NULL: defaults. TIDE_INVALID for contradictory
 * sizes, for a memory fraction of a device without a capacity, and for a recorder that has recorded
 * another cache. TIDE_UNSUPPORTED for expandable segments on a device without virtual memory
 * management. Device and recorder are borrowed and outlive the cache. The caller destroys it. */
TIDE_NODISCARD tide_status tide_cache_create(tide_device *device, tide_recorder *recorder,
                                             const tide_cache_config *config,
                                             tide_cache **ret_cache, tide_error *error);
/* Waits for the streams that still use released blocks and returns all segments to the device, also
 * those with live blocks. Records nothing. */
void tide_cache_destroy(tide_cache *cache);

/* Allocates a block of at least n_bytes. n_bytes 0 returns address 0 and records no event. `tag`
 * NULL means TIDE_UNKNOWN. On TIDE_DEVICE_OOM the message names the bytes requested, free,
 * allocated and reserved, and the largest categories and call stacks alive; an oom row is recorded,
 * and the cache stays usable. */
TIDE_NODISCARD tide_status tide_cache_alloc(tide_cache *cache, size_t n_bytes, tide_stream stream,
                                            const tide_tag *tag, uint64_t *ret_address,
                                            tide_error *error);
/* Declares that `stream` also uses the block, besides the stream it was allocated on: the block is
 * not reused until `stream` has completed everything that was launched on it up to the block's
 * release. One call for each stream is enough; the block's own stream and address 0 are allowed and
 * change nothing. TIDE_INVALID as for tide_cache_release. The stream must live until the block is
 * released. */
TIDE_NODISCARD tide_status tide_cache_record_stream(tide_cache *cache, uint64_t address,
                                                    tide_stream stream, tide_error *error);
/* Releases the block: the cache may reuse it on its own stream. If other streams use it, this only
 * requests the release, and the first tide_cache_alloc that finds these streams done completes it.
 * If the device fails to record the event on one of these streams, its status is returned and the
 * block stays allocated.
 *
 * Address 0 is allowed. TIDE_INVALID for an address that is not a live block's first byte: the
 * message names it and, if the recording still has them, the block's bytes, category and name, and
 * the time and scope of its allocation and release. */
TIDE_NODISCARD tide_status tide_cache_release(tide_cache *cache, uint64_t address,
                                              tide_error *error);

/* Waits for the streams that still use released blocks, then returns every segment without a live
 * block to the device, and every whole granule without one of expandable segments. */
TIDE_NODISCARD tide_status tide_cache_empty(tide_cache *cache, tide_error *error);

/* A step as a graph, as torch.cuda.graph captures one. The begin of a capture empties the cache.
 * Until its end, allocations come from a private pool, [1, 0] in snapshots: no other allocation
 * gets its segments, they are not released before the cache is destroyed, and if memory runs out
 * meanwhile, cached segments of other pools are not released. One capture for each cache, by one
 * thread: TIDE_INVALID for a second one, and for calls in another order.
 *
 * A replay must repeat the same calls in the same order. They get the addresses of the capture; the
 * blocks stay as the capture left them, and nothing is recorded. TIDE_INVALID, with the number of
 * the call, for a different call, and at the end for missing calls. */
TIDE_NODISCARD tide_status tide_cache_begin_capture(tide_cache *cache, tide_error *error);
TIDE_NODISCARD tide_status tide_cache_end_capture(tide_cache *cache, tide_error *error);
TIDE_NODISCARD tide_status tide_cache_begin_replay(tide_cache *cache, tide_error *error);
TIDE_NODISCARD tide_status tide_cache_end_replay(tide_cache *cache, tide_error *error);

/* One quantity: now, the highest ever (since tide_cache_reset_peaks), and the sums that were added
 * and removed. */
typedef struct tide_stat {
    int64_t current;   /* now; never below 0 */
    int64_t peak;      /* highest since the last reset */
    int64_t allocated; /* sum of increases */
    int64_t freed;     /* sum of decreases */
} tide_stat;

enum { TIDE_POOL_ALL = 0, TIDE_POOL_SMALL, TIDE_POOL_LARGE, TIDE_N_POOLS };

/* As torch.cuda.memory_stats() defines them; index by TIDE_POOL_*. */
typedef struct tide_cache_stats {
    tide_stat requested_bytes[TIDE_N_POOLS];      /* these four: as at the top of this file */
    tide_stat allocated_bytes[TIDE_N_POOLS];      /* whole blocks, until the release is requested */
    tide_stat active_bytes[TIDE_N_POOLS];         /* whole blocks, until the release completes */
    tide_stat reserved_bytes[TIDE_N_POOLS];       /* whole segments */
    tide_stat inactive_split_bytes[TIDE_N_POOLS]; /* free blocks that have a neighbour, without
                                                     those of expandable segments */
    tide_stat allocation[TIDE_N_POOLS];           /* blocks that allocated_bytes counts */
    tide_stat segment[TIDE_N_POOLS];              /* segments; expandable ones are not counted */
    tide_stat active[TIDE_N_POOLS];               /* blocks that active_bytes counts */
    tide_stat inactive_split[TIDE_N_POOLS];       /* blocks that inactive_split_bytes counts */
    tide_stat oversize_allocations;               /* live blocks of max_split_bytes and more */
    tide_stat oversize_segments;                  /* segments of max_split_bytes and more */
    uint64_t num_alloc_retries;    /* times that all cached segments were released before another
                                      attempt */
    uint64_t num_sync_all_streams; /* attempts to release all cached segments, which wait for every
                                      stream that still uses a released block */
    uint64_t num_ooms;             /* times memory ran out */
    uint64_t num_device_alloc;     /* segments allocated or parts of them mapped, ever */
    uint64_t num_device_free;      /* segments released or parts of them unmapped, ever */
} tide_cache_stats;

void tide_cache_get_stats(tide_cache *cache, tide_cache_stats *ret_stats);
void tide_cache_reset_peaks(tide_cache *cache);
/* The effective settings: memory_limit_bytes is the lower of the two memory limits. Valid until the
 * cache is destroyed. */
const tide_cache_config *tide_cache_get_config(const tide_cache *cache);
tide_device *tide_cache_device(const tide_cache *cache);
/* The recorder it was created with; may be NULL. */
tide_recorder *tide_cache_recorder(const tide_cache *cache);

enum { TIDE_N_LARGEST = 5 }; /* call stacks that an out-of-memory message names */

/* Live blocks that one call stack allocated. */
typedef struct tide_cache_group {
    uint64_t block_bytes;     /* sum over its blocks */
    uint64_t requested_bytes; /* sum over its blocks */
    size_t n_blocks;
    uint32_t stack;   /* of the recorder; TIDE_NONE: allocated without a stack */
    uint32_t scope;   /* of its largest block; a row of the recorder, or TIDE_NONE */
    uint32_t name;    /* of its largest block; a string of the recorder, or TIDE_NONE */
    uint8_t category; /* of its largest block; tide_category */
} tide_cache_group;

/* The cache at the moment when memory ran out. */
typedef struct tide_cache_oom {
    uint64_t requested_bytes; /* of the request that failed */
    uint64_t segment_bytes;   /* bytes that the cache tried to get from the device: a segment, or
                                 granules */
    uint64_t free_bytes;      /* bytes that the device could still provide; UINT64_MAX: unlimited */
    uint64_t allocated_bytes; /* whole live blocks */
    uint64_t reserved_bytes;  /* whole segments */
    uint64_t limit_bytes;     /* the memory limit, or the device's total without one; UINT64_MAX:
                                 neither */
    uint64_t category_bytes[TIDE_MAX_CATEGORIES]; /* whole live blocks */
    size_t category_blocks[TIDE_MAX_CATEGORIES];
    tide_cache_group largest[TIDE_N_LARGEST]; /* by block_bytes, the largest first */
    size_t n_largest;
} tide_cache_oom;

/* The figures in the message of tide_cache_alloc when memory last ran out. A program can resolve
 * the stacks to function names. False if memory never ran out. */
bool tide_cache_get_oom(tide_cache *cache, tide_cache_oom *ret_oom);

/* From now on, every tide_cache_alloc that runs out of memory calls `hook` with `ctx` on its own
 * thread, before it returns, when the row is recorded and the cache is usable again. NULL removes
 * the hook. Returns when no thread is in the former hook, so it must not be called from a hook. */
void tide_cache_set_oom_hook(tide_cache *cache, void (*hook)(void *ctx), void *ctx);

/* Checks every invariant: blocks tile their segments, neighbours are coalesced, free lists and
 * address table agree with the blocks, statistics equal a recount. TIDE_INVALID with the first
 * violation. */
TIDE_NODISCARD tide_status tide_cache_check(tide_cache *cache, tide_error *error);

/* Segments (by address; of expandable ones each run of mapped memory) with their blocks, and the
 * recording up to the same instant. */
typedef struct tide_cache_state {
    const tide_hostmem *mem;    /* borrowed; the heap of the arrays */
    tide_segment_row *segments; /* owned */
    size_t n_segments;
    tide_block_row *blocks; /* owned; in the order of the segments */
    size_t n_blocks;
    tide_recording recording; /* empty without a recorder */
    int64_t pause_ns;         /* longest time that the copy kept another thread waiting */
} tide_cache_state;

/* Copies the state. Other threads wait only while blocks are listed and the rows recorded since the
 * copy began are copied. */
TIDE_NODISCARD tide_status tide_cache_copy_state(tide_cache *cache, const tide_hostmem *mem,
                                                 tide_cache_state *ret_state, tide_error *error);
void tide_cache_state_fini(tide_cache_state *state);

#ifdef __cplusplus
}
#endif

#endif
