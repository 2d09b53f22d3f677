/* flash_attention.c - FlashAttention-2, as PyTorch builds it in the namespace pytorch_flash:
 *
 *   flash_fwd_kernel<traits, dropout, causal, local, ...>(Flash_fwd_params)
 *   flash_fwd_splitkv_kernel<traits, causal, local, ...>(Flash_fwd_params), and
 *   flash_fwd_splitkv_combine_kernel, which joins the parts of the keys
 *   flash_bwd_dot_do_o_kernel, flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel and
 *   flash_bwd_convert_dq_kernel(Flash_bwd_params)
 *
 * Flash_bwd_params begins with Flash_fwd_params. The members up to the window were found in PyTorch
 * 2.14.1 by calls with known sizes; a layout whose members contradict each other is not used. */
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/launches/kernels/attention.h"
#include "programs/virtual_cuda/launches/kernels/families_internal.h"
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

/* tide_vc_parsed.number */
enum { TYPE = 0, IS_TYPED = 1, IS_CAUSAL = 2, IS_LOCAL = 3, CLEARS = 4 };

/* Flash_fwd_params, up to the window. */
typedef struct parameters {
    const void *queries, *keys, *values;
    int64_t strides[9];
    int n_heads, n_key_heads, n_heads_per_key_head;
    const void *output, *output_parts;
    int64_t output_strides[3];
    const void *probabilities, *sums, *sums_parts;
    int n_batches, n_queries, n_keys, n_new_keys, n_channels;
    int n_queries_rounded, n_keys_rounded, n_channels_rounded, n_rotary;
    int n_all_queries; /* the sum for sequences of different lengths */
    float scale, scale_log2;
    const void *query_starts; /* NULL: all sequences have the same length */
    const void *unused[4];
    const void *new_keys, *new_values;
    int64_t new_strides[6];
    const void *rotary[2], *batch_indices, *block_table;
    int64_t block_table_stride;
    int block_keys;
    float dropout;
    uint8_t dropout_byte;
    float dropout_factor, dropout_scale;
    int window_left, window_right; /* keys that a query sees on each side; below 0: all */
} parameters;

enum { N_PARTS_AT = 444, BLOCK = 128, MOST_CHANNELS = 256, MOST_PARTS = 128 };
_Static_assert(offsetof(parameters, n_batches) == 176 && offsetof(parameters, scale) == 216 &&
                   offsetof(parameters, dropout) == 372 && offsetof(parameters, window_left) == 388,
               "the members lie where PyTorch 2.14.1 has them");

/* ---- names ---- */

static void parse(const char *symbol, const char *kernel, size_t causal, tide_vc_parsed *ret) {
    tide_vc_text text = {symbol, strlen(symbol)};
    bool is_bf16 = tide_vc_text_has(text, "cutlass::bfloat16_t");
    ret->number[TYPE] = is_bf16 ? TIDE_RUN_BF16 : TIDE_RUN_FP16;
    ret->number[IS_TYPED] = is_bf16 || tide_vc_text_has(text, "cutlass::half_t");
    if (causal > 0) {
        ret->number[IS_CAUSAL] =
            tide_vc_text_begins(tide_vc_symbol_argument(text, kernel, causal), "true");
        ret->number[IS_LOCAL] =
            tide_vc_text_begins(tide_vc_symbol_argument(text, kernel, causal + 1), "true");
    }
}

void tide_vc_parse_flash_forward(const char *symbol, tide_vc_parsed *ret_parsed) {
    parse(symbol, "flash_fwd_kernel", 2, ret_parsed);
}

void tide_vc_parse_flash_parts(const char *symbol, tide_vc_parsed *ret_parsed) {
    parse(symbol, "flash_fwd_splitkv_kernel", 1, ret_parsed);
}

void tide_vc_parse_flash_backward(const char *symbol, tide_vc_parsed *ret_parsed) {
    parse(symbol, "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", 2, ret_parsed);
}

