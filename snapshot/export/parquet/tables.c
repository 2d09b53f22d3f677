/* tables.c - the columns of the tables. docs/reference/engines.md lists them, and a test compares
 * the two. */
#include "snapshot/export/parquet/tables_internal.h"

#define INT(name)                                                                                  \
    { name, TIDE_PARQUET_INT64, false }
#define INT_OR_NULL(name)                                                                          \
    { name, TIDE_PARQUET_INT64, true }
#define SMALL(name)                                                                                \
    { name, TIDE_PARQUET_INT32, false }
#define SMALL_OR_NULL(name)                                                                        \
    { name, TIDE_PARQUET_INT32, true }
#define TEXT(name)                                                                                 \
    { name, TIDE_PARQUET_STRING, false }
#define TEXT_OR_NULL(name)                                                                         \
    { name, TIDE_PARQUET_STRING, true }
#define FLAG(name)                                                                                 \
    { name, TIDE_PARQUET_BOOLEAN, false }

static const tide_parquet_column EVENTS[N_EVENT_COLUMNS] = {
    [EVENT_EVENT] = INT("event"),
    [EVENT_TIME_NS] = INT("time_ns"),
    [EVENT_ACTION] = TEXT("action"),
    [EVENT_DEVICE] = SMALL("device"),
    [EVENT_STREAM] = SMALL("stream"),
    [EVENT_ADDRESS] = INT_OR_NULL("address"),
    [EVENT_REQUESTED_BYTES] = INT_OR_NULL("requested_bytes"),
    [EVENT_BLOCK_BYTES] = INT_OR_NULL("block_bytes"),
    [EVENT_FREE_BYTES] = INT_OR_NULL("free_bytes"),
    [EVENT_ALLOCATED_BYTES] = INT("allocated_bytes"),
    [EVENT_RESERVED_BYTES] = INT("reserved_bytes"),
    [EVENT_CATEGORY] = TEXT_OR_NULL("category"),
    [EVENT_CERTAINTY] = TEXT_OR_NULL("certainty"),
    [EVENT_NAME] = TEXT_OR_NULL("name"),
    [EVENT_STEP] = INT_OR_NULL("step"),
    [EVENT_SCOPE] = INT_OR_NULL("scope"),
    [EVENT_STACK] = INT_OR_NULL("stack"),
    [EVENT_BLOCK] = INT_OR_NULL("block"),
};

static const tide_parquet_column BLOCKS[N_BLOCK_COLUMNS] = {
    [BLOCK_BLOCK] = INT("block"),
    [BLOCK_DEVICE] = SMALL("device"),
    [BLOCK_STREAM] = SMALL("stream"),
    [BLOCK_ADDRESS] = INT("address"),
    [BLOCK_REQUESTED_BYTES] = INT("requested_bytes"),
    [BLOCK_BLOCK_BYTES] = INT("block_bytes"),
    [BLOCK_CATEGORY] = TEXT("category"),
    [BLOCK_CERTAINTY] = TEXT_OR_NULL("certainty"),
    [BLOCK_NAME] = TEXT_OR_NULL("name"),
    [BLOCK_STACK] = INT_OR_NULL("stack"),
    [BLOCK_FUNCTION] = TEXT_OR_NULL("function"),
    [BLOCK_FILE] = TEXT_OR_NULL("file"),
    [BLOCK_LINE] = SMALL_OR_NULL("line"),
    [BLOCK_SCOPE] = INT_OR_NULL("scope"),
    [BLOCK_SCOPE_PATH] = TEXT_OR_NULL("scope_path"),
    [BLOCK_STEP] = INT_OR_NULL("step"),
    [BLOCK_BIRTH_EVENT] = INT("birth_event"),
    [BLOCK_BIRTH_NS] = INT_OR_NULL("birth_ns"),
    [BLOCK_FREE_EVENT] = INT_OR_NULL("free_event"),
    [BLOCK_FREE_NS] = INT_OR_NULL("free_ns"),
    [BLOCK_DEATH_EVENT] = INT_OR_NULL("death_event"),
    [BLOCK_DEATH_NS] = INT_OR_NULL("death_ns"),
};

