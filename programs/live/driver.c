#include "programs/live/driver.h"

#include <string.h>

#include "common/lock_friend.h"
#include "common/map.h"
#include "programs/live/account.h"
#include "programs/live/memory.h"
#include "programs/live/physical.h"
#include "programs/live/questions.h"

enum { SPACE_SHIFT = 60, NO_OWNER = TIDE_LIVE_MAX_OWNERS, SUCCESS = 0, OUT_OF_MEMORY = 2 };

/* Errors of the runtime and the driver while a process ends: the memory to free is already gone. */
enum { IS_ENDING = 4 };

/* Held memory. */
typedef struct held {
    uint64_t n_bytes;
    uint8_t action; /* the tide_log_call that allocated it */
    uint8_t device; /* TIDE_LIVE_HOST for pinned memory */
    uint8_t owner;
    bool is_managed;
    uint32_t next; /* in a free row: the next free row's index + 1; 0: the last one */
} held;

static struct {
    tide_lock lock;
    tide_map index_of; /* key -> index in rows */
    held *rows;
    size_t n;
    size_t capacity;
    uint32_t first_free; /* index + 1 */
    tide_live_sums sums[TIDE_LIVE_MAX_DEVICES + 1];
} state;

/* The number of nested calls on the calling thread. */
static _Thread_local int depth;

static uint8_t device_of(const tide_live_taken *taken) {
    int device = taken->device;
    if (taken->action == TIDE_LOG_CALL_HOST_ALLOC) {
        return TIDE_LIVE_HOST;
    }
    const tide_live_questions *ask = tide_live_questions_to_driver();
    if (device == TIDE_LIVE_CURRENT &&
        (ask == NULL || ask->current_device == NULL || ask->current_device(&device) != SUCCESS)) {
        device = 0;
    }
    return (uint8_t)(device >= 0 && device < TIDE_LIVE_MAX_DEVICES ? device : 0);
}

/* The space is in the top bits, which addresses and handles do not use. */
static uint64_t key_of(tide_live_space space, uint64_t address) {
    return address ^ (uint64_t)space << SPACE_SHIFT;
}

/* ---- under the lock ---- */

static void add_to_sums(const held *row, bool is_taken) {
    tide_live_sums *sums = &state.sums[row->device];
    uint64_t n_bytes = is_taken ? row->n_bytes : 0 - row->n_bytes;
    if (row->is_managed) {
        sums->managed_bytes += n_bytes;
        return;
    }
    sums->total_bytes += n_bytes;
    sums->by_owner[row->owner] += n_bytes;
}

/* The index of a free row; UINT32_MAX: no memory. */
static uint32_t new_row(void) {
    if (state.first_free != 0) {
        uint32_t index = state.first_free - 1;
        state.first_free = state.rows[index].next;
        return index;
    }
    held *rows = tide_hostmem_grow(tide_live_memory(), state.rows, &state.capacity, state.n + 1,
                                   sizeof(*rows));
    if (rows == NULL) {
        return UINT32_MAX;
    }
    state.rows = rows;
    return (uint32_t)state.n++;
}

static bool remove_row(uint64_t key, held *ret_row) {
    uint64_t index = 0;
    if (state.index_of.mem == NULL || !tide_map_find(&state.index_of, key, &index)) {
        return false;
    }
    *ret_row = state.rows[index];
    (void)tide_map_remove(&state.index_of, key);
    state.rows[index].next = state.first_free;
    state.first_free = (uint32_t)index + 1;
    add_to_sums(ret_row, false);
    return true;
}

static bool insert_row(uint64_t key, const held *row) {
    if (state.index_of.mem == NULL) {
        tide_map_init(&state.index_of, tide_live_memory());
    }
    uint32_t index = new_row();
    if (index == UINT32_MAX || tide_map_put(&state.index_of, key, index) != TIDE_OK) {
        return false;
    }
    state.rows[index] = *row;
    add_to_sums(row, true);
    return true;
}

/* ---- calls ---- */

static void write_row(const tide_live_call *call, int action, const held *row, uint64_t address) {
    const tide_live_driver_call told = {
        .action = (tide_log_call)action,
        .device = row->device == TIDE_LIVE_HOST ? 0 : row->device,
        .address = address,
        .n_bytes = row->n_bytes,
        .function = call->function,
        .owner = tide_live_owner_name(row->owner),
    };
    tide_live_record_driver(&told);
}

void tide_live_call_begin(tide_live_call *call, const char *function, const void *caller) {
    call->function = function;
    call->caller = caller;
    call->freed = -1;
    call->counts = false;
    if (depth++ == 0) {
        tide_live_before_call();
        call->counts = tide_live_is_open();
    }
}

void tide_live_call_end(const tide_live_call *call) {
    (void)call;
    depth--;
}

