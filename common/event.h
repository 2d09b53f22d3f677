/* event.h - the plain tables of a recording: events, scopes, segments, blocks, kernels and streams,
 * and the names of their kinds. The recorder fills them, the snapshot stores them, everything else
 * reads them. They depend on no other module.
 *
 * A number that refers to another table is an index into it; TIDE_NONE means "none". Sizes are in
 * bytes, times in nanoseconds.
 */
#ifndef TIDE_COMMON_EVENT_H
#define TIDE_COMMON_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_NONE UINT32_MAX /* an index that refers to nothing; -1 in a snapshot file */

/* What a row of the event table is about. Documents store the name, columns the number. */
typedef enum tide_action {
    TIDE_ACTION_ALLOC = 0,
    TIDE_ACTION_FREE,           /* requested and completed at the same time */
    TIDE_ACTION_FREE_REQUESTED, /* another stream still uses the block */
    TIDE_ACTION_FREE_COMPLETED,
    TIDE_ACTION_SEGMENT_ALLOC,
    TIDE_ACTION_SEGMENT_FREE,
    TIDE_ACTION_SEGMENT_MAP, /* expandable segments: memory was mapped to a part */
    TIDE_ACTION_SEGMENT_UNMAP,
    TIDE_ACTION_OOM,  /* an allocation of requested_bytes failed; the address is not valid */
    TIDE_ACTION_MARK, /* a note at an instant; its name describes what happened */
    TIDE_N_ACTIONS
} tide_action;

/* What the bytes are used for. The caller states it at allocation; it is never guessed. The list is
 * open: a file may define categories of its own, which are numbered after these
 * (snapshot/document/categories.h). Files and logs contain the numbers, so a new category goes to
 * the end. */
typedef enum tide_category {
    TIDE_UNKNOWN = 0,
    TIDE_PARAMETER,
    TIDE_GRADIENT,
    TIDE_OPTIMIZER_STATE,
    TIDE_ACTIVATION,
    TIDE_TEMPORARY,
    TIDE_WORKSPACE,
    TIDE_INPUT,
    TIDE_WEIGHT_COPY, /* of a parameter in another type, such as bf16 */
    TIDE_KV_CACHE,    /* keys and values of earlier tokens, in a model that generates */
    TIDE_N_CATEGORIES
} tide_category;

enum { TIDE_MAX_CATEGORIES = 64 }; /* in one file, including the above; all numbers are below it */

/* How a category became known. Not needed in a recording that only its own program fills, because
 * there the caller names every category. Files contain the numbers. */
typedef enum tide_certainty {
    TIDE_CERTAINTY_UNKNOWN = 0, /* the category is unknown, or how it became known is */
    TIDE_CERTAINTY_RULE,        /* by a rule, such as "what outlives its step is not temporary" */
    TIDE_CERTAINTY_NAMED,       /* the program names it, by the address or in words */
    TIDE_N_CERTAINTIES
} tide_certainty;

typedef enum tide_scope_kind {
    TIDE_SCOPE_STEP = 0,
    TIDE_SCOPE_PHASE, /* forward, backward, optimizer; also work outside steps, such as setup */
    TIDE_SCOPE_LAYER,
    TIDE_SCOPE_OPERATOR,
    TIDE_SCOPE_USER, /* any other interval that a program names */
    TIDE_N_SCOPE_KINDS
} tide_scope_kind;

typedef enum tide_block_state {
    TIDE_BLOCK_FREE = 0,
    TIDE_BLOCK_ALLOCATED,
    TIDE_BLOCK_PENDING_FREE, /* free requested, another stream still uses it */
    TIDE_N_BLOCK_STATES
} tide_block_state;

/* One row of the event table, 48 bytes. Rows are in the order in which the events happened. */
typedef struct tide_event {
    int64_t time_ns;          /* since the recorder was created */
    uint64_t address;         /* of the block or segment; undefined for oom and mark */
    uint64_t requested_bytes; /* alloc, free*: bytes requested; oom: the same; segment rows: equals
                                 block_bytes */
    uint64_t block_bytes; /* alloc, free*: the whole block; segment rows: the whole segment; oom:
                             free bytes then, INT64_MAX: unlimited */
    uint32_t stack;       /* call stack of this row's own caller, or TIDE_NONE */
    uint32_t scope;       /* innermost open scope of the calling thread, or TIDE_NONE */
    uint32_t name;    /* string: the tensor's name (free rows repeat the block's), or TIDE_NONE */
    uint8_t action;   /* tide_action */
    uint8_t category; /* tide_category, or a category of the file's own; free rows repeat the
                         block's */
    uint8_t device;   /* index of the device, 0..255 */
    uint8_t stream;   /* index in the table of streams, 0..255 */
} tide_event;

/* Special values of a duration. */
#define TIDE_SCOPE_OPEN ((int64_t)-1) /* the scope had not ended when the recording did */
/* The scope is known only from the allocations that name it, so it has no interval: its begin is
 * that of the first such allocation, and its end is unknown. All timings skip it. */
#define TIDE_SCOPE_NO_INTERVAL ((int64_t)-2)