static const tide_parquet_column SEGMENTS[N_SEGMENT_COLUMNS] = {
    [SEGMENT_SEGMENT] = INT("segment"),
    [SEGMENT_DEVICE] = SMALL("device"),
    [SEGMENT_STREAM] = SMALL("stream"),
    [SEGMENT_ADDRESS] = INT("address"),
    [SEGMENT_TOTAL_BYTES] = INT("total_bytes"),
    [SEGMENT_IS_EXPANDABLE] = FLAG("is_expandable"),
    [SEGMENT_BIRTH_EVENT] = INT("birth_event"),
    [SEGMENT_BIRTH_NS] = INT_OR_NULL("birth_ns"),
    [SEGMENT_DEATH_EVENT] = INT_OR_NULL("death_event"),
    [SEGMENT_DEATH_NS] = INT_OR_NULL("death_ns"),
};

static const tide_parquet_column SCOPES[N_SCOPE_COLUMNS] = {
    [SCOPE_SCOPE] = INT("scope"),
    [SCOPE_PARENT] = INT_OR_NULL("parent"),
    [SCOPE_KIND] = TEXT("kind"),
    [SCOPE_NAME] = TEXT("name"),
    [SCOPE_INDEX] = INT_OR_NULL("index"),
    [SCOPE_PATH] = TEXT_OR_NULL("path"),
    [SCOPE_STEP] = INT_OR_NULL("step"),
    [SCOPE_THREAD] = SMALL("thread"),
    [SCOPE_BEGIN_NS] = INT("begin_ns"),
    [SCOPE_DURATION_NS] = INT_OR_NULL("duration_ns"),
    [SCOPE_DEVICE_BEGIN_NS] = INT_OR_NULL("device_begin_ns"),
    [SCOPE_DEVICE_DURATION_NS] = INT_OR_NULL("device_duration_ns"),
};

static const tide_parquet_column STEPS[N_STEP_COLUMNS] = {
    [STEP_STEP] = INT_OR_NULL("step"),
    [STEP_NAME] = TEXT("name"),
    [STEP_SCOPE] = INT("scope"),
    [STEP_DEVICE] = SMALL("device"),
    [STEP_IS_WARMUP] = FLAG("is_warmup"),
    [STEP_IS_OPEN] = FLAG("is_open"),
    [STEP_FIRST_EVENT] = INT("first_event"),
    [STEP_LAST_EVENT] = INT("last_event"),
    [STEP_BEGIN_NS] = INT("begin_ns"),
    [STEP_END_NS] = INT("end_ns"),
    [STEP_N_EVENTS] = INT("n_events"),
    [STEP_PEAK_ALLOCATED_BYTES] = INT("peak_allocated_bytes"),
    [STEP_PEAK_RESERVED_BYTES] = INT("peak_reserved_bytes"),
    [STEP_END_ALLOCATED_BYTES] = INT("end_allocated_bytes"),
    [STEP_END_RESERVED_BYTES] = INT("end_reserved_bytes"),
    [STEP_END_BLOCKS] = INT("end_blocks"),
};

static const tide_parquet_column STACKS[N_STACK_COLUMNS] = {
    [STACK_STACK] = INT("stack"),
    [STACK_PARENT] = INT_OR_NULL("parent"),
    [STACK_FRAME] = INT("frame"),
    [STACK_USER_FRAME] = INT_OR_NULL("user_frame"),
};

static const tide_parquet_column FRAMES[N_FRAME_COLUMNS] = {
    [FRAME_FRAME] = INT("frame"),
    [FRAME_FUNCTION] = TEXT_OR_NULL("function"),
    [FRAME_FILE] = TEXT_OR_NULL("file"),
    [FRAME_LINE] = SMALL_OR_NULL("line"),
    [FRAME_IS_INLINED] = FLAG("is_inlined"),
};

static const tide_parquet_column GROUPS[N_GROUP_COLUMNS] = {
    [GROUP_GROUP] = INT("group"),
    [GROUP_NAME] = TEXT("name"),
    [GROUP_DESCRIPTION] = TEXT_OR_NULL("description"),
    [GROUP_SIZE] = INT_OR_NULL("size"),
    [GROUP_POSITION] = INT_OR_NULL("position"),
    [GROUP_FIRST] = INT_OR_NULL("first"),
    [GROUP_STRIDE] = INT_OR_NULL("stride"),
};

