/* exports.h - memory of one process that another may open by a number.
 *
 * The numbers are kept in the run's account, so that they end with the process that offers the
 * memory. The memory itself is charged to that process alone. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_EXPORTS_H
#define TIDE_VIRTUAL_CUDA_EXPORTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tide_vc_export {
    uint64_t id;
    uint64_t address, n_bytes; /* in the process that offers it */
    int device;                /* as the asking process numbers it; -1: it does not see the card */
    bool is_own;               /* the asking process offers it */
} tide_vc_export;

/* Offers what is at the address, or finds the number that it was offered under. The number, or 0:
 * there is no run whose processes could ask, or no room, which is said. */
uint64_t tide_vc_export_offer(const char *call, uint64_t address, uint64_t n_bytes, int device);

/* False: nobody that lives offers it. */
bool tide_vc_export_find(uint64_t id, tide_vc_export *ret_export);

/* The memory of this process at the address is gone; nothing happens where it was not offered. */
void tide_vc_export_end(uint64_t address);

#endif
