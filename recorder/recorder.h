/* recorder.h - records every allocation and release with its call stack and scope.
 *
 * A cache (cache.h) uses a recorder and appends the events; the program opens scopes. All functions
 * may be called from any thread. The log is in anonymous memory or in a mapped file and is reserved
 * once, so appending never moves or copies it.
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

/* What happens to events when the log is full. Either way, the lost events are counted as
 * dropped. */
typedef enum tide_full_policy {
    TIDE_FULL_STOP = 0,   /* keep the oldest events and drop later ones */
    TIDE_FULL_KEEP_NEWEST /* keep the newest events and overwrite the oldest */
} tide_full_policy;

typedef struct tide_recorder_config {
    const tide_hostmem *mem;      /* borrowed; outlives the recorder */
    size_t log_bytes;             /* limit of the event log, 48 bytes an event; the table of scopes
                                     may use as much again */
    tide_full_policy full_policy; /* default TIDE_FULL_KEEP_NEWEST */
    bool capture_stacks;          /* default true */
    int max_frames;               /* frames kept of a stack, 1..256: the innermost */
    /* The file for the log, which then survives the process. "%p" in it is replaced by the process
     * ID. log_bytes (at least 1 MiB) are reserved immediately, and also hold the scopes, stacks and
     * names; docs/reference/log-format.md describes the format. NULL: the file that the environment
     * variable TIDEMARK_LOG names, if it is set. "": always anonymous memory. A forked process must
     * not use the recorder. */
    const char *log_path;
    /* Bytes from one row of the log to the next, at least 48 and at most 64: the bytes after a row
     * belong to its writer. Only with a log file. 0: 48. */
    size_t row_bytes;
} tide_recorder_config;

/* The defaults: 256 MiB of log, keep the newest, stacks of up to 128 frames. */
void tide_recorder_config_init(tide_recorder_config *config);

/* `config` NULL: the defaults. TIDE_IO if the log file cannot be made; an older file at its path is
 * unharmed. A missing libunwind is not an error: glibc's backtrace() takes its place. Without that,
 * some stacks are short (tide_recorder_stacks_limited gives the reason) or, on processors other
 * than x86-64, missing. The caller destroys the recorder after every cache that uses it. */
TIDE_NODISCARD tide_status tide_recorder_create(const tide_recorder_config *config,
                                                tide_recorder **ret_recorder, tide_error *error);
void tide_recorder_destroy(tide_recorder *recorder);

/* Writes a text that describes the run to the log file, for its recovery: a key such as
 * "run.command" (docs/reference/log-format.md lists them) and its value. The last value of a key is
 * the valid one. Does nothing without a log file or with a NULL recorder. */
void tide_recorder_describe(tide_recorder *recorder, const char *key, const char *value);

/* NULL if stacks are recorded. Otherwise the reason why not, valid until the recorder is
 * destroyed. */
const char *tide_recorder_stacks_missing(const tide_recorder *recorder);

/* NULL if every stack is followed to its end. Otherwise the reason why some stacks, or all, are
 * not; valid until the recorder is destroyed. */
const char *tide_recorder_stacks_limited(const tide_recorder *recorder);

/* A scope: its row in the scope table. TIDE_NONE when nothing is recorded. */
typedef uint32_t tide_scope;

/* Opens a nested interval on the calling thread. The recorder keeps it, tools such as Nsight
 * Systems see it as an NVTX range, and with a tide_scope_times attached (scope_times.h) device
 * events mark its ends. `index` is a step or layer number, -1 for none; `name` is copied. With a
 * NULL recorder, only the NVTX range is opened, and only if a tool listens. Cannot fail: without
 * memory the scope is TIDE_NONE and counts as dropped. */
tide_scope tide_scope_begin(tide_recorder *recorder, tide_scope_kind kind, const char *name,
                            int32_t index);
/* Closes `scope` and all scopes still open inside it on this thread. */
void tide_scope_end(tide_recorder *recorder, tide_scope scope);

/* The same for a scope whose NVTX range has a name of its own, for readers of traces. */
tide_scope tide_scope_begin_as(tide_recorder *recorder, tide_scope_kind kind, const char *name,
                               int32_t index, const char *range_name);

/* Only an NVTX range, around scopes; it is not recorded. The end must follow the ends of all scopes
 * that began inside it; it also ends scopes that a failed call left open inside it. */
void tide_range_begin(const char *name);
void tide_range_end(void);

/* ns since the recorder was created. */
int64_t tide_recorder_now_ns(const tide_recorder *recorder);

/* Everything recorded so far, as plain tables, owned by the caller. */
typedef struct tide_recording {
    const tide_hostmem *mem; /* borrowed; the heap of the arrays */
    tide_event *events;      /* oldest first */
    size_t n_events;
    uint64_t n_dropped;           /* events for which the log had no room */
    tide_full_policy full_policy; /* which of the events these are */
    bool has_newest;              /* the last of them is the last event of the run */
    /* The alloc rows of the blocks and segments that were alive before the first event, in no
     * order. The action is free_requested for a block whose release had already been requested. */
    tide_event *base;
    size_t n_base;
    tide_scope_row *scopes; /* in the order in which they began */
    size_t n_scopes;
    uint64_t n_scopes_dropped; /* scopes that could not be opened */
    tide_kernel_row *kernels;  /* the sums of a kernel trace (kernel_trace.h) */
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
    /* The largest error of the scopes' device times against the recorder's clock, in ns
     * (scope_times.h). -1: no device times, or unknown. */
    int64_t device_uncertainty_ns;
} tide_recording;

/* A consistent copy. TIDE_NO_MEMORY leaves nothing to release. Use tide_cache_copy_state (cache.h)
 * to get the events and the segments of the same instant. */
TIDE_NODISCARD tide_status tide_recorder_copy(tide_recorder *recorder, const tide_hostmem *mem,
                                              tide_recording *ret_recording, tide_error *error);
void tide_recording_fini(tide_recording *recording);

/* Figures of the log up to now. */
typedef struct tide_recorder_stats {
    uint64_t n_events; /* appended, including dropped ones */
    uint64_t n_dropped;
    size_t n_scopes;    /* opened so far */
    size_t n_stacks;    /* distinct call stacks */
    size_t depot_bytes; /* memory used for stacks */
    size_t max_events;  /* capacity of the log in rows */
} tide_recorder_stats;
void tide_recorder_get_stats(tide_recorder *recorder, tide_recorder_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
