/* rows.c - writes events as rows of the log. */
#include <string.h>

#include "common/lock_friend.h"
#include "programs/live/box/black_box.h"
#include "programs/live/python/python_frames.h"
#include "programs/live/state_friend.h"
#include "programs/live/workspaces.h"

enum { MAX_POOLS = 4096 };
_Static_assert(MAX_POOLS < 1 << TIDE_LOG_POOL_BITS, "they fit their bits");

/* The last free that the calling thread requested. Its completion usually follows immediately, and
 * then both become one row. */
typedef struct request {
    uint64_t address;
    const void *top; /* the instruction of the innermost Python frame; NULL in a black box */
    uint32_t generation;
} request;

static _Thread_local request last_request;

/* ---- pools ---- */

static struct {
    tide_lock lock;
    unsigned generation; /* of the recording that these records belong to */
    uint16_t n;
    uint64_t ids[MAX_POOLS][2];
} pools;

void tide_live_rows_reset(void) {
    pools.lock = (tide_lock){0}; /* another thread of the parent may have held it */
}

/* Pools beyond MAX_POOLS are recorded as none. */
static uint16_t number_pool(const tide_live *live, const uint64_t id[2]) {
    uint16_t number = 0;
    if (id[0] == 0 && id[1] == 0) {
        return 0;
    }
    tide_lock_acquire(&pools.lock);
    if (pools.generation != live->generation) {
        pools.generation = live->generation;
        pools.n = 0;
    }
    for (uint16_t i = pools.n; i > 0 && number == 0; i--) {
        number = pools.ids[i - 1][0] == id[0] && pools.ids[i - 1][1] == id[1] ? i : 0;
    }
    if (number == 0 && pools.n < MAX_POOLS) {
        memcpy(pools.ids[pools.n++], id, sizeof(pools.ids[0]));
        number = pools.n;
        const tide_log_pool record = {.number = number, .id = {id[0], id[1]}};
        tide_recorder_write_record(live->recorder, TIDE_LOG_POOL, &record, sizeof(record));
    }
    tide_lock_release(&pools.lock);
    return number;
}

/* ---- classes of autograd nodes ---- */

enum { N_CLASSES = 64 };

/* Numbers of class names, cached by thread. A name keeps its address as long as PyTorch is
 * loaded. */
static _Thread_local struct {
    const char *name;
    uint32_t number;
    unsigned generation;
} classes[N_CLASSES];

static uint32_t number_class(const tide_live *live, const char *name) {
    if (name == NULL) {
        return TIDE_NONE;
    }
    size_t i = ((uintptr_t)name >> 4) % N_CLASSES;
    if (classes[i].name != name || classes[i].generation != live->generation) {
        classes[i].name = name;
        classes[i].number = tide_recorder_intern(live->recorder, name);
        classes[i].generation = live->generation;
    }
    return classes[i].number;
}

/* ---- rows ---- */

/* Writes the row under the lock, with its stream's number. */
static void append(const tide_live *live, tide_live_row *row, uint64_t stream) {
    struct tide_lock *lock = tide_recorder_lock(live->recorder);
    tide_lock_acquire(lock);
    tide_event *to = tide_recorder_row_begin(live->recorder);
    if (to != NULL) {
        row->event.time_ns = to->time_ns;
        row->event.stream = tide_recorder_stream(live->recorder, row->event.device, stream);
        memcpy(to, row, sizeof(*row));
        tide_recorder_row_end(live->recorder);
    }
    tide_lock_release(lock);
}

bool tide_live_has_place(int action) {
    const tide_live *live = tide_live_now();
    bool is_free = action == TIDE_ACTION_FREE_REQUESTED || action == TIDE_ACTION_FREE_COMPLETED;
    return !is_free || live == NULL || !live->is_box;
}

/* Distinguishes the places of two frees. */
static const void *place_of_free(const tide_live *live) {
    return live->is_box ? NULL : tide_python_frames_top();
}

static bool is_completion_of(const tide_live_row *last, const tide_live_entry *entry) {
    return last != NULL && last->event.action == TIDE_ACTION_FREE_REQUESTED &&
           last->event.address == entry->address && last->thread == tide_live_thread() &&
           last->sequence == (uint32_t)entry->sequence;
}

/* Turns the request in the log's last row into a whole free. False: other rows came in between. */
static bool complete_request(const tide_live *live, const tide_live_entry *entry) {
    if (last_request.generation != live->generation || last_request.address != entry->address ||
        last_request.top != place_of_free(live)) {
        return false;
    }
    struct tide_lock *lock = tide_recorder_lock(live->recorder);
    tide_lock_acquire(lock);
    tide_live_row *last = (tide_live_row *)(void *)tide_recorder_last_row(live->recorder);
    bool is_one = is_completion_of(last, entry);
    if (is_one) {
        last->event.action = TIDE_ACTION_FREE;
    }
    tide_lock_release(lock);
    return is_one;
}

