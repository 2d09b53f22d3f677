/* The opcodes of a pickle: what each does, or why it is refused. */
#include <string.h>

#include "snapshot/pytorch/pickle_internal.h"

enum { MIN_PROTOCOL = 2, MAX_PROTOCOL = 5 };

/* An unsigned little-endian number of n_bytes <= 8. */
static inline tide_status take_number(tide_pickle_machine *m, size_t n_bytes,
                                      uint64_t *ret_number) {
    const unsigned char *data = NULL;
    TIDE_TRY(tide_pickle_take(m, n_bytes, &data));
    uint64_t number = 0;
    for (size_t i = n_bytes; i > 0; i--) {
        number = number << 8 | data[i - 1];
    }
    *ret_number = number;
    return TIDE_OK;
}

static tide_status run_proto(tide_pickle_machine *m) {
    uint64_t protocol = 0;
    TIDE_TRY(take_number(m, 1, &protocol));
    if (m->opcode_at != 0) {
        return tide_pickle_fail(m, TIDE_FORMAT, "it may stand at the beginning only");
    }
    if (protocol < MIN_PROTOCOL || protocol > MAX_PROTOCOL) {
        return tide_pickle_fail(m, TIDE_UNSUPPORTED, "protocol %u: 2 to 5 are read",
                                (unsigned)protocol);
    }
    return TIDE_OK;
}

static tide_status run_frame(tide_pickle_machine *m) {
    uint64_t n_bytes = 0;
    TIDE_TRY(take_number(m, 8, &n_bytes));
    uint64_t n_left = UINT64_MAX - m->at;
    uint64_t end = m->at + (n_bytes < n_left ? n_bytes : n_left);
    m->frame_end = end > m->frame_end ? end : m->frame_end;
    return TIDE_OK; /* a hint for readers of streams: nothing is allocated for it */
}

static tide_status run_stop(tide_pickle_machine *m) {
    tide_pickle_value root = 0;
    TIDE_TRY(tide_pickle_pop(m, &root));
    if (m->stack.n != 0 || m->n_marks != 0) {
        return tide_pickle_fail(m, TIDE_FORMAT, "%zu values and %zu marks are left over",
                                m->stack.n, m->n_marks);
    }
    m->pickle->root = root;
    m->done = true;
    return TIDE_OK;
}

static tide_status run_none(tide_pickle_machine *m) {
    return tide_pickle_push(m, TIDE_PICKLE_VALUE_NONE);
}

static tide_status run_true(tide_pickle_machine *m) {
    return tide_pickle_push(m, TIDE_PICKLE_VALUE_TRUE);
}

static tide_status run_false(tide_pickle_machine *m) {
    return tide_pickle_push(m, TIDE_PICKLE_VALUE_FALSE);
}

static tide_status push_unsigned(tide_pickle_machine *m, size_t n_bytes) {
    uint64_t number = 0;
    TIDE_TRY(take_number(m, n_bytes, &number));
    return tide_pickle_push_integer(m, (int64_t)number);
}

static tide_status run_binint1(tide_pickle_machine *m) {
    return push_unsigned(m, 1);
}

static tide_status run_binint2(tide_pickle_machine *m) {
    return push_unsigned(m, 2);
}

static tide_status run_binint(tide_pickle_machine *m) {
    uint64_t number = 0;
    TIDE_TRY(take_number(m, 4, &number));
    return tide_pickle_push_integer(m, (int32_t)(uint32_t)number);
}

