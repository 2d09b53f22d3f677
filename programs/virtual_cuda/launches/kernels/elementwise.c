/* elementwise.c - PyTorch's kernels that process contiguous tensors element by element:
 *
 *   vectorized_elementwise_kernel<width, F, array<char *, n>, ...>(int N, F, array)
 *   unrolled_elementwise_kernel<F, array<char *, n>, ..., loader, storer>(int N, F, array,
 *       input offsets, output offsets, loader, storer)
 *   unrolled_elementwise_kernel_for_multi_outputs<results, F, array<char *, n>, ...>(int N, F,
 *       array, input offsets, output offsets)
 *
 * n counts the results and the operands. A loader or storer with casts has the bytes of each:
 * LoadWithCast<k> is an array of k types of one byte, and then an array of k sizes of four bytes.
 */
#include "programs/virtual_cuda/launches/kernels/families_internal.h"
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

/* tide_vc_parsed.number */
enum { BYTES_IN = 0, BYTES_OUT = 1, CASTS_IN = 2, CASTS_OUT = 3, POINTERS = 4, OUTPUTS = 5 };
/* The bytes of each operand, 8 bits each, are numbers 6 and 7. */
enum { SIZES = 6, SIZE_BITS = 8, SIZES_A_NUMBER = 4 };
_Static_assert((int)SIZES + (int)TIDE_VC_MOST_OPERANDS / (int)SIZES_A_NUMBER <= (int)TIDE_VC_PARSED,
               "the sizes of all operands have room");
enum { UNKNOWN_BYTES = 4 }; /* of a value of unknown type: most are fp32 */

/* Arguments of the unrolled kernel. */
enum { N_ELEMENTS = 0, ADDRESSES = 2, LOADER = 5, STORER = 6 };

static uint32_t pointers_of(tide_vc_text symbol) {
    tide_vc_text n = tide_vc_symbol_argument(symbol, "std::array", 1);
    if (n.at == NULL) { /* before PyTorch 2.7 */
        n = tide_vc_symbol_argument(symbol, "at::detail::Array", 1);
    }
    return tide_vc_text_number(n);
}

static uint32_t known_bytes(uint32_t n_bytes, tide_vc_parsed *parsed) {
    if (n_bytes == 0) {
        parsed->flags |= TIDE_RUN_ESTIMATED;
    }
    return n_bytes > 0 ? n_bytes : UNKNOWN_BYTES;
}

/* The bytes of one element of all operands together, and of the result. */
static void parse_functor(tide_vc_text functor, uint32_t n_pointers, tide_vc_parsed *parsed) {
    uint32_t n_inputs = n_pointers > 0 ? n_pointers - 1 : 1; /* most have one */
    tide_vc_signature of = tide_vc_signature_of(functor, n_inputs);
    for (uint32_t i = 0; i < n_inputs; i++) {
        uint32_t n_bytes = i < of.n_inputs && i < TIDE_VC_MOST_OPERANDS ? of.input_bytes[i] : 0;
        n_bytes = known_bytes(n_bytes, parsed);
        parsed->number[BYTES_IN] += n_bytes;
        if (i < TIDE_VC_MOST_OPERANDS && n_bytes < 1U << SIZE_BITS) {
            parsed->number[SIZES + i / SIZES_A_NUMBER] |= n_bytes
                                                          << SIZE_BITS * (i % SIZES_A_NUMBER);
        }
    }
    parsed->number[BYTES_OUT] = known_bytes(of.output_bytes, parsed);
    parsed->number[POINTERS] = n_pointers;
    parsed->number[OUTPUTS] = 1;
}

void tide_vc_parse_vectorised(const char *symbol, tide_vc_parsed *ret_parsed) {
    tide_vc_text text = {symbol, strlen(symbol)};
    tide_vc_text functor = tide_vc_symbol_argument(text, "vectorized_elementwise_kernel", 1);
    parse_functor(functor, pointers_of(text), ret_parsed);
}

/* The first template argument is the number of results. */
void tide_vc_parse_several(const char *symbol, tide_vc_parsed *ret_parsed) {
    static const char NAME[] = "unrolled_elementwise_kernel_for_multi_outputs";
    tide_vc_text text = {symbol, strlen(symbol)};
    uint32_t n_outputs = tide_vc_text_number(tide_vc_symbol_argument(text, NAME, 0));
    uint32_t n_pointers = pointers_of(text);
    uint32_t n_inputs = n_pointers > n_outputs ? n_pointers - n_outputs : 0;
    parse_functor(tide_vc_symbol_argument(text, NAME, 1), n_inputs + 1, ret_parsed);
    ret_parsed->number[BYTES_OUT] *= n_outputs;
    ret_parsed->number[POINTERS] = n_pointers;
    ret_parsed->number[OUTPUTS] = n_outputs;
    ret_parsed->flags |= TIDE_RUN_ESTIMATED; /* the results' types are not in the name */
}

