/* test_save.c - the files of pictures: sizes, errors, hostile names, and a host without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "picture/picture.h"
#include "support/hostmem_fault.h"
#include "support/made_snapshot.h"

#define PATH "test_picture_save.out"

enum { MAX_BYTES = 1 << 20 };

static tide_event events[6];

static tide_snapshot *small(const tide_hostmem *mem) {
    static const made_tables TABLES = {.n_devices = 2};
    events[0] = made_event(TIDE_ACTION_SEGMENT_ALLOC, 1 << 20, 1 << 21, 1 << 21);
    events[1] = made_event(TIDE_ACTION_ALLOC, 1 << 20, 1 << 19, 1 << 19);
    events[2] = made_event(TIDE_ACTION_ALLOC, 3 << 19, 1 << 18, 1 << 18);
    events[3] = made_event(TIDE_ACTION_OOM, 0, 1 << 22, 1);
    events[4] = made_event(TIDE_ACTION_FREE, 3 << 19, 1 << 18, 1 << 18);
    events[5] = made_event(TIDE_ACTION_MARK, 0, 0, 0);
    events[1].category = TIDE_PARAMETER;
    events[2].category = TIDE_ACTIVATION;
    events[4].category = TIDE_ACTIVATION;
    return made_snapshot(mem, &TABLES, events, 6);
}

static tide_picture_options usual(tide_picture_format format) {
    return (tide_picture_options){
        .format = format, .width = 400, .scale = 1, .title = "a run", .subtitle = ""};
}

static char *bytes_of_file(size_t *ret_n) {
    char *bytes = calloc(1, MAX_BYTES + 1);
    FILE *file = fopen(PATH, "rb");
    assert_non_null(bytes);
    assert_non_null(file);
    *ret_n = fread(bytes, 1, MAX_BYTES, file);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

static void save(const tide_snapshot *snapshot, const tide_picture_options *options) {
    tide_error error = {""};
    assert_int_equal(tide_picture_save(snapshot, options, PATH, &error), TIDE_OK);
}

static uint32_t u32_at(const char *bytes) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; i++) {
        value = value << 8 | (uint8_t)bytes[i];
    }
    return value;
}

static void sizes_are_those_asked_for(void **state) {
    (void)state;
    tide_snapshot *snapshot = small(NULL);
    tide_picture_options options = usual(TIDE_PICTURE_PNG);
    size_t n = 0;
    options.width = 321;
    options.height = 234;
    options.scale = 2;
    save(snapshot, &options);
    char *bytes = bytes_of_file(&n);
    assert_memory_equal(bytes, "\x89PNG\r\n\x1a\n", 8);
    assert_int_equal(u32_at(bytes + 16), 642);
    assert_int_equal(u32_at(bytes + 20), 468);
    free(bytes);
    options.format = TIDE_PICTURE_SVG;
    options.scale = 1;
    save(snapshot, &options);
    bytes = bytes_of_file(&n);
    assert_non_null(strstr(bytes, "width=\"321\" height=\"234\""));
    free(bytes);
    tide_snapshot_destroy(snapshot);
}

static void the_same_gives_the_same_bytes(void **state) {
    (void)state;
    tide_snapshot *snapshot = small(NULL);
    for (int format = TIDE_PICTURE_SVG; format <= TIDE_PICTURE_PNG; format++) {
        tide_picture_options options = usual((tide_picture_format)format);
        size_t n_first = 0;
        size_t n_second = 0;
        save(snapshot, &options);
        char *first = bytes_of_file(&n_first);
        save(snapshot, &options);
        char *second = bytes_of_file(&n_second);
        assert_int_equal(n_first, n_second);
        assert_memory_equal(first, second, n_first);
        free(first);
        free(second);
    }
    tide_snapshot_destroy(snapshot);
}

static void names_are_escaped(void **state) {
    (void)state;
    tide_snapshot *snapshot = small(NULL);
    tide_picture_options options = usual(TIDE_PICTURE_SVG);
    size_t n = 0;
    options.title = "</text><script>alert('1')</script>\x1b[0m\xff&\"";
    options.width = 1200;
    save(snapshot, &options);
    char *bytes = bytes_of_file(&n);
    assert_null(strstr(bytes, "<script"));
    assert_null(strchr(bytes, 0x1b));
    assert_null(strchr(bytes, (char)0xff));
    assert_non_null(strstr(bytes, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;\xEF\xBF\xBD[0m"
                                  "\xEF\xBF\xBD&amp;&quot;: peak 768.00 KiB"));
    free(bytes);
    tide_snapshot_destroy(snapshot);
}

static void refuse(const tide_snapshot *snapshot, const tide_picture_options *options,
                   tide_status wanted, const char *words) {
    tide_error error = {""};
    assert_int_equal(tide_picture_save(snapshot, options, PATH ".refused", &error), wanted);
    if (strstr(error.message, words) == NULL) {
        fail_msg("%s", error.message);
    }
    assert_int_not_equal(access(PATH ".refused", F_OK), 0);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    const char *const hidden[] = {"parameter", "activation"};
    tide_snapshot *snapshot = small(NULL);
    tide_picture_options options = usual(TIDE_PICTURE_SVG);
    options.width = TIDE_PICTURE_MIN_WIDTH - 1;
    refuse(snapshot, &options, TIDE_INVALID, "between 240 and 8000");
    options.width = TIDE_PICTURE_MAX_PIXELS + 1;
    refuse(snapshot, &options, TIDE_INVALID, "between 240 and 8000");
    options = usual(TIDE_PICTURE_SVG);
    options.height = TIDE_PICTURE_MIN_HEIGHT - 1;
    refuse(snapshot, &options, TIDE_INVALID, "between 160 and 8000");
    options.width = TIDE_PICTURE_MIN_WIDTH;
    options.height = TIDE_PICTURE_MIN_HEIGHT;
    refuse(snapshot, &options, TIDE_INVALID, "is the least");
    options = usual(TIDE_PICTURE_PNG);
    options.scale = 9;
    refuse(snapshot, &options, TIDE_INVALID, "between 1 and 8");
    options.scale = 8;
    options.width = 1001;
    refuse(snapshot, &options, TIDE_INVALID, "8000 pixels");
    options = usual(TIDE_PICTURE_PNG);
    options.device = 2;
    refuse(snapshot, &options, TIDE_INVALID, "there is no device 2: the file has 2");
    options = usual(TIDE_PICTURE_PNG);
    options.axis = TIDE_PICTURE_X_TIME;
    refuse(snapshot, &options, TIDE_UNSUPPORTED, "without a clock");
    options = usual(TIDE_PICTURE_PNG);
    options.hidden = hidden;
    options.n_hidden = 2;
    refuse(snapshot, &options, TIDE_INVALID, "nothing would be left");
    tide_snapshot_destroy(snapshot);
}

/* Empty recordings also have a picture. */
static void empty_recordings_are_drawn(void **state) {
    (void)state;
    static const made_tables TABLES = {.n_devices = 1};
    tide_snapshot *snapshot = made_snapshot(NULL, &TABLES, NULL, 0);
    tide_picture_options options = usual(TIDE_PICTURE_SVG);
    size_t n = 0;
    save(snapshot, &options);
    char *bytes = bytes_of_file(&n);
    assert_non_null(strstr(bytes, "No history was recorded"));
    free(bytes);
    options.format = TIDE_PICTURE_PNG;
    save(snapshot, &options);
    tide_snapshot_destroy(snapshot);
}

