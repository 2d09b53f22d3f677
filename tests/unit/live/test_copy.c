/* test_copy.c - the copy of a process can compute and answer, and nothing else: no files, no other
 * processes, and no end of its own choice.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/live/exports.h"
#include "programs/live/state_friend.h"

enum { LONG_MS = 60000, SHORT_MS = 50, BYTES = 1 << 16 };

static char kept[] = "/tmp/tidemark-copy-XXXXXX";

/* Stands in for the recording, which the copy must not begin. */
static bool stays_closed;

void tide_live_stay_closed(void) {
    stays_closed = true;
}

/* Each line is a name, and "0" if that was possible. */
static void try_all(int fd) {
    char text[512];
    char *memory = malloc(BYTES);
    int n = snprintf(text, sizeof(text),
                     "closed %d\nmemory %d\nopen %d\nunlink %d\nkill %d\nfork %d\nsocket "
                     "%d\nstdout %d\nexec %d\n",
                     stays_closed, memory == NULL, open(kept, O_WRONLY | O_APPEND) < 0,
                     unlink(kept) != 0, kill(getppid(), SIGTERM) != 0, fork() < 0,
                     socket(AF_UNIX, SOCK_STREAM, 0) < 0, write(STDOUT_FILENO, "x", 1) != 1,
                     execl("/bin/true", "true", (char *)NULL));
    free(memory);
    (void)!write(fd, text, (size_t)n);
}

static void a_copy_only_answers(void **state) {
    (void)state;
    char text[BYTES];
    int fd = -1;
    int file = mkstemp(kept);
    assert_true(file >= 0);
    int pid = tidemark_live_copy(&fd);
    if (pid == 0) {
        try_all(fd);
        tidemark_live_copy_end();
    }
    assert_true(pid > 0);
    size_t n = tidemark_live_copy_wait(pid, fd, text, sizeof(text) - 1, LONG_MS);
    text[n] = '\0';
    assert_string_equal(
        text,
        "closed 1\nmemory 0\nopen 1\nunlink 1\nkill 1\nfork 1\nsocket 1\nstdout 1\nexec -1\n");
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
    (void)close(file);
    (void)unlink(kept);
}

/* What it had written by then is kept. */
static void a_copy_that_does_not_end_is_ended(void **state) {
    (void)state;
    char text[BYTES];
    int fd = -1;
    int pid = tidemark_live_copy(&fd);
    if (pid == 0) {
        (void)!write(fd, "first\n", strlen("first\n"));
        for (volatile int i = 0;; i++) {
        }
    }
    assert_true(pid > 0);
    assert_int_equal(tidemark_live_copy_wait(pid, fd, text, sizeof(text), SHORT_MS),
                     strlen("first\n"));
    assert_memory_equal(text, "first\n", strlen("first\n"));
    assert_int_equal(waitpid(-1, NULL, 0), -1);
}

static void a_long_answer_is_cut(void **state) {
    (void)state;
    char text[BYTES];
    int fd = -1;
    int pid = tidemark_live_copy(&fd);
    if (pid == 0) {
        for (;;) {
            (void)!write(fd, text, sizeof(text));
        }
    }
    assert_true(pid > 0);
    assert_int_equal(tidemark_live_copy_wait(pid, fd, text, 10, LONG_MS), 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_copy_only_answers),
                                       cmocka_unit_test(a_copy_that_does_not_end_is_ended),
                                       cmocka_unit_test(a_long_answer_is_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