void tide_vc_parse_flash_helper(const char *symbol, tide_vc_parsed *ret_parsed) {
    tide_vc_text text = {symbol, strlen(symbol)};
    parse(symbol, "", 0, ret_parsed);
    ret_parsed->number[CLEARS] =
        tide_vc_text_begins(tide_vc_symbol_argument(text, "flash_bwd_dot_do_o_kernel", 0), "true");
}

/* ---- arguments ---- */

static int rounded(int n, int to) {
    return (n + to - 1) / to * to;
}

static bool is_plausible(const parameters *of) {
    bool is_some = of->n_heads > 0 && of->n_key_heads > 0 && of->n_batches > 0 &&
                   of->n_queries > 0 && of->n_keys > 0 && of->n_channels > 0;
    bool fits = is_some && of->n_heads_per_key_head == of->n_heads / of->n_key_heads &&
                of->n_heads % of->n_key_heads == 0 && of->n_channels <= MOST_CHANNELS;
    return fits && of->n_queries <= INT32_MAX - BLOCK && of->n_keys <= INT32_MAX - BLOCK &&
           of->n_queries_rounded == rounded(of->n_queries, BLOCK) &&
           of->n_keys_rounded == rounded(of->n_keys, BLOCK) &&
           (of->n_channels_rounded == rounded(of->n_channels, 32) ||
            of->n_channels_rounded == MOST_CHANNELS) &&
           tide_vc_is_device(of->queries) && tide_vc_is_device(of->keys);
}

static bool read_parameters(const tide_vc_launched_kernel *launched, parameters *ret) {
    return launched->parsed->number[IS_TYPED] != 0 &&
           tide_vc_argument(launched, 0, 0, ret, sizeof(*ret)) && is_plausible(ret);
}

/* All rows of queries. For sequences of different lengths only the longest and the sum are
 * known. */
static uint64_t rows_of_queries(const parameters *of) {
    bool is_summed = of->query_starts != NULL && of->n_all_queries > 0;
    return is_summed ? (uint64_t)of->n_all_queries
                     : (uint64_t)of->n_batches * (uint64_t)of->n_queries;
}

/* The most keys that a query sees. */
static uint64_t keys_of(const tide_vc_launched_kernel *launched, const parameters *of) {
    uint64_t n = (uint64_t)of->n_keys;
    if (launched->parsed->number[IS_LOCAL] == 0) {
        return n;
    }
    uint64_t left = of->window_left < 0 ? n : (uint64_t)of->window_left;
    uint64_t right = of->window_right < 0 ? n : (uint64_t)of->window_right;
    return left + right + 1 < n ? left + right + 1 : n;
}

static void fill(const tide_vc_launched_kernel *launched, const parameters *of,
                 tide_run_launch *row) {
    uint64_t n_sequences =
        (rows_of_queries(of) + (uint64_t)of->n_queries - 1) / (uint64_t)of->n_queries;
    tide_vc_attention attention = {.n_queries = (uint64_t)of->n_queries,
                                   .n_keys = keys_of(launched, of),
                                   .n_channels = (uint64_t)of->n_channels,
                                   .n_value_channels = (uint64_t)of->n_channels,
                                   .n_heads = n_sequences * (uint64_t)of->n_heads,
                                   .mask = launched->parsed->number[IS_CAUSAL] != 0
                                               ? TIDE_VC_MASK_BOTTOM_RIGHT
                                               : TIDE_VC_MASK_NONE,
                                   .type = (tide_run_type)launched->parsed->number[TYPE]};
    tide_vc_attention_fill(&attention, row);
    row->flags |= of->query_starts != NULL ? TIDE_RUN_ESTIMATED : 0;
}

enum { HALF_BYTES = 2, FLOAT_BYTES = 4 };

/* Rows of queries of all heads, and of keys of as many heads. */
static uint64_t query_rows(const parameters *of) {
    return rows_of_queries(of) * (uint64_t)of->n_heads;
}

static uint64_t key_rows(const parameters *of, int n_heads) {
    return (uint64_t)of->n_batches * (uint64_t)of->n_keys * (uint64_t)n_heads;
}

