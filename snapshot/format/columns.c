#include "snapshot/format/columns_internal.h"

#include <string.h>

/* The last index that is not TIDE_NONE. */
#define MAX_INDEX ((int64_t)TIDE_NONE - 1)

/* 255 stays free: the reader marks a number that the file gives no name with it. */
#define MAX_NAMED ((int64_t)UINT8_MAX - 1)

#define MEMBER(row, member) .offset = offsetof(row, member), .width = sizeof(((row *)0)->member)

/* A column of events: an array of its own. */
#define EVENTS_OF(member)                                                                          \
    .offset = offsetof(tide_snapshot, member), .width = sizeof(*((tide_snapshot *)0)->member)
#define EVENT_INDEX(member)                                                                        \
    .offset = offsetof(tide_snapshot, events.member), .kind = TIDE_COLUMN_INDEX, .min = -1,        \
    .max = MAX_INDEX
#define EVENT_NUMBER(member, least, most)                                                          \
    EVENTS_OF(events.member), .kind = TIDE_COLUMN_NUMBER, .min = (least), .max = (most)
#define EVENT_BYTES(member)                                                                        \
    .offset = offsetof(tide_snapshot, events.member), .kind = TIDE_COLUMN_BYTES, .max = INT64_MAX

/* An index that may be none, and one that must be there. */
#define INDEX(row, member)                                                                         \
    MEMBER(row, member), .kind = TIDE_COLUMN_INDEX, .min = -1, .max = MAX_INDEX
#define INDEX_GIVEN(row, member)                                                                   \
    MEMBER(row, member), .kind = TIDE_COLUMN_INDEX, .min = 0, .max = MAX_INDEX

/* A number from `least` to `most`. */
#define NUMBER(row, member, least, most)                                                           \
    MEMBER(row, member), .kind = TIDE_COLUMN_NUMBER, .min = (least), .max = (most)

#define TABLE(key, rules, row)                                                                     \
    { (key), (rules), sizeof(rules) / sizeof((rules)[0]), sizeof(row) }

_Static_assert(sizeof(bool) == 1, "a boolean column is read and written as a number of one byte");

/* Other programs write 2^64 - 1 and -1 for a line that they do not know, so a line out of range is
 * unknown and not counted as odd. */
static const tide_json_odd ODD_LINE = {.unknown = 0, .range_is_fine = true};
static const tide_json_odd ODD_INLINED = {.unknown = 0};
static const tide_json_odd ODD_INDEX = {.unknown = -1};
static const tide_json_odd ODD_CERTAINTY = {.unknown = TIDE_CERTAINTY_UNKNOWN};

/* Of events and of blocks alike. A number that a later version may add is unknown to this one. */
#define CERTAINTY                                                                                  \
    .kind = TIDE_COLUMN_NUMBER, .max = TIDE_N_CERTAINTIES - 1, .odd = &ODD_CERTAINTY,              \
    .is_optional = true

static const tide_column_rule FRAMES[] = {
    {"function", INDEX(tide_frame_row, function)},
    {"file", INDEX(tide_frame_row, file)},
    {"line", NUMBER(tide_frame_row, line, 0, INT32_MAX), .odd = &ODD_LINE},
    {"inlined", NUMBER(tide_frame_row, inlined, 0, 1), .odd = &ODD_INLINED},
};
const tide_column_table tide_frame_columns = TABLE("frames", FRAMES, tide_frame_row);

static const tide_column_rule STACKS[] = {
    {"parent", INDEX(tide_stack_row, parent)},
    {"frame", INDEX_GIVEN(tide_stack_row, frame)},
};
const tide_column_table tide_stack_columns = TABLE("stacks", STACKS, tide_stack_row);

