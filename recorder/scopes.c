/* scopes.c - named intervals.
 *
 * Each thread has its own chain of open scopes. A chain is linked through the parents of its rows,
 * and the recorder keeps the innermost scope of each thread.
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>

#include "common/assert.h"
#include "common/clock.h"
#include "recorder/kernel_trace_internal.h"
#include "recorder/nvtx_ranges_internal.h"
#include "recorder/recorder.h"
#include "recorder/scope_times_internal.h"
#include "recorder/state_internal.h"

enum { N_CACHED = 4 }; /* recorders that one thread uses in turn without taking a lock */

/* The recorders that this thread used last. The time of creation distinguishes a recorder from an
 * earlier one at the same address, whose state of this thread no longer exists. */
typedef struct thread_cache {
    int64_t birth_ns; /* first use by this thread; 0: not used yet */
    struct {
        const tide_recorder *recorder; /* never dereferenced; NULL: empty */
        int64_t created_ns;            /* of the recorder */
        tide_recorder_thread *thread;  /* owned by that recorder */
    } entries[N_CACHED];
    unsigned next; /* entry to replace */
} thread_cache;

static _Thread_local thread_cache cache;

static tide_recorder_thread *find_cached(const tide_recorder *recorder) {
    for (size_t i = 0; i < N_CACHED; i++) {
        if (cache.entries[i].recorder == recorder &&
            cache.entries[i].created_ns == recorder->created_ns) {
            return cache.entries[i].thread;
        }
    }
    return NULL;
}

/* Called under the scopes lock. NULL: this thread has not opened a scope of this recorder. A later
 * thread may have the address of an earlier one's cache, so the time of birth is also compared. */
static tide_recorder_thread *find_listed(const tide_recorder *recorder) {
    tide_recorder_thread *thread = recorder->threads;
    while (thread != NULL && (thread->address != &cache || thread->birth_ns != cache.birth_ns)) {
        thread = thread->next;
    }
    return thread;
}

static void remember(const tide_recorder *recorder, tide_recorder_thread *thread) {
    unsigned entry = cache.next;
    cache.entries[entry].recorder = recorder;
    cache.entries[entry].created_ns = recorder->created_ns;
    cache.entries[entry].thread = thread;
    cache.next = (entry + 1) % N_CACHED;
}

/* Called under the scopes lock: the calling thread's state, made at its first use; NULL without
 * memory. */
static tide_recorder_thread *entry_of(tide_recorder *recorder) {
    tide_recorder_thread *thread = find_cached(recorder);
    if (thread != NULL) {
        return thread;
    }
    if (cache.birth_ns == 0) {
        cache.birth_ns = tide_clock_now_ns();
    }
    thread = find_listed(recorder);
    if (thread == NULL) {
        thread = tide_hostmem_zeroed(recorder->mem, 1, sizeof(*thread));
        if (thread == NULL) {
            return NULL;
        }
        *thread = (tide_recorder_thread){.next = recorder->threads,
                                         .address = &cache,
                                         .birth_ns = cache.birth_ns,
                                         .innermost = TIDE_NONE};
        recorder->threads = thread;
    }
    remember(recorder, thread);
    return thread;
}

/* The same for a thread that has scopes: it gets a number. */
static tide_recorder_thread *thread_of(tide_recorder *recorder) {
    tide_recorder_thread *thread = entry_of(recorder);
    if (thread != NULL && !thread->is_numbered) {
        size_t number = recorder->n_threads < UINT16_MAX ? recorder->n_threads : UINT16_MAX;
        thread->number = (uint16_t)number;
        thread->is_numbered = true;
        recorder->n_threads++;
    }
    return thread;
}

tide_recorder_thread *tide_recorder_this_thread(tide_recorder *recorder) {
    tide_recorder_thread *thread = find_cached(recorder);
    if (thread == NULL) {
        pthread_mutex_lock(&recorder->scopes_lock);
        thread = entry_of(recorder);
        pthread_mutex_unlock(&recorder->scopes_lock);
    }
    return thread;
}

uint32_t tide_recorder_innermost(tide_recorder *recorder) {
    tide_recorder_thread *thread = find_cached(recorder);
    if (thread == NULL && cache.birth_ns != 0) {
        pthread_mutex_lock(&recorder->scopes_lock);
        thread = find_listed(recorder);
        pthread_mutex_unlock(&recorder->scopes_lock);
        if (thread != NULL) {
            remember(recorder, thread);
        }
    }
    return thread == NULL ? TIDE_NONE : thread->innermost;
}

