/* copy.c - everything recorded so far, as plain tables.
 *
 * Rows are copied in chunks, so a recording thread waits for at most one chunk. The last rows are
 * copied under one lock: that is the instant of the copy. The other tables are copied afterwards,
 * and later changes are removed from the copy.
 */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <time.h>

#include "common/assert.h"
#include "common/clock.h"
#include "recorder/copy_friend.h"
#include "recorder/state_internal.h"

enum {
    CHUNK_ROWS = 4096, /* 192 KiB of events under one lock: some tens of microseconds */
    SPARE_ROWS = 1024, /* rows that may be missing at the instant; there is already room for them */
    MAX_CHUNKS = 64,   /* chunks of a long log grow to keep to this many: next to a thread that
                          allocates all the time, each chunk has to wait for the lock */
    MAX_SLOW = 12,     /* chunks during which more rows were added than copied, before we stop
                          trying */
    PAUSE_NS = 10000 /* between two chunks: long enough for a waiting thread to retry and succeed */
};

static void lock(tide_recorder_copying *copying, pthread_mutex_t *mutex) {
    pthread_mutex_lock(mutex);
    copying->locked_ns = tide_clock_now_ns();
}

static void note_pause(tide_recorder_copying *copying) {
    int64_t held_ns = tide_clock_now_ns() - copying->locked_ns;
    copying->pause_ns = held_ns > copying->pause_ns ? held_ns : copying->pause_ns;
}

static void unlock(tide_recorder_copying *copying, pthread_mutex_t *mutex) {
    note_pause(copying);
    pthread_mutex_unlock(mutex);
}

static void lock_log(tide_recorder *recorder, tide_recorder_copying *copying) {
    tide_lock_acquire(&recorder->log_lock);
    copying->locked_ns = tide_clock_now_ns();
}

static void unlock_log(tide_recorder *recorder, tide_recorder_copying *copying) {
    note_pause(copying);
    tide_lock_release(&recorder->log_lock);
}

/* The lock is not fair: without a pause this thread would take it again before a waiting one does.
 */
