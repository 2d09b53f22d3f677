/* log_contents.c - reads the areas of a log file that are present. Every number in the header may
 * be wrong, so each is compared with a limit before it is used. */
#define _GNU_SOURCE /* O_CLOEXEC, flock */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/log_contents_internal.h"
#include "common/assert.h"
#include "common/files/checksum.h"

enum { MAX_TRIES = 4, MAX_BASE_TRIES = 200 };

#define MAX_ROWS UINT64_C(100000000)   /* the most that a table of a snapshot holds */
#define MAX_OFFSET (UINT64_C(1) << 56) /* beyond any file */

/* The file that is being read. */
typedef struct source {
    int descriptor;
    uint64_t n_bytes; /* its size */
} source;

/* Returns the number of bytes read: fewer than n_bytes at the end of the file and on a failure. */
static size_t read_at(const source *from, uint64_t offset, void *to, size_t n_bytes) {
    size_t n_done = 0;
    while (n_done < n_bytes) {
        ssize_t n = pread(from->descriptor, (unsigned char *)to + n_done, n_bytes - n_done,
                          (off_t)(offset + n_done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        n_done += (size_t)n;
    }
    return n_done;
}

/* ---- header ---- */

static tide_status bad_header(const char *path, const char *what, tide_error *error) {
    return tide_fail(error, TIDE_FORMAT, "%s: %s: nothing of it can be recovered", path, what);
}

static bool area_fits(uint64_t offset, uint64_t n_items, uint64_t item_bytes) {
    return offset >= TIDE_LOG_HEADER_BYTES && offset <= MAX_OFFSET &&
           n_items <= MAX_OFFSET / item_bytes;
}

static tide_status check_layout(const tide_log_layout *layout, const char *path,
                                tide_error *error) {
    bool is_known_row =
        layout->event_bytes == sizeof(tide_event) || layout->event_bytes == sizeof(tide_live_row);
    if (layout->byte_order != TIDE_LOG_BYTE_ORDER || !is_known_row ||
        layout->scope_bytes != sizeof(tide_scope_row)) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "%s: the log was written on another kind of machine: recover it there",
                         path);
    }
    if (layout->checksum != tide_crc32(0, layout, offsetof(tide_log_layout, checksum)) ||
        layout->version != TIDE_LOG_VERSION || layout->max_events == 0 ||
        !area_fits(layout->journal_offset, layout->journal_bytes, 1) ||
        !area_fits(layout->scopes_offset, layout->max_scopes, sizeof(tide_scope_row)) ||
        !area_fits(layout->base_offset, layout->max_base, layout->event_bytes) ||
        !area_fits(layout->events_offset, layout->max_events, layout->event_bytes)) {
        return bad_header(path, "the header of the log is damaged", error);
    }
    return TIDE_OK;
}

static tide_status read_header(const source *from, const char *path, tide_log_header *ret_header,
                               tide_error *error) {
    memset(ret_header, 0, sizeof(*ret_header));
    size_t n_read = read_at(from, 0, ret_header, sizeof(*ret_header));
    const tide_log_layout *layout = &ret_header->layout;
    if (n_read < sizeof(layout->magic) ||
        memcmp(layout->magic, TIDE_LOG_MAGIC, sizeof(layout->magic)) != 0) {
        return bad_header(path, "it is no log of tidemark", error);
    }
    if (n_read < sizeof(*ret_header)) {
        return bad_header(path, "the log ends within its header", error);
    }
    if (layout->version > TIDE_LOG_VERSION && layout->byte_order == TIDE_LOG_BYTE_ORDER) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "%s: the log has version %" PRIu32 ", this program reads version %d: use "
                         "the version of tidemark that recorded it",
                         path, layout->version, (int)TIDE_LOG_VERSION);
    }
    return check_layout(layout, path, error);
}

/* ---- areas ---- */

/* Reads n_items of an area, or as many as the file has. NULL without memory. */
static void *read_area(const tide_hostmem *mem, const source *from, uint64_t offset,
                       uint64_t n_items, size_t item_bytes, size_t *ret_n_items) {
    uint64_t n_there = offset < from->n_bytes ? (from->n_bytes - offset) / item_bytes : 0;
    uint64_t n = n_items < n_there ? n_items : n_there;
    void *items = mem->alloc(mem->ctx, (size_t)n * item_bytes + 1);
    if (items != NULL) {
        *ret_n_items = read_at(from, offset, items, (size_t)n * item_bytes) / item_bytes;
    }
    return items;
}

