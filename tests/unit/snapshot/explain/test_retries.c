/* test_retries.c - requests that the device refused at first, by the rows of a history. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "snapshot/explain/retries.h"
#include "support/pickle_text.h"

enum { TEXT_BYTES = 16384 };

#define ROW(action, address, line)                                                                 \
    "{'action': '" action "', 'addr': " address ", 'size': 2097152, 'stream': 0, 'frames': "       \
    "[{'name': 'f', 'filename': 'a.py', 'line': " line "}]},"
#define BARE(action, address)                                                                      \
    "{'action': '" action "', 'addr': " address ", 'size': 2097152, 'stream': 0, 'frames': []},"

static int64_t count(const char *settings, const char *rows) {
    char text[TEXT_BYTES];
    tide_snapshot *snapshot = NULL;
    tide_error error;
    snprintf(text, sizeof(text),
             "{'segments': [], 'device_traces': [[%s]], 'allocator_settings': {%s}}", rows,
             settings);
    assert_int_equal(pytorch_import_text(text, NULL, &snapshot, &error), TIDE_OK);
    int64_t n = tide_retries_count(snapshot, 0);
    tide_snapshot_destroy(snapshot);
    return n;
}

static void frees_within_one_request_are_a_retry(void **state) {
    (void)state;
    assert_int_equal(count("", ROW("segment_alloc", "0", "1") ROW("segment_alloc", "2097152", "1")
                                   ROW("segment_free", "0", "7") ROW("segment_free", "2097152", "7")
                                       ROW("segment_alloc", "4194304", "7")
                                           ROW("alloc", "4194304", "7")),
                     1);
    assert_int_equal(count("", ROW("segment_unmap", "0", "7") ROW("segment_map", "0", "7") ROW(
                                   "segment_unmap", "0", "7") ROW("segment_map", "2097152", "7")),
                     2);
}

static void an_emptied_cache_is_none(void **state) {
    (void)state;
    /* torch.cuda.empty_cache(), and a request later or elsewhere. */
    assert_int_equal(count("", ROW("segment_free", "0", "3") ROW("segment_alloc", "4194304", "7")),
                     0);
    assert_int_equal(count("", ROW("segment_free", "0", "3") ROW("alloc", "4194304", "3")
                                   ROW("segment_alloc", "6291456", "3")),
                     0);
    /* torch.backends.cudnn.benchmark, within one call: there was room. */
    assert_int_equal(count("", ROW("segment_alloc", "0", "7") ROW("segment_free", "0", "7")
                                   ROW("segment_alloc", "4194304", "7")
                                       ROW("segment_alloc", "6291456", "7")),
                     0);
    /* Unknown without call stacks, or if garbage is collected. */
    assert_int_equal(count("", BARE("segment_free", "0") BARE("segment_alloc", "4194304")), 0);
    assert_int_equal(count("'garbage_collection_threshold': 0.8",
                           ROW("segment_free", "0", "7") ROW("segment_alloc", "4194304", "7")),
                     0);
    assert_int_equal(count("'garbage_collection_threshold': 0.0",
                           ROW("segment_free", "0", "7") ROW("segment_alloc", "4194304", "7")),
                     1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frees_within_one_request_are_a_retry),
        cmocka_unit_test(an_emptied_cache_is_none),
    };
    return cmocka_run_group_tests_name("snapshot.retries", tests, NULL, NULL);
}
