/* test_text_width.c - the columns of a text, and texts and tables cut to the width of a
 * terminal. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/text/utf8.h"
#include "report/table_internal.h"
#include "report/text_width.h"

#define DOTS "\xe2\x80\xa6"

static void assert_cut(const char *text, size_t columns, const char *dots, const char *expected) {
    char *cut = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&cut, &n_bytes);
    assert_non_null(out);
    size_t width = tide_text_put_cut(out, text, columns, dots);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(cut, expected);
    assert_int_equal(width, tide_text_width(cut));
    assert_true(width <= columns);
    free(cut);
}

static void widths_are_those_of_a_terminal(void **state) {
    (void)state;
    assert_int_equal(tide_text_width(""), 0);
    assert_int_equal(tide_text_width("abc"), 3);
    assert_int_equal(tide_text_width("\xc3\xa9\xe2\x82\xac"), 2);
    assert_int_equal(tide_text_width("e\xcc\x81"), 1);                /* e and its accent */
    assert_int_equal(tide_text_width("\xe6\x97\xa5\xe6\x9c\xac"), 4); /* two wide characters */
    assert_int_equal(tide_text_width("\xf0\x9f\x98\x80"), 2);         /* a picture */
    assert_int_equal(tide_text_width("\xff"
                                     "a\xe2\x82"),
                     4); /* no UTF-8: byte by byte */
}

static void texts_are_cut_in_the_middle(void **state) {
    (void)state;
    assert_cut("abcdefghij", 10, DOTS, "abcdefghij");
    assert_cut("abcdefghij", 9, DOTS, "abcd" DOTS "ghij");
    assert_cut("abcdefghij", 8, DOTS, "abcd" DOTS "hij");
    assert_cut("abcdefghij", 8, "...", "abc...ij");
    assert_cut("abcdefghij", 3, "...", "abc");
    assert_cut("abcdefghij", 0, DOTS, "");
    /* A cut leaves no partial character, no wide one that does not fit, no accent without its
     * letter. */
    assert_cut("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x96\x87", 6, DOTS,
               "\xe6\x97\xa5" DOTS "\xe6\x96\x87");
    assert_cut("abcde\xcc\x81xye\xcc\x81", 5, DOTS, "ab" DOTS "ye\xcc\x81");
}

static void beginnings_that_fit_have_a_character(void **state) {
    (void)state;
    assert_int_equal(tide_text_fit("abc", 2), 2);
    assert_int_equal(tide_text_fit("abc", SIZE_MAX), 3);
    assert_int_equal(tide_text_fit("\xe6\x97\xa5\xe6\x9c\xac", 3), 3); /* wide ones */
    assert_int_equal(tide_text_fit("\xe6\x97\xa5", 1), 3); /* else rows would have no end */
    assert_int_equal(tide_text_fit("", 1), 0);
}

/* Cuts at every width are whole characters and fit. */
static void cut_texts_fit_every_width(void **state) {
    (void)state;
    static const char TEXT[] = "r\xc3\xa9seau/\xe6\x97\xa5\xe6\x9c\xac/\xf0\x9f\x98\x80"
                               "e\xcc\x81.py:12";
    for (size_t columns = 0; columns <= sizeof(TEXT); columns++) {
        char cut[sizeof(TEXT) * 2] = "";
        FILE *out = fmemopen(cut, sizeof(cut), "w");
        assert_non_null(out);
        size_t width = tide_text_put_cut(out, TEXT, columns, DOTS);
        assert_int_equal(fclose(out), 0);
        assert_true(width <= columns);
        assert_int_equal(width, tide_text_width(cut));
        for (size_t at = 0; cut[at] != '\0';) {
            size_t n = tide_utf8_length((const unsigned char *)cut + at, strlen(cut) - at);
            assert_true(n > 0);
            at += n;
        }
    }
}

/* ---- tables ---- */

static void build(tide_report *report) {
    tide_report_init(report, "test");
    tide_table *table = tide_report_table(report, "stacks", "stacks");
    TIDE_COLUMNS(table, TIDE_TEXT("stack", "call stack"), TIDE_NUMBER("bytes", "bytes"),
                 TIDE_NUMBER("count", "a long title"));
    for (int i = 0; i < 2; i++) {
        TIDE_ROW(table,
                 tide_as_text(i == 0
                                  ? "step[0] > forward > layer 31 > attention (model/forward.c:120)"
                                  : "step[0] > setup"),
                 tide_as_bytes(1536), tide_as_count(123456789012));
    }
}