void tide_vc_parse_unrolled(const char *symbol, tide_vc_parsed *ret_parsed) {
    tide_vc_text text = {symbol, strlen(symbol)};
    tide_vc_text functor = tide_vc_symbol_argument(text, "unrolled_elementwise_kernel", 0);
    uint32_t n_pointers = pointers_of(text);
    tide_vc_text casts = tide_vc_symbol_argument(text, "LoadWithCast", 0);
    parse_functor(functor, n_pointers, ret_parsed);
    ret_parsed->number[CASTS_IN] = casts.at != NULL && n_pointers > 0 ? n_pointers - 1 : 0;
    ret_parsed->number[CASTS_OUT] = tide_vc_symbol_argument(text, "StoreWithCast", 0).at != NULL;
    if (casts.at != NULL && ret_parsed->number[CASTS_OUT] != 0) {
        ret_parsed->flags = 0; /* every size is in the arguments */
    }
}

/* The sum of k sizes, stored after k types of a byte each. */
static bool read_casts(const tide_vc_launched_kernel *launched, size_t argument, uint32_t k,
                       uint32_t *ret_bytes) {
    uint32_t total = 0;
    for (uint32_t i = 0; i < k; i++) {
        uint32_t n_bytes = 0;
        if (!tide_vc_argument(launched, argument, ((k + 3) & ~3U) + 4 * (size_t)i, &n_bytes,
                              sizeof(n_bytes)) ||
            n_bytes == 0 || n_bytes > 16) { /* complex128 is the widest */
            return false;
        }
        total += n_bytes;
    }
    *ret_bytes = total;
    return true;
}

static bool read_elements(const tide_vc_launched_kernel *launched, uint64_t *ret_n) {
    int n = 0;
    bool is_read = tide_vc_argument(launched, N_ELEMENTS, 0, &n, sizeof(n));
    *ret_n = (uint64_t)n;
    return is_read && n > 0;
}

static uint32_t size_of(const uint32_t *number, uint32_t i) {
    return number[SIZES + i / SIZES_A_NUMBER] >> SIZE_BITS * (i % SIZES_A_NUMBER) &
           ((1U << SIZE_BITS) - 1);
}

/* The addresses are those of the results and then of the operands. An operand that is passed twice,
 * as in x * x, is read once: returns the bytes of the different ones. */
static uint64_t distinct_bytes(const tide_vc_launched_kernel *launched, uint32_t bytes_in,
                               tide_run_launch *row) {
    const uint32_t *number = launched->parsed->number;
    const void *addresses[TIDE_VC_MOST_OPERANDS];
    uint32_t n = number[POINTERS];
    uint32_t n_inputs = n > number[OUTPUTS] ? n - number[OUTPUTS] : 0;
    uint32_t n_equal_bytes = 0;
    row->count = n;
    if (n > TIDE_VC_MOST_OPERANDS || n_inputs == 0 ||
        !tide_vc_argument(launched, ADDRESSES, 0, addresses, n * sizeof(addresses[0]))) {
        return bytes_in;
    }
    const void *const *inputs = addresses + number[OUTPUTS];
    for (uint32_t i = 1; i < n_inputs; i++) { /* equal operands have one type */
        uint32_t n_bytes = number[CASTS_IN] > 0 ? bytes_in / n_inputs : size_of(number, i);
        bool is_new = tide_vc_distinct(inputs, i + 1) > tide_vc_distinct(inputs, i);
        n_equal_bytes += is_new ? 0 : n_bytes;
    }
    return n_equal_bytes < bytes_in ? bytes_in - n_equal_bytes : bytes_in;
}

bool tide_vc_read_vectorised(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    const uint32_t *number = launched->parsed->number;
    bool is_read = read_elements(launched, &row->elements);
    row->bytes =
        row->elements * (distinct_bytes(launched, number[BYTES_IN], row) + number[BYTES_OUT]);
    return is_read;
}

bool tide_vc_read_unrolled(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    const uint32_t *number = launched->parsed->number;
    uint32_t in = number[BYTES_IN];
    uint32_t out = number[BYTES_OUT];
    if (!read_elements(launched, &row->elements) ||
        (number[CASTS_IN] > 0 && !read_casts(launched, LOADER, number[CASTS_IN], &in)) ||
        (number[CASTS_OUT] > 0 && !read_casts(launched, STORER, number[CASTS_OUT], &out))) {
        return false;
    }
    row->bytes = row->elements * (distinct_bytes(launched, in, row) + out);
    return true;
}