static uint64_t at_most(uint64_t n, uint64_t limit) {
    return n < limit ? n : limit;
}

static bool is_zero(const tide_event *row) {
    static const tide_event ZERO;
    return memcmp(row, &ZERO, sizeof(ZERO)) == 0;
}

/* Reads the kept rows, oldest first, up to the first one that is not in the file. Rows after a gap
 * are useless: they change a state that the missing rows made, which is unknown. */
static tide_status read_events(const source *from, tide_log_contents *contents,
                               tide_recover_report *report) {
    const tide_log_layout *layout = &contents->header.layout;
    uint64_t first = contents->fill.n_folded;
    uint64_t n_written = contents->fill.n_written;
    uint64_t paused_at = contents->fill.paused_at;
    uint64_t n_kept = n_written > first ? at_most(n_written - first, layout->max_events) : 0;
    uint64_t n_good = paused_at > first ? at_most(n_kept, paused_at - first) : 0;
    report->n_unpaired = n_kept - n_good;
    uint64_t slot = first % layout->max_events;
    size_t n_front = (size_t)at_most(n_good, layout->max_events - slot);
    size_t n_there = 0;
    contents->first_event = first;
    if (paused_at < first) {
        contents->n_base = 0; /* the base lacks the events of the pause */
    }
    if (contents->leaves_rows) {
        contents->n_rows = n_good;
        report->n_dropped = first + contents->fill.n_refused;
        return TIDE_OK;
    }
    size_t row_bytes = layout->event_bytes;
    unsigned char *rows = read_area(contents->mem, from, layout->events_offset + slot * row_bytes,
                                    n_front, row_bytes, &n_there);
    contents->events = (tide_event *)(void *)rows;
    if (contents->events == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (n_there == n_front && n_good > n_front) { /* the ring continues at its beginning */
        const tide_hostmem *mem = contents->mem;
        size_t n_back = 0;
        unsigned char *back =
            read_area(mem, from, layout->events_offset, n_good - n_front, row_bytes, &n_back);
        unsigned char *all =
            back == NULL ? NULL : mem->resize(mem->ctx, rows, (n_front + n_back + 1) * row_bytes);
        if (all != NULL) {
            memcpy(all + n_front * row_bytes, back, n_back * row_bytes);
            contents->events = (tide_event *)(void *)all;
            rows = all;
            n_there += n_back;
        }
        mem->release(mem->ctx, back);
        if (all == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    size_t n = 0;
    while (n < n_there && !is_zero((const tide_event *)(const void *)(rows + n * row_bytes))) {
        n++;
    }
    TIDE_ASSERT(n <= n_good && n_good <= n_kept);
    contents->n_events = n;
    report->n_missing = n_good - n;
    report->n_dropped = first + contents->fill.n_refused;
    return TIDE_OK;
}

/* The scopes that the file has. Their numbers have 32 bits. */
static size_t count_scopes(const source *from, const tide_log_layout *layout,
                           const tide_log_fill *fill) {
    uint64_t at = layout->scopes_offset;
    uint64_t n_there = at < from->n_bytes ? (from->n_bytes - at) / sizeof(tide_scope_row) : 0;
    return (size_t)at_most(at_most(fill->n_scopes, n_there), TIDE_NONE - 1);
}

static tide_status read_areas(const source *from, tide_log_contents *contents,
                              tide_recover_report *report) {
    const tide_hostmem *mem = contents->mem;
    const tide_log_layout *layout = &contents->header.layout;
    const tide_log_fill *fill = &contents->fill;
    contents->journal = read_area(mem, from, layout->journal_offset, fill->journal_used_bytes, 1,
                                  &contents->n_journal_bytes);
    if (contents->leaves_rows) {
        contents->n_scopes = count_scopes(from, layout, fill);
    } else {
        contents->scopes =
            read_area(mem, from, layout->scopes_offset, at_most(fill->n_scopes, MAX_ROWS),
                      sizeof(tide_scope_row), &contents->n_scopes);
    }
    contents->base = read_area(mem, from, layout->base_offset, at_most(fill->n_base_used, MAX_ROWS),
                               layout->event_bytes, &contents->n_base);
    contents->is_of_live = layout->event_bytes == sizeof(tide_live_row);
    contents->pinned_device = -1;
    bool has_scopes = contents->scopes != NULL || contents->leaves_rows;
    if (contents->journal == NULL || !has_scopes || contents->base == NULL) {
        return TIDE_NO_MEMORY;
    }
    report->journal_missing_bytes = fill->journal_used_bytes - contents->n_journal_bytes;
    report->n_scopes_missing = fill->n_scopes - contents->n_scopes;
    report->n_base_missing = fill->n_base_used - contents->n_base;
    report->n_scopes_refused = fill->n_scopes_refused;
    report->n_records_refused = fill->n_records_refused;
    report->n_event_counters_damaged = fill->n_events_damaged;
    report->n_scope_counters_damaged = fill->n_scopes_damaged;
    report->n_counters_damaged =
        fill->n_events_damaged + fill->n_scopes_damaged + fill->n_others_damaged;
    return read_events(from, contents, report);
}

/* ---- the file ---- */

/* Keeps the rows from `first` on. False if they cannot be distinguished from those before. */
static bool drop_rows(tide_log_contents *contents, const tide_log_fill *fill,
                      tide_recover_report *report) {
    uint64_t n_folded = fill->n_folded - contents->first_event;
    if (n_folded > contents->n_events || fill->paused_at < fill->n_written) {
        return false;
    }
    size_t row_bytes = contents->header.layout.event_bytes;
    unsigned char *rows = (unsigned char *)contents->events;
    contents->n_events -= (size_t)n_folded;
    memmove(rows, rows + (size_t)n_folded * row_bytes, contents->n_events * row_bytes);
    contents->first_event = fill->n_folded;
    contents->fill.n_folded = fill->n_folded; /* both show whether a row is being overwritten */
    contents->fill.n_written = fill->n_written;
    report->n_dropped = fill->n_folded + fill->n_refused;
    return true;
}

/* The process overwrote rows while they were read. The rows that it folded into the base meanwhile
 * are dropped; the others are good, because no row is overwritten before it is folded. So only the
 * base, which is small, must be read between two rows. */
static tide_status read_base_again(const source *from, const char *path,
                                   tide_log_contents *contents, tide_recover_report *report,
                                   bool *ret_is_steady, tide_error *error) {
    const tide_hostmem *mem = contents->mem;
    const tide_log_layout *layout = &contents->header.layout;
    tide_log_header before;
    tide_log_header after;
    tide_log_fill fill = contents->fill;
    bool is_steady = false;
    for (int i = 0; i < MAX_BASE_TRIES && !is_steady; i++) {
        TIDE_TRY(read_header(from, path, &before, error));
        fill = tide_log_fill_of(&before, report->is_live);
        mem->release(mem->ctx, contents->base);
        contents->base =
            read_area(mem, from, layout->base_offset, at_most(fill.n_base_used, MAX_ROWS),
                      layout->event_bytes, &contents->n_base);
        if (contents->base == NULL) {
            return tide_fail(error, TIDE_NO_MEMORY, "%s: no host memory for the log", path);
        }
        TIDE_TRY(read_header(from, path, &after, error));
        is_steady = atomic_load(&after.counters.n_folded) == fill.n_folded;
    }
    report->n_base_missing = fill.n_base_used - contents->n_base;
    *ret_is_steady = is_steady && drop_rows(contents, &fill, report);
    return TIDE_OK;
}

/* Reads the log once. A process may be writing it, so the reading counts only when nothing was
 * overwritten meanwhile. */
static tide_status read_once(const source *from, const char *path, tide_log_contents *contents,
                             tide_recover_report *report, bool *ret_is_steady, tide_error *error) {
    tide_log_header after;
    TIDE_TRY(read_header(from, path, &contents->header, error));
    contents->fill = tide_log_fill_of(&contents->header, report->is_live);
    if (read_areas(from, contents, report) != TIDE_OK) {
        return tide_fail(error, TIDE_NO_MEMORY, "%s: no host memory for the log", path);
    }
    TIDE_TRY(read_header(from, path, &after, error));
    *ret_is_steady =
        atomic_load(&after.counters.n_folded) == atomic_load(&contents->header.counters.n_folded);
    return *ret_is_steady ? TIDE_OK
                          : read_base_again(from, path, contents, report, ret_is_steady, error);
}

static tide_status read_steady(const source *from, const char *path, tide_log_contents *contents,
                               tide_recover_report *report, tide_error *error) {
    bool is_steady = false;
    for (int i = 0; i < MAX_TRIES && !is_steady; i++) {
        const tide_hostmem *mem = contents->mem;
        tide_log_contents_fini(contents);
        contents->mem = mem;
        TIDE_TRY(read_once(from, path, contents, report, &is_steady, error));
    }
    return is_steady ? TIDE_OK
                     : tide_fail(error, TIDE_IO,
                                 "%s: process %" PRIu64
                                 " overwrites the log faster than it can be read: stop the process "
                                 "first",
                                 path, contents->header.layout.process_id);
}

tide_status tide_log_contents_read(const char *path, const tide_hostmem *mem,
                                   tide_log_contents *ret_contents, tide_recover_report *report,
                                   tide_error *error) {
    struct stat file;
    tide_log_contents contents = {.mem = mem};
    source from = {.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (from.descriptor < 0) {
        return tide_fail(error, TIDE_IO, "%s cannot be read: %s", path, strerror(errno));
    }
    tide_status status = TIDE_OK;
    if (fstat(from.descriptor, &file) != 0 || !S_ISREG(file.st_mode)) {
        status = tide_fail(error, TIDE_IO, "%s cannot be read: it is no file", path);
        goto done;
    }
    from.n_bytes = (uint64_t)file.st_size;
    report->is_live = flock(from.descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    status = read_steady(&from, path, &contents, report, error);
    if (status == TIDE_OK && contents.n_events > MAX_ROWS) {
        status = tide_fail(error, TIDE_LIMIT, "%s: %zu events: a snapshot holds %" PRIu64, path,
                           contents.n_events, MAX_ROWS);
    }
    if (status != TIDE_OK) {
        tide_log_contents_fini(&contents);
        goto done;
    }
    report->is_closed = contents.fill.is_closed;
    report->process_id = contents.header.layout.process_id;
    *ret_contents = contents;

done:
    close(from.descriptor);
    return status;
}

tide_status tide_log_contents_open(const char *path, const tide_hostmem *mem,
                                   tide_log_contents *ret_contents, tide_recover_report *report,
                                   tide_error *error) {
    tide_log_contents contents = {.mem = mem, .leaves_rows = true};
    struct stat file;
    tide_status status = TIDE_OK;
    contents.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (contents.descriptor < 0) {
        return tide_fail(error, TIDE_IO, "%s cannot be read: %s", path, strerror(errno));
    }
    source from = {.descriptor = contents.descriptor};
    if (fstat(from.descriptor, &file) != 0 || !S_ISREG(file.st_mode)) {
        status = tide_fail(error, TIDE_IO, "%s cannot be read: it is no file", path);
        goto fail;
    }
    from.n_bytes = (uint64_t)file.st_size;
    bool is_live = flock(from.descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    (void)flock(from.descriptor, LOCK_UN); /* a later recorder may replace a closed log */
    status = read_header(&from, path, &contents.header, error);
    if (status == TIDE_OK &&
        (is_live || contents.header.layout.event_bytes != sizeof(tide_event))) {
        status = TIDE_UNSUPPORTED;
    }
    if (status != TIDE_OK) {
        goto fail;
    }
    contents.fill = tide_log_fill_of(&contents.header, false);
    if (read_areas(&from, &contents, report) != TIDE_OK) {
        status = tide_fail(error, TIDE_NO_MEMORY, "%s: no host memory for the log", path);
        goto fail;
    }
    report->is_closed = contents.fill.is_closed;
    report->process_id = contents.header.layout.process_id;
    *ret_contents = contents;
    return TIDE_OK;

fail:
    tide_log_contents_fini(&contents);
    return status;
}

size_t tide_log_read_rows(const tide_log_contents *contents, uint64_t offset, void *to,
                          size_t n_rows, size_t row_bytes) {
    const source from = {.descriptor = contents->descriptor};
    return read_at(&from, offset, to, n_rows * row_bytes) / row_bytes;
}

void tide_log_contents_fini(tide_log_contents *contents) {
    const tide_hostmem *mem = contents->mem;
    if (mem == NULL) {
        return;
    }
    if (contents->leaves_rows) {
        close(contents->descriptor);
    }
    mem->release(mem->ctx, contents->journal);
    mem->release(mem->ctx, contents->scopes);
    mem->release(mem->ctx, contents->base);
    mem->release(mem->ctx, contents->events);
    mem->release(mem->ctx, contents->extras);
    mem->release(mem->ctx, contents->order);
    mem->release(mem->ctx, contents->notes);
    mem->release(mem->ctx, contents->base_notes);
    mem->release(mem->ctx, contents->base_pools);
    *contents = (tide_log_contents){.mem = NULL};
}