/* Two's complement, little-endian, of any length. */
static tide_status push_long(tide_pickle_machine *m, uint64_t n_bytes) {
    const unsigned char *data = NULL;
    if (n_bytes > TIDE_PICKLE_TEXT_BYTES) {
        return tide_pickle_fail(m, TIDE_LIMIT, "an integer of %llu bytes, the limit is %d",
                                (unsigned long long)n_bytes, TIDE_PICKLE_TEXT_BYTES);
    }
    TIDE_TRY(tide_pickle_take(m, (size_t)n_bytes, &data));
    if (n_bytes == 0) {
        return tide_pickle_push_integer(m, 0);
    }
    bool negative = (data[n_bytes - 1] & 0x80) != 0;
    unsigned char filling = negative ? 0xFF : 0;
    uint64_t number = negative ? UINT64_MAX : 0;
    for (size_t i = (size_t)n_bytes; i > 0; i--) {
        if (i > 8 && data[i - 1] != filling) {
            return tide_pickle_push(m, TIDE_PICKLE_VALUE_HUGE);
        }
        number = number << 8 | data[i - 1];
    }
    if (n_bytes > 8 && (number >> 63 != 0) != negative) {
        return tide_pickle_push(m, TIDE_PICKLE_VALUE_HUGE);
    }
    return tide_pickle_push_integer(m, (int64_t)number);
}

static tide_status run_long1(tide_pickle_machine *m) {
    uint64_t n_bytes = 0;
    TIDE_TRY(take_number(m, 1, &n_bytes));
    return push_long(m, n_bytes);
}

static tide_status run_long4(tide_pickle_machine *m) {
    uint64_t n_bytes = 0;
    TIDE_TRY(take_number(m, 4, &n_bytes));
    if (n_bytes > INT32_MAX) {
        return tide_pickle_fail(m, TIDE_FORMAT, "an integer of a negative number of bytes");
    }
    return push_long(m, n_bytes);
}

static tide_status run_binfloat(tide_pickle_machine *m) {
    const unsigned char *data = NULL;
    TIDE_TRY(tide_pickle_take(m, 8, &data));
    uint64_t bits = 0;
    for (size_t i = 0; i < 8; i++) {
        bits = bits << 8 | data[i];
    }
    double value = 0.0;
    memcpy(&value, &bits, sizeof(value));
    return tide_pickle_push_real(m, value);
}

static tide_status push_run(tide_pickle_machine *m, size_t n_length, int tag) {
    uint64_t n_bytes = 0;
    TIDE_TRY(take_number(m, n_length, &n_bytes));
    if (n_bytes > TIDE_PICKLE_TEXT_BYTES) {
        return tide_pickle_fail(m, TIDE_LIMIT, "%llu bytes, the limit is %d",
                                (unsigned long long)n_bytes, TIDE_PICKLE_TEXT_BYTES);
    }
    const unsigned char *data = NULL;
    TIDE_TRY(tide_pickle_take(m, (size_t)n_bytes, &data));
    return tide_pickle_push_text(m, tag, (const char *)data, (size_t)n_bytes);
}

static tide_status run_text1(tide_pickle_machine *m) {
    return push_run(m, 1, TIDE_PICKLE_TAG_TEXT);
}

static tide_status run_text4(tide_pickle_machine *m) {
    return push_run(m, 4, TIDE_PICKLE_TAG_TEXT);
}

static tide_status run_text8(tide_pickle_machine *m) {
    return push_run(m, 8, TIDE_PICKLE_TAG_TEXT);
}

static tide_status run_bytes1(tide_pickle_machine *m) {
    return push_run(m, 1, TIDE_PICKLE_TAG_BYTES);
}

static tide_status run_bytes4(tide_pickle_machine *m) {
    return push_run(m, 4, TIDE_PICKLE_TAG_BYTES);
}

static tide_status run_bytes8(tide_pickle_machine *m) {
    return push_run(m, 8, TIDE_PICKLE_TAG_BYTES);
}

static tide_status run_empty_list(tide_pickle_machine *m) {
    return tide_pickle_push_container(m, TIDE_PICKLE_LIST);
}

static tide_status run_empty_tuple(tide_pickle_machine *m) {
    return tide_pickle_push_container(m, TIDE_PICKLE_TUPLE);
}

