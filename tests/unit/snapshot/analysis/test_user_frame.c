/* test_user_frame.c - which frame of a call stack represents the user's code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/analysis/user_frame.h"
#include "support/hostmem_fault.h"
#include "support/pickle_text.h"

enum { TEXT_BYTES = 4096 };

/* All stacks together give the same frames as one by one, or fail without memory. */
static void assert_same_at_once(const tide_snapshot *snapshot) {
    size_t n_failed = 0;
    for (bool has_failed = true; has_failed; n_failed += has_failed) {
        tide_frame_kinds kinds;
        tide_hostmem_fault fault;
        tide_hostmem_fault_init(&fault, n_failed + 1);
        has_failed = tide_frame_kinds_init(&kinds, snapshot, &fault.mem) == TIDE_NO_MEMORY;
        for (uint32_t i = 0; i < snapshot->n_stacks && !has_failed; i++) {
            assert_int_equal(kinds.of_stack[i], tide_user_frame(snapshot, i));
        }
        tide_frame_kinds_fini(&kinds);
        assert_int_equal(fault.n_live, 0);
    }
    assert_int_equal(n_failed, 3);
}

/* Asserts the text of the frame that represents a stack with these frames, innermost first. */
static void assert_frame_below(const char *user_path, const char *frames, const char *expected) {
    char text[TEXT_BYTES];
    tide_snapshot *snapshot = NULL;
    tide_error error;
    snprintf(text, sizeof(text),
             "{'segments': [], 'device_traces': [[{'action': 'snapshot', 'frames': [%s]}]]}",
             frames);
    assert_int_equal(pytorch_import_text(text, NULL, &snapshot, &error), TIDE_OK);
    snapshot->user_path = user_path;
    uint32_t frame = tide_user_frame(snapshot, tide_index_at(&snapshot->events.stack, 0));
    assert_same_at_once(snapshot);
    if (expected == NULL) {
        assert_int_equal(frame, TIDE_NONE);
    } else {
        tide_frame_text(snapshot, frame, text, sizeof(text));
        assert_string_equal(text, expected);
    }
    tide_snapshot_destroy(snapshot);
}

static void assert_frame(const char *frames, const char *expected) {
    assert_frame_below("", frames, expected);
}

#define FRAME(name, file, line) "{'name': '" name "', 'filename': '" file "', 'line': " line "}"
#define ALLOCATOR                                                                                  \
    FRAME("torch::unwind::unwind()", "", "0")                                                      \
    ", " FRAME("c10::cuda::CUDACachingAllocator::malloc(void**)", "x.cpp", "0") ", "
#define MODULE FRAME("_call_impl", "/v/lib/python3.11/site-packages/torch/nn/module.py", "7") ", "

