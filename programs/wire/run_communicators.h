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

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The file's name is the process ID and this suffix. */
#define TIDE_RUN_COMMUNICATORS_SUFFIX ".communicators"
/* `magic` once the file is complete: "tidecom1". */
#define TIDE_RUN_COMMUNICATORS_MAGIC UINT64_C(0x316d6f6365646974)

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

/* A communicator of the process. */
typedef struct tide_run_communicator {
    uint64_t key;          /* the same for all members, and different from that of any other
                              communicator */
    int32_t rank, n_ranks; /* this process' place, and the number of members */
    int32_t device;        /* of the process, as the program numbers it */
    int32_t is_destroyed;  /* 1: the program has destroyed it */
    int64_t first,
        stride; /* the members' ranks of the world, where known and regular; else -1, 0 */
    int32_t is_configured; /* 1: made with an ncclConfig_t, or from such a one: PyTorch's all are */
    int32_t is_modelled; /* 1: the bytes below are of the model of NCCL's buffers; 0: stated by the
                            user, or unknown and 0 */
    uint64_t charged_bytes; /* of the card */
    uint64_t missing_bytes; /* more, that found no room on the card */
    uint64_t least_bytes;   /* charged at the least, by the model */
    uint64_t n_calls[TIDE_RUN_EXCHANGES];
    uint64_t n_bytes[TIDE_RUN_EXCHANGES];        /* of this member's larger buffer, added up */
    char name[TIDE_RUN_COMMUNICATOR_NAME_BYTES]; /* given by PyTorch; "": none */
} tide_run_communicator;

typedef struct tide_run_communicators {
    uint64_t magic;
    int64_t rank;    /* in the world, the environment's RANK; -1: unknown */
    uint64_t n_made; /* beyond TIDE_RUN_COMMUNICATORS, communicators are only counted */
    tide_run_communicator made[TIDE_RUN_COMMUNICATORS];
} tide_run_communicators;

#ifdef __cplusplus
}
#endif

#endif
