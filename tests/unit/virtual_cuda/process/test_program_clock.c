/* test_program_clock.c - a program that sees the forecast's clock: its times are those of a replay
 * of its launch log, and its clocks never go back. Waits are in test_program_waits.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/hostmem.h"
#include "programs/wire/run_launches.h"
#include "device/cards.h"
#include "programs/step_time/log.h"
#include "programs/step_time/pace.h"
#include "programs/step_time/replay.h"
#include "unit/virtual_cuda/process/test_clock.h"
#include "unit/virtual_cuda/test_folder.h"

int cudaMalloc(void **address, size_t n_bytes);
int cudaMemcpy(void *to, const void *from, size_t n_bytes, int kind);
int cudaMemsetAsync(void *to, int value, size_t n_bytes, void *stream);
int cudaStreamCreateWithFlags(void **stream, unsigned flags);
int cudaStreamSynchronize(void *stream);
int cudaStreamWaitEvent(void *stream, void *event, unsigned flags);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int cudaGraphInstantiate(void **executable, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *executable, void *stream);
int cudaGraphExecDestroy(void *executable);
int cudaGraphDestroy(void *graph);
int cudaStreamDestroy(void *stream);
int cudaFree(void *address);
int cudaDeviceSynchronize(void);
int cudaEventCreate(void **event);
int cudaEventDestroy(void *event);
int cudaEventRecord(void *event, void *stream);
int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags);
int cudaEventSynchronize(void *event);
int cudaEventElapsedTime(float *ret_ms, void *begin, void *end);

enum { EXTERNAL = 1 }; /* cudaEventRecordExternal */

static char folder[CLOCK_FOLDER];
static void *memory, *stream, *other, *begin_event, *end_event, *between_event;

static void work(void *on) {
    assert_int_equal(cudaMemsetAsync(memory, 0, 4, on), 0);
}

static double elapsed_seconds(void) {
    float ms = 0.0f;
    assert_int_equal(cudaEventElapsedTime(&ms, begin_event, end_event), 0);
    return 1e-3 * (double)ms;
}

/* ---- the model ---- */

/* Work on two streams, one after the other by an event, then a graph of two, then a copy that
 * waits. */
static void a_scene(void) {
    void *graph = NULL;
    void *executable = NULL;
    char host[4];
    assert_int_equal(cudaEventRecord(begin_event, stream), 0);
    work(stream);
    work(other);
    assert_int_equal(cudaEventRecord(between_event, other), 0);
    assert_int_equal(cudaStreamWaitEvent(stream, between_event, 0), 0);
    work(stream);
    assert_int_equal(cudaStreamBeginCapture(other, 0), 0);
    work(other);
    work(other);
    assert_int_equal(cudaStreamEndCapture(other, &graph), 0);
    assert_int_equal(cudaGraphInstantiate(&executable, graph, 0), 0);
    assert_int_equal(cudaGraphLaunch(executable, stream), 0);
    assert_int_equal(cudaMemcpy(host, memory, 4, 2), 0);
    assert_int_equal(cudaEventRecord(end_event, stream), 0);
    assert_int_equal(cudaEventSynchronize(end_event), 0);
    assert_int_equal(cudaGraphExecDestroy(executable), 0);
    assert_int_equal(cudaGraphDestroy(graph), 0);
}

static tide_time_log read_log(void) {
    char path[128];
    tide_time_log log;
    (void)snprintf(path, sizeof(path), "%s/%ld.launches", folder, (long)getpid());
    assert_int_equal(tide_time_log_read(tide_hostmem_default(), path, &log, NULL), TIDE_OK);
    return log;
}

