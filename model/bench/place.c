#include "model/bench/place_internal.h"

#include <string.h>

tide_precision tide_bench_precision(const char *dtype) {
    return strcmp(dtype, "fp32") == 0   ? TIDE_PRECISION_FP32
           : strcmp(dtype, "tf32") == 0 ? TIDE_PRECISION_TF32
                                        : TIDE_PRECISION_BF16_TRUE;
}

static tide_status check_device(const tide_bench_place *place, const char *dtype,
                                tide_error *error) {
    const tide_device_info *info = tide_device_get_info(place->device);
    if (!info->computes) {
        return tide_fail(error, TIDE_INVALID,
                         "--device %s computes nothing, so it has no times: use cpu or "
                         "cuda",
                         info->spec);
    }
    if (info->kind == TIDE_DEVICE_CPU && strcmp(dtype, "tf32") == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--dtype tf32 needs a GPU's tensor cores, which the cpu device does not "
                         "have: use fp32 or bf16");
    }
    return TIDE_OK;
}

static tide_status open_flush(tide_bench_place *place, tide_error *error) {
    TIDE_TRY(tide_timing_flush_init(&place->flush, place->cache, place->ops, error));
    place->run->flush_bytes = (int64_t)(place->flush.buffer.n_elements * sizeof(float));
    place->flushes = true;
    return TIDE_OK;
}

tide_status tide_bench_place_open(tide_bench_place *place, tide_bench_run *run, const char *dtype,
                                  bool flushes, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    *place = (tide_bench_place){.run = run};
    TIDE_TRY(tide_device_open(run->settings->device, NULL, &place->device, error));
    place->is_cpu = tide_device_get_info(place->device)->kind == TIDE_DEVICE_CPU;
    TIDE_TRY(check_device(place, dtype, error));
    TIDE_TRY(tide_cache_create(place->device, NULL, NULL, &place->cache, error));
    TIDE_TRY(tide_ops_open(mem, place->device, tide_bench_precision(dtype), &place->ops, error));
    TIDE_TRY(tide_ops_alloc_workspace(place->ops, place->cache, &place->workspace, error));
    tide_run_environment *environment = &run->environment;
    tide_run_environment_init(environment);
    tide_run_environment_set_program(environment);
    tide_run_environment_set_device(environment, tide_device_get_info(place->device),
                                    place->ops->table->describe(place->ops));
    return flushes && !run->settings->no_flush ? open_flush(place, error) : TIDE_OK;
}

void tide_bench_place_close(tide_bench_place *place) {
    if (place->flushes) {
        tide_timing_flush_fini(&place->flush);
    }
    if (place->cache != NULL) {
        tide_tensor_drop(place->cache, &place->workspace);
    }
    tide_ops_close(place->ops);
    tide_cache_destroy(place->cache);
    tide_device_close(place->device);
    *place = (tide_bench_place){.run = NULL};
}

tide_status tide_bench_place_measure(const tide_bench_place *place,
                                     const tide_timing_subject *subject, size_t n_calls,
                                     tide_timing *ret_timing, tide_error *error) {
    tide_timing_flush flush = place->flush; /* its number is unique */
    const tide_timing_config config = {.device = place->device,
                                       .stream = place->ops->stream,
                                       .n_warmup = (size_t)place->run->settings->warmup,
                                       .n_samples = place->run->settings->n_rounds,
                                       .n_calls = n_calls,
                                       .flush = place->flushes ? tide_timing_flush_call : NULL,
                                       .flush_ctx = &flush};
    return tide_timing_measure(tide_hostmem_default(), &config, subject, ret_timing, error);
}
