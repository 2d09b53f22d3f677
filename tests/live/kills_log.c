/* Reads the log of a killed recording row by row, and replays it. */
#define _DEFAULT_SOURCE
#include "kills_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/event_log.h"
#include "recorder/log_format_friend.h"

/* MARK, ALLOC, FREE_REQUESTED, FREE_COMPLETED make an item; LAG items are alive. */
enum { CALLS = 4, LAG = 8, MAX_NUMBERS = 1 << 20, MAX_ALIVE = 64 };

static uint64_t address_of(unsigned thread, uint64_t item) {
    return (uint64_t)(thread + 1) << 40 | item << 9;
}

kills_call kills_call_of(unsigned thread, uint64_t number) {
    uint64_t item = number / CALLS;
    uint64_t of = number % CALLS > 1 && item >= LAG ? item - LAG : item;
    static const int ACTIONS[CALLS] = {TIDE_ACTION_MARK, TIDE_ACTION_ALLOC,
                                       TIDE_ACTION_FREE_REQUESTED, TIDE_ACTION_FREE_COMPLETED};
    kills_call call = {.action = ACTIONS[number % CALLS],
                       .address = address_of(thread, of),
                       .n_bytes = (of + 1) * 512,
                       .sequence = (uint32_t)(number % CALLS == 3 ? number - 1 : number)};
    if (item < LAG && number % CALLS > 1) { /* nothing is old enough: a block without an owner */
        call.address = address_of(thread, UINT64_C(1) << 28);
    }
    (void)snprintf(call.name, sizeof(call.name), "mark %u.%" PRIu64, thread, item % 512);
    return call;
}

/* ---- the log ---- */

typedef struct opened {
    const unsigned char *bytes; /* the mapped file */
    size_t n_bytes;
    const tide_log_header *header;
    const char **strings; /* by number, not terminated: string_bytes */
    uint32_t *string_bytes;
    bool *has_stack;
} opened;

static bool wrong(const char *what, uint64_t a, uint64_t b) {
    (void)printf("%s: %" PRIu64 ", %" PRIu64 "\n", what, a, b);
    return false;
}

/* Every record of the journal that is counted must be whole. */
static bool read_journal(opened *log) {
    const unsigned char *at = log->bytes + log->header->layout.journal_offset;
    const unsigned char *end = at + atomic_load(&log->header->counters.journal_used_bytes);
    while (at < end) {
        tide_log_record record;
        tide_log_numbered head = {0};
        memcpy(&record, at, sizeof(record));
        if (record.mark != TIDE_LOG_RECORD_MARK) {
            return wrong("no record in the journal", (uint64_t)(end - at), 0);
        }
        const unsigned char *payload = at + sizeof(record);
        if (record.kind == TIDE_LOG_STRING || record.kind == TIDE_LOG_STACK) {
            memcpy(&head, payload, sizeof(head));
            if (head.number >= MAX_NUMBERS) {
                return wrong("number of a record", head.number, record.kind);
            }
        }
        if (record.kind == TIDE_LOG_STRING) {
            log->strings[head.number] = (const char *)payload + sizeof(head);
            log->string_bytes[head.number] = record.n_bytes - (uint32_t)sizeof(head);
        } else if (record.kind == TIDE_LOG_STACK) {
            log->has_stack[head.number] = true;
        }
        at = payload + (record.n_bytes + 7) / 8 * 8;
    }
    uint64_t n_refused = atomic_load(&log->header->counters.n_records_refused);
    return n_refused == 0 || wrong("the journal was full", n_refused, 0);
}

/* ---- the replay ---- */

typedef struct thread_state {
    bool has_begun;
    uint64_t n_calls; /* according to the rows so far */
    uint64_t alive[MAX_ALIVE];
    size_t n_alive;
} thread_state;

static bool add_alive(thread_state *of, uint64_t address) {
    if (of->n_alive == MAX_ALIVE) {
        return wrong("too much is alive", address, of->n_alive);
    }
    of->alive[of->n_alive++] = address;
    return true;
}

static void remove_alive(thread_state *of, uint64_t address) {
    for (size_t i = 0; i < of->n_alive; i++) {
        if (of->alive[i] == address) {
            of->alive[i] = of->alive[--of->n_alive];
            return;
        }
    }
}

