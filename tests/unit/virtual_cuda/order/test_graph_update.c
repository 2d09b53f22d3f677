/* test_graph_update.c - an executable graph becomes another one of the same shape, and is refused
 * for one of another shape with the reason that CUDA documents; the driver's names do the same.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"

enum { VERSION_NOT_SUFFICIENT = 2, NO_SUCH_FUNCTION = 500 };
enum { OK = 0, NOT_UPDATED = 910, TOPOLOGY_CHANGED = 2, NODE_TYPE_CHANGED = 3 };

typedef struct update {
    int result;
    void *node, *from_node;
} update;

int cudaEventCreate(void **ret_event);
int cudaEventRecord(void *event, void *stream);
int cudaEventDestroy(void *event);
int cudaGraphDestroy(void *graph);
int cudaGraphExecDestroy(void *executable);
int cudaGraphExecUpdate(void *executable, void *graph, update *ret_update);
int cudaGraphInstantiate(void **ret_executable, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *executable, void *stream);
int cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, int kind, void *stream);
int cudaMemsetAsync(void *to, int value, size_t n_bytes, void *stream);
int cuGraphExecGetFlags(void *executable, uint64_t *ret_flags);
int cuGraphInstantiateWithParams(void **ret_executable, void *graph, void *parameters);
int cuGraphExecUpdate(void *executable, void *graph, void **ret_node, int *ret_result);
int cuGraphExecUpdate_v2(void *executable, void *graph, update *ret_update);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **ret_graph);
int cuGetProcAddress_v2(const char *name, void **ret_function, int version, uint64_t flags,
                        int *ret_found);

static void *first, *second, *forked; /* streams, and an event */
static char *memory;                  /* of the card */

/* 'f': a fill, 'c': a copy, on the stream of the case: lower on the first, upper on the second;
 * '|': the second stream waits for the first, '/' the other way around. */
static void *capture(const char *work) {
    void *graph = NULL;
    assert_int_equal(cudaStreamBeginCapture(first, 0), OK);
    for (; *work != '\0'; work++) {
        void *stream = *work >= 'a' && *work <= 'z' ? first : second;
        if (*work == '|' || *work == '/') {
            assert_int_equal(cudaEventRecord(forked, *work == '|' ? first : second), OK);
            assert_int_equal(cudaStreamWaitEvent(*work == '|' ? second : first, forked, 0), OK);
        } else if (*work == 'f' || *work == 'F') {
            assert_int_equal(cudaMemsetAsync(memory, 0, 512, stream), OK);
        } else {
            assert_int_equal(cudaMemcpyAsync(memory, memory + 512, 512, 3, stream), OK);
        }
    }
    assert_int_equal(cudaStreamEndCapture(first, &graph), OK);
    return graph;
}

/* The result of updating the one to the other; 0: success. */
static int update_of(const char *before, const char *after) {
    update of = {77, NULL, NULL};
    void *executable = NULL;
    void *graph = capture(before);
    assert_int_equal(cudaGraphInstantiate(&executable, graph, 0), OK);
    assert_int_equal(cudaGraphDestroy(graph), OK);
    graph = capture(after);
    int status = cudaGraphExecUpdate(executable, graph, &of);
    assert_int_equal(status, of.result == 0 ? OK : NOT_UPDATED);
    assert_int_equal(cudaGetLastError(), status);
    assert_null(of.node);
    assert_int_equal(cudaGraphDestroy(graph), OK);
    assert_int_equal(cudaGraphLaunch(executable, first), OK); /* the old one, or the new one */
    assert_int_equal(cudaGraphExecDestroy(executable), OK);
    return of.result;
}

static void a_graph_of_the_same_shape_is_taken(void **state) {
    (void)state;
    assert_int_equal(update_of("f", "f"), 0);
    assert_int_equal(update_of("fcfc", "fcfc"), 0);
    assert_int_equal(update_of("f|CF/c", "f|CF/c"), 0);
    assert_int_equal(update_of("", ""), 0);
}

static void another_shape_is_refused_with_the_reason(void **state) {
    (void)state;
    assert_int_equal(update_of("f", "ff"), TOPOLOGY_CHANGED);
    assert_int_equal(update_of("ff", "f"), TOPOLOGY_CHANGED);
    assert_int_equal(update_of("f|Cc/c", "fccc"), TOPOLOGY_CHANGED);
    assert_int_equal(update_of("ff|C/c", "f|Cf/c"), TOPOLOGY_CHANGED);
    assert_int_equal(update_of("fc", "cf"), NODE_TYPE_CHANGED);
    assert_int_equal(update_of("ff", "fc"), NODE_TYPE_CHANGED);
    assert_string_equal(cudaGetErrorName(NOT_UPDATED), "cudaErrorGraphExecUpdateFailure");
}

static void the_driver_says_the_same(void **state) {
    (void)state;
    update of = {77, NULL, NULL};
    void *executable = NULL;
    void *node = memory;
    int result = 77;
    void *graph = capture("ff");
    void *other = capture("f");
    assert_int_equal(cudaGraphInstantiate(&executable, graph, 0), OK);
    assert_int_equal(cuGraphExecUpdate_v2(executable, graph, &of), OK);
    assert_int_equal(of.result, 0);
    assert_int_equal(cuGraphExecUpdate_v2(executable, other, &of), NOT_UPDATED);
    assert_int_equal(of.result, TOPOLOGY_CHANGED);
    assert_int_equal(cuGraphExecUpdate(executable, other, &node, &result), NOT_UPDATED);
    assert_int_equal(result, TOPOLOGY_CHANGED);
    assert_null(node);
    assert_int_equal(cudaGetLastError(), OK); /* failures of the driver are not the runtime's */
    assert_int_equal(cudaGraphExecDestroy(executable), OK);
    assert_int_equal(cudaGraphDestroy(graph), OK);
    assert_int_equal(cudaGraphDestroy(other), OK);
    assert_int_equal(cuStreamEndCapture(first, &graph), 401);
    assert_int_equal(cudaGetLastError(), OK);
}