static tide_status run_empty_dict(tide_pickle_machine *m) {
    return tide_pickle_push_container(m, TIDE_PICKLE_DICT);
}

static tide_status run_mark(tide_pickle_machine *m) {
    if (m->n_marks == TIDE_PICKLE_DEPTH) {
        return tide_pickle_fail(m, TIDE_LIMIT, "more than the limit of %d marks at once",
                                TIDE_PICKLE_DEPTH);
    }
    bool is_done = false;
    TIDE_TRY(tide_pickle_repeat(m, &is_done));
    if (!is_done) {
        m->marks[m->n_marks++] = m->stack.n;
    }
    return TIDE_OK;
}

/* Replaces the values from `base` on by a container with them. */
static tide_status gather(tide_pickle_machine *m, size_t base, tide_pickle_kind kind) {
    if (kind == TIDE_PICKLE_DICT && (m->stack.n - base) % 2 != 0) {
        return tide_pickle_fail(m, TIDE_FORMAT, "a key without a value");
    }
    TIDE_TRY(tide_pickle_push_container(m, kind));
    tide_pickle_value made = m->stack.values[--m->stack.n];
    TIDE_TRY(tide_pickle_append(m, made, base));
    return tide_pickle_push(m, made);
}

static tide_status gather_marked(tide_pickle_machine *m, tide_pickle_kind kind) {
    size_t base = 0;
    TIDE_TRY(tide_pickle_pop_mark(m, &base));
    return gather(m, base, kind);
}

static tide_status run_list(tide_pickle_machine *m) {
    return gather_marked(m, TIDE_PICKLE_LIST);
}

static tide_status run_tuple(tide_pickle_machine *m) {
    return gather_marked(m, TIDE_PICKLE_TUPLE);
}

static tide_status run_dict(tide_pickle_machine *m) {
    return gather_marked(m, TIDE_PICKLE_DICT);
}

/* Checks that the last n values are above the last mark: an opcode must not use values of an outer
 * container. */
static tide_status last_values(tide_pickle_machine *m, size_t n, size_t *ret_base) {
    size_t bottom = m->n_marks > 0 ? m->marks[m->n_marks - 1] : 0;
    if (m->stack.n - bottom < n) {
        return tide_pickle_fail(m, TIDE_FORMAT, "the stack has too few values for it");
    }
    *ret_base = m->stack.n - n;
    return TIDE_OK;
}

static tide_status gather_last(tide_pickle_machine *m, size_t n) {
    size_t base = 0;
    TIDE_TRY(last_values(m, n, &base));
    return gather(m, base, TIDE_PICKLE_TUPLE);
}

static tide_status run_tuple1(tide_pickle_machine *m) {
    return gather_last(m, 1);
}

static tide_status run_tuple2(tide_pickle_machine *m) {
    return gather_last(m, 2);
}

static tide_status run_tuple3(tide_pickle_machine *m) {
    return gather_last(m, 3);
}

/* Moves the values from `base` on into the container below them. */
static tide_status append_below(tide_pickle_machine *m, size_t base, tide_pickle_kind kind) {
    size_t bottom = m->n_marks > 0 ? m->marks[m->n_marks - 1] : 0;
    tide_pickle_value to = base > bottom ? m->stack.values[base - 1] : 0;
    tide_pickle_kind is = tide_pickle_kind_of(m->pickle, to);
    if (is != kind) {
        return tide_pickle_fail(m, TIDE_FORMAT, "it needs %s, not %s", tide_pickle_kind_name(kind),
                                tide_pickle_kind_name(is));
    }
    if (kind == TIDE_PICKLE_DICT && (m->stack.n - base) % 2 != 0) {
        return tide_pickle_fail(m, TIDE_FORMAT, "a key without a value");
    }
    if (kind == TIDE_PICKLE_LIST && m->taker != NULL && m->stack.n > base) {
        bool taken = false;
        TIDE_TRY(tide_pickle_offer(m, base, &taken));
        if (taken) {
            m->pickle->containers[to >> TIDE_PICKLE_TAG_BITS].is_taken = true;
            return TIDE_OK;
        }
    }
    return tide_pickle_append(m, to, base);
}

