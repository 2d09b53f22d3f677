/* bench_dump.c - measures how long a snapshot blocks the program that it records.
 *
 * bench_dump [EVENTS] [BLOCKS]: records EVENTS events (1,000,000) with call stacks, names and
 * scopes and keeps BLOCKS blocks (2,000) alive; then, while a second thread continues to allocate,
 * copies the tables once to warm up and five times, and prints every sample: the copy, the longest
 * that a lock was held in it, and the longest single allocation or release of the other thread
 * meanwhile. The last line is that thread's longest without a copy, over the same time.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "capture/capture.h"
#include "common/clock.h"

enum { REPEATS = 6 };

typedef struct program {
    tide_recorder *recorder;
    tide_cache *cache;
    atomic_bool is_stopped;
    atomic_bool has_failed;
    atomic_llong longest_ns; /* of the second thread's calls since it was set to 0 */
} program;

static bool turn(program *p, uint64_t *address, size_t n_bytes) {
    static const tide_tag TAG = {TIDE_ACTIVATION, "layers.5.attn.q"};
    return tide_cache_release(p->cache, *address, NULL) == TIDE_OK &&
           tide_cache_alloc(p->cache, n_bytes, 0, &TAG, address, NULL) == TIDE_OK;
}

static void *work(void *argument) {
    program *p = argument;
    uint64_t address = 0;
    while (!atomic_load(&p->is_stopped)) {
        int64_t start_ns = tide_clock_now_ns();
        if (!turn(p, &address, 3000)) {
            atomic_store(&p->has_failed, true);
        }
        long long took_ns = tide_clock_now_ns() - start_ns;
        if (took_ns > atomic_load(&p->longest_ns)) {
            atomic_store(&p->longest_ns, took_ns);
        }
    }
    return NULL;
}

static bool record(program *p, size_t n_events, size_t n_blocks) {
    uint64_t *blocks = calloc(n_blocks, sizeof(*blocks));
    bool works = blocks != NULL;
    for (size_t i = 0; i < n_events / 2 && works; i++) {
        bool has_scope = i % 20 == 0;
        tide_scope scope =
            has_scope ? tide_scope_begin(p->recorder, TIDE_SCOPE_LAYER, "layer", 1) : TIDE_NONE;
        works = turn(p, &blocks[i * 7 % n_blocks], 512 + i * 37 % 100000);
        if (has_scope) {
            tide_scope_end(p->recorder, scope);
        }
    }
    free(blocks);
    return works;
}

static bool measure(program *p, double *ret_copy_ms) {
    tide_captured *captured = NULL;
    atomic_store(&p->longest_ns, 0);
    int64_t start_ns = tide_clock_now_ns();
    if (tide_capture_begin(p->recorder, p->cache, NULL, &captured, NULL) != TIDE_OK) {
        return false;
    }
    *ret_copy_ms = (double)(tide_clock_now_ns() - start_ns) * 1e-6;
    printf("copy %8.3f ms  lock held %7.3f ms  longest call beside it %7.3f ms\n", *ret_copy_ms,
           (double)tide_captured_pause_ns(captured) * 1e-6,
           (double)atomic_load(&p->longest_ns) * 1e-6);
    tide_captured_destroy(captured);
    return true;
}

static bool run(program *p, size_t n_events, size_t n_blocks) {
    pthread_t thread;
    double copy_ms = 0.0;
    if (!record(p, n_events, n_blocks) || pthread_create(&thread, NULL, work, p) != 0) {
        return false;
    }
    bool works = true;
    for (int i = 0; i < REPEATS && works; i++) {
        works = measure(p, &copy_ms);
    }
    atomic_store(&p->longest_ns, 0);
    (void)nanosleep(&(struct timespec){.tv_nsec = (long)(copy_ms * 1e6) % 1000000000L}, NULL);
    printf("no copies: longest call %.3f ms\n", (double)atomic_load(&p->longest_ns) * 1e-6);
    atomic_store(&p->is_stopped, true);
    (void)pthread_join(thread, NULL);
    return works && !atomic_load(&p->has_failed);
}

int main(int argc, char **argv) {
    size_t n_events = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
    size_t n_blocks = argc > 2 ? (size_t)strtoull(argv[2], NULL, 10) : 2000;
    tide_device *device = NULL;
    program p = {.recorder = NULL};
    if (n_blocks == 0 || tide_device_open("virtual", NULL, &device, NULL) != TIDE_OK ||
        tide_recorder_create(NULL, &p.recorder, NULL) != TIDE_OK ||
        tide_cache_create(device, p.recorder, NULL, &p.cache, NULL) != TIDE_OK) {
        return EXIT_FAILURE;
    }
    bool works = run(&p, n_events, n_blocks);
    tide_cache_destroy(p.cache);
    tide_recorder_destroy(p.recorder);
    tide_device_close(device);
    return works ? EXIT_SUCCESS : EXIT_FAILURE;
}
