/* log_format_friend.h - the event log as a file: its header and the records of its journal.
 * docs/reference/log-format.md specifies the format, log_file_internal.h writes it,
 * capture/recover.h reads it.
 *
 * The file has the byte order and the structs of the writer's memory, because it is that memory. A
 * header is followed by four areas at the offsets that it states: journal, scopes, base, events.
 */
#ifndef TIDE_RECORDER_LOG_FORMAT_FRIEND_H
#define TIDE_RECORDER_LOG_FORMAT_FRIEND_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/event.h"

#define TIDE_LOG_MAGIC "TIDELOG\n"
#define TIDE_LOG_BYTE_ORDER UINT32_C(0x01020304)  /* as the writer stores it */
#define TIDE_LOG_RECORD_MARK UINT32_C(0x4a524454) /* "TDRJ" on a little-endian machine */
#define TIDE_LOG_NEVER UINT64_MAX

enum {
    TIDE_LOG_VERSION = 1,
    TIDE_LOG_HEADER_BYTES = 4096, /* room for the struct below; the journal follows */
    TIDE_LOG_COUNTERS_AT = 256,   /* offset of the counters in the header */
    TIDE_LOG_MAX_PAYLOAD = 65536  /* of a record of the journal */
};

/* Where the areas are. Written once, before the file gets its name. */
typedef struct tide_log_layout {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint32_t event_bytes; /* of a row: sizeof(tide_event), or sizeof(tide_live_row) */
    uint32_t scope_bytes; /* sizeof(tide_scope_row) */
    uint32_t byte_order;
    uint32_t full_policy;     /* tide_full_policy */
    uint64_t file_bytes;      /* of the whole file */
    uint64_t journal_offset;  /* from the file's first byte, as are all offsets */
    uint64_t journal_bytes;   /* room for records */
    uint64_t scopes_offset;   /* of max_scopes tide_scope_row */
    uint64_t max_scopes;      /* rows */
    uint64_t base_offset;     /* of max_base such rows */
    uint64_t max_base;        /* rows */
    uint64_t events_offset;   /* of max_events such rows */
    uint64_t max_events;      /* rows */
    int64_t created_unix_us;  /* by the host's calendar */
    int64_t created_clock_ns; /* CLOCK_MONOTONIC; time 0 of all rows */
    uint64_t process_id;      /* of the writer */
    uint32_t reserved;        /* 0 */
    uint32_t checksum;        /* CRC-32 of everything before it */
} tide_log_layout;

/* A full ring folds this many of its oldest rows together, and then keeps as many fewer until it is
 * full again. A fold for each new row reads a cold row each time: that took 113 us of a training
 * step of 7 ms, and 13 us together. */
static inline uint64_t tide_log_fold_rows(uint64_t max_events) {
    const uint64_t most = 1024, share = max_events / 512;
    return share < 1 ? 1 : share < most ? share : most;
}

/* How far each area is filled. A counter is raised after the counted item has been written, so the
 * process may be killed between any two instructions. */
typedef struct tide_log_counters {
    /* Events ever written. Those from n_folded on are kept, event i in row i % max_events. */
    _Atomic(uint64_t) n_written;
    _Atomic(uint64_t) n_folded;         /* overwritten; the base holds the blocks they left alive */
    _Atomic(uint64_t) n_refused;        /* events that arrived after the log had stopped */
    _Atomic(uint64_t) n_base_used;      /* rows of the base that were ever used */
    _Atomic(uint64_t) n_scopes;         /* rows */
    _Atomic(uint64_t) n_scopes_refused; /* scopes that did not fit */
    _Atomic(uint64_t) journal_used_bytes;
    _Atomic(uint64_t) n_records_refused; /* records that did not fit into the journal */
    _Atomic(uint64_t) paused_at;         /* first event after a pause; TIDE_LOG_NEVER: no pause */
    _Atomic(uint64_t) is_closed;         /* 1: the recorder was destroyed; the log is complete */
} tide_log_counters;

typedef struct tide_log_header {
    tide_log_layout layout;
    unsigned char padding[TIDE_LOG_COUNTERS_AT - sizeof(tide_log_layout)]; /* 0 */
    tide_log_counters counters;
} tide_log_header;

