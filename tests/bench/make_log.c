/* make_log.c - makes the event log of a long training run, to measure readers of logs.
 *
 * make_log FILE EVENTS: parameters, and then steps of a model of 48 layers on the virtual device,
 * until the log has at least EVENTS events. Each step has forward and backward, activations and
 * gradients of a few sizes, and one more kilobyte every hundredth step that is never released. The
 * log is closed as a program's is, so that only its used part stays; on the way twice its size is
 * needed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tidemark.h>

enum { N_LAYERS = 48, N_TENSORS = 4, LOG_BYTES_PER_EVENT = 120, LEAK_EVERY = 100 };

static const char *const NAMES[N_TENSORS] = {"attn.q", "attn.out", "mlp.up", "mlp.down"};
static const size_t SIZES[N_TENSORS] = {786432, 1048576, 3145728, 262144};

typedef struct run {
    tide_recorder *recorder;
    tide_cache *cache;
    uint64_t kept[N_LAYERS][N_TENSORS];
    int64_t n_events;
} run;

static tide_status forward(run *of, tide_error *error) {
    tide_scope phase = tide_scope_begin(of->recorder, TIDE_SCOPE_PHASE, "forward", -1);
    for (int layer = 0; layer < N_LAYERS; layer++) {
        tide_scope scope = tide_scope_begin(of->recorder, TIDE_SCOPE_LAYER, "layer", layer);
        for (int i = 0; i < N_TENSORS; i++) {
            const tide_tag tag = {TIDE_ACTIVATION, NAMES[i]};
            TIDE_TRY(tide_cache_alloc(of->cache, SIZES[i], 0, &tag, &of->kept[layer][i], error));
        }
        tide_scope_end(of->recorder, scope);
    }
    tide_scope_end(of->recorder, phase);
    of->n_events += N_LAYERS * N_TENSORS;
    return TIDE_OK;
}

static tide_status backward(run *of, tide_error *error) {
    tide_scope phase = tide_scope_begin(of->recorder, TIDE_SCOPE_PHASE, "backward", -1);
    for (int layer = N_LAYERS - 1; layer >= 0; layer--) {
        tide_scope scope = tide_scope_begin(of->recorder, TIDE_SCOPE_LAYER, "layer", layer);
        for (int i = N_TENSORS - 1; i >= 0; i--) {
            const tide_tag tag = {TIDE_TEMPORARY, NAMES[i]};
            uint64_t address = 0;
            TIDE_TRY(tide_cache_alloc(of->cache, SIZES[i], 0, &tag, &address, error));
            TIDE_TRY(tide_cache_release(of->cache, of->kept[layer][i], error));
            TIDE_TRY(tide_cache_release(of->cache, address, error));
        }
        tide_scope_end(of->recorder, scope);
    }
    tide_scope_end(of->recorder, phase);
    of->n_events += N_LAYERS * N_TENSORS * 3;
    return TIDE_OK;
}

static tide_status train(run *of, int64_t n_events, tide_error *error) {
    uint64_t address = 0;
    for (int layer = 0; layer < N_LAYERS; layer++) {
        const tide_tag tag = {TIDE_PARAMETER, "weight"};
        TIDE_TRY(tide_cache_alloc(of->cache, 4 * SIZES[2], 0, &tag, &address, error));
    }
    for (int step = 0; of->n_events < n_events; step++) {
        tide_scope scope = tide_scope_begin(of->recorder, TIDE_SCOPE_STEP, "step", step);
        TIDE_TRY(forward(of, error));
        TIDE_TRY(backward(of, error));
        if (step % LEAK_EVERY == 0) {
            const tide_tag tag = {TIDE_UNKNOWN, "history"};
            TIDE_TRY(tide_cache_alloc(of->cache, 1000, 0, &tag, &address, error));
        }
        tide_scope_end(of->recorder, scope);
    }
    return TIDE_OK;
}

int main(int argc, char **argv) {
    int64_t n_events = argc == 3 ? strtoll(argv[2], NULL, 10) : 0;
    tide_error error = {""};
    tide_device *device = NULL;
    run of = {.recorder = NULL};
    tide_recorder_config config;
    if (n_events <= 0) {
        fprintf(stderr, "usage: make_log FILE EVENTS\n");
        return 2;
    }
    tide_recorder_config_init(&config);
    config.log_path = argv[1];
    config.full_policy = TIDE_FULL_STOP;
    config.log_bytes = (size_t)n_events * LOG_BYTES_PER_EVENT + ((size_t)64 << 20);
    tide_status status = tide_device_open("virtual", NULL, &device, &error);
    status = status == TIDE_OK ? tide_recorder_create(&config, &of.recorder, &error) : status;
    status = status == TIDE_OK ? tide_cache_create(device, of.recorder, NULL, &of.cache, &error)
                               : status;
    status = status == TIDE_OK ? train(&of, n_events, &error) : status;
    if (status != TIDE_OK) {
        fprintf(stderr, "make_log: %s: %s\n", tide_status_text(status), error.message);
    }
    tide_cache_destroy(of.cache);
    tide_recorder_destroy(of.recorder);
    tide_device_close(device);
    return status == TIDE_OK ? 0 : 1;
}
