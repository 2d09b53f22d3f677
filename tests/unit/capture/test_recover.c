/* test_recover.c - the log file of a killed process contains what it recorded: every event, with
 * its scope, name and call stack; and how existing files are handled.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/capture.h"
#include "capture/recover.h"
#include "common/clock.h"
#include "common/map.h"
#include "snapshot/analysis/summary.h"

enum { N_LIVE = 64, PATH = 256, MAX_EVENTS_PER_STEP = 8 };

static char folder[PATH];

static const char *in_folder(const char *name) {
    static char path[2 * PATH];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

typedef struct program {
    tide_device *device;
    tide_recorder *recorder;
    tide_cache *cache;
    uint64_t random;
    uint64_t live[N_LIVE]; /* addresses; 0: none */
} program;

static tide_status try_create(program *p, const char *log_path, size_t log_bytes, bool stacks,
                              tide_error *error) {
    tide_recorder_config config;
    tide_recorder_config_init(&config);
    config.log_path = log_path;
    config.log_bytes = log_bytes;
    config.capture_stacks = stacks;
    memset(p, 0, sizeof(*p));
    return tide_recorder_create(&config, &p->recorder, error);
}

static void create(program *p, const char *log_path, size_t log_bytes, bool stacks, uint64_t seed) {
    tide_error error = {""};
    if (try_create(p, log_path, log_bytes, stacks, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    p->random = seed;
    assert_int_equal(tide_device_open("virtual", NULL, &p->device, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(p->device, p->recorder, NULL, &p->cache, NULL), TIDE_OK);
}

static void destroy(program *p) {
    tide_cache_destroy(p->cache);
    tide_recorder_destroy(p->recorder);
    tide_device_close(p->device);
}

/* Opens a scope and allocates or releases a block, from one of two places. */
static void step(program *p, int i) {
    char name[32];
    p->random = tide_hash_u64(p->random + 0x9e3779b97f4a7c15u);
    size_t slot = p->random % N_LIVE;
    snprintf(name, sizeof(name), "tensor.%d", (int)(p->random % 97));
    tide_scope scope = tide_scope_begin(p->recorder, TIDE_SCOPE_STEP, "step", i);
    if (p->live[slot] != 0) {
        assert_int_equal(tide_cache_release(p->cache, p->live[slot], NULL), TIDE_OK);
        p->live[slot] = 0;
    } else {
        size_t n_bytes = 1 + (size_t)(p->random >> 20) % (3 << 20);
        tide_tag tag = {(uint8_t)(p->random % TIDE_N_CATEGORIES), name};
        tide_status status =
            p->random % 2 == 0 ? tide_cache_alloc(p->cache, n_bytes, 0, &tag, &p->live[slot], NULL)
                               : tide_cache_alloc(p->cache, n_bytes, 7, &tag, &p->live[slot], NULL);
        assert_int_equal(status, TIDE_OK);
    }
    tide_scope_end(p->recorder, scope);
}

static uint64_t n_recorded(const program *p) {
    tide_recorder_stats stats;
    tide_recorder_get_stats(p->recorder, &stats);
    return stats.n_events;
}

/* Runs a child that works until it is killed, or aborts after n_steps; returns how many events it
 * had reported. */
static uint64_t run_child(const char *log_path, size_t log_bytes, uint64_t seed, int n_steps,
                          useconds_t kill_after_us) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        program p;
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        (void)signal(SIGABRT, SIG_DFL);
        create(&p, log_path, log_bytes, true, seed);
        for (int i = 0;; i++) {
            if (i == n_steps) {
                abort();
            }
            step(&p, i);
            uint64_t n = n_recorded(&p);
            if (write(ends[1], &n, sizeof(n)) != (ssize_t)sizeof(n)) {
                _exit(1);
            }
        }
    }
    close(ends[1]);
    uint64_t n_reported = 0;
    /* Waits for the first report; the log exists by then. */
    assert_int_equal(read(ends[0], &n_reported, sizeof(n_reported)), sizeof(n_reported));
    int64_t begin_ns = tide_clock_now_ns();
    uint64_t n = 0;
    bool is_killed = false;
    while (read(ends[0], &n, sizeof(n)) == (ssize_t)sizeof(n)) {
        n_reported = n;
        if (n_steps < 0 && !is_killed &&
            tide_clock_now_ns() - begin_ns >= 1000 * (int64_t)kill_after_us) {
            kill(child, SIGKILL);
            is_killed = true;
        }
    }
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == (n_steps < 0 ? SIGKILL : SIGABRT));
    return n_reported;
}

