/* test_runtime.c - which CUDA runtime a program has: by the name of its library; unsupported ones
 * are refused by name. Each case is its own process, like programs. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

int cudaRuntimeGetVersion(int *version);
int cudaGetDeviceCount(int *n);
int cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                            int *found);

int cudaMallocManaged(void **address, size_t n_bytes, unsigned flags);
int cudaMemRangeGetAttribute(void *value, size_t n_value, int attribute, const void *address,
                             size_t n_bytes);
int cuGetExportTable(const void **table, const void *identifier);
int cudaGraphCreate(void **graph, unsigned flags);
int cudaGraphGetNodes(void *graph, void **nodes, size_t *n_nodes);
int cudaStreamCreate(void **stream);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int cudaGraphInstantiate(void **executable, void *graph, unsigned long long flags);

int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *n_bytes, size_t n,
                         void *attributes, size_t *attributes_at, size_t n_attributes,
                         void *failed_or_stream, void *stream);

enum { REFUSED = 125, OTHERWISE = 3, LAST_PREFETCH = 4, NOT_FOUND = 500 };

static char said[512]; /* on stderr, by the last child */

/* Runs `what` in a child with that library loaded; its exit status. */
static int in_child(const char *library, int (*what)(void)) {
    int ends[2];
    int status = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        _exit(library == NULL || dlopen(library, RTLD_NOW) != NULL ? what() : OTHERWISE);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], said, sizeof(said) - 1);
    said[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int version_in_tens(void) {
    int version = 0;
    return cudaRuntimeGetVersion(&version) == 0 ? version / 1000 : OTHERWISE;
}

static int count(void) {
    int n = 0;
    return cudaGetDeviceCount(&n) == 0 && n == 1 ? 0 : OTHERWISE;
}

/* Any name that the dynamic linker knows will do. A runtime of CUDA 11 passes three arguments: the
 * register of the fourth does not contain an address. */
static int entry_point_of_11(void) {
    void *function = NULL;
    int untouched = 7;
    return cudaGetDriverEntryPoint("getenv", &function, 0, &untouched) == 0 && function != NULL
               ? untouched
               : OTHERWISE;
}

static void test_the_version_is_that_of_the_loaded_library(void **state) {
    (void)state;
    assert_int_equal(in_child(NULL, version_in_tens), 13);
    assert_int_equal(in_child(CUDART_11, version_in_tens), 11);
    assert_int_equal(in_child(CUDART_12, version_in_tens), 12);
    assert_int_equal(in_child(CUDART_12, count), 0);
    assert_string_equal(said, "");
}

static void test_an_unknown_version_is_refused_by_name(void **state) {
    (void)state;
    assert_int_equal(in_child(CUDART_14, count), REFUSED);
    assert_string_equal(said, "tidemark: the virtual card serves the CUDA runtime 11 to 13, and "
                              "this program has: 'libcudart.so.14'\n");
    assert_int_equal(in_child(CUDART_14, version_in_tens), REFUSED);
}

static void test_an_entry_point_in_cuda_11_has_no_fourth_argument(void **state) {
    (void)state;
    assert_int_equal(in_child(CUDART_11, entry_point_of_11), 7);
    assert_int_equal(in_child(CUDART_12, entry_point_of_11), 0); /* found */
}

/* CUDA 11 and 12 name a device, then the stream; CUDA 11 has two results of an update. */
static int older_forms(void) {
    void *address = NULL;
    void *graph = NULL;
    void *executable = NULL;
    void *node = &address;
    int value = 77;
    int result = 77;
    int (*update)(void *, void *, void **, int *) = NULL;
    int (*prefetch)(const void *, size_t, int, void *) = NULL;
    *(void **)&update = dlsym(RTLD_DEFAULT, "cudaGraphExecUpdate");
    *(void **)&prefetch = dlsym(RTLD_DEFAULT, "cudaMemPrefetchAsync");
    bool is_right =
        cudaMallocManaged(&address, 1 << 20, 1) == 0 && prefetch(address, 1 << 20, 0, NULL) == 0 &&
        cudaMemRangeGetAttribute(&value, sizeof(value), LAST_PREFETCH, address, 1 << 20) == 0 &&
        value == 0 && prefetch(address, 1 << 20, -1, NULL) == 0 &&
        cudaMemRangeGetAttribute(&value, sizeof(value), LAST_PREFETCH, address, 1 << 20) == 0 &&
        value == -1 && prefetch(address, 1 << 20, 1, NULL) != 0; /* it has one device */
    int version = 0;
    (void)cudaRuntimeGetVersion(&version);
    if (version < 12000) {
        is_right = is_right && cudaGraphCreate(&graph, 0) == 0 &&
                   cudaGraphInstantiate(&executable, graph, 0) == 0 &&
                   update(executable, graph, &node, &result) == 0 && node == NULL && result == 0;
    }
    return is_right ? 0 : OTHERWISE;
}

/* CUDA 13 has eight arguments; the word after them is the caller's. */
static int list_of_copies_of_13(void) {
    char from[] = "abc";
    char to[] = "...";
    void *const targets[] = {to};
    const void *const sources[] = {from};
    const size_t n_bytes[] = {2};
    return cudaMemcpyBatchAsync(targets, sources, n_bytes, 1, NULL, NULL, 0, NULL, to) == 0 &&
                   strcmp(to, "ab.") == 0
               ? 0
               : OTHERWISE;
}

/* A runtime asks for this table first. */
static const unsigned char TABLE[] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                      0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

static int ask_from_the_program(void) {
    const void *table = NULL;
    volatile int status = cuGetExportTable(&table, TABLE);
    return status == NOT_FOUND ? 0 : OTHERWISE;
}

static int ask_from_a_library(void) {
    const void *table = NULL;
    int (*call)(int (*)(const void **, const void *), const void **, const void *) = NULL;
    void *library = dlopen(CUDART_12, RTLD_NOW);
    *(void **)&call = dlsym(library, "tide_named_cudart_call");
    return call(cuGetExportTable, &table, TABLE) == NOT_FOUND ? 0 : OTHERWISE;
}

static void test_a_runtime_of_its_own_is_named_by_its_object(void **state) {
    (void)state;
    assert_int_equal(in_child(NULL, ask_from_the_program), 0);
    assert_non_null(strstr(said, "which is linked into the program test_unit_virtual_cuda_runtime: "
                                 "its functions were not replaced when it was loaded; "
                                 "build it with nvcc -cudart shared"));
    assert_int_equal(in_child(NULL, ask_from_a_library), 0);
    assert_null(strstr(said, "linked into"));
    assert_non_null(
        strstr(said, "libcudart.so.12, whose own code the program calls; link it by its "));
}

/* CUDA 12.8 also returns which copy failed. The stream captures, so the copy becomes a node of its
 * graph only if it is on that stream. */
static int list_of_copies(void) {
    typedef int list_of_12(void *const *, const void *const *, const size_t *, size_t, void *,
                           size_t *, size_t, size_t *, void *);
    static const char *const NAMES[] = {"cudaMemcpyBatchAsync", "cudaMemcpyBatchAsync_ptsz"};
    char from[8] = "source", to[8] = "";
    void *const all_to[] = {to};
    const void *const all_from[] = {from};
    const size_t n_bytes[] = {sizeof(from)};
    bool is_right = true;
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        list_of_12 *copy = NULL;
        void *stream = NULL, *graph = NULL;
        size_t failed = 7, n_nodes = 0;
        *(void **)&copy = dlsym(RTLD_DEFAULT, NAMES[i]);
        is_right = is_right && copy != NULL && cudaStreamCreate(&stream) == 0 &&
                   cudaStreamBeginCapture(stream, 0) == 0 &&
                   copy(all_to, all_from, n_bytes, 1, NULL, NULL, 0, &failed, stream) == 0 &&
                   failed == SIZE_MAX && cudaStreamEndCapture(stream, &graph) == 0 &&
                   cudaGraphGetNodes(graph, NULL, &n_nodes) == 0 && n_nodes == 1;
    }
    return is_right ? 0 : OTHERWISE;
}

static void test_a_list_of_copies_has_its_versions_arguments(void **state) {
    (void)state;
    assert_int_equal(in_child(CUDART_12, list_of_copies), 0);
    assert_int_equal(in_child(NULL, list_of_copies_of_13), 0);
}

static void test_older_forms_of_functions(void **state) {
    (void)state;
    assert_int_equal(in_child(CUDART_11, older_forms), 0);
    assert_int_equal(in_child(CUDART_12, older_forms), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_version_is_that_of_the_loaded_library),
        cmocka_unit_test(test_an_unknown_version_is_refused_by_name),
        cmocka_unit_test(test_an_entry_point_in_cuda_11_has_no_fourth_argument),
        cmocka_unit_test(test_a_runtime_of_its_own_is_named_by_its_object),
        cmocka_unit_test(test_older_forms_of_functions),
        cmocka_unit_test(test_a_list_of_copies_has_its_versions_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
