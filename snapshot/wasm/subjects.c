/* subjects.c - what each event is about: the fold of events, kept as one number per event. */
#include "snapshot/analysis/live_walk.h"
#include "snapshot/wasm/engine_internal.h"

enum { NO_BLOCK = -0x40000000, MAX_SUBJECTS = 0x40000000 };

typedef struct pairing {
    tide_subjects *subjects;       /* borrowed */
    const tide_snapshot *snapshot; /* borrowed */
    bool *is_freed;                /* owned: n_blocks; its free was requested */
    size_t row;                    /* of the event at hand */
    size_t n_other;                /* subjects that are not blocks, so far */
    bool is_alloc;                 /* the event at hand is one */
} pairing;

static tide_status note_end(void *ctx, const tide_walk_block *block) {
    const pairing *pairs = ctx;
    tide_subjects *to = pairs->subjects;
    if (!pairs->is_alloc) {
        return TIDE_OK;
    }
    tide_replaced *replaced =
        tide_hostmem_grow(tide_hostmem_default(), to->replaced, &to->replaced_room,
                          to->n_replaced + 1, sizeof(*replaced));
    if (replaced == NULL) {
        return TIDE_NO_MEMORY;
    }
    to->replaced = replaced;
    replaced[to->n_replaced++] = (tide_replaced){(int32_t)block->number, (int32_t)pairs->row};
    to->n_unmatched[block->device]++;
    return TIDE_OK;
}

/* Blocks of the start, and their rows, in the order in which the walk numbers them. */
static size_t add_start(const tide_snapshot *snapshot, tide_subjects *to) {
    size_t n = 0;
    for (size_t s = 0; s < snapshot->n_start_segments; s++) {
        const tide_segment_row *segment = &snapshot->start_segments[s];
        for (size_t b = 0; b < segment->n_blocks; b++) {
            size_t row = segment->first_block + b;
            if (snapshot->start_blocks[row].state != TIDE_BLOCK_FREE) {
                if (to->rows != NULL) {
                    to->rows[n] = (uint32_t)row;
                    to->segments[n] = (uint32_t)s;
                }
                n++;
            }
        }
    }
    return n;
}

static uint64_t bytes_of(const pairing *pairs, size_t block) {
    const tide_subjects *of = pairs->subjects;
    size_t row = of->rows[block];
    return block < of->n_start ? pairs->snapshot->start_blocks[row].block_bytes
                               : tide_bytes_at(&pairs->snapshot->events.block_bytes, row);
}

static int32_t act_of_free(pairing *pairs, const tide_event *event, int64_t block) {
    tide_subjects *to = pairs->subjects;
    if (block < 0) {
        to->n_unmatched[event->device]++;
        to->rows[to->n_blocks + pairs->n_other] = (uint32_t)pairs->row;
        return NO_BLOCK - (int32_t)(to->n_blocks + pairs->n_other++);
    }
    to->n_unmatched[event->device] += event->block_bytes != bytes_of(pairs, (size_t)block);
    bool is_freed = pairs->is_freed[block];
    pairs->is_freed[block] = true;
    return is_freed ? NO_BLOCK - (int32_t)block : ~(int32_t)block;
}

/* What the walk needs of an event to pair it. */
static tide_event event_at(const pairing *pairs, size_t row) {
    const tide_event_table *events = &pairs->snapshot->events;
    return (tide_event){.address = events->address[row],
                        .requested_bytes = tide_bytes_at(&events->requested_bytes, row),
                        .block_bytes = tide_bytes_at(&events->block_bytes, row),
                        .action = events->action[row],
                        .device = events->device[row]};
}

static tide_status pair_event(pairing *pairs, tide_live_walk *walk, tide_error *error) {
    tide_subjects *to = pairs->subjects;
    const tide_event event = event_at(pairs, pairs->row);
    const uint8_t *certainties = pairs->snapshot->event_certainty;
    uint8_t certainty = certainties != NULL ? certainties[pairs->row] : TIDE_CERTAINTY_UNKNOWN;
    int64_t block = -1;
    pairs->is_alloc = event.action == TIDE_ACTION_ALLOC;
    TIDE_TRY(tide_live_walk_event(walk, &event, certainty, &block, error));
    if (pairs->is_alloc) {
        to->rows[block] = (uint32_t)pairs->row;
        to->act[pairs->row] = (int32_t)block;
    } else if (event.action <= TIDE_ACTION_FREE_COMPLETED) {
        to->act[pairs->row] = act_of_free(pairs, &event, block);
    } else {
        to->rows[to->n_blocks + pairs->n_other] = (uint32_t)pairs->row;
        to->act[pairs->row] = NO_BLOCK - (int32_t)(to->n_blocks + pairs->n_other++);
    }
    return TIDE_OK;
}

