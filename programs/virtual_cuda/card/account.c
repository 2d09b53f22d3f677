#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "programs/virtual_cuda/card/account.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#include "common/assert.h"
#include "common/text/setting.h"
#include "programs/virtual_cuda/card/account_friend.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/process/processes.h"
#include "programs/virtual_cuda/process/run_folder.h"
#include "programs/virtual_cuda/api/status.h"

_Static_assert((int)TIDE_RUN_DEVICES == (int)TIDE_VC_MAX_DEVICES, "a slot has room for all cards");

enum { NAME_BYTES = 64 };

/* This process' part in the run's account. */
static struct account {
    pthread_once_t once;     /* for the next three, constant afterwards */
    tide_run_account *all;   /* its own lock guards what it holds */
    bool is_shared;          /* with other processes; false: a forked child has its own copy */
    atomic_bool is_attached; /* the two above are set */
    int own_slot;            /* in `all`, whose lock guards it; -1: none */
    /* The child of a fork sets the first before it has a second thread. The second is of the
     * thread that forks. */
    bool is_forked_too_late;                    /* from a process that had a context */
    bool is_held_for_fork;                      /* the lock of `all` */
    atomic_uchar contexts[TIDE_VC_MAX_DEVICES]; /* 1: this process has one on the device */
} account = {.once = PTHREAD_ONCE_INIT, .own_slot = -1};

static void make_lock(tide_run_account *of) {
    pthread_mutexattr_t kind;
    (void)pthread_mutexattr_init(&kind);
    (void)pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    (void)pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    (void)pthread_mutex_init(&of->lock, &kind);
    (void)pthread_mutexattr_destroy(&kind);
}

/* Each node of a cluster has its own cards, numbered from 0. */
static const char *name_account(char name[NAME_BYTES]) {
    const char *node = tide_setting(TIDE_RUN_NODE_VARIABLE);
    bool has_node = node != NULL && node[0] != '\0' && strcmp(node, "0") != 0;
    (void)snprintf(name, NAME_BYTES, "%s%s%s", TIDE_RUN_ACCOUNT_NAME, has_node ? "." : "",
                   has_node ? node : "");
    return name;
}

/* Maps the run's account, and creates it if this is the first process. The other processes wait for
 * the file's lock, which a killed process releases. NULL if there is no account. */
