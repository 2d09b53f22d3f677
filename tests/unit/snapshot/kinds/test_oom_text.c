/* test_oom_text.c - the messages of requests that found no memory, in the words of many versions,
 * and what their figures support. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "answer_text.h"

#define ALL(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_OTHERS ((const char *const[]){NULL})

#define SPLIT_ADVICE                                                                               \
    " If reserved memory is >> allocated memory try setting max_split_size_mb to avoid "           \
    "fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF"
#define NEW_ADVICE                                                                                 \
    " If reserved but unallocated memory is large try setting "                                    \
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "               \
    "documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html)"

/* 1.0 printed what is cached beside what is allocated; later versions print the sum. */
static void old_words(void **state) {
    (void)state;
    answer_expect("RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 8.00 GiB "
                  "total capacity; 4.00 GiB already allocated; 512.00 MiB free; 3.00 GiB cached)",
                  ALL("1.00 GiB asked for, 512.00 MiB free beside the 7.00 GiB that PyTorch had",
                      "reserved of 8.00 GiB; 4.00 GiB was allocated.", "cause: Fragmentation",
                      "in one piece, with 2.50 GiB left", "reserved_bytes=7516192768"),
                  ALL("help:", "missing"));
    answer_expect("CUDA out of memory. Tried to allocate 1.00 GiB (GPU 3; 8.00 GiB total capacity; "
                  "4.00 GiB already allocated; 512.00 MiB free; 7.00 GiB reserved in total by "
                  "PyTorch)" SPLIT_ADVICE,
                  ALL("on device 3", "with 2.50 GiB left",
                      "support the setting that the message names, max_split_size_mb"),
                  ALL("expandable_segments"));
}

static void new_words(void **state) {
    (void)state;
    answer_expect(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has "
        "a total capacity of 8.00 GiB of which 512.00 MiB is free. Including non-PyTorch "
        "memory, this process has 7.40 GiB memory in use. Of the allocated memory 4.00 "
        "GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but "
        "unallocated." NEW_ADVICE,
        ALL("of 8.00 GiB; 4.00 GiB was allocated.", "with 2.50 GiB left",
            "`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`"),
        ALL("something other"));
    /* 2.1 wrote "capacty" and named the older setting, but has the newer one. */
    answer_expect(
        "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacty of 8.00 "
        "GiB of which 512.00 MiB is free. Of the allocated memory 4.00 GiB is allocated "
        "by PyTorch, and 3.00 GiB is reserved by PyTorch but unallocated. If reserved "
        "but unallocated memory is large try setting max_split_size_mb to avoid "
        "fragmentation.",
        ALL("total_bytes=8589934592", "a setting against fragmentation"), NO_OTHERS);
}

/* A message on one line, over several, and broken by a console inside of words. */
static void broken_lines(void **state) {
    (void)state;
    static const char *const TEXTS[] = {
        ("CUDA out of memory. Tried to allocate 1.00 GiB.\nGPU 0 has a total capacity of 8.00 GiB "
         "of "
         "which 100.00 MiB is free.\nOf the allocated memory 7.00 GiB is allocated by "
         "PyTorch,\nand "
         "50.00 MiB is reserved by PyTorch but unallocated.\n-- log"),
        ("CUDA out of memory. Tried to allocate 1.00 Gi\nB. GPU 0 has a total capacity of 8.00 GiB "
         "o\n"
         "f which 100.00 MiB is free. Of the allocat\ned memory 7.00 GiB is allocated by PyTorch,\n"
         " and 50.00 MiB is reserved by PyTorch but un\nallocated."),
        ("\033[31mCUDA out of memory.\033[0m\nTried to allocate 1.00 GiB. GPU 0 has a total "
         "capacity "
         "of 8.00 GiB of which 100.00 MiB is free. Of the allocated memory 7.00 GiB is allocated "
         "by "
         "PyTorch, and 50.00 MiB is reserved by PyTorch but unallocated."),
    };
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        answer_expect(TEXTS[i],
                      ALL("1.00 GiB asked for, 100.00 MiB free beside the 7.05 GiB",
                          "Fragmentation plays no part: even in one piece, 874.00 MiB would have "
                          "been missing.",
                          "Tensors filled what PyTorch could use: 7.00 GiB of 7.15 GiB"),
                      NO_OTHERS);
    }
}

