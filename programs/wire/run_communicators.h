/* run_communicators.h - the files `PID.communicators` of a run's folder: the NCCL communicators
 * that each process has made, and the traffic of each.
 *
 * The process maps its file while it runs (programs/virtual_cuda/nccl/ledger.c), so the file is
 * complete up to the last call even if the process is killed. The layout is that of this struct on
 * this machine: the file lives as long as the run and never leaves the machine. It has the length
 * of the struct; unwritten parts are holes.
 */
#ifndef TIDE_WIRE_RUN_COMMUNICATORS_H
#define TIDE_WIRE_RUN_COMMUNICATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "programs/wire/run_account.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The file's name is the process ID and this suffix. */
#define TIDE_RUN_COMMUNICATORS_SUFFIX ".communicators"
/* `magic` once the file is complete: "tidecom2". */
#define TIDE_RUN_COMMUNICATORS_MAGIC UINT64_C(0x326d6f6365646974)

/* What a call does. */
typedef enum tide_run_exchange {
    TIDE_RUN_ALL_GATHER,
    TIDE_RUN_GATHER,
    TIDE_RUN_ALL_TO_ALL,
    TIDE_RUN_BROADCAST,
    TIDE_RUN_SCATTER,
    TIDE_RUN_ALL_REDUCE,
    TIDE_RUN_REDUCE,
    TIDE_RUN_REDUCE_SCATTER,
    TIDE_RUN_SEND,
    TIDE_RUN_RECEIVE,
    TIDE_RUN_EXCHANGES
} tide_run_exchange;

enum { TIDE_RUN_COMMUNICATORS = 4096, TIDE_RUN_COMMUNICATOR_NAME_BYTES = 96 };

/* The most memory of a card that a user has reported of a communicator of NCCL. */
#define TIDE_RUN_COMMUNICATOR_MOST_BYTES UINT64_C(1600000000)

/* Communicators that exist at the same time, and their buffers: bytes of the model, or stated by
 * the user. Of a single one, each number is at most 1. */
typedef struct tide_run_nccl_use {
    uint64_t n_made;
    uint64_t n_modelled;      /* their bytes are those of the model of NCCL's buffers */
    uint64_t n_between_nodes; /* known to have members on several nodes, so not modelled */
    uint64_t charged_bytes;   /* of the card */
    uint64_t missing_bytes;   /* more, that do not fit on the card */
    uint64_t least_bytes;     /* by the model, at the least */
    uint64_t most_bytes;      /* and at the most */
} tide_run_nccl_use;

/* The order by which the peak is found: what does not fit is the most important. */
static inline bool tide_run_nccl_is_more(const tide_run_nccl_use *a, const tide_run_nccl_use *b) {
    uint64_t all_of_a = a->charged_bytes + a->missing_bytes;
    uint64_t all_of_b = b->charged_bytes + b->missing_bytes;
    if (a->missing_bytes != b->missing_bytes) {
        return a->missing_bytes > b->missing_bytes;
    }
    return all_of_a > all_of_b || (all_of_a == all_of_b && a->n_made > b->n_made);
}

/* A communicator of the process. */
typedef struct tide_run_communicator {
    uint64_t key;          /* the same for all members, and different from that of any other
                              communicator */
    int32_t rank, n_ranks; /* this process' place, and the number of members */
    int32_t device;        /* of the process, as the program numbers it */
    int32_t is_configured; /* 1: made with an ncclConfig_t, or from such a one: PyTorch's all are */
    int64_t first,
        stride; /* the members' ranks of the world, where known and regular; else -1, 0 */
    tide_run_nccl_use use; /* its own; zeros once the program has destroyed it */
    uint64_t n_calls[TIDE_RUN_EXCHANGES];
    uint64_t n_bytes[TIDE_RUN_EXCHANGES];        /* of this member's larger buffer, added up */
    char name[TIDE_RUN_COMMUNICATOR_NAME_BYTES]; /* given by PyTorch; "": none */
} tide_run_communicator;

typedef struct tide_run_communicators {
    uint64_t magic;
    int64_t rank;    /* in the world, the environment's RANK; -1: unknown */
    uint64_t n_made; /* beyond TIDE_RUN_COMMUNICATORS, communicators are only counted */
    tide_run_nccl_use live[TIDE_RUN_DEVICES]; /* the sum over those that are not destroyed */
    tide_run_nccl_use peak[TIDE_RUN_DEVICES]; /* the highest `live` so far */
    tide_run_communicator made[TIDE_RUN_COMMUNICATORS];
} tide_run_communicators;

#ifdef __cplusplus
}
#endif

#endif
