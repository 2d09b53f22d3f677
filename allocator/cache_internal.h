/* cache_internal.h - the parts of the cache, for its own files, and for tests that damage one on
 * purpose.
 */
#ifndef TIDE_ALLOCATOR_CACHE_INTERNAL_H
#define TIDE_ALLOCATOR_CACHE_INTERNAL_H

#include <stdbool.h>

#include "allocator/cache.h"
#include "allocator/replay_friend.h"
#include "common/assert.h"
#include "common/lock_friend.h"
#include "recorder/recorder_friend.h"

typedef struct tide_cache_block tide_cache_block;
typedef struct tide_cache_use tide_cache_use;
typedef struct tide_cache_queue tide_cache_queue;

/* Internal state, never visible in a copy of the cache: a range of an expandable segment with no
 * memory mapped. */
enum { TIDE_BLOCK_UNMAPPED = TIDE_N_BLOCK_STATES };

/* Most block nodes that one allocation uses: for a segment, for the part cut off it, and for the
 * part that stays unmapped. */
enum { TIDE_CACHE_ALLOC_BLOCKS = 3 };

/* A part of a segment: allocated or free; in an expandable segment also unmapped. */
struct tide_cache_block {
    uint64_t address;            /* of its first byte */
    uint64_t block_bytes;        /* a multiple of min_block_bytes */
    uint64_t requested_bytes;    /* of the allocation; 0 while free */
    tide_cache_segment *segment; /* that it is a part of */
    tide_cache_block *before;    /* neighbour at the lower address in the segment, or NULL */
    tide_cache_block *after;     /* neighbour at the higher address, or NULL */
    tide_cache_block *left;      /* free: smaller keys in the bin of its size; unmapped: the next
                                    lower unmapped one; in the pool of unused nodes: the next
                                    node */
    tide_cache_block *right;     /* free: greater keys in the bin of its size; unmapped: the next
                                    higher unmapped one */
    tide_cache_use *uses;        /* not free: other streams that use it, in the order in which they
                                    were recorded; NULL: none */
    uint64_t freed_at_lookup;    /* free: the pool's n_lookups when it became free */
    uint32_t stack;              /* of the allocation, or TIDE_NONE */
    uint32_t scope;              /* of the allocation, or TIDE_NONE */
    uint32_t name;               /* string of the recorder, or TIDE_NONE */
    uint8_t state;               /* tide_block_state, or TIDE_BLOCK_UNMAPPED */
    uint8_t category;            /* tide_category */
};

/* Bytes allocated from the device in one call; or, if expandable, a range of reserved addresses
 * with memory mapped to some of them. */
struct tide_cache_segment {
    uint64_t address;                 /* of its first byte */
    uint64_t total_bytes;             /* as allocated or as reserved */
    tide_stream stream;               /* all its blocks belong to it */
    tide_cache_block *first_block;    /* at the segment's address; NULL while the node is unused */
    tide_cache_segment *older;        /* neighbours in the list of all segments */
    tide_cache_segment *newer;        /* in the pool of unused nodes: the next one */
    tide_cache_segment *next_range;   /* expandable: the next one by address */
    tide_cache_block *first_unmapped; /* expandable: the lowest one; linked by `right` */
    size_t n_unmapped;                /* expandable: unmapped blocks */
    uint64_t mapped_bytes;            /* expandable: bytes with memory mapped, whole granules */
    uint8_t pool;                     /* TIDE_POOL_SMALL or TIDE_POOL_LARGE */
    uint8_t bins;                     /* index in the cache's `free`: pool, or that of the graph */
    uint8_t stream_number;            /* of `stream` in the recording */
    bool is_expandable;               /* its blocks may be unmapped */
};

enum { TIDE_CACHE_BINS = 1632, TIDE_CACHE_BIN_WORDS = (TIDE_CACHE_BINS + 63) / 64 };

/* Free blocks of one stream in one pool, in bins by size (bins.c). Never removed, because a program
 * that used a stream once will use it again. */
typedef struct tide_cache_set tide_cache_set;
struct tide_cache_set {
    tide_stream stream;                      /* no two sets of a pool have the same */
    tide_cache_set *next;                    /* of the set of the next greater stream; NULL: none */
    uint32_t full_words;                     /* bit i: full[i] is not 0 */
    uint64_t full[TIDE_CACHE_BIN_WORDS];     /* bit of a bin: it is not empty */
    tide_cache_block *bins[TIDE_CACHE_BINS]; /* roots of treaps by (bytes, address); NULL: empty */
};
_Static_assert(TIDE_CACHE_BIN_WORDS <= 32, "full_words has a bit for each word");

