/* test_promise.c - bytes of the card that are computed when they are read. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/values/promise.h"

enum { N_BYTES = 4, PATIENCE_S = 120 };

/* The progress of a promise. */
typedef struct progress {
    atomic_bool has_begun, may_end;
    atomic_int n_worked_out, n_released;
} progress;

static void pause_briefly(void) {
    const struct timespec pause = {.tv_nsec = 1000000};
    (void)nanosleep(&pause, NULL);
}

static bool work_out(void *ctx, unsigned char *to, size_t n_bytes) {
    progress *of = ctx;
    atomic_fetch_add(&of->n_worked_out, 1);
    atomic_store(&of->has_begun, true);
    while (!atomic_load(&of->may_end)) {
        pause_briefly();
    }
    memset(to, 7, n_bytes);
    return true;
}

static void release(void *ctx) {
    progress *of = ctx;
    atomic_fetch_add(&of->n_released, 1);
}

static const tide_vc_promise_kind KIND = {work_out, release};

static void *read_bytes(void *promise) {
    return (void *)(uintptr_t)tide_vc_promise_bytes(promise);
}

static void a_promise_is_worked_out_once(void **state) {
    (void)state;
    progress of = {.may_end = true};
    tide_vc_promise *made = tide_vc_promise_create(&KIND, &of, N_BYTES);
    assert_non_null(made);
    assert_false(tide_vc_promise_is_kept(made));
    const unsigned char *bytes = tide_vc_promise_bytes(made);
    assert_non_null(bytes);
    assert_int_equal(bytes[N_BYTES - 1], 7);
    assert_ptr_equal(tide_vc_promise_bytes(made), bytes);
    assert_true(tide_vc_promise_is_kept(made));
    tide_vc_promise_drop(made);
    assert_int_equal(of.n_worked_out, 1);
    assert_int_equal(of.n_released, 1);
}

/* The card's bytes are those of the promise, while a thread of the parent computes it. */
static int read_in_child(const void *card) {
    unsigned char bytes[N_BYTES] = {1, 1, 1, 1};
    (void)alarm(PATIENCE_S);
    bool is_known = tide_vc_known_read(bytes, card, N_BYTES);
    return is_known || bytes[0] != 0 ? 1 : 0;
}

static void a_forked_child_does_not_wait_for_a_thread_of_its_parent(void **state) {
    (void)state;
    progress of = {.may_end = false};
    void *card = NULL;
    pthread_t reader;
    void *bytes = NULL;
    int status = -1;
    assert_int_equal(cudaMalloc(&card, N_BYTES), 0);
    tide_vc_promise *made = tide_vc_promise_create(&KIND, &of, N_BYTES);
    tide_vc_known_promise(card, made, N_BYTES);
    assert_int_equal(pthread_create(&reader, NULL, read_bytes, made), 0);
    while (!atomic_load(&of.has_begun)) {
        pause_briefly();
    }
    pid_t child = fork();
    if (child == 0) {
        _exit(read_in_child(card));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    atomic_store(&of.may_end, true);
    assert_int_equal(pthread_join(reader, &bytes), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_non_null(bytes);
    tide_vc_promise_drop(made);
    assert_int_equal(cudaFree(card), 0);
    assert_int_equal(of.n_released, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_promise_is_worked_out_once),
        cmocka_unit_test(a_forked_child_does_not_wait_for_a_thread_of_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
