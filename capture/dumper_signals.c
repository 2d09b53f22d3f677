/* dumper_signals.c - how signals, exit and abort reach the dumpers of the process. A handler only
 * wakes their threads, because hardly anything is safe in a handler; the one for abort also waits
 * for them for a while, because the process ends when it returns. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/dumper_internal.h"
#include "common/assert.h"
#include "common/clock.h"

enum {
    MAX_DUMPERS = 16,
    MAX_SIGNAL = 64,
    POLL_MS = 2,
    /* How long a process that ends waits. The aborting thread may hold a lock that the copy needs,
     * so without a limit it could wait for ever. */
    COPY_PATIENCE_MS = 3000,
    WRITE_PATIENCE_MS = 60000
};

/* The state of the process: a signal handler gets no argument from us, so it must find the state
 * here. */
static struct {
    _Atomic(tide_dumper *) dumpers[MAX_DUMPERS]; /* NULL: free */
    atomic_int n_inside;                         /* handlers that may be using one of them */
    pthread_mutex_t lock;                        /* guards everything below */
    struct sigaction before[MAX_SIGNAL + 1];     /* the signal's action before ours */
    int n_users[MAX_SIGNAL + 1];                 /* dumpers that listen to the signal */
    bool hears_exit;                             /* stays true: atexit cannot be undone */
} slots = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void wake_for_signal(int number) {
    int error_number = errno;
    atomic_fetch_add(&slots.n_inside, 1);
    for (size_t i = 0; i < MAX_DUMPERS; i++) {
        tide_dumper *dumper = atomic_load(&slots.dumpers[i]);
        if (dumper != NULL && dumper->config.signal_number == number) {
            atomic_fetch_add(&dumper->n_signals, 1);
            (void)sem_post(&dumper->wake); /* fails only when full, and then the thread is awake */
        }
    }
    atomic_fetch_sub(&slots.n_inside, 1);
    errno = error_number;
}

/* Waits until the dumper's thread has written, or makes no progress. Polls, because waiting on a
 * condition is not safe in a handler. */
static void await_last(tide_dumper *dumper) {
    long waited_ms = 0;
    int seen = TIDE_LAST_ASKED;
    for (;;) {
        int state = atomic_load(&dumper->last);
        waited_ms = state == seen ? waited_ms + POLL_MS : 0;
        seen = state;
        long patience_ms = state == TIDE_LAST_COPIES ? COPY_PATIENCE_MS : WRITE_PATIENCE_MS;
        if (state == TIDE_LAST_DONE || waited_ms > patience_ms) {
            return;
        }
        tide_clock_pause_ns(POLL_MS * INT64_C(1000000));
    }
}

/* Takes the last snapshots of a process that ends. Skips a dumper whose own thread this is, which
 * would wait for itself, and a dumper of the parent of a fork, whose thread does not exist here. */
static void take_last(bool is_abort) {
    atomic_fetch_add(&slots.n_inside, 1);
    for (size_t i = 0; i < MAX_DUMPERS; i++) {
        tide_dumper *dumper = atomic_load(&slots.dumpers[i]);
        int none = TIDE_LAST_NONE;
        if (dumper == NULL || dumper->process != getpid() ||
            pthread_equal(pthread_self(), dumper->thread) != 0 ||
            !(is_abort ? dumper->config.on_abort : dumper->config.on_exit)) {
            continue;
        }
        atomic_store(&dumper->is_abort, is_abort);
        if (atomic_compare_exchange_strong(&dumper->last, &none, TIDE_LAST_ASKED)) {
            (void)sem_post(&dumper->wake);
        }
        await_last(dumper);
    }
    atomic_fetch_sub(&slots.n_inside, 1);
}

static void on_abort(int number) {
    take_last(true);
    /* Restores the former action and raises the signal again, which is delivered when this returns:
     * the process ends as it would without a dumper. */
    (void)sigaction(number, &slots.before[number], NULL);
    (void)raise(number);
}

static void on_exit_of_process(void) {
    take_last(false);
}

/* Under the lock. */
static tide_status listen(int number, void (*handler)(int), tide_error *error) {
    TIDE_ASSERT(number > 0 && number <= MAX_SIGNAL);
    if (slots.n_users[number] > 0) {
        slots.n_users[number]++;
        return TIDE_OK;
    }
    struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    struct sigaction before;
    if (sigaction(number, NULL, &before) != 0) {
        return tide_fail(error, TIDE_INVALID, "signal %d cannot be caught: %s", number,
                         strerror(errno));
    }
    bool is_free = (before.sa_flags & SA_SIGINFO) == 0 &&
                   (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN);
    if (number != SIGABRT && !is_free) {
        return tide_fail(error, TIDE_INVALID,
                         "signal %d has a handler of the program's already: choose another signal",
                         number);
    }
    slots.before[number] = before;
    if (sigaction(number, &action, NULL) != 0) {
        return tide_fail(error, TIDE_INVALID, "signal %d cannot be caught: %s", number,
                         strerror(errno));
    }
    slots.n_users[number] = 1;
    return TIDE_OK;
}

/* Under the lock. */
static void unlisten(int number) {
    TIDE_ASSERT(slots.n_users[number] > 0);
    if (--slots.n_users[number] == 0) {
        (void)sigaction(number, &slots.before[number], NULL);
    }
}

/* Under the lock. All or nothing. */
static tide_status enter_locked(tide_dumper *dumper, tide_error *error) {
    const tide_dumper_config *config = &dumper->config;
    size_t slot = 0;
    while (slot < MAX_DUMPERS && atomic_load(&slots.dumpers[slot]) != NULL) {
        slot++;
    }
    if (slot == MAX_DUMPERS) {
        return tide_fail(error, TIDE_LIMIT, "a process can have %d dumpers: destroy one first",
                         (int)MAX_DUMPERS);
    }
    if (config->on_exit && !slots.hears_exit) {
        if (atexit(on_exit_of_process) != 0) {
            return tide_fail(error, TIDE_NO_MEMORY, "no memory for a handler of exit");
        }
        slots.hears_exit = true;
    }
    if (config->signal_number != 0) {
        TIDE_TRY(listen(config->signal_number, wake_for_signal, error));
    }
    if (config->on_abort) {
        tide_status status = listen(SIGABRT, on_abort, error);
        if (status != TIDE_OK) {
            if (config->signal_number != 0) {
                unlisten(config->signal_number);
            }
            return status;
        }
    }
    atomic_store(&slots.dumpers[slot], dumper);
    return TIDE_OK;
}

tide_status tide_dumper_enter(tide_dumper *dumper, tide_error *error) {
    pthread_mutex_lock(&slots.lock);
    tide_status status = enter_locked(dumper, error);
    pthread_mutex_unlock(&slots.lock);
    return status;
}

void tide_dumper_leave(tide_dumper *dumper) {
    pthread_mutex_lock(&slots.lock);
    for (size_t i = 0; i < MAX_DUMPERS; i++) {
        if (atomic_load(&slots.dumpers[i]) == dumper) {
            atomic_store(&slots.dumpers[i], NULL);
        }
    }
    if (dumper->config.signal_number != 0) {
        unlisten(dumper->config.signal_number);
    }
    if (dumper->config.on_abort) {
        unlisten(SIGABRT);
    }
    pthread_mutex_unlock(&slots.lock);
    while (atomic_load(&slots.n_inside) > 0) { /* a handler may have found it before it left */
        tide_clock_pause_ns(10000);
    }
}