static const char *function_of(const tide_snapshot *snapshot, uint32_t stack) {
    return stack == TIDE_NONE
               ? ""
               : tide_snapshot_text(snapshot,
                                    snapshot->frames[snapshot->stacks[stack].frame].function);
}

static void same_event(const tide_snapshot *got, const tide_event *a, const tide_snapshot *all,
                       const tide_event *b) {
    assert_int_equal(a->action, b->action);
    assert_true(a->address == b->address);
    assert_true(a->requested_bytes == b->requested_bytes && a->block_bytes == b->block_bytes);
    assert_int_equal(a->category, b->category);
    assert_true(got->streams[a->stream].handle == all->streams[b->stream].handle);
    assert_string_equal(tide_snapshot_text(got, a->name), tide_snapshot_text(all, b->name));
    assert_string_equal(function_of(got, a->stack), function_of(all, b->stack));
    assert_true((a->scope == TIDE_NONE) == (b->scope == TIDE_NONE));
    if (a->scope != TIDE_NONE) {
        assert_int_equal(got->scopes[a->scope].index, all->scopes[b->scope].index);
        assert_string_equal(tide_snapshot_text(got, got->scopes[a->scope].name), "step");
    }
}

/* Compares the recovered snapshot with the same program run here and recorded whole. */
static void compare(const tide_snapshot *got, uint64_t n_dropped, uint64_t seed) {
    program p;
    create(&p, "", (size_t)64 << 20, true, seed);
    for (int i = 0; n_recorded(&p) < n_dropped + got->n_events; i++) {
        step(&p, i);
    }
    tide_snapshot *all = NULL;
    assert_int_equal(tide_capture(p.recorder, p.cache, NULL, &all, NULL), TIDE_OK);
    for (size_t i = 0; i < got->n_events; i++) {
        const tide_event is = tide_event_at(got, i);
        const tide_event was = tide_event_at(all, n_dropped + i);
        same_event(got, &is, all, &was);
    }
    /* The state at the end: the live blocks, whatever rows the log kept. */
    if (all->n_events == n_dropped + got->n_events) {
        assert_int_equal(got->n_end_blocks, all->n_end_blocks);
        for (size_t i = 0; i < got->n_end_blocks; i++) {
            const tide_block_row *a = &got->end_blocks[i];
            const tide_block_row *b = &all->end_blocks[i];
            assert_true(a->offset_bytes == b->offset_bytes && a->block_bytes == b->block_bytes);
            assert_int_equal(a->state, b->state);
            assert_string_equal(tide_snapshot_text(got, a->name), tide_snapshot_text(all, b->name));
            assert_string_equal(function_of(got, a->stack), function_of(all, b->stack));
        }
    }
    tide_snapshot_destroy(all);
    destroy(&p);
}

