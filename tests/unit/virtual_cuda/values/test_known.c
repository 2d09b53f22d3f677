/* test_known.c - which bytes in its memory the virtual card knows, and when it forgets them. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/values/unknown.h"

enum { OK = 0, TO_DEVICE = 1, TO_HOST = 2, WITHIN = 3, N = 4096 };

typedef struct extent {
    unsigned x, y, z;
} extent;

int cudaLaunchKernel(const void *kernel, extent grid, extent block, void **arguments,
                     size_t shared_bytes, void *stream);
int cuLaunchKernel(void *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void *stream, void **arguments, void **packed);
int cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, int kind, void *stream);
int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                 size_t height, int kind);
int cuMemsetD32Async(uint64_t to, unsigned value, size_t n, void *stream);
int cudaStreamCreate(void **ret_stream);
int cudaStreamDestroy(void *stream);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **ret_graph);
int cudaGraphInstantiate(void **ret_executable, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *executable, void *stream);
int cudaGraphDestroy(void *graph);
int cudaGraphExecDestroy(void *executable);
void **__cudaRegisterFatBinary(const void *wrapper);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name);

static const extent ONE = {1, 1, 1};
static unsigned char *card; /* N bytes of the device's */
static unsigned char sent[N];

static int take_card(void **state) {
    (void)state;
    for (size_t i = 0; i < N; i++) {
        sent[i] = (unsigned char)(i * 7 + 1);
    }
    return cudaMalloc((void **)&card, N);
}

static int leave_card(void **state) {
    (void)state;
    return cudaFree(card);
}

static void send(size_t at, size_t n_bytes) {
    assert_int_equal(cudaMemcpy(card + at, sent + at, n_bytes, TO_DEVICE), OK);
}

/* The card returns n_bytes as they were sent. */
static bool has(size_t at, size_t n_bytes) {
    unsigned char got[N];
    memset(got, 0xAB, sizeof(got));
    assert_int_equal(cudaMemcpy(got, card + at, n_bytes, TO_HOST), OK);
    return memcmp(got, sent + at, n_bytes) == 0;
}

static bool reads_zero(size_t at, size_t n_bytes) {
    unsigned char got[N];
    static const unsigned char ZEROS[N];
    memset(got, 0xAB, sizeof(got));
    assert_int_equal(cudaMemcpy(got, card + at, n_bytes, TO_HOST), OK);
    return memcmp(got, ZEROS, n_bytes) == 0;
}

static void what_the_host_sent_comes_back(void **state) {
    (void)state;
    send(0, 100);
    assert_true(has(0, 100));
    assert_true(has(40, 7));
    send(100, 100); /* two adjacent ranges are one to a reader */
    assert_true(has(50, 100));
    assert_true(reads_zero(50, 151)); /* its last byte is unknown: nothing is returned */
    assert_true(reads_zero(200, 1));
}

static void a_newer_copy_covers_an_older_one(void **state) {
    (void)state;
    unsigned char other[10];
    unsigned char got[100];
    memset(other, 3, sizeof(other));
    send(0, 100);
    assert_int_equal(cudaMemcpy(card + 45, other, sizeof(other), TO_DEVICE), OK);
    assert_true(has(0, 45));
    assert_true(has(55, 45));
    assert_int_equal(cudaMemcpy(got, card, 100, TO_HOST), OK);
    assert_memory_equal(got + 45, other, sizeof(other));
}

static void fills_are_known_at_any_length(void **state) {
    (void)state;
    unsigned char *large = NULL;
    unsigned char got[3];
    unsigned words[3] = {0};
    const size_t n_bytes = (size_t)1 << 30;
    assert_int_equal(cudaMalloc((void **)&large, n_bytes), OK);
    assert_int_equal(cudaMemset(large, 5, n_bytes), OK);
    assert_int_equal(cudaMemcpy(got, large + n_bytes - 3, 3, TO_HOST), OK);
    assert_memory_equal(got, "\5\5\5", 3);
    assert_int_equal(cudaMemcpy(card, large, N, WITHIN), OK);
    assert_int_equal(cudaMemcpy(got, card + N - 3, 3, TO_HOST), OK);
    assert_memory_equal(got, "\5\5\5", 3);
    assert_int_equal(cuMemsetD32Async((uint64_t)(uintptr_t)large + 4, 0x01020304, 8, NULL), OK);
    assert_int_equal(cudaMemcpy(words, large + 8, sizeof(words), TO_HOST), OK);
    assert_int_equal(words[0], 0x01020304);
    assert_int_equal(words[2], 0x01020304);
    assert_int_equal(cudaMemcpy(words, large + 6, 4, TO_HOST), OK);
    assert_int_equal(words[0], 0x03040102);
    assert_int_equal(cuMemsetD32Async((uint64_t)(uintptr_t)large + 2, 0x01020304, 8, NULL), OK);
    assert_int_equal(cudaMemcpy(words, large + 2, 4, TO_HOST), OK);
    assert_int_equal(words[0], 0x01020304);
    assert_int_equal(cudaFree(large), OK);
}

