/* pickle_internal.h - the machine that builds a pickle's tree, and its table of opcodes.
 */
#ifndef TIDE_SNAPSHOT_PYTORCH_PICKLE_INTERNAL_H
#define TIDE_SNAPSHOT_PYTORCH_PICKLE_INTERNAL_H

#include "snapshot/pytorch/pickle.h"

/* The low bits of a value are the tag, which defines the others. */
enum {
    TIDE_PICKLE_TAG_BITS = 3,
    TIDE_PICKLE_TAG_SPECIAL = 0, /* one of the constants below */
    TIDE_PICKLE_TAG_SMALL,       /* an integer of 61 bits */
    TIDE_PICKLE_TAG_LARGE,       /* index of an integer in numbers */
    TIDE_PICKLE_TAG_REAL,        /* index of a double's bits in numbers */
    TIDE_PICKLE_TAG_TEXT,        /* index in texts */
    TIDE_PICKLE_TAG_BYTES,       /* the same */
    TIDE_PICKLE_TAG_CONTAINER    /* index */
};

#define TIDE_PICKLE_TAG(value) ((int)((value) & ((1U << TIDE_PICKLE_TAG_BITS) - 1)))
#define TIDE_PICKLE_MAKE(tag, payload) ((uint64_t)(payload) << TIDE_PICKLE_TAG_BITS | (tag))

static const tide_pickle_value TIDE_PICKLE_VALUE_NONE = 1U << TIDE_PICKLE_TAG_BITS;
static const tide_pickle_value TIDE_PICKLE_VALUE_FALSE = 2U << TIDE_PICKLE_TAG_BITS;
static const tide_pickle_value TIDE_PICKLE_VALUE_TRUE = 3U << TIDE_PICKLE_TAG_BITS;
static const tide_pickle_value TIDE_PICKLE_VALUE_HUGE = 4U << TIDE_PICKLE_TAG_BITS;

/* Values in a growing array. */
typedef struct tide_pickle_array {
    tide_pickle_value *values; /* owned */
    size_t n;
    size_t capacity;
} tide_pickle_array;

typedef struct tide_pickle_machine {
    tide_pickle *pickle;             /* borrowed; filled */
    const tide_pickle_taker *taker;  /* borrowed; may be NULL */
    tide_window window;              /* the current bytes; unused for JSON */
    size_t at;                       /* offset of the next byte */
    uint64_t frame_end;              /* end offset of the frames announced so far */
    size_t opcode_at;                /* of the current opcode */
    const char *opcode_name;         /* of the current opcode; NULL for JSON */
    tide_pickle_array stack;         /* of values */
    tide_pickle_array memo;          /* by number; 0: not set */
    size_t n_memo;                   /* highest number + 1 */
    size_t marks[TIDE_PICKLE_DEPTH]; /* heights of the stack */
    size_t n_marks;
    size_t last_text;   /* row of the last text */
    size_t last_run;    /* row of the last run (pickle_runs.c) */
    bool memo_is_final; /* no memo number was set twice */
    bool done;          /* STOP was read */
    tide_error *error;  /* borrowed; may be NULL */
} tide_pickle_machine;

typedef struct tide_pickle_opcode {
    const char *name;                                 /* Python's; NULL: no such opcode */
    tide_status (*run)(tide_pickle_machine *machine); /* NULL: refused */
    const char *does;                                 /* why it is refused; else NULL */
} tide_pickle_opcode;

/* 256 entries. */
extern const tide_pickle_opcode tide_pickle_opcodes[];

/* "byte 12, opcode NAME: ..." */
TIDE_PRINTF(3, 4)
tide_status tide_pickle_fail(const tide_pickle_machine *machine, tide_status status,
                             const char *format, ...);

/* Slow paths. Most opcodes need only the inline versions below. */
TIDE_NODISCARD tide_status tide_pickle_take_more(tide_pickle_machine *machine, size_t n_bytes,
                                                 const unsigned char **ret_data);
TIDE_NODISCARD tide_status tide_pickle_push_more(tide_pickle_machine *machine,
                                                 tide_pickle_value value);

