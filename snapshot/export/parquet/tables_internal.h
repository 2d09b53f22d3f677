/* tables_internal.h - the tables of an export, their columns, and their files in the folder.
 */
#ifndef TIDE_SNAPSHOT_PARQUET_TABLES_INTERNAL_H
#define TIDE_SNAPSHOT_PARQUET_TABLES_INTERNAL_H

#include "common/map.h"
#include "common/files/temporary_file.h"
#include "snapshot/analysis/live_walk.h"
#include "snapshot/export/parquet/export.h"
#include "snapshot/export/parquet/file.h"

/* In the order in which the files get their names: once "devices" exists, all of them do. */
typedef enum tide_pq_table {
    TIDE_PQ_EVENTS = 0,
    TIDE_PQ_BLOCKS,
    TIDE_PQ_SEGMENTS,
    TIDE_PQ_SCOPES,
    TIDE_PQ_STEPS,
    TIDE_PQ_STACKS,
    TIDE_PQ_FRAMES,
    TIDE_PQ_GROUPS,
    TIDE_PQ_DEVICES,
    TIDE_PQ_N_TABLES
} tide_pq_table;

/* The columns, in the order of tables.c and docs/reference/engines.md. */
enum {
    EVENT_EVENT = 0,
    EVENT_TIME_NS,
    EVENT_ACTION,
    EVENT_DEVICE,
    EVENT_STREAM,
    EVENT_ADDRESS,
    EVENT_REQUESTED_BYTES,
    EVENT_BLOCK_BYTES,
    EVENT_FREE_BYTES,
    EVENT_ALLOCATED_BYTES,
    EVENT_RESERVED_BYTES,
    EVENT_CATEGORY,
    EVENT_CERTAINTY,
    EVENT_NAME,
    EVENT_STEP,
    EVENT_SCOPE,
    EVENT_STACK,
    EVENT_BLOCK,
    N_EVENT_COLUMNS
};

enum {
    BLOCK_BLOCK = 0,
    BLOCK_DEVICE,
    BLOCK_STREAM,
    BLOCK_ADDRESS,
    BLOCK_REQUESTED_BYTES,
    BLOCK_BLOCK_BYTES,
    BLOCK_CATEGORY,
    BLOCK_CERTAINTY,
    BLOCK_NAME,
    BLOCK_STACK,
    BLOCK_FUNCTION,
    BLOCK_FILE,
    BLOCK_LINE,
    BLOCK_SCOPE,
    BLOCK_SCOPE_PATH,
    BLOCK_STEP,
    BLOCK_BIRTH_EVENT,
    BLOCK_BIRTH_NS,
    BLOCK_FREE_EVENT,
    BLOCK_FREE_NS,
    BLOCK_DEATH_EVENT,
    BLOCK_DEATH_NS,
    N_BLOCK_COLUMNS
};

enum {
    SEGMENT_SEGMENT = 0,
    SEGMENT_DEVICE,
    SEGMENT_STREAM,
    SEGMENT_ADDRESS,
    SEGMENT_TOTAL_BYTES,
    SEGMENT_IS_EXPANDABLE,
    SEGMENT_BIRTH_EVENT,
    SEGMENT_BIRTH_NS,
    SEGMENT_DEATH_EVENT,
    SEGMENT_DEATH_NS,
    N_SEGMENT_COLUMNS
};

enum {
    SCOPE_SCOPE = 0,
    SCOPE_PARENT,
    SCOPE_KIND,
    SCOPE_NAME,
    SCOPE_INDEX,
    SCOPE_PATH,
    SCOPE_STEP,
    SCOPE_THREAD,
    SCOPE_BEGIN_NS,
    SCOPE_DURATION_NS,
    SCOPE_DEVICE_BEGIN_NS,
    SCOPE_DEVICE_DURATION_NS,
    N_SCOPE_COLUMNS
};

enum {
    STEP_STEP = 0,
    STEP_NAME,
    STEP_SCOPE,
    STEP_DEVICE,
    STEP_IS_WARMUP,
    STEP_IS_OPEN,
    STEP_FIRST_EVENT,
    STEP_LAST_EVENT,
    STEP_BEGIN_NS,
    STEP_END_NS,
    STEP_N_EVENTS,
    STEP_PEAK_ALLOCATED_BYTES,
    STEP_PEAK_RESERVED_BYTES,
    STEP_END_ALLOCATED_BYTES,
    STEP_END_RESERVED_BYTES,
    STEP_END_BLOCKS,
    N_STEP_COLUMNS
};

enum { STACK_STACK = 0, STACK_PARENT, STACK_FRAME, STACK_USER_FRAME, N_STACK_COLUMNS };

enum { FRAME_FRAME = 0, FRAME_FUNCTION, FRAME_FILE, FRAME_LINE, FRAME_IS_INLINED, N_FRAME_COLUMNS };

enum {
    GROUP_GROUP = 0,
    GROUP_NAME,
    GROUP_DESCRIPTION,
    GROUP_SIZE,
    GROUP_POSITION,
    GROUP_FIRST,
    GROUP_STRIDE,
    N_GROUP_COLUMNS
};

