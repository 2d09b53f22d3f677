/* The traces of a dump as rows of events: oldest first, device after device. */
#include <string.h>

#include "snapshot/pytorch/internal.h"

#define MAX_TIME_US (INT64_MAX / 1000)

enum {
    KEY_ACTION = 0,
    KEY_ADDR,
    KEY_DEVICE_FREE,
    KEY_SIZE,
    KEY_STREAM,
    KEY_TIME,
    KEY_FRAMES,
    KEY_COMPILE,
    KEY_METADATA,
    KEY_CATEGORY,
    N_KEYS
};

static const tide_pytorch_key KEYS[N_KEYS] = {
    TIDE_PYTORCH_KEY("action"),        TIDE_PYTORCH_KEY("addr"),
    TIDE_PYTORCH_KEY("device_free"),   TIDE_PYTORCH_KEY("size"),
    TIDE_PYTORCH_KEY("stream"),        TIDE_PYTORCH_KEY("time_us"),
    TIDE_PYTORCH_KEY("frames"),        TIDE_PYTORCH_KEY("compile_context"),
    TIDE_PYTORCH_KEY("user_metadata"), TIDE_PYTORCH_KEY("category")};

/* The event that is being read. */
typedef struct event_part {
    tide_pickle_value values[N_KEYS + 1]; /* of the known keys, then that of an unknown key */
    const tide_pytorch_place *at;         /* of its dict */
    tide_event *row;
    tide_pytorch_extra *extra;
} event_part;

/* ---- keys ---- */

static bool has_shape(const tide_pytorch_shape *shape, const tide_pickle_container *dict) {
    if (shape->n_keys == 0 || dict->n_items != 2 * shape->n_keys) {
        return false;
    }
    for (size_t i = 0; i < shape->n_keys; i++) {
        if (dict->items[2 * i] != shape->keys[i]) {
            return false;
        }
    }
    return true;
}

/* The index of a key in KEYS; N_KEYS: unknown. */
static uint8_t place_of(const tide_pytorch_import *in, tide_pickle_value key) {
    uint8_t place = 0;
    while (place < N_KEYS && !tide_pytorch_is(in, key, KEYS[place].text)) {
        place++;
    }
    return place;
}

static void learn_shape(tide_pytorch_import *in, const tide_pickle_container *dict) {
    tide_pytorch_shape *shape = &in->shape;
    shape->n_keys = dict->n_items <= 2 * TIDE_PYTORCH_SHAPE_KEYS ? dict->n_items / 2 : 0;
    for (size_t i = 0; i < shape->n_keys; i++) {
        shape->keys[i] = dict->items[2 * i];
        shape->places[i] = place_of(in, shape->keys[i]);
    }
}

/* Does what tide_pytorch_dict does, which compares the texts of all keys. */
static tide_status read_values(tide_pytorch_import *in, tide_pickle_value value,
                               tide_pytorch_place *at, tide_pickle_value *values) {
    const tide_pytorch_shape *shape = &in->shape;
    if (tide_pickle_kind_of(in->pickle, value) != TIDE_PICKLE_DICT) {
        return tide_pytorch_dict(in, value, at, KEYS, N_KEYS, values);
    }
    const tide_pickle_container *dict = tide_pickle_items(in->pickle, value);
    if (!has_shape(shape, dict)) {
        learn_shape(in, dict);
        return tide_pytorch_dict(in, value, at, KEYS, N_KEYS, values);
    }
    at->offset = dict->offset;
    memset(values, 0, N_KEYS * sizeof(*values));
    for (size_t i = 0; i < shape->n_keys; i++) {
        values[shape->places[i]] = dict->items[2 * i + 1];
    }
    return TIDE_OK;
}

/* ---- values ---- */

static bool is_known_action(const tide_pytorch_import *in, const event_part *of) {
    for (size_t action = 0; action < TIDE_N_ACTIONS; action++) {
        if (in->action_texts[action] != 0 && in->action_texts[action] == of->values[KEY_ACTION]) {
            of->row->action = (uint8_t)action;
            return true;
        }
    }
    return false;
}

