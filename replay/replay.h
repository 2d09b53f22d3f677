/* replay.h - runs the requests of a snapshot through the caching allocator again: under the
 * recorded settings, which must reproduce the recorded addresses, or under others, to see their
 * effect.
 *
 * Each device of the snapshot has a cache of its own on a device without memory. A request is an
 * alloc, a free, a free that waits for another stream and completes at its recorded place, a
 * request that ran out of memory, or an emptying of the cache; everything else that the allocator
 * does (allocating and releasing segments) follows from these. docs/guide/replay.md has the rules.
 */
#ifndef TIDE_REPLAY_REPLAY_H
#define TIDE_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/cache.h"
#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How blocks that were allocated before the first event are placed. */
typedef enum tide_replay_start {
    TIDE_REPLAY_START_AUTO = 0, /* recorded when it is verified, else rebuilt */
    TIDE_REPLAY_START_RECORDED, /* the recorded segments, with the memory cached at that time */
    TIDE_REPLAY_START_REBUILT   /* requested again in the order of their addresses */
} tide_replay_start;

/* The requests of cuDNN's work areas (snapshot->area_calls). */
typedef enum tide_replay_area_sizes {
    TIDE_REPLAY_AREAS_RECORDED = 0, /* as recorded: the likely sizes */
    TIDE_REPLAY_AREAS_NONE,         /* left out */
    TIDE_REPLAY_AREAS_MOST          /* the largest sizes, within the free memory */
} tide_replay_area_sizes;

typedef struct tide_replay_options {
    const tide_hostmem *mem;         /* NULL: tide_hostmem_default() */
    const tide_cache_config *config; /* NULL: tide_replay_settings */
    tide_replay_start start;
    bool verify;      /* compare with the recording: the device returns the recorded addresses and
                         refuses where it did in the recording */
    bool keep_rows;   /* keep the rows for tide_replay_snapshot */
    size_t n_samples; /* the most instants in tide_replay.samples; 0: none */
    /* Borrowed: a memory limit for each device of the snapshot that replaces the limit of the
     * settings; UINT64_MAX: the settings' limit applies. NULL: it applies to all devices. */
    const uint64_t *limits_bytes;
    tide_replay_area_sizes areas; /* other than the recorded ones: neither verify nor keep_rows */
} tide_replay_options;

/* The figures of a run on a device. -1: unknown. */
typedef struct tide_replay_figures {
    int64_t peak_reserved_bytes; /* the highest values of the four totals of cache.h */
    int64_t peak_active_bytes;
    int64_t peak_allocated_bytes;
    int64_t peak_requested_bytes;
    int64_t end_reserved_bytes;
    int64_t max_cached_bytes;  /* highest reserved - allocated after a row */
    int64_t mean_cached_bytes; /* its mean over the rows */
    /* Free bytes that could not be released to the device because an allocated block is in their
     * segment or granule, at the first peak of the reserved bytes. */
    int64_t pinned_bytes;
    int64_t n_segment_allocs; /* allocated or mapped after the start */
    int64_t n_segment_frees;  /* released or unmapped */
    int64_t n_retries;        /* how often all cached memory was released before another attempt */
    int64_t n_ooms;           /* requests that ran out of memory */
} tide_replay_figures;

/* The first request of a device that ran out of memory. */
typedef struct tide_replay_oom {
    int64_t event;               /* row of the snapshot; -1: a block of a rebuilt start */
    uint64_t requested_bytes;    /* requested bytes */
    uint64_t free_bytes;         /* bytes that could still be allocated; UINT64_MAX: unlimited */
    uint64_t allocated_bytes;    /* of its device then */
    uint64_t reserved_bytes;     /* the same */
    uint32_t stack, scope, name; /* the request's; rows of the snapshot's tables, or TIDE_NONE */
    uint8_t device;
} tide_replay_oom;

/* The totals of all devices together after a row. */
typedef struct tide_replay_sample {
    size_t event;            /* row of the snapshot */
    int64_t time_ns;         /* of that row */
    int64_t allocated_bytes; /* whole live blocks */
    int64_t reserved_bytes;  /* whole segments */
    int64_t pinned_bytes;    /* as in the figures */
} tide_replay_sample;

/* Rows of the snapshot, and the number that the replay reproduced: at the same event, with the same
 * size, at the same address. */
