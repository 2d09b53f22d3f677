#include "programs/live/physical.h"

#include "common/lock_friend.h"
#include "common/map.h"
#include "programs/live/memory.h"

/* Memory made by cuMemCreate. */
typedef struct physical {
    uint32_t n_handles;  /* cuMemCreate and cuMemRetainAllocationHandle, less cuMemRelease */
    uint32_t n_mappings; /* and bindings */
    int device;
} physical;

static struct {
    tide_lock lock;
    physical *all; /* number - 1 -> memory. Numbers are not reused */
    size_t n;
    size_t capacity;
    tide_map by_handle; /* handle -> number */
    tide_map bytes_at;  /* where a mapping begins -> its bytes */
    tide_map number_at; /* where a mapping begins -> number */
    tide_map bound;     /* hash of multicast object, offset, device -> number */
} state;

/* ---- under the lock ---- */

static void need_maps(void) {
    if (state.by_handle.mem == NULL) {
        tide_map_init(&state.by_handle, tide_live_memory());
        tide_map_init(&state.bytes_at, tide_live_memory());
        tide_map_init(&state.number_at, tide_live_memory());
        tide_map_init(&state.bound, tide_live_memory());
    }
}

static void acquire(void) {
    tide_lock_acquire(&state.lock);
    need_maps();
}

/* NULL: unknown memory. */
static physical *of_handle(uint64_t handle, uint64_t *ret_number) {
    return tide_map_find(&state.by_handle, handle, ret_number) ? &state.all[*ret_number - 1] : NULL;
}

static uint64_t key_of_binding(uint64_t multicast, uint64_t offset, int device) {
    return tide_hash_u64(tide_hash_u64(multicast ^ (uint64_t)device << 56) ^ offset);
}

/* Ends a mapping or binding. Returns the number if that was the last reference, otherwise 0. */
static uint64_t end_mapping(uint64_t number) {
    physical *of = &state.all[number - 1];
    of->n_mappings -= of->n_mappings > 0;
    return of->n_mappings == 0 && of->n_handles == 0 ? number : 0;
}

/* ---- calls ---- */

/* Records that the memory of that number is freed. */
static void drop(tide_live_call *call, uint64_t number) {
    if (number != 0) {
        tide_live_drop(call, TIDE_LIVE_PHYSICAL, number);
    }
}

void tide_live_physical_created(const tide_live_call *call, uint64_t handle, uint64_t n_bytes,
                                int device, bool on_host) {
    if (!call->counts) {
        return;
    }
    acquire();
    physical *all = tide_hostmem_grow(tide_live_memory(), state.all, &state.capacity, state.n + 1,
                                      sizeof(*all));
    bool is_known = all != NULL;
    state.all = is_known ? all : state.all;
    is_known = is_known && tide_map_put(&state.by_handle, handle, state.n + 1) == TIDE_OK;
    if (is_known) {
        state.all[state.n++] = (physical){.n_handles = 1, .device = device};
    }
    uint64_t number = state.n;
    tide_lock_release(&state.lock);
    if (is_known) {
        const tide_live_taken taken = {.action = on_host ? TIDE_LOG_CALL_HOST_ALLOC
                                                         : TIDE_LOG_CALL_PHYSICAL_ALLOC,
                                       .space = TIDE_LIVE_PHYSICAL,
                                       .address = number,
                                       .n_bytes = n_bytes,
                                       .device = device};
        tide_live_hold(call, &taken, tide_live_owner(call->caller));
    }
}

void tide_live_physical_retained(uint64_t handle, uint64_t address) {
    uint64_t number = 0;
    acquire();
    physical *of = of_handle(handle, &number);
    if (of == NULL && tide_map_find(&state.number_at, address, &number) &&
        tide_map_put(&state.by_handle, handle, number) == TIDE_OK) {
        of = &state.all[number - 1];
    }
    if (of != NULL) {
        of->n_handles++;
    }
    tide_lock_release(&state.lock);
}

void tide_live_physical_mapped(uint64_t address, uint64_t n_bytes, uint64_t handle) {
    uint64_t number = 0;
    acquire();
    physical *of = of_handle(handle, &number);
    if (of != NULL && tide_map_put(&state.bytes_at, address, n_bytes) == TIDE_OK) {
        if (tide_map_put(&state.number_at, address, number) == TIDE_OK) {
            of->n_mappings++;
        } else {
            (void)tide_map_remove(&state.bytes_at, address);
        }
    }
    tide_lock_release(&state.lock);
}

/* Undoes the mapping that begins at the address and returns its bytes. False if none begins
 * there. */
static bool unmap_first(uint64_t address, uint64_t *ret_bytes, uint64_t *ret_dropped) {
    uint64_t number = 0;
    acquire();
    bool is_known = tide_map_find(&state.bytes_at, address, ret_bytes) &&
                    tide_map_find(&state.number_at, address, &number);
    if (is_known) {
        (void)tide_map_remove(&state.bytes_at, address);
        (void)tide_map_remove(&state.number_at, address);
        *ret_dropped = end_mapping(number);
    }
    tide_lock_release(&state.lock);
    return is_known;
}

void tide_live_physical_unmapping(tide_live_call *call, uint64_t address, uint64_t n_bytes) {
    uint64_t mapped = 0;
    uint64_t dropped = 0;
    for (uint64_t at = address; at < address + n_bytes && unmap_first(at, &mapped, &dropped);
         at += mapped) {
        drop(call, dropped);
        dropped = 0;
    }
}

void tide_live_physical_releasing(tide_live_call *call, uint64_t handle) {
    uint64_t number = 0;
    uint64_t dropped = 0;
    acquire();
    physical *of = of_handle(handle, &number);
    if (of != NULL && --of->n_handles == 0) {
        (void)tide_map_remove(&state.by_handle, handle);
        dropped = of->n_mappings == 0 ? number : 0;
    }
    tide_lock_release(&state.lock);
    drop(call, dropped);
}

void tide_live_physical_bound(uint64_t multicast, uint64_t offset, uint64_t handle) {
    uint64_t number = 0;
    acquire();
    physical *of = of_handle(handle, &number);
    if (of != NULL && tide_map_put(&state.bound, key_of_binding(multicast, offset, of->device),
                                   number) == TIDE_OK) {
        of->n_mappings++;
    }
    tide_lock_release(&state.lock);
}

void tide_live_physical_unbinding(tide_live_call *call, uint64_t multicast, uint64_t offset,
                                  int device) {
    uint64_t number = 0;
    uint64_t dropped = 0;
    uint64_t key = key_of_binding(multicast, offset, device);
    acquire();
    if (tide_map_find(&state.bound, key, &number)) {
        (void)tide_map_remove(&state.bound, key);
        dropped = end_mapping(number);
    }
    tide_lock_release(&state.lock);
    drop(call, dropped);
}

void tide_live_physical_forked(void) {
    state.lock = (tide_lock){0};
    state.by_handle.mem = NULL; /* the maps' memory is not released */
    state.all = NULL;
    state.n = 0;
    state.capacity = 0;
}
