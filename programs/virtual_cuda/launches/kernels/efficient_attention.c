/* efficient_attention.c - PyTorch's memory-efficient attention:
 *
 *   fmha_cutlassF_TYPE_...(AttentionKernel<T, architecture, aligned, queries, keys, ...>::Params)
 *   fmha_cutlassB_TYPE_...(AttentionBackwardKernel<...>::Params)
 *
 * The members were found in PyTorch 2.14.1 by calls with known sizes. The grid also has the heads
 * and batches: parameters that do not fit the grid are not used. */
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/launches/kernels/attention.h"
#include "programs/virtual_cuda/launches/kernels/families_internal.h"
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

enum { TYPE = 0, TYPE_BYTES = 1 }; /* tide_vc_parsed.number; 0 bytes: unknown */
enum { FLOAT_BYTES = 4, MOST_CHANNELS = 1 << 16 };

typedef struct forward {
    const void *queries, *keys, *values, *bias;
    const void *query_starts, *key_starts; /* NULL: all sequences have the same length */
    const void *key_lengths;
    uint32_t diagonal;
    const void *output, *accumulator, *sums; /* the last two may be NULL */
    int window;                              /* how many keys before a query it sees; 0: all */
    float scale;
    int n_channels, n_value_channels, n_queries, n_keys, n_all_keys;
    uint8_t mask; /* as tide_vc_mask */
    int query_stride, key_stride, value_stride, bias_stride, output_stride;
    int head_strides[3];
    int64_t bias_head_stride, batch_strides[3], bias_batch_stride;
    int n_batches, n_heads;
} forward;

typedef struct backward {
    const void *queries, *keys, *values, *bias, *sums, *output, *output_gradient, *delta;
    const void *query_starts, *key_starts;
    const void *query_gradient, *key_gradient, *value_gradient, *bias_gradient;
    const void *accumulator, *unused[2];
    int window;
    float scale;
    int n_channels, n_value_channels, n_queries, n_keys, n_heads, n_heads_per_key_head;
    uint8_t mask;
} backward;
enum { BACKWARD_BATCHES_AT = 384 };

_Static_assert(offsetof(forward, n_channels) == 96 && offsetof(forward, mask) == 116 &&
                   offsetof(forward, bias_batch_stride) == 184 &&
                   offsetof(forward, n_heads) == 196 && offsetof(backward, n_channels) == 144 &&
                   offsetof(backward, mask) == 168,
               "the members lie where PyTorch 2.14.1 has them");

/* The sizes that both directions have. */
typedef struct sizes {
    const void *queries;
    int n_batches, n_heads, n_queries, n_keys, n_channels, n_value_channels, mask, window;
    bool is_uneven; /* sequences have different lengths; the sizes above are the longest's */
} sizes;

void tide_vc_parse_efficient(const char *symbol, tide_vc_parsed *ret_parsed) {
    static const struct {
        const char *part;
        tide_run_type type;
        uint32_t n_bytes;
    } TYPES[] = {
        {"_bf16_", TIDE_RUN_BF16, 2}, {"_f16_", TIDE_RUN_FP16, 2}, {"_f32_", TIDE_RUN_FP32, 4}};
    tide_vc_text text = {symbol, strlen(symbol)};
    for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
        if (tide_vc_text_has(text, TYPES[i].part)) {
            ret_parsed->number[TYPE] = TYPES[i].type;
            ret_parsed->number[TYPE_BYTES] = TYPES[i].n_bytes;
        }
    }
}

static bool is_plausible(const tide_vc_launched_kernel *launched, const sizes *of) {
    const unsigned *grid = launched->call->grid;
    return launched->parsed->number[TYPE_BYTES] > 0 && of->n_batches > 0 && of->n_heads > 0 &&
           grid[1] == (unsigned)of->n_heads && grid[2] == (unsigned)of->n_batches &&
           of->n_queries > 0 && of->n_keys > 0 && of->n_channels > 0 &&
           of->n_channels <= MOST_CHANNELS && of->n_value_channels > 0 &&
           of->n_value_channels <= MOST_CHANNELS && of->mask <= TIDE_VC_MASK_BOTTOM_RIGHT &&
           tide_vc_is_device(of->queries);
}

static uint64_t heads_of(const sizes *of) {
    return (uint64_t)of->n_batches * (uint64_t)of->n_heads;
}

