/* areas.c - the rule for the work areas of convolutions. Measured are ResNet-50 with batch 1 and
 * pointwise convolutions, all of them in fp32 with the channels first; every other line rests on
 * documentation alone. docs/reference/work-areas.md lists the laws, their sources, and how well
 * they hold. */
#include "programs/virtual_cuda/libraries/cudnn/areas_internal.h"

#include <stddef.h>

#include "common/assert.h"

#define MIB (UINT64_C(1) << 20)

/* What of a copy is not tensors: it is aligned to 16 bytes. */
enum { ALIGNMENT = 16, FLOAT_BYTES = 4 };

/* Multiples of input, filter and output in their own type, of the filter in fp32, and bytes. */
typedef struct formula {
    unsigned x, w, y, w_fp32;
    uint64_t n_bytes;
} formula;

/* Copies of everything in another layout, once or twice (transformed for Winograd or FFT), and 8
 * MiB for tables of a kernel: the largest published area without tensors of that size is 9.5 MiB.
 */
#define COPIES                                                                                     \
    { .x = 1, .w = 1, .y = 1, .n_bytes = 8 * MIB }
#define TWO_COPIES                                                                                 \
    { .x = 2, .w = 2, .y = 2, .n_bytes = 8 * MIB }
#define NOTHING                                                                                    \
    { .n_bytes = 0 }

/* The conditions of a line; all that are set must hold. */
enum {
    GROUPED = 1,
    PLAIN = 2, /* no tensor cores */
    LAST = 4,  /* channels last */
    POINTWISE = 8,
    OLD = 16 /* cuDNN 8 and before */
};

typedef struct rule {
    unsigned conditions;
    bool is_measured;
    formula likely[TIDE_VC_CUDNN_N_WAYS]; /* by the result */
    formula most, or_most;                /* the larger of the two */
    const char *source;
} rule;

/* The first line whose conditions hold. */
static const rule RULES[] = {
    {.conditions = GROUPED,
     .most = TWO_COPIES,
     .source = "not measured; NVIDIA's guide names direct kernels, which need no area"},
    {.conditions = PLAIN,
     .most = TWO_COPIES,
     .source = "not measured; Winograd and FFT keep transformed copies (cuDNN 7.4 on a V100 took 8 "
               "GB for a 3x3 in fp16)"},
    {.conditions = LAST,
     .likely = {[TIDE_VC_CUDNN_FILTER] = {.w_fp32 = 1}},
     .most = COPIES,
     .source = "not measured; tensor cores read this layout, and parts of a sum are kept in fp32"},
    {.conditions = POINTWISE | OLD,
     .is_measured = true,
     .likely = {{.n_bytes = 128 * MIB}, {.n_bytes = 128 * MIB}, {.w = 1, .n_bytes = 128 * MIB}},
     .most = COPIES,
     .or_most = {.w = 1, .n_bytes = 128 * MIB},
     .source =
         "ResNet-50, PyTorch 2.2 (snapshot of PyTorch's blog \"Understanding GPU memory 1\"); "
         "octree-nca, PyTorch 2.3"},
    {.conditions = POINTWISE,
     .is_measured = true,
     .likely = {NOTHING, NOTHING, {.x = 1, .y = 1, .n_bytes = ALIGNMENT}},
     .most = COPIES,
     .source = "octree-nca, PyTorch 2.5; ResNet-50 on an A10G, PyTorch 2.5 (memory timelines of "
               "tonghuikang/optimizer-memory-profiles)"},
    {.conditions = 0,
     .is_measured = true,
     .likely = {{.x = 1, .w = 1, .y = 1, .n_bytes = ALIGNMENT},
                {.x = 1, .w = 1, .y = 1, .n_bytes = ALIGNMENT},
                {.x = 1, .w = 1, .y = 1, .n_bytes = ALIGNMENT}},
     .most = TWO_COPIES,
     .source = "ResNet-50, both of the above: copies with the channels last, for tensor cores"},
};

static unsigned conditions_of(const tide_vc_cudnn_problem *problem) {
    return (problem->is_grouped ? GROUPED : 0U) | (problem->has_tensor_cores ? 0U : PLAIN) |
           (problem->is_channels_last ? LAST : 0U) | (problem->is_pointwise ? POINTWISE : 0U) |
           (problem->cudnn_major <= 8 ? OLD : 0U);
}

static uint64_t bytes_of(const formula *of, const tide_vc_cudnn_problem *problem) {
    return of->x * problem->x_bytes + of->w * problem->w_bytes + of->y * problem->y_bytes +
           of->w_fp32 * FLOAT_BYTES * problem->w_values + of->n_bytes;
}

tide_vc_cudnn_area tide_vc_cudnn_area_of(const tide_vc_cudnn_problem *problem) {
    const rule *found = RULES;
    unsigned conditions = conditions_of(problem);
    if (problem->x_bytes == 0) {
        return (tide_vc_cudnn_area){.likely_bytes = 0};
    }
    while ((found->conditions & conditions) != found->conditions) {
        found++; /* the last one has no conditions */
    }
    TIDE_ASSERT(found < RULES + sizeof(RULES) / sizeof(RULES[0]));
    uint64_t most = bytes_of(&found->most, problem);
    uint64_t or_most = bytes_of(&found->or_most, problem);
    tide_vc_cudnn_area area = {.likely_bytes = bytes_of(&found->likely[problem->way], problem),
                               .most_bytes = most > or_most ? most : or_most,
                               .is_convolution = true,
                               .is_measured = found->is_measured};
    if (area.most_bytes < area.likely_bytes) {
        area.most_bytes = area.likely_bytes;
    }
    return area;
}