/* In a program built for an older CUDA the same name means the older form. */
static void names_mean_the_form_of_the_programs_version(void **state) {
    (void)state;
    static const struct {
        const char *name, *older, *newer;
        int since;
    } NAMES[] = {{"cuGraphExecUpdate", "cuGraphExecUpdate", "cuGraphExecUpdate_v2", 12000},
                 {"cuMemPrefetchAsync", "cuMemPrefetchAsync", "cuMemPrefetchAsync_v2", 12020},
                 {"cuCtxCreate", "cuCtxCreate_v3", "cuCtxCreate_v4", 12050}};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        void *found[4];
        int is_missing = 0;
        assert_int_equal(
            cuGetProcAddress_v2(NAMES[i].name, &found[0], NAMES[i].since - 1, 0, &is_missing), OK);
        assert_int_equal(
            cuGetProcAddress_v2(NAMES[i].name, &found[1], NAMES[i].since, 0, &is_missing), OK);
        found[2] = dlsym(RTLD_DEFAULT, NAMES[i].older);
        found[3] = dlsym(RTLD_DEFAULT, NAMES[i].newer);
        assert_non_null(found[2]);
        assert_ptr_equal(found[0], found[2]);
        assert_ptr_equal(found[1], found[3]);
        assert_ptr_not_equal(found[0], found[1]);
    }
}

/* A name that came later than the program's version is not there, as cudaTypedefs.h has it. */
static void a_later_name_is_not_given(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int since;
    } NAMES[] = {{"cuMemAllocAsync", 11020},
                 {"cuLibraryLoadData", 12000},
                 {"cuCtxCreate_v4", 12050},
                 {"cuInit", 2000}};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        void *found = NULL;
        int status = 77;
        assert_int_equal(cuGetProcAddress_v2(NAMES[i].name, &found, NAMES[i].since, 0, &status),
                         OK);
        assert_non_null(found);
        assert_int_equal(status, 0);
        assert_int_equal(cuGetProcAddress_v2(NAMES[i].name, &found, NAMES[i].since - 1, 0, &status),
                         OK);
        assert_null(found);
        assert_int_equal(status, VERSION_NOT_SUFFICIENT);
        assert_int_equal(cuGetProcAddress_v2(NAMES[i].name, &found, NAMES[i].since - 1, 0, NULL),
                         NO_SUCH_FUNCTION);
    }
}

/* As libraries/stub_friend.h makes them: the newest version of these two is not served. */
__attribute__((section("tide_vc_not_served"))) int cuDeviceGetUuid_v4(void);
__attribute__((section("tide_vc_not_served"))) int cuOfTheMoon_v2(void);
int cuDeviceGetUuid_v4(void) {
    return 801;
}
int cuOfTheMoon_v2(void) {
    return 801;
}

static void a_version_that_is_served_comes_first(void **state) {
    (void)state;
    void *found = NULL;
    void *served = NULL;
    int is_missing = 77;
    assert_int_equal(cuGetProcAddress_v2("cuDeviceGetUuid", &found, 13000, 0, &is_missing), OK);
    assert_int_equal(cuGetProcAddress_v2("cuDeviceGetUuid_v2", &served, 13000, 0, &is_missing), OK);
    assert_non_null(served);
    assert_ptr_equal(found, served);
    assert_int_equal(cuGetProcAddress_v2("cuOfTheMoon", &found, 13000, 0, &is_missing), OK);
    assert_non_null(found);
    assert_int_equal(is_missing, 0);
}

static int begin(void **state) {
    (void)state;
    void *address = NULL;
    setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1);
    int status = cudaStreamCreateWithFlags(&first, 1) | cudaStreamCreateWithFlags(&second, 1) |
                 cudaEventCreate(&forked) | cudaMalloc(&address, 1024);
    memory = address;
    return status;
}

static int end(void **state) {
    (void)state;
    return cudaStreamDestroy(first) | cudaStreamDestroy(second) | cudaEventDestroy(forked) |
           cudaFree(memory);
}

/* The driver's parameters are read and written like the runtime's. */
static void the_driver_instantiates_with_parameters(void **state) {
    (void)state;
    enum { FREES_ON_LAUNCH = 1 };
    struct {
        uint64_t flags;
        void *upload_stream, *failed_node;
        int result;
    } parameters = {FREES_ON_LAUNCH, NULL, memory, 99};
    void *executable = NULL;
    void *graph = capture("fc");
    uint64_t flags = 0;
    assert_int_equal(cuGraphInstantiateWithParams(&executable, graph, &parameters), OK);
    assert_int_equal(parameters.result, 0);
    assert_null(parameters.failed_node);
    assert_int_equal(cuGraphExecGetFlags(executable, &flags), OK);
    assert_int_equal(flags, FREES_ON_LAUNCH);
    assert_int_equal(cudaGraphExecDestroy(executable), OK);
    assert_int_equal(cudaGraphDestroy(graph), OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_of_the_same_shape_is_taken),
        cmocka_unit_test(another_shape_is_refused_with_the_reason),
        cmocka_unit_test(the_driver_says_the_same),
        cmocka_unit_test(the_driver_instantiates_with_parameters),
        cmocka_unit_test(names_mean_the_form_of_the_programs_version),
        cmocka_unit_test(a_later_name_is_not_given),
        cmocka_unit_test(a_version_that_is_served_comes_first),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