typedef struct tide_replay_verified {
    size_t n_allocs, n_allocs_same;     /* allocated blocks */
    size_t n_segments, n_segments_same; /* bought or mapped */
    size_t n_returns, n_returns_same;   /* released or unmapped */
    size_t n_ooms, n_ooms_same;         /* requests that ran out of memory */
    size_t n_surplus;                   /* requests that ran out of memory only in the replay */
    char first_difference[512];         /* a sentence for the user; "": no difference */
} tide_replay_verified;

typedef struct tide_replay {
    const tide_hostmem *mem;       /* borrowed */
    const tide_snapshot *snapshot; /* borrowed; outlives the replay */
    tide_cache_config config;      /* the settings of the replay, with the effective limit */
    bool is_rebuilt;               /* the blocks of the start were requested again */
    size_t n_requests;             /* allocs and frees that were replayed */
    size_t n_succeeded; /* requests that ran out of memory in the recording but not in the replay */
    size_t n_lost; /* requests that ran out of memory only in the replay; their frees are skipped */
    tide_replay_figures figures;    /* sums of all devices */
    tide_replay_figures *by_device; /* owned; one for each device of the snapshot */
    tide_replay_oom *oom_by_device; /* owned; likewise; valid where by_device[].n_ooms > 0 */
    tide_replay_verified verified;  /* the result of `verify`; otherwise zero */
    tide_replay_sample *samples;    /* owned */
    size_t n_samples;
    tide_event *rows; /* owned; with keep_rows, else NULL; stacks, scopes and names are those of the
                         snapshot */
    size_t n_rows;
    size_t rows_capacity;
    struct tide_replay_states *states; /* owned; start and end with keep_rows, else NULL */
} tide_replay;

/* The settings with which the snapshot was recorded. Settings that it lacks, or whose value cannot
 * be read, are defaults. `ret_is_told` (may be NULL): the snapshot states all of them; PyTorch
 * omits the size of large segments and the memory limit. TIDE_FORMAT: values that the allocator
 * would refuse. */
TIDE_NODISCARD tide_status tide_replay_settings(const tide_snapshot *snapshot,
                                                tide_cache_config *ret_config, bool *ret_is_told,
                                                tide_error *error);

/* TIDE_FORMAT if the rows contradict one another; the message names the first such row. Events that
 * are missing because the log was full are not a contradiction, but then the replay covers only a
 * part. TIDE_UNSUPPORTED: the recorded start does not fit the settings. The caller destroys it. */
TIDE_NODISCARD tide_status tide_replay_run(const tide_snapshot *snapshot,
                                           const tide_replay_options *options,
                                           tide_replay **ret_replay, tide_error *error);
void tide_replay_destroy(tide_replay *replay);

/* The figures of the recording itself on each device, from its rows, into `ret_by_device`, which
 * has an element per device. n_retries and pinned_bytes are unknown. */
TIDE_NODISCARD tide_status tide_replay_recorded(const tide_snapshot *snapshot,
                                                tide_replay_figures *ret_by_device,
                                                tide_error *error);

/* The memory that a recorded run had on a device, from a row that ran out of memory there: the free
 * bytes plus those that the allocator had reserved. Of several rows, the one with the smallest
 * sum. */
typedef struct tide_replay_limit {
    uint64_t limit_bytes;    /* free + reserved; UINT64_MAX: no row shows it */
    uint64_t free_bytes;     /* as the row has it */
    uint64_t reserved_bytes; /* at that row */
    size_t event;            /* that row of the snapshot */
} tide_replay_limit;

tide_replay_limit tide_replay_limit_of(const tide_snapshot *snapshot, uint8_t device);

/* Whether all settings that a snapshot states are the same. */
bool tide_replay_config_equal(const tide_cache_config *a, const tide_cache_config *b);

/* Whether everything that was verified equals the recording. */
bool tide_replay_is_same(const tide_replay_verified *verified);

/* The replayed run as a snapshot, with stacks, scopes, names and categories of the recorded one,
 * whose tables it borrows: the replay and the recorded snapshot must outlive it. Needs keep_rows.
 * The caller destroys it. */
TIDE_NODISCARD tide_status tide_replay_snapshot(const tide_replay *replay,
                                                tide_snapshot **ret_snapshot, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
