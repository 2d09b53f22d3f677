/* multi_tensor.c - PyTorch's kernels on lists of tensors: foreach functions, fused optimizers,
 * norms.
 *
 *   multi_tensor_apply_kernel<TensorListMetadata<depth>, functor, ...>(metadata, functor, ...)
 *
 * The metadata have room for the most tensors and the most blocks of a launch:
 *
 *   addresses[depth][tensors]      8 bytes each
 *   elements[tensors]              8
 *   scalars or steps[tensors]      of TensorListScalarListMetadata, and of fused optimizers
 *   tensor of a block[blocks]      1 or 2
 *   chunk of a block[blocks]       4; a chunk has 65536 elements
 *
 * The maxima depend on CUDA's limit for arguments, which PyTorch fixes when it is built: 4 KiB
 * before CUDA 13, 32 KiB from then on. The right layout is the one in which every block has a
 * tensor and a chunk of it. */
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/launches/kernels/families_internal.h"
#include "programs/virtual_cuda/launches/kernels/parameters_internal.h"
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

/* tide_vc_parsed.number; the bytes are those of an element of every list that is moved */
enum { DEPTH = 0, BYTES = 1, GRADIENT_BYTES = 2, SCALAR_BYTES = 3, KIND = 4 };
enum { LISTS = 0, SCALAR_LISTS = 1, OPTIMIZER = 2 }; /* kinds of metadata */
enum { MOST_DEPTH = 5, CHUNK = 65536, METADATA = 0, COMPLEX_DOUBLE_BYTES = 16 };

/* ---- the name ---- */

/* The lists that a functor moves. By default its template arguments are "T, depth, number of lists
 * read, list written". */
typedef enum rule {
    READS_AND_WRITES, /* the lists that are read, and one list written */
    ONLY_READS,       /* one list */
    ONLY_WRITES,      /* one list */
    COPIES,           /* "T, U": from one type to the other */
    BY_DEPTH,         /* "T, depth": writes the last list, reads the others */
    OPTIMIZES         /* "T": reads all lists and writes all but the gradients */
} rule;

static const struct {
    const char *name;
    rule rule;
} FUNCTORS[] = {{"LpNormFunctor", ONLY_READS},
                {"LpMaxFunctor", ONLY_READS},
                {"ZeroFunctor", ONLY_WRITES},
                {"CopyFunctor", COPIES},
                {"PointwiseOpListFunctor", BY_DEPTH},
                {"FusedSgdMathFunctor", OPTIMIZES},
                {"FusedAdagradMathFunctor", OPTIMIZES},
                {"FusedAdamMathFunctor", OPTIMIZES},
                {"UnaryOpFunctor", READS_AND_WRITES},
                {"BinaryOpScalarFunctor", READS_AND_WRITES},
                {"BinaryOpScalarListFunctor", READS_AND_WRITES},
                {"BinaryOpScalarTensorFunctor", READS_AND_WRITES},
                {"BinaryOpListAlphaFunctor", READS_AND_WRITES},
                {"PointwiseOpScalarFunctor", READS_AND_WRITES},
                {"PointwiseOpScalarListFunctor", READS_AND_WRITES},
                {"PointwiseOpScalar0dTensorFunctor", READS_AND_WRITES},
                {"TernaryOpListFunctor", READS_AND_WRITES},
                {"TernaryOpScalarFunctor", READS_AND_WRITES},
                {"TernaryOpScalarListFunctor", READS_AND_WRITES}};

static void parse_metadata(tide_vc_text text, uint32_t *number) {
    tide_vc_text scalar = tide_vc_symbol_argument(text, "TensorListScalarListMetadata", 0);
    tide_vc_text optimizer = tide_vc_symbol_argument(text, "FusedOptimizerTensorListMetadata", 0);
    tide_vc_text depth = tide_vc_symbol_argument(text, "TensorListMetadata", 0);
    if (scalar.at != NULL) {
        number[KIND] = SCALAR_LISTS;
        number[SCALAR_BYTES] = tide_vc_type_bytes(scalar);
        depth = tide_vc_symbol_argument(text, "TensorListScalarListMetadata", 1);
    } else if (optimizer.at != NULL) {
        number[KIND] = OPTIMIZER;
        number[SCALAR_BYTES] = sizeof(void *);
        depth = optimizer;
    }
    number[DEPTH] = tide_vc_text_number(depth);
}

static void parse_functor(tide_vc_text text, size_t i, uint32_t *number) {
    tide_vc_text type = tide_vc_symbol_argument(text, FUNCTORS[i].name, 0);
    tide_vc_text second = tide_vc_symbol_argument(text, FUNCTORS[i].name, 1);
    uint32_t n_read = tide_vc_text_number(tide_vc_symbol_argument(text, FUNCTORS[i].name, 2));
    uint32_t n_bytes = tide_vc_type_bytes(type);
    switch (FUNCTORS[i].rule) {
    case READS_AND_WRITES:
        number[BYTES] = (n_read + 1) * n_bytes;
        break;
    case ONLY_READS:
    case ONLY_WRITES:
        number[BYTES] = n_bytes;
        break;
    case COPIES:
        number[BYTES] = n_bytes + tide_vc_type_bytes(second);
        break;
    case BY_DEPTH:
        number[BYTES] = number[DEPTH] * n_bytes;
        break;
    case OPTIMIZES:
        number[BYTES] = (2 * number[DEPTH] - 1) * n_bytes;
        number[GRADIENT_BYTES] = n_bytes;
        break;
    }
}

