/* digest_internal.h - the parts of a digest, each made by its own file.
 *
 * The events are read twice. What must be known before an event can be judged is found first: where
 * the peaks are, how many events a device has, which rows are steps. What is alive then, the steps'
 * peaks and the timeline are taken while the events pass again.
 */
#ifndef TIDE_SNAPSHOT_DIGEST_INTERNAL_H
#define TIDE_SNAPSHOT_DIGEST_INTERNAL_H

#include "snapshot/ranks/digest.h"
#include "snapshot/analysis/live_walk.h"
#include "snapshot/document/scope_paths.h"
#include "snapshot/analysis/steps.h"
#include "snapshot/explain/facts.h"

/* What is measured of a step besides the members of tide_step. */
typedef struct tide_digest_measured {
    int64_t reserved_peak_bytes;
    int64_t last_ns; /* time of its last row */
    size_t enters;   /* steps in the order of their first rows: number of the one that comes here */
} tide_digest_measured;

/* A device while its digest is made. */
typedef struct tide_digest_work {
    tide_digest_device made;
    uint32_t peak_scope; /* of the row of the peak; TIDE_NONE */
    uint32_t oom_stack;  /* of the row of made.oom */
    tide_steps steps;
    tide_digest_measured *measured; /* owned; of each step */
    size_t n_entered;               /* steps whose first row has passed */
    size_t *within;                 /* owned; steps whose last row has not passed yet */
    size_t n_within;
    size_t within_capacity;
    size_t n_seen; /* rows of the timeline */
} tide_digest_work;

/* What all of them are made of. */
typedef struct tide_digest_parts {
    const tide_event_source *events;
    const tide_snapshot *snapshot; /* its document */
    const tide_hostmem *mem;
    tide_arena *arena;      /* for the digest */
    tide_error *error;      /* borrowed */
    tide_scope_paths paths; /* of the scopes that were asked for */
    tide_map path_of;       /* their paths: scope -> number */
    tide_live_walk *walk;   /* owned */
    tide_digest_work *work; /* owned; of each device of the snapshot */
} tide_digest_parts;

/* Whether the digest has the device. */
bool tide_digest_has_memory(const tide_digest_device *device);

/* Fills in what is made of each device. TIDE_UNSUPPORTED without a message: the events are needed
 * as a whole. */
TIDE_NODISCARD tide_status tide_digest_walk(tide_digest_parts *of);

/* The rows of the peak, and their rest, of the blocks that are allocated now. */
TIDE_NODISCARD tide_status tide_digest_add_rows(tide_digest_parts *of, tide_digest_device *device);

/* What `tidemark explain` derives, and the rows of the peak by its lines, of each device. The
 * document has the events. */
TIDE_NODISCARD tide_status tide_digest_explain(tide_digest_parts *of);

/* The same rows by the lines of the facts, in place of the others. */
TIDE_NODISCARD tide_status tide_digest_add_places(tide_digest_parts *of, const tide_facts *facts,
                                                  tide_digest_device *device);

/* Between the two readings. */
TIDE_NODISCARD tide_status tide_digest_begin_steps(tide_digest_parts *of, tide_digest_work *work);
TIDE_NODISCARD tide_status tide_digest_begin_timeline(tide_digest_parts *of,
                                                      tide_digest_device *device);

/* After row `row` of any device. */
TIDE_NODISCARD tide_status tide_digest_note_steps(tide_digest_parts *of, tide_digest_work *work,
                                                  const tide_event *event, int64_t row);
/* After a row of this device. */
void tide_digest_note_timeline(const tide_digest_parts *of, tide_digest_work *work,
                               const tide_event *event);

/* At the end. */
TIDE_NODISCARD tide_status tide_digest_end_steps(tide_digest_parts *of, tide_digest_work *work);
void tide_digest_fini_steps(const tide_digest_parts *of, tide_digest_work *work);

/* The line of a stack, in the arena; "" without a stack, NULL: no memory. */
const char *tide_digest_line(const tide_digest_parts *of, uint32_t stack);

#endif
