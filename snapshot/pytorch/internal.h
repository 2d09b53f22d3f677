/* internal.h - the steps from a pickle by PyTorch to a snapshot, one file each.
 *
 * The traces of all devices lie in one table of rows, device after device, until they are merged.
 */
#ifndef TIDE_SNAPSHOT_PYTORCH_INTERNAL_H
#define TIDE_SNAPSHOT_PYTORCH_INTERNAL_H

#include "common/map.h"
#include "common/strings.h"
#include "snapshot/document/categories.h"
#include "snapshot/pytorch/pickle.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/document/stack_tree_friend.h"

enum {
    TIDE_PYTORCH_MAX_DEVICES = 256,
    TIDE_PYTORCH_MAX_STREAMS = 256,
    /* Bytes of the pickle per row: a value may stand in many places, and what is made of it must
     * not outgrow the file. The shortest real event has about 45. */
    TIDE_PYTORCH_ROW_BYTES = 24,
    TIDE_PYTORCH_FREE_ROWS = 1000, /* rows that any pickle may have */
    /* Bytes of memory that values may take for each event, segment, block and annotation, and for
     * each distinct frame. An event of PyTorch's with its list of frames needs about 150, a block
     * 400 until its segment has been read. */
    TIDE_PYTORCH_ROW_VALUES = 1024,
    /* Nodes of call stacks that any file may have, and for each event and block: the list of an
     * event's frames may be the same few frames in ever new orders. */
    TIDE_PYTORCH_FREE_NODES = 1 << 18,
    TIDE_PYTORCH_ROW_NODES = 32,
    TIDE_PYTORCH_SHAPE_KEYS = 16 /* of an event, PyTorch's have 8 to 10 */
};

/* The allocator refuses requests of 2^60 bytes and more; addresses of devices have 57 bits at most.
 * Sums of both stay far below 2^63. */
#define TIDE_PYTORCH_MAX_BYTES (INT64_C(1) << 60)
#define TIDE_PYTORCH_MAX_ADDRESS (INT64_C(1) << 61)

/* What a container that has been read stands for. */
enum {
    TIDE_PYTORCH_MADE_FRAME = 1,
    TIDE_PYTORCH_MADE_STACK,
    TIDE_PYTORCH_MADE_ODD_STACK /* a stack with something odd in it, which counts each time */
};

/* What scopes that stand for texts of events are called: the text follows. */
#define TIDE_PYTORCH_METADATA "metadata: "
#define TIDE_PYTORCH_COMPILE "compile: "
/* Between a tensor's name and the rest of an event's user_metadata. */
#define TIDE_PYTORCH_AT " @ "
/* The name of a mark that stands for a dump. */
#define TIDE_PYTORCH_DUMP "snapshot"
/* The action that names a block which is alive then. */
#define TIDE_PYTORCH_ANNOTATION "annotate"

/* Free device memory that is unknown or unlimited, as a number that fits a double. */
#define TIDE_PYTORCH_UNLIMITED ((INT64_C(1) << 53) - 1)

/* Segments with their blocks, in growing arrays. */
typedef struct tide_pytorch_state {
    tide_segment_row *segments; /* owned */
    size_t n_segments;
    size_t segment_capacity;
    tide_block_row *blocks; /* owned */
    size_t n_blocks;
    size_t block_capacity;
} tide_pytorch_state;

/* Texts of an event that the event table has no column for; strings, TIDE_NONE: none. */
typedef struct tide_pytorch_extra {
    uint32_t compile;  /* compile_context, unless it is the default */
    uint32_t metadata; /* user_metadata without the tensor's name */
} tide_pytorch_extra;

/* The keys of the last event's dict: the next one has the same as a rule, in the same order. */
typedef struct tide_pytorch_shape {
    tide_pickle_value keys[TIDE_PYTORCH_SHAPE_KEYS];
    uint8_t places[TIDE_PYTORCH_SHAPE_KEYS]; /* of their values among those of an event */
    size_t n_keys;                           /* 0: none is known */
} tide_pytorch_shape;

