#define _POSIX_C_SOURCE 200809L /* getpid */
#include "programs/virtual_cuda/nccl/seats_internal.h"

#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/nccl/job.h"
#include "programs/virtual_cuda/process/processes.h"

#define MS_NS UINT64_C(1000000)

enum {
    BRIEFLY_MS = 20,     /* the waiting thread polls often for this long */
    GRACE_MS = 2000,     /* for members that may not run */
    TELL_MS = 60000,     /* then the user is shown what the wait is for */
    GIVE_UP_MS = 600000, /* the default of PyTorch's own watchdog */
    LOOK_AT_PROCESS_MS = 50
};

void tide_vc_seat_take(tide_vc_seat *seat) {
    atomic_store(&seat->start_ticks, tide_vc_start_ticks((uint32_t)getpid()));
    atomic_store(&seat->pid, (uint32_t)getpid());
}

static bool has_ended(const tide_vc_seat *seat) {
    uint32_t pid = atomic_load(&seat->pid);
    return pid != 0 && !tide_vc_is_alive(pid, atomic_load(&seat->start_ticks));
}

static void tell(const tide_vc_communicator *comm, int member) {
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "Member %d of a communicator of %d waits for member %d, which has not called a "
                   "collective for %d seconds.",
                   comm->rank, comm->n_ranks, member, TELL_MS / 1000);
    tide_vc_say(text);
}

static void pause_for(uint64_t waited_ms) {
    tide_clock_pause_ns((int64_t)(waited_ms < BRIEFLY_MS ? MS_NS / 10 : MS_NS));
}

/* Whether all ranks that run are members and have arrived: then the others do not run. */
static bool have_all_come(const tide_vc_communicator *comm) {
    size_t n_come = 0;
    for (int i = 0; i < comm->n_ranks; i++) {
        n_come += atomic_load(&comm->seats[i].pid) != 0;
    }
    return n_come >= tide_vc_job_n_present();
}

/* Whether the grace period of all members that have not arrived is over. */
static bool have_had_time(tide_vc_communicator *comm) {
    uint64_t now_ns = (uint64_t)tide_clock_now_ns();
    uint64_t since_ns = 0;
    if (atomic_compare_exchange_strong(&comm->missing_since_ns, &since_ns, now_ns)) {
        return false;
    }
    return now_ns >= since_ns + GRACE_MS * MS_NS;
}

/* Whether a member that has not arrived seems not to run, if the members' ranks of the world are
 * unknown. */
static bool seems_absent(tide_vc_communicator *comm, int member) {
    if (!tide_vc_job_has_absent() || comm->members != NULL ||
        atomic_load(&comm->seats[member].pid) != 0) {
        return false;
    }
    if (have_all_come(comm)) {
        return true;
    }
    if (!have_had_time(comm)) {
        return false;
    }
    tide_vc_inexact("members",
                    "which ranks of the world a communicator has is not known: members that did "
                    "not come within 2 s were taken as ranks that do not run");
    return true;
}

tide_vc_arrival tide_vc_seat_wait(tide_vc_communicator *comm, int member,
                                  const _Atomic uint64_t *count, uint64_t number) {
    const tide_vc_seat *seat = &comm->seats[member];
    uint64_t begin_ns = (uint64_t)tide_clock_now_ns();
    uint64_t looked_ms = 0;
    bool is_told = false;
    if (tide_vc_is_absent(comm, member)) {
        return TIDE_VC_IS_ABSENT;
    }
    while (atomic_load(count) <= number) {
        uint64_t waited_ms = ((uint64_t)tide_clock_now_ns() - begin_ns) / MS_NS;
        if (seems_absent(comm, member)) {
            return TIDE_VC_IS_ABSENT;
        }
        if (waited_ms >= looked_ms + LOOK_AT_PROCESS_MS) {
            looked_ms = waited_ms;
            if (waited_ms >= GIVE_UP_MS || (has_ended(seat) && atomic_load(count) <= number)) {
                tide_vc_inexact("an ended rank",
                                "a rank read what another should have given, which had "
                                "ended or did not come; it reads zeros");
                return TIDE_VC_HAS_ENDED;
            }
        }
        if (waited_ms >= TELL_MS && !is_told) {
            tell(comm, member);
            is_told = true;
        }
        pause_for(waited_ms);
    }
    return TIDE_VC_HAS_COME;
}
