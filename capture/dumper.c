#define _POSIX_C_SOURCE 200809L
#include "capture/dumper.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/dumper_internal.h"
#include "common/assert.h"
#include "common/clock.h"

enum { MAX_LABEL = 32 };

void tide_dumper_config_init(tide_dumper_config *config) {
    *config = (tide_dumper_config){.path = NULL};
}

/* ---- from a copy to a file, on the dumper's thread ---- */

static tide_status write_snapshot(const tide_dumper *dumper, tide_snapshot *snapshot,
                                  const char *path, tide_error *error) {
    if (dumper->config.strip_private) {
        TIDE_TRY(tide_snapshot_strip_private(snapshot));
    }
    return tide_snapshot_save(snapshot, path, error);
}

static void tell(const tide_dumper *dumper, const tide_dump *dump) {
    if (dumper->config.on_dump != NULL) {
        dumper->config.on_dump(dumper->config.ctx, dump);
    }
}

/* Writes the file of a job and consumes its copy. */
static void write_job(const tide_dumper *dumper, const tide_dump_job *job) {
    char path[TIDE_DUMP_PATH_BYTES] = "";
    tide_error error = {""};
    tide_snapshot *snapshot = NULL;
    tide_dump dump = {.copy_ns = job->copy_ns, .pause_ns = tide_captured_pause_ns(job->captured)};
    int64_t start_ns = tide_clock_now_ns();
    dump.status = tide_capture_end(job->captured, &snapshot, &error);
    if (dump.status == TIDE_OK) {
        dump.n_events = snapshot->n_events;
        dump.status = tide_dump_path(dumper->path, job->label, job->is_numbered, path, &error);
    }
    if (dump.status == TIDE_OK) {
        dump.status = write_snapshot(dumper, snapshot, path, &error);
    }
    tide_snapshot_destroy(snapshot);
    dump.write_ns = tide_clock_now_ns() - start_ns;
    dump.path = path;
    dump.message = dump.status == TIDE_OK     ? ""
                   : error.message[0] == '\0' ? tide_status_text(dump.status)
                                              : error.message;
    tell(dumper, &dump);
}

/* Copies the tables. `outcome` replaces the run's own; NULL keeps it. */
static tide_status copy_now(tide_dumper *dumper, const char *outcome,
                            const tide_snapshot_timing *timing, tide_dump_job *job,
                            tide_error *error) {
    tide_snapshot_run run;
    tide_capture_options options = {
        .mem = dumper->mem, .run = dumper->config.run, .timing = timing};
    if (options.run != NULL && outcome != NULL) {
        run = *options.run;
        run.outcome = outcome;
        options.run = &run;
    }
    int64_t start_ns = tide_clock_now_ns();
    TIDE_TRY(tide_capture_begin(dumper->recorder, dumper->cache, &options, &job->captured, error));
    job->copy_ns = tide_clock_now_ns() - start_ns;
    return TIDE_OK;
}

/* Copies and writes on this thread, which is the dumper's. `copied` is set when the copy is done;
 * NULL if no thread waits for it. */
static void dump_here(tide_dumper *dumper, const char *label, atomic_int *copied) {
    tide_dump_job job = {.is_numbered = true};
    tide_error error = {""};
    (void)snprintf(job.label, sizeof(job.label), "%s", label);
    tide_status status = copy_now(dumper, NULL, NULL, &job, &error);
    if (copied != NULL) {
        atomic_store(copied, TIDE_LAST_WRITES);
    }
    if (status == TIDE_OK) {
        write_job(dumper, &job);
        return;
    }
    tell(dumper, &(tide_dump){.path = "", .status = status, .message = error.message});
}

static void serve_last(tide_dumper *dumper) {
    int asked = TIDE_LAST_ASKED;
    if (atomic_compare_exchange_strong(&dumper->last, &asked, TIDE_LAST_COPIES)) {
        dump_here(dumper, atomic_load(&dumper->is_abort) ? "abort" : "exit", &dumper->last);
        atomic_store(&dumper->last, TIDE_LAST_DONE);
    }
}

/* Takes the oldest job. False if there is none. */
static bool take_job(tide_dumper *dumper, tide_dump_job *ret_job, bool *ret_is_stopping) {
    pthread_mutex_lock(&dumper->lock);
    bool has_job = dumper->n_jobs > 0;
    if (has_job) {
        *ret_job = dumper->jobs[0];
        dumper->n_jobs--;
        memmove(&dumper->jobs[0], &dumper->jobs[1], dumper->n_jobs * sizeof(dumper->jobs[0]));
        pthread_cond_broadcast(&dumper->changed);
    }
    *ret_is_stopping = dumper->is_stopping;
    pthread_mutex_unlock(&dumper->lock);
    return has_job;
}

