/* test_dumper_process.c - snapshots of real child processes: on a signal from outside, and in
 * exit() and abort(), including a process that dies with the cache's lock held.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocator/cache_internal.h"
#include "capture/dumper.h"
#include "support/picture.h"

enum { N_SIGNALS = 3 };

/* The state of the child. */
typedef struct program {
    tide_device *device;
    tide_recorder *recorder;
    tide_cache *cache;
    tide_dumper *dumper;
    int told; /* pipe to the parent: a byte for each file */
} program;

static void tell(void *ctx, const tide_dump *dump) {
    const program *me = ctx;
    char letter = dump->status == TIDE_OK ? 'y' : 'n';
    if (write(me->told, &letter, 1) != 1) {
        _exit(9);
    }
}

/* Makes one allocation. */
static void begin(program *me, const char *path) {
    tide_dumper_config config;
    uint64_t address = 0;
    tide_dumper_config_init(&config);
    config.path = path;
    config.signal_number = SIGUSR2;
    config.on_exit = true;
    config.on_abort = true;
    config.on_dump = tell;
    config.ctx = me;
    if (tide_device_open("virtual", NULL, &me->device, NULL) != TIDE_OK ||
        tide_recorder_create(NULL, &me->recorder, NULL) != TIDE_OK ||
        tide_cache_create(me->device, me->recorder, NULL, &me->cache, NULL) != TIDE_OK ||
        tide_dumper_create(me->recorder, me->cache, &config, &me->dumper, NULL) != TIDE_OK ||
        tide_cache_alloc(me->cache, 5000, 0, NULL, &address, NULL) != TIDE_OK) {
        _exit(8);
    }
}

static void allocate_for_ever(program *me) {
    if (write(me->told, "r", 1) != 1) {
        _exit(9);
    }
    for (;;) {
        uint64_t address = 0;
        if (tide_cache_alloc(me->cache, 100000, 0, NULL, &address, NULL) != TIDE_OK ||
            tide_cache_release(me->cache, address, NULL) != TIDE_OK) {
            _exit(7);
        }
    }
}

static void leave_by_exit(program *me) {
    (void)me;
    exit(3);
}

static void leave_by_abort(program *me) {
    (void)me;
    abort();
}

static void abort_with_the_lock(program *me) {
    tide_lock_acquire(me->cache->lock);
    abort();
}

/* A process that ends normally writes no snapshot unless asked. */
static void leave_orderly(program *me) {
    tide_dumper_destroy(me->dumper);
    tide_cache_destroy(me->cache);
    tide_recorder_destroy(me->recorder);
    tide_device_close(me->device);
    exit(0);
}

/* The parent's view of its child. */
typedef struct child {
    pid_t process;
    int told; /* other end of the pipe */
    char folder[40];
    char path[64];
} child;

static child start(void (*body)(program *me)) {
    child made = {.folder = "/tmp/tidemark-dumper-XXXXXX"};
    int ends[2];
    assert_non_null(mkdtemp(made.folder));
    (void)snprintf(made.path, sizeof(made.path), "%s/run.json.gz", made.folder);
    assert_int_equal(pipe(ends), 0);
    made.process = fork();
    assert_true(made.process >= 0);
    if (made.process == 0) {
        program me = {.told = ends[1]};
        (void)close(ends[0]);
        (void)alarm(250); /* ends the child even if the parent dies */
        begin(&me, made.path);
        body(&me);
        _exit(6);
    }
    (void)close(ends[1]);
    made.told = ends[0];
    return made;
}

static char next_letter(const child *of) {
    char letter = 0;
    return read(of->told, &letter, 1) == 1 ? letter : '.'; /* '.': the child is gone */
}

static int wait_for(child *of) {
    int status = -1;
    assert_int_equal(waitpid(of->process, &status, 0), of->process);
    (void)close(of->told);
    return status;
}

static void expect_file(const child *of, const char *name) {
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", of->folder, name);
    tide_snapshot *snapshot = picture_load(path);
    assert_true(snapshot->n_events >= 2);
    tide_snapshot_destroy(snapshot);
    assert_int_equal(unlink(path), 0);
}

static void signals_make_files(void **state) {
    (void)state;
    child of = start(allocate_for_ever);
    assert_int_equal(next_letter(&of), 'r');
    for (int i = 0; i < N_SIGNALS; i++) {
        assert_int_equal(kill(of.process, SIGUSR2), 0);
        assert_int_equal(next_letter(&of), 'y');
    }
    assert_int_equal(kill(of.process, SIGKILL), 0);
    assert_true(WIFSIGNALED(wait_for(&of)));
    expect_file(&of, "run.usr2-1.json.gz");
    expect_file(&of, "run.usr2-2.json.gz");
    expect_file(&of, "run.usr2-3.json.gz");
    assert_int_equal(rmdir(of.folder), 0);
}

static void exit_makes_a_file(void **state) {
    (void)state;
    child of = start(leave_by_exit);
    assert_int_equal(next_letter(&of), 'y');
    int status = wait_for(&of);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    expect_file(&of, "run.exit-1.json.gz");
    assert_int_equal(rmdir(of.folder), 0);
}

static void abort_makes_a_file(void **state) {
    (void)state;
    child of = start(leave_by_abort);
    assert_int_equal(next_letter(&of), 'y');
    int status = wait_for(&of);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    expect_file(&of, "run.abort-1.json.gz");
    assert_int_equal(rmdir(of.folder), 0);
}

static void a_lock_that_is_held_delays_the_end_only(void **state) {
    (void)state;
    child of = start(abort_with_the_lock);
    assert_int_equal(next_letter(&of), '.');
    int status = wait_for(&of);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_int_equal(rmdir(of.folder), 0); /* no half file either */
}

static void an_orderly_end_makes_none(void **state) {
    (void)state;
    child of = start(leave_orderly);
    assert_int_equal(next_letter(&of), '.');
    int status = wait_for(&of);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(rmdir(of.folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_make_files),
        cmocka_unit_test(exit_makes_a_file),
        cmocka_unit_test(abort_makes_a_file),
        cmocka_unit_test(a_lock_that_is_held_delays_the_end_only),
        cmocka_unit_test(an_orderly_end_makes_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
