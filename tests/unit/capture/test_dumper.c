/* test_dumper.c - snapshots of a program while it runs: other threads continue, every file shows
 * one instant, no file replaces another, and impossible requests are refused.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/dumper.h"
#include "common/map.h"
#include "support/hostmem_fault.h"
#include "support/picture.h"

enum { N_SLOTS = 24, N_DUMPS = 12, MAX_TOLD = 64 };

/* What the dumper reported, in that order. */
typedef struct told {
    pthread_mutex_t lock;
    size_t n;                    /* reported */
    size_t n_failed;             /* of them */
    char paths[MAX_TOLD][128];   /* of the files; "" */
    int64_t pauses_ns[MAX_TOLD]; /* of the copies */
} told;

typedef struct fixture {
    tide_device *device;
    tide_recorder *recorder;
    tide_cache *cache;
    char folder[40];
    char path[64];
    told told;
    atomic_bool is_stopped; /* ends the threads */
    atomic_uint n_failed;   /* failed calls of the threads */
} fixture;

static void note(void *ctx, const tide_dump *dump) {
    told *all = ctx;
    pthread_mutex_lock(&all->lock);
    if (all->n < MAX_TOLD) {
        (void)snprintf(all->paths[all->n], sizeof(all->paths[0]), "%s", dump->path);
        all->pauses_ns[all->n] = dump->pause_ns;
        all->n_failed += dump->status == TIDE_OK ? 0 : 1;
        all->n++;
    }
    pthread_mutex_unlock(&all->lock);
}

static void begin(fixture *f, size_t n_events, uint64_t limit_bytes) {
    tide_recorder_config config;
    tide_cache_config cache;
    *f = (fixture){.folder = "/tmp/tidemark-dumper-XXXXXX"};
    assert_int_equal(pthread_mutex_init(&f->told.lock, NULL), 0);
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->path, sizeof(f->path), "%s/run.json.gz", f->folder);
    tide_recorder_config_init(&config);
    config.log_bytes = n_events * sizeof(tide_event);
    tide_cache_config_init(&cache);
    if (limit_bytes > 0) {
        cache.memory_limit_bytes = limit_bytes;
    }
    assert_int_equal(tide_device_open("virtual", NULL, &f->device, NULL), TIDE_OK);
    assert_int_equal(tide_recorder_create(&config, &f->recorder, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(f->device, f->recorder, &cache, &f->cache, NULL), TIDE_OK);
}

static tide_dumper_config configure(fixture *f) {
    tide_dumper_config config;
    tide_dumper_config_init(&config);
    config.path = f->path;
    config.on_dump = note;
    config.ctx = &f->told;
    return config;
}

static tide_dumper *create(fixture *f, const tide_dumper_config *config) {
    tide_dumper *dumper = NULL;
    tide_error error = {""};
    tide_status status = tide_dumper_create(f->recorder, f->cache, config, &dumper, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, TIDE_OK);
    return dumper;
}

static void end(fixture *f) {
    tide_cache_destroy(f->cache);
    tide_recorder_destroy(f->recorder);
    tide_device_close(f->device);
    pthread_mutex_destroy(&f->told.lock);
    assert_int_equal(rmdir(f->folder), 0);
}

static void expect_file(const fixture *f, const char *name, size_t n_min_events) {
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", f->folder, name);
    tide_snapshot *snapshot = picture_load(path);
    assert_true(snapshot->n_events >= n_min_events);
    tide_snapshot_destroy(snapshot);
    assert_int_equal(unlink(path), 0);
}

/* ---- while threads allocate ---- */

/* Allocates into an empty slot, or releases the block of a full one. */
static void turn(fixture *f, uint64_t *slot, uint64_t random) {
    static const size_t SIZES[] = {500, 60000, 2 << 20, 900000, 13 << 20};
    const tide_tag tag = {(tide_category)(random % TIDE_N_CATEGORIES), "worked.on"};
    size_t n_bytes = SIZES[random / 8 % 5] + random / 64 % 99;
    bool is_live = *slot != 0;
    tide_status status = is_live ? tide_cache_release(f->cache, *slot, NULL)
                                 : tide_cache_alloc(f->cache, n_bytes, 0, &tag, slot, NULL);
    atomic_fetch_add(&f->n_failed, status == TIDE_OK ? 0U : 1U);
    *slot = is_live ? 0 : *slot;
}

