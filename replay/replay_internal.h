/* replay_internal.h - the parts of a replay: the device below a cache, the state of each device of
 * the snapshot, and the steps.
 */
#ifndef TIDE_REPLAY_REPLAY_INTERNAL_H
#define TIDE_REPLAY_REPLAY_INTERNAL_H

#include "allocator/replay_friend.h"
#include "common/map.h"
#include "device/device_friend.h"
#include "recorder/recorder_friend.h"
#include "replay/replay.h"

/* A stream that no program has. Every block that waits is recorded as used on it. */
#define TIDE_REPLAY_STREAM UINT64_MAX

/* A bit that marks, in an address, a block that waits for another stream. Addresses are multiples
 * of 512, so the bit is free. */
#define TIDE_REPLAY_WAITING UINT64_C(1)

/* Memory that the device allocated under a script. */
typedef struct tide_replay_sold {
    uint64_t address;
    uint64_t n_bytes;
} tide_replay_sold;

/* A device without memory whose events are reached only by waiting. Without a script, it allocates
 * from `inner`; with one, it repeats the recorded device: the next row of the script answers each
 * call. */
typedef struct tide_replay_device {
    tide_device base;              /* the first member, so that &device->base is a tide_device */
    tide_device *inner;            /* owned; a virtual device */
    bool has_script;               /* the rows of the script answer the calls */
    const tide_snapshot *snapshot; /* borrowed; `script` refers to its events */
    const size_t *script;          /* borrowed; rows about segments, up to the request */
    size_t n_script;               /* of them */
    size_t at;                     /* next one */
    bool ends_in_oom;              /* the recorded device refused after the script's last row */
    uint64_t range_address;   /* where the next reserved range begins; 0: where the script maps */
    uint64_t made_up_address; /* next address for memory that the recorded device did not
                                 allocate */
    tide_replay_sold *sold;   /* owned; of a script: segments and ranges, by address */
    size_t n_sold;            /* of them */
    size_t capacity;          /* of sold */
} tide_replay_device;

/* `total_bytes` -1: unlimited. */
TIDE_NODISCARD tide_status tide_replay_device_open(const tide_hostmem *mem, int64_t total_bytes,
                                                   bool has_script, tide_replay_device **ret_device,
                                                   tide_error *error);
/* Marks these addresses as allocated before the first event. */
TIDE_NODISCARD tide_status tide_replay_device_sell(tide_replay_device *device, uint64_t address,
                                                   uint64_t n_bytes, tide_error *error);
void tide_replay_device_close(tide_replay_device *device);

/* Start and end of a replayed run. */
typedef struct tide_replay_state {
    tide_segment_row *segments; /* owned */
    size_t n_segments, segments_capacity;
    tide_block_row *blocks; /* owned */
    size_t n_blocks, blocks_capacity;
} tide_replay_state;

typedef struct tide_replay_states {
    tide_replay_state start, end;
} tide_replay_states;

/* A request for a work area of cuDNN. */
typedef struct tide_replay_area {
    size_t row; /* its own row of the snapshot, or the one before which it is requested and freed */
    bool is_own; /* it has a row: the program got it */
    uint64_t likely_bytes, most_bytes;
    uint64_t stream; /* handle */
    uint8_t device;
} tide_replay_area;

/* areas.c. Those of all devices, by row. */
typedef struct tide_replay_areas {
    const tide_hostmem *mem; /* borrowed; NULL: not initialised */
    tide_replay_area_sizes sizes;
    tide_replay_area *all; /* owned */
    size_t n_all, n_passed;
} tide_replay_areas;

/* One device of the snapshot. */
typedef struct tide_replay_lane {
    tide_replay *replay;                /* borrowed; receives the results */
    const tide_replay_options *options; /* borrowed */
    uint8_t number;                     /* of the device */
    tide_replay_device *device;         /* owned */
    tide_recorder *recorder;            /* owned; NULL: neither verified nor kept */
    tide_cache *cache;                  /* owned */
    uint8_t stream_of[256];             /* number in the recorder -> in the snapshot */
    tide_map addresses;                 /* recorded address of a block -> its address here, with
                                           TIDE_REPLAY_WAITING; 0: it ran out of memory */
    tide_map waiting_since; /* address of a waiting block -> num_sync_all_streams when it began to
                               wait */
    size_t n_waiting;       /* blocks that wait according to the recorded rows */
    size_t *pending;        /* owned; rows about segments and completions since the last request */
    size_t n_pending, pending_capacity;
    size_t *script; /* owned; of these, rows about segments */
    size_t n_script, script_capacity;
    tide_event *group; /* owned; rows that the current request caused */
    size_t n_group, group_capacity;
    uint64_t n_taken;             /* rows of the recorder that were read */
    const tide_replay_area *area; /* whose own row is replayed; NULL: none */
    tide_cache_stats base;        /* of the start */
    int64_t most_reserved_bytes;  /* so far */
    double cached_sum;            /* sum of reserved - allocated after each row */
    size_t n_counted;             /* rows in that sum */
    tide_replay_figures *figures; /* borrowed; of this device */
    uint64_t recorded_bytes;      /* reserved in the recording, after the pending rows */
    uint64_t recorded_peak_bytes; /* the highest of the whole recording */
    bool collected_garbage;       /* the recorded allocator did, by a threshold */
} tide_replay_lane;

