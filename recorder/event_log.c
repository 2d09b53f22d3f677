#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include "recorder/event_log.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "recorder/log_format_friend.h"
#include "common/bytes.h"

/* More may be alive than a small ring holds. Only address space: pages come as they are used. */
enum { MORE_BASE = 65536 };

/* Rows whose pages are made together, 48 KiB: some microseconds every thousand events. */
enum { TOUCHED_ROWS = 1024, PAGE_BYTES = 4096 };

void tide_event_log_init_in(tide_event_log *log, const tide_hostmem *mem,
                            const tide_event_log_memory *memory, bool keep_newest) {
    *log = (tide_event_log){.rows = memory->rows,
                            .max_events = memory->max_events,
                            .keep_newest = keep_newest,
                            .base = memory->base,
                            .max_base = memory->max_base,
                            .counters = memory->counters};
    tide_map_init(&log->base_at, mem);
}

tide_status tide_event_log_init(tide_event_log *log, const tide_hostmem *mem, size_t log_bytes,
                                bool keep_newest, tide_error *error) {
    size_t max_events = log_bytes / sizeof(tide_event);
    if (max_events == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "event log of %zu bytes: one event takes %zu bytes; give it at least that",
                         log_bytes, sizeof(tide_event));
    }
    size_t max_base = keep_newest ? max_events + MORE_BASE : 0;
    void *rows = MAP_FAILED;
    if (max_events <= (SIZE_MAX / sizeof(tide_event) - MORE_BASE) / 2) {
        rows = mmap(NULL, (max_events + max_base) * sizeof(tide_event), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    } else {
        errno = ENOMEM;
    }
    if (rows == MAP_FAILED) {
        char text[TIDE_BYTES_TEXT];
        return tide_fail(error, TIDE_NO_MEMORY,
                         "event log: cannot reserve %s of address space (%s); use a smaller log",
                         tide_bytes_format((int64_t)(max_events * sizeof(tide_event)), text),
                         strerror(errno));
    }
    const tide_event_log_memory memory = {.rows = rows,
                                          .max_events = max_events,
                                          .base = (tide_event *)rows + max_events,
                                          .max_base = max_base};
    tide_event_log_init_in(log, mem, &memory, keep_newest);
    log->mapping = rows;
    log->mapped_bytes = (max_events + max_base) * sizeof(tide_event);
#ifdef MADV_HUGEPAGE
    /* Where they are to be had: what recording adds to a pair of the benchmark's step took 64 ns
     * with them and 91 ns without (tidemark bench recorder, 2 cores of an AMD EPYC). */
    (void)madvise(rows, max_events * sizeof(tide_event), MADV_HUGEPAGE);
#endif
    return TIDE_OK;
}

void tide_event_log_fini(tide_event_log *log) {
    if (log->mapping != NULL) {
        munmap(log->mapping, log->mapped_bytes);
    }
    tide_map_fini(&log->base_at);
    *log = (tide_event_log){.rows = NULL};
}

/* What was stored before stands in the file before what is stored after: the process may end in
 * between. The compiler must keep the order; a processor ends a process between two instructions,
 * with the stores of all earlier ones done. */
static void publish(_Atomic(uint64_t) *counter, uint64_t value) {
    atomic_store_explicit(counter, value, memory_order_release);
    atomic_signal_fence(memory_order_acq_rel);
}

/* ---- the base ---- */

static uint64_t key_of(const tide_event *event) {
    bool is_segment = event->action >= TIDE_ACTION_SEGMENT_ALLOC;
    return event->address << 1 | (is_segment ? 1u : 0u);
}

static void base_remove(tide_event_log *log, const tide_event *event) {
    uint64_t row = 0;
    if (!tide_map_find(&log->base_at, key_of(event), &row)) {
        return;
    }
    tide_map_remove(&log->base_at, key_of(event));
    log->base[row].action = TIDE_BASE_UNUSED;
    atomic_signal_fence(memory_order_acq_rel);
    log->base[row].address = log->base_unused;
    log->base_unused = row + 1;
    log->n_base--;
}

/* False: there is no room. The action comes last: until then the row is unused. */
static bool base_add(tide_event_log *log, const tide_event *event) {
    base_remove(log, event); /* whatever was there is gone */
    bool is_new = log->base_unused == 0;
    uint64_t row = is_new ? log->n_base_used : log->base_unused - 1;
    if (row >= log->max_base || tide_map_put(&log->base_at, key_of(event), row) != TIDE_OK) {
        return false;
    }
    tide_event entry = *event;
    entry.action = TIDE_BASE_UNUSED;
    log->base_unused = is_new ? 0 : log->base[row].address;
    log->base[row] = entry;
    atomic_signal_fence(memory_order_acq_rel);
    log->base[row].action = event->action;
    log->n_base++;
    if (is_new) {
        log->n_base_used++;
        if (log->counters != NULL) {
            publish(&log->counters->n_base_used, log->n_base_used);
        }
    }
    return true;
}

static void base_request_free(tide_event_log *log, const tide_event *event) {
    uint64_t row = 0;
    if (tide_map_find(&log->base_at, key_of(event), &row)) {
        log->base[row].action = TIDE_ACTION_FREE_REQUESTED;
    }
}

