/* recover.h - turns the log file of a process that has ended into a snapshot.
 *
 * The file is untrusted: it may end anywhere and contain anything. Intact parts are read; damaged
 * ones are counted and left out. docs/reference/log-format.md specifies the file.
 */
#ifndef TIDE_CAPTURE_RECOVER_H
#define TIDE_CAPTURE_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The recovered parts of the log, and the lost ones. */
typedef struct tide_recover_report {
    bool is_closed;      /* the recorder was destroyed: the log is complete */
    bool is_live;        /* a process still writes it; this is its state a moment ago */
    uint64_t process_id; /* of the writer */
    uint64_t n_events;   /* recovered */
    /* Events that were not recovered: */
    uint64_t n_dropped;  /* the log was full */
    uint64_t n_missing;  /* rows beyond the end of the file */
    uint64_t n_damaged;  /* rows with impossible contents */
    uint64_t n_unfit;    /* rows and blocks that contradict the ones before them */
    uint64_t n_unpaired; /* rows after a pause of the recording: their counterparts may be
                            missing */
    /* Impossible counters of the log. Their figures are derived from the rest of the file: */
    uint64_t n_counters_damaged;       /* all of these */
    uint64_t n_event_counters_damaged; /* of these, counters of lost events */
    uint64_t n_scope_counters_damaged; /* of these, counters of lost scopes */
    /* What events refer to: */
    uint64_t n_base_missing;        /* rows of the state before the first event */
    uint64_t n_scopes_refused;      /* the table was full */
    uint64_t n_scopes_missing;      /* rows beyond the end of the file */
    uint64_t n_scopes_damaged;      /* rows that were repaired */
    uint64_t n_records_refused;     /* the journal was full */
    uint64_t n_records_damaged;     /* places in the journal with a wrong checksum */
    uint64_t journal_missing_bytes; /* beyond the end of the file */
    uint64_t n_references_lost;     /* stacks, names, scopes and streams that rows refer to but the
                                       journal lacks */
    size_t n_modules;               /* programs and libraries with code in the call stacks */
    size_t n_modules_absent;        /* of these, those whose file is missing now */
} tide_recover_report;

/* What the header of a log states of its writer. TIDE_IO: it cannot be read; TIDE_FORMAT: it is no
 * log. */
typedef struct tide_recover_head {
    int64_t process; /* that writes it, or wrote it */
    bool is_closed;  /* the process ended by itself */
    bool is_empty;   /* it has written no event */
} tide_recover_head;
TIDE_NODISCARD tide_status tide_recover_look(const char *path, tide_recover_head *ret,
                                             tide_error *error);

/* TIDE_FORMAT if it is not a log or nothing in it can be read; TIDE_UNSUPPORTED if it was written
 * by a newer version or another kind of machine; TIDE_LIMIT if it exceeds the limits of a snapshot.
 * `mem` NULL: default heap. The caller destroys the snapshot. */
TIDE_NODISCARD tide_status tide_recover(const char *path, const tide_hostmem *mem,
                                        tide_snapshot **ret_snapshot,
                                        tide_recover_report *ret_report, tide_error *error);

/* The data after an event in a log of another program's recording (programs/live/). Texts are
 * strings of the snapshot; TIDE_NONE: none. */
typedef struct tide_recover_extra {
    uint32_t sequence; /* from autograd: of the running node, or of the next one */
    uint32_t node;     /* class of the running node; mangled as in C++ */
    uint32_t module;   /* path of the innermost module being called */
    uint16_t pool;     /* number of a private pool; 0: none */
    uint16_t thread;
    uint8_t mode; /* of autograd: tide_autograd_mode */
} tide_recover_extra;

/* An occurrence between two events. */
typedef struct tide_recover_mark {
    size_t n_before; /* events of the snapshot before it */
    int64_t time_ns;
    const char *name; /* "step begins" */
    uint64_t number;  /* for marks that may begin a step: the number of earlier marks of this
                         name */
} tide_recover_mark;

/* The label of the block at the address after n_before events. */
typedef struct tide_recover_label {
    size_t n_before;
    uint64_t address;
    const char *category;
    const char *name; /* "" unknown */
    int certainty;    /* 1 by rule, 2 named */
} tide_recover_label;

/* A call of the driver or the runtime. */
typedef struct tide_recover_call {
    size_t n_before;
    tide_event row;       /* address, bytes, device, time; its stack is numbered as in the log */
    int action;           /* 0, 2, 4: memory allocated on the device, pinned, and without an
                             address; the number after each: its release */
    const char *function; /* "cudaMalloc" */
    const char *owner;    /* "PyTorch" */
} tide_recover_call;

typedef struct tide_recover_text {
    const char *key, *value;
} tide_recover_text;

/* All of it is in the snapshot's arena. */
typedef struct tide_recover_notes {
    const tide_recover_extra *extras; /* of the snapshot's events; NULL: another log */
    const tide_recover_mark *marks;
    size_t n_marks;
    const tide_recover_label *labels; /* by n_before */
    size_t n_labels;
    const tide_recover_call *calls; /* those before the first event first */
    size_t n_calls;
    const uint64_t (*pools)[2]; /* by number - 1 */
    size_t n_pools;
    bool is_of_pytorch; /* its allocator has reported events; else they are calls of CUDA */
    int pinned_device;  /* of events: pinned memory of the host; -1: none */
    const tide_recover_text *texts; /* the last value of a key is valid */
    size_t n_texts;
} tide_recover_notes;

/* The same, with the other data of such a log, which may have no events. */
TIDE_NODISCARD tide_status tide_recover_with_notes(const char *path, const tide_hostmem *mem,
                                                   tide_snapshot **ret_snapshot,
                                                   tide_recover_report *ret_report,
                                                   tide_recover_notes *ret_notes,
                                                   tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
