/* device_fault.h - a device for tests that forwards everything to another one, fails chosen calls,
 * counts them, can return addresses from a list, and delays events.
 */
#ifndef TIDE_TESTS_SUPPORT_DEVICE_FAULT_H
#define TIDE_TESTS_SUPPORT_DEVICE_FAULT_H

#include "device/device_friend.h"

/* Kinds of calls that are counted separately: every call that can fail. */
typedef enum tide_device_call {
    TIDE_CALL_ALLOC = 0,
    TIDE_CALL_RELEASE,
    TIDE_CALL_MEMORY_INFO,
    TIDE_CALL_COPY,
    TIDE_CALL_SET,
    TIDE_CALL_STREAM_CREATE,
    TIDE_CALL_STREAM_DESTROY,
    TIDE_CALL_EVENT_CREATE,
    TIDE_CALL_EVENT_RECORD,
    TIDE_CALL_STREAM_WAIT,
    TIDE_CALL_EVENT_QUERY,
    TIDE_CALL_EVENT_SYNCHRONIZE,
    TIDE_CALL_EVENT_ELAPSED,
    TIDE_CALL_SYNCHRONIZE,
    TIDE_CALL_MAP_GRANULE,
    TIDE_CALL_RESERVE,
    TIDE_CALL_UNRESERVE,
    TIDE_CALL_MAP,
    TIDE_CALL_UNMAP,
    TIDE_N_DEVICE_CALLS
} tide_device_call;

/* Calls are counted from 1; 0: never. */
typedef struct tide_device_fault {
    tide_device base;   /* the first member, so that &fault->base is a tide_device */
    tide_device *inner; /* borrowed; does the work; NULL: all addresses come from the list */

    size_t fail_alloc_from;   /* this call of alloc and later ones fail ... */
    size_t fail_alloc_to;     /* ... up to this one */
    tide_status alloc_status; /* what they answer */
    size_t fail_release_from; /* the same of release, with TIDE_DEVICE_FAILED */
    size_t fail_release_to;
    size_t fail_map_from; /* the same of map, with alloc_status */
    size_t fail_map_to;
    size_t fail_unmap_from; /* the same of unmap, with TIDE_DEVICE_FAILED */
    size_t fail_unmap_to;

    size_t fail_call;        /* this call, of whatever kind, fails ... */
    tide_status fail_status; /* ... with this; TIDE_DEVICE_LOST: and every later one does */

    /* Late events: a query answers TIDE_NOT_READY although the inner device is done. That ends as
     * the next two members define, or with tide_device_synchronize or
     * tide_device_event_synchronize.
     */
    size_t late_queries;   /* how many queries of each event recorded from now on answer
                              TIDE_NOT_READY */
    uint64_t held_streams; /* while bit n is set, queries of events recorded on stream n < 64 answer
                              TIDE_NOT_READY */

    const uint64_t *addresses; /* borrowed; the next segments and ranges without an inner device */
    size_t n_addresses;        /* remaining in the list */

    size_t n_allocs;                      /* calls so far, failed ones included */
    size_t n_releases;                    /* the same */
    size_t last_bytes;                    /* of the last call of alloc or map */
    size_t n_calls;                       /* calls of all kinds so far, failed ones included */
    size_t n_failed[TIDE_N_DEVICE_CALLS]; /* failed because of fail_call, by kind */
    size_t n_segments;                    /* bought and not released */
    size_t n_maps;                        /* calls so far, failed ones included */
    size_t n_unmaps;                      /* the same */
    size_t n_ranges;                      /* reserved and not released */
    size_t mapped_bytes;                  /* mapped there */
    size_t n_events;                      /* created and not destroyed */
    size_t n_created;                     /* events created, ever */
    size_t n_recorded;                    /* calls of event_record that succeeded */
    size_t n_queries;                     /* calls of event_query, failed ones included */
    size_t n_waited_for;                  /* calls of event_synchronize that succeeded */
    size_t last_waited_for;               /* its n-th record, of those that succeeded */
    size_t n_synchronized;                /* calls of synchronize that succeeded */
} tide_device_fault;

/* `inner` may be NULL. Nothing to undo. */
void tide_device_fault_init(tide_device_fault *fault, tide_device *inner);

#endif