/* Reads queries, keys and values; writes the output and a sum of each row. The output of parts is
 * in floats. */
static bool read_forward(const tide_vc_launched_kernel *launched, uint64_t n_parts,
                         tide_run_launch *row) {
    parameters of;
    if (!read_parameters(launched, &of)) {
        return false;
    }
    fill(launched, &of, row);
    uint64_t channels = (uint64_t)of.n_channels;
    uint64_t written = n_parts > 1 ? n_parts * (uint64_t)of.n_channels_rounded * FLOAT_BYTES
                                   : channels * HALF_BYTES;
    row->bytes = query_rows(&of) * (channels * HALF_BYTES + written + n_parts * FLOAT_BYTES) +
                 2 * key_rows(&of, of.n_key_heads) * channels * HALF_BYTES;
    return true;
}

bool tide_vc_read_flash_forward(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    return read_forward(launched, 1, row);
}

static bool read_parts(const tide_vc_launched_kernel *launched, uint64_t *ret_n) {
    int n = 0;
    bool is_read = tide_vc_argument(launched, 0, N_PARTS_AT, &n, sizeof(n));
    *ret_n = (uint64_t)n;
    return is_read && n > 0 && n <= MOST_PARTS;
}

bool tide_vc_read_flash_parts(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    uint64_t n_parts = 0;
    return read_parts(launched, &n_parts) && read_forward(launched, n_parts, row);
}

bool tide_vc_read_flash_join(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    parameters of;
    uint64_t n_parts = 0;
    if (!read_parts(launched, &n_parts) || !read_parameters(launched, &of)) {
        return false;
    }
    uint64_t floats = n_parts * ((uint64_t)of.n_channels_rounded + 1) + 1;
    row->elements = query_rows(&of) * (uint64_t)of.n_channels;
    row->bytes = query_rows(&of) * (floats * FLOAT_BYTES + (uint64_t)of.n_channels * HALF_BYTES);
    return true;
}

/* Gradients of queries are summed as floats, in padded rows. */
static uint64_t accumulator_bytes(const parameters *of) {
    return (uint64_t)of->n_batches * (uint64_t)of->n_heads * (uint64_t)of->n_queries_rounded *
           (uint64_t)of->n_channels_rounded * FLOAT_BYTES;
}

/* Reads queries, keys, values, the output's gradient and two sums of each row; adds to the gradient
 * of the queries, and writes those of keys and values for each head of the queries. */
bool tide_vc_read_flash_backward(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    parameters of;
    if (!read_parameters(launched, &of)) {
        return false;
    }
    fill(launched, &of, row);
    row->flags |= TIDE_RUN_BACKWARD;
    uint64_t row_bytes = (uint64_t)of.n_channels * HALF_BYTES;
    row->bytes = query_rows(&of) * (2 * row_bytes + UINT64_C(2) * FLOAT_BYTES) +
                 2 * accumulator_bytes(&of) +
                 2 * row_bytes * (key_rows(&of, of.n_key_heads) + key_rows(&of, of.n_heads));
    return true;
}

/* Reads the output and its gradient and writes a sum of each row; may clear the accumulator. */
bool tide_vc_read_flash_dot(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    parameters of;
    if (!read_parameters(launched, &of)) {
        return false;
    }
    row->elements = query_rows(&of) * (uint64_t)of.n_channels;
    row->bytes = query_rows(&of) * (2 * (uint64_t)of.n_channels * HALF_BYTES + FLOAT_BYTES) +
                 (launched->parsed->number[CLEARS] != 0 ? accumulator_bytes(&of) : 0);
    return true;
}

/* Reads the accumulator and writes the gradient of the queries. */
bool tide_vc_read_flash_convert(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    parameters of;
    if (!read_parameters(launched, &of)) {
        return false;
    }
    row->elements = query_rows(&of) * (uint64_t)of.n_channels;
    row->bytes = accumulator_bytes(&of) + row->elements * HALF_BYTES;
    return true;
}