/* Free blocks of one pool, ordered by (stream, bytes, address). The links are in the blocks, so
 * only a stream's first block needs memory. */
typedef struct tide_cache_bins {
    tide_cache_set *sets;   /* in chunks of the cache; by rising stream */
    tide_cache_set *latest; /* that was used last; NULL: none */
    size_t n_blocks;        /* in all bins */
    uint64_t n_lookups;     /* searches so far; counted while garbage collection is on */
} tide_cache_bins;

/* A place in the table of live blocks. */
typedef struct tide_cache_slot {
    uint64_t address;        /* of the block, so a search reads only the right block */
    tide_cache_block *block; /* NULL: the place is empty */
} tide_cache_slot;

/* Live blocks by address: open addressing with linear probing, at most half full while there is
 * memory to grow, and never completely full. */
typedef struct tide_cache_table {
    tide_cache_slot *slots; /* owned */
    size_t n_slots;         /* a power of two */
    unsigned shift;         /* 64 - log2(n_slots): the highest bits of a hash are the slot */
    size_t n_blocks;
} tide_cache_table;

/* Nodes for blocks and segments, allocated in chunks and reused. */
typedef struct tide_cache_nodes {
    void *chunks;                        /* owned list; each begins with a pointer to the next */
    tide_cache_block *unused_blocks;     /* linked by `left` */
    tide_cache_segment *unused_segments; /* linked by `newer` */
    size_t n_unused_blocks;
    size_t n_unused_segments;
} tide_cache_nodes;

/* Another stream that uses a block: from tide_cache_record_stream until the stream has passed the
 * event that the release recorded on it. While the block is TIDE_BLOCK_PENDING_FREE the use waits
 * in its queue. */
struct tide_cache_use {
    tide_cache_block *block;  /* the block that is used */
    tide_cache_queue *queue;  /* the stream's */
    tide_device_event *event; /* owned; NULL: not needed so far */
    tide_cache_use *next;     /* of the same block; in a pool of unused nodes: the next one */
    tide_cache_use *later;    /* waiting: the next one in the queue */
};

/* Uses by one stream that wait for it, in the order of their events. */
struct tide_cache_queue {
    tide_stream stream;     /* no two queues have the same */
    tide_cache_use *first;  /* oldest event; NULL: nothing waits */
    tide_cache_use *last;   /* newest event */
    size_t n_uses;          /* waiting ones and those of live blocks; at 0 the queue is removed */
    tide_cache_queue *next; /* made later; in the pool of unused nodes: the next one */
};

/* Everything about blocks that more than one stream uses. An event is created if none can be
 * reused, and kept until the cache is destroyed. */
typedef struct tide_cache_streams {
    tide_cache_queue *queues;        /* one for each stream that uses a block of another one */
    tide_cache_queue *unused_queues; /* linked by `next` */
    tide_cache_use *unused_uses;     /* linked by `next`; without an event */
    tide_cache_use *spare_events;    /* linked by `next`; unused nodes that own an event */
    size_t n_waiting;                /* uses in all queues */
} tide_cache_streams;

/* One call of a captured step. */
typedef struct tide_cache_call {
    uint64_t address;
    size_t n_bytes; /* requested; 0: a release */
} tide_cache_call;

typedef enum tide_cache_graph_stage {
    TIDE_GRAPH_NONE = 0,
    TIDE_GRAPH_CAPTURES, /* allocations come from the private pool */
    TIDE_GRAPH_CAPTURED,
    TIDE_GRAPH_REPLAYS /* allocations return the addresses in the list of calls */
} tide_cache_graph_stage;

/* The calls of a captured step in their order (graph.c). */
typedef struct tide_cache_graph {
    tide_cache_graph_stage stage;
    tide_cache_call *calls; /* owned; room for `capacity` */
    size_t n_calls, capacity;
    size_t next; /* in a replay: the next call */
} tide_cache_graph;

/* Indices in tide_cache.free besides TIDE_POOL_SMALL and TIDE_POOL_LARGE: those of the private pool
 * are TIDE_CACHE_OF_GRAPH higher. */
enum {
    TIDE_CACHE_OF_GRAPH = TIDE_N_POOLS - 1,
    TIDE_N_CACHE_BINS = TIDE_N_POOLS + TIDE_CACHE_OF_GRAPH
};