static void *work(void *argument) {
    fixture *f = argument;
    uint64_t live[N_SLOTS] = {0};
    uint64_t random = (uint64_t)(uintptr_t)live;
    for (uint64_t i = 0; !atomic_load(&f->is_stopped); i++) {
        tide_scope scope = tide_scope_begin(f->recorder, TIDE_SCOPE_STEP, "step", (int32_t)i);
        for (int k = 0; k < 8; k++) {
            random = tide_hash_u64(random);
            turn(f, &live[random % N_SLOTS], random / N_SLOTS);
        }
        tide_scope_end(f->recorder, scope);
        (void)sched_yield();
    }
    for (size_t i = 0; i < N_SLOTS; i++) {
        atomic_fetch_add(&f->n_failed,
                         tide_cache_release(f->cache, live[i], NULL) == TIDE_OK ? 0U : 1U);
    }
    return NULL;
}

/* `n_events`: capacity of the log; a small one is overwritten while it is copied. */
static void dump_while_threads_work(size_t n_events) {
    fixture f;
    pthread_t threads[2];
    begin(&f, n_events, 0);
    const tide_dumper_config config = configure(&f);
    tide_dumper *dumper = create(&f, &config);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, &f), 0);
    }
    for (size_t i = 0; i < N_DUMPS; i++) {
        (void)sched_yield();
        assert_int_equal(tide_dumper_take(dumper, "asked", NULL, NULL), TIDE_OK);
    }
    tide_dumper_wait(dumper);
    atomic_store(&f.is_stopped, true);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(f.told.n, N_DUMPS);
    assert_int_equal(f.told.n_failed, 0);
    assert_int_equal(atomic_load(&f.n_failed), 0);
    tide_dumper_destroy(dumper);
    for (size_t i = 0; i < N_DUMPS; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "run.asked-%zu.json.gz", i + 1);
        expect_file(&f, name, 0);
    }
    end(&f);
}

static void every_file_is_one_instant(void **state) {
    (void)state;
    dump_while_threads_work((size_t)1 << 20);
}

static void and_of_a_log_that_is_overwritten_meanwhile(void **state) {
    (void)state;
    dump_while_threads_work(700);
    dump_while_threads_work(10000); /* several chunks */
}

/* ---- when ---- */

static void steps_are_counted(void **state) {
    (void)state;
    fixture f;
    begin(&f, 1000, 0);
    tide_dumper_config config = configure(&f);
    config.every_steps = 3;
    tide_dumper *dumper = create(&f, &config);
    for (uint64_t i = 1; i <= 7; i++) {
        uint64_t address = 0;
        assert_int_equal(tide_cache_alloc(f.cache, 1000, 0, NULL, &address, NULL), TIDE_OK);
        assert_int_equal(tide_dumper_step(dumper, i, NULL, NULL), TIDE_OK);
    }
    assert_int_equal(tide_dumper_step(dumper, 3, NULL, NULL), TIDE_OK); /* the name is taken */
    tide_dumper_destroy(dumper);
    assert_int_equal(f.told.n, 3);
    expect_file(&f, "run.step-3.json.gz", 4); /* three blocks and their segment */
    expect_file(&f, "run.step-6.json.gz", 7);
    expect_file(&f, "run.step-3-2.json.gz", 8);
    end(&f);
}

static void a_program_goes_on_when_memory_has_run_out(void **state) {
    (void)state;
    enum { LIMIT = 100 << 20 };
    fixture f;
    uint64_t address = 0;
    begin(&f, 1000, LIMIT);
    tide_dumper_config config = configure(&f);
    config.max_oom = 2;
    tide_dumper *dumper = create(&f, &config);
    assert_int_equal(tide_cache_alloc(f.cache, LIMIT / 2, 0, NULL, &address, NULL), TIDE_OK);
    for (size_t i = 1; i <= 3; i++) {
        uint64_t none = 0;
        assert_int_equal(tide_cache_alloc(f.cache, LIMIT, 0, NULL, &none, NULL), TIDE_DEVICE_OOM);
        /* The file exists when the call returns. The third snapshot is above the limit. */
        assert_int_equal(f.told.n, i < 2 ? i : 2);
    }
    assert_int_equal(tide_cache_release(f.cache, address, NULL), TIDE_OK);
    tide_dumper_destroy(dumper);
    assert_int_equal(f.told.n_failed, 0);
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/run.oom-1.json.gz", f.folder);
    tide_snapshot *snapshot = picture_load(path);
    assert_int_equal(snapshot->n_events, 3); /* segment, block, oom */
    assert_int_equal(snapshot->events.action[2], TIDE_ACTION_OOM);
    assert_int_equal(tide_bytes_at(&snapshot->events.requested_bytes, 2), LIMIT);
    tide_snapshot_destroy(snapshot);
    assert_int_equal(unlink(path), 0);
    expect_file(&f, "run.oom-2.json.gz", 4);
    /* A destroyed dumper is not called by the cache. */
    assert_int_equal(tide_cache_alloc(f.cache, (size_t)2 * LIMIT, 0, NULL, &address, NULL),
                     TIDE_DEVICE_OOM);
    end(&f);
}

