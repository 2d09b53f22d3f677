/* Files through which members of a communicator exchange bytes. The count in shared memory is
 * raised after the whole file is written, so no member reads half a file. */
#include <stdio.h>
#include <stdlib.h>

#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/nccl/communicator.h"
#include "programs/virtual_cuda/nccl/folder.h"
#include "programs/virtual_cuda/nccl/seats_internal.h"

/* A file that is still unread after this many later files or bytes is removed. Gradients have no
 * files. */
enum { KEPT_FILES = TIDE_VC_KEPT_FILES, TO_ALL = -1 };
static const uint64_t KEPT_BYTES = TIDE_VC_KNOWN_BYTES;

static void name_post(char *name, const tide_vc_communicator *comm, uint64_t number, int from) {
    (void)snprintf(name, TIDE_VC_FILE_NAME_BYTES, "nccl-%016llx.%llu.%d",
                   (unsigned long long)comm->key, (unsigned long long)number, from);
}

static void name_message(char *name, const tide_vc_communicator *comm, uint64_t number, int from,
                         int to) {
    (void)snprintf(name, TIDE_VC_FILE_NAME_BYTES, "nccl-%016llx.%llu.%d-%d",
                   (unsigned long long)comm->key, (unsigned long long)number, from, to);
}

/* The number of the pair's count in n_sent and n_dropped. */
static size_t pair_of(const tide_vc_communicator *comm, int from, int to) {
    return (size_t)from * (size_t)comm->n_ranks + (size_t)to;
}

/* Removes the oldest file of a kind. A late read of it is reported as inexact (tide_vc_take,
 * tide_vc_receive). A message that its receiver has read has no file any more, and is not read
 * again. */
static void drop_oldest(tide_vc_communicator *comm, tide_vc_outbox *of) {
    char name[TIDE_VC_FILE_NAME_BYTES];
    const tide_vc_sent *oldest = &of->sent[of->first % KEPT_FILES];
    _Atomic uint64_t *n_dropped = &comm->seats[comm->rank].n_dropped;
    if (oldest->to == TO_ALL) {
        name_post(name, comm, oldest->number, comm->rank);
    } else {
        n_dropped = &comm->n_dropped[pair_of(comm, comm->rank, oldest->to)];
        name_message(name, comm, oldest->number, comm->rank, oldest->to);
    }
    if (atomic_load(n_dropped) <= oldest->number) {
        atomic_store(n_dropped, oldest->number + 1);
    }
    tide_vc_folder_remove(name);
    of->n_bytes -= oldest->n_bytes;
    of->first++;
}

/* Makes room for a file and records it. A large message stays until each member may have one. */
static void note(tide_vc_communicator *comm, uint64_t number, int to, size_t n_bytes) {
    bool is_large = n_bytes > TIDE_VC_LARGE_POST_BYTES;
    size_t n_kept = KEPT_FILES;
    tide_vc_outbox *of = &comm->small;
    if (is_large) {
        of = to == TO_ALL ? &comm->large_posts : &comm->large_messages;
        n_kept = TIDE_VC_LARGE_POSTS + (to == TO_ALL ? 0 : (size_t)comm->n_ranks);
        n_kept = n_kept < KEPT_FILES ? n_kept : KEPT_FILES;
    }
    while (of->end - of->first >= n_kept ||
           (!is_large && of->end > of->first && of->n_bytes + n_bytes > KEPT_BYTES)) {
        drop_oldest(comm, of);
    }
    of->sent[of->end++ % KEPT_FILES] = (tide_vc_sent){number, n_bytes, to};
    of->n_bytes += n_bytes;
}

uint64_t tide_vc_post(tide_vc_communicator *comm, const void *bytes, size_t n_bytes) {
    char name[TIDE_VC_FILE_NAME_BYTES];
    uint64_t number = comm->n_calls++;
    if (comm->seats == NULL) {
        return number;
    }
    if (bytes != NULL) {
        note(comm, number, TO_ALL, n_bytes);
        name_post(name, comm, number, comm->rank);
        (void)tide_vc_folder_write(name, bytes, n_bytes);
    }
    atomic_store(&comm->seats[comm->rank].n_posted, number + 1);
    return number;
}

static tide_vc_given read_post(const char *name, void *to, size_t n_bytes) {
    return tide_vc_folder_read(name, to, n_bytes) ? TIDE_VC_GIVEN : TIDE_VC_GIVEN_NOTHING;
}