struct tide_cache {
    tide_hostmem mem;         /* a copy of the configuration's */
    tide_cache_config config; /* effective settings; config.mem points to mem */
    tide_device *device;      /* borrowed; outlives the cache */
    tide_recorder *recorder;  /* borrowed; outlives the cache; may be NULL */
    tide_lock *lock;          /* own_lock, or the recorder's: one lock for a request and its rows;
                                 guards everything below */
    unsigned char apart[TIDE_LINES_APART]; /* unused: the fields above are read without the lock */
    tide_lock own_lock;                    /* for a cache without a recorder */
    tide_cache_bins free[TIDE_N_CACHE_BINS]; /* [TIDE_POOL_SMALL] and [TIDE_POOL_LARGE], and the
                                                same of the private pool */
    tide_cache_graph graph;
    tide_cache_table live; /* blocks that are not free */
    tide_cache_nodes nodes;
    tide_cache_streams streams;
    tide_cache_segment *newest; /* list of all segments, newest first */
    tide_cache_segment *ranges; /* the expandable ones among them, by address */
    size_t n_segments;
    size_t n_blocks;        /* live and free */
    tide_cache_stats stats; /* sums added and removed: only `allocated` of each pool; of `active`
                               only the peak while blocks wait; the rest follows
                               (tide_cache_settle_stats) */
    int64_t n_pending[TIDE_N_POOLS];     /* blocks that wait for other streams */
    int64_t pending_bytes[TIDE_N_POOLS]; /* their bytes */
    tide_cache_oom last_oom;             /* zero until memory runs out for the first time */
    void (*oom_hook)(
        void *ctx);       /* called without the lock, because it may use the cache; NULL: none */
    void *oom_ctx;        /* borrowed; its first */
    size_t n_in_oom_hook; /* threads that are running it */
};

/* The request of one allocation, from rounding to the block. */
typedef struct tide_cache_request {
    size_t requested_bytes; /* as requested by the caller */
    size_t block_bytes;     /* rounded */
    tide_stream stream;
    int pool;         /* by block_bytes */
    int bins;         /* index in the cache's `free` */
    uint8_t category; /* tide_category */
    tide_note note;   /* stack, scope and name of the caller */
} tide_cache_request;

/* cache.c. A row about a block, of a cache with a recorder. */
void tide_cache_append_block(tide_cache *cache, const tide_cache_block *block, tide_action action,
                             const tide_note *note);
/* Appends the row if there is a recorder. */
static inline void tide_cache_record_block(tide_cache *cache, const tide_cache_block *block,
                                           tide_action action, const tide_note *note) {
    if (cache->recorder != NULL) {
        tide_cache_append_block(cache, block, action, note);
    }
}
/* Joins a block that is in no bin with its free neighbours and puts the result into its bin. */
void tide_cache_settle_free(tide_cache *cache, tide_cache_block *block);
/* The second half of a release: no stream uses the block any more, so it becomes free. */
void tide_cache_complete_release(tide_cache *cache, tide_cache_block *block);

/* streams.c. The first half of the release of a block that other streams use: records an event on
 * each stream and queues the uses. On failure the block stays allocated. */
TIDE_NODISCARD tide_status tide_cache_begin_waiting(tide_cache *cache, tide_cache_block *block,
                                                    tide_error *error);
/* Completes the releases whose streams are done: each stream's events from the oldest on, up to the
 * first one that is not reached. On failure, that event and those after it continue to wait. */
TIDE_NODISCARD tide_status tide_cache_poll_streams(tide_cache *cache, const tide_note *note,
                                                   tide_error *error);
/* Waits until all are reached and completes their releases. On failure, nothing has changed. */
TIDE_NODISCARD tide_status tide_cache_wait_for_streams(tide_cache *cache, const tide_note *note,
                                                       tide_error *error);
/* Destroys all events. */
void tide_cache_streams_fini(tide_cache *cache);

/* graph.c; all called under the lock. Makes room for one more call of the captured step. */
TIDE_NODISCARD tide_status tide_cache_graph_reserve(tide_cache *cache, tide_error *error);
/* Enters a call, after tide_cache_graph_reserve. */
void tide_cache_graph_note(tide_cache *cache, uint64_t address, size_t n_bytes);
/* The answer to the next call of a replay; TIDE_INVALID if the call differs from that of the
 * capture. n_bytes 0: a release of *address. */
TIDE_NODISCARD tide_status tide_cache_graph_answer(tide_cache *cache, size_t n_bytes,
                                                   uint64_t *address, tide_error *error);

/* config.c. The size of the segment to allocate for a block (replay_friend.h: of the block). */
size_t tide_cache_segment_bytes(const tide_cache_config *config, size_t block_bytes);

