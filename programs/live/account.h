/* account.h - accounts for all of a device's memory: compares the driver's used bytes with the
 * bytes that known owners hold.
 *
 * The driver is asked when the first memory is seen, at peaks of the held bytes, and at the end. To
 * keep the cost low, a peak is only asked for if it is 1 % above the last one asked for; the peak's
 * account is the last answer. Used bytes include all processes on the device, and so does the
 * context's part: the bytes used at the beginning and not held. Thread-safe.
 */
#ifndef TIDE_LIVE_ACCOUNT_H
#define TIDE_LIVE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/live/owner.h"

typedef enum tide_live_instant {
    TIDE_LIVE_BEGIN = 0,
    TIDE_LIVE_PEAK,
    TIDE_LIVE_END,
    TIDE_LIVE_N_INSTANTS
} tide_live_instant;

typedef struct tide_live_account {
    uint64_t total_bytes;   /* of the device */
    uint64_t used_bytes;    /* according to the driver */
    uint64_t held_bytes;    /* by all owners */
    uint64_t context_bytes; /* used at the beginning and not held: context, other processes */
    uint64_t pool_bytes;    /* reserve of the device's own pool and graphs beyond the held bytes */
    uint64_t
        nccl_bytes; /* of a virtual card: charged for NCCL's buffers, which no call allocates */
    int64_t unexplained_bytes; /* used less all of the above: CUDA's overhead over requests, code of
                                * kernels, growth of the context, other processes since */
    uint64_t managed_bytes;    /* on the host or on any device; not in held_bytes */
    uint64_t by_owner[TIDE_LIVE_MAX_OWNERS]; /* names: tide_live_owner_name */
} tide_live_account;

/* False: the driver was not asked at that instant, or did not answer. */
bool tide_live_get_account(int device, tide_live_instant at, tide_live_account *ret_account);

/* "74038 MiB = PyTorch 71204 + NCCL 2310 + context 512 + unexplained 12", cut to n_bytes. Owners
 * with less than a MiB are combined. */
void tide_live_account_text(const tide_live_account *account, char *text, size_t n_bytes);

/* Called on this thread after a context of the device was made. */
void tide_live_account_begin(int device, void *context);

/* The held bytes have grown to n_held; the device is current on this thread. */
void tide_live_account_notice(int device, uint64_t n_held);

/* The free bytes of the current device; 0: the driver does not answer. */
uint64_t tide_live_account_free(void);

/* The bytes used on the current device that no known owner holds; 0: the driver does not answer.
 */
uint64_t tide_live_account_rest(void);

/* The program ends. Registered to run at exit, while the driver still answers.
 */
void tide_live_account_end(void);

/* For a process that was just made by fork(). */
void tide_live_account_forked(void);

#endif