void tide_live_record(const tide_live_entry *entry) {
    tide_live *live = tide_live_open();
    if (live == NULL || tide_recorder_is_off(live->recorder) ||
        (entry->action == TIDE_ACTION_FREE_COMPLETED && complete_request(live, entry))) {
        return;
    }
    bool is_oom = entry->action == TIDE_ACTION_OOM;
    tide_live_place place = {.stack = TIDE_NONE, .module = TIDE_NONE};
    if (tide_live_has_place(entry->action)) {
        place = tide_live_find_place(live);
    }
    tide_live_row row = {
        .event = {.address = entry->address,
                  .requested_bytes = entry->n_bytes,
                  .block_bytes = is_oom ? entry->free_bytes : entry->n_bytes,
                  .stack = place.stack,
                  .scope = tide_recorder_note_scope(live->recorder),
                  .name = entry->name != NULL ? tide_recorder_intern(live->recorder, entry->name)
                                              : TIDE_NONE,
                  .action = (uint8_t)entry->action,
                  .device = entry->device},
        .sequence = (uint32_t)entry->sequence,
        .node = number_class(live, entry->node),
        .module = place.module,
        .pool = (uint16_t)(number_pool(live, entry->pool) | entry->mode << TIDE_LOG_POOL_BITS),
        .thread = tide_live_thread()};
    append(live, &row, entry->stream);
    if (is_oom && live->is_box) {
        tide_black_box_failed();
    } else if (is_oom && live->tells_failures) {
        tide_live_tell_failure();
    }
    if (entry->action == TIDE_ACTION_FREE_REQUESTED) {
        tide_live_workspace_freed(entry->address);
        last_request = (request){
            .address = entry->address, .top = place_of_free(live), .generation = live->generation};
    }
}

void tide_live_mark(const char *name) {
    tide_live *live = tide_live_now();
    if (live == NULL) {
        return;
    }
    uint64_t n_before = tide_live_count_step(name);
    tide_live_row row = {.event = {.requested_bytes = n_before,
                                   .stack = TIDE_NONE,
                                   .scope = tide_recorder_note_scope(live->recorder),
                                   .name = tide_recorder_intern(live->recorder, name),
                                   .action = TIDE_ACTION_MARK},
                         .node = TIDE_NONE,
                         .module = TIDE_NONE,
                         .thread = tide_live_thread()};
    append(live, &row, 0);
}

void tide_live_record_driver(const tide_live_driver_call *call) {
    tide_live *live = tide_live_now();
    if (live == NULL || !live->has_driver_rows) {
        return;
    }
    tide_live_place place = tide_live_find_place(live);
    tide_live_row row = {.event = {.address = call->address,
                                   .requested_bytes = call->n_bytes,
                                   .block_bytes = call->action == TIDE_LOG_CALL_REFUSED
                                                      ? call->free_bytes
                                                      : call->n_bytes,
                                   .stack = place.stack,
                                   .scope = tide_recorder_note_scope(live->recorder),
                                   .name = tide_recorder_intern(live->recorder, call->function),
                                   .action = (uint8_t)(TIDE_LOG_DRIVER_FIRST + (int)call->action),
                                   .device = call->device},
                         .node = tide_recorder_intern(live->recorder, call->owner),
                         .module = place.module,
                         .thread = tide_live_thread()};
    append(live, &row, 0);
    /* PyTorch frees what it keeps and tries again: it reports its own failures. */
    if (call->action == TIDE_LOG_CALL_REFUSED && live->is_box &&
        strcmp(call->owner, "PyTorch") != 0) {
        tide_black_box_failed();
    }
}

void tide_live_label(const tide_live_label_row *label) {
    tide_live *live = tide_live_now();
    if (live == NULL) {
        return;
    }
    tide_live_row row = {.event = {.address = label->address,
                                   .stack = TIDE_NONE,
                                   .scope = TIDE_NONE,
                                   .name = label->name,
                                   .action = TIDE_LOG_LABEL_ACTION,
                                   .category = (uint8_t)label->certainty},
                         .node = label->category,
                         .module = TIDE_NONE,
                         .thread = tide_live_thread()};
    append(live, &row, 0);
}

uint32_t tide_live_text(const char *text) {
    tide_live *live = tide_live_now();
    return live != NULL && text != NULL ? tide_recorder_intern(live->recorder, text) : TIDE_NONE;
}
