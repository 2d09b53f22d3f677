/* python_frames_probe.c - the walker of programs/live/ as a shared object of its own, for Python's
 * ctypes to call. */
#include <pthread.h>

#include "programs/live/python/python_frames.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED const char *probe_begin(void);
EXPORTED size_t probe_walk(tide_python_frame *frames, size_t max);
EXPORTED const void *probe_top(void);
EXPORTED int probe_describe(const tide_python_frame *frame, char *file, size_t n_file,
                            char *function, size_t n_function);
EXPORTED void probe_identify(const void *code, tide_python_identity *ret);
EXPORTED uint64_t probe_n_refused(void);
EXPORTED size_t probe_walk_elsewhere(void);
EXPORTED double probe_time_walks(size_t n);

/* NULL: the frames can be read; else why not. */
const char *probe_begin(void) {
    const char *why = NULL;
    bool can = tide_python_frames_begin(&why);
    return can || why != NULL ? why : "there is no Python";
}

size_t probe_walk(tide_python_frame *frames, size_t max) {
    return tide_python_frames_walk(frames, max);
}

const void *probe_top(void) {
    return tide_python_frames_top();
}

int probe_describe(const tide_python_frame *frame, char *file, size_t n_file, char *function,
                   size_t n_function) {
    return tide_python_frames_describe(frame, file, n_file, function, n_function);
}

void probe_identify(const void *code, tide_python_identity *ret) {
    tide_python_frames_identify(code, ret);
}

uint64_t probe_n_refused(void) {
    return tide_python_frames_n_refused();
}

static void *walk_elsewhere(void *argument) {
    tide_python_frame frames[4];
    *(size_t *)argument = tide_python_frames_walk(frames, 4);
    return NULL;
}

/* The frames seen by a thread unknown to Python. */
size_t probe_walk_elsewhere(void) {
    size_t n = 99;
    pthread_t thread;
    if (pthread_create(&thread, NULL, walk_elsewhere, &n) == 0) {
        pthread_join(thread, NULL);
    }
    return n;
}

/* Walks `n` times; ctypes alone costs more than a walk, so the caller times many. Returns the
 * frames of one. */
double probe_time_walks(size_t n) {
    tide_python_frame frames[512];
    size_t n_frames = 0;
    for (size_t i = 0; i < n; i++) {
        n_frames += tide_python_frames_walk(frames, 512);
    }
    return (double)n_frames / (double)n;
}
