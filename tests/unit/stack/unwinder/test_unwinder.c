/* test_unwinder.c - compares every captured stack with those of libunwind and glibc: frames of all
 * kinds in random order, deep and cut stacks, jumps, signals, coroutines, threads, libraries
 * without tables, and libraries that are loaded in the place of others.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "stack/walk_internal.h"
#include "unit/stack/unwinder/frames.h"
#include "unit/stack/unwinder/unwinder_check.h"

/* AddressSanitizer adds space around that of alloca, so places on the stack cannot be chosen.
 * ThreadSanitizer reports allocations inside signal handlers, even if the thread raised the signal.
 */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#endif
#ifndef HAS_ADDRESS_SANITIZER
#define HAS_ADDRESS_SANITIZER 0
#endif
#ifndef HAS_THREAD_SANITIZER
#define HAS_THREAD_SANITIZER 0
#endif

static unwinder_check stacks;

static void begin(int max_frames) {
    if (!TIDE_HAVE_STACK_WALK || !unwinder_check_begin(&stacks, max_frames)) {
        skip();
    }
}

static tide_unwinder_stats end(void) {
    tide_unwinder_stats stats;
    assert_true(unwinder_check_end(&stacks, &stats));
    print_message("%zu captures: %zu remembered, %zu frames walked, %zu left to libunwind\n",
                  (size_t)stats.n_captures, (size_t)stats.n_remembered,
                  (size_t)stats.n_frames_walked, (size_t)stats.n_given_up);
    return stats;
}

static void capture(void *data) {
    (void)data;
    unwinder_check_capture(&stacks);
}

static uint64_t random_bits(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 11 ^ *seed << 17;
}

/* Changes the path so that it has only frames which our walk knows: all kinds but the realigned
 * one. */
static uint64_t ordinary(uint64_t path) {
    for (unsigned shift = 0; shift + 3 <= 63; shift += 3) {
        if ((path >> shift & 7) == 4) {
            path ^= (uint64_t)1 << shift;
        }
    }
    return path;
}

static volatile unsigned n_times = 2; /* unknown to the compiler: one call, one return address */

/* Follows n_ways paths, each twice. Most share their outer frames with the path before, as the
 * stacks of a program do. */
static void go_all_ways(frames_function *frames, size_t n_ways, bool only_ordinary) {
    uint64_t seed = 20;
    uint64_t path = 0;
    for (size_t i = 0; i < n_ways; i++) {
        /* The outermost functions are chosen by the lowest bits. */
        unsigned n_kept = (unsigned)(random_bits(&seed) % 60);
        uint64_t mask = ((uint64_t)1 << n_kept) - 1;
        path = (path & mask) | (random_bits(&seed) & ~mask);
        path = only_ordinary ? ordinary(path) : path;
        unsigned depth = (unsigned)(random_bits(&seed) % 21);
        for (unsigned n = 0; n < n_times; n++) {
            frames(path, depth, capture, NULL);
        }
    }
}

static void frames_of_all_kinds(void **state) {
    (void)state;
    begin(128);
    go_all_ways(tide_test_frames, 3000, true);
    tide_unwinder_stats stats = end();
    assert_int_equal(stats.n_captures, 6000);
    assert_int_equal(stats.n_given_up, 0);
    assert_int_equal(stats.n_checked, 6000);
    assert_true(stats.n_remembered > 1000);
    assert_true(stats.n_frames_walked < 12 * 6000);
}

/* A stack that libunwind walked must not change what the thread remembers for the others. */
static void realigned_frames_are_left_to_libunwind(void **state) {
    (void)state;
    begin(128);
    go_all_ways(tide_test_frames, 1000, false);
    tide_unwinder_stats stats = end();
    assert_true(stats.n_given_up < stats.n_captures);
#ifndef __clang__ /* whose realigned frames are found by rbp like others */
    assert_true(stats.n_given_up > 0);
#endif
}

static __attribute__((noinline)) void recurse(unsigned depth) {
    if (depth == 0) {
        capture(NULL);
    } else {
        recurse(depth - 1);
    }
    capture(NULL);
}

static void deep_and_cut_stacks(void **state) {
    (void)state;
    static const int limits[] = {1, 2, 3, 16, 127, TIDE_MAX_FRAMES};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        begin(limits[i]);
        recurse(300); /* and up again, frame by frame */
        recurse(300);
        go_all_ways(tide_test_frames, 300, true);
        tide_unwinder_stats stats = end();
        assert_int_equal(stats.n_given_up, 0);
    }
}