/* An action that tidemark does not know becomes a mark with the action as its name. */
static tide_status read_action(tide_pytorch_import *in, const event_part *of) {
    tide_pytorch_place at = {.up = of->at, .key = "action"};
    uint32_t string = 0;
    if (is_known_action(in, of)) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_pytorch_string(in, of->values[KEY_ACTION], &at, &string));
    int action = tide_action_from_name(tide_strings_text(&in->strings, string));
    if (action < 0 || action == TIDE_ACTION_MARK) {
        action = TIDE_ACTION_MARK;
        of->row->name = string;
    } else {
        in->action_texts[action] = of->values[KEY_ACTION];
    }
    of->row->action = (uint8_t)action;
    return TIDE_OK;
}

static tide_status read_bytes(tide_pytorch_import *in, const event_part *of) {
    tide_event *row = of->row;
    int64_t number = 0;
    tide_pytorch_place addr = {.up = of->at, .key = "addr"};
    if (row->action == TIDE_ACTION_MARK) {
        if (tide_pytorch_is(in, of->values[KEY_ACTION], TIDE_PYTORCH_ANNOTATION)) {
            TIDE_TRY(tide_pytorch_integer(in, of->values[KEY_ADDR], &addr, 0,
                                          TIDE_PYTORCH_MAX_ADDRESS, &number));
            row->address = (uint64_t)number;
        }
        return TIDE_OK;
    }
    tide_pytorch_place size = {.up = of->at, .key = "size"};
    TIDE_TRY(
        tide_pytorch_integer(in, of->values[KEY_SIZE], &size, 0, TIDE_PYTORCH_MAX_BYTES, &number));
    row->requested_bytes = (uint64_t)number;
    row->block_bytes = (uint64_t)number; /* of a block: until the walk finds its size */
    if (row->action == TIDE_ACTION_OOM) {
        number = INT64_MAX;
        if (of->values[KEY_DEVICE_FREE] != 0) {
            tide_pytorch_place at = {.up = of->at, .key = "device_free"};
            number = tide_pytorch_odd_integer(in, of->values[KEY_DEVICE_FREE], &at, 0, INT64_MAX,
                                              INT64_MAX);
        }
        row->block_bytes = (uint64_t)(number >= TIDE_PYTORCH_UNLIMITED ? INT64_MAX : number);
        return TIDE_OK;
    }
    TIDE_TRY(tide_pytorch_integer(in, of->values[KEY_ADDR], &addr, 0, TIDE_PYTORCH_MAX_ADDRESS,
                                  &number));
    row->address = (uint64_t)number;
    return TIDE_OK;
}

static tide_status read_time(tide_pytorch_import *in, const event_part *of) {
    if (of->values[KEY_TIME] == 0) {
        return TIDE_OK;
    }
    tide_pytorch_place at = {.up = of->at, .key = "time_us"};
    in->has_times = true;
    return tide_pytorch_integer(in, of->values[KEY_TIME], &at, 0, MAX_TIME_US, &of->row->time_ns);
}

/* PyTorch writes texts here; any other value becomes the name of its kind. TIDE_NONE for "" and
 * None. */
static tide_status read_text(tide_pytorch_import *in, const event_part *of, int key,
                             const char *name, uint32_t *ret_string) {
    tide_pickle_value value = of->values[key];
    tide_pickle_kind kind = tide_pickle_kind_of(in->pickle, value);
    *ret_string = TIDE_NONE;
    if (kind == TIDE_PICKLE_NOTHING || kind == TIDE_PICKLE_NONE) {
        return TIDE_OK;
    }
    tide_pytorch_place at = {.up = of->at, .key = name};
    uint32_t string = 0;
    if (kind == TIDE_PICKLE_TEXT) {
        TIDE_TRY(tide_pytorch_string(in, value, &at, &string));
    } else {
        TIDE_TRY(tide_strings_intern(&in->strings, tide_pickle_kind_name(kind), &string));
    }
    if (tide_strings_text(&in->strings, string)[0] != '\0') {
        *ret_string = string;
    }
    return TIDE_OK;
}