static tide_run_account *map_shared(void) {
    void *at = MAP_FAILED;
    char name[NAME_BYTES];
    bool is_allowed = tide_vc_may_reach(sizeof(tide_run_account));
    int file = is_allowed ? tide_vc_run_open(name_account(name), O_RDWR | O_CREAT) : -1;
    if (file < 0) {
        return NULL;
    }
    if (flock(file, LOCK_EX) == 0 && ftruncate(file, (off_t)sizeof(tide_run_account)) == 0) {
        at = mmap(NULL, sizeof(tide_run_account), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    tide_run_account *found = at != MAP_FAILED ? at : NULL;
    if (found != NULL && found->magic != TIDE_RUN_ACCOUNT_MAGIC) {
        make_lock(found);
        found->magic = TIDE_RUN_ACCOUNT_MAGIC;
    }
    (void)flock(file, LOCK_UN); /* closing is not enough: the mapping keeps the open file */
    (void)close(file);
    return found;
}

static void attach(void) {
    static tide_run_account own; /* most of it is never touched */
    account.all = map_shared();
    account.is_shared = account.all != NULL;
    if (account.all == NULL) {
        account.all = &own;
        make_lock(account.all);
        if (tide_vc_has_run_folder()) {
            tide_vc_inexact("account",
                            tide_vc_may_reach(sizeof(*account.all))
                                ? "the run's account could not be opened: this process does not "
                                  "see the memory that others take"
                                : "the run's account of about 1 MiB is larger than files may be "
                                  "here (ulimit -f): this process does not see the memory that "
                                  "others take; allow files of 2 MiB");
        }
    }
    atomic_store(&account.is_attached, true);
}

/* Recomputes each device's total from the slots: a killed holder of the lock may have changed only
 * one of the two. */
static void add_up(void) {
    for (size_t device = 0; device < TIDE_RUN_DEVICES; device++) {
        tide_run_device *of = &account.all->devices[device];
        of->used_bytes = 0;
        of->context_bytes = 0;
        for (size_t i = 0; i < account.all->n_slots; i++) {
            if (account.all->processes[i].pid != 0) {
                of->used_bytes += account.all->processes[i].used_bytes[device];
                of->context_bytes += account.all->processes[i].context_bytes[device];
            }
        }
    }
}

tide_run_account *tide_vc_account_lock(void) {
    pthread_once(&account.once, attach);
    if (pthread_mutex_lock(&account.all->lock) == EOWNERDEAD) {
        add_up();
        (void)pthread_mutex_consistent(&account.all->lock);
    }
    return account.all;
}

void tide_vc_account_unlock(void) {
    (void)pthread_mutex_unlock(&account.all->lock);
}

int tide_vc_account_slot(void) {
    return account.own_slot;
}

bool tide_vc_account_is_shared(void) {
    pthread_once(&account.once, attach);
    return account.is_shared;
}

/* The account is not created here, because that would need the locks that the fork holds. */
void tide_vc_account_before_fork(void) {
    account.is_held_for_fork = atomic_load(&account.is_attached);
    if (account.is_held_for_fork) {
        (void)tide_vc_account_lock();
    }
}

void tide_vc_account_in_parent(void) {
    if (account.is_held_for_fork) {
        tide_vc_account_unlock();
    }
}

/* ThreadSanitizer takes the thread that continues in the child for the one that holds the lock. */
static void forget_lock(pthread_mutex_t *lock) {
#if defined(__SANITIZE_THREAD__)
    __tsan_mutex_pre_unlock(lock, 0);
    __tsan_mutex_post_unlock(lock, 0);
#endif
    (void)lock;
}

/* The child is a new process without a slot. The parent releases the lock of a shared account; the
 * lock of a copy has no owner. */
void tide_vc_account_in_child(void) {
    account.is_forked_too_late = account.is_forked_too_late || account.own_slot >= 0;
    account.own_slot = -1;
    for (size_t i = 0; i < TIDE_VC_MAX_DEVICES; i++) {
        atomic_store(&account.contexts[i], 0);
    }
    if (account.is_held_for_fork && !account.is_shared) {
        make_lock(account.all);
    } else if (account.is_held_for_fork) {
        forget_lock(&account.all->lock);
    }
}

void tide_vc_account_reap(void) {
    bool is_less = false;
    for (uint32_t i = 0; i < account.all->n_slots; i++) {
        tide_run_process *of = &account.all->processes[i];
        if (of->pid == 0 || (int)i == account.own_slot ||
            tide_vc_is_alive(of->pid, of->start_ticks)) {
            continue;
        }
        for (size_t k = 0; k < account.all->n_exports; k++) {
            account.all->exports[k].id =
                account.all->exports[k].slot == i ? 0 : account.all->exports[k].id;
        }
        of->pid = 0;
        is_less = true;
    }
    if (is_less) {
        add_up();
    }
}

/* The lock is held. False: living processes use all slots. */
static bool take_slot(void) {
    tide_vc_account_reap();
    uint32_t i = 0;
    while (i < account.all->n_slots && account.all->processes[i].pid != 0) {
        i++;
    }
    if (i == TIDE_RUN_PROCESSES) {
        return false;
    }
    TIDE_ASSERT(account.own_slot < 0 && i <= account.all->n_slots);
    tide_run_process *of = &account.all->processes[i];
    memset(of, 0, sizeof(*of));
    of->start_ticks = tide_vc_start_ticks((uint32_t)getpid());
    of->pid = (uint32_t)getpid();
    account.all->n_slots = i == account.all->n_slots ? i + 1 : account.all->n_slots;
    account.own_slot = (int)i;
    return true;
}

/* Changes the memory in use of this process and its device; the lock is held. */
static bool take(int device, uint64_t n_bytes, uint64_t context_bytes) {
    int number = tide_vc_card_of(device)->number;
    uint64_t total = tide_vc_card_of(device)->total_bytes;
    uint64_t capacity = total + tide_vc_card_of(device)->spill_bytes;
    tide_run_device *of = &account.all->devices[number];
    /* A peak must not count memory of processes that have ended. */
    if (of->used_bytes + n_bytes > of->peak_bytes || of->used_bytes > capacity ||
        n_bytes > capacity - of->used_bytes) {
        tide_vc_account_reap();
    }
    if (of->used_bytes > capacity || n_bytes > capacity - of->used_bytes) {
        of->n_refused++;
        of->refused_bytes = n_bytes;
        return false;
    }
    TIDE_ASSERT(account.own_slot >= 0 && (uint32_t)account.own_slot < account.all->n_slots);
    tide_run_process *own = &account.all->processes[account.own_slot];
    own->used_bytes[number] += n_bytes;
    own->context_bytes[number] += context_bytes;
    of->n_spilled += of->used_bytes + n_bytes > total ? 1 : 0;
    of->used_bytes += n_bytes;
    of->context_bytes += context_bytes;
    if (own->used_bytes[number] > own->peak_bytes[number]) {
        own->peak_bytes[number] = own->used_bytes[number];
    }
    TIDE_ASSERT(own->used_bytes[number] <= of->used_bytes && of->used_bytes <= capacity);
    if (of->used_bytes > of->peak_bytes) {
        of->peak_bytes = of->used_bytes;
        of->peak_context_bytes = of->context_bytes;
    }
    return true;
}

enum { TOO_MANY = -1 }; /* processes */

/* The lock is held. */
static int make_context(int device) {
    const tide_vc_card *card = tide_vc_card_of(device);
    if (atomic_load(&account.contexts[device]) != 0) {
        return TIDE_VC_OK;
    }
    if (device >= tide_vc_n_devices()) {
        return TIDE_VC_NO_DEVICE; /* none is visible */
    }
    if (account.is_forked_too_late) {
        return TIDE_VC_INITIALIZATION;
    }
    if (account.own_slot < 0 && !take_slot()) {
        return TOO_MANY;
    }
    tide_run_device *of = &account.all->devices[card->number];
    of->total_bytes = card->total_bytes;
    of->spill_bytes = card->spill_bytes;
    if (!take(device, card->context_bytes, card->context_bytes)) {
        return TIDE_VC_MEMORY;
    }
    of->n_contexts++;
    account.all->processes[account.own_slot].has_context[card->number] = 1;
    atomic_store(&account.contexts[device], 1);
    return TIDE_VC_OK;
}

bool tide_vc_has_context(int device) {
    return atomic_load_explicit(&account.contexts[device], memory_order_relaxed) != 0;
}

void tide_vc_count_launches(int device, uint64_t n) {
    pthread_once(&account.once, attach);
    int number = tide_vc_card_of(device)->number;
    (void)__atomic_fetch_add(&account.all->devices[number].n_launches, n, __ATOMIC_RELAXED);
}

int tide_vc_charge(int device, uint64_t n_bytes) {
    (void)tide_vc_account_lock();
    int status = make_context(device);
    if (status == TIDE_VC_OK && n_bytes > 0 && !take(device, n_bytes, 0)) {
        status = TIDE_VC_MEMORY;
    }
    tide_vc_account_unlock();
    if (status == TOO_MANY) {
        tide_vc_refused("account", "more than 512 processes of a run use its cards");
        return TIDE_VC_OPERATING_SYSTEM; /* not TIDE_VC_MEMORY: the card may have room */
    }
    return status;
}

int tide_vc_context(int device) {
    return tide_vc_has_context(device) ? TIDE_VC_OK : tide_vc_charge(device, 0);
}

/* In a forked child nothing is refunded: the memory is the parent's, who still has it. */
void tide_vc_refund(int device, uint64_t n_bytes) {
    (void)tide_vc_account_lock();
    if (account.own_slot >= 0) {
        int number = tide_vc_card_of(device)->number;
        TIDE_ASSERT(account.all->processes[account.own_slot].used_bytes[number] >= n_bytes);
        TIDE_ASSERT(account.all->devices[number].used_bytes >= n_bytes);
        account.all->processes[account.own_slot].used_bytes[number] -= n_bytes;
        account.all->devices[number].used_bytes -= n_bytes;
    }
    tide_vc_account_unlock();
}

uint64_t tide_vc_used_bytes(const tide_vc_card *card) {
    (void)tide_vc_account_lock();
    tide_vc_account_reap();
    uint64_t n_bytes = account.all->devices[card->number].used_bytes;
    tide_vc_account_unlock();
    return n_bytes < card->total_bytes ? n_bytes : card->total_bytes;
}

uint64_t tide_vc_free_bytes(const tide_vc_card *card) {
    uint64_t free_bytes = card->total_bytes - tide_vc_used_bytes(card);
    uint64_t host_bytes = card->card->shares_host ? tide_vc_host_bytes() : 0;
    return free_bytes > host_bytes ? free_bytes - host_bytes : 0;
}

size_t tide_vc_processes(const tide_vc_card *card, tide_vc_process *ret_processes, size_t n_room) {
    size_t n = 0;
    (void)tide_vc_account_lock();
    tide_vc_account_reap();
    for (size_t i = 0; i < account.all->n_slots; i++) {
        const tide_run_process *of = &account.all->processes[i];
        if (of->pid == 0 || of->has_context[card->number] == 0) {
            continue;
        }
        if (n < n_room) {
            ret_processes[n] = (tide_vc_process){of->pid, of->used_bytes[card->number]};
        }
        n++;
    }
    tide_vc_account_unlock();
    return n;
}
