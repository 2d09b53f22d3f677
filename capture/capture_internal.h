/* capture_internal.h - the steps of a capture, one file each. */
#ifndef TIDE_CAPTURE_CAPTURE_INTERNAL_H
#define TIDE_CAPTURE_CAPTURE_INTERNAL_H

#include "allocator/cache.h"
#include "common/strings.h"
#include "snapshot/snapshot.h"
#include "snapshot/symbols.h"

/* Segments and the blocks that tile them, at one instant. */
typedef struct tide_boundary {
    tide_segment_row *segments; /* by address */
    size_t n_segments;
    tide_block_row *blocks; /* in the order of the segments */
    size_t n_blocks;
} tide_boundary;

/* boundary.c. The state before the first event, from the one after the last: the events are taken
 * back one by one. `base` holds the allocs of what was alive then (tide_recording): blocks that are
 * put back have their stack and scope from there, or none. The rows lie in `arena`. TIDE_INVALID
 * when events and blocks do not fit together. */
TIDE_NODISCARD tide_status tide_boundary_before(const tide_boundary *end, const tide_event *events,
                                                size_t n_events, const tide_event *base,
                                                size_t n_base, tide_arena *arena,
                                                tide_boundary *ret_start, tide_error *error);

/* The states before the first and after the last event, from what was alive before the first.
 * `ret_start` may be NULL. */
TIDE_NODISCARD tide_status tide_boundary_after(const tide_event *base, size_t n_base,
                                               const tide_event *events, size_t n_events,
                                               tide_arena *arena, tide_boundary *ret_start,
                                               tide_boundary *ret_end, tide_error *error);

/* mapped_runs.c. The memory of expandable segments at one instant, as rows segment_map and
 * segment_unmap tell it. */
typedef struct tide_mapped_runs {
    const tide_hostmem *mem; /* borrowed */
    tide_segment_row *runs; /* owned; by device and address; touching ones of a stream are joined */
    size_t n_runs;
    size_t capacity; /* of runs */
} tide_mapped_runs;

void tide_mapped_runs_init(tide_mapped_runs *of, const tide_hostmem *mem);
void tide_mapped_runs_fini(tide_mapped_runs *of);
/* TIDE_INVALID: some of it is there already. */
TIDE_NODISCARD tide_status tide_mapped_runs_add(tide_mapped_runs *of,
                                                const tide_segment_row *piece);
/* Any part of one run. TIDE_INVALID: some of it is not there. */
TIDE_NODISCARD tide_status tide_mapped_runs_remove(tide_mapped_runs *of,
                                                   const tide_segment_row *piece);

/* tide_boundary_after for rows that may be damaged: events and blocks that do not fit are left out
 * and counted. TIDE_NO_MEMORY alone is a failure. */
TIDE_NODISCARD tide_status tide_boundary_fit(const tide_event *base, size_t n_base,
                                             tide_event *events, size_t *n_events,
                                             tide_arena *arena, tide_boundary *ret_start,
                                             tide_boundary *ret_end, size_t *ret_n_unfit);

/* capture.c. The tables of the recording and the two boundaries, whose rows are changed: stacks
 * become nodes of the document's tree. What the recording points to lies in the document's arena.
 * `modules`: what the call stacks' addresses refer to (tide_symbol_address); NULL: this process. */
typedef struct tide_capture_modules {
    const tide_symbol_module *modules; /* borrowed */
    size_t n_modules;
    size_t n_used;   /* filled: those that stacks lead through */
    size_t n_absent; /* filled: and whose file is not here */
} tide_capture_modules;

TIDE_NODISCARD tide_status tide_capture_tables(tide_recording *recording,
                                               tide_boundary *boundaries[2],
                                               tide_capture_modules *modules,
                                               tide_snapshot *snapshot);

/* Start and end of the document. */
void tide_capture_set_boundaries(const tide_boundary *start, const tide_boundary *end,
                                 tide_snapshot *snapshot);

/* stacks.c. Fills frames and stacks of the document, new texts into `strings`. nodes[i] is written
 * for each stack i of the recording whose nodes[i] is not TIDE_NONE: its node in the tree, or
 * TIDE_NONE when nothing is left of it. */
TIDE_NODISCARD tide_status tide_capture_stacks(const tide_recording *recording,
                                               tide_capture_modules *modules, tide_strings *strings,
                                               tide_snapshot *snapshot, uint32_t *nodes);

/* settings.c. Every effective constant of the allocator. */
TIDE_NODISCARD tide_status tide_capture_settings(const tide_cache_config *config,
                                                 tide_snapshot *snapshot);

/* describe.c. The device; the run and the timing as the caller gave them; either may be NULL. */
TIDE_NODISCARD tide_status tide_capture_device(const tide_device_info *info,
                                               tide_snapshot *snapshot);
TIDE_NODISCARD tide_status tide_capture_run(const tide_snapshot_run *run, tide_snapshot *snapshot);
TIDE_NODISCARD tide_status tide_capture_timing(const tide_snapshot_timing *timing,
                                               tide_snapshot *snapshot);

#endif
