/* test_pytorch_hostile.c - files that only pretend to be PyTorch's. Each gets an error that names
 * the byte and the place; none crashes the reader or takes more memory than its size justifies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/pytorch/import.h"
#include "snapshot/analysis/summary.h"
#include "support/hostmem_fault.h"
#include "support/pickle_text.h"
#include "support/snapshot_files.h"

enum { TEXT_BYTES = 16384 };

static void assert_refused(const char *text, tide_status expected, const char *part) {
    tide_snapshot *snapshot = NULL;
    tide_error error;
    tide_status status = pytorch_import_text(text, NULL, &snapshot, &error);
    if (status != expected || strstr(error.message, part) == NULL) {
        fail_msg("status %d (%s), expected %d with '%s'", (int)status, error.message, (int)expected,
                 part);
    }
}

static const char GOOD[] =
    "{'segments': [{'device': 0, 'address': 512, 'total_size': 2048, 'allocated_size': 512, "
    "'stream': 0, 'segment_type': 'small', 'segment_pool_id': (0, 0), 'is_expandable': False, "
    "'frames': [], 'blocks': [{'address': 512, 'size': 512, 'requested_size': 100, "
    "'state': 'active_allocated', 'frames': []}, {'address': 1024, 'size': 1536, "
    "'requested_size': 0, 'state': 'inactive', 'frames': []}]}], "
    "'device_traces': [[{'action': 'alloc', 'addr': 512, 'size': 100, 'stream': 0, 'time_us': 9, "
    "'frames': [{'name': 'f', 'filename': 'x.py', 'line': 3}], 'compile_context': 'N/A', "
    "'user_metadata': '', 'category': 'unknown'}, {'action': 'oom', 'device_free': 4, 'size': 8, "
    "'stream': 0, 'time_us': 10}]], "
    "'allocator_settings': {'max_split_size': -1, 'roundup_power2_divisions': {'1': 0}}, "
    "'external_annotations': [{'stage': 'START', 'name': 'n', 'device': 0, 'time_us': 9}]}";

/* GOOD with the first `from` after `after` replaced by `to`. */
static const char *changed(const char *after, const char *from, const char *to) {
    static char text[TEXT_BYTES];
    const char *at = strstr(GOOD, after);
    assert_non_null(at);
    at = strstr(at, from);
    assert_non_null(at);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - GOOD), GOOD, to, at + strlen(from));
    return text;
}

static void wrong_kinds_are_named_by_place(void **state) {
    (void)state;
    static const struct {
        const char *after, *from, *to; /* of changed() */
        const char *part;              /* of the message */
    } CASES[] = {
        {"'segments'", "'segments': [", "'segments': {}, 'rest': [", "segments: a list was"},
        {"'device'", "0", "'x'", "segments[0].device: an integer was expected, not a text"},
        {"'device'", "0", "256", "segments[0].device: 256 is not in the range"},
        {"'device'", "0", "-1", "segments[0].device: -1 is not"},
        {"'device'", "'device': 0, ", "", "segments[0].device: it is missing"},
        {"'address'", "512", "None", "segments[0].address: an integer"},
        {"'address'", "512", "9223372036854775807", "segments[0].address: 92233"},
        {"'total_size'", "2048", "2.5", "segments[0].total_size: an integer"},
        {"'total_size'", "2048", "1024", "segments[0].blocks[1]: the block ends after"},
        {"'blocks'", "[", "0, 'rest': [", "segments[0].blocks: a list was expected, not an int"},
        {"'blocks'", "{'address': 512", "7, {'address': 512", "segments[0].blocks[0]: a dict was"},
        {"'blocks'", "512", "1", "segments[0].blocks[0].address: 0x1 is not where"},
        {"'blocks': ", "'size': 512", "'size': 'x'", "segments[0].blocks[0].size: an integer"},
        {"'blocks'", "active_allocated", "busy", "segments[0].blocks[0].state: inactive, active_"},
        {"'device_traces'", "[[", "[7, [", "device_traces[0]: a list was expected, not an"},
        {"'device_traces'", "{'action'", "[], {'action'", "device_traces[0][0]: a dict was"},
        {"'action'", "'alloc'", "1", "device_traces[0][0].action: a text was"},
        {"'addr'", "512", "[]", "device_traces[0][0].addr: an integer was expected, not a list"},
        {"'addr'", "512", "-512", "device_traces[0][0].addr: -512 is not"},
        {"'addr'", "'size': 100", "'size': True", "device_traces[0][0].size: an integer"},
        {"'addr'", "'size': 100", "'size': 9223372036854775807", "device_traces[0][0].size: 922"},
        {"'addr'", "'time_us': 9", "'time_us': 'now'", "device_traces[0][0].time_us: an integer"},
    };
    tide_snapshot *snapshot = NULL;
    tide_error error;
    assert_int_equal(pytorch_import_text(GOOD, NULL, &snapshot, &error), TIDE_OK);
    tide_snapshot_destroy(snapshot);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const char *text = changed(CASES[i].after, CASES[i].from, CASES[i].to);
        assert_refused(text, TIDE_FORMAT, CASES[i].part);
        assert_refused(text, TIDE_FORMAT, "byte ");
    }
}