static void request_that_fits_no_card(void **state) {
    (void)state;
    answer_expect("HIP out of memory. Tried to allocate 40.00 GiB. GPU 0 has a total capacity of "
                  "24.00 GiB of which 20.00 GiB is free. Of the allocated memory 3.00 GiB is "
                  "allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but "
                  "unallocated." NEW_ADVICE,
                  ALL("larger than the whole card", "torch.cuda.memory._dump_snapshot"),
                  ALL("help:", "oom_cause", "tidemark run"));
    answer_expect("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of "
                  "24.00 GiB of which 10.00 GiB is free. Of the allocated memory 13.00 GiB is "
                  "allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but "
                  "unallocated." NEW_ADVICE,
                  ALL("This one request is 83 % of the card",
                      "expandable_segments:True, would not help by these figures"),
                  ALL("filled what"));
}

static void other_owner(void **state) {
    (void)state;
    /* In a container, the process has another number outside: it is the one that has what PyTorch
     * reserved, and a context. */
    answer_expect("CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of "
                  "24.00 GiB of which 500.00 MiB is free. Process 11 has 10.00 GiB memory in use. "
                  "Process 12 has 13.50 GiB memory in use. Of the allocated memory 12.90 GiB is "
                  "allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.",
                  ALL("10.01 GiB of the card's 24.00 GiB was held by something other than this "
                      "process (process 11 had 10.00 GiB); without it, the request would have "
                      "fitted."),
                  ALL("process 12", "filled what"));
    answer_expect(
        "CUDA out of memory. Tried to allocate 1.69 GiB (GPU 0; 14.56 GiB total capacity; "
        "650.00 MiB already allocated; 1.31 GiB free; 700.00 MiB reserved in total by "
        "PyTorch)",
        ALL("another process, or libraries of this one"), ALL("would have served"));
    /* A context of CUDA and its libraries is no other owner. */
    answer_expect(
        "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 24.00 GiB total capacity; "
        "22.00 GiB already allocated; 300.00 MiB free; 22.50 GiB reserved in total by "
        "PyTorch)",
        ALL("filled what PyTorch could use"), ALL("something other"));
}

static void limit_of_the_process(void **state) {
    (void)state;
    answer_expect("CUDA out of memory. Tried to allocate 200.00 MiB. GPU 0 has a total capacity of "
                  "80.00 GiB of which 60.00 GiB is free. 8.00 GiB allowed; Of the allocated memory "
                  "7.50 GiB is allocated by PyTorch, with 1.00 GiB allocated in private pools "
                  "(e.g., CUDA Graphs), and 400.00 MiB is reserved by PyTorch but "
                  "unallocated." NEW_ADVICE,
                  ALL("The limit of this process, 8.00 GiB", "refused the request"),
                  ALL("help:", "had more free"));
}

static void private_pools(void **state) {
    (void)state;
    answer_expect("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
                  "80.00 GiB of which 1.00 GiB is free. Of the allocated memory 70.00 GiB is "
                  "allocated by PyTorch, with 30.00 GiB allocated in private pools (e.g., CUDA "
                  "Graphs), and 400.00 MiB is reserved by PyTorch but unallocated.",
                  ALL("reserved: 30.00 GiB counted as allocated is memory of CUDA graphs'"),
                  NO_OTHERS);
}

static void figures_that_do_not_explain(void **state) {
    (void)state;
    answer_expect(
        "CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity; "
        "8.57 MiB already allocated; 9.28 GiB free; 13.00 MiB reserved in total by "
        "PyTorch)" SPLIT_ADVICE,
        ALL("these figures do not explain the failure"), ALL("help:", "filled what"));
    answer_expect("CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; "
                  "17.00 GiB already allocated; 0 bytes free; 19.00 GiB reserved in total by "
                  "PyTorch)" SPLIT_ADVICE,
                  ALL("the driver used host memory"), ALL("help:", "oom_cause"));
}

