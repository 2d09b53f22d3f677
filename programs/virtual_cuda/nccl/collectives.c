/* collectives.c - NCCL's collectives and messages. A call leaves its member's bytes for the others
 * and a promise at the address of its result, and returns. If the bytes are unknown or many, the
 * result is unknown. */
#include <stdlib.h>
#include <string.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/launches/launch_log.h"
#include "programs/virtual_cuda/nccl/charges.h"
#include "programs/virtual_cuda/nccl/communicator.h"
#include "programs/virtual_cuda/nccl/ledger.h"
#include "programs/virtual_cuda/nccl/reduce.h"
#include "programs/virtual_cuda/nccl/watchdog.h"
#include "programs/virtual_cuda/order/streams.h"

enum { OK = 0, INVALID_ARGUMENT = 4 }; /* ncclResult_t */

typedef tide_vc_communicator communicator;

/* One member's call. */
typedef struct call {
    tide_run_exchange pattern;
    const void *from;
    void *to;
    size_t n; /* values, as the caller passed it */
    int type, operation, root;
} call;

/* The data to compute a result later. */
typedef struct work {
    communicator *comm; /* held */
    tide_run_exchange pattern;
    int type, operation, root;
    uint64_t number;
    size_t n_given;     /* bytes of each member's part */
    unsigned char *own; /* of this member; NULL: unknown */
} work;

static bool is_rooted(tide_run_exchange of) {
    return of == TIDE_RUN_BROADCAST || of == TIDE_RUN_SCATTER;
}

static bool is_reduction(tide_run_exchange of) {
    return of >= TIDE_RUN_ALL_REDUCE && of <= TIDE_RUN_REDUCE_SCATTER;
}

/* ---- computing a result ---- */

/* A rank that does not run is assumed to have the same bytes as this one. */
static bool take(const work *of, int member, unsigned char *to) {
    const communicator *comm = of->comm;
    tide_vc_given given = TIDE_VC_GIVEN_BY_NOBODY;
    if (member != comm->rank) {
        given = tide_vc_take(of->comm, of->number, member, to, of->n_given);
    }
    if (given == TIDE_VC_GIVEN_BY_NOBODY && of->own != NULL) {
        memcpy(to, of->own, of->n_given);
        return true;
    }
    return given == TIDE_VC_GIVEN;
}

/* Member i's part becomes part i of the result. If each member's bytes consist of parts, uses the
 * part for this member. */
static bool gather(const work *of, unsigned char *to, size_t n_bytes) {
    size_t n_parts = (size_t)of->comm->n_ranks;
    size_t n_part = n_bytes / n_parts;
    unsigned char *given = malloc(of->n_given + 1);
    bool is_known = given != NULL;
    for (size_t i = 0; i < n_parts && is_known; i++) {
        is_known = take(of, (int)i, given);
        if (is_known) {
            size_t from = of->pattern == TIDE_RUN_ALL_TO_ALL ? (size_t)of->comm->rank * n_part : 0;
            memcpy(to + i * n_part, given + from, n_part);
        }
    }
    free(given);
    return is_known;
}

static bool from_root(const work *of, unsigned char *to, size_t n_bytes) {
    unsigned char *given = malloc(of->n_given + 1);
    bool is_known = given != NULL && take(of, of->root, given);
    if (is_known) {
        memcpy(to, given + (of->pattern == TIDE_RUN_SCATTER ? (size_t)of->comm->rank * n_bytes : 0),
               n_bytes);
    }
    free(given);
    return is_known;
}

/* One member's term of a sum. For an average, floating-point numbers are divided before they are
 * added, as in NCCL, so the sum does not overflow. */
static bool take_term(const work *of, int member, unsigned char *to) {
    if (!take(of, member, to)) {
        return false;
    }
    if (of->operation == TIDE_VC_AVERAGE && !tide_vc_nccl_is_whole(of->type)) {
        tide_vc_nccl_divide(to, of->n_given / tide_vc_nccl_type_bytes(of->type), of->type,
                            of->comm->n_ranks);
    }
    return true;
}