/* bins.c. Blocks carry their stream in their segment. On TIDE_OK blocks of the stream can
 * be inserted. */
TIDE_NODISCARD tide_status tide_cache_bins_reserve(tide_cache *cache, int number,
                                                   tide_stream stream);
/* The bins' treaps; false if the block is not in them. */
void tide_cache_bin_insert(tide_cache_block **root, tide_cache_block *block);
bool tide_cache_bin_remove(tide_cache_block **root, const tide_cache_block *block);
/* NULL if this stream was never reserved. */
tide_cache_set *tide_cache_set_find(const tide_cache_bins *bins, tide_stream stream);
/* The first block of the set at or above the key. */
tide_cache_block *tide_cache_set_at_least(const tide_cache_set *set, uint64_t block_bytes,
                                          uint64_t address);
/* The first block at or above the key; the next one above a block; the last one below the key; of
 * any stream. NULL if there is none. */
tide_cache_block *tide_cache_bins_at_least(const tide_cache_bins *bins, tide_stream stream,
                                           uint64_t block_bytes, uint64_t address);
tide_cache_block *tide_cache_bins_next(const tide_cache_bins *bins, const tide_cache_block *block);
tide_cache_block *tide_cache_bins_below(const tide_cache_bins *bins, tide_stream stream,
                                        uint64_t block_bytes, uint64_t address);
/* Checks that sets are in order and that the bitmaps match the empty bins. */
TIDE_NODISCARD tide_status tide_cache_bins_check(const tide_cache_bins *bins, tide_error *error);

/* table.c */
TIDE_NODISCARD tide_status tide_cache_table_init(tide_cache_table *table, const tide_hostmem *mem);
void tide_cache_table_fini(tide_cache_table *table, const tide_hostmem *mem);
/* On TIDE_OK there is room for n_blocks more. Without memory for a larger table, this one is filled
 * up to 7/8, with longer searches, before the call fails. */
TIDE_NODISCARD tide_status tide_cache_table_reserve(tide_cache_table *table,
                                                    const tide_hostmem *mem, size_t n_blocks);
/* Checks that a search finds every block, and that their count is right. */
TIDE_NODISCARD tide_status tide_cache_table_check(const tide_cache_table *table, tide_error *error);

/* nodes.c */
/* On TIDE_OK, that many nodes can be taken without allocating memory. */
TIDE_NODISCARD tide_status tide_cache_nodes_reserve(tide_cache *cache, size_t n_blocks,
                                                    size_t n_segments);
/* Zeroed memory for nodes of any kind, owned by the cache; NULL without memory. */
void *tide_cache_new_chunk(tide_cache *cache, size_t n_items, size_t item_bytes);
tide_cache_segment *tide_cache_take_segment(tide_cache *cache);
void tide_cache_drop_segment(tide_cache *cache, tide_cache_segment *segment);
void tide_cache_nodes_fini(tide_cache *cache);

/* stats.c. Raises the peak of the active bytes if they are higher now. */
void tide_cache_raise_active(tide_cache *cache);
/* The statistics with all sums. */
void tide_cache_settle_stats(const tide_cache *cache, tide_cache_stats *ret_stats);

/* segment.c. Takes a free block for the request out of its bin, by the ladder: a cached one,
 * garbage collection, a new segment, a new segment after releasing oversize blocks, a new segment
 * after releasing all unsplit cached blocks. TIDE_DEVICE_OOM if all of that fails. */
TIDE_NODISCARD tide_status tide_cache_find_block(tide_cache *cache,
                                                 const tide_cache_request *request,
                                                 tide_cache_block **ret_block, tide_error *error);
/* Enters a segment of one free block, which is in no bin yet. Nodes must have been reserved. */
tide_cache_block *tide_cache_enter_segment(tide_cache *cache, uint64_t address, size_t total_bytes,
                                           tide_stream stream, int bins);
/* The pool to which these bins belong. */
static inline int tide_cache_pool_of(int bins) {
    TIDE_ASSERT(bins >= TIDE_POOL_SMALL && bins < TIDE_N_CACHE_BINS);
    return bins < TIDE_N_POOLS ? bins : bins - TIDE_CACHE_OF_GRAPH;
}
/* Waits for the streams that use released blocks, then returns every unsplit free block to the
 * device. Stops at the first failure, with the cache consistent. */
TIDE_NODISCARD tide_status tide_cache_give_back_all(tide_cache *cache, const tide_note *note,
                                                    tide_error *error);
