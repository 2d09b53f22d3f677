/* test_profiles.c - what files of torch.profiler say about memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "answer_text.h"

#define ALL(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_OTHERS ((const char *const[]){NULL})

static void trace_of_a_gpu(void **state) {
    (void)state;
    static const char TRACE[] =
        "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}], \"traceEvents\": [\n"
        "{\"name\": \"[memory]\", \"ts\": 1000, \"args\": {\"Total Reserved\": 4096, "
        "\"Total Allocated\": 1024, \"Bytes\": 1024, \"Device Id\": 1, \"Device Type\": 1}},\n"
        "{\"ph\": \"X\", \"name\": \"a } \\\" [memory] {\", \"ts\": 1200},\n"
        "{\"name\": \"[memory]\", \"ts\": 3500, \"args\": {\"Total Reserved\": 8192, "
        "\"Total Allocated\": 3072, \"Bytes\": 2048, \"Device Id\": 1, \"Device Type\": 1}},\n"
        "{\"name\": \"[memory]\", \"ts\": 4000, \"args\": {\"Total Reserved\": 8192, "
        "\"Total Allocated\": 2048, \"Bytes\": -1024, \"Device Id\": 1, \"Device Type\": 1}},\n"
        "{\"name\": \"[memory]\", \"ts\": 4100, \"args\": {\"Total Reserved\": 0, "
        "\"Total Allocated\": 99999, \"Bytes\": 9, \"Device Id\": -1, \"Device Type\": 0}}]}";
    answer_expect(
        TRACE,
        ALL("memory of GPU 1 was 3.00 KiB, of 8.00 KiB reserved, 2.500 ms after its first",
            "the largest of its 2 allocations has 2.00 KiB", "of the host was 97.66 KiB",
            "device=1", "allocated_peak_bytes=3072"),
        NO_OTHERS);
}

/* Without totals, the sum of the allocations counts; a failed request is an event of its own. */
static void old_trace(void **state) {
    (void)state;
    static const char TRACE[] =
        "[{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": 1, \"args\": {\"Device Type\": 1, "
        "\"Device Id\": 0, \"Bytes\": 512}},{\"name\": \"[memory]\", \"ts\": 2, \"args\": "
        "{\"Device Type\": 1, \"Device Id\": 0, \"Bytes\": 512}},{\"name\": \"[OutOfMemory]\", "
        "\"args\": {\"Bytes\": 2048, \"Device Id\": 0, \"Device Type\": 1}, \"ph\": \"i\"}]";
    answer_expect(TRACE,
                  ALL("The highest sum of the traced allocations of GPU 0 was 1.00 KiB",
                      "On GPU 0, 1 request found no memory; the first asked for 2.00 KiB."),
                  ALL("reserved,"));
}

static void traces_without_memory(void **state) {
    (void)state;
    answer_expect("{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"mm\"}, {\"ph\": \"M\"}]}",
                  ALL("a trace of a profiler without events about memory", "profile_memory=True"),
                  NO_OTHERS);
    answer_expect("{\"traceEvents\": [{\"name\": \"[memory]\", \"args\": {\"Bytes\": nan, \"Tot",
                  ALL("without events about memory"), NO_OTHERS);
}

#define RAW(rows) "[[-1, 1, 1000, 0], [5000000, 2, 500, 4]" rows "]"

static void raw_timelines(void **state) {
    (void)state;
    answer_expect(
        RAW(", [7500000, 3, -500, 4], [7500000, 3, 500, 5], [8000000, 2, 100, 5], [9000000, "
            "4, -100, 5]"),
        ALL("The highest memory was 1.56 KiB, 3.000 ms after the timeline begins: 1000 B of "
            "parameters, 600 B of gradients.",
            "allocated_peak_bytes=1600"),
        NO_OTHERS);
    answer_expect("[[-1, 1, 1000, 0]]", ALL("1000 B, before the timeline begins"), NO_OTHERS);
    answer_expect(RAW(", [1, 2, 3, 9]"), ALL("not a row of time, action, bytes and category"),
                  NO_OTHERS);
    answer_expect(RAW(", [1, 2, \"x\", 1]"), ALL("cannot read"), NO_OTHERS);
    answer_expect("[[-1, 1, 1000, 0], [5", ALL("cannot read"), NO_OTHERS);
}

static void timelines(void **state) {
    (void)state;
    answer_expect(
        "[[1000, 3000, 4000], [[0, 100, 0, 0, 0, 0, 0, 0, 0], [0, 100, 0, 0, 0, 300, 0, 0, "
        "50], [0, 100, 0, 0, 0, 0, 200, 0, 0]]]",
        ALL("The highest memory was 450 B, 2.000 ms after the timeline begins: 100 B of "
            "parameters, 300 B of activations, 50 B of unknown kind."),
        NO_OTHERS);
    answer_expect("[[1000], [[0, 100, 0, 0, 0, 0, 0, 0]]]", ALL("not the bytes of 8 categories"),
                  NO_OTHERS);
    answer_expect("[[1000, 2000], [[0, 1, 0, 0, 0, 0, 0, 0, 0]]]",
                  ALL("not as many sizes as times"), NO_OTHERS);
    answer_expect("[[1000]", ALL("cannot read"), NO_OTHERS);
    answer_expect("[[1000], [[0, 0, 0, 0, 0, 0, 0, 0, 0]]]", ALL("no memory of its device"),
                  NO_OTHERS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trace_of_a_gpu),
        cmocka_unit_test(old_trace),
        cmocka_unit_test(traces_without_memory),
        cmocka_unit_test(raw_timelines),
        cmocka_unit_test(timelines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
