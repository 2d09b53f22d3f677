/* columns.c - the document's large tables as columns, each in the smallest type that the page draws
 * from. All reading of rows is here.
 */
#include <string.h>

#include "common/assert.h"
#include "snapshot/wasm/engine_internal.h"

#ifdef __wasm__
_Static_assert(sizeof(tide_engine_column) == 12, "the page reads it");
#endif

static const uint8_t WIDTHS[] = {1, 1, 2, 4, 4, 8};

/* The type of references to a table of n rows, of which -1 is none. */
static tide_engine_type index_type(size_t n) {
    return n <= 1U << 7 ? TIDE_ENGINE_I8 : n <= 1U << 15 ? TIDE_ENGINE_I16 : TIDE_ENGINE_I32;
}

/* ---- the columns ---- */

static void add(tide_engine *engine, tide_engine_plan plan) {
    TIDE_ASSERT(engine->n_columns < TIDE_ENGINE_MAX_COLUMNS);
    engine->plans[engine->n_columns++] = plan;
}

/* A column whose numbers are in an array, a narrow one, or a member of rows. */
#define ARRAY(key, values, n, type)                                                                \
    add(engine,                                                                                    \
        (tide_engine_plan){key, values, n, sizeof(*(values)), sizeof(*(values)), type, NULL})
#define NARROW(key, column, n, type)                                                               \
    add(engine,                                                                                    \
        (tide_engine_plan){key, (column).values, n, (column).width, (column).width, type, NULL})
#define MEMBER(key, rows, member, n, type)                                                         \
    add(engine, (tide_engine_plan){key, (n) > 0 ? &(rows)->member : NULL, n, sizeof(*(rows)),      \
                                   sizeof((rows)->member), type, NULL})

static void plan_events(tide_engine *engine, const tide_snapshot *s) {
    const tide_event_table *e = &s->events;
    const size_t n = s->n_events;
    ARRAY("events.time_ns", e->time_ns, n, TIDE_ENGINE_F64);
    ARRAY("events.action", e->action, n, TIDE_ENGINE_U8);
    ARRAY("events.device", e->device, n, TIDE_ENGINE_U8);
    ARRAY("events.act", engine->subjects.act, n, TIDE_ENGINE_I32);
    NARROW("events.stack", e->stack, n, index_type(s->n_stacks));
    NARROW("events.scope", e->scope, n, index_type(s->n_scopes));
    if (s->event_pool != NULL) {
        ARRAY("events.pool", s->event_pool, n, TIDE_ENGINE_U32);
    }
}

#define START_BLOCK(name, expression)                                                              \
    static int64_t name(const tide_snapshot *s, size_t row, size_t segment) {                      \
        (void)row;                                                                                 \
        (void)segment;                                                                             \
        return expression;                                                                         \
    }
START_BLOCK(start_address,
            (int64_t)(s->start_segments[segment].address + s->start_blocks[row].offset_bytes))
START_BLOCK(start_requested, (int64_t)s->start_blocks[row].requested_bytes)
START_BLOCK(start_bytes, (int64_t)s->start_blocks[row].block_bytes)
START_BLOCK(start_stream, s->start_segments[segment].stream)
START_BLOCK(start_category, s->start_blocks[row].category)
START_BLOCK(start_name,
            s->start_blocks[row].name == TIDE_NONE ? -1 : (int64_t)s->start_blocks[row].name)
START_BLOCK(start_certainty, s->start_block_certainty != NULL ? s->start_block_certainty[row] : 0)
#undef START_BLOCK

/* 4 bytes hold each of the byte counts, or 8 do. Counts are not above INT64_MAX. */
static tide_engine_type amount_type(const tide_engine *engine, const tide_narrow_column *column,
                                    tide_engine_start_value *of_start) {
    const tide_subjects *subjects = &engine->subjects;
    bool is_large = column->width > sizeof(uint32_t);
    for (size_t i = 0; i < subjects->n_start && !is_large; i++) {
        is_large =
            of_start(engine->snapshot, subjects->rows[i], subjects->segments[i]) > UINT32_MAX;
    }
    return is_large ? TIDE_ENGINE_F64 : TIDE_ENGINE_U32;
}

#define SUBJECTS(key, values, width, type, of_start)                                               \
    add(engine, (tide_engine_plan){key, values, engine->subjects.n, width, width, type, of_start})