static void the_limit_of_a_copy(void **state) {
    (void)state;
    unsigned char *large = NULL;
    const size_t limit = TIDE_VC_KNOWN_COPY_BYTES;
    unsigned char *bytes = malloc(limit + 1);
    unsigned char got = 0;
    assert_non_null(bytes);
    memset(bytes, 9, limit + 1);
    assert_int_equal(cudaMalloc((void **)&large, limit + 1), OK);
    assert_int_equal(cudaMemcpy(large, bytes, limit, TO_DEVICE), OK);
    assert_int_equal(cudaMemcpy(&got, large + limit - 1, 1, TO_HOST), OK);
    assert_int_equal(got, 9);
    assert_int_equal(cudaMemcpy(large, bytes, limit + 1, TO_DEVICE), OK); /* covers it, unknown */
    assert_int_equal(cudaMemcpy(&got, large + limit - 1, 1, TO_HOST), OK);
    assert_int_equal(got, 0);
    assert_int_equal(cudaFree(large), OK);
    free(bytes);
}

/* 65 copies of 1 MiB: the first is dropped, the others stay. */
static void the_oldest_go_first(void **state) {
    (void)state;
    const size_t unit = TIDE_VC_KNOWN_COPY_BYTES;
    const size_t n = TIDE_VC_KNOWN_BYTES / unit + 1;
    unsigned char *large = NULL;
    unsigned char *bytes = malloc(unit);
    unsigned char got = 0;
    assert_non_null(bytes);
    assert_int_equal(cudaMalloc((void **)&large, n * unit), OK);
    for (size_t i = 0; i < n; i++) {
        memset(bytes, (int)i + 1, unit);
        assert_int_equal(cudaMemcpy(large + i * unit, bytes, unit, TO_DEVICE), OK);
    }
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(cudaMemcpy(&got, large + i * unit, 1, TO_HOST), OK);
        assert_int_equal(got, i == 0 ? 0 : i + 1);
    }
    assert_int_equal(cudaFree(large), OK);
    free(bytes);
}

static void copies_on_the_card_carry_what_is_known(void **state) {
    (void)state;
    send(0, 512);
    assert_int_equal(cudaMemcpy(card + 1024, card, 512, WITHIN), OK);
    unsigned char got[512];
    assert_int_equal(cudaMemcpy(got, card + 1024, 512, TO_HOST), OK);
    assert_memory_equal(got, sent, 512);
    assert_int_equal(cudaMemcpy(card + 1024, card + 2048, 512, WITHIN), OK); /* from the unknown */
    assert_true(reads_zero(1024, 512));
    assert_int_equal(cudaMemcpy(card + 256, card, 512, WITHIN), OK); /* over itself */
    assert_int_equal(cudaMemcpy(got, card + 256, 512, TO_HOST), OK);
    assert_memory_equal(got, sent, 512);
}

static void rows_are_known_each_by_itself(void **state) {
    (void)state;
    unsigned char got[20];
    assert_int_equal(cudaMemcpy2D(card, 100, sent, 10, 10, 2, TO_DEVICE), OK);
    assert_int_equal(cudaMemcpy2D(got, 10, card, 100, 10, 2, TO_HOST), OK);
    assert_memory_equal(got, sent, 20);
    assert_true(reads_zero(10, 1));
}

static void a_kernel_makes_its_arguments_unknown(void **state) {
    (void)state;
    struct {
        long unused[100];
        unsigned char *second;
    } last = {.second = card + 2048};
    int n = 7;
    unsigned char *first = card + 8;
    void *arguments[] = {&n, &first, &last};
    send(0, 512);
    send(1024, 512);
    send(2048, 512);
    assert_int_equal(cudaLaunchKernel("kernel", ONE, ONE, arguments, 0, NULL), OK);
    assert_true(reads_zero(0, 8)); /* the whole range is forgotten */
    assert_true(has(1024, 512));
    assert_true(reads_zero(2048, 1));
}

