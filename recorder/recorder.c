/* recorder.c - the life of a recorder, and its path from an allocation to a row of the log.
 *
 *   tide_cache_alloc                                      (allocator/cache.c)
 *     |  before the lock
 *     |    tide_recorder_take_note   stack: unwinder -> depot -> number
 *     |                              name:  strings           -> number
 *     |                              scope: the thread's innermost
 *     |  under the lock, which is the log's
 *     |    the allocator serves the request
 *     |    tide_recorder_row_begin   time; the place of the next row
 *     |    the allocator writes      address, bytes, and the numbers of the note
 *     v    tide_recorder_row_end     counts the row: readers, and a log file, have it from now on
 *   a row of the event log (event_log.c); texts, stacks and scopes that are new went before it
 *   into the journal of a log file (journal.c)
 */
#define _POSIX_C_SOURCE 200809L
#include "recorder/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/clock.h"
#include "recorder/recorder_friend.h"
#include "recorder/state_internal.h"

enum { DEFAULT_FRAMES = 128 };
#define DEFAULT_LOG_BYTES ((size_t)256 << 20)

void tide_recorder_config_init(tide_recorder_config *config) {
    *config = (tide_recorder_config){.mem = tide_hostmem_default(),
                                     .log_bytes = DEFAULT_LOG_BYTES,
                                     .full_policy = TIDE_FULL_KEEP_NEWEST,
                                     .capture_stacks = true,
                                     .max_frames = DEFAULT_FRAMES};
}

static tide_status check_config(const tide_recorder_config *config, tide_error *error) {
    if (config->max_frames < 1 || config->max_frames > TIDE_MAX_FRAMES) {
        return tide_fail(error, TIDE_INVALID, "recorder: max_frames is %d; it must be 1..%d",
                         config->max_frames, (int)TIDE_MAX_FRAMES);
    }
    if (config->full_policy != TIDE_FULL_STOP && config->full_policy != TIDE_FULL_KEEP_NEWEST) {
        return tide_fail(error, TIDE_INVALID, "recorder: unknown full_policy %d",
                         (int)config->full_policy);
    }
    if (config->row_bytes != 0 &&
        (config->row_bytes < sizeof(tide_event) || config->row_bytes % 8 != 0 ||
         config->row_bytes > sizeof(tide_event) + TIDE_EVENT_MAX_EXTRA)) {
        return tide_fail(error, TIDE_INVALID, "recorder: row_bytes is %zu; it must be 48, 56 or 64",
                         config->row_bytes);
    }
    return TIDE_OK;
}

/* A missing libunwind is not an error. The reason is kept for tide_recorder_stacks_missing. */
static tide_status open_unwinder(tide_recorder *recorder, tide_error *error) {
    tide_error reason = {"call stacks are off: the recorder was created without them"};
    if (recorder->config.capture_stacks) {
        tide_status status =
            tide_unwinder_create(recorder->mem, recorder->depot, recorder->config.max_frames,
                                 &recorder->unwinder, &reason);
        if (status == TIDE_OK) {
            return TIDE_OK;
        }
        if (status != TIDE_UNSUPPORTED) {
            return tide_fail(error, status, "recorder: %s", reason.message);
        }
    }
    size_t n_bytes = strlen(reason.message);
    n_bytes = n_bytes < TIDE_REASON_TEXT ? n_bytes : TIDE_REASON_TEXT - 1;
    memcpy(recorder->stacks_missing, reason.message, n_bytes); /* the rest is zero */
    return TIDE_OK;
}

/* ---- the log: anonymous memory or a file ---- */

/* The log file and its journal; both or none. */
static tide_status open_file(tide_recorder *recorder, const char *path, tide_error *error) {
    const tide_recorder_config *config = &recorder->config;
    size_t row_bytes = config->row_bytes != 0 ? config->row_bytes : sizeof(tide_event);
    TIDE_TRY(tide_log_file_open(recorder->mem, path, config->log_bytes, row_bytes,
                                (uint32_t)config->full_policy, &recorder->file, error));
    tide_status status = tide_journal_create(recorder->mem, &recorder->file, &recorder->journal);
    if (status != TIDE_OK) {
        tide_log_file_close(&recorder->file);
        return tide_fail(error, status, "the log %s: no host memory", path);
    }
    recorder->has_file = true;
    return TIDE_OK;
}

static void write_stack(void *ctx, uint32_t number, const uint64_t *pcs, size_t n_pcs) {
    tide_journal_stack(ctx, number, pcs, n_pcs);
}

