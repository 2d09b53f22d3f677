/* test_json.c - JSON text is written correctly, and read strictly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/format/json_reader.h"
#include "snapshot/format/json_writer.h"

enum { OUT_BYTES = 1 << 20 };

typedef struct output {
    size_t n_bytes;
    size_t n_calls;
    size_t fail_call; /* the call that fails, counted from 1; 0: none */
    char text[OUT_BYTES];
} output;

static tide_status to_output(void *ctx, const char *text, size_t n_bytes) {
    output *to = ctx;
    if (++to->n_calls == to->fail_call) {
        return TIDE_IO;
    }
    assert_true(to->n_bytes + n_bytes < OUT_BYTES);
    memcpy(to->text + to->n_bytes, text, n_bytes);
    to->n_bytes += n_bytes;
    to->text[to->n_bytes] = '\0';
    return TIDE_OK;
}

static int set_up(void **state) {
    *state = calloc(1, sizeof(output) + sizeof(tide_json_writer));
    return *state == NULL;
}

static int tear_down(void **state) {
    free(*state);
    return 0;
}

static output *begin(void **state, tide_json_writer **ret_json) {
    output *to = *state;
    tide_json_writer *json = (tide_json_writer *)(void *)(to + 1);
    memset(to, 0, sizeof(*to));
    tide_json_writer_init(json, to_output, to);
    *ret_json = json;
    return to;
}

static void values_are_written(void **state) {
    tide_json_writer *json = NULL;
    output *to = begin(state, &json);
    tide_json_begin_object(json);
    tide_json_key_integer(json, "a", 0);
    tide_json_key_integer(json, "b", INT64_MAX);
    tide_json_key_integer(json, "c", INT64_MIN);
    tide_json_key_integer(json, "d", -7);
    tide_json_key_integer(json, "e", 100);
    tide_json_line(json);
    tide_json_key(json, "f");
    tide_json_begin_array(json);
    tide_json_boolean(json, true);
    tide_json_null(json);
    tide_json_begin_object(json);
    tide_json_end_object(json);
    tide_json_real(json, 0.1);
    tide_json_real(json, NAN);
    tide_json_real(json, -INFINITY);
    tide_json_real(json, 3.0);
    tide_json_end_array(json);
    tide_json_end_object(json);
    assert_int_equal(tide_json_writer_finish(json), TIDE_OK);
    assert_string_equal(to->text, "{\"a\":0,\"b\":9223372036854775807,\"c\":-9223372036854775808,"
                                  "\"d\":-7,\"e\":100,\n\"f\":[true,null,{},0.1,-1,-1,3]}");
}

static void texts_are_escaped(void **state) {
    static const struct {
        const char *text;
        const char *json;
    } CASES[] = {
        {"plain", "\"plain\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"</script>", "\"\\u003c/script>\""},
        {"\x1b[31m\n\t\x7f", "\"\\u001b[31m\\u000a\\u0009\\u007f\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x8a", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x8a\""},
        {"\xff|\xc3|\xe2\x82|\xed\xa0\x80|\xc0\x80|\xf5\x80\x80\x80",
         "\"\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
         "|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {NULL, "\"\""}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_json_writer *json = NULL;
        output *to = begin(state, &json);
        tide_json_text(json, CASES[i].text);
        assert_int_equal(tide_json_writer_finish(json), TIDE_OK);
        assert_string_equal(to->text, CASES[i].json);
    }
}

static void failed_writes_stick(void **state) {
    tide_json_writer *json = NULL;
    output *to = begin(state, &json);
    to->fail_call = 2;
    tide_json_begin_array(json);
    for (int i = 0; i < 100000; i++) {
        tide_json_integer(json, 1234567);
    }
    tide_json_end_array(json);
    assert_int_equal(tide_json_writer_finish(json), TIDE_IO);
    assert_int_equal(to->n_calls, 2);
}

