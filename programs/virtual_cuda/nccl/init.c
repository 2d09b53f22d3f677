/* init.c - NCCL's functions that make communicators, split them and report on them. Only a split
 * waits for the other members, because its result depends on them. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/nccl/charges.h"
#include "programs/virtual_cuda/nccl/communicator.h"
#include "programs/virtual_cuda/nccl/job.h"
#include "programs/virtual_cuda/nccl/ledger.h"
#include "programs/virtual_cuda/process/run_folder.h"

enum { OK = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 }; /* ncclResult_t */
enum { NO_COLOR = -1 };

/* The runtime's own functions, which this object also defines. */
int cudaMalloc(void **ret_address, size_t n_bytes);
int cudaFree(void *address);

typedef tide_vc_communicator communicator;

TIDE_VC_EXPORT int ncclGetUniqueId(tide_vc_unique_id *ret_id);
TIDE_VC_EXPORT int ncclCommInitRank(communicator **ret_comm, int n_ranks, tide_vc_unique_id id,
                                    int rank);
TIDE_VC_EXPORT int ncclCommInitRankConfig(communicator **ret_comm, int n_ranks,
                                          tide_vc_unique_id id, int rank, void *config);
TIDE_VC_EXPORT int ncclCommInitRankScalable(communicator **ret_comm, int n_ranks, int rank,
                                            int n_ids, const tide_vc_unique_id *ids, void *config);
TIDE_VC_EXPORT int ncclCommInitAll(communicator **ret_comms, int n_devices, const int *devices);
TIDE_VC_EXPORT int ncclCommSplit(communicator *comm, int color, int key, communicator **ret_comm,
                                 void *config);
TIDE_VC_EXPORT int ncclCommShrink(communicator *comm, const int *excluded, int n_excluded,
                                  communicator **ret_comm, void *config, int flags);
TIDE_VC_EXPORT int ncclCommDestroy(communicator *comm);
TIDE_VC_EXPORT int ncclCommAbort(communicator *comm);
TIDE_VC_EXPORT int ncclCommCount(const communicator *comm, int *ret_count);
TIDE_VC_EXPORT int ncclCommUserRank(const communicator *comm, int *ret_rank);
TIDE_VC_EXPORT int ncclCommCuDevice(const communicator *comm, int *ret_device);
TIDE_VC_EXPORT int ncclMemAlloc(void **ret_address, size_t n_bytes);
TIDE_VC_EXPORT int ncclMemFree(void *address);

/* Different in every process and at every call. */
int ncclGetUniqueId(tide_vc_unique_id *ret_id) {
    static _Atomic unsigned n_made;
    struct timespec now = {0};
    if (ret_id == NULL) {
        return INVALID_ARGUMENT;
    }
    memset(ret_id, 0, sizeof(*ret_id));
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(ret_id->bytes, sizeof(ret_id->bytes), "tidemark %ld %u %lld.%09ld",
                   (long)getpid(), ++n_made, (long long)now.tv_sec, now.tv_nsec);
    return OK;
}

static int create(communicator **ret_comm, const tide_vc_communicator_plan *plan) {
    communicator *made = tide_vc_communicator_create(plan);
    if (made == NULL) {
        return SYSTEM_ERROR;
    }
    *ret_comm = made;
    return OK;
}

/* An ncclConfig_t, which contains its own length; older ones end before the name. */
enum { MAGIC_AT = 8, LEAST_AT = 24, MOST_AT = 28, NAME_AT = 48 }; /* nccl.h, from 2.27 on */

static bool has_field(const void *config, size_t at, size_t n_bytes) {
    size_t n_all = 0;
    uint32_t magic = 0;
    if (config == NULL) {
        return false;
    }
    memcpy(&n_all, config, sizeof(n_all));
    memcpy(&magic, (const char *)config + MAGIC_AT, sizeof(magic));
    return magic == UINT32_C(0xcafebeef) && n_all >= at + n_bytes;
}

static const char *name_of(const void *config) {
    const char *name = NULL;
    if (has_field(config, NAME_AT, sizeof(name))) {
        memcpy(&name, (const char *)config + NAME_AT, sizeof(name));
    }
    return name;
}

/* minCTAs or maxCTAs; 0: not set. */
static int channels_of(const void *config, size_t at) {
    int n = 0;
    if (has_field(config, at, sizeof(n))) {
        memcpy(&n, (const char *)config + at, sizeof(n));
    }
    return n > 0 ? n : 0;
}

