/* internal.h - the steps from a pickle by PyTorch to a snapshot, one file each.
 *
 * The traces of all devices are in one table of rows, device after device, until they are merged.
 */
#ifndef TIDE_SNAPSHOT_PYTORCH_INTERNAL_H
#define TIDE_SNAPSHOT_PYTORCH_INTERNAL_H

#include "common/map.h"
#include "common/text/strings.h"
#include "snapshot/document/categories.h"
#include "snapshot/pytorch/pickle.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/document/stack_tree_friend.h"

enum {
    TIDE_PYTORCH_MAX_DEVICES = 256,
    TIDE_PYTORCH_MAX_STREAMS = 256,
    /* Bytes of the pickle per row: a value may be in many places, and the rows made of it must not
     * outgrow the file. The shortest real event has about 45. */
    TIDE_PYTORCH_ROW_BYTES = 24,
    TIDE_PYTORCH_FREE_ROWS = 1000, /* rows that any pickle may have */
    /* Bytes of memory that values may need for each event, segment, block and annotation, and for
     * each distinct frame. PyTorch's event with its list of frames needs about 150, a block 400
     * until its segment has been read. */
    TIDE_PYTORCH_ROW_VALUES = 1024,
    /* Nodes of call stacks allowed for any file, and for each event and block: the lists of frames
     * of events may have the same few frames in ever new orders. */
    TIDE_PYTORCH_FREE_NODES = 1 << 18,
    TIDE_PYTORCH_ROW_NODES = 32,
    TIDE_PYTORCH_SHAPE_KEYS = 16 /* of an event; PyTorch's have 8 to 10 */
};

/* The allocator refuses requests of 2^60 bytes and more; device addresses have at most 57 bits.
 * Sums of both stay far below 2^63. */
#define TIDE_PYTORCH_MAX_BYTES (INT64_C(1) << 60)
#define TIDE_PYTORCH_MAX_ADDRESS (INT64_C(1) << 61)

/* The object that was made of a container. */
enum {
    TIDE_PYTORCH_MADE_FRAME = 1,
    TIDE_PYTORCH_MADE_STACK,
    TIDE_PYTORCH_MADE_ODD_STACK /* a stack with an odd value, which is counted each time */
};

/* Prefixes of the names of scopes that represent texts of events: the text follows. */
#define TIDE_PYTORCH_METADATA "metadata: "
#define TIDE_PYTORCH_COMPILE "compile: "
/* Between a tensor's name and the rest of an event's user_metadata. */
#define TIDE_PYTORCH_AT " @ "
/* The name of a mark for a dump. */
#define TIDE_PYTORCH_DUMP "snapshot"
/* The action that names a block which is allocated at that time. */
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

/* Texts of an event without a column in the event table; strings, TIDE_NONE: none. */
typedef struct tide_pytorch_extra {
    uint32_t compile;  /* compile_context, unless it is the default */
    uint32_t metadata; /* user_metadata without the tensor's name */
} tide_pytorch_extra;

/* The keys of the last event's dict; the next event usually has the same keys in the same order. */
typedef struct tide_pytorch_shape {
    tide_pickle_value keys[TIDE_PYTORCH_SHAPE_KEYS];
    uint8_t places[TIDE_PYTORCH_SHAPE_KEYS]; /* of their keys in KEYS of events.c */
    size_t n_keys;                           /* 0: unknown */
} tide_pytorch_shape;

