/* test_python_lines.c - tables of lines as the compilers of 3.10 and 3.12 wrote them, broken
 * tables, and names as UTF-8. */
#include "made_python.h"

#include "programs/live/python/python_lines.h"

/* def f(a): a sum over two lines, a loop with try and finally, 300 empty lines, a call over two
 * lines, a with statement. */
static const uint8_t PAIRS[] = {0x02, 0x01, 0x02, 0x01, 0x04, 0xff, 0x0c, 0x02, 0x02,
                                0x01, 0x0a, 0x01, 0x0c, 0x02, 0x00, 0x7f, 0x00, 0x7f,
                                0x02, 0x30, 0x02, 0x01, 0x04, 0xff, 0x06, 0x02, 0x06,
                                0x01, 0x0a, 0xff, 0x04, 0x02, 0x10, 0xfe, 0x04, 0x02};
/* What co_lines() of the same interpreter returns, for each instruction. */
static const int PAIR_LINES[] = {2,   3,   2,   2,   4,   4,   4,   4,   4,   4,   5,   6,   6,
                                 6,   6,   6,   8,   8,   8,   8,   8,   8,   310, 311, 310, 310,
                                 312, 312, 312, 313, 313, 313, 312, 312, 312, 312, 312, 314, 314,
                                 312, 312, 312, 312, 312, 312, 312, 312, 314, 314};

static const uint8_t LOCATIONS[] = {
    0x80, 0x00, 0xd8, 0x09, 0x0a, 0xd8, 0x09, 0x0a, 0xf1, 0x03, 0x01, 0x0a, 0x0b, 0x80, 0x41, 0xe4,
    0x0d, 0x12, 0x90, 0x31, 0x8b, 0x58, 0xf2, 0x00, 0x04, 0x05, 0x12, 0x88, 0x01, 0xf0, 0x02, 0x03,
    0x09, 0x12, 0xdc, 0x0c, 0x0d, 0x88, 0x61, 0x8c, 0x44, 0xe0, 0x10, 0x11, 0x89, 0x41, 0xf0, 0x09,
    0x04, 0x05, 0x12, 0xf4, 0x64, 0x09, 0x00, 0x05, 0x06, 0xd8, 0x08, 0x09, 0xf4, 0x03, 0x01, 0x05,
    0x0b, 0xe0, 0x09, 0x0a, 0xf0, 0x00, 0x01, 0x05, 0x0a, 0x88, 0x61, 0xd9, 0x08, 0x09, 0xf7, 0x03,
    0x01, 0x05, 0x0a, 0xe0, 0x0b, 0x0c, 0x80, 0x48, 0xf8, 0xf0, 0x65, 0x09, 0x00, 0x11, 0x12, 0x89,
    0x41, 0xfa, 0xf7, 0x60, 0x09, 0x01, 0x05, 0x0a, 0xe0, 0x0b, 0x0c, 0x80, 0x48, 0xfa};
static const int LOCATION_LINES[] = {
    1,   2,   3,   2,   2,   2,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,
    4,   4,   4,   5,   6,   6,   6,   6,   6,   6,   6,   6,   6,   6,   6,   8,   8,
    8,   4,   310, 310, 310, 310, 310, 311, 310, 310, 310, 310, 310, 312, 312, 312, 313,
    313, 312, 312, 312, 312, 312, 312, 312, 312, 314, 314, 0,   8,   8,   8,   0,   0,
    0,   312, 312, 312, 312, 312, 312, 312, 312, 314, 314, 0,   0,   0};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void lines_are_the_compilers(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(PAIR_LINES); i++) {
        assert_int_equal(tide_python_line_of_pairs(PAIRS, sizeof(PAIRS), 1, 2 * i), PAIR_LINES[i]);
    }
    for (size_t i = 0; i < LENGTH(LOCATION_LINES); i++) {
        assert_int_equal(tide_python_line_of_locations(LOCATIONS, sizeof(LOCATIONS), 1, 2 * i),
                         LOCATION_LINES[i]);
    }
    assert_int_equal(tide_python_line_of_pairs(PAIRS, sizeof(PAIRS), 1, 2 * LENGTH(PAIR_LINES)), 0);
    assert_int_equal(
        tide_python_line_of_locations(LOCATIONS, sizeof(LOCATIONS), 1, 2 * LENGTH(LOCATION_LINES)),
        0);
    static const uint8_t WITHOUT_LINE[] = {4, 1, 4, 0x80, 4, 1};
    assert_int_equal(tide_python_line_of_pairs(WITHOUT_LINE, sizeof(WITHOUT_LINE), 1, 4), 0);
    assert_int_equal(tide_python_line_of_pairs(WITHOUT_LINE, sizeof(WITHOUT_LINE), 1, 8), 3);
}

/* Truncated anywhere, and with every byte changed: no byte outside the table is read (a sanitizer
 * checks), and each line is valid. */