/* FusedAdamMathFunctorMP<T, types of the parameters, the gradients, both averages, the maxima,
 * ...>; only amsgrad has a list of maxima. */
static void parse_mixed_adam(tide_vc_text text, uint32_t *number) {
    static const char NAME[] = "FusedAdamMathFunctorMP";
    enum { FIRST = 1, GRADIENT = 2 };
    for (uint32_t list = 0; list < number[DEPTH]; list++) {
        uint32_t n_bytes = tide_vc_type_bytes(tide_vc_symbol_argument(text, NAME, FIRST + list));
        bool is_gradient = FIRST + list == GRADIENT;
        number[BYTES] += n_bytes * (is_gradient ? 1 : 2);
        number[GRADIENT_BYTES] += is_gradient ? n_bytes : 0;
    }
}

void tide_vc_parse_multi_tensor(const char *symbol, tide_vc_parsed *ret_parsed) {
    tide_vc_text text = {symbol, strlen(symbol)};
    uint32_t *number = ret_parsed->number;
    (void)tide_vc_parameters_parse(symbol, "multi_tensor_apply_kernel", ret_parsed);
    parse_metadata(text, number);
    if (tide_vc_symbol_argument(text, "FusedAdamMathFunctorMP", 0).at != NULL) {
        parse_mixed_adam(text, number);
        return;
    }
    for (size_t i = 0; i < sizeof(FUNCTORS) / sizeof(FUNCTORS[0]); i++) {
        if (tide_vc_symbol_argument(text, FUNCTORS[i].name, 0).at != NULL) {
            parse_functor(text, i, number);
            return;
        }
    }
}

/* ---- the metadata ---- */

typedef struct layout {
    uint32_t n_tensors[MOST_DEPTH], n_scalar_tensors[MOST_DEPTH], n_complex_tensors[2];
    uint32_t n_blocks, index_bytes;
} layout;

static const layout LAYOUTS[] = {
    {{770, 448, 336, 252, 210}, {672, 448, 336, 252, 210}, {504, 420}, 2240, 2},
    {{110, 64, 48, 36, 30}, {96, 64, 48, 36, 30}, {72, 60}, 320, 1}};

static uint32_t tensors_of(const layout *as, const uint32_t *number) {
    size_t i = number[DEPTH] - 1;
    if (number[KIND] != SCALAR_LISTS) {
        return as->n_tensors[i];
    }
    return number[SCALAR_BYTES] == COMPLEX_DOUBLE_BYTES && i < 2 ? as->n_complex_tensors[i]
                                                                 : as->n_scalar_tensors[i];
}

static bool word(const tide_vc_launched_kernel *launched, size_t at, size_t n_bytes,
                 uint64_t *ret) {
    *ret = 0; /* little-endian, as every CUDA host */
    return tide_vc_argument(launched, METADATA, at, ret, n_bytes);
}

/* The elements of all blocks. False: a block has no tensor, or no element of it. */
static bool elements_of(const tide_vc_launched_kernel *launched, const layout *as, uint64_t *ret) {
    const uint32_t *number = launched->parsed->number;
    size_t n_tensors = tensors_of(as, number);
    size_t lengths_at = number[DEPTH] * n_tensors * sizeof(void *);
    size_t tensors_at = lengths_at + n_tensors * (sizeof(uint64_t) + number[SCALAR_BYTES]);
    size_t chunks_at = tensors_at + as->n_blocks * (size_t)as->index_bytes;
    chunks_at = (chunks_at + 3) & ~(size_t)3;
    uint64_t n_elements = 0;
    for (size_t block = 0; block < launched->call->grid[0]; block++) {
        uint64_t tensor = 0;
        uint64_t chunk = 0;
        uint64_t length = 0;
        uint64_t address = 0;
        if (!word(launched, tensors_at + block * as->index_bytes, as->index_bytes, &tensor) ||
            tensor >= n_tensors ||
            !word(launched, chunks_at + block * sizeof(int), sizeof(int), &chunk) ||
            !word(launched, lengths_at + tensor * sizeof(length), sizeof(length), &length) ||
            !word(launched, tensor * sizeof(address), sizeof(address), &address) ||
            chunk > INT32_MAX || chunk * CHUNK >= length ||
            !tide_vc_is_device((const void *)(uintptr_t)address)) {
            return false;
        }
        uint64_t left = length - chunk * CHUNK;
        n_elements += left < CHUNK ? left : CHUNK;
    }
    *ret = n_elements;
    return launched->call->grid[0] <= as->n_blocks;
}

/* A fused optimizer's last two arguments are the gradients' scale and whether one is infinite; with
 * a scale, it also writes the gradients. */
static bool has_scale(const tide_vc_launched_kernel *launched) {
    const void *scale = NULL;
    size_t n = launched->parsed->n_parameters;
    return n >= 2 && tide_vc_parameter_address(launched, n - 2, &scale) && scale != NULL;
}

bool tide_vc_read_multi_tensor(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    const uint32_t *number = launched->parsed->number;
    if (number[DEPTH] == 0 || number[DEPTH] > MOST_DEPTH || number[BYTES] == 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(LAYOUTS) / sizeof(LAYOUTS[0]); i++) {
        if (elements_of(launched, &LAYOUTS[i], &row->elements)) {
            bool writes_gradients = number[GRADIENT_BYTES] > 0 && has_scale(launched);
            row->bytes =
                row->elements * (number[BYTES] + (writes_gradients ? number[GRADIENT_BYTES] : 0U));
            return true;
        }
    }
    return false;
}
