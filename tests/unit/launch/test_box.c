/* test_box.c - the rings that processes of a black box left. */
#define _GNU_SOURCE /* mkdtemp */
#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/launch/box/box.h"
#include "programs/launch/box/box_internal.h"
#include "programs/launch/document/document.h"
#include "snapshot/ranks/digest.h"
#include "support/made_log.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum { MAX_EVENTS = 64, MAX_BASE = 64, BLOCK = 4096 };
#define SECOND_NS INT64_C(1000000000)

static char folder[64];
static char ring[128];

static int set_up(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/tidemark-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(ring, sizeof(ring), "%s/node-rank3-17.ring", folder);
    return 0;
}

static int tear_down(void **state) {
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static int exists(const char *name) {
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* A segment and a block, ten seconds, and another block. */
static void write_ring(made_log *log, const char *keep_s) {
    made_log_open_at(log, ring, MAX_EVENTS, MAX_BASE);
    if (keep_s != NULL) {
        made_log_text(log, "live.keep_s", keep_s);
    }
    made_log_event(log, TIDE_ACTION_SEGMENT_ALLOC, 1 << 20, 2 << 20);
    made_log_event(log, TIDE_ACTION_ALLOC, 1 << 20, BLOCK);
    made_log_event(log, TIDE_ACTION_ALLOC, (1 << 20) + BLOCK, BLOCK);
    made_log_event(log, TIDE_ACTION_FREE, (1 << 20) + BLOCK, BLOCK);
    log->time_ns += 10 * SECOND_NS;
    made_log_event(log, TIDE_ACTION_ALLOC, (1 << 20) + 2 * BLOCK, BLOCK);
}

static void a_ring_of_a_killed_process_becomes_two_files(void **state) {
    (void)state;
    made_log log;
    tide_box_folder box;
    write_ring(&log, NULL);
    made_log_kill(&log);
    assert_int_equal(tide_box_recover(folder, &box, NULL), TIDE_OK);
    assert_int_equal(box.n_rings, 1);
    assert_int_equal(box.n_made, 1);
    assert_true(exists("node-rank3-17.json.gz") && exists("node-rank3-17.digest.json.gz"));
    assert_false(exists("node-rank3-17.ring"));
    assert_int_equal(tide_box_recover(folder, &box, NULL), TIDE_OK);
    assert_int_equal(box.n_rings, 0);
}

static void a_ring_without_events_is_removed(void **state) {
    (void)state;
    made_log log;
    tide_box_folder box;
    made_log_open_at(&log, ring, 100, 100);
    made_log_kill(&log);
    assert_int_equal(tide_box_recover(folder, &box, NULL), TIDE_OK);
    assert_int_equal(box.n_rings + box.n_made + box.n_failed, 0);
    assert_false(exists("node-rank3-17.ring") || exists("node-rank3-17.json.gz"));
}

static void a_ring_on_another_machine_stays(void **state) {
    (void)state;
    tide_box_folder box;
    assert_int_equal(symlink("/nowhere/node-rank3-17.ring", ring), 0);
    assert_int_equal(tide_box_recover(folder, &box, NULL), TIDE_OK);
    assert_int_equal(box.n_failed, 0);
    assert_int_equal(box.n_elsewhere, 1);
    assert_non_null(strstr(box.elsewhere, "another machine"));
    assert_int_equal(unlink(ring), 0);
}

/* A link with this machine's name before and after `middle`, whose ring is missing. */
static void link_to_nothing(const char *middle, char ret_path[512]) {
    char host[128] = "";
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    host[strcspn(host, ".")] = '\0';
    (void)snprintf(ret_path, 512, "%s/%s%s.ring", folder, host, middle);
    assert_int_equal(symlink("/nowhere/of.ring", ret_path), 0);
}

static void a_ring_that_this_machine_lost_is_forgotten(void **state) {
    (void)state;
    char path[512];
    struct stat info;
    tide_box_folder box;
    const struct timespec long_ago[] = {{.tv_sec = 1}, {.tv_sec = 1}};
    const char *const ours[] = {"-17", "-rank3-17"};
    const char *const theirs[] = {"-17-2", "x-17", "-rank-17", "-rank3-", "-b-17"};
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        link_to_nothing(ours[i], path);
        assert_int_equal(tide_box_recover(folder, &box, NULL), TIDE_OK);
        assert_int_equal(box.n_failed, 1); /* a container of this machine may have it */
        assert_non_null(strstr(box.message, "is missing"));
        assert_int_equal(utimensat(AT_FDCWD, path, long_ago, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(tide_box_recover(folder, &box, NULL), TIDE_OK);
        assert_int_equal(box.n_rings + box.n_failed + box.n_elsewhere, 0);
        assert_int_not_equal(lstat(path, &info), 0);
    }
    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
        link_to_nothing(theirs[i], path);
        assert_int_equal(utimensat(AT_FDCWD, path, long_ago, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(tide_box_recover(folder, &box, NULL), TIDE_OK);
        assert_int_equal(box.n_elsewhere, 1);
        assert_int_equal(unlink(path), 0);
    }
}

/* The watched process, killed between the removals of its link and its ring. */
static void write_and_lose_link(int from, int to, const char *target, const char *link) {
    char byte = 0;
    made_log log;
    made_log_open_at(&log, target, MAX_EVENTS, MAX_BASE);
    made_log_event(&log, TIDE_ACTION_SEGMENT_ALLOC, 1 << 20, 2 << 20);
    if (symlink(target, link) != 0 || write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1) {
        _exit(1);
    }
    made_log_close(&log);
    (void)unlink(link);
    _exit(0);
}

static void a_ring_without_its_link_is_removed(void **state) {
    (void)state;
    enum { TRIES = 1000, TRY_NS = 10000000 };
    const struct timespec pause = {.tv_nsec = TRY_NS};
    int up[2], down[2];
    char byte = 0, target[256];
    (void)snprintf(target, sizeof(target), "%s/memory", folder);
    assert_int_equal(pipe(up) | pipe(down), 0);
    pid_t child = fork();
    if (child == 0) {
        write_and_lose_link(down[0], up[1], target, ring);
    }
    assert_int_equal(read(up[0], &byte, 1), 1);
    assert_int_equal(tide_box_watch(ring, NULL), TIDE_OK);
    assert_true(exists("memory"));
    assert_int_equal(write(down[1], &byte, 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (int i = 0; i < TRIES && exists("memory"); i++) {
        (void)nanosleep(&pause, NULL);
    }
    assert_false(exists("memory"));
    (void)(close(up[0]) | close(up[1]) | close(down[0]) | close(down[1]));
}

/* A child that has not been waited for yet, and later. */
static void expect_end(int how, int signal_number, const char *expected) {
    char text[TIDE_ENDED_BYTES] = "";
    siginfo_t ended;
    pid_t child = fork();
    if (child == 0) {
        (void)signal(signal_number, SIG_DFL);
        (void)raise(signal_number);
        _exit(how);
    }
    int descriptor = (int)syscall(SYS_pidfd_open, child, 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    assert_true(tide_box_how_ended(-1, child, text));
    assert_string_equal(text, expected);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(tide_box_how_ended(-1, child, text));
    if (tide_box_how_ended(descriptor, child, text)) { /* as of Linux 6.15 */
        assert_string_equal(text, expected);
    }
    (void)close(descriptor);
}

static void the_end_of_a_process_is_known(void **state) {
    (void)state;
    expect_end(0, 0, "status 0");
    expect_end(7, 0, "status 7");
    expect_end(0, SIGKILL, "SIGKILL");
    expect_end(0, SIGTERM, "SIGTERM");
    expect_end(0, SIGRTMIN, "signal 34");
}

/* A child of another user, seen without the right to trace it. */
static int end_of_another_user(int signal_number, char ret_text[TIDE_ENDED_BYTES]) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3];
    const uid_t other = 65534;
    siginfo_t ended;
    if (syscall(SYS_capget, &head, rights) != 0) {
        return -1;
    }
    rights[0].effective &= ~(UINT32_C(1) << CAP_SYS_PTRACE);
    if (syscall(SYS_capset, &head, rights) != 0) {
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        if (setresuid(other, other, other) != 0) {
            _exit(77); /* a root without this right: nothing is tested */
        }
        (void)raise(signal_number);
        _exit(0);
    }
    bool is_known = child > 0 && waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) == 0 &&
                    tide_box_how_ended(-1, child, ret_text);
    return is_known && strcmp(ret_text, "status 77") != 0;
}

static void a_hidden_status_is_no_success(void **state) {
    (void)state;
    const int signals[] = {SIGKILL, 0};
    if (geteuid() != 0) {
        skip(); /* only root has children of other users */
    }
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        char text[TIDE_ENDED_BYTES] = "";
        int status = 0;
        pid_t asker = fork();
        if (asker == 0) {
            _exit(end_of_another_user(signals[i], text));
        }
        assert_int_equal(waitpid(asker, &status, 0), asker);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0); /* unknown */
    }
}

static void a_digest_gets_its_end(void **state) {
    (void)state;
    made_log log;
    tide_digest *digest = NULL;
    tide_arena arena;
    char path[256];
    write_ring(&log, NULL);
    made_log_kill(&log);
    assert_int_equal(tide_box_write(ring, &(tide_box_ended){.text = ""}, NULL), TIDE_OK);
    assert_int_equal(
        tide_box_add_end(ring, &(tide_box_ended){.text = "SIGBUS", .unix_us = 5}, NULL), TIDE_OK);
    tide_arena_init(&arena, tide_hostmem_default());
    (void)snprintf(path, sizeof(path), "%s/node-rank3-17.digest.json.gz", folder);
    assert_int_equal(tide_digest_load(path, &arena, &digest, NULL), TIDE_OK);
    assert_string_equal(digest->ended, "SIGBUS");
    assert_int_equal(digest->ended_unix_us, 5);
    tide_arena_fini(&arena);
}

static void a_file_that_is_no_ring_stays(void **state) {
    (void)state;
    tide_box_folder box;
    FILE *file = fopen(ring, "w");
    assert_non_null(file);
    (void)fputs("mine", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(tide_box_recover(folder, &box, NULL), TIDE_OK);
    assert_int_equal(box.n_failed, 1);
    assert_non_null(strstr(box.message, "is no log of tidemark"));
    assert_true(exists("node-rank3-17.ring"));
    assert_int_equal(tide_box_recover("/nowhere", &box, NULL), TIDE_IO);
}

/* The events and the blocks at the start. */
static void expect_window(const char *keep_s, size_t n_events, int64_t n_dropped, size_t n_blocks) {
    made_log log;
    tide_snapshot *snapshot = NULL;
    tide_recover_report report;
    size_t n_used = 0;
    write_ring(&log, keep_s);
    made_log_kill(&log);
    assert_int_equal(tide_launch_recover(ring, &snapshot, &report, NULL), TIDE_OK);
    assert_int_equal(report.n_events, n_events);
    assert_int_equal(report.n_dropped, n_dropped);
    for (size_t i = 0; i < snapshot->n_start_blocks; i++) {
        n_used += snapshot->start_blocks[i].state == TIDE_BLOCK_ALLOCATED;
    }
    assert_int_equal(n_used, n_blocks);
    tide_snapshot_destroy(snapshot);
    assert_int_equal(unlink(ring), 0);
}

static void a_window_keeps_what_was_alive_before_it(void **state) {
    (void)state;
    expect_window(NULL, 5, 0, 0);
    expect_window("20", 5, 0, 0);
    expect_window("5", 1, 4, 1);
    expect_window("no number", 5, 0, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_ring_of_a_killed_process_becomes_two_files, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_ring_without_events_is_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_ring_on_another_machine_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_ring_that_this_machine_lost_is_forgotten, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_ring_without_its_link_is_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_digest_gets_its_end, set_up, tear_down),
        cmocka_unit_test(the_end_of_a_process_is_known),
        cmocka_unit_test(a_hidden_status_is_no_success),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_ring_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_window_keeps_what_was_alive_before_it, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