enum { GAP_BYTES = 1 << 16 }; /* more stack than any call between two captures uses */

typedef void reaching(unsigned depth, uint64_t target);

/* Captures with the stack pointer at `target`, wherever its caller is, so that two such stacks
 * differ only in rbp. */
static __attribute__((noinline)) void capture_at(unsigned depth, uint64_t target) {
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    volatile char *room = alloca((size_t)(here - target));
    room[0] = (char)depth;
    capture(NULL);
    room[0] = 2;
}

/* Calls both functions from one place. The room keeps the inner frames apart, so that a later stack
 * does not overwrite those of an earlier one. */
static __attribute__((noinline)) void recurse_to(unsigned depth, uint64_t target) {
    volatile char room[512];
    reaching *const volatile further = depth == 0 ? capture_at : recurse_to;
    room[0] = 1;
    further(depth - 1, target);
    n_times = 2u + (unsigned)(room[0] - 1);
}

/* The later stack has a large frame where the frames of the earlier one are left untouched. The
 * walk must not take them for its own. */
static void stacks_that_differ_in_a_saved_rbp_alone(void **state) {
    (void)state;
    begin(128);
    uint64_t target = (uint64_t)(uintptr_t)__builtin_frame_address(0) - GAP_BYTES;
    static const unsigned depths[] = {8, 0, 3, 3, 1};
    for (size_t i = 0; i < 3 + n_times; i++) { /* all five */
        recurse_to(depths[i], target);
    }
    tide_unwinder_stats stats = end();
    assert_int_equal(stats.n_remembered, 1);
}

static jmp_buf back;

static void jump(void *data) {
    (void)data;
    capture(NULL);
    longjmp(back, 1);
}

static void jumps_over_frames(void **state) {
    (void)state;
    begin(128);
    for (volatile unsigned i = 0; i < 200; i++) {
        if (setjmp(back) == 0) {
            tide_test_frames(ordinary(i * 0x9e3779b97f4a7c15u), i % 21, jump, NULL);
        }
        capture(NULL);
    }
    (void)end();
}

static void handle(int number) {
    (void)number;
    recurse(3);
}

static void raise_signal(void *data) {
    (void)data;
    assert_int_equal(raise(SIGUSR1), 0);
    capture(NULL);
}

static void handle_signals(int flags) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = flags};
    struct sigaction former;
    assert_int_equal(sigaction(SIGUSR1, &action, &former), 0);
    for (unsigned i = 0; i < 50; i++) {
        tide_test_frames(ordinary(i * 0x9e3779b97f4a7c15u), i % 21, raise_signal, NULL);
    }
    assert_int_equal(sigaction(SIGUSR1, &former, NULL), 0);
}

static void stacks_below_a_signal(void **state) {
    (void)state;
    if (HAS_THREAD_SANITIZER) {
        skip();
    }
    begin(128);
    handle_signals(0);
    tide_unwinder_stats stats = end();
    assert_int_equal(stats.n_given_up, 5 * 50);
    begin(128);
    enum { STACK_BYTES = 1 << 18 };
    stack_t other = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    stack_t former;
    assert_non_null(other.ss_sp);
    assert_int_equal(sigaltstack(&other, &former), 0);
    handle_signals(SA_ONSTACK);
    assert_int_equal(sigaltstack(&former, NULL), 0);
    free(other.ss_sp);
    stats = end();
    assert_int_equal(stats.n_given_up, 5 * 50);
}

static ucontext_t outside, coroutine;

static void run_coroutine(void) {
    for (unsigned i = 0; i < 20; i++) {
        tide_test_frames(ordinary(i * 0x9e3779b97f4a7c15u), i, capture, NULL);
        assert_int_equal(swapcontext(&coroutine, &outside), 0);
    }
}

static void stacks_of_coroutines(void **state) {
    (void)state;
    begin(128);
    enum { STACK_BYTES = 1 << 18 };
    void *stack = malloc(STACK_BYTES);
    assert_non_null(stack);
    assert_int_equal(getcontext(&coroutine), 0);
    coroutine.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK_BYTES};
    coroutine.uc_link = NULL;
    makecontext(&coroutine, run_coroutine, 0);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(swapcontext(&outside, &coroutine), 0);
        tide_test_frames(ordinary(i * 0x9e3779b97f4a7c15u), i, capture, NULL);
    }
    free(stack);
    tide_unwinder_stats stats = end();
    assert_int_equal(stats.n_given_up, 20);
}

