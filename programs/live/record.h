/* record.h - the recording of this process, into which all observers write their rows.
 *
 * The log is opened at the first call of CUDA that allocates memory, if the environment asks for
 * it:
 *
 *   TIDEMARK_LIVE         the log's path; %p is the process id. Absent: nothing is recorded
 *   TIDEMARK_LIVE_BYTES   room for the log; default 256 MiB
 *   TIDEMARK_LIVE_FULL    keep-newest (default) or stop: what happens when it is full
 *   TIDEMARK_LIVE_STACKS  python (default), native, both or none
 *   TIDEMARK_LIVE_EVERY   N: whole stacks in every Nth step only; default 1
 *   TIDEMARK_LIVE_ON_OOM  1: each request that failed adds a byte to PID.oom in the run's folder
 *   TIDEMARK_LIVE_DRIVER  0: calls of the driver and the runtime get no rows
 *
 * or if it asks for a black box (box/black_box.h), which uses the last but two as well.
 *
 * The program never sees a failure of the recording: missing data are noted in the log, or in one
 * line on stderr if there is no log. All functions may be called from any thread, also while
 * PyTorch holds its locks.
 */
#ifndef TIDE_LIVE_RECORD_H
#define TIDE_LIVE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "recorder/log_call.h"

/* Called by every stand-in before the real function: opens the log at the first call, and attaches
 * to PyTorch's allocator as soon as it exists. */
void tide_live_before_call(void);

/* The process is about to end: marks the log as complete. */
void tide_live_finish(void);

/* An event of PyTorch's allocator. */
typedef struct tide_live_entry {
    int action; /* tide_action; adjacent free_requested and free_completed become one row */
    uint8_t device;
    uint64_t address;
    uint64_t n_bytes;    /* requested; for a segment, its own size */
    uint64_t free_bytes; /* for an oom: the free memory of the device */
    uint64_t stream;     /* native handle */
    uint64_t pool[2];    /* of a private pool; 0, 0 if none */
    uint64_t sequence;   /* tide_live_row */
    unsigned mode;       /* tide_autograd_mode */
    const char *node;    /* class of the running autograd node; NULL if none */
    const char *name;    /* of a mark; NULL */
} tide_live_entry;
void tide_live_record(const tide_live_entry *entry);

/* Whether the stack, the module and the node of such an event are recorded. In a black box, frees
 * have none: no cause is found from them, and they are every second row. */
bool tide_live_has_place(int action);

/* Writes a row that marks this instant. */
void tide_live_mark(const char *name);

/* A call of the runtime or of the driver that allocated or freed memory. */
typedef struct tide_live_driver_call {
    tide_log_call action;
    uint8_t device;
    uint64_t address; /* or handle */
    uint64_t n_bytes;
    uint64_t free_bytes;  /* for a refusal: the free memory of the device */
    const char *function; /* "cudaMalloc"; a static text */
    const char *owner;    /* the memory's owner: "PyTorch", "NCCL", "libfoo.so" */
} tide_live_driver_call;
void tide_live_record_driver(const tide_live_driver_call *call);

/* Whether rows are being written. */
bool tide_live_is_open(void);

/* Describes the run with a text, as in tide_recorder_describe. */
void tide_live_describe(const char *key, const char *value);

/* Describes the block at the address from this instant on. Texts are numbers of tide_live_text. */
typedef struct tide_live_label_row {
    uint64_t address;
    uint32_t category;
    uint32_t name; /* TIDE_NONE if there is none */
    int certainty; /* tide_certainty */
} tide_live_label_row;
void tide_live_label(const tide_live_label_row *label);

/* The number of a text; TIDE_NONE for NULL, while nothing is recorded, and without memory. */
uint32_t tide_live_text(const char *text);

#endif