static void functions_are_as_their_readers_know_them(void **state) {
    static const char *const NAMES[][2] = {
        {"Block.forward", "Block.forward (model.py:12)"},
        {"<module>", "model.py:12"},
        {"<lambda>", "model.py:12"},
        {"main.<locals>.<listcomp>", "main (model.py:12)"},
        {"main.<locals>.<genexpr>.<lambda>", "main (model.py:12)"},
        {"make.<locals>.inner", "make.inner (model.py:12)"},
        {"Net.<locals>.Block.forward", "Net.Block.forward (model.py:12)"},
        {"", "model.py:12"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        char frame[TEXT_BYTES];
        snprintf(frame, sizeof(frame), FRAME("%s", "/home/u/model.py", "12"), NAMES[i][0]);
        assert_frame(frame, NAMES[i][1]);
    }
}

static void first_frame_of_the_users(void **state) {
    (void)state;
    assert_frame(ALLOCATOR FRAME("at::empty(int)", "", "0") ", " MODULE FRAME(
                     "forward", "/home/u/model.py", "12") ", " FRAME("main", "/home/u/run.py", "1"),
                 "forward (model.py:12)");
    /* Every installed package is a library, also on Debian and in Python's own folder. */
    assert_frame(MODULE FRAME("attention", "/v/site-packages/transformers/qwen.py",
                              "3") ", " FRAME("main", "run.py", "1"),
                 "main (run.py:1)");
    assert_frame(FRAME("einsum", "/usr/lib/python3/dist-packages/einx/api.py",
                       "3") ", " FRAME("main", "run.py", "1"),
                 "main (run.py:1)");
    /* Without a line of the program, the library of the model comes before PyTorch. */
    assert_frame(MODULE FRAME("attention", "/v/site-packages/transformers/qwen.py", "3"),
                 "attention (qwen.py:3)");
    /* Frames of the standard library, of generated code and of PyTorch's sources do not count. */
    assert_frame(FRAME("inner", "/usr/lib/python3.11/contextlib.py",
                       "3") ", " FRAME("f", "<eval_with_key>.py",
                                       "1") ", " FRAME("step", "/src/pytorch/torch/optim/adamw.py",
                                                       "9") ", " FRAME("main", "run.py", "1"),
                 "main (run.py:1)");
    assert_frame(FRAME("run", "/opt/share/tidemark/python/tidemark/values/rows.py",
                       "3") ", " FRAME("main", "run.py", "1"),
                 "main (run.py:1)");
    assert_frame(FRAME("wrapper", "C:/Python311/Lib/contextlib.py",
                       "9") ", " FRAME("forward", "C:/x/model.py", "39"),
                 "forward (model.py:39)");
    assert_frame(FRAME("einsum", "D:/x/.venv/Lib/site-packages/einops/einops.py",
                       "9") ", " FRAME("forward", "D:/x/basics/model.py", "39"),
                 "forward (model.py:39)");
}

static void without_one_the_gradient_or_the_first_outside_the_allocator(void **state) {
    (void)state;
    assert_frame(ALLOCATOR FRAME("at::mul(at::Tensor)", "", "0") ", " FRAME(
                     "torch::autograd::generated::MulBackward0::apply(std::vector<int>)", "", "0"),
                 "torch::autograd::generated::MulBackward0::apply");
    assert_frame(ALLOCATOR FRAME("at::empty(int)", "", "0") ", " FRAME("clone", "", "0"),
                 "at::empty");
    assert_frame(FRAME("torch::unwind::unwind()", "", "0"), "torch::unwind::unwind");
    assert_frame(FRAME("", "", "0"), "?");
    assert_frame("", NULL);
}

/* Lines of generated code mean nothing to people; a name of another shape is the program's own. */
static void code_that_torch_compile_generated_is_not_the_users(void **state) {
    (void)state;
#define HASH "ckjz4gqebekrb5gzrzuu7syzvy4mh7olz2yfuyjzomolrvraeq72.py"
    assert_frame(FRAME("call", "/tmp/torchinductor_root/kj/" HASH,
                       "1464") ", " FRAME("forward", "/home/u/nano.py", "27"),
                 "forward (nano.py:27)");
    assert_frame(FRAME("call", "/tmp/torchinductor_root/kj/" HASH, "1464"), "call (" HASH ":1464)");
    assert_frame(FRAME("call", "/home/u/kk/" HASH, "3") ", " FRAME("main", "run.py", "1"),
                 "call (" HASH ":3)");
    assert_frame(FRAME("call", "/home/u/kj/ckj.py", "3") ", " FRAME("main", "run.py", "1"),
                 "call (ckj.py:3)");
    assert_frame(FRAME("propagate", "/tmp/torch_geometric.nn.conv.gat_conv_GATConv_8iwit1h2.py",
                       "212") ", " FRAME("main", "run.py", "1"),
                 "main (run.py:1)");
}

static void code_below_the_named_folder_is_the_users(void **state) {
    (void)state;
    static const char FRAMES[] =
        FRAME("attention", "/v/site-packages/mine/qwen.py", "3") ", " FRAME("main", "run.py", "1");
    assert_frame_below("/v/site-packages/mine", FRAMES, "attention (qwen.py:3)");
    assert_frame_below("/v/site-packages/mine/", FRAMES, "attention (qwen.py:3)");
    assert_frame_below("/v/site-packages/min", FRAMES, "main (run.py:1)");
    assert_frame_below("D:\\x", FRAME("f", "D:/x/Lib/site-packages/a.py", "7"), "f (a.py:7)");
}

/* As `tidemark run --stacks both` records them. */
static void allocators_headers_and_own_code_are_not_the_line(void **state) {
    (void)state;
    static const char MANGLED[] = FRAME("_ZN3c104cuda20CUDACachingAllocator5allocEm", "", "0") ", ";
    static const char API[] = FRAME("cudaMalloc", "", "0") ", ";
    static const char HEADER[] = FRAME("cudaError cudaMalloc<float>(float**, unsigned long)",
                                       "/usr/local/cuda/include/cuda_runtime.h", "777") ", ";
    static const char OWN[] =
        FRAME("hook", "/opt/share/tidemark/python/tidemark/module_calls.py", "9") ", ";
    char frames[TEXT_BYTES / 2];
    snprintf(frames, sizeof(frames), "%s%s%s%s%s", MANGLED, API, HEADER, OWN,
             FRAME("fill(float*)", "", "0"));
    assert_frame(frames, "fill");
    snprintf(frames, sizeof(frames), "%s%s", OWN, FRAME("at::add(int)", "", "0"));
    assert_frame(frames, "at::add");
    /* In the backward pass it may be the only frame: then there is no line. */
    assert_frame(FRAME("kernel", "/opt/share/tidemark/python/tidemark/values/kernels.py", "9"),
                 NULL);
}

/* Without Python, a frame with a source file is better than a library frame without. */
static void the_line_of_a_program_in_c_has_a_file(void **state) {
    (void)state;
    assert_frame(FRAME("cudaMalloc", "", "0") ", " FRAME("pool_grow", "", "0") ", " FRAME(
                     "load(char const*)", "/home/u/app.cpp",
                     "12") ", " FRAME("__libc_start_main", "/build/glibc/csu/start.c", "3"),
                 "load (app.cpp:12)");
    /* The interpreter's own lines are not the program's. */
    assert_frame(FRAME("at::mul(int)", "", "0") ", " FRAME(
                     "cfunction_call", "/build/Objects/methodobject.c",
                     "542") ", " FRAME("_PyEval_EvalFrameDefault", "/build/Python/ceval.c", "9"),
                 "at::mul");
    /* a work area that the virtual card allocates in place of a library */
    assert_frame(FRAME("allocate", "programs/virtual_cuda/libraries/cufft.c",
                       "213") ", " FRAME("solve", "solver.c", "7") ", " FRAME("_start", "", "0"),
                 "solve (solver.c:7)");
    assert_frame(FRAME("allocate", "libtidemark_virtual_cuda.so",
                       "0") ", " FRAME("solve", "", "0") ", " FRAME("_start", "", "0"),
                 "solve");
    assert_frame(FRAME("(anonymous namespace)::grow(int)", "", "0") ", " FRAME("_start", "", "0"),
                 "(anonymous namespace)::grow");
}

/* A thread of autograd that runs a function of PyTorch in Python contains no code of the program.
 */
static void python_of_pytorch_alone_is_no_line(void **state) {
    (void)state;
    assert_frame(FRAME("eager_router", "/v/site-packages/torch/_native/registry.py", "958"), NULL);
    assert_frame(FRAME("eager_router", "/v/site-packages/torch/_native/registry.py",
                       "958") ", " FRAME("main", "run.py", "1"),
                 "main (run.py:1)");
    assert_frame(
        FRAME("eager_router", "/v/site-packages/torch/_native/registry.py",
              "958") ", " FRAME("torch::autograd::generated::BmmBackward0::apply(int)", "", "0"),
        "torch::autograd::generated::BmmBackward0::apply");
    assert_frame(FRAME("run", "/v/site-packages/torch/utils/x.py",
                       "9") ", " FRAME("_run_code", "<frozen runpy>", "88"),
                 "run (x.py:9)");
}

static void kinds_of_frames(void **state) {
    static const char TEXT[] =
        "{'segments': [], 'device_traces': [[{'action': 'snapshot', 'frames': [" ALLOCATOR
        "%s]}]]}";
    static const struct {
        const char *frames;
        tide_frame_kind kinds[2]; /* of frames outside of the allocator */
    } CASES[] = {
        {FRAME("f", "/v/site-packages/torch/x.py", "9") ", " FRAME("main", "run.py", "1"),
         {TIDE_FRAME_LIBRARY, TIDE_FRAME_USER}},
        {FRAME("f", "model.c", "9") ", " FRAME("main", "cli/main.c", "1"),
         {TIDE_FRAME_USER, TIDE_FRAME_TOOL}},
        {FRAME("f", "model.c", "9") ", " FRAME("__libc_start_main", "../csu/libc-start.c", "1"),
         {TIDE_FRAME_USER, TIDE_FRAME_LIBRARY}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char text[TEXT_BYTES];
        tide_snapshot *snapshot = NULL;
        tide_frame_kinds kinds;
        tide_error error;
        snprintf(text, sizeof(text), TEXT, CASES[i].frames);
        assert_int_equal(pytorch_import_text(text, NULL, &snapshot, &error), TIDE_OK);
        assert_int_equal(tide_frame_kinds_init(&kinds, snapshot, tide_hostmem_default()), TIDE_OK);
        uint32_t stack = tide_index_at(&snapshot->events.stack, 0);
        for (size_t frame = 0; frame < 4; frame++, stack = snapshot->stacks[stack].parent) {
            assert_int_equal(kinds.of_frame[snapshot->stacks[stack].frame],
                             frame < 2 ? TIDE_FRAME_TOOL : CASES[i].kinds[frame - 2]);
        }
        tide_frame_kinds_fini(&kinds);
        tide_snapshot_destroy(snapshot);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocators_headers_and_own_code_are_not_the_line),
        cmocka_unit_test(the_line_of_a_program_in_c_has_a_file),
        cmocka_unit_test(python_of_pytorch_alone_is_no_line),
        cmocka_unit_test(kinds_of_frames),
        cmocka_unit_test(functions_are_as_their_readers_know_them),
        cmocka_unit_test(first_frame_of_the_users),
        cmocka_unit_test(code_that_torch_compile_generated_is_not_the_users),
        cmocka_unit_test(code_below_the_named_folder_is_the_users),
        cmocka_unit_test(without_one_the_gradient_or_the_first_outside_the_allocator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