/* The time from the first record to the last wait, by a replay of this process' log. */
static double replayed_seconds(void) {
    tide_time_log log = read_log();
    tide_time_model model;
    tide_time_card card;
    tide_time_totals totals;
    const tide_time_factors factors = {HOST, TIDE_TIME_LIKELY, false};
    assert_int_equal(tide_time_card_of(tide_card_find("h100-80"), &card, NULL), TIDE_OK);
    assert_int_equal(tide_time_model_init(&log, &PACE.constants, &card, &model), TIDE_OK);
    size_t first = 0;
    while (first < log.n_rows && log.rows[first].kind != TIDE_RUN_RECORD) {
        first++;
    }
    assert_int_equal(log.rows[log.n_rows - 1].kind, TIDE_RUN_WAIT_EVENT);
    assert_int_equal(tide_time_replay(&model, &factors, first, log.n_rows, NULL, &totals), TIDE_OK);
    tide_time_model_fini(&model);
    tide_time_log_fini(&log);
    return 1e-6 * totals.total_us;
}

/* An elapsed time is a float: 24 bits of some 1e5 ms. */
#define FLOAT_S (1e-3 * 1e5 / (1 << 23))

static void events_have_the_times_of_a_replay(void **state) {
    (void)state;
    double real_before = real_seconds(); /* first, so that the real span contains the program's */
    double before = seconds(CLOCK_MONOTONIC);
    a_scene();
    double program = seconds(CLOCK_MONOTONIC) - before;
    double real = real_seconds() - real_before;
    double elapsed = elapsed_seconds();
    assert_float_equal(elapsed, replayed_seconds(), FLOAT_S);
    /* By hand. Launches cost the host 0.5 s each. `other` begins at 1.0 s and ends at 11.0 s, and
     * only then the second work of `stream`, to 21 s; the graph to 41 s. The copy goes over the
     * link of another stream, which is done by then. */
    assert_true(elapsed >= 41.0 - FLOAT_S && elapsed < 41.0 + HOST * real + FLOAT_S);
    assert_true(program >= elapsed - FLOAT_S);
    assert_true(program < elapsed + HOST * real + FLOAT_S);
}

/* An event that a graph records has the time of the launch, at its place in the graph; the log has
 * the same. */
static void an_event_of_a_graph_has_the_time_of_its_launch(void **state) {
    void *graph = NULL, *executable = NULL;
    float ms = 0.0f;
    (void)state;
    assert_int_equal(cudaStreamBeginCapture(other, 0), 0);
    work(other);
    assert_int_equal(cudaEventRecordWithFlags(between_event, other, EXTERNAL), 0);
    work(other);
    work(other);
    assert_int_equal(cudaEventRecordWithFlags(end_event, other, EXTERNAL), 0);
    work(other);
    assert_int_equal(cudaStreamEndCapture(other, &graph), 0);
    assert_int_equal(cudaGraphInstantiate(&executable, graph, 0), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(cudaStreamSynchronize(stream), 0);
        double real_before = real_seconds();
        double before = seconds(CLOCK_MONOTONIC);
        assert_int_equal(cudaEventRecord(begin_event, stream), 0);
        assert_int_equal(cudaGraphLaunch(executable, stream), 0);
        assert_int_equal(cudaEventSynchronize(end_event), 0);
        double waited = seconds(CLOCK_MONOTONIC) - before;
        double real = HOST * (real_seconds() - real_before);
        /* By hand. The launch costs the host 0.5 s once; then work ends at 10.5, 20.5, 30.5 and
         * 40.5 s. */
        assert_int_equal(cudaEventElapsedTime(&ms, between_event, end_event), 0);
        double between = 1e-3 * (double)ms;
        assert_float_equal(between, 2 * WORK_S, FLOAT_S);
        double elapsed = elapsed_seconds();
        assert_true(elapsed >= 30.5 - FLOAT_S && elapsed < 30.5 + real + FLOAT_S);
        assert_true(waited >= 30.5 - 1e-6 && waited < 30.5 + real + 1e-6);
        assert_int_equal(cudaStreamSynchronize(stream), 0);
        waited = seconds(CLOCK_MONOTONIC) - before;
        real = HOST * (real_seconds() - real_before);
        assert_true(waited >= 40.5 - 1e-6 && waited < 40.5 + real + 1e-6);
    }
    assert_int_equal(cudaGraphExecDestroy(executable), 0);
    assert_int_equal(cudaGraphDestroy(graph), 0);
}

