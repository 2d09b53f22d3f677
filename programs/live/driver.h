/* driver.h - the memory that calls of CUDA's runtime and driver allocate and free, whoever makes
 * them.
 *
 * A stand-in for a CUDA function calls tide_live_call_begin first and one of the functions that end
 * the call last. The runtime calls the driver, so only the outermost such call on a thread counts,
 * and each allocation is seen once. A free has the bytes of the allocation at its address. Frees of
 * unseen allocations are not recorded, so the sum of all rows is the held memory.
 *
 * Bytes are the requested ones. CUDA's overhead (2 MiB granularity, a pool's reserve, padding of
 * arrays) appears as unexplained in the account (programs/live/account.h). Reserving addresses uses
 * no memory and is not recorded. Memory of a graph counts from the creation of its node, and memory
 * freed on a stream from the call, not from when the stream gets there.
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

/* Spaces of numbers that may coincide: addresses, and handles of different kinds. */
typedef enum tide_live_space {
    TIDE_LIVE_ADDRESSES = 0, /* device and host addresses differ */
    TIDE_LIVE_ARRAYS,
    TIDE_LIVE_LIBRARIES,
    TIDE_LIVE_IPC,     /* another process' memory: it uses none here, so its rows have 0 bytes */
    TIDE_LIVE_PHYSICAL /* programs/live/physical.h */
} tide_live_space;

/* A call in progress; on the stack of the stand-in. */
typedef struct tide_live_call {
    const char *function; /* static text */
    const void *caller;   /* the call's return address */
    bool counts;          /* it is the outermost call, and rows are written */
    int freed;            /* the tide_log_call to undo if the real call fails; -1 if none */
    uint64_t freed_address, freed_bytes;
    uint8_t freed_device, freed_space, freed_owner;
    bool freed_is_managed;
} tide_live_call;

void tide_live_call_begin(tide_live_call *call, const char *function, const void *caller);

/* Memory that a call allocated, or holds until it is freed. */
typedef struct tide_live_taken {
    tide_log_call action; /* an allocating one */
    tide_live_space space;
    uint64_t address; /* or handle */
    uint64_t n_bytes;
    int device;      /* TIDE_LIVE_CURRENT: the current device */
    bool is_managed; /* pages move to where they are used, so they count for no device */
} tide_live_taken;

enum { TIDE_LIVE_CURRENT = -1 };

/* Ends a call that allocates. `taken` counts if status is 0. Returns status. */
int tide_live_call_took(const tide_live_call *call, int status, const tide_live_taken *taken);

/* Called before the real call that frees the address. Other threads may get the address while the
 * real call is still running, so the row must be written first. */
void tide_live_call_gives(tide_live_call *call, tide_live_space space, uint64_t address);

/* Ends a call that frees; if it failed, undoes the row with another one. */
int tide_live_call_gave(const tide_live_call *call, int status);

/* Ends any other call. */
void tide_live_call_end(const tide_live_call *call);

/* The same for memory with its own rules (programs/live/physical.c), with the owner's number. */
void tide_live_hold(const tide_live_call *call, const tide_live_taken *taken, unsigned owner);
void tide_live_drop(tide_live_call *call, tide_live_space space, uint64_t address);

/* The memory held on a device now, by owner. */
typedef struct tide_live_sums {
    uint64_t total_bytes; /* of all owners */
    uint64_t by_owner[TIDE_LIVE_MAX_OWNERS];
    uint64_t managed_bytes; /* not in the above */
} tide_live_sums;
enum { TIDE_LIVE_HOST = TIDE_LIVE_MAX_DEVICES }; /* the device number of pinned host memory */
void tide_live_get_sums(int device, tide_live_sums *ret_sums);

/* The device's context is gone, and all memory held on the device with it. */
void tide_live_drop_device(tide_live_call *call, int device);

/* For a process just made by fork(): it holds nothing. */
void tide_live_driver_forked(void);

#endif