static bool reduce(const work *of, unsigned char *to, size_t n_bytes) {
    size_t n = of->n_given / tide_vc_nccl_type_bytes(of->type);
    unsigned char *total = malloc(of->n_given + 1);
    unsigned char *given = malloc(of->n_given + 1);
    bool is_known = total != NULL && given != NULL && take_term(of, 0, total);
    for (int i = 1; i < of->comm->n_ranks && is_known; i++) {
        is_known = take_term(of, i, given);
        if (is_known) {
            tide_vc_nccl_reduce(total, given, n, of->type, of->operation);
        }
    }
    if (is_known && of->operation == TIDE_VC_AVERAGE && tide_vc_nccl_is_whole(of->type)) {
        tide_vc_nccl_divide(total, n, of->type, of->comm->n_ranks);
    }
    if (is_known) {
        size_t from = of->pattern == TIDE_RUN_REDUCE_SCATTER ? (size_t)of->comm->rank * n_bytes : 0;
        memcpy(to, total + from, n_bytes);
    }
    free(given);
    free(total);
    return is_known;
}

static bool work_out(void *ctx, unsigned char *to, size_t n_bytes) {
    const work *of = ctx;
    if (is_reduction(of->pattern)) {
        return reduce(of, to, n_bytes);
    }
    return is_rooted(of->pattern) ? from_root(of, to, n_bytes) : gather(of, to, n_bytes);
}

static void release(void *ctx) {
    work *of = ctx;
    tide_vc_communicator_drop(of->comm);
    free(of->own);
    free(of);
}

static const tide_vc_promise_kind COLLECTIVE = {work_out, release};

/* ---- calls ---- */

/* Bytes of this member's part, which is all that it sends, and of its result. */
static size_t given_bytes(const call *of, const communicator *comm) {
    size_t n_bytes = of->n * tide_vc_nccl_type_bytes(of->type);
    bool is_in_parts = of->pattern == TIDE_RUN_ALL_TO_ALL || of->pattern == TIDE_RUN_SCATTER ||
                       of->pattern == TIDE_RUN_REDUCE_SCATTER;
    return is_in_parts ? n_bytes * (size_t)comm->n_ranks : n_bytes;
}