/* A graph that is launched in a capture becomes a piece of it, with its events. */
static void a_graph_inside_another_takes_its_time_there(void **state) {
    void *inner = NULL, *outer = NULL, *inner_ready = NULL, *outer_ready = NULL;
    (void)state;
    assert_int_equal(cudaStreamBeginCapture(stream, 0), 0);
    work(stream);
    assert_int_equal(cudaEventRecordWithFlags(end_event, stream, EXTERNAL), 0);
    work(stream);
    assert_int_equal(cudaStreamEndCapture(stream, &inner), 0);
    assert_int_equal(cudaGraphInstantiate(&inner_ready, inner, 0), 0);
    assert_int_equal(cudaDeviceSynchronize(), 0);
    double real_before = real_seconds();
    double before = seconds(CLOCK_MONOTONIC);
    assert_int_equal(cudaStreamBeginCapture(stream, 0), 0);
    work(stream);
    assert_int_equal(cudaGraphLaunch(inner_ready, stream), 0);
    assert_int_equal(cudaStreamEndCapture(stream, &outer), 0);
    assert_int_equal(cudaGraphInstantiate(&outer_ready, outer, 0), 0);
    assert_int_equal(cudaEventRecord(begin_event, stream), 0);
    assert_int_equal(cudaGraphLaunch(outer_ready, stream), 0);
    assert_int_equal(cudaStreamSynchronize(stream), 0);
    double waited = seconds(CLOCK_MONOTONIC) - before;
    double real = HOST * (real_seconds() - real_before);
    double elapsed = elapsed_seconds();
    assert_true(elapsed >= 20.5 - FLOAT_S && elapsed < 20.5 + real + FLOAT_S);
    assert_true(waited >= 30.5 - 1e-6 && waited < 30.5 + real + 1e-6);
    assert_int_equal(cudaGraphExecDestroy(inner_ready), 0);
    assert_int_equal(cudaGraphExecDestroy(outer_ready), 0);
    assert_int_equal(cudaGraphDestroy(inner), 0);
    assert_int_equal(cudaGraphDestroy(outer), 0);
}

/* A graph waits for the last record of an event before the launch. */
static void a_graph_waits_for_an_event_from_outside(void **state) {
    void *graph = NULL, *executable = NULL;
    (void)state;
    assert_int_equal(cudaStreamBeginCapture(stream, 0), 0);
    assert_int_equal(cudaStreamWaitEvent(stream, between_event, EXTERNAL), 0);
    assert_int_equal(cudaEventRecordWithFlags(end_event, stream, EXTERNAL), 0);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), 0);
    assert_int_equal(cudaGraphInstantiate(&executable, graph, 0), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(cudaDeviceSynchronize(), 0);
        double real_before = real_seconds();
        assert_int_equal(cudaEventRecord(begin_event, stream), 0);
        work(other);
        assert_int_equal(cudaEventRecord(between_event, other), 0);
        assert_int_equal(cudaGraphLaunch(executable, stream), 0);
        assert_int_equal(cudaEventSynchronize(end_event), 0);
        double real = HOST * (real_seconds() - real_before);
        double elapsed = elapsed_seconds();
        assert_true(elapsed >= 10.5 - FLOAT_S && elapsed < 10.5 + real + FLOAT_S);
    }
    assert_int_equal(cudaGraphExecDestroy(executable), 0);
    assert_int_equal(cudaGraphDestroy(graph), 0);
}