/* One row of the scope table: a named interval. A parent comes before its children. */
typedef struct tide_scope_row {
    int64_t begin_ns;        /* since the recorder was created; never decreases from row to row */
    int64_t duration_ns;     /* or TIDE_SCOPE_OPEN, TIDE_SCOPE_NO_INTERVAL */
    int64_t device_begin_ns; /* on the recorder's clock; -1: not measured */
    int64_t device_duration_ns; /* -1: not measured */
    uint32_t parent;            /* scope that encloses it on the same thread, or TIDE_NONE */
    uint32_t name;              /* string */
    int32_t index;              /* step or layer number; -1: none */
    uint16_t thread;            /* 0 for the first thread that opened a scope, then 1, 2, ... */
    uint8_t kind;               /* tide_scope_kind */
} tide_scope_row;

/* A part of a segment at one instant. */
typedef struct tide_block_row {
    uint64_t offset_bytes;    /* from the segment's address */
    uint64_t block_bytes;     /* multiple of 512 for our own allocator */
    uint64_t requested_bytes; /* 0 for a free block */
    uint32_t stack;           /* of the allocation, or TIDE_NONE */
    uint32_t scope;           /* of the allocation, or TIDE_NONE */
    uint32_t name;            /* string, or TIDE_NONE */
    uint8_t state;            /* tide_block_state */
    uint8_t category;         /* tide_category */
} tide_block_row;

/* The requests that a segment serves, with the same limit as in PyTorch. */
typedef enum tide_segment_pool {
    TIDE_SEGMENT_UNKNOWN = 0,
    TIDE_SEGMENT_SMALL, /* of at most 1 MiB */
    TIDE_SEGMENT_LARGE
} tide_segment_pool;

/* Memory allocated from a device in one call, or a run of mapped memory. Its blocks fill it without
 * gap or overlap. */
typedef struct tide_segment_row {
    uint64_t address;     /* of its first byte */
    uint64_t total_bytes; /* as allocated; expandable: of this run of mapped memory */
    size_t first_block;   /* index of its first block in the table of blocks that comes with the
                           segments */
    size_t n_blocks;      /* at least 1 */
    uint8_t device;       /* index of the device */
    uint8_t stream;       /* index in the table of streams */
    uint8_t pool;         /* tide_segment_pool */
    bool is_expandable; /* memory mapped into reserved addresses; segment_map and segment_unmap rows
                           add and remove it, and may join or split segments */
    uint32_t pool_id[2];  /* of a private pool: {n, 0} a graph's, {0, n} the user's; else {0, 0} */
    uint32_t stack_after; /* node of the call stack that it was allocated for, + 1; 0: unknown, as
                             of every segment that tidemark records: events have these stacks */
} tide_segment_row;

/* One row of the table of kernels: launches of one kernel in one place. */
typedef struct tide_kernel_row {
    uint32_t name;  /* string; demangled if possible */
    uint32_t phase; /* string: "forward"; TIDE_NONE: outside every phase */
    uint32_t path;  /* string: scopes without steps and numbers, "forward > layer > attention"; ""
                       outside all scopes */
    uint64_t n_launches;    /* at least 1 */
    int64_t total_ns;       /* on the device, of all launches */
    int64_t min_ns, max_ns; /* of one launch */
} tide_kernel_row;

/* One row of the table of streams. */
typedef struct tide_stream_row {
    uint64_t handle; /* native handle; 0: the default stream */
    uint8_t device;  /* index of the device it belongs to */
} tide_stream_row;

/* Names as in files and reports: "alloc", "parameter", "by rule", "step", "free". "?" for a number
 * out of range. */
const char *tide_action_name(int action);
const char *tide_category_name(int category);
const char *tide_certainty_name(int certainty);
const char *tide_scope_kind_name(int kind);
const char *tide_block_state_name(int state);

/* False for oom and mark, whose address is undefined. */
static inline bool tide_action_has_address(int action) {
    return action != TIDE_ACTION_OOM && action != TIDE_ACTION_MARK;
}

/* Whether the row is about a segment or a piece of one. */
static inline bool tide_action_is_of_segment(int action) {
    return action >= TIDE_ACTION_SEGMENT_ALLOC && action <= TIDE_ACTION_SEGMENT_UNMAP;
}

/* Whether such a row adds device memory to the allocator, or takes it away. */
static inline bool tide_action_gives_segment(int action) {
    return action == TIDE_ACTION_SEGMENT_ALLOC || action == TIDE_ACTION_SEGMENT_MAP;
}
static inline bool tide_action_takes_segment(int action) {
    return action == TIDE_ACTION_SEGMENT_FREE || action == TIDE_ACTION_SEGMENT_UNMAP;
}

/* The number of a name, or -1. */
int tide_action_from_name(const char *name);
int tide_category_from_name(const char *name);
/* The same for words that people write: a space may replace an underscore, as in "kv cache". */
int tide_category_from_words(const char *words);
int tide_scope_kind_from_name(const char *name);
int tide_block_state_from_name(const char *name);

#ifdef __cplusplus
}
#endif

#endif
