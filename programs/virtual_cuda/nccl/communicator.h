/* communicator.h - NCCL's communicators, and what their members tell each other.
 *
 * The members of a communicator are processes of one run, which share a table in the run's folder:
 * a seat for each member, with what it has posted so far. A member posts each collective that it
 * calls: a count in its seat, and a file with its bytes where these are known and small. Nobody
 * waits then. Who wants another's bytes waits until that one's count says that it has posted; a
 * post without a file is of bytes that are unknown.
 *
 * Communicators are counted, because a promise may outlive the program's use of one.
 */
#ifndef TIDE_VIRTUAL_CUDA_NCCL_COMMUNICATOR_H
#define TIDE_VIRTUAL_CUDA_NCCL_COMMUNICATOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Files above this stay in the folder for a few later ones of their kind only. */
#define TIDE_VC_LARGE_POST_BYTES ((size_t)4 << 20)
enum { TIDE_VC_LARGE_POSTS = 4, TIDE_VC_KEPT_FILES = 4096 };

/* A file that this member has written for others. */
typedef struct tide_vc_sent {
    uint64_t number; /* of the collective, or of the message */
    size_t n_bytes;
    int to; /* the member that a message is for; -1: a collective's, for all */
} tide_vc_sent;

/* Files that are not removed yet, in order: a ring. */
typedef struct tide_vc_outbox {
    tide_vc_sent sent[TIDE_VC_KEPT_FILES]; /* number i at [i % TIDE_VC_KEPT_FILES] */
    uint64_t first, end;
    uint64_t n_bytes; /* of those between the two */
} tide_vc_outbox;

/* ncclUniqueId, which travels by value. */
typedef struct tide_vc_unique_id {
    char bytes[128];
} tide_vc_unique_id;

struct tide_vc_seat;

typedef struct tide_vc_communicator {
    int rank, n_ranks;
    int device;
    uint64_t key;                                      /* names it in the run's folder */
    uint64_t n_calls;                                  /* collectives that this member has called */
    uint64_t n_splits;                                 /* how often it was split or shrunk */
    tide_vc_outbox small, large_posts, large_messages; /* most of them is never touched */
    uint64_t n_charged_bytes;                          /* of the card, by TIDEMARK_NCCL_BYTES */
    struct tide_vc_seat *seats; /* n_ranks, mapped; NULL: nobody is told anything */
    _Atomic uint64_t *n_sent;   /* behind the seats: messages from i to j at [i * n_ranks + j] */
    uint64_t *n_received;       /* owned; messages from each member that were asked for */
    int64_t *members;           /* owned; ranks of the world; NULL: not known */
    _Atomic uint64_t missing_since_ns; /* it first waited for a member that may not run; 0: never */
    size_t n_mapped_bytes;             /* of the seats and what is behind them */
    uint64_t place;                    /* in the ledger, plus 1; 0: none */
    uint64_t place_forks;              /* of which process it is, counted in forks */
    atomic_uint n_holders;
} tide_vc_communicator;

/* How a communicator is made. */
typedef struct tide_vc_communicator_plan {
    int rank, n_ranks, device;
    uint64_t key;
    int64_t *members; /* owned by the communicator from then on; NULL: not known */
    const char *name; /* that the program gave; NULL: none */
} tide_vc_communicator_plan;

/* The caller holds it. NULL: there is no host memory. */
tide_vc_communicator *tide_vc_communicator_create(const tide_vc_communicator_plan *plan);
tide_vc_communicator *tide_vc_communicator_hold(tide_vc_communicator *comm);
void tide_vc_communicator_drop(tide_vc_communicator *comm); /* NULL is allowed */

/* A number for a text of bytes: FNV-1a, continued from `hash`; 0 begins one. */
uint64_t tide_vc_key(uint64_t hash, const void *bytes, size_t n_bytes);

/* ---- collectives ---- */

/* Posts the next collective of this member: n_bytes, or NULL for bytes that are unknown.
 * Returns its number, which is the same on all members. */
uint64_t tide_vc_post(tide_vc_communicator *comm, const void *bytes, size_t n_bytes);

/* The bytes of member `from` in collective `number`, once it has posted them. */
typedef enum tide_vc_given {
    TIDE_VC_GIVEN,          /* they were written */
    TIDE_VC_GIVEN_NOTHING,  /* they are unknown */
    TIDE_VC_GIVEN_BY_NOBODY /* the member does not run: its bytes are to be taken as the reader's */
} tide_vc_given;
tide_vc_given tide_vc_take(tide_vc_communicator *comm, uint64_t number, int from, void *to,
                           size_t n_bytes);

/* Whether it is known that a member does not run. */
bool tide_vc_is_absent(const tide_vc_communicator *comm, int member);

/* ---- messages from one member to another, in order ---- */

void tide_vc_send(tide_vc_communicator *comm, int to, const void *bytes, size_t n_bytes);
/* The message's number: the next one that this member has not asked for. */
uint64_t tide_vc_expect(tide_vc_communicator *comm, int from);
tide_vc_given tide_vc_receive(tide_vc_communicator *comm, uint64_t number, int from, void *to,
                              size_t n_bytes);

/* ---- splits ---- */

/* What each member wants of a split. */
typedef struct tide_vc_wish {
    int color, key;
} tide_vc_wish;

/* Tells this member's wish and waits for those of all others; `split` is its number. Absent members
 * have the colour -1. False: a member has ended, or never came. */
bool tide_vc_wishes(tide_vc_communicator *comm, uint64_t split, tide_vc_wish own,
                    tide_vc_wish *ret_wishes);

#endif