static void arguments_on_the_heap_or_packed(void **state) {
    (void)state;
    unsigned char *pointer = card;
    void **list = malloc(2 * sizeof(*list));
    assert_non_null(list);
    list[0] = &pointer;
    list[1] = NULL;
    send(0, 512);
    send(1024, 512);
    uint64_t buffer[2] = {1, (uint64_t)(uintptr_t)card};
    size_t n_bytes = sizeof(buffer);
    void *packed[] = {(void *)1, buffer, (void *)2, &n_bytes, NULL};
    assert_int_equal(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, packed), OK);
    assert_true(reads_zero(0, 512));
    assert_true(has(1024, 512));
    assert_int_equal(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, list, NULL), OK);
    assert_true(reads_zero(1024, 512));
    free(list);
}

/* A list of matrices is on the card itself, as in batched products. */
static void what_a_list_leads_to_is_unknown_too(void **state) {
    (void)state;
    unsigned char *matrices[] = {card + 1024, card + 2048};
    send(1024, 512);
    send(2048, 512);
    send(3072, 512);
    assert_int_equal(cudaMemcpy(card, matrices, sizeof(matrices), TO_DEVICE), OK);
    tide_vc_touch(card);
    assert_true(reads_zero(1024, 512));
    assert_true(reads_zero(2048, 512));
    assert_true(has(3072, 512));
}

static void pytorch_fills_are_known(void **state) {
    (void)state;
    static const char KERNEL[] = "fill";
    static const char NAME[] = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorI"
                               "lEESt5arrayIPcLm1EEEEviT0_T1_";
    const void *wrapper[3] = {0};
    __cudaRegisterFunction(__cudaRegisterFatBinary(wrapper), KERNEL, NULL, NAME);
    long value = 1234567890123;
    int n = 5;
    void *to = card;
    void *arguments[] = {&n, &value, &to};
    long got[5] = {0};
    assert_int_equal(cudaLaunchKernel(KERNEL, ONE, ONE, arguments, 0, NULL), OK);
    assert_int_equal(cudaMemcpy(got, card, sizeof(got), TO_HOST), OK);
    assert_int_equal(got[0], value);
    assert_int_equal(got[4], value);
    assert_true(reads_zero(sizeof(got), 1));
    assert_int_equal(cudaLaunchKernel("another", ONE, ONE, arguments, 0, NULL), OK);
    assert_true(reads_zero(0, sizeof(got)));
}

/* A named functor only reads its operands; a lambda may contain an address that it writes to. */
static void elementwise_kernels_write_one_result(void **state) {
    (void)state;
    static const char NAMED[] = "add";
    static const char LAMBDA[] = "unscale";
    const void *wrapper[3] = {0};
    void **binary = __cudaRegisterFatBinary(wrapper);
    __cudaRegisterFunction(binary, NAMED, NULL,
                           "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addI"
                           "fEESt5arrayIPcLm3EEEEviT0_T1_");
    __cudaRegisterFunction(binary, LAMBDA, NULL,
                           "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_3addEENKUlvE_clEv"
                           "EUlfE_St5arrayIPcLm3EEEEviT0_T1_");
    int n = 5;
    unsigned char *scale = card + 3072;
    unsigned char *addresses[3] = {card, card + 1024, card + 2048};
    void *arguments[] = {&n, &scale, addresses};
    for (size_t i = 0; i < 4; i++) {
        send(i * 1024, 512);
    }
    assert_int_equal(cudaLaunchKernel(NAMED, ONE, ONE, arguments, 0, NULL), OK);
    assert_true(reads_zero(0, 512));
    assert_true(has(1024, 512) && has(2048, 512) && has(3072, 512));
    assert_int_equal(cudaLaunchKernel(LAMBDA, ONE, ONE, arguments, 0, NULL), OK);
    assert_true(reads_zero(1024, 512));
    assert_true(reads_zero(3072, 512));
}

static void free_memory_is_forgotten(void **state) {
    (void)state;
    unsigned char *first = NULL;
    unsigned char *second = NULL;
    unsigned char got = 1;
    assert_int_equal(cudaMalloc((void **)&first, 512), OK);
    assert_int_equal(cudaMemset(first, 1, 512), OK);
    assert_int_equal(cudaFree(first), OK);
    assert_int_equal(cudaMalloc((void **)&second, 512), OK);
    assert_ptr_equal(first, second);
    assert_int_equal(cudaMemcpy(&got, second, 1, TO_HOST), OK);
    assert_int_equal(got, 0);
    assert_int_equal(cudaFree(second), OK);
}