static tide_status open_log(tide_recorder *recorder, tide_error *error) {
    const tide_recorder_config *config = &recorder->config;
    bool keep_newest = config->full_policy == TIDE_FULL_KEEP_NEWEST;
    const char *path = config->log_path != NULL ? config->log_path : getenv("TIDEMARK_LOG");
    if (path == NULL || path[0] == '\0') {
        size_t max_scopes = config->log_bytes / sizeof(tide_scope_row) + 1;
        recorder->max_scopes = max_scopes < TIDE_NONE ? max_scopes : TIDE_NONE;
        return tide_event_log_init(&recorder->log, recorder->mem, config->log_bytes, keep_newest,
                                   error);
    }
    TIDE_TRY(open_file(recorder, path, error));
    const tide_event_log_memory memory = tide_log_file_memory(&recorder->file);
    tide_event_log_init_in(&recorder->log, recorder->mem, &memory, keep_newest);
    size_t max_scopes = (size_t)recorder->file.header->layout.max_scopes;
    recorder->max_scopes = max_scopes < TIDE_NONE ? max_scopes : TIDE_NONE;
    recorder->scopes = recorder->file.scopes;
    recorder->scopes_capacity = recorder->max_scopes; /* the table in the file never grows */
    tide_stack_depot_set_listener(recorder->depot, write_stack, recorder->journal);
    return TIDE_OK;
}

static void close_log(tide_recorder *recorder) {
    tide_event_log_fini(&recorder->log);
    tide_journal_destroy(recorder->journal);
    if (recorder->has_file) {
        tide_log_file_close(&recorder->file);
    }
}

/* Time 0 must be the same in the process and in the file, so with a file its header decides. */
static void set_clock(tide_recorder *recorder) {
    if (recorder->has_file) {
        recorder->created_unix_us = recorder->file.header->layout.created_unix_us;
        recorder->created_ns = recorder->file.header->layout.created_clock_ns;
        return;
    }
    recorder->created_unix_us = tide_clock_unix_us();
    recorder->created_ns = tide_clock_now_ns();
}

/* Initialises both locks or none. */
static bool init_locks(tide_recorder *recorder) {
    if (pthread_mutex_init(&recorder->strings_lock, NULL) != 0) {
        return false;
    }
    if (pthread_mutex_init(&recorder->scopes_lock, NULL) != 0) {
        goto fail_scopes;
    }
    return true;

fail_scopes:
    pthread_mutex_destroy(&recorder->strings_lock);
    return false;
}

tide_status tide_recorder_create(const tide_recorder_config *config, tide_recorder **ret_recorder,
                                 tide_error *error) {
    tide_recorder_config effective;
    tide_recorder_config_init(&effective);
    if (config != NULL) {
        effective = *config;
        effective.mem = config->mem != NULL ? config->mem : tide_hostmem_default();
    }
    TIDE_TRY(check_config(&effective, error));
    const tide_hostmem *mem = effective.mem;
    tide_status status = TIDE_NO_MEMORY;
    tide_recorder *recorder = tide_hostmem_zeroed(mem, 1, sizeof(*recorder));
    if (recorder == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "recorder: no host memory");
    }
    recorder->mem = mem;
    recorder->config = effective;
    status = tide_stack_depot_create(mem, &recorder->depot);
    if (status != TIDE_OK) {
        tide_fail(error, status, "recorder: no host memory");
        goto fail_depot;
    }
    status = open_unwinder(recorder, error);
    if (status != TIDE_OK) {
        goto fail_unwinder;
    }
    status = open_log(recorder, error);
    if (status != TIDE_OK) {
        goto fail_log;
    }
    if (!init_locks(recorder)) {
        status = tide_fail(error, TIDE_NO_MEMORY, "recorder: no memory for locks");
        goto fail_locks;
    }
    tide_strings_init(&recorder->strings, mem);
    tide_map_init(&recorder->kernel_rows, mem);
    recorder->device_uncertainty_ns = -1;
    tide_tick_clock_init(&recorder->clock);
    set_clock(recorder);
    *ret_recorder = recorder;
    return TIDE_OK;

fail_locks:
    close_log(recorder);
fail_log:
    tide_unwinder_destroy(recorder->unwinder);
fail_unwinder:
    tide_stack_depot_destroy(recorder->depot);
fail_depot:
    mem->release(mem->ctx, recorder);
    return status;
}

