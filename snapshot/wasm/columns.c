/* columns.c - the document's large tables as columns, each in the smallest type that the page draws
 * from. All reading of rows is here.
 */
#include <assert.h>
#include <string.h>

#include "snapshot/wasm/engine_internal.h"

#ifdef __wasm__
_Static_assert(sizeof(tide_engine_column) == 32 && offsetof(tide_engine_column, min) == 16,
               "the page reads the table of columns");
#endif

/* The value of a row; -1 for TIDE_NONE. */
typedef int64_t (*value_of)(const tide_snapshot *snapshot, size_t row);

static const uint8_t WIDTHS[] = {1, 1, 2, 4, 4, 8};

static int64_t index_of(uint32_t number) {
    return number == TIDE_NONE ? -1 : (int64_t)number;
}

#define VALUE(name, expression)                                                                    \
    static int64_t name(const tide_snapshot *s, size_t i) {                                        \
        return expression;                                                                         \
    }
VALUE(event_action, s->events.action[i])
VALUE(event_device, s->events.device[i])
VALUE(event_requested, (int64_t)tide_bytes_at(&s->events.requested_bytes, i))
VALUE(event_bytes, (int64_t)tide_bytes_at(&s->events.block_bytes, i))
VALUE(event_stream, s->events.stream[i])
VALUE(event_category, s->events.category[i])
VALUE(event_name, index_of(tide_index_at(&s->events.name, i)))
VALUE(event_stack, index_of(tide_index_at(&s->events.stack, i)))
VALUE(event_scope, index_of(tide_index_at(&s->events.scope, i)))
VALUE(event_time, s->events.time_ns[i])
VALUE(event_certainty, s->event_certainty[i])
VALUE(event_pool, s->event_pool[i])
VALUE(frame_function, index_of(s->frames[i].function))
VALUE(frame_file, index_of(s->frames[i].file))
VALUE(frame_line, s->frames[i].line)
VALUE(frame_inlined, s->frames[i].inlined)
VALUE(stack_parent, index_of(s->stacks[i].parent))
VALUE(stack_frame, index_of(s->stacks[i].frame))
VALUE(scope_parent, index_of(s->scopes[i].parent))
VALUE(scope_kind, s->scopes[i].kind)
VALUE(scope_name, index_of(s->scopes[i].name))
VALUE(scope_thread, s->scopes[i].thread)
VALUE(scope_index, s->scopes[i].index)
VALUE(scope_begin, s->scopes[i].begin_ns)
VALUE(scope_duration, s->scopes[i].duration_ns)
VALUE(scope_device_begin, s->scopes[i].device_begin_ns)
VALUE(scope_device_duration, s->scopes[i].device_duration_ns)
#undef VALUE

/* The address of an event without one is undefined. */
static int64_t event_address(const tide_snapshot *s, size_t i) {
    return tide_action_has_address(s->events.action[i]) ? (int64_t)s->events.address[i] : 0;
}

/* An event without an address repeats the last one, as in files. */
static void repeat_addresses(const tide_snapshot *s, double *addresses) {
    for (size_t i = 1; i < s->n_events; i++) {
        if (!tide_action_has_address(s->events.action[i])) {
            addresses[i] = addresses[i - 1];
        }
    }
}

/* The type of references to a table of n rows, of which -1 is none. */
static tide_engine_type index_type(size_t n) {
    return n <= 1U << 7 ? TIDE_ENGINE_I8 : n <= 1U << 15 ? TIDE_ENGINE_I16 : TIDE_ENGINE_I32;
}

/* 4 bytes hold each of the byte counts, or 8 do. Counts are not above INT64_MAX. */
static tide_engine_type amount_type(const tide_snapshot *snapshot, value_of value) {
    int64_t bits = 0;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        bits |= value(snapshot, i);
    }
    return bits >= 0 && bits <= UINT32_MAX ? TIDE_ENGINE_U32 : TIDE_ENGINE_F64;
}

static void store(void *to, tide_engine_type type, size_t i, int64_t value) {
    switch (type) {
    case TIDE_ENGINE_I8:
        ((int8_t *)to)[i] = (int8_t)value;
        break;
    case TIDE_ENGINE_U8:
        ((uint8_t *)to)[i] = (uint8_t)value;
        break;
    case TIDE_ENGINE_I16:
        ((int16_t *)to)[i] = (int16_t)value;
        break;
    case TIDE_ENGINE_I32:
        ((int32_t *)to)[i] = (int32_t)value;
        break;
    case TIDE_ENGINE_U32:
        ((uint32_t *)to)[i] = (uint32_t)value;
        break;
    case TIDE_ENGINE_F64:
        ((double *)to)[i] = (double)value;
        break;
    }
}

typedef struct plan {
    const char *key;
    value_of value;
    tide_engine_type type;
} plan;