void tide_live_drop(tide_live_call *call, tide_live_space space, uint64_t address) {
    held row;
    tide_lock_acquire(&state.lock);
    bool was_held = remove_row(key_of(space, address), &row);
    tide_lock_release(&state.lock);
    if (!was_held) {
        return;
    }
    call->freed = row.action;
    call->freed_address = address;
    call->freed_bytes = row.n_bytes;
    call->freed_device = row.device;
    call->freed_space = (uint8_t)space;
    call->freed_owner = row.owner;
    call->freed_is_managed = row.is_managed;
    write_row(call, row.action + 1, &row, address);
}

/* Under the lock. Removes some row of the device; false if there is none. */
static bool remove_any_row(int device, held *ret_row, uint64_t *ret_key) {
    for (size_t i = 0; i < state.index_of.n_slots; i++) {
        const tide_map_slot *slot = &state.index_of.slots[i];
        if (slot->used && state.rows[slot->value].device == device) {
            *ret_key = slot->key;
            return remove_row(slot->key, ret_row);
        }
    }
    return false;
}

void tide_live_drop_device(tide_live_call *call, int device) {
    held row;
    uint64_t key = 0;
    bool was_held = true;
    while (was_held) {
        tide_lock_acquire(&state.lock);
        was_held = remove_any_row(device, &row, &key);
        tide_lock_release(&state.lock);
        if (was_held) {
            write_row(call, row.action + 1, &row, key << (64 - SPACE_SHIFT) >> (64 - SPACE_SHIFT));
        }
    }
}

void tide_live_hold(const tide_live_call *call, const tide_live_taken *taken, unsigned owner) {
    held row = {.n_bytes = taken->n_bytes,
                .action = (uint8_t)taken->action,
                .device = device_of(taken),
                .owner = (uint8_t)(owner < NO_OWNER ? owner : tide_live_owner(call->caller)),
                .is_managed = taken->is_managed};
    /* An address that is reused was freed by an unseen call. */
    tide_live_call unseen = *call;
    tide_live_drop(&unseen, taken->space, taken->address);
    tide_lock_acquire(&state.lock);
    bool is_kept = insert_row(key_of(taken->space, taken->address), &row);
    uint64_t n_held = state.sums[row.device].total_bytes;
    tide_lock_release(&state.lock);
    if (!is_kept) {
        return; /* its free could not be matched */
    }
    write_row(call, row.action, &row, taken->address);
    if (row.device != TIDE_LIVE_HOST && !row.is_managed) {
        tide_live_account_notice(row.device, n_held);
    }
}

/* Records that the device had no memory for the call. */
static void tell_refusal(const tide_live_call *call, const tide_live_taken *taken) {
    const tide_live_driver_call told = {
        .action = TIDE_LOG_CALL_REFUSED,
        .device = device_of(taken),
        .n_bytes = taken->n_bytes,
        .free_bytes = tide_live_account_free(),
        .function = call->function,
        .owner = tide_live_owner_name(tide_live_owner(call->caller)),
    };
    tide_live_record_driver(&told);
}

int tide_live_call_took(const tide_live_call *call, int status, const tide_live_taken *taken) {
    if (status == SUCCESS && call->counts && taken->address != 0) {
        tide_live_hold(call, taken, NO_OWNER);
    }
    if (status == OUT_OF_MEMORY && call->counts && taken->action == TIDE_LOG_CALL_DEVICE_ALLOC &&
        taken->n_bytes > 0) {
        tell_refusal(call, taken);
    }
    tide_live_call_end(call);
    return status;
}

void tide_live_call_gives(tide_live_call *call, tide_live_space space, uint64_t address) {
    if (call->counts) {
        tide_live_drop(call, space, address);
    }
}

int tide_live_call_gave(const tide_live_call *call, int status) {
    if (status != SUCCESS && status != IS_ENDING && call->freed >= 0) {
        const tide_live_taken again = {.action = (tide_log_call)call->freed,
                                       .space = (tide_live_space)call->freed_space,
                                       .address = call->freed_address,
                                       .n_bytes = call->freed_bytes,
                                       .device = call->freed_device,
                                       .is_managed = call->freed_is_managed};
        tide_live_hold(call, &again, call->freed_owner);
    }
    tide_live_call_end(call);
    return status;
}

/* ---- questions ---- */

void tide_live_get_sums(int device, tide_live_sums *ret_sums) {
    tide_lock_acquire(&state.lock);
    *ret_sums = state.sums[device >= 0 && device <= TIDE_LIVE_HOST ? device : 0];
    tide_lock_release(&state.lock);
}

void tide_live_driver_forked(void) {
    state.lock = (tide_lock){0};
    tide_map_init(&state.index_of, tide_live_memory()); /* the old memory is not released */
    state.rows = NULL;
    state.n = 0;
    state.capacity = 0;
    state.first_free = 0;
    memset(state.sums, 0, sizeof(state.sums));
    tide_live_physical_forked();
    tide_live_owner_forked();
    tide_live_account_forked();
}