void tide_recorder_destroy(tide_recorder *recorder) {
    if (recorder == NULL) {
        return;
    }
    const tide_hostmem *mem = recorder->mem;
    tide_recorder_scopes_fini(recorder);
    tide_recorder_kernels_fini(recorder);
    tide_strings_fini(&recorder->strings);
    pthread_mutex_destroy(&recorder->scopes_lock);
    pthread_mutex_destroy(&recorder->strings_lock);
    tide_unwinder_destroy(recorder->unwinder);
    tide_stack_depot_destroy(recorder->depot);
    close_log(recorder);
    mem->release(mem->ctx, recorder);
}

void tide_recorder_describe(tide_recorder *recorder, const char *key, const char *value) {
    if (recorder != NULL) {
        tide_journal_text(recorder->journal, key, value);
    }
}

const char *tide_recorder_stacks_missing(const tide_recorder *recorder) {
    return recorder->unwinder != NULL ? NULL : recorder->stacks_missing;
}

const char *tide_recorder_stacks_limited(const tide_recorder *recorder) {
    return recorder->unwinder != NULL ? tide_unwinder_missing(recorder->unwinder)
                                      : recorder->stacks_missing;
}

void tide_recorder_get_unwinder_stats(tide_recorder *recorder, tide_unwinder_stats *ret_stats) {
    *ret_stats = (tide_unwinder_stats){.n_captures = 0};
    if (recorder != NULL && recorder->unwinder != NULL) {
        tide_unwinder_get_stats(recorder->unwinder, ret_stats);
    }
}

int64_t tide_recorder_now_ns(const tide_recorder *recorder) {
    return tide_tick_clock_read(&recorder->clock) - recorder->created_ns;
}

uint32_t tide_recorder_intern(tide_recorder *recorder, const char *text) {
    uint32_t number = TIDE_NONE;
    pthread_mutex_lock(&recorder->strings_lock);
    size_t n_known = recorder->strings.n_texts;
    if (tide_strings_intern(&recorder->strings, text, &number) != TIDE_OK) {
        number = TIDE_NONE;
    } else if (recorder->strings.n_texts > n_known) {
        tide_journal_string(recorder->journal, number, text);
    }
    pthread_mutex_unlock(&recorder->strings_lock);
    return number;
}

void tide_recorder_take_note(tide_recorder *recorder, const char *name, tide_note *ret_note) {
    /* Nothing here takes a lock unless stack, scope or name is the thread's first of its kind: the
     * allocator's lock, which comes next, is then held only for the row. */
    if (recorder == NULL || tide_recorder_is_paused(recorder)) {
        *ret_note = (tide_note){TIDE_NONE, TIDE_NONE, TIDE_NONE};
        return;
    }
    ret_note->stack =
        recorder->unwinder == NULL ? TIDE_NONE : tide_unwinder_capture(recorder->unwinder);
    ret_note->scope = tide_recorder_innermost(recorder);
    ret_note->name = name == NULL ? TIDE_NONE : tide_recorder_name(recorder, name);
}

tide_note tide_recorder_note(tide_recorder *recorder, const char *name) {
    tide_note note;
    tide_recorder_take_note(recorder, name, &note);
    return note;
}

bool tide_recorder_claim(tide_recorder *recorder) {
    if (recorder == NULL) {
        return true;
    }
    tide_lock_acquire(&recorder->log_lock);
    bool is_claimed = recorder->is_claimed;
    recorder->is_claimed = true;
    tide_lock_release(&recorder->log_lock);
    return !is_claimed;
}

struct tide_lock *tide_recorder_lock(tide_recorder *recorder) {
    return &recorder->log_lock;
}

tide_event *tide_recorder_row_begin(tide_recorder *recorder) {
    if (tide_recorder_is_paused(recorder)) {
        return NULL;
    }
    tide_event *row = tide_event_log_row_begin(&recorder->log);
    if (row != NULL) {
        int64_t now_ns = tide_tick_clock_read_and_anchor(&recorder->clock) - recorder->created_ns;
        /* The processor may read its time stamp counter before it holds the lock, and so get a time
         * before that of the row written by the previous holder. Rows must not go back in time. */
        recorder->last_ns = now_ns > recorder->last_ns ? now_ns : recorder->last_ns;
        row->time_ns = recorder->last_ns;
    }
    return row;
}

void tide_recorder_row_end(tide_recorder *recorder) {
    tide_event_log_row_end(&recorder->log);
}

tide_event *tide_recorder_last_row(tide_recorder *recorder) {
    return tide_event_log_last(&recorder->log);
}