static void broken_tables_are_harmless(void **state) {
    (void)state;
    for (size_t n = 0; n <= sizeof(LOCATIONS); n++) {
        uint8_t *cut = malloc(n > 0 ? n : 1);
        assert_non_null(cut);
        memcpy(cut, LOCATIONS, n);
        for (size_t change = 0; change < n; change++) {
            static const uint8_t VALUES[] = {0, 0x7f, 0x80, 0xf7, 0xff, 0x40};
            for (size_t v = 0; v < LENGTH(VALUES); v++) {
                uint8_t before = cut[change];
                cut[change] = VALUES[v];
                assert_true(tide_python_line_of_locations(cut, n, 1, 100000) == 0);
                assert_true(tide_python_line_of_locations(cut, n, 1, 150) >= 0);
                assert_true(tide_python_line_of_pairs(cut, n, 1, 150) >= 0);
                cut[change] = before;
            }
        }
        free(cut);
    }
    uint8_t continued[64];
    memset(continued, 0x7f, sizeof(continued)); /* a number without an end */
    continued[0] = 0xf0;
    assert_true(tide_python_line_of_locations(continued, sizeof(continued), 1, 0) >= 0);
}

static void expect_text(unsigned minor, const void *characters, size_t n, unsigned width,
                        const char *expected) {
    made_python *of = make_python(minor);
    char name[64];
    bool ascii = width == 1 && n > 0 && *(const uint8_t *)characters < 0x80;
    const char *text = make_text(of, characters, n, width, ascii);
    tide_python_view_text(&of->view, text, name, sizeof(name));
    assert_string_equal(name, expected);
    release_python(of);
}

static void names_become_utf_8(void **state) {
    (void)state;
    static const uint8_t LATIN[] = {0xe9, 't', 0xe9};
    static const uint16_t TWO[] = {0x65e5, 0x672c, 'x', 0xdc80, 0, 0x7ff, 0x800};
    static const uint32_t FOUR[] = {0x1f600, 'y', 0x10ffff, 0x110000, 0xd800};
    for (unsigned minor = 10; minor <= 14; minor++) {
        expect_text(minor, "plain", 5, 1, "plain");
        expect_text(minor, "", 0, 1, "");
        expect_text(minor, LATIN, LENGTH(LATIN), 1, "\xc3\xa9t\xc3\xa9");
        expect_text(minor, TWO, LENGTH(TWO), 2,
                    "\xe6\x97\xa5\xe6\x9c\xacx\xef\xbf\xbd\xef\xbf\xbd\xdf\xbf\xe0\xa0\x80");
        expect_text(minor, FOUR, LENGTH(FOUR), 4,
                    "\xf0\x9f\x98\x80y\xf4\x8f\xbf\xbf\xef\xbf\xbd\xef\xbf\xbd");
    }
}

static void names_are_cut_between_characters(void **state) {
    (void)state;
    static const uint16_t TWO[] = {'a', 0x65e5, 0x672c};
    static const char *const BY_ROOM[] = {"",
                                          "",
                                          "a",
                                          "a",
                                          "a",
                                          "a\xe6\x97\xa5",
                                          "a\xe6\x97\xa5",
                                          "a\xe6\x97\xa5",
                                          "a\xe6\x97\xa5\xe6\x9c\xac"};
    made_python *of = make_python(12);
    const char *text = make_text(of, TWO, LENGTH(TWO), 2, false);
    for (size_t room = 0; room < LENGTH(BY_ROOM); room++) {
        char *name = malloc(room > 0 ? room : 1); /* exact, for the sanitizer */
        assert_non_null(name);
        name[0] = '\0';
        tide_python_view_text(&of->view, text, name, room);
        assert_string_equal(name, BY_ROOM[room]);
        free(name);
    }
    release_python(of);
}

static void what_is_no_text_is_unknown(void **state) {
    (void)state;
    for (unsigned minor = 10; minor <= 14; minor++) {
        made_python *of = make_python(minor);
        const tide_python_layout *l = &of->view.layout;
        char name[16];
        char *text = make_text(of, "abc", 3, 1, true);
        put_size(text, l->text_length, -1);
        tide_python_view_text(&of->view, text, name, sizeof(name));
        assert_string_equal(name, "?");
        put_size(text, l->text_length, 3);
        put_int(text, l->text_state,
                (3 | 1 << 3 | 1 << 4) << l->text_kind_shift); /* 3 bytes a character */
        tide_python_view_text(&of->view, text, name, sizeof(name));
        assert_string_equal(name, "?");
        tide_python_view_text(&of->view, make_bytes(of, "abc", 3), name, sizeof(name));
        assert_string_equal(name, "?");

        /* A class that derives from str is text; its characters are elsewhere. */
        char *type = make_type(of, l->text_basic);
        put_pointer(type, TIDE_PYTHON_TYPE,
                    tide_python_pointer(of->view.text_type, TIDE_PYTHON_TYPE));
        char *derived = make(of, l->text_basic, type);
        char *characters = make(of, 16, NULL);
        put(characters, 0, "derived", 7);
        put_size(derived, l->text_length, 7);
        put_int(derived, l->text_state, (1 | 1 << 4) << l->text_kind_shift);
        put_pointer(derived, l->text_compact_data, characters);
        tide_python_view_text(&of->view, derived, name, sizeof(name));
        assert_string_equal(name, "?");
        put_size(type, TIDE_PYTHON_TYPE_FLAGS, TIDE_PYTHON_TEXT_SUBCLASS);
        tide_python_view_text(&of->view, derived, name, sizeof(name));
        assert_string_equal(name, "derived");
        put_pointer(derived, l->text_compact_data, NULL);
        tide_python_view_text(&of->view, derived, name, sizeof(name));
        assert_string_equal(name, "?");
        release_python(of);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_compilers),
        cmocka_unit_test(broken_tables_are_harmless),
        cmocka_unit_test(names_become_utf_8),
        cmocka_unit_test(names_are_cut_between_characters),
        cmocka_unit_test(what_is_no_text_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