static frames_function *open_library(const char *path, void **ret_library) {
    *ret_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(*ret_library);
    void *symbol = dlsym(*ret_library, "tide_test_frames");
    assert_non_null(symbol);
    frames_function *frames = NULL;
    memcpy(&frames, &symbol, sizeof(frames));
    return frames;
}

static void libraries_with_and_without_tables(void **state) {
    (void)state;
    static const char *const paths[] = {FRAMES_OMITTED, FRAMES_KEPT, FRAMES_NO_TABLES};
    void *libraries[3];
    for (size_t i = 0; i < 3; i++) {
        begin(128);
        frames_function *frames = open_library(paths[i], &libraries[i]);
        bool has_tables = i < 2;
        stacks.trusts_glibc = has_tables; /* backtrace() stops at a frame without a table */
        go_all_ways(frames, 500, true);
        tide_unwinder_stats stats = end();
        assert_int_equal(stats.n_given_up, has_tables ? 0 : 1000);
    }
    /* Closed only now, because libunwind remembers tables by address, and would use those of a
     * closed library for another one at the same place. */
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(dlclose(libraries[i]), 0);
    }
}

/* Two libraries are loaded at the same addresses in turn, and their tables differ. */
static void a_library_in_the_place_of_another(void **state) {
    (void)state;
    begin(128);
    stacks.trusts_glibc = true;
    static const char *const paths[] = {FRAMES_SMALL, FRAMES_LARGER};
    frames_function *places[2] = {NULL, NULL};
    size_t n_stacks = 0; /* after the first round */
    /* libunwind's cache gets this wrong, so there is no comparison with it. */
    assert_int_equal(setenv("TIDEMARK_UNWINDER", "memo", 1), 0);
    tide_unwinder_destroy(stacks.unwinder);
    assert_int_equal(
        tide_unwinder_create(tide_hostmem_default(), stacks.depot, 128, &stacks.unwinder, NULL),
        TIDE_OK);
    for (unsigned round = 0; round < 20; round++) {
        void *library = NULL;
        frames_function *frames = open_library(paths[round % 2], &library);
        assert_true(places[round % 2] == NULL || places[round % 2] == frames);
        places[round % 2] = frames;
        for (unsigned n = 0; n < 2 * n_times; n++) {
            frames(n % 2 == 0 ? 0x208208 : 0x208200, 8, capture, NULL); /* small frames alone */
        }
        assert_int_equal(dlclose(library), 0);
        size_t n_now = 0;
        tide_stack_depot_get_stats(stacks.depot, &n_now, NULL);
        n_stacks = round == 0 ? n_now : n_stacks;
        assert_int_equal(n_now, n_stacks); /* both have the same return addresses */
    }
    assert_true(places[0] == places[1]);
    tide_unwinder_stats stats = end();
    assert_int_equal(stats.n_given_up, 0);
    assert_int_equal(stats.n_captures, 20 * 4);
}

static uint64_t inner_place; /* address of the frame that the library called last */

static __attribute__((noinline)) void note_place(void *data) {
    inner_place = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    if (data != NULL) {
        capture(NULL);
    }
    n_times = 2;
}

/* Calls a function of the library with the stack pointer near `target`. */
typedef void calling(frames_function *frames, uint64_t target, void *data);

static __attribute__((noinline)) void call_at(frames_function *frames, uint64_t target,
                                              void *data) {
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    volatile char *room = alloca((size_t)(here - target));
    room[0] = 1;
    frames(0, 1, note_place, data);
    n_times = 2u + (unsigned)(room[0] - 1);
}

static __attribute__((noinline)) void call_at_too(frames_function *frames, uint64_t target,
                                                  void *data) {
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    volatile char *room = alloca((size_t)(here - target));
    room[0] = 2;
    frames(0, 1, note_place, data);
    n_times = 2u + (unsigned)(room[0] - 2);
}

/* Two libraries are called so that their innermost frames have the same address. The first one's
 * leftovers on the stack are then inside the larger frame of the second. */
