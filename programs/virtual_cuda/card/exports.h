/* exports.h - memory of one process that another process may open by a number.
 *
 * The run's account keeps the numbers, so they end with the process that offers the memory. The
 * memory is charged to that process alone. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_EXPORTS_H
#define TIDE_VIRTUAL_CUDA_EXPORTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tide_vc_export {
    uint64_t id;
    uint64_t address, n_bytes; /* in the process that offers it */
    int device;                /* in the asking process; -1 if it does not see the card */
    bool is_own;               /* the asking process offers it */
} tide_vc_export;

/* Offers the memory at the address, or finds the number under which it was offered before. Returns
 * the number, or 0 outside a run or if there is no room; the refusal is reported. */
uint64_t tide_vc_export_offer(const char *call, uint64_t address, uint64_t n_bytes, int device);

/* False if no living process offers it. */
bool tide_vc_export_find(uint64_t id, tide_vc_export *ret_export);

/* Withdraws the memory of this process at the address, if it was offered. */
void tide_vc_export_end(uint64_t address);

#endif