/* Members in several processes find each other in the run's folder. */
static int join(const char *call, communicator **ret_comm, int n_ranks, int rank,
                const tide_vc_unique_id *id, const void *config) {
    const char *name = name_of(config);
    if (ret_comm == NULL || id == NULL || rank < 0 || rank >= n_ranks) {
        return INVALID_ARGUMENT;
    }
    if (n_ranks > 1 && !tide_vc_has_run_folder()) {
        tide_vc_refused(call,
                        "ranks in several processes find each other only under `tidemark run`");
        return INVALID_USAGE;
    }
    return create(ret_comm,
                  &(tide_vc_communicator_plan){.rank = rank,
                                               .n_ranks = n_ranks,
                                               .device = tide_vc_device(),
                                               .key = tide_vc_key(0, id, sizeof(*id)),
                                               .members = tide_vc_job_members(n_ranks, rank, name),
                                               .name = name,
                                               .is_configured = config != NULL,
                                               .least_channels = channels_of(config, LEAST_AT),
                                               .most_channels = channels_of(config, MOST_AT)});
}

int ncclCommInitRank(communicator **ret_comm, int n_ranks, tide_vc_unique_id id, int rank) {
    return join("ncclCommInitRank", ret_comm, n_ranks, rank, &id, NULL);
}

int ncclCommInitRankConfig(communicator **ret_comm, int n_ranks, tide_vc_unique_id id, int rank,
                           void *config) {
    return join("ncclCommInitRankConfig", ret_comm, n_ranks, rank, &id, config);
}

/* Every member has the same ids, so the first is enough. */
int ncclCommInitRankScalable(communicator **ret_comm, int n_ranks, int rank, int n_ids,
                             const tide_vc_unique_id *ids, void *config) {
    return join("ncclCommInitRankScalable", ret_comm, n_ranks, rank, n_ids > 0 ? ids : NULL,
                config);
}

int ncclCommInitAll(communicator **ret_comms, int n_devices, const int *devices) {
    tide_vc_unique_id id;
    if (ret_comms == NULL || n_devices < 1) {
        return INVALID_ARGUMENT;
    }
    (void)ncclGetUniqueId(&id);
    for (int i = 0; i < n_devices; i++) {
        int status = create(&ret_comms[i],
                            &(tide_vc_communicator_plan){.rank = i,
                                                         .n_ranks = n_devices,
                                                         .device = devices != NULL ? devices[i] : i,
                                                         .key = tide_vc_key(0, &id, sizeof(id))});
        if (status != OK) {
            return status;
        }
    }
    return OK;
}

/* ---- splits ---- */

/* A child of a communicator: the members that `is_in` names, in the order of their keys. */
typedef struct child {
    const void *config; /* an ncclConfig_t; NULL: that of the parent */
    uint64_t key;
    int rank, n_ranks;
} child;

static uint64_t child_key(const communicator *comm, uint64_t number, int color) {
    uint64_t key = tide_vc_key(0, &comm->key, sizeof(comm->key));
    key = tide_vc_key(key, &number, sizeof(number));
    return tide_vc_key(key, &color, sizeof(color));
}

/* The place of this member among those of its colour; ties are resolved by the old rank. */
static child place(const communicator *comm, const tide_vc_wish *wishes) {
    tide_vc_wish own = wishes[comm->rank];
    child found = {0};
    for (int i = 0; i < comm->n_ranks; i++) {
        if (wishes[i].color == own.color) {
            found.n_ranks++;
            found.rank += wishes[i].key < own.key || (wishes[i].key == own.key && i < comm->rank);
        }
    }
    return found;
}

/* Ranks that do not run post no wish: then the members of the child are those of the group that the
 * program announced. */
static bool place_announced(const tide_vc_wish *own, const char *name, child *ret_child,
                            int64_t **ret_members) {
    int n = 0;
    int64_t *members = tide_vc_job_split(own->key, name, &n);
    if (members == NULL) {
        return false;
    }
    *ret_child = (child){.rank = own->key, .n_ranks = n};
    *ret_members = members;
    return true;
}

/* Without a configuration, the child has its parent's (ncclCommInitChildComm of init.cc). */
static int make_child(const communicator *comm, child of, int64_t *members,
                      communicator **ret_comm) {
    const char *name = name_of(of.config);
    tide_vc_communicator_plan plan = {.rank = of.rank,
                                      .n_ranks = of.n_ranks,
                                      .device = comm->device,
                                      .is_configured = comm->is_configured,
                                      .least_channels = comm->least_channels,
                                      .most_channels = comm->most_channels,
                                      .key = of.key,
                                      .members = members,
                                      .name = name};
    if (of.config != NULL) {
        plan.least_channels = channels_of(of.config, LEAST_AT);
        plan.most_channels = channels_of(of.config, MOST_AT);
    }
    if (members == NULL && of.n_ranks > 1) {
        plan.members = tide_vc_job_members(of.n_ranks, of.rank, name);
    }
    return create(ret_comm, &plan);
}