static size_t result_bytes(const call *of, const communicator *comm) {
    size_t n_bytes = of->n * tide_vc_nccl_type_bytes(of->type);
    switch (of->pattern) {
    case TIDE_RUN_ALL_GATHER:
    case TIDE_RUN_ALL_TO_ALL:
        return n_bytes * (size_t)comm->n_ranks;
    case TIDE_RUN_GATHER:
        return comm->rank == of->root ? n_bytes * (size_t)comm->n_ranks : 0;
    case TIDE_RUN_REDUCE:
        return comm->rank == of->root ? n_bytes : 0;
    default:
        return n_bytes;
    }
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* This member's bytes, if they are known and few; waits for promised bytes. */
static unsigned char *known_bytes(const void *from, size_t n_bytes) {
    bool is_few = n_bytes <= tide_vc_known_copy_bytes() && tide_vc_known_covers(from, n_bytes);
    unsigned char *bytes = is_few ? malloc(n_bytes + 1) : NULL;
    if (bytes != NULL && !tide_vc_known_read(bytes, from, n_bytes)) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

static bool can_be_known(const call *of, const communicator *comm, bool is_given,
                         const unsigned char *own) {
    if (given_bytes(of, comm) > tide_vc_known_copy_bytes()) {
        return false;
    }
    if (is_reduction(of->pattern)) {
        return own != NULL && tide_vc_nccl_can_reduce(of->type, of->operation);
    }
    return !is_given || own != NULL;
}

/* Takes ownership of `own`. */
static void promise(const call *of, communicator *comm, uint64_t number, unsigned char *own) {
    size_t n_bytes = result_bytes(of, comm);
    work *made = malloc(sizeof(*made));
    if (made == NULL) {
        free(own);
        tide_vc_known_promise(of->to, NULL, n_bytes);
        return;
    }
    *made = (work){.comm = tide_vc_communicator_hold(comm),
                   .pattern = of->pattern,
                   .type = of->type,
                   .operation = of->operation,
                   .root = of->root,
                   .number = number,
                   .n_given = given_bytes(of, comm),
                   .own = own};
    tide_vc_promise *made_promise = tide_vc_promise_create(&COLLECTIVE, made, n_bytes);
    tide_vc_known_promise(of->to, made_promise, n_bytes);
    tide_vc_promise_drop(made_promise);
}

/* `peer`: the root, the sender or the receiver. */
static void log_exchange(tide_vc_entry entry, const communicator *comm, tide_run_exchange pattern,
                         size_t n_bytes, int peer, void *stream) {
    tide_run_launch row = {.kind = TIDE_RUN_COLLECTIVE,
                           .family = (uint8_t)pattern,
                           .bytes = n_bytes,
                           .elements = comm->key,
                           .m = (uint32_t)comm->rank,
                           .n = (uint32_t)peer,
                           .count = (uint32_t)comm->n_ranks};
    tide_vc_launch_end(entry, &row, stream, NULL);
}

static int run(const call *of, communicator *comm, void *stream) {
    tide_vc_entry entry = tide_vc_launch_begin();
    if (comm == NULL || tide_vc_nccl_type_bytes(of->type) == 0 || of->root < 0 ||
        of->root >= comm->n_ranks) {
        return INVALID_ARGUMENT;
    }
    bool is_given = !is_rooted(of->pattern) || of->root == comm->rank;
    bool is_captured = tide_vc_stream_of(stream)->capture != NULL;
    unsigned char *own =
        is_given && !is_captured ? known_bytes(of->from, given_bytes(of, comm)) : NULL;
    tide_vc_stream_work(stream);
    tide_vc_watchdog_has_work();
    uint64_t number = tide_vc_post(comm, own, given_bytes(of, comm));
    tide_vc_charges_collective(comm, of->pattern, of->root,
                               larger(given_bytes(of, comm), result_bytes(of, comm)));
    tide_vc_ledger_count(comm, of->pattern, larger(given_bytes(of, comm), result_bytes(of, comm)));
    if (result_bytes(of, comm) == 0) {
        free(own);
    } else if (is_captured || !can_be_known(of, comm, is_given, own)) {
        free(own);
        tide_vc_known_forget((uint64_t)(uintptr_t)of->to, result_bytes(of, comm));
    } else {
        promise(of, comm, number, own);
    }
    log_exchange(entry, comm, of->pattern, larger(given_bytes(of, comm), result_bytes(of, comm)),
                 of->root, stream);
    return OK;
}

TIDE_VC_EXPORT int ncclRedOpCreatePreMulSum(int *ret_operation, const void *scalar, int type,
                                            int residence, const communicator *comm);
TIDE_VC_EXPORT int ncclAllGather(const void *from, void *to, size_t n, int type, communicator *comm,
                                 void *stream);
TIDE_VC_EXPORT int ncclAlltoAll(const void *from, void *to, size_t n, int type, communicator *comm,
                                void *stream);
TIDE_VC_EXPORT int ncclReduceScatter(const void *from, void *to, size_t n, int type, int operation,
                                     communicator *comm, void *stream);
TIDE_VC_EXPORT int ncclAllReduce(const void *from, void *to, size_t n, int type, int operation,
                                 communicator *comm, void *stream);
TIDE_VC_EXPORT int ncclReduce(const void *from, void *to, size_t n, int type, int operation,
                              int root, communicator *comm, void *stream);
TIDE_VC_EXPORT int ncclBroadcast(const void *from, void *to, size_t n, int type, int root,
                                 communicator *comm, void *stream);
TIDE_VC_EXPORT int ncclBcast(void *values, size_t n, int type, int root, communicator *comm,
                             void *stream);
TIDE_VC_EXPORT int ncclGather(const void *from, void *to, size_t n, int type, int root,
                              communicator *comm, void *stream);
TIDE_VC_EXPORT int ncclScatter(const void *from, void *to, size_t n, int type, int root,
                               communicator *comm, void *stream);
TIDE_VC_EXPORT int ncclSend(const void *from, size_t n, int type, int peer, communicator *comm,
                            void *stream);
TIDE_VC_EXPORT int ncclRecv(void *to, size_t n, int type, int peer, communicator *comm,
                            void *stream);

/* A sum of scaled values: gradients, whose values are unknown. */
int ncclRedOpCreatePreMulSum(int *ret_operation, const void *scalar, int type, int residence,
                             const communicator *comm) {
    (void)scalar, (void)type, (void)residence, (void)comm;
    if (ret_operation == NULL) {
        return INVALID_ARGUMENT;
    }
    *ret_operation = TIDE_VC_OWN_OPERATION;
    return OK;
}

int ncclAllGather(const void *from, void *to, size_t n, int type, communicator *comm,
                  void *stream) {
    return run(&(call){TIDE_RUN_ALL_GATHER, from, to, n, type, TIDE_VC_SUM, 0}, comm, stream);
}

int ncclAlltoAll(const void *from, void *to, size_t n, int type, communicator *comm, void *stream) {
    return run(&(call){TIDE_RUN_ALL_TO_ALL, from, to, n, type, TIDE_VC_SUM, 0}, comm, stream);
}

int ncclReduceScatter(const void *from, void *to, size_t n, int type, int operation,
                      communicator *comm, void *stream) {
    return run(&(call){TIDE_RUN_REDUCE_SCATTER, from, to, n, type, operation, 0}, comm, stream);
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int operation, communicator *comm,
                  void *stream) {
    return run(&(call){TIDE_RUN_ALL_REDUCE, from, to, n, type, operation, 0}, comm, stream);
}

int ncclReduce(const void *from, void *to, size_t n, int type, int operation, int root,
               communicator *comm, void *stream) {
    return run(&(call){TIDE_RUN_REDUCE, from, to, n, type, operation, root}, comm, stream);
}

int ncclBroadcast(const void *from, void *to, size_t n, int type, int root, communicator *comm,
                  void *stream) {
    return run(&(call){TIDE_RUN_BROADCAST, from, to, n, type, TIDE_VC_SUM, root}, comm, stream);
}

int ncclBcast(void *values, size_t n, int type, int root, communicator *comm, void *stream) {
    return ncclBroadcast(values, values, n, type, root, comm, stream);
}

int ncclGather(const void *from, void *to, size_t n, int type, int root, communicator *comm,
               void *stream) {
    return run(&(call){TIDE_RUN_GATHER, from, to, n, type, TIDE_VC_SUM, root}, comm, stream);
}

int ncclScatter(const void *from, void *to, size_t n, int type, int root, communicator *comm,
                void *stream) {
    return run(&(call){TIDE_RUN_SCATTER, from, to, n, type, TIDE_VC_SUM, root}, comm, stream);
}

/* ---- messages ---- */

typedef struct message {
    communicator *comm; /* held */
    uint64_t number;
    int from;
} message;

static bool receive(void *ctx, unsigned char *to, size_t n_bytes) {
    const message *of = ctx;
    return tide_vc_receive(of->comm, of->number, of->from, to, n_bytes) == TIDE_VC_GIVEN;
}

static void release_message(void *ctx) {
    message *of = ctx;
    tide_vc_communicator_drop(of->comm);
    free(of);
}

static const tide_vc_promise_kind MESSAGE = {receive, release_message};

int ncclSend(const void *from, size_t n, int type, int peer, communicator *comm, void *stream) {
    if (comm == NULL || peer < 0 || peer >= comm->n_ranks || tide_vc_nccl_type_bytes(type) == 0) {
        return INVALID_ARGUMENT;
    }
    tide_vc_entry entry = tide_vc_launch_begin();
    size_t n_bytes = n * tide_vc_nccl_type_bytes(type);
    bool is_captured = tide_vc_stream_of(stream)->capture != NULL;
    unsigned char *bytes = is_captured ? NULL : known_bytes(from, n_bytes);
    tide_vc_stream_work(stream);
    tide_vc_watchdog_has_work();
    tide_vc_send(comm, peer, bytes, n_bytes);
    tide_vc_charges_message(comm, TIDE_RUN_SEND, peer);
    tide_vc_ledger_count(comm, TIDE_RUN_SEND, n_bytes);
    free(bytes);
    log_exchange(entry, comm, TIDE_RUN_SEND, n_bytes, peer, stream);
    return OK;
}

int ncclRecv(void *to, size_t n, int type, int peer, communicator *comm, void *stream) {
    if (comm == NULL || peer < 0 || peer >= comm->n_ranks || tide_vc_nccl_type_bytes(type) == 0) {
        return INVALID_ARGUMENT;
    }
    tide_vc_entry entry = tide_vc_launch_begin();
    size_t n_bytes = n * tide_vc_nccl_type_bytes(type);
    log_exchange(entry, comm, TIDE_RUN_RECEIVE, n_bytes, peer, stream);
    uint64_t number = tide_vc_expect(comm, peer);
    tide_vc_charges_message(comm, TIDE_RUN_RECEIVE, peer);
    tide_vc_ledger_count(comm, TIDE_RUN_RECEIVE, n_bytes);
    bool is_small =
        n_bytes <= tide_vc_known_copy_bytes() && tide_vc_stream_of(stream)->capture == NULL;
    message *made = is_small ? malloc(sizeof(*made)) : NULL;
    tide_vc_stream_work(stream);
    tide_vc_watchdog_has_work();
    if (made == NULL) {
        tide_vc_known_forget((uint64_t)(uintptr_t)to, n_bytes);
        return OK;
    }
    *made = (message){tide_vc_communicator_hold(comm), number, peer};
    tide_vc_promise *promised = tide_vc_promise_create(&MESSAGE, made, n_bytes);
    tide_vc_known_promise(to, promised, n_bytes);
    tide_vc_promise_drop(promised);
    return OK;
}