static void plan_subjects(tide_engine *engine, const tide_snapshot *s) {
    const tide_event_table *e = &s->events;
    SUBJECTS("subjects.address", e->address, sizeof(*e->address), TIDE_ENGINE_F64, start_address);
    SUBJECTS("subjects.requested_bytes", e->requested_bytes.values, e->requested_bytes.width,
             amount_type(engine, &e->requested_bytes, start_requested), start_requested);
    SUBJECTS("subjects.bytes", e->block_bytes.values, e->block_bytes.width,
             amount_type(engine, &e->block_bytes, start_bytes), start_bytes);
    SUBJECTS("subjects.stream", e->stream, 1, TIDE_ENGINE_U8, start_stream);
    SUBJECTS("subjects.category", e->category, 1, TIDE_ENGINE_U8, start_category);
    SUBJECTS("subjects.name", e->name.values, e->name.width, index_type(s->n_strings), start_name);
    if (s->event_certainty != NULL || s->start_block_certainty != NULL) {
        SUBJECTS("subjects.certainty", s->event_certainty, 1, TIDE_ENGINE_U8, start_certainty);
    }
    const tide_subjects *subjects = &engine->subjects;
    MEMBER("replaced.block", subjects->replaced, block, subjects->n_replaced, TIDE_ENGINE_I32);
    MEMBER("replaced.event", subjects->replaced, event, subjects->n_replaced, TIDE_ENGINE_I32);
    ARRAY("unmatched.count", subjects->n_unmatched, s->n_devices, TIDE_ENGINE_U32);
}

static void plan_places(tide_engine *engine, const tide_snapshot *s) {
    const tide_engine_type text = index_type(s->n_strings);
    MEMBER("frames.function", s->frames, function, s->n_frames, text);
    MEMBER("frames.file", s->frames, file, s->n_frames, text);
    MEMBER("frames.line", s->frames, line, s->n_frames, TIDE_ENGINE_I32);
    MEMBER("frames.inlined", s->frames, inlined, s->n_frames, TIDE_ENGINE_U8);
    ARRAY("frames.kind", engine->frames.of_frame, s->n_frames, TIDE_ENGINE_U8);
    MEMBER("stacks.parent", s->stacks, parent, s->n_stacks, index_type(s->n_stacks));
    MEMBER("stacks.frame", s->stacks, frame, s->n_stacks, index_type(s->n_frames));
    ARRAY("stacks.user_frame", engine->frames.of_stack, s->n_stacks, index_type(s->n_frames));
}

static void plan_scopes(tide_engine *engine, const tide_snapshot *s) {
    const size_t n = s->n_scopes;
    MEMBER("scopes.parent", s->scopes, parent, n, index_type(n));
    MEMBER("scopes.kind", s->scopes, kind, n, TIDE_ENGINE_U8);
    MEMBER("scopes.name", s->scopes, name, n, index_type(s->n_strings));
    MEMBER("scopes.thread", s->scopes, thread, n, TIDE_ENGINE_I32);
    MEMBER("scopes.index", s->scopes, index, n, TIDE_ENGINE_I32);
    MEMBER("scopes.begin_ns", s->scopes, begin_ns, n, TIDE_ENGINE_F64);
    MEMBER("scopes.duration_ns", s->scopes, duration_ns, n, TIDE_ENGINE_F64);
    MEMBER("scopes.device_begin_ns", s->scopes, device_begin_ns, n, TIDE_ENGINE_F64);
    MEMBER("scopes.device_duration_ns", s->scopes, device_duration_ns, n, TIDE_ENGINE_F64);
}

size_t tide_engine_columns(tide_engine *engine) {
    TIDE_ASSERT(engine->snapshot != NULL);
    engine->n_columns = 0;
    plan_events(engine, engine->snapshot);
    plan_subjects(engine, engine->snapshot);
    plan_places(engine, engine->snapshot);
    plan_scopes(engine, engine->snapshot);
    return engine->n_columns;
}

const tide_engine_column *tide_engine_column_at(tide_engine *engine, size_t i) {
    TIDE_ASSERT(i < engine->n_columns);
    const tide_engine_plan *plan = &engine->plans[i];
    engine->column = (tide_engine_column){plan->key, plan->n_rows, plan->type};
    return &engine->column;
}

/* ---- their rows ---- */

/* Where a batch of numbers comes from. */
typedef struct batch {
    const char *from;
    size_t stride;
    const uint32_t *rows; /* by number; NULL: each is the next */
    size_t n;
    uint32_t none; /* this one becomes -1 */
} batch;

/* One loop for each pair of widths: millions of numbers pass here. */
#define COPY(name, from_type, to_type)                                                             \
    static void name(const batch *of, void *to) {                                                  \
        for (size_t i = 0; i < of->n; i++) {                                                       \
            size_t row = of->rows != NULL ? of->rows[i] : i;                                       \
            from_type number = *(const from_type *)(const void *)(of->from + row * of->stride);    \
            ((to_type *)to)[i] = (to_type)number;                                                  \
        }                                                                                          \
    }
#define COPY_INDEX(name, from_type, to_type)                                                       \
    static void name(const batch *of, void *to) {                                                  \
        for (size_t i = 0; i < of->n; i++) {                                                       \
            size_t row = of->rows != NULL ? of->rows[i] : i;                                       \
            uint32_t number = *(const from_type *)(const void *)(of->from + row * of->stride);     \
            ((to_type *)to)[i] = (to_type)(number == of->none ? TIDE_NONE : number);               \
        }                                                                                          \
    }
