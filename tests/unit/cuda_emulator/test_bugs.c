/* test_bugs.c - every planted bug is caught in the builds that can catch it, and a correct kernel
 * passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bugs.h"
#include "cuda_emulator.h"
#include "cuda_runtime_api.h"

/* How a run shows that something is wrong, as bits. */
enum {
    WRONG = 1,  /* the numbers are wrong */
    REPORT = 2, /* the emulator reports it, in the words below */
    STOP = 4,   /* a sanitizer ends the process */
    OTHER = 8   /* the emulator reports something else */
};

typedef struct expectation {
    bug planted;
    int plain, sanitized, race; /* at least these bits in some order; 0: not caught in this build */
    const char *words;          /* in the report */
} expectation;

static const expectation EXPECTED[] = {
    {BUG_NONE, 0, 0, 0, ""},
    {BUG_MISSING_BARRIER, WRONG, WRONG, REPORT, "bugs.cu:28: race on 'tile'"},
    {BUG_MISSING_BARRIER_ON_REUSE, 0, 0, REPORT, "race on 'tile'"},
    {BUG_MISSING_SYNCWARP, WRONG, WRONG, REPORT, "race on 'tile'"},
    {BUG_SHUFFLE_FOR_SYNCWARP, 0, 0, REPORT, "race on 'tile'"},
    {BUG_BLOCKS_RACE, 0, 0, REPORT, "race on device memory"},
    {BUG_SHARED_UNWRITTEN, WRONG, WRONG, REPORT, "which nothing has written"},
    {BUG_SHARED_STATIC_OUTSIDE, REPORT, STOP, REPORT, "utside of"},
    {BUG_SHARED_DYNAMIC_OUTSIDE, REPORT, STOP, REPORT, "utside of"},
    {BUG_GLOBAL_READ_OUTSIDE, 0, STOP, REPORT, "reads 4 bytes at"},
    {BUG_GLOBAL_WRITE_OUTSIDE, REPORT, STOP, REPORT, "memory"},
    {BUG_MISALIGNED_PACK, REPORT, REPORT, REPORT, "not aligned to 16"},
    {BUG_MISALIGNED_FLOAT4, 0, STOP, 0, ""},
    {BUG_PACK_OUTSIDE, REPORT, REPORT, REPORT, "reads 16 bytes at"},
    {BUG_HOST_POINTER, REPORT, REPORT, REPORT, "is not device memory"},
    {BUG_HOST_POINTER_IN_STRUCT, 0, 0, REPORT, "is not device memory"},
    {BUG_DIVERGENT_BARRIER, REPORT, REPORT, REPORT, "__syncthreads here, while thread"},
    {BUG_RETURN_BEFORE_BARRIER, REPORT, REPORT, REPORT, "7 have returned without it"},
    {BUG_DIVERGENT_SHUFFLE, REPORT, REPORT, REPORT, "bugs.cu"},
    {BUG_SHUFFLE_FROM_IDLE_LANE, REPORT, REPORT, REPORT, "which takes no part"},
    {BUG_WAIT_FOR_EVER, REPORT, REPORT, REPORT, "waits for ever"},
    {BUG_BLOCK_TOO_LARGE, REPORT, REPORT, REPORT, "blocks of (1056, 1, 1) threads"},
    {BUG_GRID_TOO_LARGE, REPORT, REPORT, REPORT, "grid of (1, 65536, 1)"},
    {BUG_GRID_EMPTY, REPORT, REPORT, REPORT, "grid of (0, 1, 1)"},
    {BUG_SHARED_TOO_LARGE, REPORT, REPORT, REPORT, "49153 bytes of shared memory"},
    {BUG_SHARED_SUM_TOO_LARGE, REPORT, REPORT, REPORT, "53248 bytes of shared memory"},
    {BUG_NO_DYNAMIC_SHARED, REPORT, STOP, REPORT, ""},
    {BUG_MISSING_COPY_WAIT, WRONG, WRONG, REPORT, "into which a copy is on its way"},
    {BUG_COPY_WITHOUT_BARRIER, WRONG, WRONG, REPORT, "tile"},
    {BUG_MATRIX_OF_HALF_A_WARP, REPORT, REPORT, REPORT, "of which ffff0000 have returned"},
    {BUG_MATRIX_ROW_MISALIGNED, REPORT, REPORT, REPORT, "not aligned to 16"},
    {BUG_MATRIX_NOT_ROUNDED, REPORT, REPORT, REPORT, "round it with tide_to_tf32"},
};

static int expected(const expectation *of) {
    if (TIDE_TEST_SANITIZED) {
        return of->sanitized;
    }
    return tide_emulator_detects_races() ? of->race : of->plain;
}