/* Integers around every change of digits and sign are read back unchanged. */
static void integers_come_back(void **state) {
    tide_json_writer *json = NULL;
    output *to = begin(state, &json);
    int64_t values[1024];
    size_t n = 0;
    for (int64_t power = 1; power <= INT64_MAX / 10; power *= 10) {
        for (int64_t d = -2; d <= 2; d++) {
            values[n++] = power + d;
            values[n++] = -power + d;
        }
    }
    values[n++] = INT64_MAX;
    values[n++] = INT64_MIN;
    tide_json_begin_array(json);
    for (size_t i = 0; i < n; i++) {
        tide_json_integer(json, values[i]);
    }
    tide_json_end_array(json);
    assert_int_equal(tide_json_writer_finish(json), TIDE_OK);
    tide_json reader;
    tide_error error = {""};
    tide_json_column column = {.mem = tide_hostmem_default()};
    tide_json_init(&reader, to->text, to->n_bytes, &error);
    tide_json_get_column(&reader, INT64_MIN, INT64_MAX, NULL, &column);
    tide_json_expect_end(&reader);
    assert_string_equal(error.message, "");
    assert_int_equal(column.n_values, n);
    assert_memory_equal(column.values, values, n * sizeof(values[0]));
    free(column.values);
}

static void reals_come_back(void **state) {
    static const double VALUES[] = {0.1,    1e-300, 1.7976931348623157e308, -123.456,
                                    5e-324, 1e15,   12345.6789012345};
    for (size_t i = 0; i < sizeof(VALUES) / sizeof(VALUES[0]); i++) {
        tide_json_writer *json = NULL;
        output *to = begin(state, &json);
        tide_json_real(json, VALUES[i]);
        assert_int_equal(tide_json_writer_finish(json), TIDE_OK);
        tide_json reader;
        tide_json_init(&reader, to->text, to->n_bytes, NULL);
        assert_true(tide_json_get_real(&reader) == VALUES[i]);
        assert_int_equal(tide_json_status(&reader), TIDE_OK);
    }
}

static void texts_come_back(void **state) {
    (void)state;
    static const char JSON[] =
        "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83c\\udf0a\xc3\xa9\"";
    tide_arena arena;
    tide_json reader;
    tide_arena_init(&arena, tide_hostmem_default());
    tide_json_init(&reader, JSON, sizeof(JSON) - 1, NULL);
    assert_string_equal(tide_json_get_text(&reader, &arena),
                        "a\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x8a\xc3\xa9");
    assert_int_equal(tide_json_status(&reader), TIDE_OK);
    tide_arena_fini(&arena);
}

/* Texts that tide_json_skip must refuse, and the offset of the error. */
static void bad_json_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *json;
        const char *message;
    } CASES[] = {{"", "byte 0: a value"},
                 {"[1,]", "byte 3"},
                 {"[1 2]", "byte 3"},
                 {"{\"a\":1,}", "byte 7"},
                 {"{\"a\" 1}", "byte 5, a: ':'"},
                 {"{a:1}", "byte 1: a key"},
                 {"[01]", "byte 1"},
                 {"[1.]", "byte 1"},
                 {"[.5]", "byte 1"},
                 {"[1e]", "byte 1"},
                 {"[+1]", "byte 1"},
                 {"[nul]", "byte 1"},
                 {"[truth]", "byte 1"},
                 {"[\"a]", "a text without its end"},
                 {"[\"a\nb\"]", "byte 3, [0]: a text holds the control character 0x0a"},
                 {"[1", "byte 2"},
                 {"{\"a\":{\"b\":[1,x]}}", "byte 13, a.b[1]: a value was expected, not 'x'"}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_json reader;
        tide_error error = {""};
        tide_json_init(&reader, CASES[i].json, strlen(CASES[i].json), &error);
        tide_json_skip(&reader);
        tide_json_expect_end(&reader);
        assert_int_equal(tide_json_status(&reader), TIDE_FORMAT);
        if (strstr(error.message, CASES[i].message) == NULL) {
            fail_msg("%s: \"%s\" lacks \"%s\"", CASES[i].json, error.message, CASES[i].message);
        }
    }
}

static void bad_texts_are_refused(void **state) {
    (void)state;
    static const char *const CASES[] = {
        "\"\\u0000\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\x\"",
        "\"\\u12\"",   "\"\xff\"",    "\"\xc3\"",    "\"\xed\xa0\x80\"",   "\"\xf0\x80\x80\x80\"",
        "\"\\u12G4\""};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_arena arena;
        tide_json reader;
        tide_arena_init(&arena, tide_hostmem_default());
        tide_json_init(&reader, CASES[i], strlen(CASES[i]), NULL);
        assert_string_equal(tide_json_get_text(&reader, &arena), "");
        assert_int_equal(tide_json_status(&reader), TIDE_FORMAT);
        tide_arena_fini(&arena);
    }
}

