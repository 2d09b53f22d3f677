/* twin.c - see twin.h. */
#include "twin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_emulator.h"
#include "model/bf16.h"
#include "model/fp16.h"

typedef struct twin_array {
    tide_dtype dtype;   /* of each element */
    size_t n;           /* elements */
    size_t shift;       /* elements between an aligned address and the first */
    bool compared;      /* written by the operator */
    unsigned char *fed; /* owned; the initial contents on both sides */
} twin_array;

struct twin_case {
    const char *name;               /* borrowed */
    twin_array arrays[TWIN_ARRAYS]; /* of the case */
    size_t n_arrays;                /* used of them */
    size_t shift;                   /* of the arrays that follow */
    unsigned max_blocks;            /* of a grid that loops */
    int fp32_compute_type;          /* of the operators of the cuda side */
};

/* The result of one run of an operator: its arrays, copied to the host. */
typedef struct twin_run {
    twin_side side;
    unsigned char *memory[TWIN_ARRAYS]; /* owned; arrays begin `shift` elements after it */
} twin_run;

twin_case *twin_begin(const char *name) {
    twin_case *test = calloc(1, sizeof(*test));
    assert_non_null(test);
    test->name = name;
    test->max_blocks = 3;
    test->fp32_compute_type = TIDE_CUBLAS_COMPUTE_32F;
    return test;
}

void twin_shift(twin_case *test, size_t n_elements) {
    test->shift = n_elements;
}

void twin_max_blocks(twin_case *test, unsigned max_blocks) {
    test->max_blocks = max_blocks;
}

void twin_in_tf32(twin_case *test) {
    test->fp32_compute_type = TIDE_CUBLAS_COMPUTE_32F_FAST_TF32;
}

static size_t add(twin_case *test, tide_dtype dtype, size_t n, bool compared) {
    assert_true(test->n_arrays < TWIN_ARRAYS);
    twin_array *array = &test->arrays[test->n_arrays];
    *array = (twin_array){.dtype = dtype, .n = n, .shift = test->shift, .compared = compared};
    array->fed = malloc(n * tide_dtype_bytes(dtype) + 1);
    assert_non_null(array->fed);
    memset(array->fed, 0xFF, n * tide_dtype_bytes(dtype)); /* NaN in either type */
    return test->n_arrays++;
}

static void put(twin_array *array, size_t i, float x) {
    if (array->dtype == TIDE_FP32) {
        memcpy(array->fed + i * sizeof(x), &x, sizeof(x));
    } else if (array->dtype == TIDE_INT8) {
        array->fed[i] = (unsigned char)(int8_t)x;
    } else {
        const uint16_t narrow =
            array->dtype == TIDE_FP16 ? tide_fp32_to_fp16(x) : tide_fp32_to_bf16(x);
        memcpy(array->fed + i * sizeof(narrow), &narrow, sizeof(narrow));
    }
}

