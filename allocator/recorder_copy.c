/* Everything recorded so far, as plain tables. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include "allocator/recorder.h"
#include "allocator/recorder_state_internal.h"

/* Under the log lock. */
static tide_status copy_log(const tide_recorder *recorder, tide_recording *recording) {
    const tide_hostmem *mem = recording->mem;
    size_t n_events = tide_event_log_n_kept(&recorder->log);
    /* Not zeroed: it may be large, and every row is written below. */
    recording->events = mem->alloc(mem->ctx, (n_events == 0 ? 1 : n_events) * sizeof(tide_event));
    recording->streams = tide_hostmem_zeroed(mem, recorder->n_streams, sizeof(tide_stream_row));
    if (recording->events == NULL || recording->streams == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_event_log_copy(&recorder->log, recording->events);
    recording->n_events = n_events;
    recording->n_dropped = tide_event_log_n_dropped(&recorder->log);
    memcpy(recording->streams, recorder->streams, recorder->n_streams * sizeof(tide_stream_row));
    recording->n_streams = recorder->n_streams;
    return TIDE_OK;
}

/* Under the scopes lock. */
static tide_status copy_scopes(const tide_recorder *recorder, tide_recording *recording) {
    recording->scopes =
        tide_hostmem_zeroed(recording->mem, recorder->n_scopes, sizeof(tide_scope_row));
    if (recording->scopes == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (recorder->n_scopes > 0) {
        memcpy(recording->scopes, recorder->scopes, recorder->n_scopes * sizeof(tide_scope_row));
    }
    recording->kernels =
        tide_hostmem_zeroed(recording->mem, recorder->n_kernels, sizeof(tide_kernel_row));
    if (recording->kernels == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (recorder->n_kernels > 0) {
        memcpy(recording->kernels, recorder->kernels,
               recorder->n_kernels * sizeof(tide_kernel_row));
    }
    recording->n_kernels = recorder->n_kernels;
    recording->n_scopes = recorder->n_scopes;
    recording->n_scopes_dropped = recorder->n_scopes_dropped;
    recording->device_uncertainty_ns = recorder->device_uncertainty_ns;
    return TIDE_OK;
}

/* Under the strings lock. */
static tide_status copy_strings(const tide_recorder *recorder, tide_recording *recording) {
    size_t n_strings = recorder->strings.n_texts;
    recording->strings = tide_hostmem_zeroed(recording->mem, n_strings, sizeof(char *));
    if (recording->strings == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_strings; i++) {
        recording->strings[i] = tide_hostmem_text(recording->mem, recorder->strings.texts[i]);
        if (recording->strings[i] == NULL) {
            return TIDE_NO_MEMORY;
        }
        recording->n_strings = i + 1;
    }
    return TIDE_OK;
}

/* Events first: whatever a row refers to was there before the row, so that a table copied later
 * holds it. */
static tide_status copy_tables(tide_recorder *recorder, tide_recording *recording) {
    pthread_mutex_lock(&recorder->log_lock);
    tide_status status = copy_log(recorder, recording);
    pthread_mutex_unlock(&recorder->log_lock);
    TIDE_TRY(status);
    pthread_mutex_lock(&recorder->scopes_lock);
    status = copy_scopes(recorder, recording);
    pthread_mutex_unlock(&recorder->scopes_lock);
    TIDE_TRY(status);
    pthread_mutex_lock(&recorder->strings_lock);
    status = copy_strings(recorder, recording);
    pthread_mutex_unlock(&recorder->strings_lock);
    TIDE_TRY(status);
    return tide_stack_depot_copy(recorder->depot, recording->mem, &recording->pcs,
                                 &recording->stack_first, &recording->n_stacks);
}

tide_status tide_recorder_copy(tide_recorder *recorder, const tide_hostmem *mem,
                               tide_recording *ret_recording, tide_error *error) {
    tide_recording recording = {.mem = mem != NULL ? mem : tide_hostmem_default(),
                                .full_policy = recorder->config.full_policy,
                                .created_unix_us = recorder->created_unix_us};
    tide_status status = copy_tables(recorder, &recording);
    if (status != TIDE_OK) {
        tide_recording_fini(&recording);
        return tide_fail(error, status, "no host memory for a copy of the recording");
    }
    *ret_recording = recording;
    return TIDE_OK;
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
    mem->release(mem->ctx, recording->scopes);
    mem->release(mem->ctx, recording->kernels);
    mem->release(mem->ctx, recording->pcs);
    mem->release(mem->ctx, recording->stack_first);
    mem->release(mem->ctx, recording->streams);
    *recording = (tide_recording){.mem = NULL};
}
