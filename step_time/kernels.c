/* The kernels of a step by name: rows of one name, kind and type of numbers are one. */
#include <stdio.h>
#include <stdlib.h>

#include "common/map.h"
#include "step_time/forecast.h"

static int by_time(const void *a, const void *b) {
    const tide_time_kernel *one = a;
    const tide_time_kernel *other = b;
    return (one->us < other->us) - (one->us > other->us);
}

/* Products of one type and layout have no name of their own: the log has none of their kernels. */
static uint64_t key_of(const tide_run_launch *row) {
    uint64_t key = row->name;
    key = key << 8 | row->kind;
    key = key << 8 | row->family;
    key = key << 4 | row->type;
    key = key << 8 | (row->flags & (TIDE_RUN_CAUSAL | TIDE_RUN_BACKWARD));
    return tide_hash_u64(key);
}

/* The time of each bound, to find the largest. */
typedef struct shares {
    double us[TIDE_TIME_N_BOUNDS];
} shares;

static void add(tide_time_kernel *kernel, shares *of, const tide_run_launch *row,
                const tide_work_time *work, const char *name) {
    if (kernel->n_launches == 0) {
        *kernel = (tide_time_kernel){.name = name,
                                     .kind = row->kind,
                                     .family = row->family,
                                     .type = row->type,
                                     .is_backward = (row->flags & TIDE_RUN_BACKWARD) != 0};
    }
    if (kernel->n_launches == 0 || work->us < kernel->min_us) {
        kernel->min_us = work->us;
    }
    kernel->max_us = work->us > kernel->max_us ? work->us : kernel->max_us;
    kernel->n_launches++;
    kernel->us += work->us;
    kernel->basis = work->basis > kernel->basis ? work->basis : kernel->basis;
    of->us[work->bound] += work->us;
    if (of->us[work->bound] > of->us[kernel->bound]) {
        kernel->bound = work->bound;
    }
}

static tide_status collect(const tide_time_model *model, const tide_time_range *range,
                           tide_map *numbers, shares *bounds, tide_time_kernels *to) {
    for (size_t i = range->first; i < range->last; i++) {
        const tide_run_launch *row = &model->log->rows[i];
        uint64_t number = to->n;
        if (model->work[i].us <= 0.0) {
            continue;
        }
        if (!tide_map_find(numbers, key_of(row), &number)) {
            TIDE_TRY(tide_map_put(numbers, key_of(row), number));
            to->n++;
        }
        add(&to->rows[number], &bounds[number], row, &model->work[i],
            tide_time_log_text(model->log, row));
    }
    qsort(to->rows, to->n, sizeof(*to->rows), by_time);
    return TIDE_OK;
}

tide_status tide_time_kernels_of(const tide_time_model *model, const tide_time_range *range,
                                 tide_time_kernels *ret_kernels) {
    const tide_hostmem *mem = model->log->mem;
    size_t n = range->last - range->first + 1;
    tide_map numbers;
    tide_map_init(&numbers, mem);
    shares *bounds = tide_hostmem_zeroed(mem, n, sizeof(*bounds));
    *ret_kernels = (tide_time_kernels){
        .rows = tide_hostmem_zeroed(mem, n, sizeof(*ret_kernels->rows)), .n = 0};
    tide_status status = bounds != NULL && ret_kernels->rows != NULL
                             ? collect(model, range, &numbers, bounds, ret_kernels)
                             : TIDE_NO_MEMORY;
    mem->release(mem->ctx, bounds);
    tide_map_fini(&numbers);
    return status;
}

static const char *type_name(tide_run_type type) {
    static const char *const NAMES[TIDE_RUN_N_TYPES] = {[TIDE_RUN_FP32] = "fp32",
                                                        [TIDE_RUN_TF32] = "tf32",
                                                        [TIDE_RUN_BF16] = "bf16",
                                                        [TIDE_RUN_FP16] = "fp16",
                                                        [TIDE_RUN_FP64] = "fp64",
                                                        [TIDE_RUN_FP8] = "fp8",
                                                        [TIDE_RUN_INT8] = "int8",
                                                        [TIDE_RUN_COMPLEX64] = "complex64",
                                                        [TIDE_RUN_COMPLEX128] = "complex128",
                                                        [TIDE_RUN_INT32] = "int32",
                                                        [TIDE_RUN_FP4] = "fp4"};
    return (size_t)type < TIDE_RUN_N_TYPES ? NAMES[type] : "?";
}

void tide_time_kernel_name(const tide_time_kernel *kernel, char *ret_name, size_t n_room) {
    switch (kernel->kind) {
    case TIDE_RUN_PRODUCT:
        snprintf(ret_name, n_room, "GEMM %s", type_name(kernel->type));
        return;
    case TIDE_RUN_ATTENTION:
        if (kernel->family == TIDE_RUN_OWN) {
            snprintf(ret_name, n_room, "%s", kernel->name);
            return;
        }
        snprintf(ret_name, n_room, "attention %s, %s", type_name(kernel->type),
                 kernel->is_backward ? "backward" : "forward");
        return;
    case TIDE_RUN_CONVOLUTION:
        snprintf(ret_name, n_room, "convolution %s, %s", type_name(kernel->type),
                 kernel->is_backward ? "backward" : "forward");
        return;
    case TIDE_RUN_COPY:
        snprintf(ret_name, n_room, "%s",
                 kernel->family == TIDE_RUN_COPY_ON_CARD ? "copy on the card" : "copy");
        return;
    case TIDE_RUN_FILL:
        snprintf(ret_name, n_room, "fill");
        return;
    case TIDE_RUN_COLLECTIVE:
        snprintf(ret_name, n_room, "collective");
        return;
    case TIDE_RUN_GRAPH_LAUNCH:
        snprintf(ret_name, n_room, "CUDA graph");
        return;
    default:
        snprintf(ret_name, n_room, "%s", kernel->name[0] != '\0' ? kernel->name : "?");
    }
}
