#include "virtual_cuda/account.h"

#include <stdatomic.h>

#include "virtual_cuda/machine.h"

/* Bytes that this process took, without those of context and libraries. */
static _Atomic uint64_t taken[TIDE_VC_MAX_DEVICES];

static uint64_t capacity_of(int device) {
    const tide_vc_card *card = tide_vc_card_of(device);
    return card->total_bytes > card->context_bytes ? card->total_bytes - card->context_bytes : 0;
}

bool tide_vc_charge(int device, uint64_t n_bytes) {
    uint64_t capacity = capacity_of(device);
    uint64_t before = atomic_load_explicit(&taken[device], memory_order_relaxed);
    do {
        if (before > capacity || n_bytes > capacity - before) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&taken[device], &before, before + n_bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void tide_vc_refund(int device, uint64_t n_bytes) {
    atomic_fetch_sub_explicit(&taken[device], n_bytes, memory_order_relaxed);
}

uint64_t tide_vc_used_bytes(int device) {
    return tide_vc_card_of(device)->total_bytes - tide_vc_free_bytes(device);
}

uint64_t tide_vc_free_bytes(int device) {
    return capacity_of(device) - atomic_load_explicit(&taken[device], memory_order_relaxed);
}