static void a_wait_moves_every_clock_and_real_time_stays_real(void **state) {
    static const clockid_t CLOCKS[] = {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME,
                                       CLOCK_REALTIME, CLOCK_REALTIME_COARSE};
    enum { N = sizeof(CLOCKS) / sizeof(CLOCKS[0]) };
    /* Not by its name: the header declares that the first argument is not NULL. */
    int (*volatile ask_day)(struct timeval *, void *) = gettimeofday;
    struct timeval day;
    struct timezone zone;
    double before[N];
    (void)state;
    double real_before = real_seconds();
    double processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
    int64_t date_us = tide_clock_unix_us();
    for (size_t i = 0; i < N; i++) {
        before[i] = seconds(CLOCKS[i]);
    }
    for (size_t i = 0; i < N_AHEAD; i++) {
        work(stream);
    }
    assert_int_equal(cudaStreamSynchronize(stream), 0);
    for (size_t i = 0; i < N; i++) {
        assert_true(seconds(CLOCKS[i]) - before[i] >= LAUNCH_S * HOST + AHEAD_S - 1e-6);
    }
    assert_int_equal(gettimeofday(&day, NULL), 0);
    assert_true((double)day.tv_sec - before[3] >= AHEAD_S - 1.0);
    assert_true((double)time(NULL) - before[3] >= AHEAD_S - 1.0);
    zone.tz_dsttime = 1;
    assert_int_equal(ask_day(NULL, &zone), 0); /* the zone alone */
    assert_int_equal(zone.tz_dsttime, 0);
    /* The tool's own clocks are those of the machine. */
    assert_true(real_seconds() - real_before < AHEAD_S);
    assert_true((double)(tide_clock_unix_us() - date_us) < AHEAD_S * 1e6);
    assert_true(seconds(CLOCK_PROCESS_CPUTIME_ID) - processor < AHEAD_S);
}

static void a_launch_alone_does_not_wait(void **state) {
    (void)state;
    double real_before = real_seconds();
    double before = seconds(CLOCK_MONOTONIC);
    work(stream);
    double passed = seconds(CLOCK_MONOTONIC) - before;
    double real = real_seconds() - real_before;
    assert_true(passed >= LAUNCH_S * HOST - 1e-6 && passed <= LAUNCH_S * HOST + HOST * real + 1e-6);
    assert_int_equal(cudaDeviceSynchronize(), 0);
    assert_true(seconds(CLOCK_MONOTONIC) - before >= LAUNCH_S * HOST + WORK_S - 1e-6);
}

/* The time of many calls on the program's clock beyond the log's host time between them, as a share
 * of the real time of the calls: 0 except for the time before the first and after the last. */
static double share_of_calls_counted(void) {
    enum { N_CALLS = 5000 };
    double before = seconds(CLOCK_MONOTONIC);
    double real_before = real_seconds();
    for (size_t i = 0; i < N_CALLS; i++) {
        assert_int_equal(cudaEventRecord(begin_event, stream), 0);
    }
    double passed = seconds(CLOCK_MONOTONIC) - before;
    double real = real_seconds() - real_before;
    tide_time_log log = read_log();
    double between =
        1e-9 * (double)(log.rows[log.n_rows - 1].host_ns - log.rows[log.n_rows - N_CALLS].host_ns);
    tide_time_log_fini(&log);
    return (passed - HOST * between) / (HOST * (real - between));
}

/* The time that this machine spends in calls of the virtual card is not program time. Another
 * process may run just before the first or after the last call, so the best of some tries counts.
 */
static void time_in_calls_does_not_count(void **state) {
    double least = 1.0;
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        least = fmin(least, share_of_calls_counted());
    }
    assert_true(least < 0.5);
}

/* ---- threads ---- */

enum { N_THREADS = 4, N_LOOKS = 20000 };
static _Atomic int64_t latest_ns;
static atomic_int n_back;

/* `argument`: an event to record, which takes the call's time off the clock again; NULL: only read
 * the clock. */
static void *look(void *argument) {
    for (int i = 0; i < N_LOOKS; i++) {
        struct timespec now;
        int64_t before = atomic_load(&latest_ns);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        atomic_fetch_add(&n_back, now_ns < before);
        while (before < now_ns && !atomic_compare_exchange_weak(&latest_ns, &before, now_ns)) {
        }
        if (argument != NULL) {
            (void)cudaEventRecord(argument, stream);
        }
        if (argument != NULL && i % 100 == 0) {
            (void)cudaMemsetAsync(memory, 0, 4, stream);
            (void)cudaStreamSynchronize(stream);
        }
    }
    return NULL;
}