/* Splits "NAME @ REST", which the export writes, into a tensor's name and the rest. */
static tide_status split_metadata(tide_pytorch_import *in, uint32_t *metadata, uint32_t *name) {
    const char *text = tide_strings_text(&in->strings, *metadata);
    const char *cut = text != NULL ? strstr(text, TIDE_PYTORCH_AT) : NULL;
    if (cut == NULL) {
        return TIDE_OK;
    }
    const char *rest = cut + strlen(TIDE_PYTORCH_AT);
    size_t n_name = (size_t)(cut - text);
    bool has_rest = rest[0] != '\0';
    /* `text` stays valid: interning never moves texts. */
    if (n_name > 0) {
        TIDE_TRY(tide_strings_intern_n(&in->strings, text, n_name, name));
    }
    *metadata = TIDE_NONE;
    return has_rest ? tide_strings_intern(&in->strings, rest, metadata) : TIDE_OK;
}

static tide_status read_texts(tide_pytorch_import *in, const event_part *of) {
    TIDE_TRY(read_text(in, of, KEY_COMPILE, "compile_context", &of->extra->compile));
    const char *compile = tide_strings_text(&in->strings, of->extra->compile);
    if (compile != NULL && strcmp(compile, "N/A") == 0) {
        of->extra->compile = TIDE_NONE;
    }
    TIDE_TRY(read_text(in, of, KEY_METADATA, "user_metadata", &of->extra->metadata));
    if (of->row->action == TIDE_ACTION_MARK) {
        if (of->extra->metadata != TIDE_NONE) {
            of->row->name = of->extra->metadata;
            of->extra->metadata = TIDE_NONE;
        }
    } else {
        TIDE_TRY(split_metadata(in, &of->extra->metadata, &of->row->name));
    }
    if (of->values[KEY_CATEGORY] != 0) {
        tide_pytorch_place at = {.up = of->at, .key = "category"};
        uint32_t string = 0;
        if (tide_pickle_kind_of(in->pickle, of->values[KEY_CATEGORY]) != TIDE_PICKLE_TEXT) {
            tide_pytorch_odd(in, &at);
            return TIDE_OK; /* TIDE_UNKNOWN */
        }
        TIDE_TRY(tide_pytorch_string(in, of->values[KEY_CATEGORY], &at, &string));
        tide_error reason = {.message = ""};
        tide_status status = tide_category_list_number(
            &in->categories, tide_strings_text(&in->strings, string), &of->row->category, &reason);
        if (status != TIDE_OK) {
            return tide_pytorch_fail(in, &at, status, "%s", reason.message);
        }
    }
    return TIDE_OK;
}

static tide_status read_event(tide_pytorch_import *in, size_t device, tide_pickle_value value,
                              tide_pytorch_place *at, size_t row) {
    event_part of = {.at = at, .row = &in->rows[row], .extra = &in->extras[row]};
    TIDE_TRY(read_values(in, value, at, of.values));
    *of.row = (tide_event){
        .stack = TIDE_NONE, .scope = TIDE_NONE, .name = TIDE_NONE, .device = (uint8_t)device};
    TIDE_TRY(read_action(in, &of));
    TIDE_TRY(read_bytes(in, &of));
    TIDE_TRY(read_time(in, &of));
    TIDE_TRY(read_texts(in, &of));
    TIDE_TRY(tide_pytorch_stream(in, device, of.values[KEY_STREAM], at, &of.row->stream));
    return tide_pytorch_stack(in, of.values[KEY_FRAMES], at, &of.row->stack);
}

/* ---- rows ---- */

/* A free that was requested and completed without another event in between becomes one row. */
static bool is_one_free(const tide_pytorch_import *in, size_t requested, size_t completed) {
    const tide_event *a = &in->rows[requested];
    const tide_event *b = &in->rows[completed];
    const tide_pytorch_extra *x = &in->extras[requested];
    const tide_pytorch_extra *y = &in->extras[completed];
    return a->action == TIDE_ACTION_FREE_REQUESTED && b->action == TIDE_ACTION_FREE_COMPLETED &&
           a->address == b->address && a->requested_bytes == b->requested_bytes &&
           a->stream == b->stream && a->stack == b->stack && a->name == b->name &&
           x->compile == y->compile && x->metadata == y->metadata;
}