/* The i-th of a sequence of well mixed numbers, a separate one for each array (SplitMix64). */
static uint64_t mixed(size_t array, size_t i) {
    uint64_t x = (uint64_t)(i + 1) * UINT64_C(0x9E3779B97F4A7C15) + ((uint64_t)array << 48);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static void feed(twin_case *test, size_t at, double scale) {
    twin_array *array = &test->arrays[at];
    for (size_t i = 0; i < array->n; i++) {
        put(array, i, (float)(((double)(mixed(at, i) >> 11) * 0x1p-52 - 1) * scale));
    }
}

size_t twin_written(twin_case *test, tide_dtype dtype, size_t n) {
    return add(test, dtype, n, true);
}

size_t twin_read(twin_case *test, tide_dtype dtype, size_t n, double scale) {
    const size_t at = add(test, dtype, n, false);
    feed(test, at, scale);
    return at;
}

size_t twin_updated(twin_case *test, tide_dtype dtype, size_t n, double scale) {
    const size_t at = add(test, dtype, n, true);
    feed(test, at, scale);
    return at;
}

size_t twin_scratch(twin_case *test, tide_dtype dtype, size_t n) {
    return add(test, dtype, n, false);
}

size_t twin_tokens(twin_case *test, size_t n, int32_t bound) {
    const size_t at = add(test, TIDE_INT32, n, false);
    for (size_t i = 0; i < n; i++) {
        const int32_t token = (int32_t)(mixed(at, i) % (uint64_t)bound);
        memcpy(test->arrays[at].fed + i * sizeof(token), &token, sizeof(token));
    }
    return at;
}

size_t twin_given(twin_case *test, tide_dtype dtype, const float *values, size_t n) {
    const size_t at = add(test, dtype, n, false);
    for (size_t i = 0; i < n; i++) {
        put(&test->arrays[at], i, values[i]);
    }
    return at;
}

void twin_load(const twin_side *side, size_t i, void *ret_bytes, size_t n_bytes) {
    if (side->is_cuda) {
        tide_emulator_read(ret_bytes, side->arrays[i].data, n_bytes);
    } else {
        memcpy(ret_bytes, side->arrays[i].data, n_bytes);
    }
}

void twin_store(const twin_side *side, size_t i, const void *bytes, size_t n_bytes) {
    if (side->is_cuda) {
        tide_emulator_write(side->arrays[i].data, bytes, n_bytes);
    } else {
        memcpy(side->arrays[i].data, bytes, n_bytes);
    }
}

static size_t bytes_of(const twin_array *array) {
    return (array->shift + array->n) * tide_dtype_bytes(array->dtype);
}

/* Array i in device memory, with the contents of the run's own memory. */
static void to_device(const twin_case *test, twin_run *made, size_t i, void *memory[]) {
    const twin_array *array = &test->arrays[i];
    const size_t n_bytes = bytes_of(array);
    memory[i] = tide_emulator_alloc(n_bytes > 0 ? n_bytes : 1);
    assert_non_null(memory[i]);
    tide_emulator_write(memory[i], made->memory[i], n_bytes);
    made->side.arrays[i].data = (char *)memory[i] + array->shift * tide_dtype_bytes(array->dtype);
}

/* The reverse copy, with the operator's results. */
static void from_device(const twin_case *test, twin_run *made, size_t i, void *memory[]) {
    const twin_array *array = &test->arrays[i];
    tide_emulator_read(made->memory[i], memory[i], bytes_of(array));
    tide_emulator_release(memory[i]);
    made->side.arrays[i].data = made->memory[i] + array->shift * tide_dtype_bytes(array->dtype);
}

/* Copies the case's inputs, calls the operator, and keeps its results in the run. */
static void run(const twin_case *test, twin_run *made, tide_ops *ops, bool is_cuda, twin_call call,
                const void *shape) {
    void *on_device[TWIN_ARRAYS] = {NULL};
    made->side.ops = ops;
    made->side.is_cuda = is_cuda;
    for (size_t i = 0; i < test->n_arrays; i++) {
        const twin_array *array = &test->arrays[i];
        const size_t item = tide_dtype_bytes(array->dtype);
        made->memory[i] = malloc(bytes_of(array) + 1);
        assert_non_null(made->memory[i]);
        memset(made->memory[i], 0xFF, bytes_of(array));
        made->side.arrays[i] = (tide_array){made->memory[i] + array->shift * item, array->dtype};
        memcpy(made->side.arrays[i].data, array->fed, array->n * item);
        if (is_cuda) {
            to_device(test, made, i, on_device);
        }
    }
    tide_error error = {.message = ""};
    const tide_status status = call(&made->side, shape, &error);
    for (size_t i = 0; is_cuda && i < test->n_arrays; i++) {
        from_device(test, made, i, on_device);
    }
    if (status != TIDE_OK) {
        fail_msg("%s on %s: %s", test->name, is_cuda ? "cuda" : "cpu", error.message);
    }
}

static void drop(const twin_case *test, twin_run *made) {
    for (size_t i = 0; i < test->n_arrays; i++) {
        free(made->memory[i]);
    }
}

static double value(tide_array array, size_t i) {
    if (array.dtype == TIDE_FP32) {
        return (double)((const float *)array.data)[i];
    }
    if (array.dtype == TIDE_FP16) {
        return (double)tide_fp16_to_fp32(((const uint16_t *)array.data)[i]);
    }
    if (array.dtype == TIDE_BF16) {
        return (double)tide_bf16_to_fp32(((const uint16_t *)array.data)[i]);
    }
    return array.dtype == TIDE_INT8 ? (double)((const int8_t *)array.data)[i]
                                    : (double)((const int32_t *)array.data)[i];
}

/* The first element of array `at` that differs by more than allowed; n when none does. */
static size_t first_wrong(const twin_array *array, tide_array got, tide_array want,
                          double tolerance) {
    double largest = 0;
    for (size_t i = 0; i < array->n; i++) {
        const double x = fabs(value(want, i));
        largest = isfinite(x) && x > largest ? x : largest;
    }
    const double unit = array->dtype == TIDE_BF16   ? 0x1p-7
                        : array->dtype == TIDE_FP16 ? 0x1p-10
                                                    : 0;
    const double ulp = tolerance > 0 ? unit : 0;
    for (size_t i = 0; i < array->n; i++) {
        const double x = value(got, i);
        const double y = value(want, i);
        const bool equal = x == y || (isnan(x) && isnan(y));
        if (!equal && !(fabs(x - y) <= tolerance * (fabs(y) + largest) + ulp * fabs(y))) {
            return i;
        }
    }
    return array->n;
}

/* False, with a message, when a written array differs. */
static bool compare(const twin_case *test, const twin_run *got, const twin_run *want,
                    double tolerance, bool aloud) {
    for (size_t a = 0; a < test->n_arrays; a++) {
        const twin_array *array = &test->arrays[a];
        const size_t i = array->compared ? first_wrong(array, got->side.arrays[a],
                                                       want->side.arrays[a], tolerance)
                                         : array->n;
        if (i < array->n) {
            if (aloud) {
                print_error("%s: array %zu (%s, %zu elements, shifted by %zu), element %zu: cuda "
                            "%.9g, cpu %.9g\n",
                            test->name, a, tide_dtype_name(array->dtype), array->n, array->shift, i,
                            value(got->side.arrays[a], i), value(want->side.arrays[a], i));
            }
            return false;
        }
    }
    return true;
}

static void assert_same_bits(const twin_case *test, const twin_run *first, const twin_run *other) {
    for (size_t a = 0; a < test->n_arrays; a++) {
        const twin_array *array = &test->arrays[a];
        const size_t n_bytes = array->n * tide_dtype_bytes(array->dtype);
        if (array->compared &&
            memcmp(first->side.arrays[a].data, other->side.arrays[a].data, n_bytes) != 0) {
            fail_msg("%s: array %zu depends on the order in which threads run", test->name, a);
        }
    }
}

/* Arrays that are only read must be unchanged. */
static void assert_unwritten(const twin_case *test, const twin_run *made) {
    for (size_t a = 0; a < test->n_arrays; a++) {
        const twin_array *array = &test->arrays[a];
        const size_t item = tide_dtype_bytes(array->dtype);
        for (size_t i = 0; i < array->shift * item; i++) {
            if (made->memory[a][i] != 0xFF) {
                fail_msg("%s: wrote in front of array %zu", test->name, a);
            }
        }
    }
}

static bool matches(const twin_case *test, twin_call call, const void *shape, double tolerance,
                    bool aloud) {
    tide_device *device = NULL;
    tide_ops *cpu = NULL;
    assert_int_equal(tide_device_open("cpu", NULL, &device, NULL), TIDE_OK);
    assert_int_equal(
        tide_ops_cpu_open(tide_hostmem_default(), device, TIDE_PRECISION_FP32, &cpu, NULL),
        TIDE_OK);
    tide_ops_cuda cuda = {.ops = {.mem = tide_hostmem_default(), .device = device},
                          .max_blocks = test->max_blocks,
                          .fp32_compute_type = test->fp32_compute_type};
    twin_run want = {.side = {0}};
    twin_run first = {.side = {0}};
    tide_emulator_hide_memory(true);
    run(test, &want, cpu, false, call, shape);
    tide_emulator_set_order(TIDE_EMULATOR_FORWARD, 0);
    run(test, &first, &cuda.ops, true, call, shape);
    assert_unwritten(test, &first);
    for (unsigned order = TIDE_EMULATOR_REVERSE; order < TIDE_EMULATOR_N_ORDERS; order++) {
        twin_run other = {.side = {0}};
        tide_emulator_set_order((tide_emulator_order)order, 7);
        run(test, &other, &cuda.ops, true, call, shape);
        assert_same_bits(test, &first, &other);
        drop(test, &other);
    }
    const bool equal = compare(test, &first, &want, tolerance, aloud);
    drop(test, &first);
    drop(test, &want);
    tide_ops_close(cpu);
    tide_device_close(device);
    if (tide_emulator_n_reports() != 0) {
        fail_msg("%s: %s", test->name, tide_emulator_last_report());
    }
    return equal;
}

static void end(twin_case *test) {
    for (size_t i = 0; i < test->n_arrays; i++) {
        free(test->arrays[i].fed);
    }
    free(test);
}

void twin_check(twin_case *test, twin_call call, const void *shape, double tolerance) {
    const bool equal = matches(test, call, shape, tolerance, true);
    end(test);
    assert_true(equal);
}

void twin_reject(twin_case *test, twin_call call, const void *shape, double tolerance) {
    const bool equal = matches(test, call, shape, tolerance, false);
    end(test);
    assert_false(equal);
}