static void bad_integers_are_refused(void **state) {
    (void)state;
    static const char *const CASES[] = {
        "9223372036854775808",    "-9223372036854775809", "1.0", "1e3", "01", "-", "\"1\"",
        "99999999999999999999999"};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_json reader;
        tide_json_init(&reader, CASES[i], strlen(CASES[i]), NULL);
        (void)tide_json_get_integer(&reader, INT64_MIN, INT64_MAX);
        assert_int_equal(tide_json_status(&reader), TIDE_FORMAT);
    }
    tide_json reader;
    tide_json_init(&reader, "11", 2, NULL);
    (void)tide_json_get_integer(&reader, 0, 10);
    assert_int_equal(tide_json_status(&reader), TIDE_FORMAT);
}

static void depth_is_limited(void **state) {
    (void)state;
    char text[2 * (TIDE_JSON_DEPTH + 1)];
    for (size_t depth = TIDE_JSON_DEPTH; depth <= TIDE_JSON_DEPTH + 1; depth++) {
        tide_json reader;
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        tide_json_init(&reader, text, 2 * depth, NULL);
        tide_json_skip(&reader);
        assert_int_equal(tide_json_status(&reader),
                         depth == TIDE_JSON_DEPTH ? TIDE_OK : TIDE_LIMIT);
    }
}

static void long_texts_are_refused(void **state) {
    (void)state;
    size_t n_bytes = TIDE_JSON_TEXT_BYTES + 3;
    char *text = malloc(n_bytes);
    assert_non_null(text);
    memset(text, 'a', n_bytes);
    text[0] = '"';
    text[n_bytes - 1] = '"';
    tide_json reader;
    tide_json_init(&reader, text, n_bytes, NULL);
    tide_json_skip(&reader);
    assert_int_equal(tide_json_status(&reader), TIDE_LIMIT);
    text[n_bytes - 2] = '"'; /* one shorter */
    tide_json_init(&reader, text, n_bytes - 1, NULL);
    tide_json_skip(&reader);
    assert_int_equal(tide_json_status(&reader), TIDE_OK);
    free(text);
}

static void fields_are_checked(void **state) {
    (void)state;
    static const char *const FIELDS[] = {"a", "b"};
    static const struct {
        const char *json;
        const char *message; /* "": the text is valid */
    } CASES[] = {{"{\"a\":1,\"x\":[{}],\"b\":2}", ""},
                 {"{\"a\":1}", "the key 'b' is missing"},
                 {"{\"a\":1,\"a\":2,\"b\":1}", "byte 7, a: this key comes twice"}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_json reader;
        tide_error error = {""};
        tide_json_init(&reader, CASES[i].json, strlen(CASES[i].json), &error);
        tide_json_enter_object(&reader);
        while (tide_json_next_field(&reader, FIELDS, 2, 3) >= 0) {
            tide_json_skip(&reader);
        }
        tide_json_expect_end(&reader);
        if (CASES[i].message[0] == '\0') {
            assert_string_equal(error.message, "");
        } else {
            assert_non_null(strstr(error.message, CASES[i].message));
        }
    }
}

static void places_are_found(void **state) {
    (void)state;
    static const char JSON[] = "{\"a\":[1,{\"b\": [7,8, 9]}],\"c\":3}";
    static const struct {
        const char *path;
        char there; /* '\0': nowhere */
    } CASES[] = {{"a[1].b[2]", '9'}, {"c", '3'}, {"a[5]", '\0'}, {"nowhere", '\0'}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_json reader;
        tide_json_init(&reader, JSON, sizeof(JSON) - 1, NULL);
        size_t expected =
            CASES[i].there != '\0' ? (size_t)(strchr(JSON, CASES[i].there) - JSON) : 0;
        assert_int_equal(tide_json_find(&reader, CASES[i].path), expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_written),       cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(failed_writes_stick),      cmocka_unit_test(integers_come_back),
        cmocka_unit_test(reals_come_back),          cmocka_unit_test(texts_come_back),
        cmocka_unit_test(bad_json_is_refused),      cmocka_unit_test(bad_texts_are_refused),
        cmocka_unit_test(bad_integers_are_refused), cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(long_texts_are_refused),   cmocka_unit_test(fields_are_checked),
        cmocka_unit_test(places_are_found),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
