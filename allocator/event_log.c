#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include "allocator/event_log.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/bytes.h"

_Static_assert(sizeof(tide_event) == 48, "an event is 48 bytes");

tide_status tide_event_log_init(tide_event_log *log, size_t log_bytes, bool keep_newest,
                                tide_error *error) {
    size_t max_events = log_bytes / sizeof(tide_event);
    if (max_events == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "event log of %zu bytes: one event takes %zu bytes; give it at least that",
                         log_bytes, sizeof(tide_event));
    }
    size_t mapped_bytes = max_events * sizeof(tide_event);
    void *rows = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (rows == MAP_FAILED) {
        char text[TIDE_BYTES_TEXT];
        return tide_fail(error, TIDE_NO_MEMORY,
                         "event log: cannot reserve %s of address space (%s); use a smaller log",
                         tide_bytes_format((int64_t)mapped_bytes, text), strerror(errno));
    }
    *log = (tide_event_log){.rows = rows,
                            .mapped_bytes = mapped_bytes,
                            .max_events = max_events,
                            .keep_newest = keep_newest};
    return TIDE_OK;
}

void tide_event_log_fini(tide_event_log *log) {
    if (log->rows != NULL) {
        munmap(log->rows, log->mapped_bytes);
    }
    *log = (tide_event_log){.rows = NULL};
}

void tide_event_log_append(tide_event_log *log, const tide_event *event) {
    log->n_appended++;
    if (log->next == log->max_events) {
        if (!log->keep_newest) {
            return;
        }
        log->next = 0;
    }
    log->rows[log->next++] = *event;
}

size_t tide_event_log_n_kept(const tide_event_log *log) {
    return log->n_appended < log->max_events ? (size_t)log->n_appended : log->max_events;
}

uint64_t tide_event_log_n_dropped(const tide_event_log *log) {
    return log->n_appended - tide_event_log_n_kept(log);
}

const tide_event *tide_event_log_newest(const tide_event_log *log, size_t i) {
    return &log->rows[i < log->next ? log->next - 1 - i : log->next + log->max_events - 1 - i];
}

uint64_t tide_event_log_first(const tide_event_log *log) {
    return log->keep_newest ? tide_event_log_n_dropped(log) : 0;
}

void tide_event_log_copy(const tide_event_log *log, uint64_t first, size_t n_rows,
                         tide_event *ret_events) {
    size_t slot = (size_t)(first % log->max_events);
    size_t n_left = log->max_events - slot; /* up to where a ring goes on at its begin */
    size_t n_front = n_rows < n_left ? n_rows : n_left;
    if (n_front > 0) {
        memcpy(ret_events, log->rows + slot, n_front * sizeof(*ret_events));
    }
    if (n_rows > n_front) {
        memcpy(ret_events + n_front, log->rows, (n_rows - n_front) * sizeof(*ret_events));
    }
}