static inline bool tide_cache_is_split(const tide_cache_block *block) {
    return block->before != NULL || block->after != NULL;
}
/* Add to and remove from the list of all segments. */
void tide_cache_link_segment(tide_cache *cache, tide_cache_segment *segment);
void tide_cache_unlink_segment(tide_cache *cache, tide_cache_segment *segment);
/* Bytes still available under the limit; UINT64_MAX without one. */
uint64_t tide_cache_limit_left(const tide_cache *cache);
/* Bytes that could still be allocated from the device now: its free bytes, or fewer under the
 * memory limit. */
uint64_t tide_cache_buyable_bytes(tide_cache *cache);
/* Called after the row of newly allocated bytes: records a mark if some of them are in the host's
 * memory (tide_device_spill). `before`: the device's figures before the allocation. */
void tide_cache_mark_spill(tide_cache *cache, uint64_t address, const tide_device_spill *before,
                           const tide_note *note);

/* expandable.c. Checks whether the device supports expandable segments with these settings, if they
 * request them: else TIDE_UNSUPPORTED or TIDE_INVALID, with the reason. */
TIDE_NODISCARD tide_status tide_cache_expandable_check(tide_device *device,
                                                       const tide_cache_config *config,
                                                       tide_error *error);
/* Bytes that are mapped and unmapped together; granules begin at the start of a range. */
size_t tide_cache_granule(const tide_cache *cache, int pool);
/* The only block of a new range for the request, with nothing mapped. TIDE_DEVICE_OOM if the device
 * has no addresses, or could never hold the request. Nodes as for tide_cache_enter_range. */
TIDE_NODISCARD tide_status tide_cache_reserve_range(tide_cache *cache,
                                                    const tide_cache_request *request,
                                                    tide_cache_block **ret_block,
                                                    tide_error *error);
/* Cuts an unmapped block in two at an address in it; returns the upper part, which must be mapped
 * next, at its beginning. Takes one node. */
tide_cache_block *tide_cache_cut_unmapped(tide_cache *cache, tide_cache_block *block,
                                          uint64_t address);
/* Enters a range of reserved addresses without memory. Nodes, a block and a segment, must have been
 * reserved. */
tide_cache_segment *tide_cache_enter_range(tide_cache *cache, uint64_t address,
                                           uint64_t total_bytes, tide_stream stream, int bins);
/* Call this after the device has mapped memory to the first n_bytes of an unmapped block, whole
 * granules: they become a free block and are joined with its free neighbours. Takes one node. */
void tide_cache_note_mapped(tide_cache *cache, tide_cache_block *block, uint64_t n_bytes);
/* Makes a free block for the request, in no bin, by mapping memory at the lowest address that fits.
 * TIDE_DEVICE_OOM when the device or the limit refuses; the memory mapped by then stays mapped and
 * free. */
TIDE_NODISCARD tide_status tide_cache_grow(tide_cache *cache, const tide_cache_request *request,
                                           tide_cache_block **ret_block, tide_error *error);
/* The most bytes that growing maps for the request. */
size_t tide_cache_growth_bytes(const tide_cache *cache, const tide_cache_request *request);
/* Of the free blocks from the smallest sufficient one on: the first that is followed by a larger
 * one, where a block's size is the size to which it could grow. */
tide_cache_block *tide_cache_best_expandable(const tide_cache *cache, tide_cache_block *block);
/* Unmaps the whole granules of all free blocks of the pool, and gives up ranges without memory.
 * Stops at the first failure, with the cache consistent. */
TIDE_NODISCARD tide_status tide_cache_shrink(tide_cache *cache, int pool, const tide_note *note,
                                             tide_error *error);
/* Unmaps and returns all ranges. The cache is not usable afterwards. */
void tide_cache_destroy_ranges(tide_cache *cache);

/* oom.c. Records the row, keeps the figures for tide_cache_get_oom, writes the message. */
TIDE_NODISCARD tide_status tide_cache_out_of_memory(tide_cache *cache,
                                                    const tide_cache_request *request,
                                                    tide_error *error);
/* Called without the lock. */
void tide_cache_call_oom_hook(tide_cache *cache);

/* history.c. Returns TIDE_INVALID and explains why the address cannot be released, or a stream be
 * recorded for it: the first line of the message gives the reason, the others what the recording
 * knows of its block. */
TIDE_NODISCARD tide_status tide_cache_refuse_release(const tide_cache *cache, uint64_t address,
                                                     tide_error *error);
TIDE_NODISCARD tide_status tide_cache_refuse_stream(const tide_cache *cache, uint64_t address,
                                                    tide_error *error);

#include "allocator/inline_internal.h"

#endif