/* Which call wrote the row, the first one if two did. Both calls of a release have one sequence. */
static uint64_t number_of_row(const tide_live_row *row) {
    bool is_completed = row->event.action == TIDE_ACTION_FREE_COMPLETED;
    return row->sequence + (is_completed ? 1 : 0);
}

static bool has_text(const opened *log, const tide_live_row *row, const char *text) {
    uint32_t number = row->event.name;
    return number < MAX_NUMBERS && log->strings[number] != NULL &&
           strlen(text) == log->string_bytes[number] &&
           memcmp(text, log->strings[number], strlen(text)) == 0;
}

static bool check_content(const opened *log, unsigned thread, const tide_live_row *row,
                          uint64_t number) {
    kills_call call = kills_call_of(thread, number);
    bool is_free = row->event.action == TIDE_ACTION_FREE;
    if (row->event.action != call.action &&
        !(is_free && call.action == TIDE_ACTION_FREE_REQUESTED)) {
        return wrong("action", row->event.action, number);
    }
    if (call.action == TIDE_ACTION_MARK) {
        return has_text(log, row, call.name) || wrong("name of a mark", thread, number);
    }
    if (row->event.address != call.address || row->event.requested_bytes != call.n_bytes) {
        return wrong("address or bytes", row->event.address, call.address);
    }
    return (row->event.stack < MAX_NUMBERS && log->has_stack[row->event.stack]) ||
           wrong("a stack is missing", row->event.stack, number);
}

/* Marks have no sequence: if the first row is a mark, the next row decides. */
static bool apply(const opened *log, unsigned thread, thread_state *of, const tide_live_row *row) {
    bool is_mark = row->event.action == TIDE_ACTION_MARK;
    if (!of->has_begun && is_mark && atomic_load(&log->header->counters.n_folded) > 0) {
        return true;
    }
    uint64_t number = of->has_begun || is_mark ? of->n_calls : number_of_row(row);
    bool is_completed = row->event.action == TIDE_ACTION_FREE_COMPLETED;
    if (!is_mark && number_of_row(row) != number) {
        return wrong("order of a thread's rows", number_of_row(row), number);
    }
    of->has_begun = true;
    of->n_calls = number + (row->event.action == TIDE_ACTION_FREE ? 2 : 1);
    if (row->event.action == TIDE_ACTION_ALLOC && !add_alive(of, row->event.address)) {
        return false;
    }
    if (row->event.action == TIDE_ACTION_FREE || is_completed) {
        remove_alive(of, row->event.address);
    }
    return check_content(log, thread, row, number);
}

/* A thread's number in the log is that of its first row; the address identifies the thread. */
static unsigned thread_of(const opened *log, const tide_live_row *row) {
    unsigned thread = KILLS_THREADS;
    if (row->event.action != TIDE_ACTION_MARK) {
        return (unsigned)(row->event.address >> 40) - 1;
    }
    uint32_t number = row->event.name;
    if (number < MAX_NUMBERS && log->strings[number] != NULL) {
        (void)sscanf(log->strings[number], "mark %u.", &thread);
    }
    return thread;
}

static bool replay(const opened *log, thread_state *states) {
    const tide_log_layout *layout = &log->header->layout;
    uint64_t n_written = atomic_load(&log->header->counters.n_written);
    const tide_live_row *rows = (const void *)(log->bytes + layout->events_offset);
    const tide_live_row *base = (const void *)(log->bytes + layout->base_offset);
    uint64_t n_base = atomic_load(&log->header->counters.n_base_used);
    for (uint64_t i = 0; i < n_base; i++) {
        bool is_used = base[i].event.action != TIDE_BASE_UNUSED;
        unsigned thread = thread_of(log, &base[i]);
        if (is_used &&
            (thread >= KILLS_THREADS || !add_alive(&states[thread], base[i].event.address))) {
            return wrong("a row of the base", i, base[i].event.address);
        }
    }
    uint64_t n_folded = atomic_load(&log->header->counters.n_folded);
    for (uint64_t i = n_folded; i < n_written; i++) {
        const tide_live_row *row = &rows[i % layout->max_events];
        unsigned thread = thread_of(log, row);
        /* The oldest row is in the base before the counter shows it: after a kill between the two,
         * the log has the block twice. */
        if (i == n_folded && row->event.action == TIDE_ACTION_ALLOC && thread < KILLS_THREADS) {
            remove_alive(&states[thread], row->event.address);
        }
        if (thread >= KILLS_THREADS || !apply(log, thread, &states[thread], row)) {
            return wrong("row", i, n_written);
        }
    }
    return true;
}

