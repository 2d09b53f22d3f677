/* test_reached.c - the addresses that generated kernels and kernels in a capture were given, and
 * the bytes that the card forgets for them. */
#define _GNU_SOURCE /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/virtual_cuda/launches/stores.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/values/reached.h"
#include "unit/virtual_cuda/cuda_names.h"

enum { OK = 0, TO_DEVICE = 1, TO_HOST = 2, N = 256 };

typedef struct extent {
    unsigned x, y, z;
} extent;

/* NOLINTBEGIN(readability-identifier-naming): NVIDIA's names */
int cudaLaunchKernel(const void *kernel, extent grid, extent block, void **arguments,
                     size_t shared_bytes, void *stream);
int cuLaunchKernel(void *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void *stream, void **arguments, void **packed);
int cuModuleLoad(void **ret_module, const char *path);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **ret_kernel, void *module, const char *name);
int cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, int kind, void *stream);
int cudaMemsetAsync(void *to, int value, size_t n_bytes, void *stream);
int cudaStreamCreate(void **ret_stream);
/* NOLINTEND(readability-identifier-naming) */

static const char READS_0_WRITES_1[] = ".version 8.4\n"
                                       ".visible .entry k(\n"
                                       "\t.param .u64 .ptr .global .align 1 k_param_0,\n"
                                       "\t.param .u64 .ptr .global .align 1 k_param_1,\n"
                                       "\t.param .u32 k_param_2\n"
                                       ")\n{\n"
                                       "\tld.param.b64 %rd1, [k_param_0];\n"
                                       "\tld.param.b64 %rd2, [k_param_1];\n"
                                       "\tld.global.b32 %r1, [%rd1];\n"
                                       "\tst.global.b32 [%rd2], %r1;\n"
                                       "\tret;\n}\n";

static char folder[] = "/tmp/reached.XXXXXX";
static unsigned char *a, *b;

enum { MAX_MODULES = 8 };
static void *modules[MAX_MODULES]; /* loaded; unloaded at the end */
static int n_modules;

static int begin(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL || cudaMalloc((void **)&a, N) != OK ||
           cudaMalloc((void **)&b, N) != OK;
}

static int end(void **state) {
    (void)state;
    for (int i = 0; i < n_modules; i++) {
        assert_int_equal(cuModuleUnload(modules[i]), OK);
    }
    char command[64];
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command); /* NOLINT(cert-env33-c): the folder is our own */
}

static void *kernel_with(const char *text) {
    void *module = NULL;
    void *kernel = NULL;
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/%d.ptx", folder, n_modules);
    if (text != NULL) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    (void)snprintf(path, sizeof(path), "%s/%d.cubin", folder, n_modules);
    assert_int_equal(cuModuleLoad(&module, path), OK);
    assert_int_equal(cuModuleGetFunction(&kernel, module, "k"), OK);
    assert_true(n_modules < MAX_MODULES);
    modules[n_modules++] = module;
    return kernel;
}

/* Sends known bytes to both, launches, and returns the addresses that were recorded. */
static uint64_t launch(void *kernel, uint64_t *ret_addresses, uint64_t n_room) {
    static const unsigned char BYTES[N] = {7};
    void *first = a;
    void *second = b;
    int n = 5;
    void *arguments[] = {&first, &second, &n};
    assert_int_equal(cudaMemcpy(a, BYTES, N, TO_DEVICE), OK);
    assert_int_equal(cudaMemcpy(b, BYTES, N, TO_DEVICE), OK);
    uint64_t start = tidemark_values_reached(0, NULL, 0);
    assert_int_equal(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL), OK);
    return tidemark_values_reached(start, ret_addresses, n_room) - start;
}

static bool is_known(const unsigned char *at) {
    unsigned char got[N] = {0};
    assert_int_equal(cudaMemcpy(got, at, N, TO_HOST), OK);
    return got[0] == 7;
}

static bool has(const uint64_t *found, uint64_t n, const void *address) {
    for (uint64_t i = 0; i < n; i++) {
        if (found[i] == (uint64_t)(uintptr_t)address) {
            return true;
        }
    }
    return false;
}

static void only_stores_count_where_the_text_is_known(void **state) {
    (void)state;
    uint64_t found[64] = {0};
    assert_int_equal(launch(kernel_with(READS_0_WRITES_1), found, 64), 1);
    assert_true(found[0] == (uint64_t)(uintptr_t)b);
    assert_true(is_known(a));
    assert_false(is_known(b));
}