/* Runs out of memory repeatedly. */
static void *ask_for_too_much(void *argument) {
    fixture *f = argument;
    while (!atomic_load(&f->is_stopped)) {
        uint64_t none = 0;
        tide_status status = tide_cache_alloc(f->cache, (size_t)1 << 40, 0, NULL, &none, NULL);
        atomic_fetch_add(&f->n_failed, status == TIDE_DEVICE_OOM ? 0U : 1U);
    }
    return NULL;
}

static void dumpers_come_and_go_while_memory_runs_out(void **state) {
    (void)state;
    fixture f;
    pthread_t threads[2];
    begin(&f, 1000, 1 << 20);
    tide_dumper_config config = configure(&f);
    config.max_oom = 2;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_for_too_much, &f), 0);
    }
    for (size_t i = 0; i < 5; i++) {
        tide_dumper *dumper = create(&f, &config);
        (void)sched_yield();
        tide_dumper_destroy(dumper);
    }
    atomic_store(&f.is_stopped, true);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&f.n_failed), 0);
    assert_int_equal(f.told.n_failed, 0);
    assert_true(f.told.n <= 10);
    for (size_t i = 0; i < f.told.n; i++) {
        tide_snapshot_destroy(picture_load(f.told.paths[i]));
        assert_int_equal(unlink(f.told.paths[i]), 0);
    }
    end(&f);
}

static void a_run_is_described(void **state) {
    (void)state;
    fixture f;
    begin(&f, 1000, 1 << 20);
    const double ms[] = {4.5};
    const tide_snapshot_phase phase = {"step", 1, ms, ms};
    const tide_snapshot_timing timing = {.phases = &phase, .n_phases = 1, .measured_steps = 1};
    const tide_snapshot_run run = {.command = "my program --private",
                                   .outcome = "running",
                                   .host_name = "secret",
                                   .batch_size = 7};
    tide_dumper_config config = configure(&f);
    config.run = &run;
    config.strip_private = true;
    config.max_oom = 1;
    tide_dumper *dumper = create(&f, &config);
    uint64_t address = 0;
    assert_int_equal(tide_dumper_take(dumper, "A-label_1", &timing, NULL), TIDE_OK);
    assert_int_equal(tide_cache_alloc(f.cache, 2 << 20, 0, NULL, &address, NULL), TIDE_DEVICE_OOM);
    tide_dumper_destroy(dumper);
    static const char *const OUTCOMES[] = {"running", "oom"};
    for (size_t i = 0; i < 2; i++) {
        tide_snapshot *snapshot = picture_load(f.told.paths[i]);
        assert_string_equal(snapshot->run.outcome, OUTCOMES[i]);
        assert_string_equal(snapshot->run.command, "");
        assert_string_equal(snapshot->run.host_name, "");
        assert_int_equal(snapshot->run.batch_size, 7);
        assert_int_equal(snapshot->timing.n_phases, i == 0 ? 1 : 0);
        tide_snapshot_destroy(snapshot);
        assert_int_equal(unlink(f.told.paths[i]), 0);
    }
    end(&f);
}

/* ---- refusals ---- */

static void handler(int number) {
    (void)number;
}

static void expect_refusal(fixture *f, const tide_dumper_config *config, tide_status wanted,
                           const char *said) {
    tide_dumper *dumper = NULL;
    tide_error error = {""};
    assert_int_equal(tide_dumper_create(f->recorder, f->cache, config, &dumper, &error), wanted);
    assert_non_null(strstr(error.message, said));
    assert_null(dumper);
}

