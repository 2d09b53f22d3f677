#include "programs/virtual_cuda/values/known.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "programs/virtual_cuda/card/pinned.h"
#include "programs/virtual_cuda/order/streams.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/values/reached.h"

enum { MAX_PATTERN = 8 };

/* Known bytes. Records do not overlap. */
typedef struct record {
    uint64_t address, n_bytes;
    unsigned char *bytes;               /* n_bytes from malloc; NULL: the promise, or the pattern */
    tide_vc_promise *promise;           /* held; NULL: the pattern, repeated */
    uint64_t promise_offset;            /* of the record's first byte in the promise's bytes */
    unsigned char pattern[MAX_PATTERN]; /* repeats at addresses that are multiples of 8 */
    uint64_t number;                    /* in the order in which records are made */
} record;

/* The lock guards all members but the bounds, which are also read without it. */
static struct known {
    record *records;          /* by address; from malloc */
    size_t n_records, n_room; /* n_records is at most n_room */
    size_t n_held_bytes;      /* of host memory that the records own */
    uint64_t n_made;          /* records so far */
    /* The bounds of all records' addresses; low above high: there are none. They only widen, until
     * all records are gone. */
    _Atomic uint64_t low, high;
} known = {.low = UINT64_MAX};
static _Thread_local bool sends_objects;
TIDE_VC_LOCK(lock, NULL);

void tide_vc_known_objects(bool is_sending) {
    sends_objects = is_sending;
}

size_t tide_vc_known_copy_bytes(void) {
    return sends_objects ? TIDE_VC_OBJECT_COPY_BYTES : TIDE_VC_KNOWN_COPY_BYTES;
}

bool tide_vc_known_is_empty(void) {
    return atomic_load_explicit(&known.low, memory_order_relaxed) >
           atomic_load_explicit(&known.high, memory_order_relaxed);
}

void tide_vc_known_bounds(uint64_t *ret_low, uint64_t *ret_high) {
    *ret_low = atomic_load_explicit(&known.low, memory_order_relaxed);
    *ret_high = atomic_load_explicit(&known.high, memory_order_relaxed);
}

static bool may_know(uint64_t address, uint64_t n_bytes) {
    return address < atomic_load_explicit(&known.high, memory_order_relaxed) &&
           address + n_bytes > atomic_load_explicit(&known.low, memory_order_relaxed);
}

/* ---- the records; the caller holds the lock ---- */

static bool takes_host_memory(const record *of) {
    return of->bytes != NULL || of->promise != NULL;
}

static uint64_t end_of(const record *of) {
    return of->address + of->n_bytes;
}

