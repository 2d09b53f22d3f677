/* The kernels of a step by name: rows of one name, kind and type of numbers are combined. For a
 * CUDA graph that the step launches, the kernels that were captured into it. */
#include <stdio.h>
#include <stdlib.h>

#include "common/map.h"
#include "programs/step_time/forecast.h"

static int by_time(const void *a, const void *b) {
    const tide_time_kernel *one = a;
    const tide_time_kernel *other = b;
    return (one->us < other->us) - (one->us > other->us);
}

/* Products of one type and layout are combined: the log has no names of their kernels. */
static uint64_t key_of(const tide_run_launch *row) {
    uint64_t key = row->name;
    key = key << 8 | row->kind;
    key = key << 8 | row->family;
    key = key << 4 | row->type;
    uint8_t flags =
        row->kind == TIDE_RUN_ATTENTION ? TIDE_RUN_CAUSAL | TIDE_RUN_BACKWARD : TIDE_RUN_BACKWARD;
    key = key << 8 | (row->flags & flags);
    return tide_hash_u64(key);
}

/* The time of each bound, to find the largest. */
typedef struct shares {
    double us[TIDE_TIME_N_BOUNDS];
} shares;

/* The kernels so far. */
typedef struct collector {
    const tide_time_model *model;
    tide_time_kernels *to;
    size_t room;      /* of the kernels */
    shares *bounds;   /* by kernel; owned */
    size_t n_bounds;  /* room of these */
    tide_map numbers; /* from keys to kernels */
    tide_map graphs;  /* from numbers of graphs to their numbers of launches */
} collector;

static double us_of(const tide_work_time *work) {
    double us = 0.0;
    for (size_t i = 0; i < TIDE_TIME_N_BASES; i++) {
        us += work->us_of[i];
    }
    return us;
}

static tide_status make_room(collector *of) {
    const tide_hostmem *mem = of->model->log->mem;
    size_t n = of->to->n + 1;
    tide_time_kernel *rows =
        tide_hostmem_grow(mem, of->to->rows, &of->room, n, sizeof(*of->to->rows));
    of->to->rows = rows != NULL ? rows : of->to->rows;
    shares *bounds = tide_hostmem_grow(mem, of->bounds, &of->n_bounds, n, sizeof(*of->bounds));
    of->bounds = bounds != NULL ? bounds : of->bounds;
    return rows != NULL && bounds != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

/* The number of the row's kernel; a new one is added. */
static tide_status find_kernel(collector *of, const tide_run_launch *row, double us,
                               uint64_t *ret_number) {
    *ret_number = of->to->n;
    if (tide_map_find(&of->numbers, key_of(row), ret_number)) {
        return TIDE_OK;
    }
    TIDE_TRY(make_room(of));
    TIDE_TRY(tide_map_put(&of->numbers, key_of(row), *ret_number));
    of->bounds[*ret_number] = (shares){.us = {0.0}};
    of->to->rows[of->to->n++] =
        (tide_time_kernel){.name = tide_time_log_text(of->model->log, row),
                           .kind = row->kind,
                           .family = row->family,
                           .type = row->type,
                           .is_backward = (row->flags & TIDE_RUN_BACKWARD) != 0,
                           .min_us = us};
    return TIDE_OK;
}

/* Each launch has the comparison of its own time. */
static void add_comparison(tide_time_kernels *to, const tide_run_launch *row,
                           const tide_work_time *work, double us, uint64_t n) {
    const tide_time_comparison *of = tide_time_comparison_of(row, us);
    double *sum = work->basis == TIDE_TIME_GUESSED ? &to->guessed_us
                  : of == NULL                     ? &to->uncompared_us
                                                   : &to->compared_us[of - TIDE_TIME_COMPARISONS];
    *sum += us * (double)n;
}

/* Adds a row that is launched n times. */
static tide_status add(collector *of, size_t i, uint64_t n) {
    const tide_work_time *work = &of->model->work[i];
    double us = us_of(work);
    uint64_t number = 0;
    TIDE_TRY(find_kernel(of, &of->model->log->rows[i], us, &number));
    tide_time_kernel *kernel = &of->to->rows[number];
    shares *bounds = &of->bounds[number];
    kernel->min_us = us < kernel->min_us ? us : kernel->min_us;
    kernel->max_us = us > kernel->max_us ? us : kernel->max_us;
    kernel->n_launches += n;
    kernel->us += us * (double)n;
    add_comparison(of->to, &of->model->log->rows[i], work, us, n);
    kernel->basis = work->basis > kernel->basis ? work->basis : kernel->basis;
    bounds->us[work->bound] += us * (double)n;
    if (bounds->us[work->bound] > bounds->us[kernel->bound]) {
        kernel->bound = work->bound;
    }
    return TIDE_OK;
}

static uint64_t launches_of(const collector *of, uint32_t graph) {
    uint64_t n = 0;
    (void)tide_map_find(&of->graphs, graph, &n);
    return n;
}

static tide_status collect_range(collector *of, const tide_time_range *range) {
    for (size_t i = range->first; i < range->last; i++) {
        const tide_run_launch *row = &of->model->log->rows[i];
        if (of->model->work[i].us <= 0.0) {
            continue;
        }
        if (row->kind == TIDE_RUN_GRAPH_LAUNCH) {
            TIDE_TRY(tide_map_put(&of->graphs, row->graph, launches_of(of, row->graph) + 1));
        } else {
            TIDE_TRY(add(of, i, 1));
        }
    }
    return TIDE_OK;
}

/* Adds the rows captured into the graphs that the range launches. A graph that is launched inside
 * another was captured before that launch, so the rows are traversed from the end. */
static tide_status collect_captured(collector *of) {
    for (size_t i = of->model->log->n_rows; i-- > 0;) {
        const tide_run_launch *row = &of->model->log->rows[i];
        bool is_captured = (row->flags & TIDE_RUN_CAPTURED) != 0;
        uint64_t n = is_captured ? launches_of(of, row->graph) : 0;
        if (n == 0) {
            continue;
        }
        if (row->kind == TIDE_RUN_GRAPH_LAUNCH) {
            TIDE_TRY(tide_map_put(&of->graphs, row->m, launches_of(of, row->m) + n));
        } else if (us_of(&of->model->work[i]) > 0.0) {
            TIDE_TRY(add(of, i, n));
        }
    }
    return TIDE_OK;
}

tide_status tide_time_kernels_of(const tide_time_model *model, const tide_time_range *range,
                                 tide_time_kernels *ret_kernels) {
    const tide_hostmem *mem = model->log->mem;
    *ret_kernels = (tide_time_kernels){.n = 0};
    collector of = {.model = model, .to = ret_kernels};
    tide_map_init(&of.numbers, mem);
    tide_map_init(&of.graphs, mem);
    tide_status status = collect_range(&of, range);
    if (status == TIDE_OK) {
        status = collect_captured(&of);
    }
    tide_map_fini(&of.numbers);
    tide_map_fini(&of.graphs);
    mem->release(mem->ctx, of.bounds);
    if (ret_kernels->n > 0) {
        qsort(ret_kernels->rows, ret_kernels->n, sizeof(*ret_kernels->rows), by_time);
    }
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
    default:
        snprintf(ret_name, n_room, "%s", kernel->name[0] != '\0' ? kernel->name : "?");
    }
}