static const tide_column_rule SCOPES[] = {
    {"parent", INDEX(tide_scope_row, parent)},
    {"kind", NUMBER(tide_scope_row, kind, 0, MAX_NAMED)},
    {"name", INDEX_GIVEN(tide_scope_row, name)},
    {"index", NUMBER(tide_scope_row, index, -1, INT32_MAX), .odd = &ODD_INDEX},
    {"thread", NUMBER(tide_scope_row, thread, 0, UINT16_MAX)},
    {"begin_delta", NUMBER(tide_scope_row, begin_ns, 0, INT64_MAX), .encoding = TIDE_COLUMN_DELTA},
    {"duration", NUMBER(tide_scope_row, duration_ns, TIDE_SCOPE_NO_INTERVAL, INT64_MAX)},
    {"device_begin", NUMBER(tide_scope_row, device_begin_ns, -1, INT64_MAX)},
    {"device_duration", NUMBER(tide_scope_row, device_duration_ns, -1, INT64_MAX)},
};
const tide_column_table tide_scope_columns = TABLE("scopes", SCOPES, tide_scope_row);

static int64_t mean_ns(const void *row) {
    const tide_kernel_row *kernel = row;
    return kernel->total_ns / (int64_t)kernel->n_launches;
}

static const tide_column_rule KERNELS[] = {
    {"name", INDEX_GIVEN(tide_kernel_row, name)},
    {"phase", INDEX(tide_kernel_row, phase)},
    {"path", INDEX_GIVEN(tide_kernel_row, path)},
    {"launches", NUMBER(tide_kernel_row, n_launches, 1, INT64_MAX)},
    {"total_ns", NUMBER(tide_kernel_row, total_ns, 0, INT64_MAX)},
    {"mean_ns", .derive = mean_ns},
    {"min_ns", NUMBER(tide_kernel_row, min_ns, 0, INT64_MAX)},
    {"max_ns", NUMBER(tide_kernel_row, max_ns, 0, INT64_MAX)},
};
const tide_column_table tide_kernel_columns = TABLE("kernels", KERNELS, tide_kernel_row);

static const tide_column_rule EVENTS[] = {
    {"time_delta", EVENT_NUMBER(time_ns, 0, INT64_MAX), .encoding = TIDE_COLUMN_DELTA},
    {"action", EVENT_NUMBER(action, 0, MAX_NAMED)},
    {"device", EVENT_NUMBER(device, 0, UINT8_MAX)},
    {"address_delta", EVENT_NUMBER(address, 0, INT64_MAX), .encoding = TIDE_COLUMN_ADDRESS},
    {"requested_bytes", EVENT_BYTES(requested_bytes)},
    {"block_bytes", EVENT_BYTES(block_bytes)},
    {"stream", EVENT_NUMBER(stream, 0, UINT8_MAX)},
    {"stack", EVENT_INDEX(stack)},
    {"scope_delta", EVENT_INDEX(scope), .encoding = TIDE_COLUMN_DELTA},
    {"category", EVENT_NUMBER(category, 0, MAX_NAMED)},
    {"certainty", EVENTS_OF(event_certainty), CERTAINTY},
    {"name", EVENT_INDEX(name)},
    {"pool", EVENTS_OF(event_pool), .max = UINT16_MAX, .is_optional = true},
};
const tide_column_table tide_event_columns = {
    .key = "events", .rules = EVENTS, .n_rules = sizeof(EVENTS) / sizeof(EVENTS[0])};

static const tide_column_rule BLOCKS[] = {
    {"offset_bytes", NUMBER(tide_block_row, offset_bytes, 0, INT64_MAX)},
    {"block_bytes", NUMBER(tide_block_row, block_bytes, 0, INT64_MAX)},
    {"requested_bytes", NUMBER(tide_block_row, requested_bytes, 0, INT64_MAX)},
    {"state", NUMBER(tide_block_row, state, 0, MAX_NAMED)},
    {"stack", INDEX(tide_block_row, stack)},
    {"scope", INDEX(tide_block_row, scope)},
    {"category", NUMBER(tide_block_row, category, 0, MAX_NAMED)},
    {"certainty", .width = sizeof(uint8_t), CERTAINTY},
    {"name", INDEX(tide_block_row, name)},
};
const tide_column_table tide_block_columns = TABLE("blocks", BLOCKS, tide_block_row);

void tide_column_keys_of(const tide_column_table *table, tide_column_keys *ret) {
    *ret = (tide_column_keys){.n = 0};
    for (size_t i = 0; i < table->n_rules; i++) {
        const tide_column_rule *rule = &table->rules[i];
        if (rule->derive == NULL) {
            ret->keys[ret->n] = rule->key;
            ret->rules[ret->n] = rule;
            ret->required |= rule->is_optional ? 0 : UINT32_C(1) << ret->n;
            ret->n++;
        }
    }
}