static tide_snapshot *recover(const char *path, tide_recover_report *report) {
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    if (tide_recover(path, NULL, &snapshot, report, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return snapshot;
}

/* Expects an undamaged log that contains all that was reported. */
static void expect_all(const tide_recover_report *report, uint64_t n_reported) {
    uint64_t n = report->n_events + report->n_dropped;
    assert_true(n >= n_reported && n <= n_reported + MAX_EVENTS_PER_STEP);
    assert_true(!report->is_closed && !report->is_live);
    assert_int_equal(report->n_missing + report->n_damaged + report->n_unfit, 0);
    assert_int_equal(report->n_records_damaged + report->n_records_refused, 0);
    assert_int_equal(report->n_references_lost, 0);
    assert_int_equal(report->n_modules_absent, 0);
}

static void nothing_is_lost(size_t log_bytes, int n_rounds, bool aborts) {
    const char *path = in_folder("killed.log");
    for (int i = 0; i < n_rounds; i++) {
        uint64_t seed = 1 + (uint64_t)i;
        uint64_t n_reported = run_child(path, log_bytes, seed, aborts ? 50 + 200 * i : -1,
                                        1000 + (useconds_t)(tide_hash_u64(seed) % 30000));
        tide_recover_report report;
        tide_snapshot *snapshot = recover(path, &report);
        assert_string_equal(snapshot->run.outcome, "crashed");
        assert_string_equal(snapshot->devices[0].kind, "virtual");
        expect_all(&report, n_reported);
        compare(snapshot, report.n_dropped, seed);
        tide_snapshot_destroy(snapshot);
        assert_int_equal(unlink(path), 0);
    }
}

static void a_kill_loses_nothing(void **state) {
    (void)state;
    nothing_is_lost((size_t)8 << 20, 4, false);
}

static void an_abort_loses_nothing(void **state) {
    (void)state;
    nothing_is_lost((size_t)8 << 20, 3, true);
}

/* Runs so long that the ring wraps, so the process may die while it writes rows, base or counters.
 */
static void a_kill_of_a_ring_loses_nothing(void **state) {
    (void)state;
    const char *path = in_folder("ring.log");
    for (uint64_t seed = 1; seed <= 3; seed++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            program p;
            create(&p, path, 1 << 20, false, seed);
            for (int i = 0;; i++) {
                step(&p, i);
                if (i == 30000 && write(ends[1], "", 1) != 1) {
                    _exit(1);
                }
            }
        }
        char byte = 0;
        close(ends[1]);
        assert_int_equal(read(ends[0], &byte, 1), 1);
        usleep((useconds_t)(tide_hash_u64(seed) % 20000));
        kill(child, SIGKILL);
        close(ends[0]);
        assert_int_equal(waitpid(child, NULL, 0), child);
        tide_recover_report report;
        tide_snapshot *snapshot = recover(path, &report);
        assert_true(report.n_dropped > 10000 && report.n_events > 10000);
        assert_int_equal(report.n_missing + report.n_damaged + report.n_unfit, 0);
        /* Walking from the start over the events finds no contradiction. */
        tide_summary *summary = NULL;
        assert_int_equal(tide_summary_create(snapshot, &summary, NULL), TIDE_OK);
        assert_int_equal(summary->devices[0].n_unmatched, 0);
        int64_t end_bytes = 0;
        for (size_t i = 0; i < snapshot->n_end_blocks; i++) {
            end_bytes += snapshot->end_blocks[i].state == TIDE_BLOCK_ALLOCATED
                             ? (int64_t)snapshot->end_blocks[i].block_bytes
                             : 0;
        }
        assert_int_equal(summary->devices[0].end.allocated_bytes, end_bytes);
        tide_summary_destroy(summary);
        tide_snapshot_destroy(snapshot);
        assert_int_equal(unlink(path), 0);
    }
}

/* ---- files that are there already ---- */

static void expect_refusal(const char *path, size_t log_bytes, const char *part) {
    program p;
    tide_error error = {""};
    assert_int_not_equal(try_create(&p, path, log_bytes, false, &error), TIDE_OK);
    if (strstr(error.message, part) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", error.message, part);
    }
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void other_files_are_left_alone(void **state) {
    (void)state;
    char text[32] = "";
    char path[2 * PATH];
    snprintf(path, sizeof(path), "%s", in_folder("notes.txt"));
    write_file(path, "precious");
    expect_refusal(path, 1 << 20, "it exists and is no log of tidemark: choose another file");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    (void)fclose(file);
    assert_string_equal(text, "precious");
    expect_refusal(folder, 1 << 20, "it exists and is not a file");
    expect_refusal("/dev/null", 1 << 20, "cannot be made");
    expect_refusal(in_folder("absent/x.log"), 1 << 20, "No such file or directory");
    expect_refusal(in_folder("small.log"), (1 << 20) - 1, "1MiB at least");
    expect_refusal(in_folder("large.log"), (size_t)1 << 50, "cannot be reserved");
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, before.rlim_max}), 0);
    expect_refusal(in_folder("limited.log"), 2 << 20, "ulimit -f");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    /* No unfinished file remains. */
    assert_int_equal(unlink(path), 0);
    char command[2 * PATH];
    snprintf(command, sizeof(command), "test -z \"$(ls -A '%s')\"", folder);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