static void signals_of_others_stay_theirs(void **state) {
    (void)state;
    fixture f;
    begin(&f, 1000, 0);
    tide_dumper_config config = configure(&f);
    struct sigaction now;
    config.signal_number = SIGSEGV;
    expect_refusal(&f, &config, TIDE_INVALID, "signal 11");
    config.signal_number = SIGUSR1;
    assert_true(signal(SIGUSR1, handler) != SIG_ERR);
    expect_refusal(&f, &config, TIDE_INVALID, "handler of the program's");
    assert_true(signal(SIGUSR1, SIG_IGN) == handler);
    config.on_abort = true;
    tide_dumper *dumper = create(&f, &config);
    tide_dumper *second = create(&f, &config);
    tide_dumper_destroy(dumper);
    assert_int_equal(sigaction(SIGUSR1, NULL, &now), 0);
    assert_true(now.sa_handler != SIG_IGN); /* the second one is still active */
    tide_dumper_destroy(second);
    assert_int_equal(sigaction(SIGUSR1, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_IGN);
    assert_int_equal(sigaction(SIGABRT, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
    tide_dumper_destroy(NULL);
    end(&f);
}

static void senseless_wishes_are_refused(void **state) {
    (void)state;
    static const char *const LABELS[] = {"", "../x", "a/b", "a b",
                                         "a-label-that-is-too-long-for-a-name"};
    fixture f;
    begin(&f, 1000, 0);
    tide_dumper_config config = configure(&f);
    config.path = NULL;
    expect_refusal(&f, &config, TIDE_INVALID, "path");
    config = configure(&f);
    tide_dumper *dumpers[17];
    for (size_t i = 0; i < 16; i++) {
        dumpers[i] = create(&f, &config);
    }
    expect_refusal(&f, &config, TIDE_LIMIT, "16");
    for (size_t i = 1; i < 16; i++) {
        tide_dumper_destroy(dumpers[i]);
    }
    for (size_t i = 0; i < sizeof(LABELS) / sizeof(LABELS[0]); i++) {
        assert_int_equal(tide_dumper_take(dumpers[0], LABELS[i], NULL, NULL), TIDE_INVALID);
    }
    tide_dumper_destroy(dumpers[0]);
    assert_int_equal(f.told.n, 0);
    end(&f);
}

static void what_cannot_be_written_is_told(void **state) {
    (void)state;
    fixture f;
    begin(&f, 1000, 0);
    tide_dumper_config config = configure(&f);
    config.path = "/nowhere/at/all/run.json.gz";
    tide_dumper *dumper = create(&f, &config);
    assert_int_equal(tide_dumper_take(dumper, "asked", NULL, NULL), TIDE_OK);
    tide_dumper_destroy(dumper);
    assert_int_equal(f.told.n, 1);
    assert_int_equal(f.told.n_failed, 1);
    end(&f);
}

static void without_host_memory_nothing_breaks(void **state) {
    (void)state;
    for (size_t n = 1; n < 400; n++) {
        fixture f;
        tide_hostmem_fault heap;
        tide_dumper *dumper = NULL;
        begin(&f, 100, 0);
        tide_dumper_config config = configure(&f);
        tide_hostmem_fault_init(&heap, n);
        config.mem = &heap.mem;
        tide_status created = tide_dumper_create(f.recorder, f.cache, &config, &dumper, NULL);
        tide_status taken = created;
        if (created == TIDE_OK) {
            taken = tide_dumper_take(dumper, "asked", NULL, NULL);
            tide_dumper_destroy(dumper);
        }
        bool is_written = taken == TIDE_OK && f.told.n_failed == 0;
        assert_int_equal(heap.n_live, 0);
        if (is_written) {
            expect_file(&f, "run.asked-1.json.gz", 0);
        }
        end(&f);
        if (is_written && heap.n_calls < n) {
            assert_true(n > 5); /* otherwise no allocation failed at all */
            return;
        }
    }
    fail_msg("a dump takes more than 400 pieces of memory");
}

static void signals_have_names(void **state) {
    (void)state;
    static const char *const NAMES[] = {"USR2", "SIGUSR2", "usr2", "sigusr2", NULL};
    static const char *const WRONG[] = {
        "",  "SIG", "USR3", "KILL", "9", "11", "0", "-12", "12x", "TERM", "99999999999999999999",
        NULL};
    int number = 0;
    char text[16];
    for (size_t i = 0; NAMES[i] != NULL; i++) {
        assert_int_equal(tide_signal_parse(NAMES[i], &number, NULL), TIDE_OK);
        assert_int_equal(number, SIGUSR2);
    }
    (void)snprintf(text, sizeof(text), "%d", SIGUSR2);
    assert_int_equal(tide_signal_parse(text, &number, NULL), TIDE_OK);
    assert_int_equal(number, SIGUSR2);
    (void)snprintf(text, sizeof(text), "%d", SIGRTMIN);
    assert_int_equal(tide_signal_parse(text, &number, NULL), TIDE_OK);
    assert_int_equal(number, SIGRTMIN);
    for (size_t i = 0; WRONG[i] != NULL; i++) {
        tide_error error = {""};
        assert_int_equal(tide_signal_parse(WRONG[i], &number, &error), TIDE_INVALID);
        assert_non_null(strstr(error.message, "USR1, USR2"));
    }
    assert_int_equal(number, SIGRTMIN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_one_instant),
        cmocka_unit_test(and_of_a_log_that_is_overwritten_meanwhile),
        cmocka_unit_test(steps_are_counted),
        cmocka_unit_test(a_program_goes_on_when_memory_has_run_out),
        cmocka_unit_test(dumpers_come_and_go_while_memory_runs_out),
        cmocka_unit_test(a_run_is_described),
        cmocka_unit_test(signals_of_others_stay_theirs),
        cmocka_unit_test(senseless_wishes_are_refused),
        cmocka_unit_test(what_cannot_be_written_is_told),
        cmocka_unit_test(without_host_memory_nothing_breaks),
        cmocka_unit_test(signals_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
