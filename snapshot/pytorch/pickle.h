/* pickle.h - Python pickles of plain data, protocols 2 to 5, and JSON of the same, as a tree of
 * values. The input is untrusted.
 *
 * A pickle is a program for a small machine. This machine knows the opcodes that make data and no
 * others: whatever names a global, calls, builds an object or refers to the outside is refused with
 * its name and byte offset. Nothing in a pickle is ever run. A value may stand in several places of
 * the tree, and a list may even hold itself: who walks it goes down a known number of levels and
 * counts what it makes of it.
 *
 * The bytes come from a source and are not kept. The tree is not meant to be complete either: who
 * reads may take the items of a list as they come, and drop them. What memory the values take is
 * counted; it may be FREE bytes, and what the one who takes items allows for each of them.
 */
#ifndef TIDE_SNAPSHOT_PYTORCH_PICKLE_H
#define TIDE_SNAPSHOT_PYTORCH_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/hostmem.h"
#include "common/map.h"
#include "common/status.h"
#include "snapshot/format/json_reader.h"
#include "snapshot/format/window.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_PICKLE_DEPTH = 32,            /* containers within containers; marks at once */
    TIDE_PICKLE_TEXT_BYTES = 1 << 20,  /* of one text or one run of bytes */
    TIDE_PICKLE_STACK = 1 << 20,       /* values on the stack; Python itself needs 1,000 a level */
    TIDE_PICKLE_FREE_BYTES = 32 << 20, /* of memory for values beyond what the caller allows */
    TIDE_PICKLE_TEXT_COST = 128,       /* bytes of memory for a text, and its own bytes */
    TIDE_PICKLE_CLASSES = 12,          /* sizes of arrays that are used again: 2, 4 ... 4096 */
    TIDE_PICKLE_STEPS = 4              /* steps of a place that is told */
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
    TIDE_PICKLE_DICT,
    TIDE_PICKLE_MADE, /* a container that was dropped and stands for a number now */
    TIDE_PICKLE_GONE  /* a container that was dropped */
} tide_pickle_kind;

/* A value in 8 bytes; 0 is no value. Equal numbers mean one and the same value, so that a number
 * can be the key of what was made of it. */
typedef uint64_t tide_pickle_value;

typedef struct tide_pickle_container {
    tide_pickle_value *items; /* of a dict: keys and values in turn */
    uint32_t n_items;         /* MADE: the number */
    uint32_t capacity;
    uint32_t offset;     /* of the opcode that made it, in the pickle */
    uint8_t kind;        /* tide_pickle_kind */
    uint8_t depth;       /* levels below it, as far as they were known when it got its items; MADE:
                            what the number is of */
    bool is_referred_to; /* it may stand in more than one place */
    bool is_taken;       /* of a list: items of it were taken, others may be here */
} tide_pickle_container;

/* A text or a run of bytes; equal ones are one. */
typedef struct tide_pickle_text_row {
    const char *bytes;      /* in the arena; a NUL follows */
    tide_pickle_value list; /* the last list whose items were written as these bytes; 0: none */
    uint32_t n_bytes;
    uint32_t made;     /* the number of what was made of the text, + 1; 0: nothing was */
    uint32_t next_run; /* of a run (pickle_runs.c): the row of the one after it; 0: unknown */
    bool is_allowed;   /* its memory was allowed for */
} tide_pickle_text_row;

/* From a container to one of its items. */
typedef struct tide_pickle_step {
    tide_pickle_value key; /* of a dict; 0: a list */
    size_t index;          /* in a list */
} tide_pickle_step;

struct tide_pickle;

/* Takes items of lists while the pickle is being read. */
typedef struct tide_pickle_taker {
    /* The items are about to be added to `list`, which stands at the place that the steps lead to
     * from the root as far as can be told now. *ret_taken: they are not added. */
    tide_status (*take)(void *ctx, tide_pickle_value list, const tide_pickle_step *steps,
                        size_t n_steps, const tide_pickle_value *items, size_t n_items,
                        bool *ret_taken);
    void *ctx; /* borrowed; take's first */
} tide_pickle_taker;