static void a_library_in_the_place_and_on_the_stack_of_another(void **state) {
    (void)state;
    if (HAS_ADDRESS_SANITIZER) {
        skip();
    }
    begin(128);
    assert_int_equal(setenv("TIDEMARK_UNWINDER", "memo", 1), 0);
    tide_unwinder_destroy(stacks.unwinder);
    assert_int_equal(
        tide_unwinder_create(tide_hostmem_default(), stacks.depot, 128, &stacks.unwinder, NULL),
        TIDE_OK);
    static const char *const paths[] = {FRAMES_SMALL, FRAMES_LARGER};
    uint64_t target = (uint64_t)(uintptr_t)__builtin_frame_address(0) - GAP_BYTES;
    uint64_t places[4];
    for (size_t i = 0; i < 2 * n_times; i++) {
        void *library = NULL;
        frames_function *frames = open_library(paths[i % 2], &library);
        calling *const volatile call = i == 3 ? call_at_too : call_at;
        call(frames, target + (i == 3 ? places[0] - places[1] : 0), i < 2 ? NULL : &stacks);
        places[i] = inner_place;
        assert_int_equal(dlclose(library), 0);
    }
    assert_true(places[0] > places[1]);
    assert_true(places[2] == places[3]);
    tide_unwinder_stats stats = end();
    assert_int_equal(stats.n_captures, 2);
}

typedef struct thread_work {
    unwinder_check stacks; /* unwinder and depot are shared, the counts are its own */
    uint64_t seed;
} thread_work;

static void capture_in_thread(void *data) {
    unwinder_check_capture(&((thread_work *)data)->stacks);
}

static void *work(void *data) {
    thread_work *me = data;
    for (unsigned i = 0; i < 500; i++) {
        uint64_t path = ordinary(random_bits(&me->seed) & 0xfff000 ? me->seed : 0);
        for (unsigned n = 0; n < n_times; n++) {
            tide_test_frames(path, i % 21, capture_in_thread, me);
        }
    }
    return NULL;
}

static void threads_share_rules_and_follow_one_another(void **state) {
    (void)state;
    enum { N_THREADS = 4, N_ROUNDS = 6 };
    begin(128);
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        pthread_t threads[N_THREADS];
        thread_work works[N_THREADS];
        for (unsigned i = 0; i < N_THREADS; i++) {
            works[i] = (thread_work){.stacks = stacks, .seed = i % 2};
            assert_int_equal(pthread_create(&threads[i], NULL, work, &works[i]), 0);
        }
        for (unsigned i = 0; i < N_THREADS; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            stacks.n_differ += works[i].stacks.n_differ;
            stacks.n_missing += works[i].stacks.n_missing;
        }
    }
    tide_unwinder_stats stats = end();
    assert_int_equal(stats.n_captures, N_ROUNDS * N_THREADS * 1000);
    assert_int_equal(stats.n_given_up, 0);
}

/* A thread uses more unwinders in turn than it remembers. */
static void several_unwinders_in_one_thread(void **state) {
    (void)state;
    enum { N_UNWINDERS = 6 };
    unwinder_check all[N_UNWINDERS];
    for (size_t i = 0; i < N_UNWINDERS; i++) {
        begin(64);
        all[i] = stacks;
    }
    for (unsigned n = 0; n < 20 * N_UNWINDERS; n++) {
        stacks = all[n % N_UNWINDERS];
        tide_test_frames(0, 9, capture, NULL);
        all[n % N_UNWINDERS] = stacks;
    }
    for (size_t i = 0; i < N_UNWINDERS; i++) {
        stacks = all[i];
        tide_unwinder_stats stats = end();
        assert_int_equal(stats.n_captures, 20);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_all_kinds),
        cmocka_unit_test(realigned_frames_are_left_to_libunwind),
        cmocka_unit_test(deep_and_cut_stacks),
        cmocka_unit_test(stacks_that_differ_in_a_saved_rbp_alone),
        cmocka_unit_test(jumps_over_frames),
        cmocka_unit_test(stacks_below_a_signal),
        cmocka_unit_test(stacks_of_coroutines),
        cmocka_unit_test(libraries_with_and_without_tables),
        cmocka_unit_test(a_library_in_the_place_of_another),
        cmocka_unit_test(a_library_in_the_place_and_on_the_stack_of_another),
        cmocka_unit_test(threads_share_rules_and_follow_one_another),
        cmocka_unit_test(several_unwinders_in_one_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