static tide_status run_append(tide_pickle_machine *m) {
    size_t base = 0;
    TIDE_TRY(last_values(m, 2, &base));
    return append_below(m, base + 1, TIDE_PICKLE_LIST);
}

static tide_status run_appends(tide_pickle_machine *m) {
    size_t base = 0;
    TIDE_TRY(tide_pickle_pop_mark(m, &base));
    return append_below(m, base, TIDE_PICKLE_LIST);
}

static tide_status run_setitem(tide_pickle_machine *m) {
    size_t base = 0;
    TIDE_TRY(last_values(m, 3, &base));
    return append_below(m, base + 1, TIDE_PICKLE_DICT);
}

static tide_status run_setitems(tide_pickle_machine *m) {
    size_t base = 0;
    TIDE_TRY(tide_pickle_pop_mark(m, &base));
    return append_below(m, base, TIDE_PICKLE_DICT);
}

static tide_status run_memoize(tide_pickle_machine *m) {
    return tide_pickle_memo_put(m, m->n_memo);
}

static tide_status run_binput(tide_pickle_machine *m) {
    uint64_t number = 0;
    TIDE_TRY(take_number(m, 1, &number));
    return tide_pickle_memo_put(m, (size_t)number);
}

static tide_status run_long_binput(tide_pickle_machine *m) {
    uint64_t number = 0;
    TIDE_TRY(take_number(m, 4, &number));
    return tide_pickle_memo_put(m, (size_t)number);
}

static tide_status run_binget(tide_pickle_machine *m) {
    uint64_t number = 0;
    TIDE_TRY(take_number(m, 1, &number));
    return tide_pickle_memo_get(m, (size_t)number);
}

static tide_status run_long_binget(tide_pickle_machine *m) {
    uint64_t number = 0;
    TIDE_TRY(take_number(m, 4, &number));
    return tide_pickle_memo_get(m, (size_t)number);
}

static tide_status run_pop(tide_pickle_machine *m) {
    tide_pickle_value value = 0;
    return tide_pickle_pop(m, &value);
}

static tide_status run_pop_mark(tide_pickle_machine *m) {
    return tide_pickle_pop_mark(m, &m->stack.n);
}

static tide_status run_dup(tide_pickle_machine *m) {
    tide_pickle_value value = 0;
    TIDE_TRY(tide_pickle_top(m, &value));
    tide_pickle_share(m, value);
    return tide_pickle_push(m, value);
}

#define NAMES_A_GLOBAL "names code to be imported"
#define CALLS "calls code"
#define REFERS_OUTSIDE "refers to an object outside the file"
#define IS_OF_OLD "belongs to protocols 0 and 1"
#define MAKES_A_SET "makes a set"

