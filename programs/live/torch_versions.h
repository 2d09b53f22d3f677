/* torch_versions.h - what differs between versions of PyTorch, as far as attaching needs it.
 */
#ifndef TIDE_LIVE_TORCH_VERSIONS_H
#define TIDE_LIVE_TORCH_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Who counts the references to the node that get_current_node returns. */
typedef enum tide_torch_owner {
    TIDE_TORCH_OWNER_UNKNOWN = 0, /* a wrong guess would keep every node alive */
    TIDE_TORCH_OWNER_SHARED,      /* a std::shared_ptr */
    TIDE_TORCH_OWNER_INTRUSIVE    /* a c10::intrusive_ptr: the count lies in the node */
} tide_torch_owner;

/* Places are in bytes, numbers of virtual functions count from 0. */
typedef struct tide_torch_version {
    const char *name;     /* "2.14": of all 2.14.x */
    int attach_slot;      /* virtual function attachAllocatorTraceTracker; -1: unknown */
    int initialized_slot; /* virtual function initialized; -1: unknown */
    size_t pool_at;       /* of the pool's id in a TraceEntry; 0: it has none, or it is unknown */
    size_t sequence_at;   /* of the sequence number in a node of autograd's */
    tide_torch_owner owner;
} tide_torch_version;

/* The row of a version such as "2.14.1+cu130". A version without a row gets one with nothing but
 * what all versions share. Never NULL. */
const tide_torch_version *tide_torch_version_of(const char *version);

/* Reads the version of the PyTorch that the library belongs to, from version.py beside its folder.
 * False: there is none. */
bool tide_torch_read_version(const char *library, char *ret_version, size_t n_room);

#endif