static void all_pointers_count_without_a_text(void **state) {
    (void)state;
    uint64_t found[64] = {0};
    uint64_t n = launch(kernel_with(NULL), found, 64);
    assert_true(n >= 2 && n <= 64);
    assert_true(has(found, n, a) && has(found, n, b));
    assert_false(is_known(a));
    assert_false(is_known(b));
}

static void captured_work_counts(void **state) {
    (void)state;
    uint64_t found[64] = {0};
    void *stream = NULL;
    void *graph = NULL;
    void *first = a;
    void *arguments[] = {&first};
    static const char SOME_KERNEL[] = "k";
    const extent one = {1, 1, 1};
    assert_int_equal(cudaStreamCreate(&stream), OK);
    uint64_t start = tidemark_values_reached(0, NULL, 0);
    assert_int_equal(cudaLaunchKernel(SOME_KERNEL, one, one, arguments, 0, stream), OK);
    assert_true(tidemark_values_reached(start, found, 64) == start); /* PyTorch's own: seen */
    assert_int_equal(cudaStreamBeginCapture(stream, 0), OK);
    assert_int_equal(cudaLaunchKernel(SOME_KERNEL, one, one, arguments, 0, stream), OK);
    uint64_t n = tidemark_values_reached(start, found, 64) - start;
    assert_true(has(found, n, a) && !has(found, n, b));
    assert_int_equal(cudaMemsetAsync(b, 1, N, stream), OK);
    n = tidemark_values_reached(start, found, 64) - start;
    assert_true(has(found, n, b));
    assert_int_equal(cudaMemcpyAsync(b + 8, a, 8, 3, stream), OK);
    n = tidemark_values_reached(start, found, 64) - start;
    assert_true(has(found, n, b + 8));
    start = tidemark_values_reached(0, NULL, 0);
    tide_vc_touch(a); /* as a library does for an output */
    assert_int_equal(tidemark_values_reached(start, found, 64) - start, 1);
    assert_true(has(found, 1, a));
    assert_int_equal(cudaStreamEndCapture(stream, &graph), OK);
    start = tidemark_values_reached(0, NULL, 0);
    tide_vc_touch(a);
    assert_true(tidemark_values_reached(start, found, 64) == start);
    assert_int_equal(cudaGraphDestroy(graph), OK);
}

static void a_list_on_the_heap_may_reach_anything(void **state) {
    (void)state;
    uint64_t found[2] = {1, 1};
    void **arguments = calloc(1, sizeof(*arguments));
    void *first = a;
    assert_non_null(arguments);
    arguments[0] = &first;
    uint64_t start = tidemark_values_reached(0, NULL, 0);
    void *kernel = kernel_with(NULL);
    assert_int_equal(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL), OK);
    assert_true(tidemark_values_reached(start, found, 2) == start + 1);
    assert_true(found[0] == 0);
    free(arguments);
}

static void the_ring_shows_that_it_lost_some(void **state) {
    (void)state;
    static uint64_t found[TIDE_VC_REACHED];
    uint64_t start = tidemark_values_reached(0, NULL, 0);
    for (size_t i = 0; i < TIDE_VC_REACHED; i++) {
        tide_vc_reached((uint64_t)(uintptr_t)a + i % N);
    }
    tide_vc_reached(5); /* not of the card */
    assert_true(tidemark_values_reached(start, found, TIDE_VC_REACHED) == start + TIDE_VC_REACHED);
    assert_true(found[TIDE_VC_REACHED - 1] == (uint64_t)(uintptr_t)a + N - 1);
    tide_vc_reached((uint64_t)(uintptr_t)b);
    found[0] = 1;
    assert_true(tidemark_values_reached(start, found, 1) == start + TIDE_VC_REACHED + 1);
    assert_true(found[0] == 1);
    assert_true(tidemark_values_reached(start + TIDE_VC_REACHED, found, 1) > start);
    assert_true(found[0] == (uint64_t)(uintptr_t)b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_stores_count_where_the_text_is_known),
        cmocka_unit_test(all_pointers_count_without_a_text),
        cmocka_unit_test(captured_work_counts),
        cmocka_unit_test(a_list_on_the_heap_may_reach_anything),
        cmocka_unit_test(the_ring_shows_that_it_lost_some),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
