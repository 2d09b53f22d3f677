#include "programs/virtual_cuda/card/exports.h"

#include <stdatomic.h>
#include <stddef.h>

#include "common/assert.h"
#include "programs/virtual_cuda/card/account_friend.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/card/machine.h"

static atomic_bool has_offered; /* by this process, or by one that it was forked from */

/* The lock of the account is held. NULL: it is not offered; *ret_free is a free place for it, if
 * any. */
static tide_run_export *find_own(tide_run_account *all, uint64_t address,
                                 tide_run_export **ret_free) {
    uint32_t slot = (uint32_t)tide_vc_account_slot();
    TIDE_ASSERT(all->n_exports <= TIDE_RUN_EXPORTS);
    *ret_free = NULL;
    for (uint32_t i = 0; i < all->n_exports; i++) {
        tide_run_export *of = &all->exports[i];
        if (of->id != 0 && of->slot == slot && of->address == address) {
            return of;
        }
        if (of->id == 0 && *ret_free == NULL) {
            *ret_free = of;
        }
    }
    if (*ret_free == NULL && all->n_exports < TIDE_RUN_EXPORTS) {
        *ret_free = &all->exports[all->n_exports++];
    }
    return NULL;
}

uint64_t tide_vc_export_offer(const char *call, uint64_t address, uint64_t n_bytes, int device) {
    if (!tide_vc_account_is_shared()) {
        tide_vc_refused(call, "processes share memory of a virtual card under tidemark run only");
        return 0;
    }
    tide_run_export *free_row = NULL;
    tide_run_account *all = tide_vc_account_lock();
    tide_run_export *of = find_own(all, address, &free_row);
    if (of == NULL && free_row != NULL && tide_vc_account_slot() >= 0) {
        of = free_row;
        *of = (tide_run_export){.id = ++all->n_ids,
                                .address = address,
                                .n_bytes = n_bytes,
                                .slot = (uint32_t)tide_vc_account_slot(),
                                .device = (uint32_t)tide_vc_card_of(device)->number};
        atomic_store(&has_offered, true);
    }
    uint64_t id = of != NULL ? of->id : 0;
    tide_vc_account_unlock();
    if (id == 0) {
        tide_vc_refused(call, "more than 8192 allocations are shared at one time");
    }
    return id;
}

static int device_of_card(uint32_t number) {
    for (int device = 0; device < tide_vc_n_devices(); device++) {
        if ((uint32_t)tide_vc_card_of(device)->number == number) {
            return device;
        }
    }
    return -1;
}

bool tide_vc_export_find(uint64_t id, tide_vc_export *ret_export) {
    bool is_found = false;
    tide_run_account *all = tide_vc_account_lock();
    tide_vc_account_reap();
    for (uint32_t i = 0; i < all->n_exports && id != 0 && !is_found; i++) {
        const tide_run_export *of = &all->exports[i];
        if (of->id == id) {
            *ret_export = (tide_vc_export){.id = id,
                                           .address = of->address,
                                           .n_bytes = of->n_bytes,
                                           .device = device_of_card(of->device),
                                           .is_own = (int)of->slot == tide_vc_account_slot()};
            is_found = true;
        }
    }
    tide_vc_account_unlock();
    return is_found;
}

void tide_vc_export_end(uint64_t address) {
    if (!atomic_load_explicit(&has_offered, memory_order_relaxed)) {
        return;
    }
    tide_run_export *free_row = NULL;
    tide_run_account *all = tide_vc_account_lock();
    tide_run_export *of = tide_vc_account_slot() >= 0 ? find_own(all, address, &free_row) : NULL;
    if (of != NULL) {
        of->id = 0;
    }
    tide_vc_account_unlock();
}
