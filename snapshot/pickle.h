/* pickle.h - Python pickles of plain data, protocols 2 to 5, as a compact tree of values: for input
 * that nobody vouches for.
 *
 * A pickle is a program for a small machine. This machine knows the opcodes that make data and no
 * others: whatever names a global, calls, builds an object or refers to the outside is refused with
 * its name and byte offset. Nothing in a pickle is ever run. A value may stand in several places of
 * the tree, and a list may even hold itself: who walks it goes down a known number of levels and
 * counts what it makes of it.
 */
#ifndef TIDE_SNAPSHOT_PICKLE_H
#define TIDE_SNAPSHOT_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/hostmem.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_PICKLE_DEPTH = 32,           /* containers within containers; marks at once */
    TIDE_PICKLE_TEXT_BYTES = 1 << 20, /* of one text or one run of bytes */
    TIDE_PICKLE_DENSITY = 6           /* bytes of memory per byte of the pickle, at most */
};

typedef enum tide_pickle_kind {
    TIDE_PICKLE_NOTHING = 0, /* no value: a key that a dict does not have */
    TIDE_PICKLE_NONE,
    TIDE_PICKLE_BOOLEAN,
    TIDE_PICKLE_INTEGER,
    TIDE_PICKLE_HUGE, /* an integer beyond 64 bits: only told apart, not kept */
    TIDE_PICKLE_REAL,
    TIDE_PICKLE_TEXT,
    TIDE_PICKLE_BYTES,
    TIDE_PICKLE_LIST,
    TIDE_PICKLE_TUPLE,
    TIDE_PICKLE_DICT
} tide_pickle_kind;

/* A value in 8 bytes; 0 is no value. Equal numbers mean one and the same value, so that a number
 * can be the key of what was made of it. */
typedef uint64_t tide_pickle_value;

typedef struct tide_pickle_container {
    tide_pickle_value *items; /* in the arena; of a dict: keys and values in turn */
    uint32_t n_items;
    uint32_t capacity;
    uint32_t offset; /* of the opcode that made it, in the pickle */
    uint8_t kind;    /* tide_pickle_kind */
    uint8_t depth;   /* levels below it, as far as they were known when it got its items */
} tide_pickle_container;

typedef struct tide_pickle {
    const char *data; /* borrowed: texts are read where they stand */
    size_t n_bytes;
    const tide_hostmem *mem;           /* borrowed */
    tide_arena arena;                  /* items of containers */
    tide_pickle_container *containers; /* owned */
    size_t n_containers;
    size_t container_capacity;
    uint64_t *numbers; /* owned: integers and reals that do not fit into a value */
    size_t n_numbers;
    size_t number_capacity;
    tide_pickle_value root;
} tide_pickle;

/* Reads the pickle in `data`, which outlives the tree. TIDE_FORMAT, TIDE_LIMIT, TIDE_UNSUPPORTED
 * name byte offset and opcode. The caller finishes it. */
TIDE_NODISCARD tide_status tide_pickle_init(tide_pickle *pickle, const char *data, size_t n_bytes,
                                            const tide_hostmem *mem, tide_error *error);
void tide_pickle_fini(tide_pickle *pickle);

tide_pickle_kind tide_pickle_kind_of(const tide_pickle *pickle, tide_pickle_value value);
/* "a text", "an integer": for messages. */
const char *tide_pickle_kind_name(tide_pickle_kind kind);

/* Each is for its kind of value alone. */
bool tide_pickle_boolean(tide_pickle_value value);
int64_t tide_pickle_integer(const tide_pickle *pickle, tide_pickle_value value);
double tide_pickle_real(const tide_pickle *pickle, tide_pickle_value value);
/* Not terminated, perhaps not UTF-8, perhaps with a NUL in it. */
const char *tide_pickle_text(const tide_pickle *pickle, tide_pickle_value value, size_t *ret_bytes);
/* A list, a tuple or a dict. */
const tide_pickle_container *tide_pickle_items(const tide_pickle *pickle, tide_pickle_value value);

#ifdef __cplusplus
}
#endif

#endif