/* Figures are printed with two decimals: a margin below that is none. */
static void rounding(void **state) {
    (void)state;
    answer_expect("CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; "
                  "5.00 GiB already allocated; 1.00 GiB free; 6.00 GiB reserved in total by "
                  "PyTorch)",
                  ALL("nothing would have been left, within the 20.48 MiB to which"), NO_OTHERS);
    answer_expect("CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has a total capacity of "
                  "24.00 GiB of which 12.00 MiB is free. Of the allocated memory 22.90 GiB is "
                  "allocated by PyTorch, and 190.00 MiB is reserved by PyTorch but "
                  "unallocated." NEW_ADVICE,
                  ALL("only 180.00 MiB would have been left", "would not help"), NO_OTHERS);
}

static void other_frameworks(void **state) {
    (void)state;
    answer_expect(
        "RuntimeError: MPS backend out of memory (MPS allocated: 9.05 GB, other "
        "allocations: 7.45 MB, max allowed: 9.07 GB). Tried to allocate 25.00 MB on "
        "private pool.",
        ALL("25.00 MiB asked for; PyTorch had allocated 9.05 GiB", "limit of the process"),
        ALL("tidemark run"));
    answer_expect("[enforce fail at alloc_cpu.cpp:114] DefaultCPUAllocator: not enough memory: you "
                  "tried to allocate 4294967296 bytes.",
                  ALL("Out of host memory: 4.00 GiB asked for", "not of a GPU"), NO_OTHERS);
    answer_expect(
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
        "4770354232 bytes.\nBufferAssignment stats:\n  parameter allocation:  372.76MiB\n "
        " constant allocation: 48.5KiB\n  maybe_live_out allocation: 9.64GiB\n  "
        "preallocated temp allocation: 4.44GiB\n  total allocation: 14.44GiB\n  total "
        "fragmentation: 680.30MiB (4.60%)\nPeak buffers:\n  Buffer 1:\n    Size: 6.00MiB\n"
        "    Operator: op_name=\"jit(f)\" source_file=\"/a/model.py\" source_line=9\n    "
        "Shape: f32[4096,128,3]\n    ======\n",
        ALL("Out of memory in XLA: 4.44 GiB asked for",
            "needs 14.44 GiB: 372.76 MiB of arguments, 9.64 GiB of results and 4.44 GiB "
            "of temporaries",
            "6.00MiB, f32[4096,128,3], made at /a/model.py:9"),
        NO_OTHERS);
    answer_expect("Execution failed: Resource exhausted: Out \nof memory while trying to allocate "
                  "1073741824 bytes.",
                  ALL("XLA: 1.00 GiB asked for"), NO_OTHERS);
    answer_expect("OOM when allocating tensor with shape[32,1024,1024] and type float on "
                  "/device:GPU:0 by allocator GPU_0_bfc",
                  ALL("TensorFlow: 128.00 MiB asked for"), NO_OTHERS);
    answer_expect("Out of memory allocating 1,073,741,824 bytes (allocated so far: 2,147,483,648 "
                  "bytes, limit set to: 3,000,000,000 bytes).",
                  ALL("CuPy: 1.00 GiB asked for; CuPy had allocated 2.00 GiB", "pool is 2.79 GiB"),
                  NO_OTHERS);
    answer_expect(
        "alloc_buffer: allocating 4096.00 MiB on device 1: cudaMalloc failed: out of memory",
        ALL("CUDA on device 1: 4.00 GiB asked for", "`tidemark run COMMAND`"), NO_OTHERS);
    answer_expect("RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be "
                  "asynchronously reported at some other API call",
                  ALL("no figures", "CUDA_LAUNCH_BLOCKING=1"), NO_OTHERS);
    answer_expect("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling "
                  "`cublasCreate(handle)`",
                  ALL("no figures"), ALL("CUDA_LAUNCH_BLOCKING"));
}