typedef struct tide_pytorch_import {
    tide_pickle *pickle;     /* borrowed */
    tide_snapshot *snapshot; /* borrowed; filled */
    const tide_hostmem *mem; /* borrowed */
    tide_error *error;       /* borrowed; may be NULL */
    tide_arena scratch;      /* data needed until the end of the import */
    tide_strings strings;
    tide_category_list categories; /* names are among the strings */
    tide_stack_tree stacks;
    char *buffer; /* owned: for the current text */
    size_t buffer_capacity;
    tide_stream_row streams[TIDE_PYTORCH_MAX_STREAMS];
    size_t n_streams;
    size_t n_devices;
    size_t n_rows_read;   /* events, segments and blocks so far */
    size_t n_blocks_seen; /* blocks whose segment is not complete yet */
    size_t n_events;      /* of the file */
    bool has_times;
    tide_event *rows; /* owned; time_ns holds us since 1970 for now */
    size_t n_rows;
    size_t row_capacity;
    tide_pytorch_extra *extras; /* owned; of the same rows */
    size_t extra_capacity;
    size_t first_row[TIDE_PYTORCH_MAX_DEVICES + 1]; /* of each device, and the end of the last */
    size_t device;                                  /* the one with the last rows */
    tide_pickle_value traces[TIDE_PYTORCH_MAX_DEVICES]; /* lists with taken events; 0 */
    size_t n_taken_events[TIDE_PYTORCH_MAX_DEVICES];    /* from those lists */
    tide_pytorch_shape shape;
    tide_pickle_value action_texts[TIDE_N_ACTIONS]; /* texts of actions that have occurred */
    size_t n_traces;                                /* of those lists */
    tide_pickle_value segments;                     /* the list with taken segments; 0 */
    size_t n_taken_segments;                        /* from that list */
    tide_pytorch_state start, end;                  /* all devices */
    uint64_t *end_row; /* in scratch: the alloc row of each block of end, + 1; 0: none */
    /* Settings that decide block sizes. */
    uint64_t roundup_divisions[16]; /* of [1, 2), [2, 4) ... MiB; 0: off */
    uint64_t max_split_bytes;       /* UINT64_MAX: none */
    /* Counts for the origin and for messages. */
    uint64_t n_contradictions;
    uint64_t n_odd;                        /* odd ornaments */
    char first_odd[TIDE_JSON_PLACE_BYTES]; /* the place of the first */
} tide_pytorch_import;

/* The place of a value, for messages. */
typedef struct tide_pytorch_place {
    const struct tide_pytorch_place *up; /* NULL: the root */
    const char *key;                     /* NULL: it is an index */
    size_t index;
    size_t offset; /* in the pickle, of the current container */
} tide_pytorch_place;

/* A known key of a dict. */
typedef struct tide_pytorch_key {
    const char *text;
    size_t n_bytes;
} tide_pytorch_key;

#define TIDE_PYTORCH_KEY(text)                                                                     \
    { (text), sizeof(text) - 1 }

/* ---- value.c: checked values ---- */

/* "byte 12, device_traces[0][3].addr: ..." */
TIDE_PRINTF(4, 5)
tide_status tide_pytorch_fail(const tide_pytorch_import *in, const tide_pytorch_place *at,
                              tide_status status, const char *format, ...);
/* The value must be a list or a tuple. */
TIDE_NODISCARD tide_status tide_pytorch_list(const tide_pytorch_import *in, tide_pickle_value value,
                                             tide_pytorch_place *at,
                                             const tide_pickle_container **ret_list);
/* The value must be a dict; values[i] becomes that of keys[i], or 0; at->offset that of the dict.
 */
TIDE_NODISCARD tide_status tide_pytorch_dict(const tide_pytorch_import *in, tide_pickle_value value,
                                             tide_pytorch_place *at, const tide_pytorch_key *keys,
                                             size_t n_keys, tide_pickle_value *values);
/* An integer in [min, max]; `at` is the dict's. */
TIDE_NODISCARD tide_status tide_pytorch_integer(const tide_pytorch_import *in,
                                                tide_pickle_value value,
                                                const tide_pytorch_place *at, int64_t min,
                                                int64_t max, int64_t *ret_integer);
/* Counts an odd ornament. */
void tide_pytorch_odd(tide_pytorch_import *in, const tide_pytorch_place *at);
/* tide_pytorch_integer for an ornament: any other value is read as `unknown` and counted. */
int64_t tide_pytorch_odd_integer(tide_pytorch_import *in, tide_pickle_value value,
                                 const tide_pytorch_place *at, int64_t min, int64_t max,
                                 int64_t unknown);
/* The number of a text among the strings; invalid UTF-8 becomes U+FFFD. */
TIDE_NODISCARD tide_status tide_pytorch_string(tide_pytorch_import *in, tide_pickle_value value,
                                               const tide_pytorch_place *at, uint32_t *ret_string);
