/* state_internal.h - the parts of a recorder, only for its own source files.
 *
 * There are three locks: the log's, which is also the cache's, the strings', and the scopes'. The
 * strings' and the scopes' locks are never held together. Only the journal's lock is taken under
 * one of the three.
 */
#ifndef TIDE_RECORDER_STATE_INTERNAL_H
#define TIDE_RECORDER_STATE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/lock_friend.h"
#include "common/text/strings.h"
#include "common/tick_clock_friend.h"
#include "recorder/event_log.h"
#include "recorder/journal_internal.h"
#include "recorder/kernel_trace.h"
#include "recorder/log_file_internal.h"
#include "recorder/recorder.h"
#include "recorder/recorder_friend.h"
#include "recorder/scope_times.h"
#include "stack/depot.h"
#include "stack/unwinder.h"

enum { TIDE_MAX_STREAMS = 255, TIDE_REASON_TEXT = 512 };

/* A recorder's state of one thread. Only that thread reads and writes `innermost`. */
typedef struct tide_recorder_thread {
    struct tide_recorder_thread *next; /* owned list; newest first */
    const void *address; /* of the thread's cache (scopes.c); with birth_ns its identity */
    int64_t birth_ns; /* when that cache was first used: a later thread may get the same address */
    struct tide_name_cache *names; /* owned; NULL: no names yet (names.c) */
    uint32_t innermost;            /* open scope, or TIDE_NONE */
    bool is_numbered;              /* it has had a scope */
    uint16_t number; /* 0, 1, 2, ...; threads beyond the range share the last number */
} tide_recorder_thread;

struct tide_recorder {
    const tide_hostmem *mem; /* borrowed */
    tide_recorder_config config;
    int64_t created_ns; /* CLOCK_MONOTONIC; time 0 of all rows, and with the address the identity */
    tide_tick_clock clock; /* anchored only under the log's lock */
    int64_t created_unix_us;

    atomic_bool is_paused; /* nothing is recorded */

    tide_unwinder *unwinder;               /* owned; NULL: no stacks are captured */
    char stacks_missing[TIDE_REASON_TEXT]; /* "" when stacks are captured */
    tide_stack_depot *depot;               /* owned; has its own lock */

    bool has_file;         /* the log is in a file */
    tide_log_file file;    /* valid if has_file */
    tide_journal *journal; /* owned; in that file; NULL without one */

    /* Unused. The fields above are read without a lock, on every request; the fields below are
     * written under it. In one cache line, each write would take the line away from all readers. */
    unsigned char apart[TIDE_LINES_APART];
    tide_lock log_lock; /* guards log, last_ns, streams, n_streams and is_claimed */
    tide_event_log log;
    int64_t last_ns; /* time of the newest row; the next one is not earlier */
    tide_stream_row streams[TIDE_MAX_STREAMS];
    size_t n_streams;
    bool is_claimed; /* a cache records here, or did once */

    unsigned char apart_too[TIDE_LINES_APART]; /* unused, for the same reason */
    pthread_mutex_t strings_lock;              /* guards strings */
    tide_strings strings;

    pthread_mutex_t scopes_lock; /* guards everything below */
    tide_scope_row *scopes;      /* owned, or in the file; n_scopes of scopes_capacity */
    size_t n_scopes;
    size_t scopes_capacity;
    size_t max_scopes; /* limits the table to the size of the event log */
    uint64_t n_scopes_dropped;
    tide_recorder_thread *threads; /* owned */
    size_t n_threads;
    tide_scope_times *times;            /* borrowed; NULL: no scope is timed on the device */
    const tide_recorder_thread *timed;  /* the thread whose scopes are timed */
    int64_t device_uncertainty_ns;      /* of the scopes' device times; -1: not stated */
    tide_kernel_trace *trace;           /* borrowed; NULL: no kernels are traced */
    const tide_recorder_thread *traced; /* the thread whose kernels are traced */
    tide_kernel_row *kernels;           /* owned; n_kernels of kernels_capacity */
    size_t n_kernels;
    size_t kernels_capacity;
    tide_map kernel_rows; /* path << 32 | name -> row of kernels */
};

static inline bool tide_recorder_is_paused(tide_recorder *recorder) {
    return atomic_load_explicit(&recorder->is_paused, memory_order_relaxed);
}

/* The calling thread's innermost open scope, or TIDE_NONE. Takes no lock when the thread has used
 * this recorder recently. */
uint32_t tide_recorder_innermost(tide_recorder *recorder);

/* The recorder's state of the calling thread; NULL without memory. Takes no lock when the thread
 * has used this recorder recently. */
tide_recorder_thread *tide_recorder_this_thread(tide_recorder *recorder);

/* Like tide_recorder_intern, but takes no lock for a name that the calling thread has used
 * before. */
uint32_t tide_recorder_name(tide_recorder *recorder, const char *name);

void tide_recorder_scopes_fini(tide_recorder *recorder);
void tide_recorder_kernels_fini(tide_recorder *recorder);

#endif