static int split_among_absent(communicator *comm, uint64_t number, tide_vc_wish own,
                              const void *config, communicator **ret_comm) {
    child of = {0};
    int64_t *members = NULL;
    if (own.color == NO_COLOR) {
        *ret_comm = NULL;
        return OK;
    }
    if (!place_announced(&own, name_of(config), &of, &members)) {
        tide_vc_refused("ncclCommSplit",
                        "ranks that do not run should take part, and no process group says which; "
                        "run all ranks, or leave device_id out of init_process_group");
        return INVALID_USAGE;
    }
    of.key = child_key(comm, number, own.color);
    of.config = config;
    return make_child(comm, of, members, ret_comm);
}

static int split_among_all(communicator *comm, uint64_t number, tide_vc_wish own,
                           const void *config, communicator **ret_comm) {
    tide_vc_wish *wishes = calloc((size_t)comm->n_ranks, sizeof(*wishes));
    if (wishes == NULL) {
        return SYSTEM_ERROR;
    }
    wishes[comm->rank] = own;
    bool has_all = comm->n_ranks == 1 || tide_vc_wishes(comm, number, own, wishes);
    child of = place(comm, wishes);
    free(wishes);
    if (!has_all) {
        tide_vc_refused("ncclCommSplit", "a member of the communicator has ended or has not come");
        return INVALID_USAGE;
    }
    of.key = child_key(comm, number, own.color);
    of.config = config;
    *ret_comm = NULL;
    return own.color == NO_COLOR ? OK : make_child(comm, of, NULL, ret_comm);
}

int ncclCommSplit(communicator *comm, int color, int key, communicator **ret_comm, void *config) {
    tide_vc_wish own = {color, key};
    if (comm == NULL || ret_comm == NULL) {
        return INVALID_ARGUMENT;
    }
    uint64_t number = comm->n_splits++;
    return tide_vc_job_has_absent() && comm->n_ranks > 1
               ? split_among_absent(comm, number, own, config, ret_comm)
               : split_among_all(comm, number, own, config, ret_comm);
}

static bool is_among(int rank, const int *ranks, int n) {
    for (int i = 0; i < n; i++) {
        if (ranks[i] == rank) {
            return true;
        }
    }
    return false;
}

/* All members exclude the same ranks, so no exchange is needed. */
int ncclCommShrink(communicator *comm, const int *excluded, int n_excluded, communicator **ret_comm,
                   void *config, int flags) {
    (void)flags;
    if (comm == NULL || ret_comm == NULL || excluded == NULL || n_excluded < 1 ||
        is_among(comm->rank, excluded, n_excluded)) {
        return INVALID_ARGUMENT;
    }
    child of = {.config = config, .key = child_key(comm, comm->n_splits++, n_excluded)};
    for (int i = 0; i < comm->n_ranks; i++) {
        if (!is_among(i, excluded, n_excluded)) {
            of.rank += i < comm->rank;
            of.n_ranks++;
        }
    }
    return make_child(comm, of, NULL, ret_comm);
}

/* ---- the end, and queries ---- */

int ncclCommDestroy(communicator *comm) {
    if (comm != NULL) {
        tide_vc_ledger_close(comm);
        tide_vc_charges_end(comm);
        tide_vc_communicator_drop(comm);
    }
    return OK;
}

int ncclCommAbort(communicator *comm) {
    return ncclCommDestroy(comm);
}

static int tell(const communicator *comm, int figure, int *ret_figure) {
    if (comm == NULL || ret_figure == NULL) {
        return INVALID_ARGUMENT;
    }
    *ret_figure = figure;
    return OK;
}

int ncclCommCount(const communicator *comm, int *ret_count) {
    return tell(comm, comm != NULL ? comm->n_ranks : 0, ret_count);
}

int ncclCommUserRank(const communicator *comm, int *ret_rank) {
    return tell(comm, comm != NULL ? comm->rank : 0, ret_rank);
}

int ncclCommCuDevice(const communicator *comm, int *ret_device) {
    return tell(comm, comm != NULL ? comm->device : 0, ret_device);
}

int ncclMemAlloc(void **ret_address, size_t n_bytes) {
    return cudaMalloc(ret_address, n_bytes) == 0 ? OK : 1;
}

int ncclMemFree(void *address) {
    return cudaFree(address) == 0 ? OK : 1;
}