static void *serve(void *argument) {
    tide_dumper *dumper = argument;
    for (;;) {
        tide_dump_job job;
        bool is_stopping = false;
        while (sem_wait(&dumper->wake) !=
               0) { /* all signals are blocked; only a debugger interrupts this */
        }
        serve_last(dumper);
        if (atomic_exchange(&dumper->n_signals, 0) > 0) {
            dump_here(dumper, dumper->signal_label, NULL);
        }
        if (take_job(dumper, &job, &is_stopping)) {
            write_job(dumper, &job);
            pthread_mutex_lock(&dumper->lock);
            dumper->n_written++;
            TIDE_ASSERT(dumper->n_written <= dumper->n_taken);
            pthread_cond_broadcast(&dumper->changed);
            pthread_mutex_unlock(&dumper->lock);
        } else if (is_stopping) {
            return NULL;
        }
    }
}

/* ---- requests, on the program's threads ---- */

/* Waits for room and queues the job. The job is done once n_written reaches the returned number. */
static uint64_t hand_over(tide_dumper *dumper, const tide_dump_job *job) {
    pthread_mutex_lock(&dumper->lock);
    while (dumper->n_jobs == TIDE_MAX_WAITING) {
        pthread_cond_wait(&dumper->changed, &dumper->lock);
    }
    dumper->jobs[dumper->n_jobs++] = *job;
    uint64_t ticket = ++dumper->n_taken;
    pthread_mutex_unlock(&dumper->lock);
    (void)sem_post(&dumper->wake);
    return ticket;
}

static void await(tide_dumper *dumper, uint64_t ticket) {
    pthread_mutex_lock(&dumper->lock);
    while (dumper->n_written < ticket) {
        pthread_cond_wait(&dumper->changed, &dumper->lock);
    }
    pthread_mutex_unlock(&dumper->lock);
}

static bool is_label(const char *label) {
    size_t n = strlen(label);
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)label[i]) && label[i] != '-' && label[i] != '_') {
            return false;
        }
    }
    return n > 0 && n <= MAX_LABEL;
}

tide_status tide_dumper_take(tide_dumper *dumper, const char *label,
                             const tide_snapshot_timing *timing, tide_error *error) {
    tide_dump_job job = {.is_numbered = true};
    if (!is_label(label)) {
        return tide_fail(error, TIDE_INVALID,
                         "the label '%.64s' of a snapshot: 1 to %d letters, digits, '-' and '_'",
                         label, (int)MAX_LABEL);
    }
    (void)snprintf(job.label, sizeof(job.label), "%s", label);
    TIDE_TRY(copy_now(dumper, NULL, timing, &job, error));
    (void)hand_over(dumper, &job);
    return TIDE_OK;
}

tide_status tide_dumper_step(tide_dumper *dumper, uint64_t n_steps,
                             const tide_snapshot_timing *timing, tide_error *error) {
    uint64_t every = dumper->config.every_steps;
    tide_dump_job job = {.is_numbered = false};
    if (every == 0 || n_steps % every != 0) {
        return TIDE_OK;
    }
    (void)snprintf(job.label, sizeof(job.label), "step-%llu", (unsigned long long)n_steps);
    TIDE_TRY(copy_now(dumper, NULL, timing, &job, error));
    (void)hand_over(dumper, &job);
    return TIDE_OK;
}

void tide_dumper_wait(tide_dumper *dumper) {
    pthread_mutex_lock(&dumper->lock);
    uint64_t ticket = dumper->n_taken;
    pthread_mutex_unlock(&dumper->lock);
    await(dumper, ticket);
}

/* Runs on the thread that ran out of memory. It waits for the file, because the program may exit
 * right after the failure. */
static void dump_oom(void *ctx) {
    tide_dumper *dumper = ctx;
    tide_dump_job job = {.label = "oom", .is_numbered = true};
    tide_error error = {""};
    if (atomic_fetch_add(&dumper->n_oom, 1) >= dumper->config.max_oom) {
        atomic_fetch_sub(&dumper->n_oom, 1);
        return;
    }
    tide_status status = copy_now(dumper, "oom", NULL, &job, &error);
    if (status == TIDE_OK) {
        await(dumper, hand_over(dumper, &job));
    } else {
        tell(dumper, &(tide_dump){.path = "", .status = status, .message = error.message});
    }
}

/* ---- create and destroy ---- */