/* Each call for memory fails once: nothing leaks, and no file remains. */
static void memory_may_be_missing(void **state) {
    (void)state;
    for (int format = TIDE_PICTURE_SVG; format <= TIDE_PICTURE_PNG; format++) {
        tide_status status = TIDE_NO_MEMORY;
        for (size_t n = 1; status != TIDE_OK; n++) {
            tide_hostmem_fault heap;
            tide_picture_options options = usual((tide_picture_format)format);
            options.by = TIDE_PICTURE_BY_LINE;
            tide_hostmem_fault_init(&heap, 0);
            tide_snapshot *snapshot = small(&heap.mem);
            size_t n_live = heap.n_live;
            heap.n_calls = 0;
            heap.fail_call = n;
            (void)remove(PATH);
            status = tide_picture_save(snapshot, &options, PATH, NULL);
            assert_true(status == TIDE_OK || status == TIDE_NO_MEMORY);
            assert_int_equal(access(PATH, F_OK) == 0, status == TIDE_OK);
            assert_int_equal(heap.n_live, n_live);
            assert_true(n < 1000);
            tide_snapshot_destroy(snapshot);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_those_asked_for),
        cmocka_unit_test(the_same_gives_the_same_bytes),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(empty_recordings_are_drawn),
        cmocka_unit_test(memory_may_be_missing),
    };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)remove(PATH);
    return n_failed;
}
