/* test_log_text.c - the line of the program that a log names, and printed statistics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "answer_text.h"

#define ALL(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_OTHERS ((const char *const[]){NULL})
#define MESSAGE                                                                                    \
    "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 8.00 GiB total capacity; 7.50 GiB "    \
    "already allocated; 0 bytes free; 7.60 GiB reserved in total by PyTorch)\n"

static void line_of_python(void **state) {
    (void)state;
    answer_expect("Traceback (most recent call last):\n"
                  "  File \"/home/u/train.py\", line 88, in <module>\n"
                  "    main()\n"
                  "  File \"/home/u/train.py\", line 71, in main\n"
                  "    y = model(x)\n"
                  "        ^^^^^^^^\n"
                  "  File \"/home/u/env/lib/python3.11/site-packages/torch/nn/modules/module.py\", "
                  "line 1501, in _call_impl\n"
                  "    return forward_call(*args, **kwargs)\n"
                  "RuntimeError: " MESSAGE,
                  ALL("Out of memory at main (train.py:71): 1.00 GiB",
                      "The line is `y = model(x)`.",
                      "`tidemark run python train.py` with its arguments"),
                  ALL("forward_call"));
}

static void line_of_a_backward_pass(void **state) {
    (void)state;
    answer_expect(
        "Traceback (most recent call last):\n"
        "  File \"train.py\", line 7, in <module>\n"
        "    loss.backward()\n"
        "  File \"/env/lib/python3.11/site-packages/torch/_tensor.py\", line 525, in backward\n"
        "    torch.autograd.backward(\n"
        "RuntimeError: " MESSAGE,
        ALL("Out of memory in the backward pass that train.py:7 starts: 1.00 GiB"), NO_OTHERS);
}

/* The exception that is raised while another is handled comes later, and is not the cause. */
static void first_of_two_exceptions(void **state) {
    (void)state;
    answer_expect(
        "Traceback (most recent call last):\n"
        "  File \"a.py\", line 1, in f\n    x = g()\n" MESSAGE
        "\nDuring handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n"
        "  File \"b.py\", line 2, in h\n    y = g()\n"
        "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; "
        "7.50 GiB already allocated; 0 bytes free; 7.60 GiB reserved in total by PyTorch)\n",
        ALL("at f (a.py:1)", "Other such messages follow"), ALL("b.py"));
    answer_expect(MESSAGE "again: " MESSAGE, ALL("Out of memory"), ALL("Other such messages"));
}

/* Ranks print in turn. */
static void lines_of_ranks(void **state) {
    (void)state;
    answer_expect("[rank0]: Traceback (most recent call last):\n"
                  "[rank1]: Traceback (most recent call last):\n"
                  "[rank0]:   File \"zero.py\", line 3, in f\n"
                  "[rank1]:   File \"one.py\", line 4, in g\n"
                  "[rank0]:     x = 0\n"
                  "[rank1]:     x = 1\n"
                  "[rank1]: torch.OutOfMemoryError: " MESSAGE,
                  ALL("at g (one.py:4)", "`x = 1`"), ALL("zero.py"));
}

static void lines_of_notebooks(void **state) {
    (void)state;
    answer_expect("OutOfMemoryError             Traceback (most recent call last)\n"
                  "Cell In[7], line 3\n"
                  "      1 for epoch in range(3):\n"
                  "----> 3     out = model(x)\n"
                  "      4     loss = out.sum()\n\n"
                  "File ~/env/lib/python3.10/site-packages/torch/nn/modules/module.py:1501, in "
                  "Module._call_impl(self, *args, **kwargs)\n"
                  "   1500     return forward_call(*args, **kwargs)\n"
                  "-> 1501 x\n\n"
                  "File ~/proj/net.py:34, in Net.forward(self, x)\n"
                  "     32 def forward(self, x):\n"
                  "---> 34     return self.b(h)\n\n"
                  "OutOfMemoryError: " MESSAGE,
                  ALL("at Net.forward (net.py:34)", "`return self.b(h)`", "_dump_snapshot"),
                  ALL("tidemark run"));
    answer_expect("RuntimeError                  Traceback (most recent call last)\n"
                  "<ipython-input-12-3a1> in <module>\n"
                  "      4 for x in data:\n"
                  "----> 5     train(x)\n\n"
                  "RuntimeError: " MESSAGE,
                  ALL("at <ipython-input-12-3a1>:5", "`train(x)`"), NO_OTHERS);
}

