/* test_cublas.c - how cuBLAS is found and its table filled; and, if the toolkit is installed, that
 * our declarations equal the toolkit's and that its library opens.
 */
#define _POSIX_C_SOURCE 200809L /* setenv, mkdtemp, symlink */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/ops_cuda/cublas.h"

#ifdef TIDE_TEST_TOOLKIT
#include <cublasLt.h>
#include <cublas_api.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(TIDE_CUBLAS_OP_N, CUBLAS_OP_N);
SAME(TIDE_CUBLAS_OP_T, CUBLAS_OP_T);
SAME(TIDE_CUBLAS_R_32F, CUDA_R_32F);
SAME(TIDE_CUBLAS_R_16BF, CUDA_R_16BF);
SAME(TIDE_CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F);
SAME(TIDE_CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(TIDE_CUBLAS_GEMM_DEFAULT, CUBLAS_GEMM_DEFAULT);
SAME(TIDE_CUBLAS_DEFAULT_MATH, CUBLAS_DEFAULT_MATH);
SAME(TIDE_CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION,
     CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
SAME(TIDE_CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(TIDE_CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_ALLOC_FAILED);
SAME(TIDE_CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_INVALID_VALUE);
SAME(TIDE_CUBLAS_STATUS_EXECUTION_FAILED, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(TIDE_CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(TIDE_CUBLASLT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(TIDE_CUBLASLT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(TIDE_CUBLASLT_PREF_WORKSPACE_BYTES, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(TIDE_CUBLASLT_PREF_REDUCTION_SCHEMES, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(TIDE_CUBLASLT_PREF_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(TIDE_CUBLASLT_PREF_ALIGNMENT_A + 1, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(TIDE_CUBLASLT_PREF_ALIGNMENT_A + 2, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(TIDE_CUBLASLT_PREF_ALIGNMENT_A + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(TIDE_CUBLASLT_REDUCTION_COMPUTE_TYPE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
SAME(sizeof(tide_cublaslt_choice), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(offsetof(tide_cublaslt_choice, algorithm), offsetof(cublasLtMatmulHeuristicResult_t, algo));
SAME(sizeof(((tide_cublaslt_choice *)0)->algorithm), sizeof(cublasLtMatmulAlgo_t));
SAME(offsetof(tide_cublaslt_choice, workspace_bytes),
     offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
SAME(offsetof(tide_cublaslt_choice, status), offsetof(cublasLtMatmulHeuristicResult_t, state));
SAME(offsetof(tide_cublaslt_choice, n_waves),
     offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));
SAME(offsetof(tide_cublaslt_choice, reserved), offsetof(cublasLtMatmulHeuristicResult_t, reserved));
/* Enumerations go as int, pointers as what they point to. */
SAME(sizeof(int), sizeof(cublasStatus_t));
SAME(sizeof(int), sizeof(cublasOperation_t));
SAME(sizeof(int), sizeof(cudaDataType));
SAME(sizeof(int), sizeof(cublasComputeType_t));
SAME(sizeof(int), sizeof(cublasGemmAlgo_t));
SAME(sizeof(int), sizeof(cublasMath_t));

/* Each argument of each function. Nothing is linked: only the functions' types are used. */
#define TYPED(function, type)                                                                      \
    _Static_assert(_Generic(&(function), type : 1, default : 0), #function)
TYPED(cublasCreate_v2, cublasStatus_t (*)(struct cublasContext **));
TYPED(cublasDestroy_v2, cublasStatus_t (*)(struct cublasContext *));
TYPED(cublasGetVersion_v2, cublasStatus_t (*)(struct cublasContext *, int *));
TYPED(cublasSetStream_v2, cublasStatus_t (*)(struct cublasContext *, struct CUstream_st *));
TYPED(cublasSetWorkspace_v2, cublasStatus_t (*)(struct cublasContext *, void *, size_t));
TYPED(cublasSetMathMode, cublasStatus_t (*)(struct cublasContext *, cublasMath_t));
TYPED(cublasGetStatusString, const char *(*)(cublasStatus_t));
TYPED(cublasGemmEx, cublasStatus_t (*)(struct cublasContext *, cublasOperation_t, cublasOperation_t,
                                       int, int, int, const void *, const void *, cudaDataType, int,
                                       const void *, cudaDataType, int, const void *, void *,
                                       cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t));
TYPED(cublasGemmStridedBatchedEx,
      cublasStatus_t (*)(struct cublasContext *, cublasOperation_t, cublasOperation_t, int, int,
                         int, const void *, const void *, cudaDataType, int, long long,
                         const void *, cudaDataType, int, long long, const void *, void *,
                         cudaDataType, int, long long, int, cublasComputeType_t, cublasGemmAlgo_t));
/* Descriptors go as pointers to structs of our own. */
TYPED(cublasLtMatmulDescCreate,
      cublasStatus_t (*)(cublasLtMatmulDesc_t *, cublasComputeType_t, cudaDataType_t));
TYPED(cublasLtMatmulDescDestroy, cublasStatus_t (*)(cublasLtMatmulDesc_t));
TYPED(cublasLtMatmulDescSetAttribute,
      cublasStatus_t (*)(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void *,
                         size_t));
TYPED(cublasLtMatrixLayoutCreate,
      cublasStatus_t (*)(cublasLtMatrixLayout_t *, cudaDataType, uint64_t, uint64_t, int64_t));
TYPED(cublasLtMatrixLayoutDestroy, cublasStatus_t (*)(cublasLtMatrixLayout_t));
TYPED(cublasLtMatmulPreferenceCreate, cublasStatus_t (*)(cublasLtMatmulPreference_t *));
TYPED(cublasLtMatmulPreferenceDestroy, cublasStatus_t (*)(cublasLtMatmulPreference_t));
TYPED(cublasLtMatmulPreferenceSetAttribute,
      cublasStatus_t (*)(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                         const void *, size_t));
TYPED(cublasLtMatmulAlgoGetHeuristic,
      cublasStatus_t (*)(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t *,
                         int *));
TYPED(cublasLtMatmul,
      cublasStatus_t (*)(cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *,
                         cublasLtMatrixLayout_t, const void *, cublasLtMatrixLayout_t, const void *,
                         const void *, cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t,
                         const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t));
#endif

static char folder[] = "/tmp/tidemark-cublas-XXXXXX";
static bool has_others; /* libraries outside the folder may be opened */

/* The linker puts these in the place of dlopen. */
void *__real_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags);

void *__wrap_dlopen(const char *path, int flags) {
    return has_others || strncmp(path, folder, strlen(folder)) == 0 ? __real_dlopen(path, flags)
                                                                    : NULL;
}

/* Nothing in the environment points to a cuBLAS. */
static int forget(void **state) {
    (void)state;
    has_others = false;
    static const char *const NAMES[] = {"TIDEMARK_CUBLAS", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV",
                                        "CONDA_PREFIX",    "HOME",      "PATH"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if (unsetenv(NAMES[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Whether this is the table of fake_library.c, member by member. */
static void assert_fake(const tide_cublas *table) {
    struct cublasContext *handle = NULL;
    int version = 0;
    assert_int_equal(table->create(&handle), 1001);
    assert_int_equal(table->destroy(handle), 1002);
    assert_int_equal(table->get_version(handle, &version), 1003);
    assert_int_equal(version, 12345);
    assert_int_equal(table->set_stream(handle, NULL), 1004);
    assert_int_equal(table->set_workspace(handle, NULL, 20000), 21005);
    assert_int_equal(table->set_math_mode(handle, 16), 1022);
    assert_string_equal(table->get_status_string(7), "seven");
    assert_int_equal(
        table->gemm_ex(handle, 0, 0, 1, 1, 1, NULL, NULL, 0, 1, NULL, 0, 1, NULL, NULL, 0, 1, 0, 0),
        1008);
    assert_int_equal(table->gemm_strided_batched_ex(handle, 0, 0, 1, 1, 1, NULL, NULL, 0, 1, 0,
                                                    NULL, 0, 1, 0, NULL, NULL, 0, 1, 0, 1, 0, 0),
                     1009);
    assert_int_equal(table->lt_operation_create(NULL, 0, 0), 1010);
    assert_int_equal(table->lt_operation_destroy(NULL), 1011);
    assert_int_equal(table->lt_operation_set(NULL, 0, NULL, 0), 1012);
    assert_int_equal(table->lt_layout_create(NULL, 0, 1, 1, 1), 1013);
    assert_int_equal(table->lt_layout_destroy(NULL), 1014);
    assert_int_equal(table->lt_preference_create(NULL), 1015);
    assert_int_equal(table->lt_preference_destroy(NULL), 1016);
    assert_int_equal(table->lt_preference_set(NULL, 0, NULL, 0), 1017);
    assert_int_equal(
        table->lt_choose(handle, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, &version), 1018);
    assert_int_equal(table->lt_matmul(handle, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                      NULL, NULL, NULL, NULL, 0, NULL),
                     1019);
}

static void the_environment_names_the_file(void **state) {
    (void)state;
    has_others = true;
    tide_cublas table;
    tide_error error = {""};
    assert_int_equal(setenv("TIDEMARK_CUBLAS", TIDE_FAKE_LIBRARY, 1), 0);
    assert_int_equal(tide_cublas_load(&table, &error), TIDE_OK);
    assert_fake(&table);
}

static void a_named_file_must_open(void **state) {
    (void)state;
    has_others = true;
    tide_cublas table;
    tide_error error = {""};
    assert_int_equal(setenv("TIDEMARK_CUBLAS", "/nowhere/libcublas.so.13", 1), 0);
    assert_int_equal(tide_cublas_load(&table, &error), TIDE_UNSUPPORTED);
    assert_non_null(
        strstr(error.message, "that TIDEMARK_CUBLAS names, /nowhere/libcublas.so.13: "));
    assert_null(strchr(error.message, '\n'));
}

static void a_library_without_the_functions_is_refused(void **state) {
    (void)state;
    has_others = true;
    tide_cublas table;
    tide_error error = {""};
    assert_int_equal(setenv("TIDEMARK_CUBLAS", "libm.so.6", 1), 0);
    assert_int_equal(tide_cublas_load(&table, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "has no cublasCreate_v2: install"));
}

/* Makes `path` under the folder, and in it a link to the fake. */
static void put_library(const char *path) {
    char name[256];
    for (const char *slash = path; slash != NULL; slash = strchr(slash + 1, '/')) {
        (void)snprintf(name, sizeof(name), "%s/%.*s", folder, (int)(slash - path), path);
        (void)mkdir(name, 0700); /* some are there already */
    }
    (void)snprintf(name, sizeof(name), "%s/%s", folder, path);
    (void)mkdir(name, 0700);
    (void)snprintf(name, sizeof(name), "%s/%s/libcublas.so.13", folder, path);
    assert_int_equal(symlink(TIDE_FAKE_LIBRARY, name), 0);
}

static void remove_library(const char *path) {
    char name[256];
    (void)snprintf(name, sizeof(name), "%s/%s/libcublas.so.13", folder, path);
    assert_int_equal(unlink(name), 0);
    for (size_t n = strlen(path); n > 0; n--) {
        if (path[n] == '/' || path[n] == '\0') {
            (void)snprintf(name, sizeof(name), "%s/%.*s", folder, (int)n, path);
            (void)rmdir(name);
        }
    }
}

static void usual_places_are_searched(void **state) {
    (void)state;
    static const struct {
        const char *path;     /* of the library's folder */
        const char *variable; /* that leads there ... */
        const char *value;    /* ... after the folder's name */
    } PLACES[] = {
        {"lib64", "CUDA_HOME", ""},
        {"lib64", "CUDA_PATH", ""},
        {"lib/python3.12/site-packages/nvidia/cu13/lib", "VIRTUAL_ENV", ""},
        {"lib", "CONDA_PREFIX", ""},
        {"lib/python3.11/site-packages/nvidia/cublas/lib", "CONDA_PREFIX", ""},
        {"lib/python3.12/site-packages/nvidia/cu13/lib", "PATH", "/bin"},
        {".local/lib/python3.10/site-packages/nvidia/cublas/lib", "HOME", ""},
    };
    tide_cublas table;
    char bin[64];
    (void)snprintf(bin, sizeof(bin), "%s/bin", folder);
    assert_int_equal(mkdir(bin, 0700), 0);
    for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++) {
        char value[128];
        tide_error error = {""};
        (void)forget(NULL);
        put_library(PLACES[i].path);
        (void)snprintf(value, sizeof(value), "%s%s%s%s",
                       strcmp(PLACES[i].variable, "PATH") == 0 ? "/bin::" : "", folder,
                       PLACES[i].value, strcmp(PLACES[i].variable, "PATH") == 0 ? ":/usr/bin" : "");
        assert_int_equal(setenv(PLACES[i].variable, value, 1), 0);
        if (tide_cublas_load(&table, &error) != TIDE_OK) {
            fail_msg("%s: %s", PLACES[i].path, error.message);
        }
        assert_fake(&table);
        remove_library(PLACES[i].path);
    }
    assert_int_equal(rmdir(bin), 0);
}

static void nothing_found_is_said(void **state) {
    (void)state;
    tide_cublas table;
    tide_error error = {""};
    assert_int_equal(tide_cublas_load(&table, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "none was found: install the CUDA toolkit"));
    assert_non_null(
        strstr(error.message, "tried libcublas.so.13, libcublas.so.12, lib64, lib and"));
    assert_non_null(strstr(error.message, "VIRTUAL_ENV"));
    assert_null(strchr(error.message, '\n'));
}

static void the_real_one_opens_where_it_is(void **state) {
    (void)state;
    tide_cublas table;
    tide_error error = {""};
    int version = 0;
    has_others = true;
    if (tide_cublas_load(&table, &error) != TIDE_OK) {
        print_message("skipped: %s\n", error.message);
        skip();
    }
    assert_int_equal(table.get_version(NULL, &version), 0);
    assert_true(version >= 12000);
    assert_string_not_equal(table.get_status_string(TIDE_CUBLAS_STATUS_ALLOC_FAILED),
                            table.get_status_string(TIDE_CUBLAS_STATUS_INVALID_VALUE));
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_environment_names_the_file, forget),
        cmocka_unit_test_setup(a_named_file_must_open, forget),
        cmocka_unit_test_setup(a_library_without_the_functions_is_refused, forget),
        cmocka_unit_test_setup(usual_places_are_searched, forget),
        cmocka_unit_test_setup(nothing_found_is_said, forget),
        cmocka_unit_test_setup(the_real_one_opens_where_it_is, forget),
    };
    return cmocka_run_group_tests_name("ops_cuda.cublas", tests, make_folder, remove_folder);
}