static void a_log_has_one_writer(void **state) {
    (void)state;
    char path[2 * PATH];
    program p;
    tide_recover_report report;
    snprintf(path, sizeof(path), "%s", in_folder("mine.log"));
    create(&p, path, 1 << 20, false, 1);
    for (int i = 0; i < 10; i++) {
        step(&p, i);
    }
    expect_refusal(path, 1 << 20, "a running process writes it");
    tide_snapshot *snapshot = recover(path, &report); /* reading it is allowed */
    assert_true(report.is_live && report.n_events == n_recorded(&p));
    tide_snapshot_destroy(snapshot);
    uint64_t n = n_recorded(&p);
    destroy(&p);
    snapshot = recover(path, &report);
    assert_true(report.is_closed && !report.is_live && report.n_events >= n);
    tide_snapshot_destroy(snapshot);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_true(status.st_size < 1 << 16); /* cut to what is used */
    create(&p, path, 1 << 20, false, 1);   /* it was closed: replaced */
    destroy(&p);
    assert_int_not_equal(access(in_folder("mine.log.old"), F_OK), 0);
    assert_int_equal(unlink(path), 0);
}

static void what_a_crash_left_is_kept(void **state) {
    (void)state;
    char path[2 * PATH];
    program p;
    tide_recover_report report;
    snprintf(path, sizeof(path), "%s", in_folder("again.log"));
    uint64_t n_reported = run_child(path, 1 << 20, 5, 20, 0);
    create(&p, path, 1 << 20, false, 1);
    destroy(&p);
    tide_snapshot *snapshot = recover(in_folder("again.log.old"), &report);
    assert_true(report.n_events >= n_reported);
    tide_snapshot_destroy(snapshot);
    (void)run_child(path, 1 << 20, 5, 20, 0);
    write_file(in_folder("again.log.old"), "something else");
    expect_refusal(path, 1 << 20, "run tidemark recover on it");
    assert_int_equal(unlink(in_folder("again.log.old")), 0);
    assert_int_equal(unlink(path), 0);
}

static void a_path_may_name_the_process(void **state) {
    (void)state;
    char path[2 * PATH];
    program p;
    create(&p, in_folder("a%p.log"), 1 << 20, false, 1);
    snprintf(path, sizeof(path), "%s/a%d.log", folder, (int)getpid());
    destroy(&p);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(setenv("TIDEMARK_LOG", in_folder("env.log"), 1), 0);
    create(&p, NULL, 1 << 20, false, 1);
    destroy(&p);
    assert_int_equal(unsetenv("TIDEMARK_LOG"), 0);
    assert_int_equal(unlink(in_folder("env.log")), 0);
}

static void what_is_no_log_is_told(void **state) {
    (void)state;
    tide_snapshot *snapshot = NULL;
    tide_recover_report report;
    tide_error error = {""};
    assert_int_equal(tide_recover(in_folder("absent"), NULL, &snapshot, &report, &error), TIDE_IO);
    assert_int_equal(tide_recover(folder, NULL, &snapshot, &report, &error), TIDE_IO);
    write_file(in_folder("x"), "hello");
    assert_int_equal(tide_recover(in_folder("x"), NULL, &snapshot, &report, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "it is no log of tidemark"));
    assert_int_equal(unlink(in_folder("x")), 0);
}

static int make_folder(void **state) {
    (void)state;
    const char *place = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%.200s/tidemark-recover-XXXXXX",
             place != NULL ? place : "/tmp");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_loses_nothing),
        cmocka_unit_test(an_abort_loses_nothing),
        cmocka_unit_test(a_kill_of_a_ring_loses_nothing),
        cmocka_unit_test(other_files_are_left_alone),
        cmocka_unit_test(a_log_has_one_writer),
        cmocka_unit_test(what_a_crash_left_is_kept),
        cmocka_unit_test(a_path_may_name_the_process),
        cmocka_unit_test(what_is_no_log_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
