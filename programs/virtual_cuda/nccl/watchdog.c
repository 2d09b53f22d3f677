#define _GNU_SOURCE /* dlvsym */
#include "programs/virtual_cuda/nccl/watchdog.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "common/clock.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/order/order.h"
#include "programs/virtual_cuda/process/program_clock.h"

static const char NAME[] = "pt_nccl_watchdg";

enum { MAX_WATCHDOGS = 64, NAME_BYTES = 16, LOOK_AGAIN_NS = 20000 };
#define WAIT_NS INT64_C(2000000000)
#define IDLE_NS INT64_C(3000000000) /* without a launch: the program itself waits */
enum { MAX_LATE = 3 };              /* timeouts after which no call waits any more */
#define SKIP_NS INT64_C(1000000000)

/* One thread. A group of processes has one each. */
typedef struct watchdog {
    atomic_bool is_there;
    atomic_bool is_asked;      /* to look immediately */
    atomic_uint n_arrivals;    /* at its wait: the number of its looks is one less */
    pthread_cond_t *condition; /* that it waits on */
    unsigned n_launches;       /* the process' count when this thread last saw it grow */
    int64_t seen_ns;
} watchdog;

typedef int timed_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                       const struct timespec *until);

/* Of this process. Threads share only the atomic members. */
static struct watch {
    watchdog watchdogs[MAX_WATCHDOGS];
    atomic_bool has_work;         /* a collective was called that no watchdog has seen yet */
    atomic_int n_late;            /* calls for which a watchdog did not look in time */
    atomic_uint n_launches;       /* of kernels, so far */
    atomic_bool has_steps;        /* the program has reported one */
    atomic_bool is_between_steps; /* a watchdog may see completed work */
    pthread_once_t once;          /* for the two below, which are constant afterwards */
    pthread_key_t ending;         /* the thread's watchdog; calls leave at its end */
    timed_wait *real_wait;        /* the C library's; NULL: not found */
} watch = {.once = PTHREAD_ONCE_INIT};

/* The next look at each clock finds the wait over. A wait until a time of the steady clock is
 * implemented as a wait until a time of the system's, and asks both. */
static _Thread_local struct watching {
    bool is_steady_over, is_system_over;
    bool is_looked_at; /* whether this thread is a watchdog was found out */
    watchdog *own;     /* NULL: it is none */
} watching;

static void leave(void *value) {
    watchdog *of = value;
    atomic_store(&of->is_there, false);
}

static void prepare(void) {
    void *found = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2"); /* the newer one */
    if (found == NULL) { /* newer processors have only one version */
        found = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    }
    memcpy(&watch.real_wait, &found, sizeof(watch.real_wait));
    (void)pthread_key_create(&watch.ending, leave);
}

/* The calling thread's entry, if it is a watchdog. A thread has its name before it waits. */
static watchdog *find_own(void) {
    char name[NAME_BYTES] = "";
    if (watching.is_looked_at) {
        return watching.own;
    }
    watching.is_looked_at = true;
    if (prctl(PR_GET_NAME, name) != 0 || strcmp(name, NAME) != 0) {
        return NULL;
    }
    for (size_t i = 0; i < MAX_WATCHDOGS && watching.own == NULL; i++) {
        bool is_free = false;
        if (atomic_compare_exchange_strong(&watch.watchdogs[i].is_there, &is_free, true)) {
            watching.own = &watch.watchdogs[i];
            (void)pthread_setspecific(watch.ending, watching.own);
        }
    }
    return watching.own;
}

TIDE_VC_EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                          const struct timespec *until) {
    struct timespec room;
    pthread_once(&watch.once, prepare);
    if (watch.real_wait == NULL) {
        return ENOSYS;
    }
    watchdog *of = find_own();
    until = tide_vc_clock_real_until(tide_vc_clock_of_time(until), until, &room);
    if (of == NULL) {
        return watch.real_wait(condition, mutex, until);
    }
    of->condition = condition;
    watching.is_steady_over = watching.is_system_over = false;
    atomic_fetch_add(&of->n_arrivals, 1);
    int status = watch.real_wait(condition, mutex, until);
    if (atomic_exchange(&of->is_asked, false)) {
        watching.is_steady_over = watching.is_system_over = true;
        return ETIMEDOUT;
    }
    return status;
}

