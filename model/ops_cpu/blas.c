#include "model/ops_cpu/blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#define DEFAULT_LIBRARY "libopenblas.so.0"

enum { CBLAS_ROW_MAJOR = 101, CBLAS_NO_TRANSPOSE = 111, CBLAS_TRANSPOSE = 112 };

/* The functions used, as OpenBLAS declares them. */
typedef struct openblas_functions {
    tide_sgemm_function sgemm;              /* cblas_sgemm */
    char *(*get_config)(void);              /* "OpenBLAS 0.3.21 NO_LAPACKE ... MAX_THREADS=64" */
    void (*set_num_threads)(int n_threads); /* of a call; process-wide */
} openblas_functions;

/* ISO C has no cast from void * to a function pointer; POSIX promises that the bits are the same.
 */
static bool find_function(void *library, const char *name, void *ret_function,
                          size_t function_bytes) {
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        return false;
    }
    memcpy(ret_function, &symbol, function_bytes);
    return true;
}

static bool find_functions(void *library, openblas_functions *functions) {
    return find_function(library, "cblas_sgemm", &functions->sgemm, sizeof(functions->sgemm)) &&
           find_function(library, "openblas_get_config", &functions->get_config,
                         sizeof(functions->get_config)) &&
           find_function(library, "openblas_set_num_threads", &functions->set_num_threads,
                         sizeof(functions->set_num_threads));
}

/* One thread per call. The OpenMP build of OpenBLAS also sets the calling program's number of
 * threads by this, so that is put back. */
static void keep_to_one_thread(const openblas_functions *functions) {
#ifdef _OPENMP
    int n_threads = omp_get_max_threads();
    functions->set_num_threads(1);
    omp_set_num_threads(n_threads);
#else
    functions->set_num_threads(1);
#endif
}

/* NULL, or why the library cannot be used. */
static const char *use_library(void *library, tide_blas *blas) {
    openblas_functions functions;
    if (!find_functions(library, &functions)) {
        return "it is not OpenBLAS: cblas_sgemm, openblas_get_config or openblas_set_num_threads "
               "is missing";
    }
    const char *config = functions.get_config();
    if (strstr(config, "USE64BITINT") != NULL) {
        return "it takes 64-bit integers, which this program does not";
    }
    keep_to_one_thread(&functions);
    /* The name is the first two words: "OpenBLAS 0.3.21". */
    const char *space = strchr(config, ' ');
    const char *end = space == NULL ? NULL : strchr(space + 1, ' ');
    size_t n_chars = end == NULL ? strlen(config) : (size_t)(end - config);
    (void)snprintf(blas->name, sizeof(blas->name), "%.*s", (int)n_chars, config);
    blas->sgemm = functions.sgemm;
    return NULL;
}

tide_status tide_blas_open(tide_blas *ret_blas, tide_error *error) {
    tide_blas blas = {NULL, "plain C (no OpenBLAS)"};
    const char *asked = getenv("TIDEMARK_OPENBLAS");
    if (asked != NULL && asked[0] == '\0') {
        asked = NULL;
    }
    if (asked == NULL || strcmp(asked, "none") != 0) {
        /* Never unloaded: its OpenMP threads may outlive any user of it. */
        void *library =
            dlopen(asked != NULL ? asked : DEFAULT_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        const char *reason = library == NULL ? dlerror() : use_library(library, &blas);
        if (reason != NULL && asked != NULL) {
            return tide_fail(error, TIDE_DEVICE_ABSENT,
                             "TIDEMARK_OPENBLAS names %s, which cannot be used (%s): unset it, or "
                             "set it to none for plain C",
                             asked, reason);
        }
    }
    *ret_blas = blas;
    return TIDE_OK;
}

void tide_blas_enter(void) {
#ifdef _OPENMP
    /* Holds for this thread's implicit task alone. OpenBLAS asks for it when the region has one
     * thread, which OpenMP does not call parallel. */
    omp_set_num_threads(1);
#endif
}

void tide_blas_gemm(const tide_blas *blas, const tide_gemm *gemm) {
    if (gemm->m == 0 || gemm->n == 0) {
        return;
    }
    if (blas->sgemm == NULL) {
        tide_plain_gemm(gemm);
        return;
    }
    int transpose_a = gemm->kind == TIDE_MATMUL_TN ? CBLAS_TRANSPOSE : CBLAS_NO_TRANSPOSE;
    int transpose_b = gemm->kind == TIDE_MATMUL_NT ? CBLAS_TRANSPOSE : CBLAS_NO_TRANSPOSE;
    blas->sgemm(CBLAS_ROW_MAJOR, transpose_a, transpose_b, (int)gemm->m, (int)gemm->n, (int)gemm->k,
                gemm->alpha, gemm->a, (int)gemm->lda, gemm->b, (int)gemm->ldb, gemm->beta, gemm->c,
                (int)gemm->ldc);
}
