/* capture_internal.h - the steps of a capture, one file each. */
#ifndef TIDE_CAPTURE_CAPTURE_INTERNAL_H
#define TIDE_CAPTURE_CAPTURE_INTERNAL_H

#include "allocator/cache.h"
#include "common/text/strings.h"
#include "recorder/log_format_friend.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/document/symbols.h"

/* Segments and the blocks that tile them, at one instant. */
typedef struct tide_boundary {
    tide_segment_row *segments; /* by address */
    size_t n_segments;
    tide_block_row *blocks; /* in the order of the segments */
    size_t n_blocks;
} tide_boundary;

/* boundary.c. Computes the state before the first event from the one after the last, by undoing the
 * events one by one. `base` holds the alloc rows of the state before the first event
 * (tide_recording); blocks that reappear take their stack and scope from there, or have none. The
 * rows are in `arena`. TIDE_INVALID if events and blocks contradict each other. */
TIDE_NODISCARD tide_status tide_boundary_before(const tide_boundary *end, const tide_event *events,
                                                size_t n_events, const tide_event *base,
                                                size_t n_base, tide_arena *arena,
                                                tide_boundary *ret_start, tide_error *error);

/* Computes the states before the first and after the last event from the blocks alive before the
 * first. `ret_start` may be NULL. */
TIDE_NODISCARD tide_status tide_boundary_after(const tide_event *base, size_t n_base,
                                               const tide_event *events, size_t n_events,
                                               tide_arena *arena, tide_boundary *ret_start,
                                               tide_boundary *ret_end, tide_error *error);

/* mapped_runs.c. The memory of expandable segments at one instant, from the rows segment_map and
 * segment_unmap. */
typedef struct tide_mapped_runs {
    const tide_hostmem *mem; /* borrowed */
    tide_segment_row *runs; /* owned; by device and address; touching ones of a stream are joined */
    size_t n_runs;
    size_t capacity; /* of runs */
} tide_mapped_runs;

void tide_mapped_runs_init(tide_mapped_runs *of, const tide_hostmem *mem);
void tide_mapped_runs_fini(tide_mapped_runs *of);
/* TIDE_INVALID if a part of the piece is already mapped. */
TIDE_NODISCARD tide_status tide_mapped_runs_add(tide_mapped_runs *of,
                                                const tide_segment_row *piece);
/* Removes any part of one run. TIDE_INVALID if a part of the piece is not mapped. */
TIDE_NODISCARD tide_status tide_mapped_runs_remove(tide_mapped_runs *of,
                                                   const tide_segment_row *piece);

typedef struct tide_boundary_fit {
    tide_boundary start, end;
    size_t n_unfit;
    size_t *kept; /* in the arena: for each remaining event, its index among the original ones */
} tide_boundary_fit;

/* Like tide_boundary_after, for rows that may be damaged: drops and counts events and blocks that
 * do not fit. Fails only with TIDE_NO_MEMORY. */
TIDE_NODISCARD tide_status tide_boundary_make_fit(const tide_event *base, size_t n_base,
                                                  tide_event *events, size_t *n_events,
                                                  tide_arena *arena, tide_boundary_fit *ret_fit);

/* The same event by event, keeping only live blocks. The start is in the arena. */
typedef struct tide_boundary_walk tide_boundary_walk;

TIDE_NODISCARD tide_status tide_boundary_walk_create(const tide_event *base, size_t n_base,
                                                     tide_arena *arena, tide_boundary *ret_start,
                                                     tide_boundary_walk **ret_walk);
/* TIDE_INVALID, with nothing changed, if the event does not fit. */
TIDE_NODISCARD tide_status tide_boundary_walk_apply(tide_boundary_walk *walk,
                                                    const tide_event *event);
/* *ret_n_unfit: blocks that were dropped at either end. */
TIDE_NODISCARD tide_status tide_boundary_walk_finish(tide_boundary_walk *walk, tide_arena *arena,
                                                     tide_boundary *ret_end, size_t *ret_n_unfit);
void tide_boundary_walk_destroy(tide_boundary_walk *walk);

/* capture.c. Enters the tables of the recording into the document, and changes the stacks in them
 * and in the two boundaries to nodes of the document's tree. Everything that the recording points
 * to must be in the document's arena. `modules` are those to which the addresses of call stacks
 * refer (tide_symbol_address); NULL: this process. */
typedef struct tide_capture_modules {
    const tide_symbol_module *modules; /* borrowed */
    size_t n_modules;
    const tide_log_python_frame *python; /* borrowed; their strings are the recording's */
    size_t n_python;
    bool wants_all;        /* every stack of the recording, not only those that its rows refer to */
    const uint32_t *nodes; /* filled in: the node of each stack of the recording, or TIDE_NONE */
    size_t n_used;         /* filled in: modules with an address in a stack */
    size_t n_absent;       /* filled in: of these, modules whose file is missing */
} tide_capture_modules;

/* In place of a module's number: the address is the number of a Python frame. */
#define TIDE_CAPTURE_PYTHON UINT64_C(0xfffe)

TIDE_NODISCARD tide_status tide_capture_tables(tide_recording *recording,
                                               tide_boundary *boundaries[2],
                                               tide_capture_modules *modules,
                                               tide_snapshot *snapshot);

/* Enters start and end into the document. */
void tide_capture_set_boundaries(const tide_boundary *start, const tide_boundary *end,
                                 tide_snapshot *snapshot);

/* stacks.c. Fills in frames and stacks of the document, and adds their texts to `strings`. For each
 * stack i of the recording whose nodes[i] is not TIDE_NONE, nodes[i] becomes its node in the tree,
 * or TIDE_NONE if no frame of it remains. */
TIDE_NODISCARD tide_status tide_capture_stacks(const tide_recording *recording,
                                               tide_capture_modules *modules, tide_strings *strings,
                                               tide_snapshot *snapshot, uint32_t *nodes);

/* settings.c. Enters every effective constant of the allocator. */
TIDE_NODISCARD tide_status tide_capture_settings(const tide_cache_config *config,
                                                 tide_snapshot *snapshot);

/* describe.c. Enters the device, and the caller's run and timing; these two may be NULL. */
TIDE_NODISCARD tide_status tide_capture_device(const tide_device_info *info,
                                               tide_snapshot *snapshot);
TIDE_NODISCARD tide_status tide_capture_run(const tide_snapshot_run *run, tide_snapshot *snapshot);
TIDE_NODISCARD tide_status tide_capture_timing(const tide_snapshot_timing *timing,
                                               tide_snapshot *snapshot);

#endif
