/* account.h - where all of a device's memory is: what the driver says is used, beside what is known
 * to be held.
 *
 * The driver is asked three times: when the first memory is seen, at peaks of what is held, and at
 * the end. A peak is asked for only where it is 1 % above the last one that was, so that the call's
 * time does not matter; the account of the peak is that of the last answer. What is used counts all
 * processes on the device, and so does the context's part: what was used at the beginning and is
 * not held. Thread-safe.
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
    uint64_t used_bytes;    /* as the driver says */
    uint64_t held_bytes;    /* by all owners */
    uint64_t context_bytes; /* used at the beginning and not held: the context, and what other
                               processes held then */
    uint64_t pool_bytes;    /* that the device's own pool and its graphs keep for later, beyond what
                               is held of them */
    int64_t unexplained_bytes; /* used less all of the above: what CUDA adds to what is asked for,
                                  code of kernels, growth of the context, other processes since */
    uint64_t managed_bytes;    /* may lie on the host or on any device; not in held_bytes */
    uint64_t by_owner[TIDE_LIVE_MAX_OWNERS]; /* tide_live_owner_name has the names */
} tide_live_account;

/* False: the driver was not asked for that instant, or did not answer. */
bool tide_live_get_account(int device, tide_live_instant at, tide_live_account *ret_account);

/* "74038 MiB = PyTorch 71204 + NCCL 2310 + context 512 + unexplained 12", cut to n_bytes. Owners
 * with less than a MiB are added up. */
void tide_live_account_text(const tide_live_account *account, char *text, size_t n_bytes);

/* After a context of the device was made, in a call on this thread. */
void tide_live_account_begin(int device, void *context);

/* What is held has grown to n_held bytes; the device is current on this thread. */
void tide_live_account_notice(int device, uint64_t n_held);

/* What the current device has left; 0: the driver does not answer. */
uint64_t tide_live_account_free(void);

/* What is used of the current device and not held by anyone known; 0: the driver does not answer.
 */
uint64_t tide_live_account_rest(void);

/* The program ends. It is called by itself when the program exits, while the driver still answers.
 */
void tide_live_account_end(void);

/* For a process that was just made by fork(). */
void tide_live_account_forked(void);

#endif