/* Whether the numbers equal a correct kernel's, for bugs that change numbers. */
static bool is_wrong(bug planted, const float *out, const float *in) {
    for (int t = 0; t < BUG_THREADS; t++) {
        float want = in[BUG_THREADS - 1 - t];
        switch (planted) {
        case BUG_NONE:
            want = in[BUG_THREADS - 1 - (t ^ 1)] + in[BUG_THREADS - 1 - (t ^ 2)];
            break;
        case BUG_MISSING_BARRIER:
        case BUG_MISSING_BARRIER_ON_REUSE:
        case BUG_MISSING_COPY_WAIT:
        case BUG_COPY_WITHOUT_BARRIER:
            break;
        case BUG_MISSING_SYNCWARP:
            want = in[t ^ 1];
            break;
        case BUG_SHARED_UNWRITTEN:
            want = t % 2 == 0 ? in[t] : 0;
            break;
        default:
            return false;
        }
        if (out[t] != want) {
            return true;
        }
    }
    return false;
}

static int run(const expectation *of, tide_emulator_order order) {
    float host[BUG_THREADS];
    float *in = tide_emulator_alloc(sizeof(host));
    float *out = tide_emulator_alloc(sizeof(host));
    for (int t = 0; t < BUG_THREADS; t++) {
        host[t] = in[t] = (float)(t + 1);
    }
    out[0] = 0;
    tide_emulator_set_quiet(true);
    tide_emulator_set_order(order, 11);
    const int result = bug_launch(of->planted, out, in, host, BUG_THREADS);
    int seen = is_wrong(of->planted, out, in) ? WRONG : 0;
    tide_emulator_release(in);
    tide_emulator_release(out);
    if (tide_emulator_n_reports() > 0) {
        const bool in_words = strstr(tide_emulator_last_report(), of->words) != NULL;
        seen |= in_words ? REPORT : OTHER;
        if (!in_words || of->planted == BUG_NONE) {
            print_message("bug %d: %s\n", (int)of->planted, tide_emulator_last_report());
        }
    } else if (result != cudaSuccess) {
        seen |= OTHER; /* refused without a report */
    }
    return seen;
}

/* Runs a kernel and returns what revealed the bug. Under a sanitizer, which may end the process,
 * the kernel runs in a child. */
static int outcome(const expectation *of, tide_emulator_order order) {
    if (!TIDE_TEST_SANITIZED) {
        const int seen = run(of, order);
        tide_emulator_set_quiet(false);
        tide_emulator_clear_reports();
        return seen;
    }
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (expected(of) == STOP && freopen("/dev/null", "w", stderr) == NULL) {
            _exit(OTHER);
        }
        const int seen = run(of, order);
        (void)fflush(NULL);
        _exit(100 + seen);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) < 100) {
        return STOP;
    }
    return WEXITSTATUS(status) - 100;
}

static void every_bug_is_caught(void **state) {
    (void)state;
    assert_int_equal(sizeof(EXPECTED) / sizeof(EXPECTED[0]), N_BUGS);
    for (size_t i = 0; i < N_BUGS; i++) {
        const expectation *of = &EXPECTED[i];
        int seen = 0;
        for (int order = 0; order < TIDE_EMULATOR_N_ORDERS; order++) {
            seen |= outcome(of, (tide_emulator_order)order);
        }
        const int wanted = expected(of);
        if ((seen & wanted) != wanted || (wanted == 0 && seen != 0) || (seen & OTHER) != 0) {
            fail_msg("bug %d: wanted outcome %d, saw %d", (int)of->planted, wanted, seen);
        }
    }
}

static void shared_memory_is_counted(void **state) {
    (void)state;
    float *out = tide_emulator_alloc(sizeof(*out));
    tide_emulator_set_quiet(true);
    assert_int_equal(shared_launch(out, 48 << 10, 0), cudaSuccess);
    assert_int_equal(shared_launch(out, (48 << 10) + 4, 0), cudaErrorInvalidValue);
    assert_int_equal(shared_launch(out, (227 << 10) + 4, 1), cudaErrorInvalidValue);
    assert_int_equal(shared_launch(out, 227 << 10, 1), cudaSuccess);
    tide_emulator_set_quiet(false);
    tide_emulator_clear_reports();
    tide_emulator_release(out);
    assert_int_equal(tide_emulator_n_reports(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bug_is_caught),
        cmocka_unit_test(shared_memory_is_counted),
    };
    return cmocka_run_group_tests_name("cuda_emulator.bugs", tests, NULL, NULL);
}