static tide_status reserve(tide_pytorch_import *in, size_t n_rows) {
    tide_event *rows =
        tide_hostmem_grow(in->mem, in->rows, &in->row_capacity, n_rows, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    in->rows = rows;
    tide_pytorch_extra *extras =
        tide_hostmem_grow(in->mem, in->extras, &in->extra_capacity, n_rows, sizeof(*extras));
    if (extras == NULL) {
        return TIDE_NO_MEMORY;
    }
    in->extras = extras;
    return TIDE_OK;
}

tide_status tide_pytorch_add_events(tide_pytorch_import *in, const tide_pickle_value *items,
                                    size_t n_items, size_t first, tide_pytorch_place *at) {
    TIDE_TRY(tide_pytorch_count(in, n_items, at));
    TIDE_TRY(reserve(in, in->n_rows + n_items));
    tide_pickle_allow(in->pickle, (uint64_t)n_items * TIDE_PYTORCH_ROW_VALUES);
    in->n_events += n_items;
    for (size_t i = 0; i < n_items; i++) {
        tide_pytorch_place item = {.up = at, .index = first + i};
        size_t row = in->n_rows;
        TIDE_TRY(read_event(in, in->device, items[i], &item, row));
        if (row > in->first_row[in->device] && is_one_free(in, row - 1, row)) {
            in->rows[row - 1].action = TIDE_ACTION_FREE;
        } else {
            in->n_rows = row + 1;
        }
    }
    return TIDE_OK;
}

bool tide_pytorch_go_to_device(tide_pytorch_import *in, size_t device) {
    if (device < in->device) {
        return false;
    }
    while (in->device < device) {
        in->first_row[++in->device] = in->n_rows;
    }
    return true;
}

/* Reads the events of a trace that were not taken during the reading of the file. */
static tide_status read_trace(tide_pytorch_import *in, size_t device, tide_pickle_value value,
                              tide_pytorch_place *at) {
    const tide_pickle_container *trace = NULL;
    bool is_taken = in->traces[device] != 0 && in->traces[device] == value;
    if (is_taken) {
        trace = tide_pickle_items(in->pickle, value);
        at->offset = trace->offset;
        in->n_traces--;
    } else {
        TIDE_TRY(tide_pytorch_list(in, value, at, &trace));
    }
    if (trace->n_items > 0 && !tide_pytorch_go_to_device(in, device)) {
        return tide_pytorch_fail(in, at, TIDE_UNSUPPORTED,
                                 "these events were written after those of a later device");
    }
    return tide_pytorch_add_events(in, trace->items, trace->n_items,
                                   is_taken ? in->n_taken_events[device] : 0, at);
}

tide_status tide_pytorch_read_traces(tide_pytorch_import *in, tide_pickle_value value) {
    const tide_pickle_container *traces = NULL;
    tide_pytorch_place at = {.key = "device_traces"};
    size_t n_traces = 0;
    if (value != 0) { /* the first releases wrote none */
        TIDE_TRY(tide_pytorch_list(in, value, &at, &traces));
        n_traces = traces->n_items;
    }
    if (n_traces > TIDE_PYTORCH_MAX_DEVICES) {
        return tide_pytorch_fail(in, &at, TIDE_LIMIT, "%zu devices, the limit is %d", n_traces,
                                 TIDE_PYTORCH_MAX_DEVICES);
    }
    in->n_devices = n_traces > in->n_devices ? n_traces : in->n_devices;
    for (size_t i = 0; i < n_traces; i++) {
        tide_pytorch_place item = {.up = &at, .index = i};
        TIDE_TRY(read_trace(in, i, traces->items[i], &item));
    }
    if (in->n_traces > 0) {
        return tide_pytorch_fail(in, &at, TIDE_FORMAT,
                                 "events stand in a part of the file where no snapshot has them");
    }
    (void)tide_pytorch_go_to_device(in, in->n_devices);
    in->first_row[in->n_devices] = in->n_rows;
    return TIDE_OK;
}
