/* sorting.c - sorts, scans and selections, of the library CUB and of PyTorch. The types in a
 * kernel's name give the bytes that it reads and writes per element. The number of elements is the
 * product of one or several arguments. The table has both, by the kernel's name. */
#include "programs/virtual_cuda/launches/kernels/families_internal.h"
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

enum { MOST = 4, NONE = 99 };

typedef struct spec {
    const char *name;
    size_t n_counts, counts[3]; /* arguments to multiply; none: the kernel's threads */
    size_t count_type;          /* the template argument with their type; NONE: 4 bytes */
    struct {
        size_t argument; /* of the template: a type, or a pointer or iterator to it */
        uint32_t times;  /* how often it is read or written */
    } values[MOST];
    uint32_t more;     /* further bytes of each element */
    bool is_estimated; /* the number of elements written, or of passes over all, is unknown */
    bool is_by_block;  /* the counts are of a block, so the grid multiplies them */
} spec;

enum { SMALL_BYTES = 8 }; /* of a thread of a kernel that prepares another kernel's tables */
#define SMALL(name)                                                                                \
    { name, .count_type = NONE, .more = SMALL_BYTES, .is_estimated = true }
/* A block sorts a row by some bits: it counts the digits, reads them again to find their places,
 * and then moves keys and values. The count is the first word of PyTorch's offset_t, which is the
 * iterator over the beginnings of the rows. */
#define SEGMENTED                                                                                  \
    { "DeviceSegmentedRadixSortKernel", 1, {4}, NONE, {{3, 3}, {4, 3}}, 0, false, true }

static const spec SPECS[] = {
    /* sorts: read and write each element with its value */
    {"DeviceRadixSortHistogramKernel", 1, {2}, 3, {{2, 1}}, 0, false, false},
    {"DeviceRadixSortOnesweepKernel", 1, {8}, 5, {{2, 2}, {3, 2}}, 0, false, false},
    {"DeviceRadixSortSingleTileKernel", 1, {4}, 4, {{2, 2}, {3, 2}}, 0, false, false},
    SEGMENTED,
    {"warpMergeSortKVInPlace", 2, {1, 2}, 7, {{4, 2}, {5, 2}}, 0, false, false},
    {"bitonicSortKVInPlace", 2, {1, 2}, 7, {{4, 2}, {5, 2}}, 0, false, false},
    {"radixSortKVInPlace", 2, {1, 2}, 6, {{4, 2}, {5, 2}}, 0, false, false},
    {"fill_index_and_segment_kernel", 1, {1}, NONE, {{0, 0}}, 8, false, false},
    {"fill_reverse_indices_kernel", 1, {1}, NONE, {{0, 0}}, 8, false, false},
    {"sort_postprocess_kernel", 2, {4, 5}, NONE, {{0, 2}}, 16, false, false},
    {"randperm_handle_duplicate_keys_kernel", 1, {3}, NONE, {{0, 1}}, 0, true, false},
    SMALL("DeviceRadixSortExclusiveSumKernel"),
    /* the k-th or the largest: one read for counting, and about two from the cache */
    {"sbtopk::gatherTopK", 2, {1, 4}, 1, {{0, 3}}, 0, true, false},
    {"mbtopk::gatherTopK", 2, {1, 4}, NONE, {{0, 2}}, 0, true, false},
    {"gatherKthValue", 2, {1, 3}, 1, {{0, 3}}, 0, true, false},
    {"gatherMedian", 2, {3, 4}, 1, {{0, 3}}, 0, true, false},
    {"computeBlockDigitCounts", 2, {1, 3}, NONE, {{0, 1}}, 0, false, false},
    SMALL("computeDigitCumSum"),
    SMALL("computeBlockwiseWithinKCounts"),
    SMALL("computeBlockwiseKthCounts"),
    SMALL("mbtopk::fill"),
    /* scans and selections: only the card knows the number selected */
    {"DeviceScanKernel", 1, {6}, 6, {{1, 1}, {2, 1}}, 0, false, false},
    {"DeviceSelectSweepKernel", 1, {7}, 8, {{1, 1}, {2, 1}, {3, 1}}, 0, true, false},
    {"DeviceReduceKernel", 1, {2}, 2, {{1, 1}}, 0, false, false},
    {"DeviceReduceSingleTileKernel", 1, {2}, 3, {{1, 1}}, 0, false, false},
    {"DeviceReduceByKeyKernel", 1, {9}, 9, {{1, 1}, {2, 1}, {3, 1}, {4, 1}}, 0, true, false},
    {"adjacent_difference_kernel", 1, {0}, NONE, {{0, 1}}, 4, false, false},
    {"tensor_kernel_scan_innermost_dim", 2, {2, 3}, NONE, {{0, 2}}, 0, false, false},
    {"tensor_kernel_scan_outer_dim", 3, {2, 3, 4}, NONE, {{0, 2}}, 0, false, false},
    {"tensor_kernel_scan_innermost_dim_with_indices", 2, {3, 4}, NONE, {{0, 2}}, 8, false, false},
    {"tensor_kernel_scan_outer_dim_with_indices", 3, {3, 4, 5}, NONE, {{0, 2}}, 8, false, false},
    SMALL("DeviceScanInitKernel"),
    SMALL("DeviceCompactInitKernel"),
    SMALL("DeviceScanByKeyInitKernel"),
    SMALL("DeviceScanByKeyKernel"),
};
enum { N_SPECS = sizeof(SPECS) / sizeof(SPECS[0]) };