/* Whether exactly the blocks expected after that many calls are alive. */
static bool is_alive_after(unsigned thread, const thread_state *of, uint64_t n_calls) {
    size_t n_alive = 0;
    uint64_t n_items = (n_calls + CALLS - 2) / CALLS; /* allocated */
    for (uint64_t item = n_items > 2 * LAG ? n_items - 2 * LAG : 0; item < n_items; item++) {
        bool is_alive = n_calls < (item + LAG + 1) * CALLS;
        bool is_told = false;
        for (size_t i = 0; is_alive && i < of->n_alive; i++) {
            is_told = is_told || of->alive[i] == address_of(thread, item);
        }
        if (is_alive && !is_told) {
            return false;
        }
        n_alive += is_alive;
    }
    return n_alive == of->n_alive;
}

/* All rows of a thread may have been overwritten by those of others; then the base shows it. */
static bool check_thread(const opened *log, unsigned thread, const thread_state *of,
                         uint64_t n_returned) {
    if (!of->has_begun && atomic_load(&log->header->counters.n_folded) > 0) {
        return is_alive_after(thread, of, n_returned) ||
               is_alive_after(thread, of, n_returned + 1) ||
               wrong("blocks in the base", of->n_alive, n_returned);
    }
    if (of->n_calls < n_returned || of->n_calls > n_returned + 1) {
        return wrong("calls in the log, calls that had returned", of->n_calls, n_returned);
    }
    return is_alive_after(thread, of, of->n_calls) ||
           wrong("blocks that are alive, after calls", of->n_alive, of->n_calls);
}

static bool check(opened *log, kills_shared *shared, kills_figures *figures) {
    thread_state states[KILLS_THREADS] = {{0}};
    if (!read_journal(log) || !replay(log, states)) {
        return false;
    }
    for (unsigned i = 0; i < KILLS_THREADS; i++) {
        uint64_t n_returned = atomic_load(&shared->n_returned[i]);
        figures->n_returned += n_returned;
        if (!check_thread(log, i, &states[i], n_returned)) {
            return false;
        }
    }
    uint64_t n_folded = atomic_load(&log->header->counters.n_folded);
    figures->n_round += n_folded > 0;
    figures->n_rows += atomic_load(&log->header->counters.n_written) - n_folded;
    return true;
}

bool kills_check_log(const char *path, kills_shared *shared, kills_figures *figures) {
    struct stat info;
    bool is_right = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    figures->n_logs++;
    if (fd < 0) {
        figures->n_without++;
        uint64_t n_returned = atomic_load(&shared->n_returned[0]);
        return (errno == ENOENT && n_returned == 0) || wrong("there is no log", n_returned, 0);
    }
    opened log = {.strings = calloc(MAX_NUMBERS, sizeof(*log.strings)),
                  .string_bytes = calloc(MAX_NUMBERS, sizeof(*log.string_bytes)),
                  .has_stack = calloc(MAX_NUMBERS, sizeof(*log.has_stack))};
    bool has_memory = log.strings != NULL && log.string_bytes != NULL && log.has_stack != NULL;
    if (has_memory && fstat(fd, &info) == 0) {
        log.n_bytes = (size_t)info.st_size;
        void *bytes = mmap(NULL, log.n_bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (bytes != MAP_FAILED) {
            log.bytes = bytes;
            log.header = bytes;
            is_right = check(&log, shared, figures);
            (void)munmap(bytes, log.n_bytes);
        }
    }
    (void)close(fd);
    free(log.strings);
    free(log.string_bytes);
    free(log.has_stack);
    return is_right;
}
