/* test_threads.c - threads and processes that change the same names at the same time. Of those that
 * create or remove one name, exactly one succeeds; no intermediate state is visible.
 */
#define _GNU_SOURCE /* mkdtemp */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "ground.h"

#include "programs/scratch/change.h"
#include "programs/scratch/listing.h"
#include "programs/scratch/opening.h"

enum { N_THREADS = 4, N_ROUNDS = 40, N_TURNS = 20 };

typedef struct race {
    atomic_int n_made, n_replaced, n_torn;
    atomic_int n_again, n_away; /* how often the existing file was made and removed */
} race;

/* A real file is removed and made again, so that a mark and a copy replace each other. */
static void come_and_go(race *r, int number) {
    char path[GROUND_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/user/file", ground);
    if (number % 2 == 0) {
        atomic_fetch_add(&r->n_away, tide_scratch_unlink(AT_FDCWD, path) == 0 ? 1 : 0);
        return;
    }
    int fd = tide_scratch_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    atomic_fetch_add(&r->n_again, fd >= 0 ? 1 : 0);
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* One round of a worker. `number` identifies the worker. */
static void play(race *r, int number, int round) {
    char name[64];
    (void)snprintf(name, sizeof(name), "folder/round_%d", round);
    int fd = tide_scratch_open(AT_FDCWD, user(name), O_WRONLY | O_CREAT | O_EXCL, 0644);
    atomic_fetch_add(&r->n_made, fd >= 0 ? 1 : 0);
    if (fd >= 0) {
        (void)close(fd);
    }
    char own[GROUND_PATH_BYTES];
    char shared[GROUND_PATH_BYTES];
    (void)snprintf(own, sizeof(own), "%s/user/folder/own_%d", ground, number);
    (void)snprintf(shared, sizeof(shared), "%s/user/folder/shared", ground);
    fd = tide_scratch_open(AT_FDCWD, own, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd >= 0 && write(fd, "whole", 5) == 5 &&
        tide_scratch_rename(AT_FDCWD, own, AT_FDCWD, shared, 0) == 0) {
        atomic_fetch_add(&r->n_replaced, 1);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    char text[8] = "";
    fd = tide_scratch_open(AT_FDCWD, shared, O_RDONLY, 0);
    if (fd < 0 || read(fd, text, sizeof(text)) != 5) {
        atomic_fetch_add(&r->n_torn, 1);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

typedef struct worker {
    race *r;
    int number;
} worker;

static void *work(void *argument) {
    const worker *w = argument;
    for (int round = 0; round < N_ROUNDS; round++) {
        play(w->r, w->number, round);
        for (int i = 0; i < N_TURNS; i++) {
            come_and_go(w->r, w->number + i);
        }
    }
    return NULL;
}

static void threads_share_the_view(void **state) {
    (void)state;
    race r = {0};
    pthread_t threads[N_THREADS];
    worker workers[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){&r, i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(r.n_made, N_ROUNDS);
    assert_int_equal(r.n_replaced, N_THREADS * N_ROUNDS);
    assert_int_equal(r.n_torn, 0);
    tide_scratch_place place;
    struct stat status;
    assert_int_equal(tide_scratch_look(AT_FDCWD, user("file"), TIDE_SCRATCH_FOLLOW, &place), 0);
    bool is_there = tide_scratch_status(&place, &status) == 0;
    assert_int_equal(r.n_away - r.n_again, is_there ? 0 : 1);
    assert_true(r.n_away > 1);
    assert_real(user("file"), "real");
    assert_real(user("folder/one"), "one");
}

/* Children remove the file "one": exactly one can. A child that is killed while it holds the lock
 * leaves it to the others. */
static void processes_share_the_view(void **state) {
    (void)state;
    pid_t children[N_THREADS];
    int n_taken = 0;
    pid_t killed = fork();
    assert_true(killed >= 0);
    if (killed == 0) {
        tide_scratch_lock();
        (void)raise(9);
    }
    assert_int_equal(waitpid(killed, NULL, 0), killed);
    for (int i = 0; i < N_THREADS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            _exit(tide_scratch_unlink(AT_FDCWD, user("folder/one")) == 0 ? 1 : 0);
        }
    }
    for (int i = 0; i < N_THREADS; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        n_taken += WEXITSTATUS(status);
    }
    assert_int_equal(n_taken, 1);
    assert_int_equal(tide_scratch_open(AT_FDCWD, user("folder/one"), O_RDONLY, 0), -ENOENT);
    assert_real(user("folder/one"), "one");
}

int main(int argc, char **argv) {
    begin_view(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_the_view),
        cmocka_unit_test(processes_share_the_view),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    remove_ground();
    return result;
}