static void a_graph_writes_when_it_is_launched(void **state) {
    (void)state;
    void *stream = NULL;
    void *graph = NULL;
    void *executable = NULL;
    send(0, 512);
    send(1024, 512);
    assert_int_equal(cudaStreamCreate(&stream), OK);
    assert_int_equal(cudaStreamBeginCapture(stream, 0), OK);
    assert_int_equal(cudaMemcpyAsync(card, sent + 1, 512, TO_DEVICE, stream), OK);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), OK);
    assert_true(reads_zero(0, 512));
    assert_true(has(1024, 512));
    assert_int_equal(cudaGraphInstantiate(&executable, graph, 0), OK);
    assert_int_equal(cudaGraphLaunch(executable, stream), OK);
    assert_true(reads_zero(1024, 512));
    assert_int_equal(cudaGraphExecDestroy(executable), OK);
    assert_int_equal(cudaGraphDestroy(graph), OK);
    assert_int_equal(cudaStreamDestroy(stream), OK);
}

static void answers_go_to_unknown_numbers_in_order(void **state) {
    (void)state;
    uint64_t number = 1;
    unsigned char byte = 1;
    send(0, 8);
    tidemark_values_answer(7);
    tidemark_values_answer(8);
    tidemark_values_answer(9);
    assert_true(has(0, 8)); /* known: no answer is used */
    assert_int_equal(cudaMemcpy(&byte, card + 16, 1, TO_HOST), OK);
    assert_int_equal(byte, 0);
    assert_int_equal(cudaMemcpy(&number, card + 16, 8, TO_HOST), OK);
    assert_int_equal(number, 7);
    number = 0;
    assert_int_equal(cudaMemcpy(&number, card + 16, 4, TO_HOST), OK);
    assert_int_equal(number, 8);
    assert_int_equal(tidemark_values_no_answers(), 1);
    assert_int_equal(cudaMemcpy(&number, card + 16, 8, TO_HOST), OK);
    assert_int_equal(number, 0);
    assert_int_equal(tidemark_values_read(&number, (uint64_t)(uintptr_t)card, 8), 1);
    assert_memory_equal(&number, sent, 8);
    tidemark_values_mode(1, 0);
    assert_int_equal(cudaMemcpy(&byte, card + 16, 1, TO_HOST), OK);
    assert_int_equal(byte, 1);
    assert_int_equal(cudaMemcpy(&byte, card + 16, 1, TO_HOST), OK);
    assert_int_equal(byte, 0);
    unsigned char longer[9];
    assert_int_equal(tidemark_values_read(longer, (uint64_t)(uintptr_t)card, sizeof(longer)), 0);
}

static void *work(void *place) {
    unsigned char *mine = place;
    unsigned char got[16];
    for (int i = 1; i < 2000; i++) {
        void *argument = mine;
        void *arguments[] = {&argument};
        (void)cudaMemset(mine, i % 256, 16);
        (void)cudaMemcpy(got, mine, 16, TO_HOST);
        if (got[0] != i % 256 || got[15] != i % 256) {
            return mine;
        }
        (void)cudaMemcpy(mine, sent, 16, TO_DEVICE);
        (void)cudaLaunchKernel("kernel", ONE, ONE, arguments, 0, NULL);
        (void)cudaMemcpy(got, mine, 16, TO_HOST);
        if (got[0] != 0) {
            return mine;
        }
    }
    return NULL;
}

static void threads_know_their_own_bytes(void **state) {
    (void)state;
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, card + 512 * i), 0);
    }
    for (size_t i = 0; i < 3; i++) {
        void *wrong = card;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, take_card, leave_card)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_the_host_sent_comes_back),
        TEST(a_newer_copy_covers_an_older_one),
        TEST(fills_are_known_at_any_length),
        TEST(the_limit_of_a_copy),
        TEST(the_oldest_go_first),
        TEST(copies_on_the_card_carry_what_is_known),
        TEST(rows_are_known_each_by_itself),
        TEST(a_kernel_makes_its_arguments_unknown),
        TEST(arguments_on_the_heap_or_packed),
        TEST(what_a_list_leads_to_is_unknown_too),
        TEST(pytorch_fills_are_known),
        TEST(elementwise_kernels_write_one_result),
        TEST(free_memory_is_forgotten),
        TEST(a_graph_writes_when_it_is_launched),
        TEST(answers_go_to_unknown_numbers_in_order),
        TEST(threads_know_their_own_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