static int64_t read_clock(clockid_t clock, bool *is_over) {
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    int64_t now_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec + (*is_over ? SKIP_NS : 0);
    *is_over = false;
    return now_ns;
}

/* std::chrono's clocks. A wait asks them whether its time is over. */
int64_t tide_vc_steady_now(void) __asm__("_ZNSt6chrono3_V212steady_clock3nowEv");
TIDE_VC_EXPORT int64_t tide_vc_steady_now(void) {
    return read_clock(CLOCK_MONOTONIC, &watching.is_steady_over);
}

int64_t tide_vc_system_now(void) __asm__("_ZNSt6chrono3_V212system_clock3nowEv");
TIDE_VC_EXPORT int64_t tide_vc_system_now(void) {
    return read_clock(CLOCK_REALTIME, &watching.is_system_over);
}

void tide_vc_watchdog_has_work(void) {
    atomic_store(&watch.has_work, true);
}

/* Whether the program itself is waiting: at its end it waits for its watchdog. */
static bool is_idle(watchdog *of) {
    unsigned now = atomic_load(&watch.n_launches);
    int64_t now_ns = tide_clock_now_ns();
    if (now != of->n_launches) {
        of->n_launches = now;
        of->seen_ns = now_ns;
    }
    return now_ns - of->seen_ns >= IDLE_NS;
}

bool tide_vc_watchdog_is_held(void) {
    watchdog *of = tide_vc_is_late() ? find_own() : NULL;
    return of != NULL && atomic_load(&watch.has_steps) && !atomic_load(&watch.is_between_steps) &&
           !is_idle(of);
}

/* Whether the watchdog has looked at everything since the call began. It may have been in the
 * middle of a look, so only the second arrival counts. */
static bool wait_for(watchdog *of) {
    unsigned begin = atomic_load(&of->n_arrivals);
    int64_t end_ns = tide_clock_now_ns() + WAIT_NS;
    while (atomic_load(&of->is_there) && tide_clock_now_ns() < end_ns) {
        if (atomic_load(&of->n_arrivals) - begin >= 2) {
            return true;
        }
        atomic_store(&of->is_asked, true);
        if (of->condition != NULL) {
            (void)pthread_cond_broadcast(of->condition);
        }
        tide_clock_pause_ns(LOOK_AGAIN_NS);
    }
    return !atomic_load(&of->is_there);
}

static void let_look(void) {
    if (!atomic_exchange(&watch.has_work, false) || atomic_load(&watch.n_late) >= MAX_LATE) {
        return;
    }
    bool has_looked = true;
    for (size_t i = 0; i < MAX_WATCHDOGS; i++) {
        if (atomic_load(&watch.watchdogs[i].is_there)) {
            has_looked = wait_for(&watch.watchdogs[i]) && has_looked;
        }
    }
    if (!has_looked) {
        atomic_fetch_add(&watch.n_late, 1);
        tide_vc_inexact("watchdog", "PyTorch's watchdog of NCCL did not look when it was asked to: "
                                    "what collectives hold may be freed later than it could be");
    }
}

void tide_vc_watchdog_settle(void) {
    atomic_fetch_add_explicit(&watch.n_launches, 1, memory_order_relaxed);
    if (atomic_load_explicit(&watch.has_work, memory_order_relaxed) && !tide_vc_is_late()) {
        let_look();
    }
}

TIDE_VC_EXPORT void tidemark_ranks_step(void) {
    if (tide_vc_is_late()) {
        atomic_store(&watch.is_between_steps, true);
        atomic_store(&watch.has_steps, true);
        let_look();
        atomic_store(&watch.is_between_steps, false);
    }
}