const tide_pickle_opcode tide_pickle_opcodes[256] = {
    ['('] = {"MARK", run_mark, NULL},
    ['.'] = {"STOP", run_stop, NULL},
    ['0'] = {"POP", run_pop, NULL},
    ['1'] = {"POP_MARK", run_pop_mark, NULL},
    ['2'] = {"DUP", run_dup, NULL},
    ['F'] = {"FLOAT", NULL, IS_OF_OLD},
    ['I'] = {"INT", NULL, IS_OF_OLD},
    ['J'] = {"BININT", run_binint, NULL},
    ['K'] = {"BININT1", run_binint1, NULL},
    ['L'] = {"LONG", NULL, IS_OF_OLD},
    ['M'] = {"BININT2", run_binint2, NULL},
    ['N'] = {"NONE", run_none, NULL},
    ['P'] = {"PERSID", NULL, REFERS_OUTSIDE},
    ['Q'] = {"BINPERSID", NULL, REFERS_OUTSIDE},
    ['R'] = {"REDUCE", NULL, CALLS},
    ['S'] = {"STRING", NULL, IS_OF_OLD},
    ['T'] = {"BINSTRING", run_text4, NULL},
    ['U'] = {"SHORT_BINSTRING", run_text1, NULL},
    ['V'] = {"UNICODE", NULL, IS_OF_OLD},
    ['X'] = {"BINUNICODE", run_text4, NULL},
    ['a'] = {"APPEND", run_append, NULL},
    ['b'] = {"BUILD", NULL, "builds an object"},
    ['c'] = {"GLOBAL", NULL, NAMES_A_GLOBAL},
    ['d'] = {"DICT", run_dict, NULL},
    ['}'] = {"EMPTY_DICT", run_empty_dict, NULL},
    ['e'] = {"APPENDS", run_appends, NULL},
    ['g'] = {"GET", NULL, IS_OF_OLD},
    ['h'] = {"BINGET", run_binget, NULL},
    ['i'] = {"INST", NULL, CALLS},
    ['j'] = {"LONG_BINGET", run_long_binget, NULL},
    ['l'] = {"LIST", run_list, NULL},
    [']'] = {"EMPTY_LIST", run_empty_list, NULL},
    ['o'] = {"OBJ", NULL, CALLS},
    ['p'] = {"PUT", NULL, IS_OF_OLD},
    ['q'] = {"BINPUT", run_binput, NULL},
    ['r'] = {"LONG_BINPUT", run_long_binput, NULL},
    ['s'] = {"SETITEM", run_setitem, NULL},
    ['t'] = {"TUPLE", run_tuple, NULL},
    [')'] = {"EMPTY_TUPLE", run_empty_tuple, NULL},
    ['u'] = {"SETITEMS", run_setitems, NULL},
    ['G'] = {"BINFLOAT", run_binfloat, NULL},
    [0x80] = {"PROTO", run_proto, NULL},
    [0x81] = {"NEWOBJ", NULL, CALLS},
    [0x82] = {"EXT1", NULL, NAMES_A_GLOBAL},
    [0x83] = {"EXT2", NULL, NAMES_A_GLOBAL},
    [0x84] = {"EXT4", NULL, NAMES_A_GLOBAL},
    [0x85] = {"TUPLE1", run_tuple1, NULL},
    [0x86] = {"TUPLE2", run_tuple2, NULL},
    [0x87] = {"TUPLE3", run_tuple3, NULL},
    [0x88] = {"NEWTRUE", run_true, NULL},
    [0x89] = {"NEWFALSE", run_false, NULL},
    [0x8a] = {"LONG1", run_long1, NULL},
    [0x8b] = {"LONG4", run_long4, NULL},
    ['B'] = {"BINBYTES", run_bytes4, NULL},
    ['C'] = {"SHORT_BINBYTES", run_bytes1, NULL},
    [0x8c] = {"SHORT_BINUNICODE", run_text1, NULL},
    [0x8d] = {"BINUNICODE8", run_text8, NULL},
    [0x8e] = {"BINBYTES8", run_bytes8, NULL},
    [0x8f] = {"EMPTY_SET", NULL, MAKES_A_SET},
    [0x90] = {"ADDITEMS", NULL, MAKES_A_SET},
    [0x91] = {"FROZENSET", NULL, MAKES_A_SET},
    [0x92] = {"NEWOBJ_EX", NULL, CALLS},
    [0x93] = {"STACK_GLOBAL", NULL, NAMES_A_GLOBAL},
    [0x94] = {"MEMOIZE", run_memoize, NULL},
    [0x95] = {"FRAME", run_frame, NULL},
    [0x96] = {"BYTEARRAY8", run_bytes8, NULL},
    [0x97] = {"NEXT_BUFFER", NULL, REFERS_OUTSIDE},
    [0x98] = {"READONLY_BUFFER", NULL, REFERS_OUTSIDE},
};