/* lane.c. Makes an empty cache on a device of its own. `n_rows`: rows of the snapshot about this
 * device. */
TIDE_NODISCARD tide_status tide_replay_lane_init(tide_replay_lane *lane, tide_replay *replay,
                                                 const tide_replay_options *options, uint8_t number,
                                                 size_t n_rows, tide_error *error);
void tide_replay_lane_fini(tide_replay_lane *lane);
/* Replays one row of the snapshot, which must be about this device. */
TIDE_NODISCARD tide_status tide_replay_lane_row(tide_replay_lane *lane, size_t row,
                                                tide_error *error);
/* After the last row. */
TIDE_NODISCARD tide_status tide_replay_lane_end(tide_replay_lane *lane, tide_error *error);
/* Requests a block on behalf of a row (SIZE_MAX: of a rebuilt start); `ret_address` 0 if memory ran
 * out. */
TIDE_NODISCARD tide_status tide_replay_lane_request(tide_replay_lane *lane, size_t row,
                                                    const tide_block_row *block, tide_stream stream,
                                                    uint64_t *ret_address, tide_error *error);
/* Makes the allocated block wait until the row of its completed free. */
TIDE_NODISCARD tide_status tide_replay_lane_wait(tide_replay_lane *lane, uint64_t recorded,
                                                 uint64_t address, tide_error *error);

/* Takes the rows that the cache recorded since the last call; `row` caused them. */
TIDE_NODISCARD tide_status tide_replay_take_rows(tide_replay_lane *lane, size_t row,
                                                 tide_error *error);
/* Forgets the waiting block of a completed free; `ret_address` 0 if it no longer waits. */
TIDE_NODISCARD tide_status tide_replay_find_waiting(tide_replay_lane *lane, size_t row,
                                                    uint64_t *ret_address, tide_error *error);
/* Repeats the request of an alloc or oom row. */
TIDE_NODISCARD tide_status tide_replay_ask(tide_replay_lane *lane, size_t row, tide_error *error);

/* areas.c. Empty for recorded sizes. The caller calls fini, also after a failure. */
TIDE_NODISCARD tide_status tide_replay_areas_init(tide_replay_areas *areas,
                                                  const tide_snapshot *snapshot,
                                                  tide_replay_area_sizes sizes,
                                                  const tide_hostmem *mem);
void tide_replay_areas_fini(tide_replay_areas *areas);
/* The next area up to that row, each once; NULL if there is none. */
const tide_replay_area *tide_replay_areas_next(tide_replay_areas *areas, size_t row);
/* Requests the largest area that finds room, down to the likely one; `ret_address` 0 if that one
 * does not either. `block`: without its size. */
TIDE_NODISCARD tide_status tide_replay_area_ask(tide_replay_lane *lane,
                                                const tide_replay_area *area,
                                                const tide_block_row *block, uint64_t *ret_address,
                                                tide_error *error);
/* lane.c. Requests an area without a row, and frees it. */
TIDE_NODISCARD tide_status tide_replay_lane_area(tide_replay_lane *lane,
                                                 const tide_replay_area *area, tide_error *error);

/* group.c. Replays the pending rows together with the request that ends them, or without a request,
 * if the program emptied the cache or frees completed. */
TIDE_NODISCARD tide_status tide_replay_group_request(tide_replay_lane *lane, size_t row,
                                                     tide_error *error);
TIDE_NODISCARD tide_status tide_replay_group_end(tide_replay_lane *lane, tide_error *error);

/* start.c. Makes the blocks that were allocated before the first event. */
TIDE_NODISCARD tide_status tide_replay_lane_start(tide_replay_lane *lane, bool is_rebuilt,
                                                  tide_error *error);
/* The size of a device on which the ranges of expandable segments are large enough for the mapped
 * memory, and do not overlap; -1: no bound. */
TIDE_NODISCARD tide_status tide_replay_range_total(const tide_snapshot *snapshot, uint8_t device,
                                                   const tide_hostmem *mem, int64_t *ret_bytes);

/* verify.c. Compares the rows that the current request caused with the recorded rows in `script`
 * and the request itself. */
void tide_replay_compare(tide_replay_lane *lane, size_t row);

/* figures.c */
void tide_replay_count(tide_replay_lane *lane);
void tide_replay_count_end(tide_replay_lane *lane);
void tide_replay_sum(tide_replay_figures *all, const tide_replay_figures *one);

/* output.c. Appends the state of the lane's cache. */
TIDE_NODISCARD tide_status tide_replay_copy_state(const tide_replay_lane *lane,
                                                  tide_replay_state *state, tide_error *error);

static inline tide_event tide_replay_event(const tide_replay_lane *lane, size_t row) {
    return tide_event_at(lane->replay->snapshot, row);
}

#endif
