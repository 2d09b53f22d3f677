/* nccl.c - NCCL in one process: a communicator of one rank, or of the cards of this process.
 * A collective of one rank is a copy, and what is known of the bytes is carried with it. What one
 * of several cards writes becomes unknown. A communicator of several processes is refused. */
#include "virtual_cuda/libraries/stub_internal.h"

#include "virtual_cuda/libraries/nccl.def"

enum { OK = 0, UNHANDLED_CUDA_ERROR = 1, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };
enum { NO_COLOR = -1 };
enum { ON_DEVICE = 3 }; /* cudaMemcpyKind */
enum {
    SUM = 0,
    N_PLAIN = 5
}; /* ncclRedOp_t: of one rank's values all but the program's own give the values */
static const char SEVERAL[] = "it needs more than one process, which is not simulated";

/* In the handle. */
typedef struct communicator {
    int rank, n_ranks;
} communicator;

/* ncclUniqueId, which travels by value. */
typedef struct unique_id {
    char bytes[128];
} unique_id;

/* The runtime's own functions, which this object defines too. */
int cudaMalloc(void **ret_address, size_t n_bytes);
int cudaFree(void *address);
int cudaMemcpyAsync(void *target, const void *source, size_t n_bytes, int kind, void *stream);

TIDE_VC_EXPORT int ncclCommInitRank(communicator **ret_comm, int n_ranks, unique_id id, int rank);
TIDE_VC_EXPORT int ncclCommInitRankConfig(communicator **ret_comm, int n_ranks, unique_id id,
                                          int rank, void *config);
TIDE_VC_EXPORT int ncclCommInitRankScalable(communicator **ret_comm, int n_ranks, int rank,
                                            int n_ids, const unique_id *ids, void *config);
TIDE_VC_EXPORT int ncclCommInitAll(communicator **ret_comms, int n_devices, const int *devices);
TIDE_VC_EXPORT int ncclCommSplit(const communicator *comm, int color, int key,
                                 communicator **ret_comm, void *config);
TIDE_VC_EXPORT int ncclCommCount(const communicator *comm, int *ret_count);
TIDE_VC_EXPORT int ncclCommUserRank(const communicator *comm, int *ret_rank);
TIDE_VC_EXPORT int ncclAllGather(const void *from, void *to, size_t n, int type,
                                 const communicator *comm, void *stream);
TIDE_VC_EXPORT int ncclAlltoAll(const void *from, void *to, size_t n, int type,
                                const communicator *comm, void *stream);
TIDE_VC_EXPORT int ncclReduceScatter(const void *from, void *to, size_t n, int type, int operation,
                                     const communicator *comm, void *stream);
TIDE_VC_EXPORT int ncclAllReduce(const void *from, void *to, size_t n, int type, int operation,
                                 const communicator *comm, void *stream);
TIDE_VC_EXPORT int ncclReduce(const void *from, void *to, size_t n, int type, int operation,
                              int root, const communicator *comm, void *stream);
TIDE_VC_EXPORT int ncclBroadcast(const void *from, void *to, size_t n, int type, int root,
                                 const communicator *comm, void *stream);
TIDE_VC_EXPORT int ncclBcast(void *values, size_t n, int type, int root, const communicator *comm,
                             void *stream);
TIDE_VC_EXPORT int ncclGather(const void *from, void *to, size_t n, int type, int root,
                              const communicator *comm, void *stream);
TIDE_VC_EXPORT int ncclMemAlloc(void **ret_address, size_t n_bytes);
TIDE_VC_EXPORT int ncclMemFree(void *address);

static communicator *create(int rank, int n_ranks) {
    communicator *comm = tide_vc_handle_new();
    *comm = (communicator){rank, n_ranks};
    return comm;
}

static int create_alone(const char *call, communicator **ret_comm, int n_ranks, int rank) {
    if (ret_comm == NULL || rank < 0 || rank >= n_ranks) {
        return INVALID_ARGUMENT;
    }
    if (n_ranks != 1) {
        tide_vc_refused(call, SEVERAL);
        return INVALID_USAGE;
    }
    *ret_comm = create(0, 1);
    return OK;
}

int ncclCommInitRank(communicator **ret_comm, int n_ranks, unique_id id, int rank) {
    (void)id;
    return create_alone("ncclCommInitRank", ret_comm, n_ranks, rank);
}

int ncclCommInitRankConfig(communicator **ret_comm, int n_ranks, unique_id id, int rank,
                           void *config) {
    (void)id, (void)config;
    return create_alone("ncclCommInitRankConfig", ret_comm, n_ranks, rank);
}