static void fill(const tide_vc_launched_kernel *launched, const sizes *of, tide_run_launch *row) {
    bool is_local = of->window > 0 && of->window < of->n_keys;
    tide_vc_attention attention = {.n_queries = (uint64_t)of->n_queries,
                                   .n_keys = (uint64_t)(is_local ? of->window : of->n_keys),
                                   .n_channels = (uint64_t)of->n_channels,
                                   .n_value_channels = (uint64_t)of->n_value_channels,
                                   .n_heads = heads_of(of),
                                   .mask = is_local ? TIDE_VC_MASK_NONE : (tide_vc_mask)of->mask,
                                   .type = (tide_run_type)launched->parsed->number[TYPE]};
    tide_vc_attention_fill(&attention, row);
    row->flags |= of->is_uneven ? TIDE_RUN_ESTIMATED : 0;
}

/* The number of values of queries, output, keys and values in all heads. */
static uint64_t values_of(const sizes *of) {
    return heads_of(of) * ((uint64_t)of->n_queries + (uint64_t)of->n_keys) *
           ((uint64_t)of->n_channels + (uint64_t)of->n_value_channels);
}

static uint64_t sums_of(const sizes *of) {
    return heads_of(of) * (uint64_t)of->n_queries;
}

/* A bias is read once if several queries, heads or batches share it. */
static uint64_t bias_values(const forward *of) {
    if (of->bias == NULL) {
        return 0;
    }
    uint64_t n = (uint64_t)of->n_keys;
    n *= of->bias_stride != 0 ? (uint64_t)of->n_queries : 1;
    n *= of->bias_head_stride != 0 ? (uint64_t)of->n_heads : 1;
    return n * (of->bias_batch_stride != 0 ? (uint64_t)of->n_batches : 1);
}

bool tide_vc_read_efficient_forward(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    forward of;
    if (!tide_vc_argument(launched, 0, 0, &of, sizeof(of))) {
        return false;
    }
    sizes size = {of.queries, of.n_batches,           of.n_heads,          of.n_queries,
                  of.n_keys,  of.n_channels,          of.n_value_channels, of.mask,
                  of.window,  of.query_starts != NULL};
    if (!is_plausible(launched, &size)) {
        return false;
    }
    fill(launched, &size, row);
    uint64_t accumulated =
        of.accumulator != NULL ? 2 * sums_of(&size) * (uint64_t)of.n_value_channels : 0;
    row->bytes = (values_of(&size) + bias_values(&of)) * launched->parsed->number[TYPE_BYTES] +
                 ((of.sums != NULL ? sums_of(&size) : 0) + accumulated) * FLOAT_BYTES;
    return true;
}

/* Reads queries, keys, values, the output's gradient and two sums of each row; writes the gradients
 * of queries, keys and values, the first through an accumulator. */
bool tide_vc_read_efficient_backward(const tide_vc_launched_kernel *launched,
                                     tide_run_launch *row) {
    backward of;
    int n_batches = 0;
    if (!tide_vc_argument(launched, 0, 0, &of, sizeof(of)) ||
        !tide_vc_argument(launched, 0, BACKWARD_BATCHES_AT, &n_batches, sizeof(n_batches))) {
        return false;
    }
    sizes size = {
        of.queries,    n_batches,           of.n_heads, of.n_queries, of.n_keys,
        of.n_channels, of.n_value_channels, of.mask,    of.window,    of.query_starts != NULL};
    if (!is_plausible(launched, &size)) {
        return false;
    }
    fill(launched, &size, row);
    row->flags |= TIDE_RUN_BACKWARD;
    uint64_t channels = (uint64_t)of.n_channels;
    uint64_t scores = heads_of(&size) * (uint64_t)of.n_queries * (uint64_t)of.n_keys;
    uint64_t n =
        values_of(&size) + sums_of(&size) * channels +
        heads_of(&size) * (uint64_t)of.n_keys * (channels + (uint64_t)of.n_value_channels) +
        scores * ((of.bias != NULL ? 1U : 0U) + (of.bias_gradient != NULL ? 1U : 0U));
    uint64_t floats = sums_of(&size) * (of.accumulator != NULL ? 2 + 2 * channels : 2);
    row->bytes = n * launched->parsed->number[TYPE_BYTES] + floats * FLOAT_BYTES;
    return true;
}
