/* nccl_ranks.h - the processes of a test of NCCL: one for each rank, in their own run folder.
 *
 * The test's process makes no context.
 */
#ifndef TIDE_TESTS_NCCL_RANKS_H
#define TIDE_TESTS_NCCL_RANKS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mkdtemp, nftw */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"
#include "unit/virtual_cuda/test_folder.h"

enum { N_RANKS = 4, N_BYTES = 256, TO_DEVICE = 1, TO_HOST = 2 };
enum { INT8, UINT8, INT32, UINT32, INT64, UINT64, HALF, FLOAT, DOUBLE, BFLOAT, FLOAT8 };
enum { SUM, PRODUCT, MAX, MIN, AVERAGE };
enum { OK = 0, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, NO_COLOR = -1 };

typedef struct unique_id {
    char bytes[128];
} unique_id;

int ncclGetUniqueId(unique_id *ret_id);
int ncclCommInitRank(void **ret_comm, int n_ranks, unique_id id, int rank);
int ncclCommInitRankScalable(void **ret_comm, int n_ranks, int rank, int n_ids,
                             const unique_id *ids, void *config);
int ncclCommInitRankConfig(void **ret_comm, int n_ranks, unique_id id, int rank, void *config);
int ncclCommInitAll(void **ret_comms, int n_devices, const int *devices);
int ncclCommSplit(void *comm, int color, int key, void **ret_comm, void *config);
int ncclCommShrink(void *comm, const int *excluded, int n_excluded, void **ret_comm, void *config,
                   int flags);
int ncclCommDestroy(void *comm);
int ncclCommCount(const void *comm, int *ret_count);
int ncclCommUserRank(const void *comm, int *ret_rank);
int ncclAllGather(const void *from, void *to, size_t n, int type, void *comm, void *stream);
int ncclAlltoAll(const void *from, void *to, size_t n, int type, void *comm, void *stream);
int ncclReduceScatter(const void *from, void *to, size_t n, int type, int operation, void *comm,
                      void *stream);
int ncclAllReduce(const void *from, void *to, size_t n, int type, int operation, void *comm,
                  void *stream);
int ncclReduce(const void *from, void *to, size_t n, int type, int operation, int root, void *comm,
               void *stream);
int ncclBroadcast(const void *from, void *to, size_t n, int type, int root, void *comm,
                  void *stream);
int ncclGather(const void *from, void *to, size_t n, int type, int root, void *comm, void *stream);
int ncclScatter(const void *from, void *to, size_t n, int type, int root, void *comm, void *stream);
int ncclSend(const void *from, size_t n, int type, int peer, void *comm, void *stream);
int ncclRecv(void *to, size_t n, int type, int peer, void *comm, void *stream);
int ncclRedOpCreatePreMulSum(int *ret_operation, const void *scalar, int type, int residence,
                             void *comm);
int tidemark_values_read(void *to, uint64_t from, size_t n_bytes);
void tidemark_ranks_group(const int64_t *ranks, size_t n, const char *name);

/* The memory shared by the processes of a test. */
typedef struct job {
    unique_id id;
    int failed_line; /* where the first check failed */
} job;

/* One rank, in its process. */
typedef struct member {
    job *job;
    int rank, n_ranks;
    void *comm;
    unsigned char *from, *to; /* N_BYTES each, on the card */
} member;

static char folder[] = "/tmp/tidemark-test-XXXXXX";

#define CHECK(of, condition)                                                                       \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (of)->job->failed_line = __LINE__;                                                     \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static inline void put(const member *of, const void *values, size_t n_bytes) {
    CHECK(of, cudaMemcpy(of->from, values, n_bytes, TO_DEVICE) == OK);
}

static inline bool is_known(const member *of, size_t n_bytes) {
    char bytes[N_BYTES];
    return tidemark_values_read(bytes, (uint64_t)(uintptr_t)of->to, n_bytes) != 0;
}

static inline bool has(const member *of, const void *wanted, size_t n_bytes) {
    char got[N_BYTES] = {0};
    return is_known(of, n_bytes) && cudaMemcpy(got, of->to, n_bytes, TO_HOST) == OK &&
           memcmp(got, wanted, n_bytes) == 0;
}

static inline void play(job *of, int rank, int n_ranks, void (*part)(member *of)) {
    member own = {.job = of, .rank = rank, .n_ranks = n_ranks};
    char text[16];
    (void)snprintf(text, sizeof(text), "%d", rank);
    setenv("RANK", text, 1);
    CHECK(&own, cudaMalloc((void **)&own.from, N_BYTES) == OK);
    CHECK(&own, cudaMalloc((void **)&own.to, N_BYTES) == OK);
    CHECK(&own, ncclCommInitRank(&own.comm, n_ranks, of->id, rank) == OK);
    part(&own);
    CHECK(&own, ncclCommDestroy(own.comm) == OK);
    _exit(0);
}

/* Runs the ranks of `mask` of a world of n. */
static inline void run_some(int n, unsigned mask, void (*part)(member *of)) {
    job *of = mmap(NULL, sizeof(*of), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[N_RANKS] = {0};
    assert_true(of != MAP_FAILED);
    assert_int_equal(ncclGetUniqueId(&of->id), OK);
    for (int i = 0; i < n; i++) {
        if ((mask >> i & 1U) != 0 && (pids[i] = fork()) == 0) {
            play(of, i, n, part);
        }
    }
    for (int i = 0; i < n; i++) {
        int status = 0;
        assert_true(pids[i] == 0 || waitpid(pids[i], &status, 0) == pids[i]);
        assert_int_equal(of->failed_line, 0);
        assert_int_equal(status, 0);
    }
    munmap(of, sizeof(*of));
}

static inline void run(void (*part)(member *of)) {
    run_some(N_RANKS, (1U << N_RANKS) - 1, part);
}

static inline int make_folder(void **state) {
    (void)state;
    setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1);
    return mkdtemp(folder) == NULL || setenv("TIDEMARK_RUN_FOLDER", folder, 1) != 0;
}

static inline int drop_folder(void **state) {
    (void)state;
    return remove_folder(folder);
}

#endif