/* Called under the scopes lock. TIDE_NONE without memory or if the table is full. */
static tide_scope append_scope(tide_recorder *recorder, tide_recorder_thread *thread,
                               tide_scope_row row) {
    if (thread == NULL || recorder->n_scopes >= recorder->max_scopes) {
        return TIDE_NONE;
    }
    tide_scope_row *scopes =
        tide_hostmem_grow(recorder->mem, recorder->scopes, &recorder->scopes_capacity,
                          recorder->n_scopes + 1, sizeof(*scopes));
    if (scopes == NULL) {
        return TIDE_NONE;
    }
    recorder->scopes = scopes; /* it may have moved */
    TIDE_ASSERT(!recorder->has_file || scopes == recorder->file.scopes);
    TIDE_ASSERT(thread->innermost == TIDE_NONE || thread->innermost < recorder->n_scopes);
    row.begin_ns = tide_recorder_now_ns(recorder);
    /* The clock may step back a little when no row has anchored it for long (tick_clock_friend.h).
     */
    if (recorder->n_scopes > 0 && row.begin_ns < scopes[recorder->n_scopes - 1].begin_ns) {
        row.begin_ns = scopes[recorder->n_scopes - 1].begin_ns;
    }
    row.parent = thread->innermost;
    row.thread = thread->number;
    scopes[recorder->n_scopes] = row;
    thread->innermost = (uint32_t)recorder->n_scopes++;
    if (recorder->has_file) {
        atomic_store_explicit(&recorder->file.header->counters.n_scopes, recorder->n_scopes,
                              memory_order_release);
    }
    return thread->innermost;
}

static tide_scope open_scope(tide_recorder *recorder, tide_scope_kind kind, const char *name,
                             int32_t index) {
    tide_scope_row row = {.duration_ns = -1,
                          .device_begin_ns = -1,
                          .device_duration_ns = -1,
                          .name = tide_recorder_name(recorder, name),
                          .index = index < 0 ? -1 : index,
                          .kind = (uint8_t)kind};
    tide_scope scope = TIDE_NONE;
    tide_scope_times *times = NULL;
    tide_kernel_trace *trace = NULL;
    pthread_mutex_lock(&recorder->scopes_lock);
    tide_recorder_thread *thread = thread_of(recorder);
    if (row.name != TIDE_NONE) {
        scope = append_scope(recorder, thread, row);
    }
    if (scope == TIDE_NONE) {
        recorder->n_scopes_dropped++;
        if (recorder->has_file) {
            atomic_store(&recorder->file.header->counters.n_scopes_refused,
                         recorder->n_scopes_dropped);
        }
    } else {
        times = recorder->timed == thread ? recorder->times : NULL;
        trace = recorder->traced == thread ? recorder->trace : NULL;
    }
    pthread_mutex_unlock(&recorder->scopes_lock);
    if (times != NULL) {
        tide_scope_times_begin(times, scope, kind);
    }
    if (trace != NULL) {
        tide_kernel_trace_push(trace, scope);
    }
    return scope;
}

tide_scope tide_scope_begin_as(tide_recorder *recorder, tide_scope_kind kind, const char *name,
                               int32_t index, const char *range_name) {
    tide_scope scope = TIDE_NONE;
    if (recorder != NULL && !tide_recorder_is_paused(recorder)) {
        scope = open_scope(recorder, kind, name, index);
    }
    if (tide_nvtx_is_heard()) {
        tide_nvtx_begin(recorder, scope, range_name, index);
    }
    return scope;
}

tide_scope tide_scope_begin(tide_recorder *recorder, tide_scope_kind kind, const char *name,
                            int32_t index) {
    name = name == NULL ? "" : name;
    return tide_scope_begin_as(recorder, kind, name, index, name);
}

/* The address stands in for a recorder, so no scope is mistaken for this range. */
static const char RANGE[] = "range";

void tide_range_begin(const char *name) {
    if (tide_nvtx_is_heard()) {
        tide_nvtx_begin((const tide_recorder *)(const void *)RANGE, TIDE_NONE, name, -1);
    }
}

void tide_range_end(void) {
    if (tide_nvtx_is_heard()) {
        tide_nvtx_end((const tide_recorder *)(const void *)RANGE, TIDE_NONE);
    }
}

/* Whether `scope` is open on this thread, that is, in its chain. */
static bool is_open(const tide_recorder *recorder, const tide_recorder_thread *thread,
                    tide_scope scope) {
    uint32_t open = thread->innermost;
    while (open != TIDE_NONE && open != scope) {
        TIDE_ASSERT(open < recorder->n_scopes);
        open = recorder->scopes[open].parent;
    }
    return open == scope;
}