COPY(copy_1_1, uint8_t, uint8_t)
COPY_INDEX(copy_1_2, uint8_t, uint16_t)
COPY_INDEX(copy_1_4, uint8_t, uint32_t)
COPY(copy_2_1, uint16_t, uint8_t)
COPY(copy_2_2, uint16_t, uint16_t)
COPY_INDEX(copy_2_4, uint16_t, uint32_t)
COPY(copy_4_1, uint32_t, uint8_t)
COPY(copy_4_2, uint32_t, uint16_t)
COPY(copy_4_4, uint32_t, uint32_t)
COPY(copy_1_8, uint8_t, double)
COPY(copy_2_8, uint16_t, double)
COPY(copy_4_8, uint32_t, double)
COPY(copy_8_8, int64_t, double)
#undef COPY
#undef COPY_INDEX

/* By the logarithms of the widths. */
typedef void copy(const batch *of, void *to);
static copy *const COPIES[4][4] = {
    {copy_1_1, copy_1_2, copy_1_4, copy_1_8},
    {copy_2_1, copy_2_2, copy_2_4, copy_2_8},
    {copy_4_1, copy_4_2, copy_4_4, copy_4_8},
    {NULL, NULL, NULL, copy_8_8},
};

static size_t log_of(size_t width) {
    return width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3;
}

/* The largest number of a narrow column of indices is TIDE_NONE. That of a member is so already:
 * its low bits are those of -1. */
static uint32_t none_of(const tide_engine_plan *plan) {
    bool is_index = plan->type == TIDE_ENGINE_I8 || plan->type == TIDE_ENGINE_I16 ||
                    plan->type == TIDE_ENGINE_I32;
    return is_index && plan->stride == plan->width && plan->width <= sizeof(uint32_t)
               ? TIDE_NONE >> (8 * (sizeof(uint32_t) - plan->width))
               : TIDE_NONE;
}

static void store(void *to, tide_engine_type type, size_t i, int64_t value) {
    switch (WIDTHS[type]) {
    case sizeof(uint8_t):
        ((uint8_t *)to)[i] = (uint8_t)value;
        break;
    case sizeof(uint16_t):
        ((uint16_t *)to)[i] = (uint16_t)value;
        break;
    case sizeof(uint32_t):
        ((uint32_t *)to)[i] = (uint32_t)value;
        break;
    default:
        ((double *)to)[i] = (double)value;
    }
}

/* Those subjects of the batch that are blocks of the start; how many there are. */
static size_t store_start(tide_engine *engine, const tide_engine_plan *plan, size_t first,
                          size_t n) {
    const tide_subjects *of = &engine->subjects;
    size_t i = 0;
    for (; i < n && first + i < of->n_start; i++) {
        int64_t value =
            plan->of_start(engine->snapshot, of->rows[first + i], of->segments[first + i]);
        store(engine->rows, plan->type, i, value);
    }
    return i;
}

/* Whether the rows can be copied as they are. */
static bool is_same(const tide_engine_plan *plan) {
    return plan->of_start == NULL && plan->stride == plan->width &&
           plan->width == WIDTHS[plan->type] && plan->type != TIDE_ENGINE_F64;
}

/* Out-of-memory events and marks have no valid address. */
static void drop_addresses(const tide_event_table *events, const batch *of, double *to) {
    TIDE_ASSERT(of->rows != NULL);
    for (size_t i = 0; i < of->n; i++) {
        if (!tide_action_has_address(events->action[of->rows[i]])) {
            to[i] = 0;
        }
    }
}

const void *tide_engine_rows(tide_engine *engine, size_t column, size_t first) {
    const tide_engine_plan *plan = &engine->plans[column];
    TIDE_ASSERT(column < engine->n_columns && first < plan->n_rows);
    size_t n_left = plan->n_rows - first;
    size_t n = n_left < TIDE_ENGINE_BATCH ? n_left : TIDE_ENGINE_BATCH;
    batch of = {plan->values, plan->stride, NULL, n, none_of(plan)};
    char *to = (char *)engine->rows;
    if (plan->of_start == NULL) {
        of.from += first * plan->stride;
    } else {
        size_t n_start = store_start(engine, plan, first, n);
        of.rows = engine->subjects.rows + first + n_start;
        of.n -= n_start;
        to += n_start * WIDTHS[plan->type];
    }
    if (is_same(plan)) {
        return of.from;
    }
    if (plan->values != NULL) {
        copy *const copy_of = COPIES[log_of(plan->width)][log_of(WIDTHS[plan->type])];
        /* Only a number of 8 bytes does not fit, and becomes a double. */
        TIDE_ASSERT(copy_of != NULL);
        copy_of(&of, to);
    } else {
        memset(to, 0, of.n * WIDTHS[plan->type]);
    }
    if (plan->of_start == start_address) {
        drop_addresses(&engine->snapshot->events, &of, (double *)(void *)to);
    }
    return engine->rows;
}