/* The first record that ends above the address. */
static size_t first_above(uint64_t address) {
    size_t from = 0;
    size_t to = known.n_records;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (end_of(&known.records[middle]) <= address) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static void release(record *of) {
    free(of->bytes);
    tide_vc_promise_drop(of->promise);
    of->bytes = NULL;
    of->promise = NULL;
}

static void drop(size_t i) {
    TIDE_ASSERT(i < known.n_records);
    TIDE_ASSERT(!takes_host_memory(&known.records[i]) ||
                known.records[i].n_bytes <= known.n_held_bytes);
    known.n_held_bytes -= takes_host_memory(&known.records[i]) ? known.records[i].n_bytes : 0;
    release(&known.records[i]);
    known.n_records--;
    memmove(&known.records[i], &known.records[i + 1],
            (known.n_records - i) * sizeof(*known.records));
    if (known.n_records == 0) {
        atomic_store_explicit(&known.low, UINT64_MAX, memory_order_relaxed);
        atomic_store_explicit(&known.high, 0, memory_order_relaxed);
    }
}

static bool insert(record made) {
    if (known.n_records == known.n_room) {
        size_t more = known.n_room > 0 ? 2 * known.n_room : 256;
        record *larger = realloc(known.records, more * sizeof(*larger));
        if (larger == NULL) {
            return false;
        }
        known.records = larger;
        known.n_room = more;
    }
    size_t i = first_above(made.address);
    TIDE_ASSERT(i == known.n_records ||
                end_of(&made) <= known.records[i].address); /* they do not overlap */
    memmove(&known.records[i + 1], &known.records[i],
            (known.n_records - i) * sizeof(*known.records));
    made.number = known.n_made++;
    known.records[i] = made;
    known.n_records++;
    known.n_held_bytes += takes_host_memory(&made) ? made.n_bytes : 0;
    if (made.address < atomic_load_explicit(&known.low, memory_order_relaxed)) {
        atomic_store_explicit(&known.low, made.address, memory_order_relaxed);
    }
    if (end_of(&made) > atomic_load_explicit(&known.high, memory_order_relaxed)) {
        atomic_store_explicit(&known.high, end_of(&made), memory_order_relaxed);
    }
    return true;
}

/* Writes the record's bytes of a range inside it; a promise is already kept. False: they are
 * unknown. */
static bool give(const record *of, uint64_t address, size_t n_bytes, unsigned char *to) {
    const unsigned char *bytes = of->bytes;
    TIDE_ASSERT(of->address <= address && address - of->address + n_bytes <= of->n_bytes);
    if (of->promise != NULL) {
        bytes = tide_vc_promise_bytes(of->promise);
        if (bytes == NULL) {
            return false;
        }
        bytes += of->promise_offset;
    }
    if (bytes != NULL) {
        memcpy(to, bytes + (address - of->address), n_bytes);
        return true;
    }
    for (size_t i = 0; i < n_bytes; i++) {
        to[i] = of->pattern[(address + i) % MAX_PATTERN];
    }
    return true;
}

/* Makes a record of a part of another. Without host memory it is not made. */
static void keep_part(const record *of, uint64_t address, uint64_t end) {
    TIDE_ASSERT(of->address <= address && address < end && end - of->address <= of->n_bytes);
    record part = {.address = address, .n_bytes = end - address};
    memcpy(part.pattern, of->pattern, sizeof(part.pattern));
    if (of->bytes != NULL) {
        part.bytes = malloc(part.n_bytes);
        if (part.bytes == NULL) {
            return;
        }
        memcpy(part.bytes, of->bytes + (address - of->address), part.n_bytes);
    } else if (of->promise != NULL) {
        part.promise = tide_vc_promise_hold(of->promise);
        part.promise_offset = of->promise_offset + (address - of->address);
    }
    if (!insert(part)) {
        release(&part);
    }
}

/* Removes a range from the records; the bytes on both sides of it stay. */
static void cut(uint64_t address, uint64_t n_bytes) {
    uint64_t end = address + n_bytes;
    size_t i = first_above(address);
    while (i < known.n_records && known.records[i].address < end) {
        record of = known.records[i];
        known.n_held_bytes -= takes_host_memory(&of) ? of.n_bytes : 0;
        known.records[i].bytes = NULL; /* still needed below, as is the promise */
        known.records[i].promise = NULL;
        drop(i);
        if (of.address < address) {
            keep_part(&of, of.address, address);
        }
        if (end_of(&of) > end) {
            keep_part(&of, end, end_of(&of));
        }
        release(&of);
        i = first_above(address);
    }
}

static void drop_oldest(void) {
    size_t oldest = known.n_records;
    for (size_t i = 0; i < known.n_records; i++) {
        if (takes_host_memory(&known.records[i]) &&
            (oldest == known.n_records || known.records[i].number < known.records[oldest].number)) {
            oldest = i;
        }
    }
    TIDE_ASSERT(oldest < known.n_records); /* records hold bytes of the host */
    drop(oldest);
}

/* Adds a record, which owns its bytes from now on. */
static void add(record made) {
    cut(made.address, made.n_bytes);
    size_t n_allowed = sends_objects ? TIDE_VC_OBJECT_BYTES : TIDE_VC_KNOWN_BYTES;
    while (takes_host_memory(&made) && known.n_held_bytes > 0 &&
           known.n_held_bytes + made.n_bytes > n_allowed) {
        drop_oldest();
    }
    if (!insert(made)) {
        release(&made);
    }
}

/* Calls `give` for each part of a range, whose promises are kept; if `to` is NULL, only checks that
 * records cover it. False: part of it is unknown. */
static bool read_whole(unsigned char *to, uint64_t address, uint64_t n_bytes) {
    uint64_t end = address + n_bytes;
    for (size_t i = first_above(address); address < end; i++) {
        if (i >= known.n_records || known.records[i].address > address) {
            return false;
        }
        uint64_t to_here = end_of(&known.records[i]) < end ? end_of(&known.records[i]) : end;
        if (to != NULL) {
            if (!give(&known.records[i], address, to_here - address, to)) {
                return false;
            }
            to += to_here - address;
        }
        address = to_here;
    }
    return true;
}

/* ---- called by the rest of the card ---- */

static uint64_t at(const void *address) {
    return (uint64_t)(uintptr_t)address;
}

static unsigned char *copy_of(const void *bytes, size_t n_bytes) {
    unsigned char *made = n_bytes <= tide_vc_known_copy_bytes() ? malloc(n_bytes) : NULL;
    if (made != NULL) {
        memcpy(made, bytes, n_bytes);
    }
    return made;
}

void tide_vc_known_write(void *to, const void *from, size_t n_bytes) {
    unsigned char *bytes = n_bytes > 0 ? copy_of(from, n_bytes) : NULL;
    if (bytes == NULL) {
        tide_vc_known_forget(at(to), n_bytes);
        return;
    }
    pthread_mutex_lock(&lock);
    add((record){.address = at(to), .n_bytes = n_bytes, .bytes = bytes});
    pthread_mutex_unlock(&lock);
}

void tide_vc_known_fill(void *to, const void *pattern, size_t n_pattern, size_t n_bytes) {
    if (n_bytes == 0) {
        return;
    }
    record made = {.address = at(to), .n_bytes = n_bytes};
    for (size_t i = 0; i < MAX_PATTERN; i++) {
        made.pattern[(made.address + i) % MAX_PATTERN] =
            ((const unsigned char *)pattern)[i % n_pattern];
    }
    pthread_mutex_lock(&lock);
    add(made);
    pthread_mutex_unlock(&lock);
}

/* Copies a pattern or a promise without its bytes, if one record of it covers the whole range. The
 * lock is held. */
static bool carry(uint64_t to, uint64_t from, uint64_t n_bytes) {
    size_t i = first_above(from);
    if (i >= known.n_records || known.records[i].bytes != NULL || known.records[i].address > from ||
        end_of(&known.records[i]) < from + n_bytes) {
        return false;
    }
    record made = {.address = to, .n_bytes = n_bytes};
    if (known.records[i].promise != NULL) {
        made.promise = tide_vc_promise_hold(known.records[i].promise);
        made.promise_offset = known.records[i].promise_offset + (from - known.records[i].address);
    } else if ((to - from) % MAX_PATTERN == 0) {
        memcpy(made.pattern, known.records[i].pattern, sizeof(made.pattern));
    } else {
        return false;
    }
    add(made);
    return true;
}

/* The first promise of the range that is not kept; NULL: all are. The lock is held. */
static tide_vc_promise *open_promise(uint64_t address, uint64_t n_bytes) {
    for (size_t i = first_above(address);
         i < known.n_records && known.records[i].address < address + n_bytes; i++) {
        if (known.records[i].promise != NULL &&
            !tide_vc_promise_is_kept(known.records[i].promise)) {
            return known.records[i].promise;
        }
    }
    return NULL;
}

/* Returns with the lock held and all promises of the range kept. Waits without the lock, because
 * other threads may need it first. */
static void lock_with_promises_kept(uint64_t address, uint64_t n_bytes) {
    tide_vc_promise *open = NULL;
    do {
        tide_vc_promise_drop(open);
        pthread_mutex_lock(&lock);
        open = open_promise(address, n_bytes);
        open = open != NULL ? tide_vc_promise_hold(open) : NULL;
        if (open != NULL) {
            pthread_mutex_unlock(&lock);
            (void)tide_vc_promise_bytes(open);
        }
    } while (open != NULL);
}

void tide_vc_known_promise(void *to, tide_vc_promise *promise, size_t n_bytes) {
    if (promise == NULL || n_bytes == 0 || n_bytes > TIDE_VC_OBJECT_BYTES) {
        tide_vc_known_forget(at(to), n_bytes);
        return;
    }
    pthread_mutex_lock(&lock);
    add((record){.address = at(to), .n_bytes = n_bytes, .promise = tide_vc_promise_hold(promise)});
    pthread_mutex_unlock(&lock);
}

/* Copies bytes of several records, or of a pattern with another alignment. The lock is held. */
static void copy_bytes(uint64_t to, uint64_t from, size_t n_bytes) {
    bool is_known = n_bytes <= tide_vc_known_copy_bytes() && read_whole(NULL, from, n_bytes);
    unsigned char *bytes = is_known ? malloc(n_bytes) : NULL;
    if (bytes != NULL && read_whole(bytes, from, n_bytes)) {
        add((record){.address = to, .n_bytes = n_bytes, .bytes = bytes});
        return;
    }
    free(bytes);
    cut(to, n_bytes);
}

void tide_vc_known_copy(void *to, const void *from, size_t n_bytes) {
    if (n_bytes == 0 || (!may_know(at(from), n_bytes) && !may_know(at(to), n_bytes))) {
        return;
    }
    pthread_mutex_lock(&lock);
    bool is_carried = carry(at(to), at(from), n_bytes);
    pthread_mutex_unlock(&lock);
    if (!is_carried) {
        lock_with_promises_kept(at(from), n_bytes);
        copy_bytes(at(to), at(from), n_bytes);
        pthread_mutex_unlock(&lock);
    }
}

bool tide_vc_known_read(void *to, const void *from, size_t n_bytes) {
    bool is_known = false;
    if (may_know(at(from), n_bytes)) {
        lock_with_promises_kept(at(from), n_bytes);
        is_known = read_whole(to, at(from), n_bytes);
        pthread_mutex_unlock(&lock);
    }
    if (!is_known) {
        tide_vc_zero_host(to, n_bytes);
    }
    return is_known;
}

bool tide_vc_known_peek(void *to, const void *from, size_t n_bytes) {
    bool is_known = false;
    if (may_know(at(from), n_bytes)) {
        pthread_mutex_lock(&lock);
        is_known = open_promise(at(from), n_bytes) == NULL && read_whole(to, at(from), n_bytes);
        pthread_mutex_unlock(&lock);
    }
    return is_known;
}

void tide_vc_known_settle(void *address, size_t n_bytes) {
    uint64_t from = at(address);
    uint64_t end = from + n_bytes;
    pthread_mutex_lock(&lock);
    while (from < end) {
        size_t i = first_above(from);
        uint64_t known_from =
            i < known.n_records && known.records[i].address < end ? known.records[i].address : end;
        if (known_from > from && !insert((record){.address = from, .n_bytes = known_from - from})) {
            break;
        }
        i = first_above(known_from);
        from = known_from < end ? end_of(&known.records[i]) : end;
    }
    pthread_mutex_unlock(&lock);
}

bool tide_vc_known_covers(const void *from, size_t n_bytes) {
    if (!may_know(at(from), n_bytes)) {
        return false;
    }
    pthread_mutex_lock(&lock);
    bool is_covered = read_whole(NULL, at(from), n_bytes);
    pthread_mutex_unlock(&lock);
    return is_covered;
}

void tide_vc_known_forget(uint64_t address, uint64_t n_bytes) {
    if (may_know(address, n_bytes)) {
        pthread_mutex_lock(&lock);
        cut(address, n_bytes);
        pthread_mutex_unlock(&lock);
    }
}

void tide_vc_known_forget_all(void) {
    pthread_mutex_lock(&lock);
    while (known.n_records > 0) {
        drop(known.n_records - 1);
    }
    TIDE_ASSERT(known.n_held_bytes == 0 && tide_vc_known_is_empty());
    pthread_mutex_unlock(&lock);
}

/* Forgets the record that holds the address, and returns its bytes, which may hold addresses. */
static unsigned char *take_out(uint64_t address, size_t *ret_n_bytes) {
    unsigned char *bytes = NULL;
    pthread_mutex_lock(&lock);
    size_t i = first_above(address);
    if (i < known.n_records && known.records[i].address <= address) {
        bytes = known.records[i].bytes;
        *ret_n_bytes = known.records[i].n_bytes;
        known.n_held_bytes -= bytes != NULL ? known.records[i].n_bytes : 0;
        known.records[i].bytes = NULL;
        drop(i);
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* In no known program do lists lead to lists. Each record is dropped before it is searched, so the
 * recursion ends. */
void tide_vc_touch(const void *address) { /* NOLINT(misc-no-recursion) */
    size_t n_bytes = 0;
    if (tide_vc_is_capturing()) { /* libraries name no stream here */
        tide_vc_reached(at(address));
    }
    if (!may_know(at(address), 1)) {
        return;
    }
    unsigned char *bytes = take_out(at(address), &n_bytes);
    if (bytes != NULL) {
        tide_vc_touch_within(bytes, n_bytes);
        free(bytes);
    }
}

void tide_vc_touch_within(const void *block, size_t n_bytes) { /* NOLINT(misc-no-recursion) */
    for (size_t i = 0; i + sizeof(void *) <= n_bytes; i += sizeof(void *)) {
        void *word = NULL;
        memcpy(&word, (const char *)block + i, sizeof(word));
        tide_vc_touch(word);
    }
}