static const tide_parquet_column DEVICES[N_DEVICE_COLUMNS] = {
    [DEVICE_DEVICE] = SMALL("device"),
    [DEVICE_KIND] = TEXT("kind"),
    [DEVICE_NAME] = TEXT_OR_NULL("name"),
    [DEVICE_TOTAL_BYTES] = INT_OR_NULL("total_bytes"),
    [DEVICE_N_EVENTS] = INT("n_events"),
    [DEVICE_N_DROPPED] = INT("n_dropped"),
    [DEVICE_N_UNMATCHED] = INT("n_unmatched"),
    [DEVICE_PEAK_EVENT] = INT("peak_event"),
    [DEVICE_PEAK_NS] = INT_OR_NULL("peak_ns"),
    [DEVICE_PEAK_STEP] = INT_OR_NULL("peak_step"),
    [DEVICE_PEAK_REQUESTED_BYTES] = INT("peak_requested_bytes"),
    [DEVICE_PEAK_ALLOCATED_BYTES] = INT("peak_allocated_bytes"),
    [DEVICE_PEAK_ACTIVE_BYTES] = INT("peak_active_bytes"),
    [DEVICE_PEAK_RESERVED_BYTES] = INT("peak_reserved_bytes"),
    [DEVICE_PEAK_BLOCKS] = INT("peak_blocks"),
    [DEVICE_MAX_REQUESTED_BYTES] = INT("max_requested_bytes"),
    [DEVICE_MAX_ACTIVE_BYTES] = INT("max_active_bytes"),
    [DEVICE_MAX_RESERVED_BYTES] = INT("max_reserved_bytes"),
    [DEVICE_END_REQUESTED_BYTES] = INT("end_requested_bytes"),
    [DEVICE_END_ALLOCATED_BYTES] = INT("end_allocated_bytes"),
    [DEVICE_END_ACTIVE_BYTES] = INT("end_active_bytes"),
    [DEVICE_END_RESERVED_BYTES] = INT("end_reserved_bytes"),
    [DEVICE_OUTCOME] = TEXT_OR_NULL("outcome"),
    [DEVICE_COMMAND] = TEXT_OR_NULL("command"),
    [DEVICE_STARTED_UNIX_US] = INT_OR_NULL("started_unix_us"),
    [DEVICE_RECORDED_RANK] = INT_OR_NULL("recorded_rank"),
    [DEVICE_LOCAL_RANK] = INT_OR_NULL("local_rank"),
    [DEVICE_WORLD_SIZE] = INT_OR_NULL("world_size"),
};

/* The version is TIDE_PARQUET_SCHEMA_VERSION. */
static const tide_parquet_key KEYS[] = {{"tidemark.format", "tidemark-parquet"},
                                        {"tidemark.version", "1"}};

#define SCHEMA(name, columns)                                                                      \
    { name, columns, sizeof(columns) / sizeof((columns)[0]), KEYS, sizeof(KEYS) / sizeof(KEYS[0]) }

static const tide_parquet_schema SCHEMAS[TIDE_PQ_N_TABLES] = {
    [TIDE_PQ_EVENTS] = SCHEMA("events", EVENTS),       [TIDE_PQ_BLOCKS] = SCHEMA("blocks", BLOCKS),
    [TIDE_PQ_SEGMENTS] = SCHEMA("segments", SEGMENTS), [TIDE_PQ_SCOPES] = SCHEMA("scopes", SCOPES),
    [TIDE_PQ_STEPS] = SCHEMA("steps", STEPS),          [TIDE_PQ_STACKS] = SCHEMA("stacks", STACKS),
    [TIDE_PQ_FRAMES] = SCHEMA("frames", FRAMES),       [TIDE_PQ_GROUPS] = SCHEMA("groups", GROUPS),
    [TIDE_PQ_DEVICES] = SCHEMA("devices", DEVICES),
};

const tide_parquet_schema *tide_pq_schema(tide_pq_table table) {
    return &SCHEMAS[table];
}
