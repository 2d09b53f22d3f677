/* recorder.h - records every allocation and release with its call stack and scope.
 *
 * A recorder is given to a cache (cache.h), which appends the events; the program opens scopes. All
 * functions may be called from any thread. The log lies in anonymous memory or in a mapped file
 * that is reserved once, so appending never moves or copies it.
 */
#ifndef TIDE_RECORDER_RECORDER_H
#define TIDE_RECORDER_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"
#include "common/hostmem.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_recorder tide_recorder;

/* What happens to events when the log is full. Either way the rest is counted as dropped. */
typedef enum tide_full_policy {
    TIDE_FULL_STOP = 0,   /* keep the oldest events and drop later ones */
    TIDE_FULL_KEEP_NEWEST /* keep the newest events and overwrite the oldest */
} tide_full_policy;

typedef struct tide_recorder_config {
    const tide_hostmem *mem;      /* borrowed; outlives the recorder */
    size_t log_bytes;             /* bound of the event log, 48 bytes an event; the table of scopes
                                     may take as much again */
    tide_full_policy full_policy; /* default TIDE_FULL_KEEP_NEWEST */
    bool capture_stacks;          /* default true */
    int max_frames;               /* frames kept of a stack, 1..256: the innermost ones */
    /* The file for the log, which then survives the process. "%p" in it stands for the process ID.
     * log_bytes (at least 1 MiB) are reserved at once, and also hold the scopes, stacks and names;
     * docs/log-format.md has the format. NULL: the file that the environment variable TIDEMARK_LOG
     * names, if it is set. "": always anonymous memory. A process made by fork() must not use the
     * recorder. */
    const char *log_path;
    /* Bytes from one row of the log to the next, at least 48 and at most 64: what lies behind a row
     * belongs to who writes it. Only with a log file. 0: 48. */
    size_t row_bytes;
} tide_recorder_config;

/* The defaults: 256 MiB of log, keep the newest, stacks of up to 128 frames. */
void tide_recorder_config_init(tide_recorder_config *config);

/* `config` NULL: the defaults. TIDE_IO: the log file cannot be made; what was at its path is
 * unharmed. A missing libunwind is no error: some stacks are then short
 * (tide_recorder_stacks_limited says why), or, on processors other than x86-64, there are none. The
 * caller destroys the recorder after every cache that uses it. */
TIDE_NODISCARD tide_status tide_recorder_create(const tide_recorder_config *config,
                                                tide_recorder **ret_recorder, tide_error *error);
void tide_recorder_destroy(tide_recorder *recorder);

/* Writes a text that describes the run to the log file, for its recovery: a key such as
 * "run.command" (docs/log-format.md lists them) and its value. The last value of a key counts. Does
 * nothing without a log file or with a NULL recorder. */
void tide_recorder_describe(tide_recorder *recorder, const char *key, const char *value);

/* NULL when stacks are recorded. Otherwise a message that says why not, valid until the recorder is
 * destroyed. */
const char *tide_recorder_stacks_missing(const tide_recorder *recorder);

/* NULL when every stack is followed to its end. Otherwise a message that says why some stacks, or
 * all, are not, valid until the recorder is destroyed. */
const char *tide_recorder_stacks_limited(const tide_recorder *recorder);

/* A scope: its row in the scope table. TIDE_NONE when nothing is recorded. */
typedef uint32_t tide_scope;

/* Opens a nested interval on the calling thread. The recorder keeps it, tools such as Nsight
 * Systems see it as an NVTX range, and with a tide_scope_times attached (scope_times.h) device
 * events mark its ends. `index` is a step or layer number, -1 for none; `name` is copied. With a
 * NULL recorder only the NVTX range is opened, and without a tool not even that. Cannot fail: when
 * there is no memory the scope is TIDE_NONE and counts as dropped. */
tide_scope tide_scope_begin(tide_recorder *recorder, tide_scope_kind kind, const char *name,
                            int32_t index);
/* Closes `scope` and whatever is still open inside it on this thread. */
void tide_scope_end(tide_recorder *recorder, tide_scope scope);

/* The same for a scope whose NVTX range has a name of its own, for readers of traces. */
tide_scope tide_scope_begin_as(tide_recorder *recorder, tide_scope_kind kind, const char *name,
                               int32_t index, const char *range_name);

/* An NVTX range alone, around scopes, which no recording has. The end must follow the ends of all
 * scopes that began inside it; it ends what a failed call left open inside it, too. */
void tide_range_begin(const char *name);
void tide_range_end(void);

/* ns since the recorder was created. */
int64_t tide_recorder_now_ns(const tide_recorder *recorder);

/* Everything recorded so far, as plain tables that the caller owns. */
typedef struct tide_recording {
    const tide_hostmem *mem; /* borrowed; what the arrays came from */
    tide_event *events;      /* oldest first */
    size_t n_events;
    uint64_t n_dropped;           /* events the log had no room for */
    tide_full_policy full_policy; /* which events these are */
    bool has_newest;              /* the last of them is the last that happened */
    /* What was alive before the first event: the alloc rows of blocks and segments, in no order.
     * The action is free_requested for a block whose release had been requested by then. */
    tide_event *base;
    size_t n_base;
    tide_scope_row *scopes; /* in the order in which they began */
    size_t n_scopes;
    uint64_t n_scopes_dropped; /* scopes that could not be opened */
    tide_kernel_row *kernels;  /* what a kernel trace added up (kernel_trace.h) */
    size_t n_kernels;
    char **strings; /* numbers in events and scopes refer to these; each owned */
    size_t n_strings;
    /* Stack i is pcs[stack_first[i]] .. pcs[stack_first[i + 1] - 1]: return addresses, innermost
     * first. */
    uint64_t *pcs;
    size_t *stack_first; /* n_stacks + 1 entries */
    size_t n_stacks;
    tide_stream_row *streams; /* the tables' stream numbers refer to these */
    size_t n_streams;
    int64_t created_unix_us;  /* when the recorder was created: time 0 of the rows */
    const char *clock_source; /* of all times: "monotonic", or "tsc": the processor's counter
                                 between readings of the monotonic clock; a static text */
    /* How far device times of scopes may be off the recorder's clock, in ns (scope_times.h). -1:
     * there are none, or it is not known. */
    int64_t device_uncertainty_ns;
} tide_recording;

/* A consistent copy. TIDE_NO_MEMORY leaves nothing behind. Use tide_cache_copy_state (cache.h) to
 * get the events and the segments of one and the same instant. */
TIDE_NODISCARD tide_status tide_recorder_copy(tide_recorder *recorder, const tide_hostmem *mem,
                                              tide_recording *ret_recording, tide_error *error);
void tide_recording_fini(tide_recording *recording);

/* Figures of the log so far. */
typedef struct tide_recorder_stats {
    uint64_t n_events; /* appended, dropped ones included */
    uint64_t n_dropped;
    size_t n_scopes;    /* opened so far */
    size_t n_stacks;    /* distinct call stacks */
    size_t depot_bytes; /* memory used for stacks */
    size_t max_events;  /* rows that the log has room for */
} tide_recorder_stats;
void tide_recorder_get_stats(tide_recorder *recorder, tide_recorder_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