static void let_others_go_on(void) {
    (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

/* ---- events ---- */

/* Makes room for n_rows and some later rows. Zeroing the room makes the system provide its pages
 * now, not under the lock when rows are copied to them. */
static tide_status reserve_rows(tide_recorder_copying *copying, size_t n_rows) {
    const tide_hostmem *mem = copying->recording.mem;
    if (n_rows <= copying->capacity) {
        return TIDE_OK;
    }
    size_t n_bytes = (n_rows + n_rows / 2 + SPARE_ROWS) * sizeof(tide_event);
    tide_event *events = mem->resize(mem->ctx, copying->recording.events, n_bytes);
    if (events == NULL) {
        return TIDE_NO_MEMORY;
    }
    memset(events + copying->recording.n_events, 0,
           n_bytes - copying->recording.n_events * sizeof(*events));
    copying->recording.events = events;
    copying->capacity = n_bytes / sizeof(*events);
    return TIDE_OK;
}

/* Called under the log lock: the number of rows that are not copied yet. If the ring has
 * overwritten rows that were not copied, the copy would have a hole: it restarts at the oldest
 * row. */
static size_t find_missing(const tide_recorder *recorder, tide_recorder_copying *copying) {
    uint64_t first = tide_event_log_first(&recorder->log);
    if (copying->first_row + copying->recording.n_events < first) {
        copying->first_row = first;
        copying->recording.n_events = 0;
    }
    uint64_t end = first + tide_event_log_n_kept(&recorder->log);
    TIDE_ASSERT(copying->first_row + copying->recording.n_events <= end);
    return (size_t)(end - copying->first_row) - copying->recording.n_events;
}

/* Called under the log lock: copies the allocations that were alive before the first row. */
static tide_status copy_base(const tide_recorder *recorder, tide_recording *recording) {
    const tide_hostmem *mem = recording->mem;
    recording->base = mem->alloc(mem->ctx, (recorder->log.n_base + 1) * sizeof(tide_event));
    if (recording->base == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_event_log_copy_base(&recorder->log, recording->base);
    recording->n_base = recorder->log.n_base;
    return TIDE_OK;
}

/* Called under the log lock. */
static void copy_rows(const tide_recorder *recorder, tide_recorder_copying *copying,
                      size_t n_rows) {
    tide_recording *recording = &copying->recording;
    TIDE_ASSERT(recording->n_events + n_rows <= copying->capacity);
    tide_event_log_copy(&recorder->log, copying->first_row + recording->n_events, n_rows,
                        recording->events + recording->n_events);
    recording->n_events += n_rows;
}

/* Copies rows until few are missing. Chunks double while rows are added faster than they are
 * copied. If the ring is overwritten even faster, the copy restarts each time, so the number of
 * attempts is limited; the missing rows are then copied at the instant, under one long lock. */
static tide_status catch_up(tide_recorder *recorder, tide_recorder_copying *copying,
                            size_t n_missing) {
    size_t n_chunk = n_missing / MAX_CHUNKS > CHUNK_ROWS ? n_missing / MAX_CHUNKS : CHUNK_ROWS;
    for (int n_slow = 0; n_missing > SPARE_ROWS && n_slow < MAX_SLOW;) {
        TIDE_TRY(reserve_rows(copying, copying->recording.n_events + n_chunk));
        lock_log(recorder, copying);
        size_t n_now = find_missing(recorder, copying);
        size_t n_rows = n_now < n_chunk ? n_now : n_chunk;
        copy_rows(recorder, copying, n_rows);
        unlock_log(recorder, copying);
        if (n_now - n_rows >= n_missing) {
            n_chunk *= 2;
            n_slow++;
        }
        n_missing = n_now - n_rows;
        if (n_missing > SPARE_ROWS) {
            let_others_go_on();
        }
    }
    return reserve_rows(copying, copying->recording.n_events + SPARE_ROWS);
}

tide_status tide_recorder_copy_begin(tide_recorder *recorder, const tide_hostmem *mem,
                                     tide_recorder_copying *ret_copying) {
    tide_recorder_copying copying = {
        .recording = {.mem = mem,
                      .full_policy = recorder->config.full_policy,
                      .created_unix_us = recorder->created_unix_us,
                      .clock_source = tide_tick_clock_source(&recorder->clock)}};
    lock_log(recorder, &copying);
    size_t n_missing = find_missing(recorder, &copying);
    unlock_log(recorder, &copying);
    /* There are few streams, so there is room for all possible streams. */
    copying.recording.streams = tide_hostmem_zeroed(mem, TIDE_MAX_STREAMS, sizeof(tide_stream_row));
    if (copying.recording.streams == NULL || reserve_rows(&copying, n_missing) != TIDE_OK) {
        tide_recording_fini(&copying.recording);
        return TIDE_NO_MEMORY;
    }
    tide_status status = catch_up(recorder, &copying, n_missing);
    if (status != TIDE_OK) {
        tide_recording_fini(&copying.recording);
        return status;
    }
    *ret_copying = copying;
    return TIDE_OK;
}

/* The caller holds the log lock: this moment is the instant of the copy. */
tide_status tide_recorder_copy_instant(tide_recorder *recorder, tide_recorder_copying *copying) {
    tide_recording *recording = &copying->recording;
    TIDE_ASSERT(tide_lock_is_held(&recorder->log_lock));
    size_t n_missing = find_missing(recorder, copying);
    tide_status status = reserve_rows(copying, recording->n_events + n_missing);
    if (status == TIDE_OK) {
        status = copy_base(recorder, recording);
    }
    if (status == TIDE_OK) {
        recording->has_newest = tide_event_log_has_newest(&recorder->log);
        copy_rows(recorder, copying, n_missing);
        copying->instant_ns = tide_recorder_now_ns(recorder);
        copying->first_kept = tide_event_log_first(&recorder->log);
        recording->n_dropped = tide_event_log_n_dropped(&recorder->log);
        recording->n_streams = recorder->n_streams;
        memcpy(recording->streams, recorder->streams,
               recorder->n_streams * sizeof(tide_stream_row));
    }
    return status;
}

/* Removes rows that the ring had overwritten by the instant: the log no longer contained them, and
 * the base contains the blocks they left alive. */
static void trim_rows(tide_recorder_copying *copying) {
    tide_recording *recording = &copying->recording;
    size_t n_lost = (size_t)(copying->first_kept - copying->first_row);
    TIDE_ASSERT(n_lost <= recording->n_events);
    if (n_lost > 0) {
        recording->n_events -= n_lost;
        memmove(recording->events, recording->events + n_lost,
                recording->n_events * sizeof(*recording->events));
    }
}

/* ---- scopes and kernels ---- */

/* Restores a scope to its state at the instant: a scope closed later was open. */
static void reopen(tide_scope_row *row, int64_t instant_ns) {
    if (row->duration_ns >= 0 && row->begin_ns + row->duration_ns > instant_ns) {
        row->duration_ns = -1;
        row->device_begin_ns = -1;
        row->device_duration_ns = -1;
    }
}

static tide_status copy_scopes(tide_recorder *recorder, tide_recorder_copying *copying) {
    tide_recording *recording = &copying->recording;
    lock(copying, &recorder->scopes_lock);
    size_t n_scopes = recorder->n_scopes;
    recording->n_scopes_dropped = recorder->n_scopes_dropped;
    recording->device_uncertainty_ns = recorder->device_uncertainty_ns;
    unlock(copying, &recorder->scopes_lock);
    tide_scope_row *rows = tide_hostmem_zeroed(recording->mem, n_scopes, sizeof(*rows));
    recording->scopes = rows;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t n_done = 0; n_done < n_scopes;) {
        size_t n_rows = n_scopes - n_done < CHUNK_ROWS ? n_scopes - n_done : CHUNK_ROWS;
        lock(copying, &recorder->scopes_lock);
        TIDE_ASSERT(n_done + n_rows <= recorder->n_scopes);
        memcpy(rows + n_done, recorder->scopes + n_done, n_rows * sizeof(*rows));
        unlock(copying, &recorder->scopes_lock);
        n_done += n_rows;
        if (n_done < n_scopes) {
            let_others_go_on();
        }
    }
    /* begin_ns never decreases, so scopes that were opened after the instant are the last ones. */
    while (n_scopes > 0 && rows[n_scopes - 1].begin_ns > copying->instant_ns) {
        n_scopes--;
    }
    for (size_t i = 0; i < n_scopes; i++) {
        reopen(&rows[i], copying->instant_ns);
    }
    recording->n_scopes = n_scopes;
    return TIDE_OK;
}

static tide_status copy_kernels(tide_recorder *recorder, tide_recorder_copying *copying) {
    tide_recording *recording = &copying->recording;
    lock(copying, &recorder->scopes_lock);
    size_t n_kernels = recorder->n_kernels;
    unlock(copying, &recorder->scopes_lock);
    recording->kernels = tide_hostmem_zeroed(recording->mem, n_kernels, sizeof(tide_kernel_row));
    if (recording->kernels == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (n_kernels > 0) {
        lock(copying, &recorder->scopes_lock);
        TIDE_ASSERT(n_kernels <= recorder->n_kernels); /* the table only grows */
        memcpy(recording->kernels, recorder->kernels, n_kernels * sizeof(tide_kernel_row));
        unlock(copying, &recorder->scopes_lock);
    }
    recording->n_kernels = n_kernels;
    return TIDE_OK;
}

/* ---- strings ---- */

/* Copies only the list of texts under the lock: a text never changes and lives as long as the
 * recorder. */
static tide_status copy_strings(tide_recorder *recorder, tide_recorder_copying *copying) {
    tide_recording *recording = &copying->recording;
    const tide_hostmem *mem = recording->mem;
    lock(copying, &recorder->strings_lock);
    size_t n_strings = recorder->strings.n_texts;
    unlock(copying, &recorder->strings_lock);
    recording->strings = tide_hostmem_zeroed(mem, n_strings, sizeof(char *));
    const char **texts = tide_hostmem_zeroed(mem, n_strings, sizeof(const char *));
    tide_status status = recording->strings != NULL && texts != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    if (status == TIDE_OK && n_strings > 0) {
        lock(copying, &recorder->strings_lock);
        TIDE_ASSERT(n_strings <= recorder->strings.n_texts);
        memcpy(texts, recorder->strings.texts, n_strings * sizeof(const char *));
        unlock(copying, &recorder->strings_lock);
    }
    for (size_t i = 0; i < n_strings && status == TIDE_OK; i++) {
        recording->strings[i] = tide_hostmem_text(mem, texts[i]);
        status = recording->strings[i] != NULL ? TIDE_OK : TIDE_NO_MEMORY;
        recording->n_strings = i + (status == TIDE_OK ? 1 : 0);
    }
    mem->release(mem->ctx, (void *)texts);
    return status;
}

/* Everything that a row refers to existed before the row, so tables that are copied after the rows
 * contain it. */
tide_status tide_recorder_copy_end(tide_recorder *recorder, tide_recorder_copying *copying) {
    tide_recording *recording = &copying->recording;
    trim_rows(copying);
    TIDE_TRY(copy_scopes(recorder, copying));
    TIDE_TRY(copy_kernels(recorder, copying));
    TIDE_TRY(copy_strings(recorder, copying));
    return tide_stack_depot_copy(recorder->depot, recording->mem, &recording->pcs,
                                 &recording->stack_first, &recording->n_stacks);
}

tide_status tide_recorder_copy(tide_recorder *recorder, const tide_hostmem *mem,
                               tide_recording *ret_recording, tide_error *error) {
    tide_recorder_copying copying;
    tide_status status =
        tide_recorder_copy_begin(recorder, mem != NULL ? mem : tide_hostmem_default(), &copying);
    if (status != TIDE_OK) {
        goto fail_begin;
    }
    lock_log(recorder, &copying);
    status = tide_recorder_copy_instant(recorder, &copying);
    unlock_log(recorder, &copying);
    if (status == TIDE_OK) {
        status = tide_recorder_copy_end(recorder, &copying);
    }
    if (status != TIDE_OK) {
        goto fail_copy;
    }
    *ret_recording = copying.recording;
    return TIDE_OK;

fail_copy:
    tide_recording_fini(&copying.recording);
fail_begin:
    return tide_fail(error, status, "no host memory for a copy of the recording");
}

void tide_recording_fini(tide_recording *recording) {
    const tide_hostmem *mem = recording->mem;
    if (mem == NULL) {
        return; /* never filled */
    }
    for (size_t i = 0; i < recording->n_strings; i++) {
        mem->release(mem->ctx, recording->strings[i]);
    }
    mem->release(mem->ctx, recording->strings);
    mem->release(mem->ctx, recording->events);
    mem->release(mem->ctx, recording->base);
    mem->release(mem->ctx, recording->scopes);
    mem->release(mem->ctx, recording->kernels);
    mem->release(mem->ctx, recording->pcs);
    mem->release(mem->ctx, recording->stack_first);
    mem->release(mem->ctx, recording->streams);
    *recording = (tide_recording){.mem = NULL};
}
