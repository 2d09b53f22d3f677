#include "snapshot/format/columns_internal.h"

#include <string.h>

/* The last index that is not TIDE_NONE. */
#define MAX_INDEX ((int64_t)TIDE_NONE - 1)

/* 255 is reserved: the reader marks a number without a name in the file with it. */
#define MAX_NAMED ((int64_t)UINT8_MAX - 1)

_Static_assert(sizeof(bool) == 1, "a boolean column is read and written as a number of one byte");

/* Other programs write 2^64 - 1 and -1 for an unknown line, so a line out of range is read as
 * unknown and not counted as odd. */
static const tide_json_odd ODD_LINE = {.unknown = 0, .range_is_fine = true};
static const tide_json_odd ODD_FLAG = {.unknown = 0};
static const tide_json_odd ODD_ORDINAL = {.unknown = -1};
/* A number that only a later version knows is read as unknown. */
static const tide_json_odd ODD_CERTAINTY = {.unknown = TIDE_CERTAINTY_UNKNOWN};

/* The values of columns.def: what the reader allows. */
#define VALUES_INDEX .kind = TIDE_COLUMN_INDEX, .min = -1, .max = MAX_INDEX
#define VALUES_ROW .kind = TIDE_COLUMN_INDEX, .min = 0, .max = MAX_INDEX
#define VALUES_BYTES .kind = TIDE_COLUMN_BYTES, .max = INT64_MAX
#define VALUES_COUNT .max = INT64_MAX
#define VALUES_POSITIVE .min = 1, .max = INT64_MAX
#define VALUES_KNOWN .min = -1, .max = INT64_MAX
#define VALUES_DURATION .min = TIDE_SCOPE_NO_INTERVAL, .max = INT64_MAX
#define VALUES_NAMED .max = MAX_NAMED
#define VALUES_BYTE .max = UINT8_MAX
#define VALUES_SHORT .max = UINT16_MAX
#define VALUES_LINE .max = INT32_MAX, .odd = &ODD_LINE
#define VALUES_FLAG .max = 1, .odd = &ODD_FLAG
#define VALUES_ORDINAL .min = -1, .max = INT32_MAX, .odd = &ODD_ORDINAL
#define VALUES_CERTAINTY .max = TIDE_N_CERTAINTIES - 1, .odd = &ODD_CERTAINTY

#define IS_REQUIRED .is_optional = false
#define IS_OPTIONAL .is_optional = true

static int64_t kernels_mean_ns(const void *row) {
    const tide_kernel_row *kernel = row;
    return kernel->total_ns / (int64_t)kernel->n_launches;
}

/* The rules of each table. */
#define TABLE(table, row)                                                                          \
    typedef row row_of_##table;                                                                    \
    static const tide_column_rule rules_of_##table[] = {
#define COLUMN(table, name, member, values, how, presence, meaning)                                \
    {.key = #name,                                                                                 \
     .offset = offsetof(row_of_##table, member),                                                   \
     .width = sizeof(((row_of_##table *)0)->member),                                               \
     .encoding = TIDE_COLUMN_##how,                                                                \
     VALUES_##values,                                                                              \
     IS_##presence},
#define ARRAY(table, name, member, values, how, presence, meaning)                                 \
    {.key = #name,                                                                                 \
     .offset = offsetof(row_of_##table, member),                                                   \
     .width = sizeof(*((row_of_##table *)0)->member),                                              \
     .encoding = TIDE_COLUMN_##how,                                                                \
     VALUES_##values,                                                                              \
     IS_##presence},
#define NARROW(table, name, member, values, how, presence, meaning)                                \
    {.key = #name,                                                                                 \
     .offset = offsetof(row_of_##table, member),                                                   \
     .encoding = TIDE_COLUMN_##how,                                                                \
     VALUES_##values,                                                                              \
     IS_##presence},
#define BESIDE(table, name, values, presence, meaning)                                             \
    {.key = #name, .width = sizeof(uint8_t), VALUES_##values, IS_##presence},
#define DERIVED(table, name, meaning) {.key = #name, .derive = table##_##name},
#define END(table)                                                                                 \
    }                                                                                              \
    ;
#include "common/assert.h"
#include "snapshot/format/columns.def"

#define TABLE_OF(table, bytes)                                                                     \
    { #table, rules_of_##table, sizeof(rules_of_##table) / sizeof(rules_of_##table[0]), (bytes) }
const tide_column_table tide_frame_columns = TABLE_OF(frames, sizeof(row_of_frames));
const tide_column_table tide_stack_columns = TABLE_OF(stacks, sizeof(row_of_stacks));
const tide_column_table tide_scope_columns = TABLE_OF(scopes, sizeof(row_of_scopes));
const tide_column_table tide_kernel_columns = TABLE_OF(kernels, sizeof(row_of_kernels));
const tide_column_table tide_block_columns = TABLE_OF(blocks, sizeof(row_of_blocks));
const tide_column_table tide_event_columns = TABLE_OF(events, 0);

void tide_column_keys_of(const tide_column_table *table, tide_column_keys *ret) {
    *ret = (tide_column_keys){.n = 0};
    for (size_t i = 0; i < table->n_rules; i++) {
        const tide_column_rule *rule = &table->rules[i];
        if (rule->derive == NULL) {
            TIDE_ASSERT(ret->n < 32); /* bits of `required` */
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
    TIDE_ASSERT(rule->kind != TIDE_COLUMN_NUMBER || width == rule->width);
    char *member = (char *)snapshot + rule->offset;
    const tide_narrow_column narrow = {.values = values, .width = width};
    if (rule->kind == TIDE_COLUMN_NUMBER) {
        memcpy(member, &narrow.values, sizeof(narrow.values));
    } else {
        memcpy(member, &narrow, sizeof(narrow));
    }
}

static bool is_width(size_t width) {
    return width == 1 || width == 2 || width == 4 || width == 8;
}

/* A copy, because the member may have any type of that width; compilers make it one load or store.
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

/* Without a stride, compilers make wide stores. */
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
    TIDE_ASSERT(is_width(step.width) && step.stride >= step.width);
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

/* -1 converted to an unsigned type is the index "none", so indices need no loops of their own. */
void tide_column_store(tide_column_step step, void *first, size_t n, const int64_t *values) {
    TIDE_ASSERT(is_width(step.width) && step.stride >= step.width);
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