static void line_on_windows(void **state) {
    (void)state;
    answer_expect(
        "  File \"C:\\work\\run.py\", line 12, in go\n"
        "    x = model(x)\n"
        "  File \"C:\\env\\lib\\site-packages\\torch\\nn\\modules\\linear.py\", line 1, in f\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has "
        "a total capacity of 8.00 GiB of which 512.00 MiB is free. Of the allocated memory "
        "4.00 GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but "
        "unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
        ALL("at go (run.py:12)", "_dump_snapshot"), ALL("help:", "tidemark run"));
}

#define SUMMARY                                                                                    \
    "|===========================================================================|\n"              \
    "|                  PyTorch CUDA memory summary, device ID 1                 |\n"              \
    "|---------------------------------------------------------------------------|\n"              \
    "|            CUDA OOMs: 2            |        cudaMalloc retries: 1         |\n"              \
    "|===========================================================================|\n"              \
    "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"              \
    "|---------------------------------------------------------------------------|\n"              \
    "| Allocated memory      |    1062 MB |    4877 MB |   89299 MB |   88237 MB |\n"              \
    "|       from large pool |    1048 MB |    4865 MB |   89263 MB |   88215 MB |\n"              \
    "| GPU reserved memory   |   12420 MB |   12420 MB |   16924 MB |    4504 MB |\n"              \
    "| Non-releasable memory |   11357 MB |   11365 MB |   90000 MB |   80000 MB |\n"

static void memory_summary(void **state) {
    (void)state;
    answer_expect(
        "step 3\n" SUMMARY,
        ALL("oom: 2 requests found no memory.", "retries: At the card's limit, 1 retry",
            "The highest allocated memory was 4.76 GiB.",
            "The highest reserved memory was 12.13 GiB, perhaps at another time.",
            "When the figures were printed, 1.04 GiB was allocated of 12.13 GiB reserved.",
            "Of the 11.09 GiB that was reserved and not allocated, 11.09 GiB was in segments",
            "Not known from these figures", "device=1"),
        NO_OTHERS);
    answer_expect(SUMMARY MESSAGE, ALL("1.00 GiB asked for"), ALL("2 requests"));
}

static void memory_stats(void **state) {
    (void)state;
    static const char *const FORMS[] = {
        ("OrderedDict([('allocated_bytes.all.current', 1024), ('allocated_bytes.all.peak', 2048), "
         "('reserved_bytes.all.current', 4096), ('reserved_bytes.all.peak', 8192), "
         "('inactive_split_bytes.all.current', 512), ('num_alloc_retries', 0), ('num_ooms', 0)])"),
        ("{'allocated_bytes.all.current': 1024,\n 'allocated_bytes.all.peak': 2048,\n "
         "'reserved_bytes.all.current': 4096,\n 'reserved_bytes.all.peak': 8192,\n "
         "'inactive_split_bytes.all.current': 512,\n 'num_alloc_retries': 0,\n 'num_ooms': 0}"),
        ("{\"allocated_bytes.all.current\": 1024, \"allocated_bytes.all.peak\": 2048, "
         "\"reserved_bytes.all.current\": 4096, \"reserved_bytes.all.peak\": 8192, "
         "\"inactive_split_bytes.all.current\": 512, \"num_alloc_retries\": 0, \"num_ooms\": 0}"),
    };
    for (size_t i = 0; i < sizeof(FORMS) / sizeof(FORMS[0]); i++) {
        answer_expect(FORMS[i],
                      ALL("No request failed before the figures were printed.",
                          "The highest allocated memory was 2.00 KiB.",
                          "1.00 KiB was allocated of 4.00 KiB reserved",
                          "Of the 3.00 KiB that was reserved and not allocated, 512 B was",
                          "ooms=0"),
                      ALL("At the card's limit"));
    }
}

/* Lines that are longer than the reader's room, and one at its end. */
static void long_lines(void **state) {
    (void)state;
    static char text[200 * 1024];
    char found[ANSWER_BYTES];
    memset(text, 'x', sizeof(text));
    (void)snprintf(text + sizeof(text) - 300, 300, "\n%s", MESSAGE);
    answer_text(text, strlen(text), found);
    assert_non_null(strstr(found, "1.00 GiB asked for"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_of_python),
        cmocka_unit_test(line_of_a_backward_pass),
        cmocka_unit_test(first_of_two_exceptions),
        cmocka_unit_test(lines_of_ranks),
        cmocka_unit_test(lines_of_notebooks),
        cmocka_unit_test(line_on_windows),
        cmocka_unit_test(memory_summary),
        cmocka_unit_test(memory_stats),
        cmocka_unit_test(long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
