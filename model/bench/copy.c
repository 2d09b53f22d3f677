/* copy.c - copies from device memory to device memory: the upper limit of the rate of any
 * memory-bound kernel. */
#include "model/bench/subject_internal.h"

enum { OUT = 0, IN };

/* Elements of a MiB of bf16. */
static const size_t ELEMENTS = (size_t)1 << 19;

static tide_status setup(tide_bench_case *on, tide_error *error) {
    const size_t n = on->size * ELEMENTS;
    TIDE_TRY(tide_bench_case_alloc(on, OUT, on->storage, n, error));
    TIDE_TRY(tide_bench_case_random(on, IN, on->storage, n, 1.0, error));
    on->work = 2.0 * (double)n * (double)tide_dtype_bytes(on->storage); /* read and written */
    return TIDE_OK;
}

static tide_status call(void *ctx, tide_error *error) {
    const tide_bench_case *on = ctx;
    const tide_ops *ops = on->place.ops;
    const size_t n_bytes = on->size * ELEMENTS * tide_dtype_bytes(on->storage);
    return tide_device_copy(ops->device, on->tensors[OUT].array.data, on->tensors[IN].array.data,
                            n_bytes, TIDE_COPY_ON_DEVICE, ops->stream, error);
}

static const tide_bench_sizes SIZES = {
    .name = "MiB",
    .cuda = {64, 256, 1024, 4096},
    .cpu = {64, 256},
    .brief = 1,
    .most = 65536,
};

static const tide_bench_subject SUBJECT = {
    .name = "copy",
    .title = "Copies within device memory, time of one",
    .sizes = &SIZES,
    .dtypes = {"bf16"},
    .n_defaults = 1,
    .rate = TIDE_RATE_BYTES,
    .flushes = true,
    .setup = setup,
    .call = call,
};

const tide_bench tide_bench_copy = {
    .name = "copy",
    .summary = "copies within device memory: GB/s, each byte read and written",
    .subject = &SUBJECT,
};