/* tide_vc_parsed.number */
enum { WHICH = 0, ELEMENT_BYTES = 1, COUNT_BYTES = 2 };

/* Whether the symbol has the name as a whole word. */
static bool is_named(tide_vc_text symbol, const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; i + n < symbol.n; i++) {
        char after = symbol.at[i + n];
        bool is_first = i == 0 || symbol.at[i - 1] == ':' || symbol.at[i - 1] == ' ';
        if (is_first && (after == '<' || after == '(') && memcmp(symbol.at + i, name, n) == 0) {
            return true;
        }
    }
    return false;
}

/* The bytes of the type that a pointer or an iterator yields: for "transform_iterator<F, bool
 * const*, ...>", a bool. Some iterators read nothing from memory. False: unknown. */
static bool value_bytes(tide_vc_text type, uint32_t *ret_bytes) {
    static const char *const NOTHING[] = {"NullType", "counting_iterator", "constant_iterator"};
    const char *star = type.n > 0 ? memchr(type.at, '*', type.n) : NULL;
    const char *from = star;
    int depth = 0;
    while (star != NULL && from > type.at) {
        char before = from[-1];
        depth += before == '>';
        if (depth == 0 && (before == '<' || before == ',')) {
            break;
        }
        depth -= before == '<';
        from--;
    }
    tide_vc_text one = star != NULL ? (tide_vc_text){from, (size_t)(star - from)} : type;
    while (one.n > 0 && one.at[0] == ' ') {
        one.at++;
        one.n--;
    }
    static const char CONST[] = " const";
    if (one.n > strlen(CONST) &&
        memcmp(one.at + one.n - strlen(CONST), CONST, strlen(CONST)) == 0) {
        one.n -= strlen(CONST);
    }
    *ret_bytes = tide_vc_type_bytes(one);
    for (size_t i = 0; i < sizeof(NOTHING) / sizeof(NOTHING[0]) && *ret_bytes == 0; i++) {
        if (tide_vc_text_has(one, NOTHING[i])) {
            return true;
        }
    }
    return *ret_bytes > 0;
}

void tide_vc_parse_sorting(const char *symbol, tide_vc_parsed *ret_parsed) {
    enum { UNKNOWN_BYTES = 4 };
    tide_vc_text text = {symbol, strlen(symbol)};
    for (size_t i = 0; i < N_SPECS; i++) {
        const spec *of = &SPECS[i];
        if (!is_named(text, of->name)) {
            continue;
        }
        uint32_t count_bytes =
            of->count_type == NONE
                ? 4
                : tide_vc_type_bytes(tide_vc_symbol_argument(text, of->name, of->count_type));
        ret_parsed->number[WHICH] = (uint32_t)i + 1;
        ret_parsed->number[ELEMENT_BYTES] = of->more;
        ret_parsed->number[COUNT_BYTES] = count_bytes == 8 ? 8 : 4;
        ret_parsed->flags = of->is_estimated ? TIDE_RUN_ESTIMATED : 0;
        for (size_t j = 0; j < MOST && of->values[j].times > 0; j++) {
            uint32_t n_bytes = 0;
            if (!value_bytes(tide_vc_symbol_argument(text, of->name, of->values[j].argument),
                             &n_bytes)) {
                n_bytes = UNKNOWN_BYTES;
                ret_parsed->flags |= TIDE_RUN_ESTIMATED;
            }
            ret_parsed->number[ELEMENT_BYTES] += of->values[j].times * n_bytes;
        }
        return;
    }
}

bool tide_vc_read_sorting(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    const uint32_t *number = launched->parsed->number;
    if (number[WHICH] == 0) {
        return false;
    }
    const spec *of = &SPECS[number[WHICH] - 1];
    uint64_t n = of->is_by_block ? launched->call->grid[0] : 1;
    n = of->n_counts > 0 ? n : launched->n_threads;
    for (size_t i = 0; i < of->n_counts; i++) {
        uint64_t count = 0;
        if (!tide_vc_argument(launched, of->counts[i], 0, &count, number[COUNT_BYTES]) ||
            count == 0 || count > INT64_MAX / n) {
            return false;
        }
        n *= count;
    }
    /* A thread handles about 32 elements at most: a larger number is not a count. */
    enum { MOST_OF_A_THREAD = 1 << 20 };
    row->elements = n;
    row->bytes = n * number[ELEMENT_BYTES];
    return n / MOST_OF_A_THREAD <= launched->n_threads;
}
