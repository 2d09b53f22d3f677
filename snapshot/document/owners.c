#include "snapshot/document/owners.h"

const tide_snapshot_driver_account *tide_owners_account(const tide_snapshot *snapshot,
                                                        size_t device) {
    for (size_t i = 0; i < snapshot->n_driver_accounts; i++) {
        if (snapshot->driver_accounts[i].device == device) {
            return &snapshot->driver_accounts[i];
        }
    }
    return NULL;
}

int64_t tide_owners_left(const tide_snapshot *snapshot, size_t device) {
    const tide_snapshot_driver_account *account = tide_owners_account(snapshot, device);
    bool is_known = account != NULL && account->used_at_peak_bytes >= 0 &&
                    account->total_bytes >= account->used_at_peak_bytes;
    return is_known ? account->total_bytes - account->used_at_peak_bytes : -1;
}

bool tide_owners_unexplained(const tide_snapshot *snapshot, size_t device, int64_t *ret_bytes) {
    const tide_snapshot_driver_account *account = tide_owners_account(snapshot, device);
    if (account == NULL || account->used_at_peak_bytes < 0) {
        return false;
    }
    int64_t claimed = account->context_bytes > 0 ? account->context_bytes : 0;
    for (size_t i = 0; i < snapshot->n_owners; i++) {
        const tide_snapshot_owner *owner = &snapshot->owners[i];
        if (owner->device != device) {
            continue;
        }
        if (owner->peak_bytes < 0 || owner->peak_bytes > INT64_MAX - claimed) {
            return false; /* an owner's figure is unknown, or the sum overflows */
        }
        claimed += owner->peak_bytes;
    }
    *ret_bytes = account->used_at_peak_bytes - claimed;
    return true;
}