static void close_scope(tide_recorder *recorder, tide_scope scope) {
    tide_scope_times *times = NULL;
    tide_kernel_trace *trace = NULL;
    pthread_mutex_lock(&recorder->scopes_lock);
    tide_recorder_thread *thread = thread_of(recorder);
    if (thread != NULL && is_open(recorder, thread, scope)) {
        int64_t now_ns = tide_recorder_now_ns(recorder);
        uint32_t closed = TIDE_NONE;
        do {
            closed = thread->innermost;
            TIDE_ASSERT(closed != TIDE_NONE); /* the chain leads to `scope` */
            tide_scope_row *row = &recorder->scopes[closed];
            row->duration_ns = now_ns > row->begin_ns ? now_ns - row->begin_ns : 0;
            thread->innermost = row->parent;
        } while (closed != scope);
        times = recorder->timed == thread ? recorder->times : NULL;
        trace = recorder->traced == thread ? recorder->trace : NULL;
    }
    pthread_mutex_unlock(&recorder->scopes_lock);
    if (trace != NULL) {
        tide_kernel_trace_pop(trace, scope);
    }
    if (times != NULL) {
        tide_scope_times_end(times, scope);
    }
}

void tide_scope_end(tide_recorder *recorder, tide_scope scope) {
    if (recorder != NULL && scope != TIDE_NONE) {
        close_scope(recorder, scope);
    }
    if (tide_nvtx_is_heard()) {
        tide_nvtx_end(recorder, scope);
    }
}

tide_status tide_recorder_attach_times(tide_recorder *recorder, tide_scope_times *times,
                                       tide_scope *ret_first) {
    tide_status status = TIDE_OK;
    pthread_mutex_lock(&recorder->scopes_lock);
    const tide_recorder_thread *thread = thread_of(recorder);
    if (recorder->times != NULL) {
        status = TIDE_INVALID;
    } else if (thread == NULL) {
        status = TIDE_NO_MEMORY;
    } else {
        recorder->times = times;
        recorder->timed = thread;
        *ret_first = (tide_scope)recorder->n_scopes;
    }
    pthread_mutex_unlock(&recorder->scopes_lock);
    return status;
}

void tide_recorder_detach_times(tide_recorder *recorder) {
    pthread_mutex_lock(&recorder->scopes_lock);
    recorder->times = NULL;
    recorder->timed = NULL;
    pthread_mutex_unlock(&recorder->scopes_lock);
}

tide_status tide_recorder_attach_trace(tide_recorder *recorder, tide_kernel_trace *trace) {
    pthread_mutex_lock(&recorder->scopes_lock);
    const tide_recorder_thread *thread = thread_of(recorder);
    if (thread != NULL) {
        recorder->trace = trace;
        recorder->traced = thread;
    }
    pthread_mutex_unlock(&recorder->scopes_lock);
    return thread != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

void tide_recorder_detach_trace(tide_recorder *recorder) {
    pthread_mutex_lock(&recorder->scopes_lock);
    recorder->trace = NULL;
    recorder->traced = NULL;
    pthread_mutex_unlock(&recorder->scopes_lock);
}

void tide_recorder_set_device_time(tide_recorder *recorder, tide_scope scope, int64_t begin_ns,
                                   int64_t duration_ns) {
    pthread_mutex_lock(&recorder->scopes_lock);
    TIDE_ASSERT(scope < recorder->n_scopes);
    tide_scope_row *row = &recorder->scopes[scope];
    row->device_begin_ns = begin_ns > 0 ? begin_ns : 0;
    row->device_duration_ns = duration_ns > 0 ? duration_ns : 0;
    pthread_mutex_unlock(&recorder->scopes_lock);
}

void tide_recorder_correct_device_times(tide_recorder *recorder, tide_scope first,
                                        int64_t origin_ns, double factor, int64_t uncertainty_ns) {
    pthread_mutex_lock(&recorder->scopes_lock);
    for (size_t i = first; i < recorder->n_scopes; i++) {
        tide_scope_row *row = &recorder->scopes[i];
        if (row->device_begin_ns >= 0) {
            double since_ns = (double)(row->device_begin_ns - origin_ns);
            int64_t begin_ns = origin_ns + (int64_t)llround(since_ns * factor);
            row->device_begin_ns = begin_ns > 0 ? begin_ns : 0;
            row->device_duration_ns = (int64_t)llround((double)row->device_duration_ns * factor);
        }
    }
    if (uncertainty_ns > recorder->device_uncertainty_ns) {
        recorder->device_uncertainty_ns = uncertainty_ns;
    }
    pthread_mutex_unlock(&recorder->scopes_lock);
}

void tide_recorder_scopes_fini(tide_recorder *recorder) {
    tide_recorder_thread *thread = recorder->threads;
    while (thread != NULL) {
        tide_recorder_thread *next = thread->next;
        recorder->mem->release(recorder->mem->ctx, thread->names);
        recorder->mem->release(recorder->mem->ctx, thread);
        thread = next;
    }
    if (!recorder->has_file) {
        recorder->mem->release(recorder->mem->ctx, recorder->scopes);
    }
}