/* Some events. A browser makes a function fast between two calls of it, so the loop over all events
 * calls one. */
__attribute__((noinline)) static tide_status pair_some(pairing *pairs, tide_live_walk *walk,
                                                       tide_error *error) {
    size_t n_left = pairs->snapshot->n_events - pairs->row;
    size_t end = pairs->row + (n_left < TIDE_ENGINE_BATCH ? n_left : TIDE_ENGINE_BATCH);
    for (; pairs->row < end; pairs->row++) {
        TIDE_TRY(pair_event(pairs, walk, error));
    }
    return TIDE_OK;
}

static tide_status pair_events(pairing *pairs, tide_error *error) {
    const tide_walk_sink sink = {.block = note_end, .ctx = pairs};
    tide_live_walk *walk = NULL;
    TIDE_TRY(tide_live_walk_create(pairs->snapshot, &sink, tide_hostmem_default(), &walk, error));
    tide_status status = TIDE_OK;
    while (pairs->row < pairs->snapshot->n_events && status == TIDE_OK) {
        status = pair_some(pairs, walk, error);
    }
    pairs->is_alloc = false;
    tide_live_walk_destroy(walk);
    return status;
}

static size_t count_allocs(const tide_snapshot *snapshot) {
    size_t n = 0;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        n += snapshot->events.action[i] == TIDE_ACTION_ALLOC;
    }
    return n;
}

static bool allocate(pairing *pairs, size_t n_start) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_subjects *to = pairs->subjects;
    const tide_snapshot *snapshot = pairs->snapshot;
    to->act = tide_hostmem_array(mem, snapshot->n_events + 1, sizeof(*to->act));
    to->rows = tide_hostmem_array(mem, n_start + snapshot->n_events + 1, sizeof(*to->rows));
    to->segments = tide_hostmem_array(mem, n_start + 1, sizeof(*to->segments));
    to->n_unmatched = tide_hostmem_zeroed(mem, snapshot->n_devices + 1, sizeof(*to->n_unmatched));
    pairs->is_freed = tide_hostmem_zeroed(mem, to->n_blocks + 1, sizeof(*pairs->is_freed));
    return to->act != NULL && to->rows != NULL && to->segments != NULL && to->n_unmatched != NULL &&
           pairs->is_freed != NULL;
}

tide_status tide_subjects_make(const tide_snapshot *snapshot, tide_subjects *ret,
                               tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    pairing pairs = {.subjects = ret, .snapshot = snapshot};
    size_t n_start = add_start(snapshot, ret);
    if (n_start + snapshot->n_events > MAX_SUBJECTS) {
        return tide_fail(error, TIDE_LIMIT, "more than the limit of %d events", MAX_SUBJECTS);
    }
    ret->n_start = n_start;
    ret->n_blocks = n_start + count_allocs(snapshot);
    tide_status status = TIDE_NO_MEMORY;
    if (allocate(&pairs, n_start)) {
        (void)add_start(snapshot, ret);
        for (size_t i = 0; i < n_start; i++) {
            pairs.is_freed[i] =
                snapshot->start_blocks[ret->rows[i]].state == TIDE_BLOCK_PENDING_FREE;
        }
        status = pair_events(&pairs, error);
        ret->n = ret->n_blocks + pairs.n_other;
    }
    mem->release(mem->ctx, pairs.is_freed);
    return status;
}

void tide_subjects_fini(tide_subjects *subjects) {
    const tide_hostmem *mem = tide_hostmem_default();
    mem->release(mem->ctx, subjects->rows);
    mem->release(mem->ctx, subjects->segments);
    mem->release(mem->ctx, subjects->act);
    mem->release(mem->ctx, subjects->replaced);
    mem->release(mem->ctx, subjects->n_unmatched);
    *subjects = (tide_subjects){.n = 0};
}
