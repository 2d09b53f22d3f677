/* communicator.h - NCCL's communicators, and the data that their members exchange.
 *
 * The members of a communicator are processes of one run. They share a table in the run's folder
 * with a seat for each member and the number of its posts. A member posts each collective that it
 * calls: it increments the count in its seat, and writes a file with the bytes if they are known
 * and small. Posting never waits. A member that needs another's bytes waits until the other's count
 * shows the post; a post without a file has unknown bytes.
 *
 * Communicators are counted, because a promise may outlive the program's use of one.
 */
#ifndef TIDE_VIRTUAL_CUDA_NCCL_COMMUNICATOR_H
#define TIDE_VIRTUAL_CUDA_NCCL_COMMUNICATOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/nccl/buffers.h"
#include "programs/wire/run_communicators.h"

/* Of larger files, only the last few of their kind stay in the folder. */
#define TIDE_VC_LARGE_POST_BYTES ((size_t)4 << 20)
enum { TIDE_VC_LARGE_POSTS = 4, TIDE_VC_KEPT_FILES = 4096 };

/* A file that this member has written for others. */
typedef struct tide_vc_sent {
    uint64_t number; /* of the collective or of the message */
    size_t n_bytes;
    int to; /* the member that a message is for; -1: a collective, for all */
} tide_vc_sent;

/* Files that are not removed yet, in order: a ring. */
typedef struct tide_vc_outbox {
    tide_vc_sent sent[TIDE_VC_KEPT_FILES]; /* number i at [i % TIDE_VC_KEPT_FILES] */
    uint64_t first, end;
    uint64_t n_bytes; /* of the files in [first, end) */
} tide_vc_outbox;

/* ncclUniqueId, which travels by value. */
typedef struct tide_vc_unique_id {
    char bytes[128];
} tide_vc_unique_id;

struct tide_vc_seat;

/* What the communicator is charged (charges.h). */
typedef struct tide_vc_charges {
    tide_run_nccl_use use;              /* so far; of this one */
    tide_vc_nccl_buffers likely, least; /* parts that were charged are 0 */
    unsigned char *peers; /* owned; for each member, 1: sent to, 2: received from; may be NULL */
} tide_vc_charges;

typedef struct tide_vc_communicator {
    int rank, n_ranks;
    int device;
    uint64_t key;                                      /* names it in the run's folder */
    uint64_t n_calls;                                  /* collectives that this member has called */
    uint64_t n_splits;                                 /* how often it was split or shrunk */
    tide_vc_outbox small, large_posts, large_messages; /* most of their memory is never touched */
    tide_vc_charges charges;
    bool is_configured;                /* made with an ncclConfig_t, or from such a one */
    int least_channels, most_channels; /* of its configuration; 0: not set */
    struct tide_vc_seat *seats;        /* n_ranks, mapped; NULL: nothing is shared */
    _Atomic uint64_t *n_sent; /* after the seats: messages from i to j at [i * n_ranks + j] */
    _Atomic uint64_t
        *n_dropped;       /* after those: the oldest of these, whose files are removed unread */
    uint64_t *n_received; /* owned; messages asked for from each member */
    int64_t *members;     /* owned; ranks of the world; NULL: unknown */
    _Atomic uint64_t missing_since_ns; /* the first wait for a member that may not run; 0: never */
    size_t n_mapped_bytes;             /* of the seats and the data after them */
    uint64_t place;                    /* in the ledger, plus 1; 0: none */
    uint64_t place_forks;              /* the process that owns the place, as a count of forks */
    atomic_uint n_holders;
} tide_vc_communicator;

/* How a communicator is made. */
typedef struct tide_vc_communicator_plan {
    int rank, n_ranks, device;
    uint64_t key;
    int64_t *members;                  /* the communicator takes ownership; NULL: unknown */
    const char *name;                  /* given by the program; NULL if none */
    bool is_configured;                /* made with an ncclConfig_t, or from such a one */
    int least_channels, most_channels; /* of its configuration; 0: not set */
} tide_vc_communicator_plan;

/* The caller holds it. NULL: there is no host memory. */
tide_vc_communicator *tide_vc_communicator_create(const tide_vc_communicator_plan *plan);
tide_vc_communicator *tide_vc_communicator_hold(tide_vc_communicator *comm);
void tide_vc_communicator_drop(tide_vc_communicator *comm); /* NULL is allowed */

/* A key for bytes: FNV-1a, continued from `hash`; 0 begins one. */
uint64_t tide_vc_key(uint64_t hash, const void *bytes, size_t n_bytes);

/* ---- collectives ---- */

/* Posts the next collective of this member: n_bytes, or NULL for bytes that are unknown.
 * Returns its number, which is the same on all members. */
uint64_t tide_vc_post(tide_vc_communicator *comm, const void *bytes, size_t n_bytes);

/* The bytes of member `from` in collective `number`, once it has posted them. */
typedef enum tide_vc_given {
    TIDE_VC_GIVEN,          /* they were written */
    TIDE_VC_GIVEN_NOTHING,  /* they are unknown */
    TIDE_VC_GIVEN_BY_NOBODY /* the member does not run: use the reader's own bytes */
} tide_vc_given;
tide_vc_given tide_vc_take(tide_vc_communicator *comm, uint64_t number, int from, void *to,
                           size_t n_bytes);

/* Whether a member is known not to run. */
bool tide_vc_is_absent(const tide_vc_communicator *comm, int member);

/* ---- messages from one member to another, in order ---- */

void tide_vc_send(tide_vc_communicator *comm, int to, const void *bytes, size_t n_bytes);
/* The number of the next message from that member that this member has not asked for. */
uint64_t tide_vc_expect(tide_vc_communicator *comm, int from);
tide_vc_given tide_vc_receive(tide_vc_communicator *comm, uint64_t number, int from, void *to,
                              size_t n_bytes);

/* ---- splits ---- */

/* What each member asks of a split. */
typedef struct tide_vc_wish {
    int color, key;
} tide_vc_wish;

/* Posts this member's wish and waits for those of all others; `split` is its number. Absent members
 * have the colour -1. False: a member has ended, or never came. */
bool tide_vc_wishes(tide_vc_communicator *comm, uint64_t split, tide_vc_wish own,
                    tide_vc_wish *ret_wishes);

#endif