enum {
    DEVICE_DEVICE = 0,
    DEVICE_KIND,
    DEVICE_NAME,
    DEVICE_TOTAL_BYTES,
    DEVICE_N_EVENTS,
    DEVICE_N_DROPPED,
    DEVICE_N_UNMATCHED,
    DEVICE_PEAK_EVENT,
    DEVICE_PEAK_NS,
    DEVICE_PEAK_STEP,
    DEVICE_PEAK_REQUESTED_BYTES,
    DEVICE_PEAK_ALLOCATED_BYTES,
    DEVICE_PEAK_ACTIVE_BYTES,
    DEVICE_PEAK_RESERVED_BYTES,
    DEVICE_PEAK_BLOCKS,
    DEVICE_MAX_REQUESTED_BYTES,
    DEVICE_MAX_ACTIVE_BYTES,
    DEVICE_MAX_RESERVED_BYTES,
    DEVICE_END_REQUESTED_BYTES,
    DEVICE_END_ALLOCATED_BYTES,
    DEVICE_END_ACTIVE_BYTES,
    DEVICE_END_RESERVED_BYTES,
    DEVICE_OUTCOME,
    DEVICE_COMMAND,
    DEVICE_STARTED_UNIX_US,
    DEVICE_RECORDED_RANK,
    DEVICE_LOCAL_RANK,
    DEVICE_WORLD_SIZE,
    N_DEVICE_COLUMNS
};

/* tables.c. The schema of a table; all tables of this version have the same keys. */
const tide_parquet_schema *tide_pq_schema(tide_pq_table table);

/* folder.c. The open files of an export. */
typedef struct tide_pq_folder {
    tide_parquet_file *files[TIDE_PQ_N_TABLES]; /* owned */
    char path[TIDE_TEMPORARY_PATH_BYTES];       /* of the folder, without a final slash */
    size_t n_made;                              /* folders made: this one and its parents */
} tide_pq_folder;

TIDE_NODISCARD tide_status tide_pq_folder_open(tide_pq_folder *folder, const char *path,
                                               const tide_hostmem *mem, tide_error *error);
/* Call after all rows, or with the status of a failure. Gives the files their names if all are
 * complete; else removes the files and folders made. Returns the status, or that of a failure here.
 */
TIDE_NODISCARD tide_status tide_pq_folder_end(tide_pq_folder *folder, tide_status status,
                                              tide_error *error);

/* The step and the path of a scope. */
typedef struct tide_pq_place {
    uint32_t scope;     /* of this place; TIDE_NONE: empty */
    uint32_t step;      /* scope of the outermost step that encloses it; TIDE_NONE: none */
    int64_t step_index; /* number of that step; -1: none */
    uint16_t thread;    /* of that step */
    uint32_t path;      /* number of its path in `paths`; TIDE_NONE: a bare step */
} tide_pq_place;

/* places.c. The places of scopes, of which the latest are kept, and each distinct path once. */
typedef struct tide_pq_places tide_pq_places;

TIDE_NODISCARD tide_status tide_pq_places_create(const tide_event_source *source,
                                                 const tide_hostmem *mem,
                                                 tide_pq_places **ret_places);
void tide_pq_places_destroy(tide_pq_places *places);
TIDE_NODISCARD tide_status tide_pq_places_find(tide_pq_places *places, uint32_t scope,
                                               tide_pq_place *ret_place, tide_error *error);
/* "backward > layer 5 > attention"; NULL for TIDE_NONE. Valid until the places are destroyed. */
const char *tide_pq_places_path(const tide_pq_places *places, uint32_t path);

/* steps.c. The steps with events, on each device. A step is written when it ends. */
typedef struct tide_pq_steps tide_pq_steps;

TIDE_NODISCARD tide_status tide_pq_steps_create(const tide_event_source *source,
                                                tide_parquet_file *file, const tide_hostmem *mem,
                                                tide_pq_steps **ret_steps);
void tide_pq_steps_destroy(tide_pq_steps *steps);

/* One event that has happened. */
typedef struct tide_pq_moment {
    int64_t row; /* its number */
    const tide_event *event;
    const tide_totals *now; /* of its device, after the event */
} tide_pq_moment;

TIDE_NODISCARD tide_status tide_pq_steps_event(tide_pq_steps *steps, const tide_pq_moment *moment,
                                               const tide_pq_place *place, tide_error *error);
/* Ends all steps, after the last event. */
TIDE_NODISCARD tide_status tide_pq_steps_finish(tide_pq_steps *steps, tide_error *error);

/* names.c. The tables that are not written during the walk. `user_frames`: one for each stack. */
TIDE_NODISCARD tide_status tide_pq_write_names(const tide_event_source *source,
                                               const uint32_t *user_frames, tide_pq_folder *folder);
TIDE_NODISCARD tide_status tide_pq_write_scopes(const tide_event_source *source,
                                                tide_pq_places *places, tide_parquet_file *file,
                                                tide_error *error);
TIDE_NODISCARD tide_status tide_pq_write_devices(const tide_event_source *source,
                                                 const tide_live_walk *walk, tide_pq_places *places,
                                                 tide_parquet_file *file, tide_error *error);

/* Put a number that is null if it is `none`; a text of the document that is null for TIDE_NONE. */
void tide_pq_put_unless(tide_parquet_file *file, size_t column, int64_t value, int64_t none);
void tide_pq_put_index(tide_parquet_file *file, size_t column, uint32_t index);
void tide_pq_put_string(tide_parquet_file *file, size_t column, const tide_snapshot *document,
                        uint32_t string);

#endif