tide_vc_given tide_vc_take(tide_vc_communicator *comm, uint64_t number, int from, void *to,
                           size_t n_bytes) {
    char name[TIDE_VC_FILE_NAME_BYTES];
    if (comm->seats == NULL) {
        return tide_vc_is_absent(comm, from) ? TIDE_VC_GIVEN_BY_NOBODY : TIDE_VC_GIVEN_NOTHING;
    }
    switch (tide_vc_seat_wait(comm, from, &comm->seats[from].n_posted, number)) {
    case TIDE_VC_IS_ABSENT:
        return TIDE_VC_GIVEN_BY_NOBODY;
    case TIDE_VC_HAS_ENDED:
        return TIDE_VC_GIVEN_NOTHING;
    case TIDE_VC_HAS_COME:
        break;
    }
    name_post(name, comm, number, from);
    tide_vc_given given = read_post(name, to, n_bytes);
    if (given == TIDE_VC_GIVEN_NOTHING && atomic_load(&comm->seats[from].n_dropped) > number) {
        tide_vc_inexact("late reads", "the result of a collective was read when 4096 others, or 64 "
                                      "MiB of them, had followed; it reads zeros");
    }
    return given;
}

void tide_vc_send(tide_vc_communicator *comm, int to, const void *bytes, size_t n_bytes) {
    char name[TIDE_VC_FILE_NAME_BYTES];
    if (comm->seats == NULL) {
        return;
    }
    _Atomic uint64_t *count = &comm->n_sent[pair_of(comm, comm->rank, to)];
    uint64_t number = atomic_load(count);
    if (bytes != NULL && !tide_vc_is_absent(comm, to)) {
        note(comm, number, to, n_bytes);
        name_message(name, comm, number, comm->rank, to);
        (void)tide_vc_folder_write(name, bytes, n_bytes);
    }
    atomic_store(count, number + 1);
}

uint64_t tide_vc_expect(tide_vc_communicator *comm, int from) {
    return comm->n_received[from]++;
}

tide_vc_given tide_vc_receive(tide_vc_communicator *comm, uint64_t number, int from, void *to,
                              size_t n_bytes) {
    char name[TIDE_VC_FILE_NAME_BYTES];
    if (comm->seats == NULL) {
        return TIDE_VC_GIVEN_NOTHING;
    }
    size_t pair = pair_of(comm, from, comm->rank);
    if (tide_vc_seat_wait(comm, from, &comm->n_sent[pair], number) != TIDE_VC_HAS_COME) {
        return TIDE_VC_GIVEN_NOTHING;
    }
    name_message(name, comm, number, from, comm->rank);
    tide_vc_given given = read_post(name, to, n_bytes);
    tide_vc_folder_remove(name);
    if (given == TIDE_VC_GIVEN_NOTHING && atomic_load(&comm->n_dropped[pair]) > number) {
        tide_vc_inexact("late messages", "a message was read when 4096 others, or 64 MiB of them, "
                                         "had followed; it reads zeros");
    }
    return given;
}

bool tide_vc_wishes(tide_vc_communicator *comm, uint64_t split, tide_vc_wish own,
                    tide_vc_wish *ret_wishes) {
    char name[TIDE_VC_FILE_NAME_BYTES];
    typedef struct told {
        _Atomic uint64_t is_told;
        tide_vc_wish wish;
    } told;
    size_t n_bytes = (size_t)comm->n_ranks * sizeof(told);
    (void)snprintf(name, sizeof(name), "nccl-%016llx.split-%llu", (unsigned long long)comm->key,
                   (unsigned long long)split);
    told *all = comm->seats != NULL ? tide_vc_folder_map(name, n_bytes) : NULL;
    if (all == NULL) {
        return false;
    }
    all[comm->rank].wish = own;
    atomic_store(&all[comm->rank].is_told, 1);
    bool has_all = true;
    for (int i = 0; i < comm->n_ranks && has_all; i++) {
        tide_vc_arrival arrival = tide_vc_seat_wait(comm, i, &all[i].is_told, 0);
        has_all = arrival != TIDE_VC_HAS_ENDED;
        ret_wishes[i] = arrival == TIDE_VC_HAS_COME ? all[i].wish : (tide_vc_wish){-1, 0};
    }
    tide_vc_folder_unmap(all, n_bytes);
    return has_all;
}