typedef struct tide_pytorch_import {
    tide_pickle *pickle;     /* borrowed */
    tide_snapshot *snapshot; /* borrowed; filled */
    const tide_hostmem *mem; /* borrowed */
    tide_error *error;       /* borrowed; may be NULL */
    tide_arena scratch;      /* what is needed until the end of the import */
    tide_strings strings;
    tide_category_list categories; /* names are among the strings */
    tide_stack_tree stacks;
    char *buffer; /* owned: for a text at hand */
    size_t buffer_capacity;
    tide_stream_row streams[TIDE_PYTORCH_MAX_STREAMS];
    size_t n_streams;
    size_t n_devices;
    size_t n_rows_read;   /* events, segments and blocks so far */
    size_t n_blocks_seen; /* blocks whose segment was not complete yet */
    size_t n_events;      /* of the file */
    bool has_times;
    tide_event *rows; /* owned; time_ns holds us since 1970 for now */
    size_t n_rows;
    size_t row_capacity;
    tide_pytorch_extra *extras; /* owned; of the same rows */
    size_t extra_capacity;
    size_t
        first_row[TIDE_PYTORCH_MAX_DEVICES + 1]; /* of each device, and where the last one ends */
    size_t device;                               /* the one whose rows come last */
    tide_pickle_value traces[TIDE_PYTORCH_MAX_DEVICES]; /* lists whose events were taken; 0 */
    size_t n_taken_events[TIDE_PYTORCH_MAX_DEVICES];    /* from those lists */
    tide_pytorch_shape shape;
    tide_pickle_value action_texts[TIDE_N_ACTIONS]; /* texts of actions, as far as they occurred */
    size_t n_traces;                                /* of those lists */
    tide_pickle_value segments;                     /* the list whose segments were taken; 0 */
    size_t n_taken_segments;                        /* from that list */
    tide_pytorch_state start, end;                  /* all devices */
    uint64_t *end_row; /* in scratch: the alloc row of each block of end, + 1; 0: none */
    /* Settings that block sizes depend on. */
    uint64_t roundup_divisions[16]; /* of [1, 2), [2, 4) ... MiB; 0: off */
    uint64_t max_split_bytes;       /* UINT64_MAX: none */
    /* Counts for the origin and for messages. */
    uint64_t n_contradictions;
    uint64_t n_odd;                        /* ornaments that were odd */
    char first_odd[TIDE_JSON_PLACE_BYTES]; /* where the first of them stands */
} tide_pytorch_import;

/* The place of a value, for messages. */
typedef struct tide_pytorch_place {
    const struct tide_pytorch_place *up; /* NULL: the root */
    const char *key;                     /* NULL: it is an index */
    size_t index;
    size_t offset; /* in the pickle, of the container at hand */
} tide_pytorch_place;

/* A known key of a dict. */
typedef struct tide_pytorch_key {
    const char *text;
    size_t n_bytes;
} tide_pytorch_key;

#define TIDE_PYTORCH_KEY(text)                                                                     \
    { (text), sizeof(text) - 1 }

/* ---- pytorch_value.c: values that must be what they should be ---- */

/* "byte 12, device_traces[0][3].addr: ..." */
TIDE_PRINTF(4, 5)
tide_status tide_pytorch_fail(const tide_pytorch_import *in, const tide_pytorch_place *at,
                              tide_status status, const char *format, ...);
/* The value must be a list or a tuple. */
TIDE_NODISCARD tide_status tide_pytorch_list(const tide_pytorch_import *in, tide_pickle_value value,
                                             tide_pytorch_place *at,
                                             const tide_pickle_container **ret_list);
/* The value must be a dict; values[i] is that of keys[i], or 0. at->offset becomes the dict's. */
TIDE_NODISCARD tide_status tide_pytorch_dict(const tide_pytorch_import *in, tide_pickle_value value,
                                             tide_pytorch_place *at, const tide_pytorch_key *keys,
                                             size_t n_keys, tide_pickle_value *values);
/* An integer in [min, max]; `at` is the dict's. */
TIDE_NODISCARD tide_status tide_pytorch_integer(const tide_pytorch_import *in,
                                                tide_pickle_value value,
                                                const tide_pytorch_place *at, int64_t min,
                                                int64_t max, int64_t *ret_integer);
/* Counts an ornament that is odd. */
void tide_pytorch_odd(tide_pytorch_import *in, const tide_pytorch_place *at);
/* The same as tide_pytorch_integer for an ornament: whatever else stands there is `unknown`, and
 * counted. */
int64_t tide_pytorch_odd_integer(tide_pytorch_import *in, tide_pickle_value value,
                                 const tide_pytorch_place *at, int64_t min, int64_t max,
                                 int64_t unknown);