typedef struct tide_pickle {
    const tide_hostmem *mem;           /* borrowed */
    tide_arena arena;                  /* texts, and items of containers */
    tide_pickle_container *containers; /* owned */
    size_t n_containers;
    size_t container_capacity;
    uint32_t free_container; /* the first that can be used again, + 1; the next: its n_items */
    tide_pickle_value *free_items[TIDE_PICKLE_CLASSES]; /* arrays to be used again; the next of each
                                                           stands in its first item */
    uint64_t *numbers; /* owned: integers and reals that do not fit into a value */
    size_t n_numbers;
    size_t number_capacity;
    tide_pickle_text_row *texts; /* owned */
    size_t n_texts;
    size_t text_capacity;
    tide_map text_at; /* hash of a text -> index in texts; collisions step to the next hash */
    /* In 64 bits also where sizes have 32: 4 million events are allowed more than 4 GiB. */
    uint64_t n_charged; /* bytes of memory taken so far */
    uint64_t n_allowed; /* bytes of memory that may be taken */
    size_t n_read;      /* bytes of the pickle so far */
    bool has_rest;      /* bytes other than zeros follow its end */
    uint8_t repeats; /* lists that stand for a number of this may stand for later lists of the same
                      items, too; 0: none may */
    tide_pickle_value root;
} tide_pickle;

/* Reads the pickle in `source` into an empty tree. TIDE_FORMAT, TIDE_LIMIT, TIDE_UNSUPPORTED name
 * byte offset and opcode. `taker` may be NULL. The caller finishes the tree. */
void tide_pickle_init(tide_pickle *pickle, const tide_hostmem *mem);
TIDE_NODISCARD tide_status tide_pickle_read(tide_pickle *pickle, const tide_source *source,
                                            const tide_pickle_taker *taker, tide_error *error);
/* The same from JSON: objects are dicts, arrays are lists. */
TIDE_NODISCARD tide_status tide_pickle_read_json(tide_pickle *pickle, const tide_source *source,
                                                 const tide_pickle_taker *taker, tide_error *error);
void tide_pickle_fini(tide_pickle *pickle);

tide_pickle_kind tide_pickle_kind_of(const tide_pickle *pickle, tide_pickle_value value);
/* "a text", "an integer": for messages. */
const char *tide_pickle_kind_name(tide_pickle_kind kind);

/* Each is for its kind of value alone. */
bool tide_pickle_boolean(tide_pickle_value value);
int64_t tide_pickle_integer(const tide_pickle *pickle, tide_pickle_value value);
double tide_pickle_real(const tide_pickle *pickle, tide_pickle_value value);
/* Perhaps not UTF-8, perhaps with a NUL in it. */
const char *tide_pickle_text(const tide_pickle *pickle, tide_pickle_value value, size_t *ret_bytes);
/* A list, a tuple or a dict. */
const tide_pickle_container *tide_pickle_items(const tide_pickle *pickle, tide_pickle_value value);

/* Drops the items of a container that are no longer needed, and with them everything that is
 * referred to from nowhere else. */
void tide_pickle_drop(tide_pickle *pickle, tide_pickle_value value);
/* The same, and the container stands for a number of `what` from now on. */
void tide_pickle_make(tide_pickle *pickle, tide_pickle_value value, uint8_t what, uint32_t number);
/* The number of `what` that was made of it; false: none was. */
bool tide_pickle_made(const tide_pickle *pickle, tide_pickle_value value, uint8_t what,
                      uint32_t *ret_number);
/* The same of a text, which stays a text and is made one thing only. */
void tide_pickle_make_text(tide_pickle *pickle, tide_pickle_value value, uint32_t number);
bool tide_pickle_made_text(const tide_pickle *pickle, tide_pickle_value value,
                           uint32_t *ret_number);
/* More memory may be taken: for something that was made of values. */
void tide_pickle_allow(tide_pickle *pickle, uint64_t n_bytes);
/* The memory of a text, once. */
void tide_pickle_allow_text(tide_pickle *pickle, tide_pickle_value value);

#ifdef __cplusplus
}
#endif

#endif
