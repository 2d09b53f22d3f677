/* torch_versions.h - the differences between versions of PyTorch that matter for attaching.
 */
#ifndef TIDE_LIVE_TORCH_VERSIONS_H
#define TIDE_LIVE_TORCH_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>

/* How references to the node from get_current_node are counted. */
typedef enum tide_torch_owner {
    TIDE_TORCH_OWNER_UNKNOWN = 0, /* a wrong guess would keep every node alive */
    TIDE_TORCH_OWNER_SHARED,      /* a std::shared_ptr */
    TIDE_TORCH_OWNER_INTRUSIVE    /* a c10::intrusive_ptr: the count is in the node */
} tide_torch_owner;

/* Offsets are in bytes; virtual functions are numbered from 0. */
typedef struct tide_torch_version {
    const char *name;     /* "2.14": for all 2.14.x */
    int attach_slot;      /* virtual function attachAllocatorTraceTracker; -1: unknown */
    int initialized_slot; /* virtual function initialized; -1: unknown */
    size_t pool_at;       /* of the pool's id in a TraceEntry; 0: it has none, or it is unknown */
    size_t sequence_at;   /* of the sequence number in an autograd node */
    tide_torch_owner owner;
} tide_torch_version;

/* The row of a version such as "2.14.1+cu130". An unlisted version gets only the values that all
 * versions share. Never NULL. */
const tide_torch_version *tide_torch_version_of(const char *version);

/* Reads the version of the PyTorch that the library belongs to, from version.py next to the
 * library's folder. False if there is none. */
bool tide_torch_read_version(const char *library, char *ret_version, size_t n_room);

#endif