/* The number of a text among the strings; what is not UTF-8 in it becomes U+FFFD. */
TIDE_NODISCARD tide_status tide_pytorch_string(tide_pytorch_import *in, tide_pickle_value value,
                                               const tide_pytorch_place *at, uint32_t *ret_string);
/* True when the value is just this text. */
bool tide_pytorch_is(const tide_pytorch_import *in, tide_pickle_value value, const char *text);
/* Counts rows before they are made. */
TIDE_NODISCARD tide_status tide_pytorch_count(tide_pytorch_import *in, size_t n_rows,
                                              const tide_pytorch_place *at);

/* ---- one file each ---- */

/* pytorch_stacks.c. The node of a list of frames, innermost first; TIDE_NONE for an empty list and
 * for no value. */
TIDE_NODISCARD tide_status tide_pytorch_stack(tide_pytorch_import *in, tide_pickle_value frames,
                                              const tide_pytorch_place *at, uint32_t *ret_stack);
/* pytorch_take.c. Takes events and segments as they come: a tide_pickle_taker with `in`. */
TIDE_NODISCARD tide_status tide_pytorch_take(void *in, tide_pickle_value list,
                                             const tide_pickle_step *steps, size_t n_steps,
                                             const tide_pickle_value *items, size_t n_items,
                                             bool *ret_taken);
/* pytorch_segments.c. Segments -> end; the first one is that of index `first`. */
TIDE_NODISCARD tide_status tide_pytorch_add_segments(tide_pytorch_import *in,
                                                     const tide_pickle_value *items, size_t n_items,
                                                     size_t first, tide_pytorch_place *at);
/* "segments", or what of it was not taken. */
TIDE_NODISCARD tide_status tide_pytorch_read_segments(tide_pytorch_import *in,
                                                      tide_pickle_value value);
/* The number of a stream of a device, which is added if it is new. */
TIDE_NODISCARD tide_status tide_pytorch_stream(tide_pytorch_import *in, size_t device,
                                               tide_pickle_value handle,
                                               const tide_pytorch_place *at, uint8_t *ret_stream);
TIDE_NODISCARD tide_status tide_pytorch_add_segment(const tide_hostmem *mem,
                                                    tide_pytorch_state *state,
                                                    tide_segment_row segment);
TIDE_NODISCARD tide_status tide_pytorch_add_block(const tide_hostmem *mem,
                                                  tide_pytorch_state *state, tide_block_row block);
/* The same for bytes that no block covers, nothing for none of them. */
TIDE_NODISCARD tide_status tide_pytorch_add_free_block(const tide_hostmem *mem,
                                                       tide_pytorch_state *state,
                                                       uint64_t offset_bytes, uint64_t block_bytes);
/* pytorch_events.c. Events of in->device -> rows; the first one is that of index `first`. */
TIDE_NODISCARD tide_status tide_pytorch_add_events(tide_pytorch_import *in,
                                                   const tide_pickle_value *items, size_t n_items,
                                                   size_t first, tide_pytorch_place *at);
/* The next rows are those of the device. False: rows of a later one are there. */
bool tide_pytorch_go_to_device(tide_pytorch_import *in, size_t device);
/* "device_traces", or what of it was not taken. */
TIDE_NODISCARD tide_status tide_pytorch_read_traces(tide_pytorch_import *in,
                                                    tide_pickle_value value);
/* pytorch_settings.c. "allocator_settings" -> settings of the snapshot, and those of `in`. */
TIDE_NODISCARD tide_status tide_pytorch_read_settings(tide_pytorch_import *in,
                                                      tide_pickle_value value);
/* pytorch_walk.c. Takes the events of one device back from its segments at the dump: block sizes
 * of the rows, and its part of start. */
TIDE_NODISCARD tide_status tide_pytorch_walk(tide_pytorch_import *in, size_t device);
/* The block that the allocator makes of a request by its rounding rule alone. */
uint64_t tide_pytorch_round(const tide_pytorch_import *in, uint64_t requested_bytes);
/* pytorch_merge.c. Merges the rows of all devices by time into the snapshot's events; scopes from
 * "external_annotations" and from the texts of the events. */
TIDE_NODISCARD tide_status tide_pytorch_merge(tide_pytorch_import *in,
                                              tide_pickle_value annotations);

#endif