/* Whether the value is exactly this text. */
bool tide_pytorch_is(const tide_pytorch_import *in, tide_pickle_value value, const char *text);
/* Counts rows before they are made. */
TIDE_NODISCARD tide_status tide_pytorch_count(tide_pytorch_import *in, size_t n_rows,
                                              const tide_pytorch_place *at);

/* ---- one file each ---- */

/* stacks.c. The node of a list of frames, innermost first; TIDE_NONE for an empty or missing list.
 */
TIDE_NODISCARD tide_status tide_pytorch_stack(tide_pytorch_import *in, tide_pickle_value frames,
                                              const tide_pytorch_place *at, uint32_t *ret_stack);
/* take.c. Takes events and segments during the reading: a tide_pickle_taker with `in`. */
TIDE_NODISCARD tide_status tide_pytorch_take(void *in, tide_pickle_value list,
                                             const tide_pickle_step *steps, size_t n_steps,
                                             const tide_pickle_value *items, size_t n_items,
                                             bool *ret_taken);
/* segments.c. Adds segments to `end`; the first one has the index `first`. */
TIDE_NODISCARD tide_status tide_pytorch_add_segments(tide_pytorch_import *in,
                                                     const tide_pickle_value *items, size_t n_items,
                                                     size_t first, tide_pytorch_place *at);
/* Reads "segments", or the part that was not taken. */
TIDE_NODISCARD tide_status tide_pytorch_read_segments(tide_pytorch_import *in,
                                                      tide_pickle_value value);
/* The number of a stream of a device; added if new. */
TIDE_NODISCARD tide_status tide_pytorch_stream(tide_pytorch_import *in, size_t device,
                                               tide_pickle_value handle,
                                               const tide_pytorch_place *at, uint8_t *ret_stream);
TIDE_NODISCARD tide_status tide_pytorch_add_segment(const tide_hostmem *mem,
                                                    tide_pytorch_state *state,
                                                    tide_segment_row segment);
TIDE_NODISCARD tide_status tide_pytorch_add_block(const tide_hostmem *mem,
                                                  tide_pytorch_state *state, tide_block_row block);
/* Adds a free block for bytes that no block covers; does nothing for 0 bytes. */
TIDE_NODISCARD tide_status tide_pytorch_add_free_block(const tide_hostmem *mem,
                                                       tide_pytorch_state *state,
                                                       uint64_t offset_bytes, uint64_t block_bytes);
/* events.c. Adds events of in->device to the rows; the first one has the index `first`. */
TIDE_NODISCARD tide_status tide_pytorch_add_events(tide_pytorch_import *in,
                                                   const tide_pickle_value *items, size_t n_items,
                                                   size_t first, tide_pytorch_place *at);
/* The next rows belong to `device`. False: a later device has rows. */
bool tide_pytorch_go_to_device(tide_pytorch_import *in, size_t device);
/* Reads "device_traces", or the part that was not taken. */
TIDE_NODISCARD tide_status tide_pytorch_read_traces(tide_pytorch_import *in,
                                                    tide_pickle_value value);
/* settings.c. "allocator_settings" -> settings of the snapshot, and those of `in`. */
TIDE_NODISCARD tide_status tide_pytorch_read_settings(tide_pytorch_import *in,
                                                      tide_pickle_value value);
/* walk.c. Walks back through the events of one device from its segments at the dump: finds the
 * block sizes of its rows, and its part of `start`. */
TIDE_NODISCARD tide_status tide_pytorch_walk(tide_pytorch_import *in, size_t device);
/* The block size of a request by the allocator's rounding rule alone. */
uint64_t tide_pytorch_round(const tide_pytorch_import *in, uint64_t requested_bytes);
/* merge.c. Merges the rows of all devices by time into the snapshot's events; makes scopes from
 * "external_annotations" and from the texts of the events. */
TIDE_NODISCARD tide_status tide_pytorch_merge(tide_pytorch_import *in,
                                              tide_pickle_value annotations);

#endif
