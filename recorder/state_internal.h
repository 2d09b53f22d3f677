/* state_internal.h - what a recorder consists of, shared by its source files alone.
 *
 * Three locks: the log's, which is the cache's too, the strings' and the scopes'. The latter two
 * are never held together, and nothing else is locked while one of them is held.
 */
#ifndef TIDE_RECORDER_STATE_INTERNAL_H
#define TIDE_RECORDER_STATE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "recorder/event_log.h"
#include "recorder/journal_internal.h"
#include "recorder/kernel_trace.h"
#include "common/lock_friend.h"
#include "recorder/log_file_internal.h"
#include "recorder/recorder.h"
#include "recorder/recorder_friend.h"
#include "recorder/scope_times.h"
#include "stack/depot.h"
#include "stack/unwinder.h"
#include "common/strings.h"
#include "common/tick_clock_friend.h"

enum { TIDE_MAX_STREAMS = 255, TIDE_REASON_TEXT = 512 };

/* What a recorder knows about one thread. Only that thread reads and writes `innermost`. */
typedef struct tide_recorder_thread {
    struct tide_recorder_thread *next; /* owned list; newest first */
    const void *address;               /* of the thread's own cache: with birth_ns its identity */
    int64_t birth_ns;   /* when that cache was first used: another thread may get the address */
    uint32_t innermost; /* open scope, or TIDE_NONE */
    uint16_t number;    /* 0, 1, 2, ...; threads beyond the range share the last */
} tide_recorder_thread;

struct tide_recorder {
    const tide_hostmem *mem; /* borrowed */
    tide_recorder_config config;
    int64_t created_ns; /* CLOCK_MONOTONIC; time 0 of all rows, and with the address the identity */
    tide_tick_clock clock; /* who holds the log's lock may anchor it */
    int64_t created_unix_us;

    atomic_bool is_paused; /* nothing is written down */

    tide_unwinder *unwinder;               /* owned; NULL: no stacks are captured */
    char stacks_missing[TIDE_REASON_TEXT]; /* "" when stacks are captured */
    tide_stack_depot *depot;               /* owned; has its own lock */

    bool has_file;         /* the log lies in one */
    tide_log_file file;    /* valid then */
    tide_journal *journal; /* owned; into that file; NULL: there is none */

    unsigned char apart[TIDE_LINES_APART]; /* unused: what stands above is read without a lock */
    tide_lock log_lock; /* guards log, last_ns, streams, n_streams and is_claimed */
    tide_event_log log;
    int64_t last_ns; /* time of the newest row: none is earlier */
    tide_stream_row streams[TIDE_MAX_STREAMS];
    size_t n_streams;
    bool is_claimed; /* a cache records here */

    unsigned char apart_too[TIDE_LINES_APART]; /* unused */
    pthread_mutex_t strings_lock;              /* guards strings */
    tide_strings strings;

    pthread_mutex_t scopes_lock; /* guards everything below */
    tide_scope_row *scopes;      /* owned, or in the file; n_scopes of scopes_capacity */
    size_t n_scopes;
    size_t scopes_capacity;
    size_t max_scopes; /* the table takes no more bytes than the event log may */
    uint64_t n_scopes_dropped;
    tide_recorder_thread *threads; /* owned */
    size_t n_threads;
    tide_scope_times *times;            /* borrowed; NULL: no scope is timed on the device */
    const tide_recorder_thread *timed;  /* whose scopes `times` takes */
    int64_t device_uncertainty_ns;      /* of the scopes' device times; -1: not stated */
    tide_kernel_trace *trace;           /* borrowed; NULL: no kernels are traced */
    const tide_recorder_thread *traced; /* whose scopes `trace` takes */
    tide_kernel_row *kernels;           /* owned; n_kernels of kernels_capacity */
    size_t n_kernels;
    size_t kernels_capacity;
    tide_map kernel_rows; /* path << 32 | name -> row of kernels */
};

static inline bool tide_recorder_is_paused(tide_recorder *recorder) {
    return atomic_load_explicit(&recorder->is_paused, memory_order_relaxed);
}

/* The calling thread's innermost open scope, or TIDE_NONE. Takes no lock when the thread used this
 * recorder lately. */
uint32_t tide_recorder_innermost(tide_recorder *recorder);

/* The string's number; TIDE_NONE for NULL and when there is no memory. */
uint32_t tide_recorder_intern(tide_recorder *recorder, const char *text);

/* The same for a name that the calling thread is likely to have given before. */
uint32_t tide_recorder_name(tide_recorder *recorder, const char *name);

void tide_recorder_scopes_fini(tide_recorder *recorder);
void tide_recorder_kernels_fini(tide_recorder *recorder);

#endif
