/* test_owner.c - the owner of memory: the library that calls, past libraries that only forward
 * calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "programs/live/owner.h"
#include "unit/live/calls.h"

static void assert_owner_of(const char *path, const char *expected) {
    char name[64];
    const char *owner = tide_live_owner_of_library(path, name, sizeof(name));
    if (expected == NULL) {
        assert_null(owner);
    } else {
        assert_non_null(owner);
        assert_string_equal(owner, expected);
    }
}

static void test_names(void **state) {
    (void)state;
    const char *in = "/v/lib/python3.11/site-packages/";
    char path[256];
    static const char *const ROWS[][2] = {
        {"torch/lib/libc10_cuda.so", "PyTorch"},
        {"torch/lib/libtorch_cuda.so", "PyTorch"},
        {"torch/_C.cpython-311-x86_64-linux-gnu.so", "PyTorch"},
        {"torchvision/_C.so", "torchvision"},
        {"nvidia/nccl/lib/libnccl.so.2", "NCCL"},
        {"nvidia/cu13/lib/libcublasLt.so.13", "cuBLAS"},
        {"nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9", "cuDNN"},
        {"nvidia/cu13/lib/libcusolver.so.12", "cuSOLVER"},
        {"nvidia/cu13/lib/libcudart.so.13", NULL},
        {"triton/_C/libtriton.so", "Triton"},
        {"cupy/cuda/memory.cpython-311-x86_64-linux-gnu.so", "CuPy"},
        {"cupy_backends/cuda/api/runtime.cpython-311-x86_64-linux-gnu.so", "CuPy"},
        {"flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", "flash_attn_2_cuda"},
        {"vllm/_C.abi3.so", "vllm"},
    };
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", in, ROWS[i][0]);
        assert_owner_of(path, ROWS[i][1]);
    }
    assert_owner_of("/home/u/.triton/cache/AB/cuda_utils.so", "Triton");
    assert_owner_of("/usr/lib/x86_64-linux-gnu/libcuda.so.1", NULL);
    assert_owner_of("/usr/lib/libwidgets.so.9", "libwidgets");
    assert_owner_of("/opt/triton/bin/server", "server");
    assert_owner_of("/usr/bin/python3.11", "Python");
    assert_owner_of("solver", "solver");
}

/* A name is cut if it does not fit. */
static void test_cut(void **state) {
    (void)state;
    char name[8];
    assert_string_equal(tide_live_owner_of_library("/lib/libwidgets.so", name, sizeof(name)),
                        "libwidg");
}

typedef struct library {
    call_it_function *call_it;
    asked *call_what_it_holds;
} library;

static library open_library(const char *path) {
    library opened;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    void *found = dlsym(handle, "call_it");
    assert_non_null(found);
    memcpy(&opened.call_it, &found, sizeof(found));
    found = dlsym(handle, "call_what_it_holds");
    assert_non_null(found);
    memcpy(&opened.call_what_it_holds, &found, sizeof(found));
    return opened;
}

/* What an interposed function does. */
__attribute__((noinline)) static unsigned ask(const struct question *question) {
    (void)question;
    return tide_live_owner(__builtin_return_address(0));
}

static const char *owner_of_call(const library *from) {
    const struct question question = {.function = ask};
    return tide_live_owner_name(from->call_it(ask, &question));
}

/* The owner of a call that `first` makes, and `second` forwards. */
static const char *owner_of_passed(const library *first, const library *second) {
    const struct question question = {.function = ask};
    return tide_live_owner_name(first->call_it(second->call_what_it_holds, &question));
}

static void test_callers(void **state) {
    (void)state;
    library nccl = open_library(CALLS_nccl);
    library cudart = open_library(CALLS_cudart);
    library widgets = open_library(CALLS_widgets);
    for (int round = 0; round < 2; round++) { /* found, then remembered */
        assert_string_equal(owner_of_call(&nccl), "NCCL");
        assert_string_equal(owner_of_call(&widgets), "libwidgets");
        /* Calls from the same place in the runtime. */
        assert_string_equal(owner_of_passed(&nccl, &cudart), "NCCL");
        assert_string_equal(owner_of_passed(&widgets, &cudart), "libwidgets");
        /* The nearest caller counts. */
        assert_string_equal(owner_of_passed(&widgets, &nccl), "NCCL");
        assert_string_equal(tide_live_owner_name(ask(NULL)), "test_unit_live_owner");
    }
}

static void test_full_table(void **state) {
    (void)state;
    char name[16];
    unsigned owner = 0;
    for (int i = 0; i < TIDE_LIVE_MAX_OWNERS + 10; i++) {
        (void)snprintf(name, sizeof(name), "lib%d", i);
        owner = tide_live_owner_named(name);
        assert_in_range(owner, 0, TIDE_LIVE_MAX_OWNERS - 1);
    }
    assert_int_equal(owner, TIDE_LIVE_MAX_OWNERS - 1);
    assert_string_equal(tide_live_owner_name(owner), "others");
    assert_string_equal(tide_live_owner_name(tide_live_owner_named("lib0")), "lib0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_callers),
        cmocka_unit_test(test_full_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
