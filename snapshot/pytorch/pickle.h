/* pickle.h - Python pickles of plain data, protocols 2 to 5, and JSON of the same, as a tree of
 * values. The input is untrusted.
 *
 * A pickle is a program for a small machine. This machine knows only the opcodes that make data.
 * Opcodes that name a global, call, build an object or refer to the outside are refused with their
 * name and byte offset. Nothing in a pickle is ever executed. A value may be in several places of
 * the tree, and a list may even contain itself: code that walks the tree must limit its depth and
 * count what it makes.
 *
 * The bytes come from a source and are not kept. The tree may be incomplete: a reader can take the
 * items of a list as they come, and drop them. The memory of the values is counted. The limit is
 * FREE bytes plus those that the taker allows for each item.
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
    TIDE_PICKLE_DEPTH = 32,            /* nested containers; marks at one time */
    TIDE_PICKLE_TEXT_BYTES = 1 << 20,  /* of one text or one run of bytes */
    TIDE_PICKLE_STACK = 1 << 20,       /* values on the stack; Python needs 1,000 per level */
    TIDE_PICKLE_FREE_BYTES = 32 << 20, /* of memory for values, without the caller's allowance */
    TIDE_PICKLE_TEXT_COST = 128,       /* bytes of memory for a text beyond its own bytes */
    TIDE_PICKLE_CLASSES = 12,          /* sizes of reused arrays: 2, 4 ... 4096 */
    TIDE_PICKLE_STEPS = 4              /* steps in the place that a taker gets */
};

typedef enum tide_pickle_kind {
    TIDE_PICKLE_NOTHING = 0, /* no value: the dict lacks the key */
    TIDE_PICKLE_NONE,
    TIDE_PICKLE_BOOLEAN,
    TIDE_PICKLE_INTEGER,
    TIDE_PICKLE_HUGE, /* an integer beyond 64 bits; its value is not kept */
    TIDE_PICKLE_REAL,
    TIDE_PICKLE_TEXT,
    TIDE_PICKLE_BYTES,
    TIDE_PICKLE_LIST,
    TIDE_PICKLE_TUPLE,
    TIDE_PICKLE_DICT,
    TIDE_PICKLE_MADE, /* a dropped container, replaced by a number */
    TIDE_PICKLE_GONE  /* a dropped container */
} tide_pickle_kind;

/* A value in 8 bytes; 0 is no value. Equal numbers are the same value, so a number can be the key
 * of an object made of the value. */
typedef uint64_t tide_pickle_value;

typedef struct tide_pickle_container {
    tide_pickle_value *items; /* of a dict: keys and values in turn */
    uint32_t n_items;         /* MADE: the number */
    uint32_t capacity;
    uint32_t offset;     /* of the opcode that made it, in the pickle */
    uint8_t kind;        /* tide_pickle_kind */
    uint8_t depth;       /* levels below it that were known when it got its items; MADE: the kind
                            of object that the number refers to */
    bool is_referred_to; /* it may be in more than one place */
    bool is_taken;       /* a list: some items were taken, others may be here */
} tide_pickle_container;

/* A text or a run of bytes; equal ones share a row. */
typedef struct tide_pickle_text_row {
    const char *bytes;      /* in the arena; a NUL follows */
    tide_pickle_value list; /* the last list whose items were written as these bytes; 0: none */
    uint32_t n_bytes;
    uint32_t made;     /* the number of the object made of the text, + 1; 0: none */
    uint32_t next_run; /* of a run (pickle_runs.c): the row of the next one; 0: unknown */
    bool is_allowed;   /* its memory was added to the allowance */
} tide_pickle_text_row;

/* From a container to one of its items. */
typedef struct tide_pickle_step {
    tide_pickle_value key; /* of a dict; 0: a list */
    size_t index;          /* in a list */
} tide_pickle_step;

struct tide_pickle;

/* Takes items of lists while the pickle is being read. */
typedef struct tide_pickle_taker {
    /* Offers items that are about to be added to `list`. The steps lead from the root to `list`, as
     * far as its place is known now. *ret_taken: the items are not added. */
    tide_status (*take)(void *ctx, tide_pickle_value list, const tide_pickle_step *steps,
                        size_t n_steps, const tide_pickle_value *items, size_t n_items,
                        bool *ret_taken);
    void *ctx; /* borrowed; first argument of take */
} tide_pickle_taker;

typedef struct tide_pickle {
    const tide_hostmem *mem;           /* borrowed */
    tide_arena arena;                  /* texts, and items of containers */
    tide_pickle_container *containers; /* owned */
    size_t n_containers;
    size_t container_capacity;
    uint32_t free_container; /* the first reusable one, + 1; the next: its n_items */
    tide_pickle_value *free_items[TIDE_PICKLE_CLASSES]; /* reusable arrays; the first item of each
                                                           points to the next */
    uint64_t *numbers; /* owned: integers and reals that do not fit into a value */
    size_t n_numbers;
    size_t number_capacity;
    tide_pickle_text_row *texts; /* owned */
    size_t n_texts;
    size_t text_capacity;
    tide_map text_at; /* hash of a text -> index in texts; collisions step to the next hash */
    /* 64 bits even where sizes have 32: 4 million events are allowed more than 4 GiB. */
    uint64_t n_charged; /* bytes of memory allocated so far */
    uint64_t n_allowed; /* bytes of memory that may be allocated */
    size_t n_read;      /* bytes of the pickle so far */
    bool has_rest;      /* bytes other than zeros follow its end */
    uint8_t repeats; /* the kind of object for which a replaced list may also replace later lists of
                        the same items; 0: none */
    tide_pickle_value root;
} tide_pickle;

/* Reads the pickle in `source` into an empty tree. TIDE_FORMAT, TIDE_LIMIT and TIDE_UNSUPPORTED
 * name byte offset and opcode. `taker` may be NULL. The caller calls tide_pickle_fini. */
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

/* Each is for its kind of value only. */
bool tide_pickle_boolean(tide_pickle_value value);
int64_t tide_pickle_integer(const tide_pickle *pickle, tide_pickle_value value);
double tide_pickle_real(const tide_pickle *pickle, tide_pickle_value value);
/* May be invalid UTF-8 and may contain a NUL. */
const char *tide_pickle_text(const tide_pickle *pickle, tide_pickle_value value, size_t *ret_bytes);
/* A list, a tuple or a dict. */
const tide_pickle_container *tide_pickle_items(const tide_pickle *pickle, tide_pickle_value value);

/* Drops the items of a container, and everything that only they refer to. */
void tide_pickle_drop(tide_pickle *pickle, tide_pickle_value value);
/* The same; from now on the container represents a number of the kind `what`. */
void tide_pickle_make(tide_pickle *pickle, tide_pickle_value value, uint8_t what, uint32_t number);
/* The number of the kind `what` that was made of the value; false if there is none. */
bool tide_pickle_made(const tide_pickle *pickle, tide_pickle_value value, uint8_t what,
                      uint32_t *ret_number);
/* The same for a text, which stays a text and can be made into only one thing. */
void tide_pickle_make_text(tide_pickle *pickle, tide_pickle_value value, uint32_t number);
bool tide_pickle_made_text(const tide_pickle *pickle, tide_pickle_value value,
                           uint32_t *ret_number);
/* Raises the limit of memory, for an object that was made of values. */
void tide_pickle_allow(tide_pickle *pickle, uint64_t n_bytes);
/* Raises the limit by the memory of a text, only once. */
void tide_pickle_allow_text(tide_pickle *pickle, tide_pickle_value value);

#ifdef __cplusplus
}
#endif

#endif