/* A record of the journal, at a multiple of 8 bytes; its payload follows, padded to 8 bytes. */
typedef struct tide_log_record {
    uint32_t mark;     /* TIDE_LOG_RECORD_MARK */
    uint32_t kind;     /* tide_log_record_kind; others are skipped */
    uint32_t n_bytes;  /* of the payload without padding; TIDE_LOG_MAX_PAYLOAD at most */
    uint32_t checksum; /* CRC-32 of kind, n_bytes and payload */
} tide_log_record;

typedef enum tide_log_record_kind {
    TIDE_LOG_TEXT = 1, /* two texts with their NULs: a key and its value */
    TIDE_LOG_STRING,   /* tide_log_numbered, then the text without NUL */
    TIDE_LOG_STACK,    /* tide_log_numbered, then return addresses of 8 bytes, innermost first */
    TIDE_LOG_STREAM,   /* tide_log_stream */
    TIDE_LOG_MODULE,   /* tide_log_module, then build-id, then the path with its NUL */
    TIDE_LOG_PYTHON_FRAME, /* tide_log_python_frame */
    TIDE_LOG_POOL          /* tide_log_pool */
} tide_log_record_kind;

typedef struct tide_log_numbered {
    uint32_t number;
    uint32_t reserved; /* 0 */
} tide_log_numbered;

typedef struct tide_log_stream {
    uint32_t number;
    uint32_t device;
    uint64_t handle; /* native */
} tide_log_stream;

/* Code that was loaded when the record was written. */
typedef struct tide_log_module {
    uint64_t bias;           /* address in memory minus address in the file */
    uint64_t begin;          /* first address of its loaded parts */
    uint64_t end;            /* one past the last */
    uint64_t file_bytes;     /* of the file; 0: unknown */
    int64_t modified_s;      /* the file's time of modification, Unix; 0: unknown */
    uint32_t build_id_bytes; /* 0: no build-id */
    uint32_t reserved;       /* 0 */
} tide_log_module;

/* A Python frame. In stacks its number, with TIDE_LOG_PYTHON_BIT set, takes the place of a code
 * address. */
typedef struct tide_log_python_frame {
    uint32_t number;
    uint32_t line;     /* 0: unknown */
    uint32_t file;     /* string */
    uint32_t function; /* string: its qualified name */
} tide_log_python_frame;

#define TIDE_LOG_PYTHON_BIT (UINT64_C(1) << 63)

/* A private pool of PyTorch. */
typedef struct tide_log_pool {
    uint32_t number;   /* from 1 on */
    uint32_t reserved; /* 0 */
    uint64_t id[2];    /* as PyTorch numbers it */
} tide_log_pool;

/* The action of a row that labels the live block at its address: `name` is the tensor's name,
 * `node` the string of the category, and `category` its certainty (tide_certainty). */
enum { TIDE_LOG_LABEL_ACTION = 31 };

/* Rows about calls of the driver have actions from this one on: plus an even number for allocated
 * memory, plus an odd one for freed memory (tide_log_call). */
enum { TIDE_LOG_DRIVER_FIRST = 32 };

enum { TIDE_LOG_POOL_BITS = 13 }; /* of tide_live_row.pool; the mode follows */

/* A row of a log that programs/live/ wrote. */
typedef struct tide_live_row {
    tide_event event;  /* its block_bytes repeats requested_bytes of a block: the reader computes
                          the size of the block */
    uint32_t sequence; /* from autograd: the number of the running node, or of the next one */
    uint32_t node;     /* string: class of the running node; in a driver's row, the owner; in a
                          label, the category */
    uint32_t module;   /* string: path of the innermost module being called */
    uint16_t pool;     /* number of a private pool; 0: none; in the high bits, tide_autograd_mode */
    uint16_t thread;   /* 0, 1, ... in the order of their first rows */
} tide_live_row;

_Static_assert(sizeof(tide_live_row) == 64, "rows of the file");
_Static_assert(sizeof(tide_event) == 48, "rows of the file");
_Static_assert(sizeof(tide_scope_row) == 48, "rows of the file");
_Static_assert(sizeof(tide_log_layout) == 136, "part of the file");
_Static_assert(sizeof(tide_log_counters) == 80, "part of the file");
_Static_assert(sizeof(tide_log_header) <= TIDE_LOG_HEADER_BYTES, "it fits its place");

#endif