/* The next n_bytes of the pickle; TIDE_FORMAT if it ends before. */
TIDE_NODISCARD static inline tide_status
tide_pickle_take(tide_pickle_machine *machine, size_t n_bytes, const unsigned char **ret_data) {
    const tide_window *window = &machine->window;
    if (window->end - machine->at < n_bytes) {
        return tide_pickle_take_more(machine, n_bytes, ret_data);
    }
    *ret_data = (const unsigned char *)window->bytes + (machine->at - window->begin);
    machine->at += n_bytes;
    return TIDE_OK;
}

TIDE_NODISCARD static inline tide_status tide_pickle_push(tide_pickle_machine *machine,
                                                          tide_pickle_value value) {
    if (machine->stack.n == machine->stack.capacity) {
        return tide_pickle_push_more(machine, value);
    }
    machine->stack.values[machine->stack.n++] = value;
    return TIDE_OK;
}

TIDE_NODISCARD tide_status tide_pickle_pop(tide_pickle_machine *machine,
                                           tide_pickle_value *ret_value);
/* The value on top of the stack; does not pop it. */
TIDE_NODISCARD tide_status tide_pickle_top(tide_pickle_machine *machine,
                                           tide_pickle_value *ret_value);
TIDE_NODISCARD tide_status tide_pickle_push_integer(tide_pickle_machine *machine, int64_t value);
TIDE_NODISCARD tide_status tide_pickle_push_real(tide_pickle_machine *machine, double value);
/* The text of these bytes. */
TIDE_NODISCARD tide_status tide_pickle_push_text(tide_pickle_machine *machine, int tag,
                                                 const char *bytes, size_t n_bytes);
/* Pushes a new, empty container. */
TIDE_NODISCARD tide_status tide_pickle_push_container(tide_pickle_machine *machine,
                                                      tide_pickle_kind kind);
/* Moves the stack's values from `base` on into the container. */
TIDE_NODISCARD tide_status tide_pickle_append(tide_pickle_machine *machine,
                                              tide_pickle_value container, size_t base);
/* Pops the last mark and returns the height of the stack at that mark. */
TIDE_NODISCARD tide_status tide_pickle_pop_mark(tide_pickle_machine *machine, size_t *ret_base);
TIDE_NODISCARD tide_status tide_pickle_memo_put(tide_pickle_machine *machine, size_t number);
TIDE_NODISCARD tide_status tide_pickle_memo_get(tide_pickle_machine *machine, size_t number);
/* The value may be in more than one place from now on. */
void tide_pickle_share(const tide_pickle_machine *machine, tide_pickle_value value);

/* pickle_runs.c. At a MARK: if a list begins there whose items were read before, makes the list
 * from them and moves past it. */
TIDE_NODISCARD tide_status tide_pickle_repeat(tide_pickle_machine *machine, bool *ret_is_done);

/* pickle_memory.c. Call before allocating; TIDE_LIMIT. */
TIDE_NODISCARD tide_status tide_pickle_charge(tide_pickle_machine *machine, uint64_t n_bytes);
/* Room for `n_needed` items, doubling. */
TIDE_NODISCARD tide_status tide_pickle_grow(tide_pickle_machine *machine, void **items,
                                            size_t *capacity, size_t n_needed, size_t item_bytes);
/* The index of an empty container. */
TIDE_NODISCARD tide_status tide_pickle_new_container(tide_pickle_machine *machine,
                                                     uint32_t *ret_index);
/* Makes a container that nothing refers to reusable. */
void tide_pickle_free_container(tide_pickle *pickle, uint32_t index);
/* Whether the bytes are the text of that row, which may not exist. */
bool tide_pickle_is_row(const tide_pickle *pickle, size_t row, const char *bytes, size_t n_bytes);
/* The row of these bytes among the texts. */
TIDE_NODISCARD tide_status tide_pickle_intern(tide_pickle_machine *machine, const char *bytes,
                                              size_t n_bytes, size_t *ret_row);
/* Room for n_more items. */
TIDE_NODISCARD tide_status tide_pickle_reserve(tide_pickle_machine *machine,
                                               tide_pickle_container *to, size_t n_more);

/* pickle_place.c. Offers the taker the stack's values from `base` on, which are about to be added
 * to the list below them. */
TIDE_NODISCARD tide_status tide_pickle_offer(tide_pickle_machine *machine, size_t base,
                                             bool *ret_taken);

#endif