tide_stack_depot *tide_recorder_depot(tide_recorder *recorder) {
    return recorder->depot;
}

void tide_recorder_write_record(tide_recorder *recorder, uint32_t kind, const void *payload,
                                size_t n_bytes) {
    tide_journal_record(recorder->journal, (tide_log_record_kind)kind, payload, n_bytes);
}

bool tide_recorder_is_off(tide_recorder *recorder) {
    return tide_recorder_is_paused(recorder);
}

const char *tide_recorder_log_path(const tide_recorder *recorder) {
    return recorder->has_file ? recorder->file.path : NULL;
}

uint32_t tide_recorder_note_scope(tide_recorder *recorder) {
    return tide_recorder_innermost(recorder);
}

void tide_recorder_abandon(tide_recorder *recorder) {
    if (recorder->has_file) {
        tide_log_file_abandon(&recorder->file);
    }
}

void tide_recorder_finish(tide_recorder *recorder) {
    tide_lock_acquire(&recorder->log_lock);
    atomic_store(&recorder->is_paused, true);
    if (recorder->has_file) {
        atomic_store(&recorder->file.header->counters.is_closed, 1);
    }
    tide_lock_release(&recorder->log_lock);
}

void tide_recorder_append(tide_recorder *recorder, tide_event event) {
    tide_event *row = recorder == NULL ? NULL : tide_recorder_row_begin(recorder);
    if (row != NULL) {
        event.time_ns = row->time_ns;
        *row = event;
        tide_recorder_row_end(recorder);
    }
}

uint64_t tide_recorder_n_rows(const tide_recorder *recorder) {
    return recorder->log.n_appended;
}

bool tide_recorder_row(const tide_recorder *recorder, uint64_t number, tide_event *ret_event) {
    const tide_event_log *log = &recorder->log;
    uint64_t first = tide_event_log_first(log);
    if (number < first || number - first >= tide_event_log_n_kept(log)) {
        return false;
    }
    tide_event_log_copy(log, number, 1, ret_event);
    return true;
}

void tide_recorder_set_paused(tide_recorder *recorder, bool is_paused) {
    if (is_paused && recorder->has_file) { /* a reader must stop at the first gap */
        tide_lock_acquire(&recorder->log_lock);
        uint64_t never = TIDE_LOG_NEVER;
        atomic_compare_exchange_strong(&recorder->file.header->counters.paused_at, &never,
                                       recorder->log.n_written);
        tide_lock_release(&recorder->log_lock);
    }
    tide_recorder_set_quiet(recorder, is_paused);
}

void tide_recorder_set_quiet(tide_recorder *recorder, bool is_quiet) {
    if (recorder != NULL) {
        atomic_store_explicit(&recorder->is_paused, is_quiet, memory_order_relaxed);
    }
}

static uint8_t find_stream(tide_recorder *recorder, uint8_t device, uint64_t handle) {
    for (size_t i = 0; i < recorder->n_streams; i++) {
        if (recorder->streams[i].handle == handle && recorder->streams[i].device == device) {
            return (uint8_t)i;
        }
    }
    if (recorder->n_streams == TIDE_MAX_STREAMS) {
        return TIDE_MAX_STREAMS - 1;
    }
    TIDE_ASSERT(recorder->n_streams < TIDE_MAX_STREAMS);
    recorder->streams[recorder->n_streams] = (tide_stream_row){.handle = handle, .device = device};
    tide_journal_stream(recorder->journal, (uint32_t)recorder->n_streams, device, handle);
    return (uint8_t)recorder->n_streams++;
}

uint8_t tide_recorder_stream(tide_recorder *recorder, uint8_t device, uint64_t handle) {
    return recorder == NULL ? 0 : find_stream(recorder, device, handle);
}

void tide_recorder_get_stats(tide_recorder *recorder, tide_recorder_stats *ret_stats) {
    tide_recorder_stats stats = {.max_events = recorder->log.max_events};
    tide_lock_acquire(&recorder->log_lock);
    stats.n_events = recorder->log.n_appended;
    stats.n_dropped = tide_event_log_n_dropped(&recorder->log);
    tide_lock_release(&recorder->log_lock);
    pthread_mutex_lock(&recorder->scopes_lock);
    stats.n_scopes = recorder->n_scopes;
    pthread_mutex_unlock(&recorder->scopes_lock);
    tide_stack_depot_get_stats(recorder->depot, &stats.n_stacks, &stats.depot_bytes);
    *ret_stats = stats;
}