static tide_status check_config(const tide_dumper_config *config, tide_error *error) {
    if (config->path == NULL || config->path[0] == '\0') {
        return tide_fail(error, TIDE_INVALID, "a dumper needs a path to name its files by");
    }
    if (config->signal_number != 0 && !tide_signal_is_usable(config->signal_number)) {
        return tide_fail(error, TIDE_INVALID,
                         "no snapshot can be taken on signal %d: choose SIGUSR2, for instance",
                         config->signal_number);
    }
    return TIDE_OK;
}

/* The new thread blocks all signals: the program expects its handlers on its own threads. */
static int start_thread(tide_dumper *dumper) {
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    int failed = pthread_create(&dumper->thread, NULL, serve, dumper);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static void stop_thread(tide_dumper *dumper) {
    pthread_mutex_lock(&dumper->lock);
    dumper->is_stopping = true;
    pthread_mutex_unlock(&dumper->lock);
    (void)sem_post(&dumper->wake);
    (void)pthread_join(dumper->thread, NULL);
}

/* Fills in everything except the thread. */
static void init(tide_dumper *dumper, const tide_dumper_config *config) {
    const char *label = tide_signal_label(config->signal_number);
    (void)snprintf(dumper->signal_text, sizeof(dumper->signal_text), "signal-%d",
                   config->signal_number);
    dumper->signal_label = label != NULL ? label : dumper->signal_text;
    dumper->config = *config;
    dumper->config.path = dumper->path;
    dumper->process = getpid();
    atomic_init(&dumper->n_signals, 0);
    atomic_init(&dumper->last, TIDE_LAST_NONE);
    atomic_init(&dumper->is_abort, false);
    atomic_init(&dumper->n_oom, 0);
}

static tide_status create(const tide_dumper_config *config, tide_dumper *dumper,
                          tide_error *error) {
    tide_status status = TIDE_NO_MEMORY;
    dumper->path = tide_hostmem_text(dumper->mem, config->path);
    if (dumper->path == NULL) {
        goto fail_path;
    }
    init(dumper, config);
    if (sem_init(&dumper->wake, 0, 0) != 0) {
        goto fail_wake;
    }
    if (pthread_mutex_init(&dumper->lock, NULL) != 0) {
        goto fail_lock;
    }
    if (pthread_cond_init(&dumper->changed, NULL) != 0) {
        goto fail_changed;
    }
    if (start_thread(dumper) != 0) {
        goto fail_thread;
    }
    status = tide_dumper_enter(dumper, error);
    if (status == TIDE_OK) {
        return TIDE_OK;
    }
    stop_thread(dumper);

fail_thread:
    pthread_cond_destroy(&dumper->changed);
fail_changed:
    pthread_mutex_destroy(&dumper->lock);
fail_lock:
    sem_destroy(&dumper->wake);
fail_wake:
    dumper->mem->release(dumper->mem->ctx, dumper->path);
fail_path:
    return status == TIDE_NO_MEMORY
               ? tide_fail(error, status, "no memory for a thread that writes snapshots")
               : status;
}

tide_status tide_dumper_create(tide_recorder *recorder, tide_cache *cache,
                               const tide_dumper_config *config, tide_dumper **ret_dumper,
                               tide_error *error) {
    TIDE_TRY(check_config(config, error));
    if (recorder != tide_cache_recorder(cache)) {
        return tide_fail(error, TIDE_INVALID,
                         "the cache records into another recorder than the one given");
    }
    const tide_hostmem *mem = config->mem != NULL ? config->mem : tide_hostmem_default();
    tide_dumper *dumper = tide_hostmem_zeroed(mem, 1, sizeof(*dumper));
    if (dumper == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no memory for a thread that writes snapshots");
    }
    dumper->mem = mem;
    dumper->recorder = recorder;
    dumper->cache = cache;
    tide_status status = create(config, dumper, error);
    if (status != TIDE_OK) {
        mem->release(mem->ctx, dumper);
        return status;
    }
    if (config->max_oom > 0) {
        tide_cache_set_oom_hook(cache, dump_oom, dumper);
    }
    *ret_dumper = dumper;
    return TIDE_OK;
}

void tide_dumper_destroy(tide_dumper *dumper) {
    if (dumper == NULL) {
        return;
    }
    if (dumper->config.max_oom > 0) {
        tide_cache_set_oom_hook(dumper->cache, NULL, NULL);
    }
    tide_dumper_leave(dumper);
    stop_thread(dumper);
    pthread_cond_destroy(&dumper->changed);
    pthread_mutex_destroy(&dumper->lock);
    sem_destroy(&dumper->wake);
    dumper->mem->release(dumper->mem->ctx, dumper->path);
    dumper->mem->release(dumper->mem->ctx, dumper);
}
