/* Reads JSON into the tree that a pickle of the same data would make. The machine gets the values
 * in the order of a pickle, the items of a list a thousand at a time, so the rest of the import
 * does not depend on the format. */
#include <string.h>

#include "snapshot/format/json_friend.h"
#include "snapshot/pytorch/pickle_internal.h"

enum { BATCH = 1000 }; /* items of a list, or keys of a dict with their values, per batch */

typedef struct translator {
    tide_json json;
    tide_pickle_machine machine;
    char *buffer; /* owned: the current text */
    size_t buffer_capacity;
} translator;

/* The combined status of the parser and the machine. */
static tide_status both(const translator *t, tide_status status) {
    return status != TIDE_OK ? status : tide_json_status(&t->json);
}

static tide_status run(translator *t, char opcode) {
    return tide_pickle_opcodes[(unsigned char)opcode].run(&t->machine);
}

static tide_status push_text(translator *t, size_t at, size_t size) {
    const tide_hostmem *mem = t->machine.pickle->mem;
    size_t n_bytes = 0;
    char *buffer = tide_hostmem_grow(mem, t->buffer, &t->buffer_capacity, size + 1, 1);
    if (buffer == NULL) {
        return TIDE_NO_MEMORY;
    }
    t->buffer = buffer;
    bool good = tide_json_unescape(&t->json, at, size, buffer, &n_bytes);
    t->json.keep = SIZE_MAX;
    return good ? tide_pickle_push_text(&t->machine, TIDE_PICKLE_TAG_TEXT, buffer, n_bytes)
                : tide_json_status(&t->json);
}

/* Integers of any size are allowed, as in Python. */
static tide_status push_number(translator *t) {
    int64_t value = 0;
    if (tide_json_take_integer(&t->json, &value)) {
        return tide_pickle_push_integer(&t->machine, value);
    }
    size_t size = tide_json_number_size(&t->json);
    const char *number = tide_json_bytes(&t->json, t->json.at);
    bool is_integer = size > 0;
    for (size_t i = 0; i < size; i++) {
        is_integer = is_integer && (number[i] == '-' || (number[i] >= '0' && number[i] <= '9'));
    }
    if (is_integer) {
        t->json.at += size;
        return tide_pickle_push(&t->machine, TIDE_PICKLE_VALUE_HUGE);
    }
    double real = tide_json_get_real(&t->json);
    return both(t, TIDE_OK) == TIDE_OK ? tide_pickle_push_real(&t->machine, real)
                                       : both(t, TIDE_OK);
}

/* Begins a container, or pushes any other value. */
static tide_status push_value(translator *t) {
    tide_json *json = &t->json;
    size_t at = 0;
    size_t size = 0;
    tide_json_kind kind = tide_json_peek(json);
    t->machine.opcode_at = json->at;
    switch (kind) {
    case TIDE_JSON_ARRAY:
    case TIDE_JSON_OBJECT:
        if (kind == TIDE_JSON_ARRAY) {
            tide_json_enter_array(json);
        } else {
            tide_json_enter_object(json);
        }
        TIDE_TRY(both(t, TIDE_OK));
        TIDE_TRY(run(t, kind == TIDE_JSON_ARRAY ? ']' : '}'));
        return run(t, '(');
    case TIDE_JSON_STRING:
        return tide_json_take_raw_text(json, &at, &size) ? push_text(t, at, size)
                                                         : both(t, TIDE_OK);
    case TIDE_JSON_NUMBER:
        return push_number(t);
    case TIDE_JSON_BOOLEAN:
        return both(t, tide_pickle_push(&t->machine, tide_json_get_boolean(json)
                                                         ? TIDE_PICKLE_VALUE_TRUE
                                                         : TIDE_PICKLE_VALUE_FALSE));
    default:
        tide_json_skip(json); /* null, or not a value: then it fails with a message */
        return both(t, tide_pickle_push(&t->machine, TIDE_PICKLE_VALUE_NONE));
    }
}

/* Moves the values above the last mark into the container below it. */
static tide_status fill(translator *t, bool is_list, bool goes_on) {
    TIDE_TRY(run(t, is_list ? 'e' : 'u'));
    return goes_on ? run(t, '(') : TIDE_OK;
}

/* The next item of the innermost container, or its end. */
static tide_status step(translator *t) {
    tide_json *json = &t->json;
    const tide_json_level *level = &json->levels[json->n_levels - 1];
    tide_pickle_machine *m = &t->machine;
    bool is_list = level->is_array;
    m->at = json->at;
    m->pickle->n_read = json->at;
    if (!(is_list ? tide_json_next_item(json) : tide_json_take_key(json))) {
        TIDE_TRY(both(t, TIDE_OK));
        return fill(t, is_list, false);
    }
    if (m->stack.n - m->marks[m->n_marks - 1] >= (is_list ? BATCH : 2 * BATCH)) {
        TIDE_TRY(fill(t, is_list, true));
    }
    if (!is_list) {
        TIDE_TRY(push_text(t, level->key_at, level->key_size));
    }
    return push_value(t);
}

static tide_status translate(translator *t) {
    TIDE_TRY(push_value(t));
    while (t->json.n_levels > 0) {
        TIDE_TRY(step(t));
    }
    tide_json_expect_end(&t->json);
    TIDE_TRY(both(t, TIDE_OK));
    t->machine.pickle->n_read = t->json.at;
    return tide_pickle_pop(&t->machine, &t->machine.pickle->root);
}

tide_status tide_pickle_read_json(tide_pickle *pickle, const tide_source *source,
                                  const tide_pickle_taker *taker, tide_error *error) {
    const tide_hostmem *mem = pickle->mem;
    translator *t = tide_hostmem_zeroed(mem, 1, sizeof(*t));
    if (t == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_json_open(&t->json, source, mem, error);
    t->machine = (tide_pickle_machine){.pickle = pickle, .taker = taker, .error = error};
    tide_status status = translate(t);
    tide_json_close(&t->json);
    mem->release(mem->ctx, t->machine.stack.values);
    mem->release(mem->ctx, t->buffer);
    mem->release(mem->ctx, t);
    return status;
}
