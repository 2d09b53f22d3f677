#include "fake_cudart/fake_queue.h"

#include <limits.h>
#include <stdlib.h>

#include "fake_cudart/fake_internal.h"

typedef enum item_kind { ITEM_WORK = 0, ITEM_RECORD, ITEM_WAIT } item_kind;

typedef struct item {
    struct item *next; /* younger; owned list */
    cudaStream_t stream;
    item_kind kind;
    uint64_t number;     /* of a record, or of the one that is waited for */
    tide_fake_work work; /* of ITEM_WORK */
} item;

/* Everything that has not run, in the order of the calls. Guarded by the runtime's lock. */
static item *oldest;

static bool append(item made) {
    item **link = &oldest;
    item *kept = malloc(sizeof(*kept));
    if (kept == NULL) {
        return false;
    }
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *kept = made;
    kept->next = NULL;
    *link = kept;
    return true;
}

static bool is_late(cudaStream_t stream) {
    unsigned late = tide_fake_cudart_locked()->late_streams;
    unsigned number = tide_fake_stream_number(stream);
    return number < sizeof(late) * CHAR_BIT && (late >> number & 1U) != 0;
}

static const item *find_record(uint64_t number) {
    const item *found = oldest;
    while (found != NULL && (found->kind != ITEM_RECORD || found->number != number)) {
        found = found->next;
    }
    return found;
}

/* Removes the stream's oldest item from the list; NULL if it has none. */
static item *take(cudaStream_t stream) {
    item **link = &oldest;
    while (*link != NULL && (*link)->stream != stream) {
        link = &(*link)->next;
    }
    item *taken = *link;
    if (taken != NULL) {
        *link = taken->next;
    }
    return taken;
}

static void release(item *done) {
    if (done->kind == ITEM_WORK && done->work.release != NULL) {
        done->work.release(done->work.work);
    }
    free(done);
}

/* Runs one item of the stream, with the lock held before and after, but not meanwhile; false: there
 * is none. The work it waits for has already run or runs before it. */
static bool run_one(cudaStream_t stream) {
    item *taken = take(stream);
    if (taken == NULL) {
        return false;
    }
    (void)tide_fake_leave_beside(cudaSuccess);
    if (taken->kind == ITEM_WAIT) {
        tide_fake_queue_reach(taken->number);
    }
    int result = taken->kind == ITEM_WORK ? taken->work.run(taken->work.work) : 0;
    release(taken);
    tide_fake_lock();
    if (result != 0) {
        (void)tide_fake_mistake(cudaErrorLaunchFailure, "work that ran late failed with %d",
                                result);
    }
    return true;
}

void tide_fake_queue_reach(uint64_t number) {
    tide_fake_lock();
    for (const item *record = find_record(number); record != NULL; record = find_record(number)) {
        (void)run_one(record->stream);
    }
    (void)tide_fake_leave_beside(cudaSuccess);
}

void tide_fake_queue_finish(cudaStream_t stream, bool all) {
    tide_fake_lock();
    while (all ? oldest != NULL && run_one(oldest->stream) : run_one(stream)) {
    }
    (void)tide_fake_leave_beside(cudaSuccess);
}

bool tide_fake_queue_keep(cudaStream_t stream, tide_fake_work work) {
    return is_late(stream) && append((item){.stream = stream, .work = work});
}

int tide_fake_queue_do(cudaStream_t stream, tide_fake_work work) {
    tide_fake_lock();
    bool is_kept = tide_fake_queue_keep(stream, work);
    (void)tide_fake_leave_beside(cudaSuccess);
    return is_kept ? 0 : work.run(work.work);
}

void tide_fake_queue_record(cudaStream_t stream, uint64_t number) {
    tide_fake_lock();
    if (is_late(stream) &&
        !append((item){.stream = stream, .kind = ITEM_RECORD, .number = number})) {
        (void)tide_fake_mistake(cudaErrorMemoryAllocation, "no host memory for a record");
    }
    (void)tide_fake_leave_beside(cudaSuccess);
}

void tide_fake_queue_wait(cudaStream_t stream, uint64_t number) {
    tide_fake_lock();
    bool is_kept =
        is_late(stream) && append((item){.stream = stream, .kind = ITEM_WAIT, .number = number});
    (void)tide_fake_leave_beside(cudaSuccess);
    if (!is_kept) {
        tide_fake_queue_reach(number);
    }
}

void tide_fake_queue_clear(void) {
    while (oldest != NULL) {
        item *first = oldest;
        oldest = first->next;
        release(first);
    }
}
