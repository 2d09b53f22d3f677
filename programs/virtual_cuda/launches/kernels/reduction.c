/* reduction.c - PyTorch's reduce_kernel<threads, width, ReduceOp<in, operation, index, out,
 * ...>>(R).
 *
 * The ReduceOp begins with the operation and the initial value of a sum, whose sizes vary. A
 * ReduceConfig of ints follows: bytes of an accumulator, inputs of each output, outputs, the steps
 * of both in memory, and blocks for an output. It is found by the plausible values of these. */
#include "programs/virtual_cuda/launches/kernels/families_internal.h"
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

/* tide_vc_parsed.number */
enum { BYTES_IN = 0, BYTES_OUT = 1, WIDTH = 2 };
enum { UNKNOWN_BYTES = 4 }; /* of a value of unknown type: most are fp32 */
enum { LAST_PLACE = 128, MOST_STEP = 1 << 20, MOST_BLOCKS = 65535 };

typedef struct config {
    int accumulator_bytes, n_inputs, n_outputs, step_input, step_output, n_blocks;
} config;

void tide_vc_parse_reduction(const char *symbol, tide_vc_parsed *ret_parsed) {
    tide_vc_text text = {symbol, strlen(symbol)};
    uint32_t in = tide_vc_type_bytes(tide_vc_symbol_argument(text, "ReduceOp", 0));
    uint32_t out = tide_vc_type_bytes(tide_vc_symbol_argument(text, "ReduceOp", 3));
    ret_parsed->number[BYTES_IN] = in > 0 ? in : UNKNOWN_BYTES;
    tide_vc_text operation = tide_vc_symbol_argument(text, "ReduceOp", 1);
    bool gives_places = tide_vc_text_has(operation, "::MaxOps<") ||
                        tide_vc_text_has(operation, "::MinOps<"); /* int64, with the values */
    ret_parsed->number[BYTES_OUT] =
        (out > 0 ? out : UNKNOWN_BYTES) + (gives_places ? (uint32_t)sizeof(int64_t) : 0);
    /* Results that are next to each other are computed together, 2 or 4 by a thread. */
    ret_parsed->number[WIDTH] =
        tide_vc_text_number(tide_vc_symbol_argument(text, "reduce_kernel", 1));
    ret_parsed->flags = in > 0 && out > 0 ? 0 : TIDE_RUN_ESTIMATED;
}

static bool is_config(const config *of) {
    int bytes = of->accumulator_bytes;
    bool is_size = bytes == 1 || bytes == 2 || (bytes >= 4 && bytes <= 48 && bytes % 4 == 0);
    bool is_count = of->n_inputs > 0 && of->n_outputs > 0;
    bool is_step = of->step_input > 0 && of->step_input <= MOST_STEP && of->step_output > 0 &&
                   of->step_output <= MOST_STEP;
    return is_size && is_count && is_step && of->n_blocks > 0 && of->n_blocks <= MOST_BLOCKS;
}

bool tide_vc_read_reduction(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    const uint32_t *number = launched->parsed->number;
    for (size_t at = 0; at <= LAST_PLACE; at += sizeof(int)) {
        config of;
        if (!tide_vc_argument(launched, 0, at, &of, sizeof(of))) {
            return false;
        }
        if (is_config(&of)) {
            uint64_t n_outputs = (uint64_t)of.n_outputs;
            row->elements = (uint64_t)of.n_inputs * n_outputs;
            row->bytes = row->elements * number[BYTES_IN] + n_outputs * number[BYTES_OUT];
            row->m = (uint32_t)of.n_outputs;
            row->n = (uint32_t)of.n_inputs;
            row->k = number[WIDTH] > 1 ? TIDE_RUN_COLUMNS : TIDE_RUN_NO_VARIANT;
            return true;
        }
    }
    return false;
}
