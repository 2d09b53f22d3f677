/* The kernels of a step by name: rows of one name, kind and type of numbers are one. */
#include <stdlib.h>

#include "common/map.h"
#include "step_time/forecast_internal.h"

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
        *kernel = (tide_time_kernel){
            .name = name, .kind = row->kind, .family = row->family, .type = row->type};
    }
    kernel->n_launches++;
    kernel->us += work->us;
    kernel->basis = work->basis > kernel->basis ? work->basis : kernel->basis;
    of->us[work->bound] += work->us;
    if (of->us[work->bound] > of->us[kernel->bound]) {
        kernel->bound = work->bound;
    }
}

static tide_status collect(const tide_time_model *model, const tide_time_range *range,
                           tide_map *numbers, shares *bounds, tide_time_forecast *to) {
    for (size_t i = range->first; i < range->last; i++) {
        const tide_run_launch *row = &model->log->rows[i];
        uint64_t number = to->n_kernels;
        if (model->work[i].us <= 0.0) {
            continue;
        }
        if (!tide_map_find(numbers, key_of(row), &number)) {
            TIDE_TRY(tide_map_put(numbers, key_of(row), number));
            to->n_kernels++;
        }
        add(&to->kernels[number], &bounds[number], row, &model->work[i],
            tide_launch_log_text(model->log, row));
    }
    qsort(to->kernels, to->n_kernels, sizeof(*to->kernels), by_time);
    return TIDE_OK;
}

tide_status tide_time_forecast_kernels(const tide_time_model *model, const tide_time_range *range,
                                       tide_time_forecast *forecast) {
    const tide_hostmem *mem = model->log->mem;
    size_t n = range->last - range->first + 1;
    tide_map numbers;
    tide_map_init(&numbers, mem);
    shares *bounds = tide_hostmem_zeroed(mem, n, sizeof(*bounds));
    forecast->kernels = tide_hostmem_zeroed(mem, n, sizeof(*forecast->kernels));
    tide_status status = bounds != NULL && forecast->kernels != NULL
                             ? collect(model, range, &numbers, bounds, forecast)
                             : TIDE_NO_MEMORY;
    mem->release(mem->ctx, bounds);
    tide_map_fini(&numbers);
    return status;
}
