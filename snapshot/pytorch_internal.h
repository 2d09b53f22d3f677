/* pytorch_internal.h - the steps from a pickle by PyTorch to a snapshot, one file each.
 *
 * The traces of all devices lie in one table of rows, device after device, until they are merged.
 */
#ifndef TIDE_SNAPSHOT_PYTORCH_INTERNAL_H
#define TIDE_SNAPSHOT_PYTORCH_INTERNAL_H

#include "common/map.h"
#include "common/strings.h"
#include "snapshot/categories.h"
#include "snapshot/pickle.h"
#include "snapshot/snapshot.h"
#include "snapshot/stack_tree_internal.h"

enum {
    TIDE_PYTORCH_MAX_DEVICES = 256,
    TIDE_PYTORCH_MAX_STREAMS = 256,
    /* Bytes of the pickle per row: a value may stand in many places, and what is made of it must
     * not outgrow the file. The shortest real event has about 45. */
    TIDE_PYTORCH_ROW_BYTES = 24,
    TIDE_PYTORCH_FREE_ROWS = 1000 /* rows that any pickle may have */
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

/* Device memory that nobody knows or bounds, as a number that fits a double. */
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

/* What an event has beyond a row of the event table; strings, TIDE_NONE: none. */
typedef struct tide_pytorch_extra {
    uint32_t compile;  /* compile_context, unless it is the default */
    uint32_t metadata; /* user_metadata without the tensor's name */
} tide_pytorch_extra;

typedef struct tide_pytorch_import {
    const tide_pickle *pickle; /* borrowed */
    tide_snapshot *snapshot;   /* borrowed; filled */
    const tide_hostmem *mem;   /* borrowed */
    tide_error *error;         /* borrowed; may be NULL */
    tide_arena scratch;        /* what is needed until the end of the import */
    tide_strings strings;
    tide_category_list categories; /* names are among the strings */
    tide_map string_of;            /* a text's value -> its string */
    tide_map frame_of;             /* a frame's value -> its number */
    tide_map stack_of;             /* a list of frames -> its node + 1; 0: it has none */
    tide_stack_tree stacks;
    char *buffer; /* owned: for a text at hand */
    size_t buffer_capacity;
    tide_stream_row streams[TIDE_PYTORCH_MAX_STREAMS];
    size_t n_streams;
    size_t n_devices;
    size_t max_rows;    /* events, segments and blocks of the file, by its size */
    size_t n_rows_read; /* so far */
    size_t n_events;    /* of the file */
    bool has_times;
    tide_event *rows;              /* in scratch; time_ns holds us since 1970 for now */
    tide_pytorch_extra *extras;    /* in scratch; of the same rows */
    size_t *first_row;             /* in scratch: of each device; n_devices + 1 of them */
    tide_pytorch_state start, end; /* all devices */
    uint64_t *end_row; /* in scratch: the alloc row of each block of end, + 1; 0: none */
    /* Settings that block sizes depend on. */
    uint64_t roundup_divisions[16]; /* of [1, 2), [2, 4) ... MiB; 0: off */
    uint64_t max_split_bytes;       /* UINT64_MAX: none */
    /* For the account of what was derived. */
    uint64_t n_contradictions;
} tide_pytorch_import;

/* Where a value stands, for messages. */
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
/* pytorch_segments.c. "segments" -> end. */
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
/* pytorch_events.c. "device_traces" -> rows. */
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
