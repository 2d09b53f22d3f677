/* own_buffers.c - a program that takes its own buffers from tidemark's allocator and records
 * where they went: own_buffers [FILE.json.gz]. docs/guide/using-the-library.md explains it line by
 * line.
 */
#include <stdio.h>
#include <string.h>

#include <tidemark.h>

enum { N_STEPS = 3, N_LAYERS = 4 };
static const size_t LAYER_BYTES = (size_t)3 << 20;

/* One step: every layer keeps a buffer, and all of them go back at the end. */
static tide_status run_step(tide_cache *cache, tide_device *device, int step, tide_error *error) {
    tide_recorder *recorder = tide_cache_recorder(cache);
    tide_scope step_scope = tide_scope_begin(recorder, TIDE_SCOPE_STEP, "step", step);
    uint64_t kept[N_LAYERS];
    for (int layer = 0; layer < N_LAYERS; layer++) {
        const tide_tag tag = {TIDE_ACTIVATION, "layer.output"};
        tide_scope layer_scope = tide_scope_begin(recorder, TIDE_SCOPE_LAYER, "layer", layer);
        TIDE_TRY(tide_cache_alloc(cache, LAYER_BYTES, 0, &tag, &kept[layer], error));
        /* On the cpu device an address leads to memory like any other. */
        memset(tide_device_pointer(device, kept[layer]), layer, LAYER_BYTES);
        tide_scope_end(recorder, layer_scope);
    }
    for (int layer = 0; layer < N_LAYERS; layer++) {
        TIDE_TRY(tide_cache_release(cache, kept[layer], error));
    }
    tide_scope_end(recorder, step_scope);
    return TIDE_OK;
}

static tide_status run(tide_cache *cache, tide_device *device, const char *path,
                       tide_error *error) {
    const tide_tag weights = {TIDE_PARAMETER, "weights"};
    uint64_t address = 0;
    TIDE_TRY(tide_cache_alloc(cache, N_LAYERS * LAYER_BYTES, 0, &weights, &address, error));
    for (int step = 0; step < N_STEPS; step++) {
        TIDE_TRY(run_step(cache, device, step, error));
    }
    tide_cache_stats stats;
    tide_cache_get_stats(cache, &stats);
    printf("peak %lld bytes allocated, %lld reserved\n",
           (long long)stats.allocated_bytes[TIDE_POOL_ALL].peak,
           (long long)stats.reserved_bytes[TIDE_POOL_ALL].peak);
    TIDE_TRY(tide_cache_release(cache, address, error));
    return tide_snapshot_write(tide_cache_recorder(cache), cache, path, error);
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "own_buffers.json.gz";
    tide_error error = {""};
    tide_device *device = NULL;
    tide_recorder *recorder = NULL;
    tide_cache *cache = NULL;
    tide_status status = tide_device_open("cpu", NULL, &device, &error);
    if (status == TIDE_OK) {
        status = tide_recorder_create(NULL, &recorder, &error);
    }
    if (status == TIDE_OK) {
        status = tide_cache_create(device, recorder, NULL, &cache, &error);
    }
    if (status == TIDE_OK) {
        status = run(cache, device, path, &error);
    }
    if (status != TIDE_OK) {
        fprintf(stderr, "%s: %s\n", tide_status_text(status), error.message);
    }
    tide_cache_destroy(cache); /* also returns blocks that are still live after a failure */
    tide_recorder_destroy(recorder);
    tide_device_close(device);
    return status == TIDE_OK ? 0 : 1;
}
