/* event_log.c - rows, the ring, and the base that keeps the live blocks of overwritten rows.
 *
 * If the log is in a file, the process may be killed between any two instructions here, and a
 * reader must understand the file. So every change is one store (an action or a counter), made
 * after the stores that it depends on.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include "recorder/event_log.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/assert.h"
#include "common/text/bytes.h"
#include "recorder/log_format_friend.h"

/* Rows of the base beyond those of the log: more blocks may be alive than a small ring has rows.
 * This is only address space; the system provides pages when they are used. */
enum { MORE_BASE = 65536 };

/* Rows whose pages are requested together, 48 KiB: this takes some microseconds every 1,024 events.
 */
enum { TOUCHED_ROWS = 1024, PAGE_BYTES = 4096 };

static tide_event *row_at(const tide_event_log *log, size_t i) {
    return tide_event_log_row_of(log, log->rows, i);
}

static tide_event *base_at(const tide_event_log *log, size_t i) {
    return tide_event_log_row_of(log, log->base, i);
}

void tide_event_log_init_in(tide_event_log *log, const tide_hostmem *mem,
                            const tide_event_log_memory *memory, bool keep_newest) {
    *log = (tide_event_log){.row_bytes = memory->row_bytes,
                            .rows = memory->rows,
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
    if (max_events <= (SIZE_MAX / sizeof(tide_event) - MORE_BASE) / 2) { /* the sum fits size_t */
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
    const tide_event_log_memory memory = {.row_bytes = sizeof(tide_event),
                                          .rows = rows,
                                          .max_events = max_events,
                                          .base = (tide_event *)rows + max_events,
                                          .max_base = max_base};
    tide_event_log_init_in(log, mem, &memory, keep_newest);
    log->mapping = rows;
    log->mapped_bytes = (max_events + max_base) * sizeof(tide_event);
#ifdef MADV_HUGEPAGE
    /* Huge pages, if the system has any: recording adds 64 ns to a pair of the benchmark's step
     * with them and 91 ns without (tidemark bench recorder, 2 cores of an AMD EPYC). */
    (void)madvise(rows, max_events * sizeof(tide_event), MADV_HUGEPAGE);
#endif
    return TIDE_OK;
}

void tide_event_log_fini(tide_event_log *log) {
    if (log->mapping != NULL) {
        munmap(log->mapping, log->mapped_bytes);
    }
    tide_block_ends_fini(&log->ends, log->base_at.mem);
    tide_map_fini(&log->base_at);
    *log = (tide_event_log){.rows = NULL};
}

/* Stores a counter after everything that it counts, and before everything that follows. Only the
 * compiler must not change that order: a process is killed between two instructions, and the stores
 * of all earlier instructions still reach the file. */
static void publish(_Atomic(uint64_t) *counter, uint64_t value) {
    atomic_store_explicit(counter, value, memory_order_release);
    atomic_signal_fence(memory_order_acq_rel);
}

/* ---- the base ---- */

/* A segment, its first block and the driver's memory for it may have the same address, so the
 * lowest bits distinguish them. */
static uint64_t key_of(const tide_event *event) {
    enum { BLOCK = 0, SEGMENT = 1, OF_DRIVER = 2 };
    unsigned kind = event->action >= TIDE_LOG_DRIVER_FIRST       ? OF_DRIVER
                    : event->action >= TIDE_ACTION_SEGMENT_ALLOC ? SEGMENT
                                                                 : BLOCK;
    return event->address << 2 | kind;
}

/* Whether the row of the base is a block that the ends contain. */
static bool has_end(const tide_event_log *log, const tide_event *row) {
    return log->row_bytes != sizeof(*row) && row->action <= TIDE_ACTION_FREE_REQUESTED &&
           row->requested_bytes > TIDE_BLOCK_ENDS_LARGE;
}

/* Returns whether the removed block is among the ends. */
static bool base_remove(tide_event_log *log, const tide_event *event) {
    uint64_t row = 0;
    if (!tide_map_find(&log->base_at, key_of(event), &row)) {
        return false;
    }
    tide_map_remove(&log->base_at, key_of(event));
    bool had_end = has_end(log, base_at(log, row));
    TIDE_ASSERT(row < log->n_base_used && log->n_base > 0);
    TIDE_ASSERT(base_at(log, row)->action != TIDE_BASE_UNUSED);
    /* The row must be unused before its address becomes a link of the list: otherwise a reader
     * would mistake the link for the address of a block. */
    base_at(log, row)->action = TIDE_BASE_UNUSED;
    atomic_signal_fence(memory_order_acq_rel);
    base_at(log, row)->address = log->base_unused;
    log->base_unused = row + 1;
    log->n_base--;
    return had_end;
}

/* False if there is no room. The action is stored last, so the row is unused until it is
 * complete. */
static bool base_add(tide_event_log *log, const tide_event *event) {
    /* An address has one block: an older row of it is outdated. */
    if (base_remove(log, event) && !has_end(log, event)) {
        tide_block_ends_remove(&log->ends, event->address);
    }
    bool is_new = log->base_unused == 0;
    uint64_t row = is_new ? log->n_base_used : log->base_unused - 1;
    if (row >= log->max_base || tide_map_put(&log->base_at, key_of(event), row) != TIDE_OK) {
        return false;
    }
    TIDE_ASSERT(is_new || base_at(log, row)->action == TIDE_BASE_UNUSED);
    tide_event entry = *event;
    entry.action = TIDE_BASE_UNUSED;
    log->base_unused = is_new ? 0 : base_at(log, row)->address;
    *base_at(log, row) = entry;
    memcpy(base_at(log, row) + 1, event + 1, log->row_bytes - sizeof(*event));
    atomic_signal_fence(memory_order_acq_rel);
    base_at(log, row)->action = event->action;
    log->n_base++;
    TIDE_ASSERT(log->n_base <= log->max_base);
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
        base_at(log, row)->action = TIDE_ACTION_FREE_REQUESTED;
    }
}

/* A row with the extra bytes after it. */
typedef struct piece {
    tide_event event;
    unsigned char behind[TIDE_EVENT_MAX_EXTRA];
} piece;

/* Removes [event->address, + block_bytes) from the mapped pieces. The unmapped range may be a part
 * of one piece or span several. This is rare, so it searches all rows. False, with nothing changed,
 * if there may be no room for the remaining pieces. */
static bool base_unmap(tide_event_log *log, const tide_event *event) {
    uint64_t begin = event->address;
    uint64_t end = begin + event->block_bytes;
    TIDE_ASSERT(log->n_base <= log->n_base_used && log->n_base_used <= log->max_base);
    if (log->max_base - log->n_base < 2) {
        return false;
    }
    for (size_t i = 0; i < log->n_base_used; i++) {
        tide_event *row = base_at(log, i);
        uint64_t row_end = row->address + row->block_bytes;
        if (row->action != TIDE_ACTION_SEGMENT_MAP || row->address >= end || row_end <= begin) {
            continue;
        }
        if (row_end > end) { /* the upper part of the piece stays */
            piece upper;
            memcpy(&upper, row, log->row_bytes);
            upper.event.address = end;
            upper.event.block_bytes = row_end - end;
            upper.event.requested_bytes = row_end - end;
            if (!base_add(log, &upper.event)) {
                return false;
            }
        }
        if (row->address < begin) { /* the lower part stays */
            row->requested_bytes = begin - row->address;
            row->block_bytes = begin - row->address;
        } else {
            const tide_event whole = *row;
            (void)base_remove(log, &whole);
        }
    }
    return true;
}

/* A block whose row does not state its size: in the base, the block_bytes of a large block with
 * another block after it is how far it could reach. */
static bool base_add_block(tide_event_log *log, const tide_event *event) {
    piece block;
    uint64_t most_bytes = 0;
    if (log->row_bytes == sizeof(*event)) {
        return base_add(log, event);
    }
    if (event->requested_bytes <= TIDE_BLOCK_ENDS_LARGE) {
        return base_add(log, event);
    }
    if (tide_block_ends_add(&log->ends, log->base_at.mem, event->address, &most_bytes) != TIDE_OK) {
        return false;
    }
    memcpy(&block, event, log->row_bytes);
    if (most_bytes > event->requested_bytes && most_bytes != UINT64_MAX) {
        block.event.block_bytes = most_bytes;
    }
    return base_add(log, &block.event);
}

/* Stores the label of a row in the block. A label by rule replaces no earlier one, as when the rows
 * are read one by one (programs/launch/document/document_tensors.c). */
static void base_label(tide_event_log *log, const tide_event *event) {
    uint64_t row = 0;
    if (tide_map_find(&log->base_at, event->address << 2, &row)) {
        tide_live_row label;
        tide_live_row block;
        memcpy(&label, event, sizeof(label));
        memcpy(&block, base_at(log, row), sizeof(block));
        if (label.event.category != TIDE_CERTAINTY_NAMED &&
            block.event.category != TIDE_CERTAINTY_UNKNOWN) {
            return;
        }
        block.node = label.node;
        block.event.name = label.event.name;
        block.event.category = label.event.category;
        memcpy(base_at(log, row), &block, sizeof(block));
    }
}

/* Applies one event to the base. False if there is no room. */
static bool fold(tide_event_log *log, const tide_event *event) {
    if (event->action == TIDE_LOG_LABEL_ACTION) {
        base_label(log, event);
        return true;
    }
    if (event->action >= TIDE_LOG_DRIVER_FIRST) {
        if ((event->action - TIDE_LOG_DRIVER_FIRST) % 2 == 0) {
            return base_add(log, event);
        }
        (void)base_remove(log, event);
        return true;
    }
    switch (event->action) {
    case TIDE_ACTION_ALLOC:
        return base_add_block(log, event);
    case TIDE_ACTION_SEGMENT_ALLOC:
    case TIDE_ACTION_SEGMENT_MAP:
        return base_add(log, event);
    case TIDE_ACTION_FREE:
    case TIDE_ACTION_FREE_COMPLETED:
    case TIDE_ACTION_SEGMENT_FREE:
        if (base_remove(log, event)) {
            tide_block_ends_remove(&log->ends, event->address);
        }
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

bool tide_event_log_fold(tide_event_log *log, const tide_event *event) {
    return fold(log, event);
}

bool tide_event_log_take_base(tide_event_log *log, const tide_event *row) {
    uint64_t most_bytes = 0; /* the row has it */
    bool is_large = row->action <= TIDE_ACTION_FREE_REQUESTED && log->row_bytes != sizeof(*row) &&
                    row->requested_bytes > TIDE_BLOCK_ENDS_LARGE;
    return (!is_large || tide_block_ends_add(&log->ends, log->base_at.mem, row->address,
                                             &most_bytes) == TIDE_OK) &&
           base_add(log, row);
}

/* ---- the rows ---- */

/* Folds the oldest row into the base. False: the base is full. The log then stops for good: a base
 * without some of the live blocks would be wrong, while a log that states where it stops is only
 * short. */
static bool fold_oldest(tide_event_log *log, size_t row) {
    if (!fold(log, row_at(log, row))) {
        log->is_frozen = true;
        return false;
    }
    log->n_folded++;
    if (log->counters != NULL) {
        publish(&log->counters->n_folded, log->n_folded);
    }
    return true;
}

/* Folds the oldest rows into the base, so the next events can overwrite them: in a full ring the
 * oldest row is in the place of the next. False: there is no room. */
static bool drop_oldest(tide_event_log *log) {
    size_t n = (size_t)tide_log_fold_rows(log->max_events);
    size_t row = log->next == log->max_events ? 0 : log->next;
    TIDE_ASSERT(log->n_written - log->n_folded == log->max_events); /* it is full */
    if (!log->keep_newest || log->is_frozen || !fold_oldest(log, row)) {
        return false;
    }
    for (size_t i = 1; i < n; i++) {
        row = row + 1 == log->max_events ? 0 : row + 1;
        if (!fold_oldest(log, row)) {
            break; /* the room for the rows before this one is used first */
        }
    }
    return true;
}

/* Asks the system for the pages of the next rows in one call. Without the call, or if it fails, the
 * first write to each page costs a page fault. */
static void touch_more(tide_event_log *log) {
    TIDE_ASSERT(log->n_touched < log->max_events);
    size_t n_rows = log->max_events - log->n_touched;
    n_rows = n_rows < TOUCHED_ROWS ? n_rows : TOUCHED_ROWS;
#ifdef MADV_POPULATE_WRITE
    char *begin = (char *)row_at(log, log->n_touched);
    size_t in_page = (uintptr_t)begin & (PAGE_BYTES - 1);
    (void)madvise(begin - in_page, in_page + n_rows * log->row_bytes, MADV_POPULATE_WRITE);
#endif
    log->n_touched += n_rows;
}

tide_event *tide_event_log_make_room(tide_event_log *log) {
    if (log->n_written - log->n_folded >= log->max_events && !drop_oldest(log)) {
        if (log->counters != NULL) {
            publish(&log->counters->n_refused, log->n_appended - log->n_written);
        }
        return NULL;
    }
    log->next = log->next == log->max_events ? 0 : log->next;
    if (log->next >= log->n_touched) {
        touch_more(log);
    }
    TIDE_ASSERT(log->next < log->max_events);
    return row_at(log, log->next);
}

void tide_event_log_publish(tide_event_log *log) {
    atomic_store_explicit(&log->counters->n_written, log->n_written, memory_order_release);
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
    TIDE_ASSERT(i < tide_event_log_n_kept(log));
    return row_at(log, i < log->next ? log->next - 1 - i : log->next + log->max_events - 1 - i);
}

tide_event *tide_event_log_last(tide_event_log *log) {
    if (tide_event_log_n_kept(log) == 0) {
        return NULL;
    }
    return row_at(log, (log->next > 0 ? log->next : log->max_events) - 1);
}

uint64_t tide_event_log_first(const tide_event_log *log) {
    return log->n_folded;
}

/* Contiguous rows. */
static void copy_rows(const tide_event_log *log, size_t slot, size_t n_rows,
                      tide_event *ret_events) {
    if (log->row_bytes == sizeof(*ret_events)) {
        if (n_rows > 0) {
            memcpy(ret_events, log->rows + slot, n_rows * sizeof(*ret_events));
        }
        return;
    }
    for (size_t i = 0; i < n_rows; i++) {
        ret_events[i] = *row_at(log, slot + i);
    }
}

void tide_event_log_copy(const tide_event_log *log, uint64_t first, size_t n_rows,
                         tide_event *ret_events) {
    TIDE_ASSERT(first >= log->n_folded && n_rows <= log->n_written - first);
    size_t slot = (size_t)(first % log->max_events);
    size_t n_left = log->max_events - slot; /* up to where a ring continues at its beginning */
    size_t n_front = n_rows < n_left ? n_rows : n_left;
    copy_rows(log, slot, n_front, ret_events);
    copy_rows(log, 0, n_rows - n_front, ret_events + n_front);
}

void tide_event_log_copy_base(const tide_event_log *log, tide_event *ret_events) {
    size_t n = 0;
    for (size_t i = 0; i < log->n_base_used; i++) {
        if (base_at(log, i)->action != TIDE_BASE_UNUSED) {
            ret_events[n++] = *base_at(log, i);
        }
    }
    TIDE_ASSERT(n == log->n_base);
}