/* Takes [event->address, + block_bytes) out of what is mapped: a piece may be a part of one that
 * was mapped, or reach over several. Rare, so that all rows are looked at. False: there is no room,
 * and nothing is changed. */
static bool base_unmap(tide_event_log *log, const tide_event *event) {
    uint64_t begin = event->address;
    uint64_t end = begin + event->block_bytes;
    if (log->max_base - log->n_base < 2) {
        return false;
    }
    for (size_t i = 0; i < log->n_base_used; i++) {
        tide_event *row = &log->base[i];
        uint64_t row_end = row->address + row->block_bytes;
        if (row->action != TIDE_ACTION_SEGMENT_MAP || row->address >= end || row_end <= begin) {
            continue;
        }
        if (row_end > end) { /* its upper part stays */
            tide_event upper = *row;
            upper.address = end;
            upper.block_bytes = row_end - end;
            upper.requested_bytes = upper.block_bytes;
            if (!base_add(log, &upper)) {
                return false;
            }
        }
        if (row->address < begin) { /* its lower part stays */
            row->requested_bytes = begin - row->address;
            row->block_bytes = begin - row->address;
        } else {
            const tide_event whole = *row;
            base_remove(log, &whole);
        }
    }
    return true;
}

/* Takes one more event into the base. False: there is no room for it. */
static bool fold(tide_event_log *log, const tide_event *event) {
    switch (event->action) {
    case TIDE_ACTION_ALLOC:
    case TIDE_ACTION_SEGMENT_ALLOC:
    case TIDE_ACTION_SEGMENT_MAP:
        return base_add(log, event);
    case TIDE_ACTION_FREE:
    case TIDE_ACTION_FREE_COMPLETED:
    case TIDE_ACTION_SEGMENT_FREE:
        base_remove(log, event);
        return true;
    case TIDE_ACTION_SEGMENT_UNMAP:
        return base_unmap(log, event);
    case TIDE_ACTION_FREE_REQUESTED:
        base_request_free(log, event);
        return true;
    default:
        return true;
    }
}

/* ---- the rows ---- */

/* Makes the oldest row, which is the next one, free. False: there is no room any more. */
static bool drop_oldest(tide_event_log *log) {
    if (!log->keep_newest || log->is_frozen) {
        return false;
    }
    log->next = log->next == log->max_events ? 0 : log->next;
    if (!fold(log, &log->rows[log->next])) {
        log->is_frozen = true;
        return false;
    }
    log->n_folded++;
    if (log->counters != NULL) {
        publish(&log->counters->n_folded, log->n_folded);
    }
    return true;
}

/* Has the system make the next pages at once: one after the other, as rows reach them, each costs
 * an exception. What it cannot do so it does then. */
static void touch_more(tide_event_log *log) {
    size_t n_rows = log->max_events - log->n_touched;
    n_rows = n_rows < TOUCHED_ROWS ? n_rows : TOUCHED_ROWS;
#ifdef MADV_POPULATE_WRITE
    char *begin = (char *)(log->rows + log->n_touched);
    size_t in_page = (uintptr_t)begin & (PAGE_BYTES - 1);
    (void)madvise(begin - in_page, in_page + n_rows * sizeof(tide_event), MADV_POPULATE_WRITE);
#endif
    log->n_touched += n_rows;
}

tide_event *tide_event_log_row_begin(tide_event_log *log) {
    log->n_appended++;
    if (log->n_written >= log->max_events && !drop_oldest(log)) {
        if (log->counters != NULL) {
            publish(&log->counters->n_refused, log->n_appended - log->n_written);
        }
        return NULL;
    }
    if (log->next >= log->n_touched) {
        touch_more(log);
    }
    return &log->rows[log->next];
}

void tide_event_log_row_end(tide_event_log *log) {
    log->next++;
    log->n_written++;
    if (log->counters != NULL) {
        atomic_store_explicit(&log->counters->n_written, log->n_written, memory_order_release);
    }
}

void tide_event_log_append(tide_event_log *log, const tide_event *event) {
    tide_event *row = tide_event_log_row_begin(log);
    if (row != NULL) {
        *row = *event;
        tide_event_log_row_end(log);
    }
}

size_t tide_event_log_n_kept(const tide_event_log *log) {
    return (size_t)(log->n_written - log->n_folded);
}

uint64_t tide_event_log_n_dropped(const tide_event_log *log) {
    return log->n_appended - tide_event_log_n_kept(log);
}

bool tide_event_log_has_newest(const tide_event_log *log) {
    return log->n_appended == log->n_written;
}

const tide_event *tide_event_log_newest(const tide_event_log *log, size_t i) {
    return &log->rows[i < log->next ? log->next - 1 - i : log->next + log->max_events - 1 - i];
}

uint64_t tide_event_log_first(const tide_event_log *log) {
    return log->n_folded;
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

void tide_event_log_copy_base(const tide_event_log *log, tide_event *ret_events) {
    size_t n = 0;
    for (size_t i = 0; i < log->n_base_used; i++) {
        if (log->base[i].action != TIDE_BASE_UNUSED) {
            ret_events[n++] = log->base[i];
        }
    }
}