static char *printed_within(size_t room) {
    tide_report report;
    char *text = NULL;
    size_t n_bytes = 0;
    build(&report);
    FILE *out = open_memstream(&text, &n_bytes);
    assert_non_null(out);
    tide_report_print_within(&report, NULL, room, true, out);
    assert_int_equal(fclose(out), 0);
    tide_report_fini(&report);
    return text;
}

static void assert_printed(size_t room, const char *expected) {
    char *text = printed_within(room);
    assert_string_equal(text, expected);
    free(text);
}

#define HINT "\n(texts are cut to the width of this terminal; --wide shows them whole)\n"

static void long_texts_give_way_to_numbers(void **state) {
    (void)state;
    assert_printed(0, "\nstacks\n"
                      "  call stack                                                         bytes  "
                      "a long title\n"
                      "  step[0] > forward > layer 31 > attention (model/forward.c:120)  1.50 KiB  "
                      "123456789012\n"
                      "  step[0] > setup                                                 1.50 KiB  "
                      "123456789012\n");
    assert_printed(60, "\nstacks\n"
                       "  call stack                             bytes  a long title\n"
                       "  step[0] > forward\xe2\x80\xa6"
                       "l/forward.c:120)  1.50 KiB  123456789012\n"
                       "  step[0] > setup                     1.50 KiB  123456789012\n" HINT);
}

static void excess_columns_continue_below(void **state) {
    (void)state;
    assert_printed(45, "\nstacks\n"
                       "  call stack                            bytes\n"
                       "  step[0] > forwar\xe2\x80\xa6"
                       "l/forward.c:120)  1.50 KiB\n"
                       "  step[0] > setup                    1.50 KiB\n"
                       "\n"
                       "  call stack                     a long title\n"
                       "  step[0] > forw\xe2\x80\xa6"
                       "forward.c:120)  123456789012\n"
                       "  step[0] > setup                123456789012\n" HINT);
}

/* Rows that their names do not distinguish are numbered. */
static void rows_of_one_name_are_numbered(void **state) {
    (void)state;
    tide_report report;
    char *text = NULL;
    size_t n_bytes = 0;
    tide_report_init(&report, "test");
    tide_table *table = tide_report_table(&report, "runs", "runs");
    TIDE_COLUMNS(table, TIDE_TEXT("run", "run"), TIDE_NUMBER("a", "allocated"),
                 TIDE_NUMBER("b", "reserved"));
    for (int i = 0; i < 2; i++) {
        TIDE_ROW(table, tide_as_text("small"), tide_as_count(i), tide_as_count(10 + i));
    }
    FILE *out = open_memstream(&text, &n_bytes);
    assert_non_null(out);
    tide_report_print_within(&report, NULL, 24, true, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "\nruns\n"
                              "  #  run    allocated\n"
                              "  1  small          0\n"
                              "  2  small          1\n"
                              "\n"
                              "  #  run    reserved\n"
                              "  1  small        10\n"
                              "  2  small        11\n");
    free(text);
    tide_report_fini(&report);
}

/* No line is wider than the terminal, if it is wide enough for a cut name and a number. */
static void no_line_is_too_long(void **state) {
    (void)state;
    for (size_t room = 23; room < 100; room++) {
        char *text = printed_within(room);
        char *rest = strstr(text, HINT);
        if (rest != NULL) {
            *rest = '\0';
        }
        for (char *line = strtok_r(text, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            assert_true(tide_text_width(line) <= room);
            assert_true(strstr(line, "KiB") == NULL || strstr(line, "1.50 KiB") != NULL);
        }
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_are_those_of_a_terminal),
        cmocka_unit_test(beginnings_that_fit_have_a_character),
        cmocka_unit_test(texts_are_cut_in_the_middle),
        cmocka_unit_test(cut_texts_fit_every_width),
        cmocka_unit_test(long_texts_give_way_to_numbers),
        cmocka_unit_test(excess_columns_continue_below),
        cmocka_unit_test(rows_of_one_name_are_numbered),
        cmocka_unit_test(no_line_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
