#include "capture/measure.h"

#include <stddef.h>

#include "common/assert.h"
#include "common/clock.h"
#include "common/statistics.h"
#include "recorder/recorder_friend.h"

enum { N_ROUNDS = 9, N_EVENTS = 2000, N_FRAMES = 16, LOG_BYTES = 1 << 20 };

/* Events with the names that tensors have; returns ns per event. */
static double measure_round(tide_recorder *recorder) {
    static const char *const NAMES[] = {"layers.0.attn.q", "layers.0.attn.k", "layers.0.ffn.up",
                                        "layers.0.ffn.up.grad"};
    int64_t begin_ns = tide_clock_now_ns();
    for (size_t i = 0; i < N_EVENTS; i++) {
        tide_note note;
        tide_recorder_take_note(recorder, NAMES[i % 4], &note);
        tide_event *row =
            tide_recorder_row_begin(recorder); /* the recorder is private, so no lock is needed */
        TIDE_ASSERT(row != NULL);              /* its log has room for all rounds */
        row->address = (uint64_t)i << 9;
        row->requested_bytes = 512;
        row->block_bytes = 512;
        row->stack = note.stack;
        row->scope = note.scope;
        row->name = note.name;
        row->action = TIDE_ACTION_ALLOC;
        row->category = TIDE_ACTIVATION;
        row->device = 0;
        row->stream = 0;
        tide_recorder_row_end(recorder);
    }
    return (double)(tide_clock_now_ns() - begin_ns) / N_EVENTS;
}

/* Measures below `n_frames` calls. Restoring the count after the call keeps the compiler from
 * turning the recursion into a loop. */
static double measure_below(tide_recorder *recorder, volatile int *n_frames) {
    if (*n_frames <= 0) {
        return measure_round(recorder);
    }
    *n_frames -= 1;
    double ns = measure_below(recorder, n_frames);
    *n_frames += 1;
    return ns;
}

tide_status tide_recorder_measure_ns(const tide_recorder_config *config, double *ret_ns,
                                     tide_error *error) {
    tide_recorder_config private_config;
    tide_recorder_config_init(&private_config);
    if (config != NULL) {
        private_config = *config;
    }
    private_config.log_bytes = LOG_BYTES;
    private_config.log_path = ""; /* not into the log file of the run */
    tide_recorder *recorder = NULL;
    TIDE_TRY(tide_recorder_create(&private_config, &recorder, error));
    double samples[N_ROUNDS];
    volatile int n_frames = N_FRAMES;
    (void)measure_below(recorder,
                        &n_frames); /* warms the unwinder's caches and the pages of the log */
    for (size_t i = 0; i < N_ROUNDS; i++) {
        samples[i] = measure_below(recorder, &n_frames);
    }
    tide_recorder_destroy(recorder);
    *ret_ns = tide_statistics_of(samples, N_ROUNDS).median;
    return TIDE_OK;
}