int ncclCommInitRankScalable(communicator **ret_comm, int n_ranks, int rank, int n_ids,
                             const unique_id *ids, void *config) {
    (void)n_ids, (void)ids, (void)config;
    return create_alone("ncclCommInitRankScalable", ret_comm, n_ranks, rank);
}

int ncclCommInitAll(communicator **ret_comms, int n_devices, const int *devices) {
    (void)devices;
    if (ret_comms == NULL || n_devices < 1) {
        return INVALID_ARGUMENT;
    }
    for (int i = 0; i < n_devices; i++) {
        ret_comms[i] = create(i, n_devices);
    }
    return OK;
}

int ncclCommSplit(const communicator *comm, int color, int key, communicator **ret_comm,
                  void *config) {
    (void)key, (void)config;
    if (comm == NULL || ret_comm == NULL) {
        return INVALID_ARGUMENT;
    }
    if (comm->n_ranks != 1) {
        tide_vc_refused("ncclCommSplit", "a communicator of several cards cannot be split here");
        return INVALID_USAGE;
    }
    *ret_comm = color == NO_COLOR ? NULL : create(0, 1);
    return OK;
}

int ncclCommCount(const communicator *comm, int *ret_count) {
    if (comm == NULL || ret_count == NULL) {
        return INVALID_ARGUMENT;
    }
    *ret_count = comm->n_ranks;
    return OK;
}

int ncclCommUserRank(const communicator *comm, int *ret_rank) {
    if (comm == NULL || ret_rank == NULL) {
        return INVALID_ARGUMENT;
    }
    *ret_rank = comm->rank;
    return OK;
}

int ncclMemAlloc(void **ret_address, size_t n_bytes) {
    return cudaMalloc(ret_address, n_bytes) == 0 ? OK : UNHANDLED_CUDA_ERROR;
}

int ncclMemFree(void *address) {
    return cudaFree(address) == 0 ? OK : UNHANDLED_CUDA_ERROR;
}

/* ---- collectives ---- */

typedef struct collective {
    const void *from;
    void *to;
    size_t n;      /* values */
    int type;      /* ncclDataType_t */
    int operation; /* ncclRedOp_t */
} collective;

static size_t value_bytes(int type) {
    static const size_t BYTES[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}; /* from ncclInt8 on */
    return type >= 0 && (size_t)type < sizeof(BYTES) / sizeof(BYTES[0]) ? BYTES[type] : 0;
}

static int carry(const collective *call, const communicator *comm, void *stream) {
    size_t n_bytes = call->n * value_bytes(call->type);
    if (comm == NULL) {
        return INVALID_ARGUMENT;
    }
    if (comm->n_ranks != 1 || n_bytes == 0 || call->operation >= N_PLAIN) {
        tide_vc_touch(call->to);
        return OK;
    }
    if (call->from == call->to) {
        return OK;
    }
    return cudaMemcpyAsync(call->to, call->from, n_bytes, ON_DEVICE, stream) == 0
               ? OK
               : UNHANDLED_CUDA_ERROR;
}

int ncclAllGather(const void *from, void *to, size_t n, int type, const communicator *comm,
                  void *stream) {
    return carry(&(collective){from, to, n, type, SUM}, comm, stream);
}

int ncclAlltoAll(const void *from, void *to, size_t n, int type, const communicator *comm,
                 void *stream) {
    return carry(&(collective){from, to, n, type, SUM}, comm, stream);
}

int ncclReduceScatter(const void *from, void *to, size_t n, int type, int operation,
                      const communicator *comm, void *stream) {
    return carry(&(collective){from, to, n, type, operation}, comm, stream);
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int operation,
                  const communicator *comm, void *stream) {
    return carry(&(collective){from, to, n, type, operation}, comm, stream);
}

int ncclReduce(const void *from, void *to, size_t n, int type, int operation, int root,
               const communicator *comm, void *stream) {
    (void)root;
    return carry(&(collective){from, to, n, type, operation}, comm, stream);
}

int ncclBroadcast(const void *from, void *to, size_t n, int type, int root,
                  const communicator *comm, void *stream) {
    (void)root;
    return carry(&(collective){from, to, n, type, SUM}, comm, stream);
}

int ncclBcast(void *values, size_t n, int type, int root, const communicator *comm, void *stream) {
    return ncclBroadcast(values, values, n, type, root, comm, stream);
}

int ncclGather(const void *from, void *to, size_t n, int type, int root, const communicator *comm,
               void *stream) {
    (void)root;
    return carry(&(collective){from, to, n, type, SUM}, comm, stream);
}