/* Invalid values that nothing depends on: the file is read, the values become unknown, and the
 * first one is named. */
static void odd_values_are_counted(void **state) {
    (void)state;
    static const struct {
        const char *after, *from, *to; /* of changed() */
        const char *place;             /* "": nothing to report */
    } CASES[] = {
        {"'time_us'", "'line': 3", "'line': 4294967296", ""},
        {"'time_us'", "'line': 3", "'line': -1", ""},
        {"'time_us'", "'line': 3", "'line': '3'", "device_traces[0][0].frames[0].line"},
        {"'stream'", "0", "'s'", "segments[0].stream"},
        {"'addr'", "'stream': 0", "'stream': -5", ""},
        {"'segment_pool_id'", "(0, 0)", "(0,)", "segments[0].segment_pool_id"},
        {"'segment_pool_id'", "(0, 0)", "('a', 0)", "segments[0].segment_pool_id"},
        {"'is_expandable'", "False", "0", "segments[0].is_expandable"},
        {"'blocks'", "'requested_size': 100", "'requested_size': 513",
         "segments[0].blocks[0].requested_size"},
        {"'blocks'", "'requested_size': 100", "'history': 5", "segments[0].blocks[0].history"},
        {"'blocks'", "'frames': []", "'frames': 5", "segments[0].blocks[0].frames"},
        {"'time_us'", "'frames': [", "'frames': {}, 'rest': [", "device_traces[0][0].frames"},
        {"'time_us'", "[{'name'", "[[], {'name'", "device_traces[0][0].frames[0]"},
        {"'time_us'", "[{'name'", "['text', {'name'", "device_traces[0][0].frames[0]"},
        {"'time_us'", "'f'", "0", "device_traces[0][0].frames[0].name"},
        {"'time_us'", "'x.py'", "0", "device_traces[0][0].frames[0].filename"},
        {"'time_us'", "'category': 'unknown'", "'category': 0", "device_traces[0][0].category"},
        {"'time_us'", "'user_metadata': ''", "'user_metadata': {}", ""},
        {"'oom'", "4", "'4'", "device_traces[0][1].device_free"},
        {"'allocator_settings'", "{", "[], 'rest': {", "allocator_settings"},
        {"'allocator_settings'", "-1", "None", "allocator_settings.max_split_size"},
        {"'allocator_settings'", "'max_split_size': -1", "'a\x1b[2J\xc3\xa9': None",
         "allocator_settings.a?[2J??"}, /* no escape sequence reaches a terminal */
        {"'allocator_settings'", "{'1': 0}", "{'1': 'x'}",
         "allocator_settings.roundup_power2_divisions.1"},
        {"'allocator_settings'", "{'1': 0}", "[]", "allocator_settings.roundup_power2_divisions"},
        {"'external_annotations'", "[{", "{}, 'rest': [{", "external_annotations"},
        {"'external_annotations'", "START", "BEGIN", "external_annotations[0].stage"},
        {"'external_annotations'", "'n'", "1", "external_annotations[0].name"},
        {"'external_annotations'", "'device': 0", "'device': 'x'",
         "external_annotations[0].device"},
        {"'external_annotations'", ", 'time_us': 9", "", "external_annotations[0].time_us"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_snapshot *snapshot = NULL;
        tide_error error;
        const char *text = changed(CASES[i].after, CASES[i].from, CASES[i].to);
        if (pytorch_import_text(text, NULL, &snapshot, &error) != TIDE_OK) {
            fail_msg("%s -> %s: %s", CASES[i].from, CASES[i].to, error.message);
        }
        assert_string_equal(snapshot->first_odd, CASES[i].place);
        assert_int_equal(snapshot->n_odd, CASES[i].place[0] != '\0');
        assert_int_equal(snapshot->n_events, 2);
        tide_snapshot_destroy(snapshot);
    }
}

/* PyTorch writes 2^64 - 1, a LONG1 of nine bytes, for an unknown line. */
static void a_line_that_nobody_knows_is_unknown(void **state) {
    (void)state;
    static const char DATA[] = "\x80\x04}(\x8c\x08segments]\x8c\x0d"
                               "device_traces]]}(\x8c\x06"
                               "action\x8c\x08snapshot\x8c\x06"
                               "frames]}(\x8c\x04name\x8c\x01g\x8c\x04line\x8a\x09"
                               "\xff\xff\xff\xff\xff\xff\xff\xff\x00uauaau.";
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    assert_int_equal(tide_snapshot_create(NULL, &snapshot), TIDE_OK);
    if (pytorch_import_bytes(DATA, sizeof(DATA) - 1, snapshot, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(snapshot->n_frames, 1);
    assert_int_equal(snapshot->frames[0].line, 0);
    assert_int_equal(snapshot->n_odd, 0);
    tide_snapshot_destroy(snapshot);
}

/* Bytes of a segment that no block covers become a free block and count as a contradiction. */
static void gaps_are_filled(void **state) {
    (void)state;
    static const struct {
        const char *after, *from, *to; /* of changed() */
        size_t n_blocks;               /* of the segment */
    } CASES[] = {{"'total_size'", "2048", "4096", 3},
                 {"'address': 1024", "1024, 'size': 1536", "1536, 'size': 1024", 3},
                 {"'address': 1024", "1024, 'size': 1536", "1536, 'size': 512", 4},
                 {"'blocks'", "[", "[], 'rest': [", 1}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_snapshot *snapshot = NULL;
        tide_error error;
        const char *text = changed(CASES[i].after, CASES[i].from, CASES[i].to);
        if (pytorch_import_text(text, NULL, &snapshot, &error) != TIDE_OK) {
            fail_msg("%s -> %s: %s", CASES[i].from, CASES[i].to, error.message);
        }
        assert_int_equal(snapshot->end_segments[0].n_blocks, CASES[i].n_blocks);
        assert_true(snapshot->origin.n_contradictions > 0);
        tide_snapshot_destroy(snapshot);
    }
}

static void foreign_pickles_are_named(void **state) {
    (void)state;
    assert_refused("{}", TIDE_FORMAT, "no snapshot by PyTorch");
    assert_refused("{'a': 1}", TIDE_FORMAT, "no snapshot by PyTorch");
    assert_refused("5", TIDE_FORMAT, "no snapshot by PyTorch");
    assert_refused("[5]", TIDE_FORMAT, "segments[0]: a dict was expected");
}

static void streams_and_devices_are_limited(void **state) {
    (void)state;
    static char text[256 * 1024];
    size_t n = (size_t)snprintf(text, sizeof(text), "{'segments': [], 'device_traces': [[");
    for (int i = 0; i < 257; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "{'action': 'snapshot', 'stream': %d},",
                              i);
    }
    snprintf(text + n, sizeof(text) - n, "]]}");
    assert_refused(text, TIDE_LIMIT, "device_traces[0][256].stream: more than the limit of 256");
    n = (size_t)snprintf(text, sizeof(text), "{'segments': [], 'device_traces': [");
    for (int i = 0; i < 257; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "[],");
    }
    snprintf(text + n, sizeof(text) - n, "]}");
    assert_refused(text, TIDE_LIMIT, "device_traces: 257 devices");
}

/* A list repeats one event 1,000 times, and the traces repeat that list 256 times: 256,000 rows
 * from 4 KB. */
static void repeated_parts_do_not_multiply(void **state) {
    (void)state;
    static char data[64 * 1024];
    size_t n = 0;
#define PUT(bytes)                                                                                 \
    do {                                                                                           \
        memcpy(data + n, bytes, sizeof(bytes) - 1);                                                \
        n += sizeof(bytes) - 1;                                                                    \
    } while (0)
    PUT("\x80\x04}(\x8c\x08segments]\x8c\x0d"
        "device_traces](");
    PUT("]\x94(}\x94(\x8c\x06"
        "action\x8c\x08snapshotu");
    for (int i = 0; i < 999; i++) {
        PUT("h\x01");
    }
    PUT("e");
    for (int i = 0; i < 255; i++) {
        PUT("h\x00");
    }
    PUT("eu.");
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    assert_int_equal(tide_snapshot_create(NULL, &snapshot), TIDE_OK);
    assert_int_equal(pytorch_import_bytes(data, n, snapshot, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "device_traces[1]: a list was expected, not a part that "
                                          "stands elsewhere, too"));
    tide_snapshot_destroy(snapshot);
}

/* Every byte of a small file is changed to a few others: the result is an error or a document,
 * never a crash. */
static void changed_bytes_are_survived(void **state) {
    (void)state;
    static const unsigned char OTHERS[] = {0, 1, 0x28, 0x4e, 0x5d, 0x75, 0x7d, 0x8a, 0xff};
    size_t n_bytes = 0;
    char *data = pickle_from_text(GOOD, &n_bytes);
    char *copy = malloc(n_bytes);
    assert_non_null(copy);
    for (size_t i = 0; i < n_bytes; i++) {
        for (size_t k = 0; k < sizeof(OTHERS); k++) {
            tide_snapshot *snapshot = NULL;
            tide_error error = {""};
            memcpy(copy, data, n_bytes);
            copy[i] = (char)OTHERS[k];
            assert_int_equal(tide_snapshot_create(NULL, &snapshot), TIDE_OK);
            tide_status status = pytorch_import_bytes(copy, n_bytes, snapshot, &error);
            tide_summary *summary = NULL;
            if (status == TIDE_OK && tide_summary_create(snapshot, &summary, &error) == TIDE_OK) {
                tide_summary_destroy(summary);
            }
            assert_true(status == TIDE_OK || error.message[0] != '\0');
            tide_snapshot_destroy(snapshot);
        }
    }
    free(copy);
    free(data);
}

static void every_truncated_file_is_refused(void **state) {
    (void)state;
    char path[SNAPSHOT_PATH_BYTES];
    size_t n_bytes = 0;
    char *data = pickle_from_text(GOOD, &n_bytes);
    snapshot_path(path, "cut.pickle");
    for (size_t n = 1; n <= n_bytes; n++) {
        tide_snapshot *snapshot = NULL;
        tide_error error = {""};
        snapshot_write_file(path, data, n);
        tide_status status = tide_snapshot_load(path, NULL, &snapshot, &error);
        assert_int_equal(status, n < n_bytes ? TIDE_FORMAT : TIDE_OK);
        assert_true(status == TIDE_OK || strstr(error.message, "byte ") != NULL);
        tide_snapshot_destroy(snapshot);
    }
    snapshot_remove(path);
    free(data);
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    for (size_t call = 1;; call++) {
        tide_hostmem_fault heap;
        tide_snapshot *snapshot = NULL;
        tide_error error;
        tide_hostmem_fault_init(&heap, call);
        tide_status status = pytorch_import_text(GOOD, &heap.mem, &snapshot, &error);
        tide_snapshot_destroy(status == TIDE_OK ? snapshot : NULL);
        assert_int_equal(heap.n_live, 0);
        if (status == TIDE_OK) {
            assert_true(call > 10);
            return;
        }
        assert_int_equal(status, TIDE_NO_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_kinds_are_named_by_place),
        cmocka_unit_test(odd_values_are_counted),
        cmocka_unit_test(a_line_that_nobody_knows_is_unknown),
        cmocka_unit_test(gaps_are_filled),
        cmocka_unit_test(foreign_pickles_are_named),
        cmocka_unit_test(streams_and_devices_are_limited),
        cmocka_unit_test(repeated_parts_do_not_multiply),
        cmocka_unit_test(changed_bytes_are_survived),
        cmocka_unit_test(every_truncated_file_is_refused),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
