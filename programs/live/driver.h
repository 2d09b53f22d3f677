/* driver.h - what calls of CUDA's runtime and driver took and gave back, whoever made them.
 *
 * A function that stands in for one of CUDA's calls tide_live_call_begin first and one of the
 * functions that end the call last. The runtime calls the driver: the outermost of such calls on a
 * thread counts, so that each allocation is seen once. What is given back has the bytes that were
 * taken there; what was not seen being taken is not told as given back either, so that the sum of
 * all rows is what is held.
 *
 * Bytes are what was asked for. What CUDA adds (2 MiB at a time, a pool's reserve, padding of
 * arrays) shows as unexplained in the account (programs/live/account.h). Reserving addresses takes
 * no memory and is not told. Memory of a graph counts from when its node is made, and memory that a
 * stream gives back from the call, not from when the stream gets there.
 *
 * Thread-safe. While nothing is recorded all of these do next to nothing.
 */
#ifndef TIDE_LIVE_DRIVER_H
#define TIDE_LIVE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/live/owner.h"
#include "programs/live/record.h"

enum { TIDE_LIVE_MAX_DEVICES = 64 };

/* What numbers of things may be equal: addresses, and handles of different kinds. */
typedef enum tide_live_space {
    TIDE_LIVE_ADDRESSES = 0, /* device and host memory have different ones */
    TIDE_LIVE_ARRAYS,
    TIDE_LIVE_LIBRARIES,
    TIDE_LIVE_IPC,     /* another process's memory: it takes none here, so its rows have 0 bytes */
    TIDE_LIVE_PHYSICAL /* programs/live/physical.h */
} tide_live_space;

/* A call that has begun; lies on the stack of the function that stands in. */
typedef struct tide_live_call {
    const char *function; /* static text */
    const void *caller;   /* the call's return address */
    bool counts;          /* it is the outermost, and rows are written */
    int freed;            /* the tide_log_call to take back if the real call fails; -1 */
    uint64_t freed_address, freed_bytes;
    uint8_t freed_device, freed_space, freed_owner;
    bool freed_is_managed;
} tide_live_call;

void tide_live_call_begin(tide_live_call *call, const char *function, const void *caller);

/* Memory that a call took, or holds until it is given back. */
typedef struct tide_live_taken {
    tide_log_call action; /* one that takes */
    tide_live_space space;
    uint64_t address; /* or handle */
    uint64_t n_bytes;
    int device;      /* TIDE_LIVE_CURRENT: the one that is current */
    bool is_managed; /* pages lie where they were used last, so no device's bytes */
} tide_live_taken;

enum { TIDE_LIVE_CURRENT = -1 };

/* Ends a call that takes memory. `taken` counts if status is 0. Returns status. */
int tide_live_call_took(const tide_live_call *call, int status, const tide_live_taken *taken);

/* Before the real call: what is at the address will be given back. Others may get the address while
 * the real call is still under way, so that the row must be written first. */
void tide_live_call_gives(tide_live_call *call, tide_live_space space, uint64_t address);

/* Ends a call that gives back; takes the row back with another one if it failed. */
int tide_live_call_gave(const tide_live_call *call, int status);

/* Ends any other call. */
void tide_live_call_end(const tide_live_call *call);

/* The same as a call's, for what has its own rules (programs/live/physical.c). The owner is a
 * number. */
void tide_live_hold(const tide_live_call *call, const tide_live_taken *taken, unsigned owner);
void tide_live_drop(tide_live_call *call, tide_live_space space, uint64_t address);

/* What is held of a device now, by owner. */
typedef struct tide_live_sums {
    uint64_t total_bytes; /* of all owners */
    uint64_t by_owner[TIDE_LIVE_MAX_OWNERS];
    uint64_t managed_bytes; /* not in the above */
} tide_live_sums;
enum { TIDE_LIVE_HOST = TIDE_LIVE_MAX_DEVICES }; /* the device that pinned host memory is told as */
void tide_live_get_sums(int device, tide_live_sums *ret_sums);

/* All that is held of a device is gone with its context. */
void tide_live_drop_device(tide_live_call *call, int device);

/* For a process that was just made by fork(): it holds nothing. */
void tide_live_driver_forked(void);

#endif