/* `ret_column`: its values; NULL if the caller does not need them. */
static tide_status add_column(tide_engine *engine, size_t n_rows, const plan *of,
                              void **ret_column) {
    void *to = tide_arena_alloc_raw(&engine->arena, n_rows, WIDTHS[of->type]);
    if (to == NULL) {
        return TIDE_NO_MEMORY;
    }
    int64_t min = n_rows > 0 ? INT64_MAX : 0;
    int64_t max = n_rows > 0 ? INT64_MIN : 0;
    for (size_t i = 0; i < n_rows; i++) {
        int64_t value = of->value(engine->snapshot, i);
        min = value < min ? value : min;
        max = value > max ? value : max;
        store(to, of->type, i, value);
    }
    assert(engine->n_columns < TIDE_ENGINE_MAX_COLUMNS);
    engine->columns[engine->n_columns++] =
        (tide_engine_column){of->key, to, n_rows, of->type, (double)min, (double)max};
    if (ret_column != NULL) {
        *ret_column = to;
    }
    return TIDE_OK;
}

static tide_status add_columns(tide_engine *engine, size_t n_rows, const plan *plans, size_t n) {
    for (size_t i = 0; i < n; i++) {
        TIDE_TRY(add_column(engine, n_rows, &plans[i], NULL));
    }
    return TIDE_OK;
}

#define ADD(engine, n_rows, plans)                                                                 \
    TIDE_TRY(add_columns(engine, n_rows, plans, sizeof(plans) / sizeof((plans)[0])))

static tide_status add_events(tide_engine *engine) {
    const tide_snapshot *s = engine->snapshot;
    const plan plans[] = {
        {"events.time_delta", event_time, TIDE_ENGINE_F64},
        {"events.action", event_action, TIDE_ENGINE_U8},
        {"events.device", event_device, TIDE_ENGINE_U8},
        {"events.requested_bytes", event_requested, amount_type(s, event_requested)},
        {"events.block_bytes", event_bytes, amount_type(s, event_bytes)},
        {"events.stream", event_stream, TIDE_ENGINE_U8},
        {"events.category", event_category, TIDE_ENGINE_U8},
        {"events.name", event_name, index_type(s->n_strings)},
        {"events.stack", event_stack, index_type(s->n_stacks)},
        {"events.scope_delta", event_scope, index_type(s->n_scopes)},
    };
    const plan address = {"events.address_delta", event_address, TIDE_ENGINE_F64};
    void *addresses = NULL;
    ADD(engine, s->n_events, plans);
    TIDE_TRY(add_column(engine, s->n_events, &address, &addresses));
    repeat_addresses(s, addresses);
    const plan certainty = {"events.certainty", event_certainty, TIDE_ENGINE_U8};
    if (s->event_certainty != NULL) {
        TIDE_TRY(add_column(engine, s->n_events, &certainty, NULL));
    }
    const plan pool = {"events.pool", event_pool, TIDE_ENGINE_I32};
    return s->event_pool != NULL ? add_column(engine, s->n_events, &pool, NULL) : TIDE_OK;
}

static tide_status add_places(tide_engine *engine) {
    const tide_snapshot *s = engine->snapshot;
    const tide_engine_type text = index_type(s->n_strings);
    const plan frames[] = {
        {"frames.function", frame_function, text},
        {"frames.file", frame_file, text},
        {"frames.line", frame_line, TIDE_ENGINE_I32},
        {"frames.inlined", frame_inlined, TIDE_ENGINE_U8},
    };
    const plan stacks[] = {
        {"stacks.parent", stack_parent, index_type(s->n_stacks)},
        {"stacks.frame", stack_frame, index_type(s->n_frames)},
    };
    ADD(engine, s->n_frames, frames);
    ADD(engine, s->n_stacks, stacks);
    return TIDE_OK;
}

static tide_status add_scopes(tide_engine *engine) {
    const tide_snapshot *s = engine->snapshot;
    const plan scopes[] = {
        {"scopes.parent", scope_parent, index_type(s->n_scopes)},
        {"scopes.kind", scope_kind, TIDE_ENGINE_U8},
        {"scopes.name", scope_name, index_type(s->n_strings)},
        {"scopes.thread", scope_thread, TIDE_ENGINE_I32},
        {"scopes.index", scope_index, TIDE_ENGINE_I32},
        {"scopes.begin_delta", scope_begin, TIDE_ENGINE_F64},
        {"scopes.duration", scope_duration, TIDE_ENGINE_F64},
        {"scopes.device_begin", scope_device_begin, TIDE_ENGINE_F64},
        {"scopes.device_duration", scope_device_duration, TIDE_ENGINE_F64},
    };
    ADD(engine, s->n_scopes, scopes);
    return TIDE_OK;
}

size_t tide_engine_columns(tide_engine *engine) {
    assert(engine->snapshot != NULL && engine->n_columns == 0);
    tide_status status = add_events(engine);
    status = status == TIDE_OK ? add_places(engine) : status;
    status = status == TIDE_OK ? add_scopes(engine) : status;
    return tide_engine_end(engine, status) ? engine->n_columns : 0;
}

const tide_engine_column *tide_engine_column_table(const tide_engine *engine) {
    return engine->columns;
}
