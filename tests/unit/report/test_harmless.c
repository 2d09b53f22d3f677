/* test_harmless.c - the escaping of untrusted text from files before it reaches a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/harmless.h"

/* The text as the stream writes it, fed in pieces of n_piece bytes. */
static const char *written(const char *text, size_t n_piece, bool is_terminal) {
    static char out[256];
    FILE *file = tmpfile();
    assert_non_null(file);
    tide_harmless to;
    tide_harmless_begin(&to, file);
    assert_false(to.is_terminal);
    to.is_terminal = is_terminal;
    for (size_t i = 0; i < strlen(text); i += n_piece) {
        size_t n_left = strlen(text + i);
        tide_harmless_write(&to, text + i, n_left < n_piece ? n_left : n_piece);
    }
    tide_harmless_end(&to);
    rewind(file);
    out[fread(out, 1, sizeof(out) - 1, file)] = '\0';
    fclose(file);
    return out;
}

static void control_characters_are_escaped(void **state) {
    (void)state;
    const char *text = "a\x1b[2J\tb\n\x7f\xc2\x9b\xd8\x9c\xe2\x80\x8e\xe2\x80\xae\xe2\x81\xa9z";
    for (size_t n_piece = 1; n_piece < 6; n_piece++) {
        assert_string_equal(written(text, n_piece, true), "a\\u001b[2J\tb\n\\u007f\\u009b\\u061c"
                                                          "\\u200e\\u202e\\u2069z");
        assert_string_equal(written(text, n_piece, false), text);
    }
}

static void other_text_is_unchanged(void **state) {
    (void)state;
    /* U+00A0, U+0600, U+200D, U+2030, U+2065, U+206A, an emoji; then truncated characters. */
    const char *text =
        "\xc2\xa0\xd8\x80\xe2\x80\x8d\xe2\x80\xb0\xe2\x81\xa5\xe2\x81\xaa\xf0\x9f\x98\x80"
        "\xe2\xe2\x80"
        "a\xe2\x81\xc2";
    for (size_t n_piece = 1; n_piece < 4; n_piece++) {
        assert_string_equal(written(text, n_piece, true), text);
    }
    assert_string_equal(written("\xe2\x80\x1b\xc2\x1b", 1, true), "\xe2\x80\\u001b\xc2\\u001b");
}

static void messages_are_escaped_everywhere(void **state) {
    (void)state;
    static const char *const CASES[][2] = {
        {"plain \xc3\xa9 \xf0\x9f\x98\x80\ttext\n", "plain \xc3\xa9 \xf0\x9f\x98\x80\ttext\n"},
        {"\x1b[31m\a\r\b", "\\u001b[31m\\u0007\\u000d\\u0008"},
        {"\x7f\xc2\x9b\xe2\x80\xaa\xe2\x81\xa6\xe2\x80\x8f", "\\u007f\\u009b\\u202a\\u2066\\u200f"},
        {"\x9b\xff\xc0\xaf\xe2\x80", "\\x9b\\xff\\xc0\\xaf\\xe2\\x80"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
        /* Our continuation lines begin with blanks; a name cannot begin a line. */
        {"out of memory\n  alive: 1\n", "out of memory\n  alive: 1\n"},
        {"file a\ntidemark: all is well", "file a\\u000atidemark: all is well"},
        {"", ""}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char out[256];
        FILE *file = tmpfile();
        assert_non_null(file);
        tide_harmless_print(file, CASES[i][0]);
        rewind(file);
        out[fread(out, 1, sizeof(out) - 1, file)] = '\0';
        fclose(file);
        assert_string_equal(out, CASES[i][1]);
    }
}

static void texts_of_tables_are_harmless(void **state) {
    (void)state;
    char text[16];
    tide_text_harmless("a\x1b"
                       "b\xe2\x80\xae"
                       "c\xd8\x9c\xc2\x85",
                       text, sizeof(text));
    assert_string_equal(text, "a?b?c??");
    tide_text_harmless("abc\xe2\x80\xaf", text, 6); /* no half character at the cut */
    assert_string_equal(text, "abc");
    tide_text_harmless("a\xff\xc3\xa9\xe2\x80", text, sizeof(text));
    assert_string_equal(text, "a?\xc3\xa9??");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(other_text_is_unchanged),
        cmocka_unit_test(messages_are_escaped_everywhere),
        cmocka_unit_test(texts_of_tables_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