const void *tide_column_of_events(const tide_column_rule *rule, const tide_snapshot *snapshot,
                                  size_t *ret_width) {
    const char *member = (const char *)snapshot + rule->offset;
    tide_narrow_column narrow = {.width = rule->width};
    if (rule->kind == TIDE_COLUMN_NUMBER) {
        memcpy(&narrow.values, member, sizeof(narrow.values));
    } else {
        memcpy(&narrow, member, sizeof(narrow));
    }
    *ret_width = narrow.width;
    return narrow.values;
}

void tide_column_set_of_events(const tide_column_rule *rule, tide_snapshot *snapshot,
                               const void *values, size_t width) {
    char *member = (char *)snapshot + rule->offset;
    const tide_narrow_column narrow = {.values = values, .width = width};
    if (rule->kind == TIDE_COLUMN_NUMBER) {
        memcpy(member, &narrow.values, sizeof(narrow.values));
    } else {
        memcpy(member, &narrow, sizeof(narrow));
    }
}

/* A copy, as the member may have any type of that width; a compiler makes one load or store of it.
 */
#define LOAD(type)                                                                                 \
    for (size_t i = 0; i < n; i++, from += step.stride) {                                          \
        type value;                                                                                \
        memcpy(&value, from, sizeof(value));                                                       \
        ret_values[i] = (int64_t)value;                                                            \
    }

#define LOAD_INDEX(type)                                                                           \
    for (size_t i = 0; i < n; i++, from += step.stride) {                                          \
        type index;                                                                                \
        memcpy(&index, from, sizeof(index));                                                       \
        ret_values[i] = index == (type)-1 ? -1 : (int64_t)index;                                   \
    }

/* Without a stride a compiler makes wide stores. */
#define PACK(type)                                                                                 \
    for (size_t i = 0; i < n; i++) {                                                               \
        ((type *)to)[i] = (type)values[i];                                                         \
    }

#define STORE(type)                                                                                \
    for (size_t i = 0; i < n; i++, to += step.stride) {                                            \
        type value = (type)values[i];                                                              \
        memcpy(to, &value, sizeof(value));                                                         \
    }

static void load_indices(tide_column_step step, const char *from, size_t n, int64_t *ret_values) {
    if (step.width == sizeof(uint8_t)) {
        LOAD_INDEX(uint8_t)
    } else if (step.width == sizeof(uint16_t)) {
        LOAD_INDEX(uint16_t)
    } else {
        LOAD_INDEX(uint32_t)
    }
}

void tide_column_load(tide_column_kind kind, tide_column_step step, const void *first, size_t n,
                      int64_t *ret_values) {
    const char *from = first;
    if (kind == TIDE_COLUMN_INDEX) {
        load_indices(step, from, n, ret_values);
    } else if (step.width == sizeof(uint8_t)) {
        LOAD(uint8_t)
    } else if (step.width == sizeof(uint16_t)) {
        LOAD(uint16_t)
    } else if (step.width == sizeof(int64_t)) {
        LOAD(int64_t)
    } else if (kind == TIDE_COLUMN_BYTES) {
        LOAD(uint32_t)
    } else {
        LOAD(int32_t)
    }
}

static void pack(size_t width, void *to, size_t n, const int64_t *values) {
    if (width == sizeof(uint8_t)) {
        PACK(uint8_t)
    } else if (width == sizeof(uint16_t)) {
        PACK(uint16_t)
    } else if (width == sizeof(uint32_t)) {
        PACK(uint32_t)
    } else {
        PACK(int64_t)
    }
}

/* The conversion of -1 to an unsigned type is the index that is none, so that indices need no loops
 * of their own. */
void tide_column_store(tide_column_step step, void *first, size_t n, const int64_t *values) {
    char *to = first;
    if (step.stride == step.width) {
        pack(step.width, first, n, values);
    } else if (step.width == sizeof(uint8_t)) {
        STORE(uint8_t)
    } else if (step.width == sizeof(uint16_t)) {
        STORE(uint16_t)
    } else if (step.width == sizeof(uint32_t)) {
        STORE(uint32_t)
    } else {
        STORE(int64_t)
    }
}