/* Messages of CUDA and of its libraries, which have no figures. */
static void messages_without_figures(void **state) {
    (void)state;
    static const char *const TEXTS[] = {
        "pycuda._driver.MemoryError: CUDA_ERROR_OUT_OF_MEMORY",
        "cudaErrorMemoryAllocation: out of memory",
        "RuntimeError: CUDA driver error: out of memory",
        "cudaMalloc failed: out of memory",
        "RuntimeError: CUDA failed with error out of memory",
        "CUDA runtime error: out of memory",
        "CUDA failure 2: out of memory ; GPU=0",
        "NCCL WARN Cuda failure 'out of memory'",
        "RuntimeError: NCCL Error 1: unhandled cuda error, Cuda failure 2 'out of memory'",
        "RuntimeError: cuda runtime error (2) : out of memory at /opt/conda/THCStorage.cu:58",
        "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    };
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        answer_expect(TEXTS[i],
                      ALL("Out of memory in CUDA.", "has no figures: a call of CUDA itself",
                          "`tidemark run COMMAND` with the program's arguments records it"),
                      ALL("asked for", "CUDA_LAUNCH_BLOCKING"));
    }
}

/* Outside of CUDA, the recorder is PyTorch's, in the module of those devices. */
static void who_records_it(void **state) {
    (void)state;
#define FULL                                                                                       \
    " out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which " \
    "1.00 GiB is free. Of the allocated memory 6.90 GiB is allocated by PyTorch, and 50.00 MiB "   \
    "is reserved by PyTorch but unallocated."
    answer_expect("CUDA" FULL, ALL("`tidemark run COMMAND`"), ALL("_record_memory_history"));
    answer_expect("HIP" FULL, ALL("torch.cuda.memory._record_memory_history"), ALL("tidemark run"));
    answer_expect("XPU" FULL,
                  ALL("torch.xpu.memory._record_memory_history",
                      "torch.xpu.memory._dump_snapshot('memory.pickle')"),
                  ALL("torch.cuda", "tidemark run"));
#undef FULL
}

static void texts_without_a_message(void **state) {
    (void)state;
    static const char *const TEXTS[] = {
        ("epoch 1\nallocating buffers\nCUDA available\n"),
        ("RESOURCE_EXHAUSTED: quota of requests exceeded\n"),
        ("Tried to allocate 3.00 GiB, and that worked\n"),
        ("DefaultCPUAllocator: ready\n"),
    };
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        answer_expect(TEXTS[i], ALL("has neither the message"), ALL("Out of memory"));
    }
    /* Words without figures, and a message with figures after them. */
    answer_expect(
        "if CUDA out of memory, use a smaller batch\nCUDA out of memory. Tried to allocate "
        "1.00 GiB (GPU 0; 8.00 GiB total capacity; 7.50 GiB already allocated; 0 bytes "
        "free; 7.60 GiB reserved in total by PyTorch)\n",
        ALL("1.00 GiB asked for"), NO_OTHERS);
}

static void numbers_out_of_range(void **state) {
    (void)state;
    static const char *const TEXTS[] = {
        ("CUDA out of memory. Tried to allocate 99999999999999999999999.00 GiB. GPU "
         "99999999999999999 "
         "has a total capacity of 999999999 TiB of which . GiB is free."),
        ("CUDA out of memory. Tried to allocate"),
        ("CUDA out of memory. Tried to allocate 1.00 XiB (GPU "),
        ("OOM when allocating tensor with shape[99999999999,99999999999,99999999] and type float"),
        ("OOM when allocating tensor with shape[-1,] and type "),
        ("RESOURCE_EXHAUSTED: trying to allocate 1 bytes Buffer 1: Size:\n===="),
    };
    char found[ANSWER_BYTES];
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        answer_text(TEXTS[i], strlen(TEXTS[i]), found);
        assert_null(strstr(found, "=-"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_words),
        cmocka_unit_test(new_words),
        cmocka_unit_test(broken_lines),
        cmocka_unit_test(request_that_fits_no_card),
        cmocka_unit_test(other_owner),
        cmocka_unit_test(limit_of_the_process),
        cmocka_unit_test(private_pools),
        cmocka_unit_test(figures_that_do_not_explain),
        cmocka_unit_test(rounding),
        cmocka_unit_test(other_frameworks),
        cmocka_unit_test(messages_without_figures),
        cmocka_unit_test(who_records_it),
        cmocka_unit_test(texts_without_a_message),
        cmocka_unit_test(numbers_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