static void no_thread_sees_the_clock_go_back(void **state) {
    pthread_t threads[N_THREADS];
    void *const events[N_THREADS] = {begin_event, end_event};
    (void)state;
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, look, events[i]), 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&n_back), 0);
}

static void a_fork_goes_on(void **state) {
    int status = 1;
    (void)state;
    double before = seconds(CLOCK_MONOTONIC);
    pid_t child = fork();
    if (child == 0) {
        double begun = seconds(CLOCK_MONOTONIC);
        work(stream);
        (void)cudaDeviceSynchronize();
        _exit(begun >= before && seconds(CLOCK_MONOTONIC) - begun >= WORK_S ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* System calls by number return the program's time, and the kernel's errors. */
static void the_kernel_tells_the_time_of_the_program(void **state) {
    struct timespec now;
    struct timeval day;
    struct timezone zone = {.tz_dsttime = 1};
    (void)state;
    work(stream);
    assert_int_equal(cudaStreamSynchronize(stream), 0); /* the real clocks are 10 s late */
    double before = seconds(CLOCK_MONOTONIC);
    assert_int_equal(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now), 0);
    assert_true((double)now.tv_sec + 1e-9 * (double)now.tv_nsec >= before - 1e-6);
    before = seconds(CLOCK_REALTIME);
    assert_int_equal(syscall(SYS_gettimeofday, &day, &zone), 0);
    assert_true((double)day.tv_sec + 1e-6 * (double)day.tv_usec >= before - 2e-6);
    assert_int_equal(zone.tz_dsttime, 0);
    assert_int_equal(syscall(SYS_gettimeofday, NULL, NULL), 0);
#ifdef SYS_time
    time_t whole = 0;
    assert_true((double)syscall(SYS_time, &whole) >= before - 1.0);
    assert_true((double)whole >= before - 1.0);
    assert_true((double)syscall(SYS_time, NULL) >= before - 1.0);
#endif
    double processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
    assert_int_equal(syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    assert_true((double)now.tv_sec + 1e-9 * (double)now.tv_nsec - processor < WORK_S);
    assert_int_equal(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, NULL), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(syscall(SYS_clock_gettime, 12345, &now), -1);
    assert_int_equal(errno, EINVAL);
}

/* ---- */

static int set_up(void **state) {
    (void)state;
    return cudaMalloc(&memory, 4096) + cudaStreamCreateWithFlags(&stream, 1) +
           cudaStreamCreateWithFlags(&other, 1) + cudaEventCreate(&begin_event) +
           cudaEventCreate(&end_event) + cudaEventCreate(&between_event);
}

static int tear_down(void **state) {
    (void)state;
    return cudaEventDestroy(begin_event) + cudaEventDestroy(end_event) +
           cudaEventDestroy(between_event) + cudaStreamDestroy(stream) + cudaStreamDestroy(other) +
           cudaFree(memory) + remove_folder(folder);
}

int main(int argc, char **argv) {
    (void)argc;
    if (!clock_begin(argv, folder)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_have_the_times_of_a_replay), /* first: it reads the whole log */
        cmocka_unit_test(an_event_of_a_graph_has_the_time_of_its_launch),
        cmocka_unit_test(a_graph_waits_for_an_event_from_outside),
        cmocka_unit_test(a_graph_inside_another_takes_its_time_there),
        cmocka_unit_test(a_wait_moves_every_clock_and_real_time_stays_real),
        cmocka_unit_test(a_launch_alone_does_not_wait),
        cmocka_unit_test(time_in_calls_does_not_count),
        cmocka_unit_test(no_thread_sees_the_clock_go_back),
        cmocka_unit_test(a_fork_goes_on),
        cmocka_unit_test(the_kernel_tells_the_time_of_the_program),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
