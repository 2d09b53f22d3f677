/* test_table.c - one report in five formats: the same rows, without any text that a terminal, a
 * table or a document would interpret. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/harmless.h"
#include "report/table.h"

/* The output of a report for a table (NULL: for all); from malloc. */
static char *printed_table(const tide_report *report, tide_format_kind kind, const char *table) {
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&text, &n_bytes);
    const tide_format format = {.kind = kind, .table = table};
    assert_non_null(out);
    assert_int_equal(tide_report_print(report, format, out, stderr, NULL), TIDE_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

static char *printed(const tide_report *report, tide_format_kind kind) {
    return printed_table(report, kind, NULL);
}

static void build(tide_report *report) {
    tide_report_init(report, "test");
    tide_report_say(report, "note", "50 %% of <all> & %s", "x_1");
    tide_report_figure_bytes(report, "peak_bytes", 1536);
    tide_report_figure_bytes(report, "lost_bytes", -1);
    tide_report_figure_ns_of_ms(report, "step_ns", 1.0625);
    tide_report_figure_text(report, "outcome",
                            "a\x1b"
                            "b");
    tide_report_figure_real(report, "loss", (double)NAN);
    tide_table *table = tide_report_table(report, "shares", "Shares");
    TIDE_COLUMNS(table, TIDE_TEXT("name", "name"), TIDE_NUMBER("bytes", "size"),
                 TIDE_NUMBER("share_percent", "share"), TIDE_NUMBER("ms", "time"),
                 TIDE_NUMBER("ratio", "ratio"));
    TIDE_ROW(table, tide_as_text("a|b,\"c\"_\xc3\xa9"), tide_as_bytes(1536), tide_as_percent(12.25),
             tide_as_ms(1.0625), tide_as_ratio(0.5));
    TIDE_ROW(table, tide_as_text("\x1b[31mred\n\t</script>\xc2\x9b"), tide_as_bytes(-1),
             tide_as_count(-3), tide_as_ms(-1.0));
}

static void assert_prints(tide_format_kind format, const char *expected) {
    tide_report report;
    build(&report);
    char *text = printed(&report, format);
    assert_string_equal(text, expected);
    free(text);
    tide_report_fini(&report);
}

static void text_is_aligned(void **state) {
    (void)state;
    assert_prints(TIDE_FORMAT_TEXT,
                  "50 % of <all> & x_1\n"
                  "\n"
                  "Shares\n"
                  "  name                      size   share      time  ratio\n"
                  "  a|b,\"c\"_\xc3\xa9             1.50 KiB  12.2 %  1.062 ms  0.500\n"
                  "  ?[31mred?\?</script>?         -      -3         -      -\n");
}

static void markdown_is_escaped(void **state) {
    (void)state;
    assert_prints(TIDE_FORMAT_MARKDOWN,
                  "50 % of &lt;all> & x_1\n"
                  "\n"
                  "### Shares\n"
                  "\n"
                  "| name | size | share | time | ratio |\n"
                  "|---|---:|---:|---:|---:|\n"
                  "| a\\|b,\"c\"_\xc3\xa9 | 1.50 KiB | 12.2 % | 1.062 ms | 0.500 |\n"
                  "| ?\\[31mred?\?&lt;/script>? | - | -3 | - | - |\n"
                  "\n");
}

static void csv_is_quoted(void **state) {
    (void)state;
    assert_prints(TIDE_FORMAT_CSV, "name,bytes,share_percent,ms,ratio\n"
                                   "\"a|b,\"\"c\"\"_\xc3\xa9\",1536,12.25,1.0625,0.5\n"
                                   "\"\x1b[31mred\n\t</script>\xc2\x9b\",,-3,,\n");
}

static void latex_is_escaped(void **state) {
    (void)state;
    assert_prints(TIDE_FORMAT_LATEX,
                  "50 \\% of \\textless{}all\\textgreater{} \\& x\\_1\n"
                  "\n"
                  "\\begin{table}\n"
                  "\\caption{Shares}\n"
                  "\\begin{tabular}{lrrrr}\n"
                  "\\toprule\n"
                  "name & size & share & time & ratio \\\\\n"
                  "\\midrule\n"
                  "a|b,\"c\"\\_\xc3\xa9 & 1.50 KiB & 12.2 \\% & 1.062 ms & 0.500 \\\\\n"
                  "?[31mred?\?\\textless{}/script\\textgreater{}? & - & -3 & - & - \\\\\n"
                  "\\bottomrule\n"
                  "\\end{tabular}\n"
                  "\\end{table}\n"
                  "\n");
}

static void json_is_exact(void **state) {
    (void)state;
    assert_prints(
        TIDE_FORMAT_JSON,
        "{\"format\":\"tidemark-report\",\"version\":1,\"command\":\"test\",\"figures\":{\n"
        "\"peak_bytes\":1536,\n"
        "\"lost_bytes\":null,\n"
        "\"step_ns\":1062500,\n"
        "\"outcome\":\"a\\u001bb\",\n"
        "\"loss\":null},\n"
        "\"tables\":{\n"
        "\"shares\":{\"title\":\"Shares\",\"columns\":[\"name\",\"bytes\","
        "\"share_percent\",\"ms\",\"ratio\"],\"rows\":[\n"
        "{\"name\":\"a|b,\\\"c\\\"_\xc3\xa9\",\"bytes\":1536,\"share_percent\":12.25,"
        "\"ms\":1.0625,\"ratio\":0.5},\n"
        "{\"name\":\"\\u001b[31mred\\u000a\\u0009\\u003c/"
        "script>\xc2\x9b\",\"bytes\":null,\"share_percent\":-3,"
        "\"ms\":null,\"ratio\":null}]}},\n"
        "\"sentences\":{\n"
        "\"note\":[\"50 % of \\u003call> & x_1\"]}}\n");
}

/* Tables of one key are parts of one table, and a name picks one table of several. */
static void one_table_is_printed(void **state) {
    (void)state;
    tide_report report;
    tide_error error = {""};
    tide_report_init(&report, "test");
    for (int i = 0; i < 3; i++) {
        tide_table *table = tide_report_table(&report, i < 2 ? "parts" : "other", "Title");
        tide_table_column(table, "n", "n", true);
        TIDE_ROW(table, tide_as_count(i));
    }
    char *first = printed_table(&report, TIDE_FORMAT_CSV, "parts");
    assert_string_equal(first, "n\n0\n1\n");
    char *other = printed_table(&report, TIDE_FORMAT_TEXT, "other");
    assert_string_equal(other, "\nTitle\n  n\n  2\n");
    free(first);
    free(other);
    assert_int_equal(
        tide_report_print(&report, (tide_format){.table = "prats"}, stdout, stderr, &error),
        TIDE_INVALID);
    assert_string_equal(error.message, "--table: the report has no table 'prats': did you mean "
                                       "parts? (valid: parts, other)");
    tide_report_fini(&report);
}

static void formats_have_names(void **state) {
    (void)state;
    for (int i = 0; i < TIDE_N_FORMATS; i++) {
        assert_int_equal(tide_format_from_name(tide_format_name((size_t)i)), i);
    }
    assert_null(tide_format_name(TIDE_N_FORMATS));
    assert_int_equal(tide_format_from_name("pdf"), -1);
}

static void texts_are_cut_between_characters(void **state) {
    (void)state;
    char text[8];
    tide_text_harmless("abcd\xe2\x82\xac\xc3\xa9", text, sizeof(text));
    assert_string_equal(text, "abcd\xe2\x82\xac");
    tide_text_harmless("abcde\xe2\x82\xac", text, sizeof(text));
    assert_string_equal(text, "abcde");
    tide_text_harmless("abcdefghij", text, sizeof(text));
    assert_string_equal(text, "abcdefg");
    tide_text_harmless("a\xc2\x85\x7f", text, sizeof(text));
    assert_string_equal(text, "a?\?");
}

static void an_empty_table_says_so(void **state) {
    (void)state;
    tide_report report;
    tide_report_init(&report, "test");
    tide_table *table = tide_report_table(&report, "k", "Title");
    tide_table_column(table, "a", "a", true);
    char *text = printed(&report, TIDE_FORMAT_TEXT);
    assert_string_equal(text, "\nTitle\n  (none)\n");
    free(text);
    tide_report_fini(&report);
}

static void sentences_are_dropped(void **state) {
    (void)state;
    tide_report report;
    tide_report_init(&report, "test");
    tide_report_say(&report, "a", "One. Two.");
    tide_report_say(&report, "b", "Three.");
    tide_report_say(&report, "a", "Four.");
    assert_int_equal(tide_report_count_sentences(&report), 4);
    assert_true(tide_report_drop(&report, "a", 1)); /* the last one of that key */
    assert_null(tide_report_sentence(&report, "a", 1));
    assert_string_equal(tide_report_sentence(&report, "a", 0), "One. Two.");
    assert_false(tide_report_drop(&report, "a", 1));
    assert_false(tide_report_drop(&report, "c", 0));
    tide_report_say(&report, "d", "Five."); /* the end of the list is right */
    assert_true(tide_report_drop(&report, "a", 0));
    assert_int_equal(tide_report_count_sentences(&report), 2);
    assert_true(tide_report_drop(&report, NULL, 0));
    assert_true(tide_report_drop(&report, NULL, 0));
    assert_false(tide_report_drop(&report, NULL, 0));
    assert_int_equal(tide_report_count_sentences(&report), 0);
    tide_report_say(&report, "e", "Six.");
    assert_int_equal(tide_report_count_sentences(&report), 1);
    tide_report_fini(&report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_aligned),
        cmocka_unit_test(markdown_is_escaped),
        cmocka_unit_test(csv_is_quoted),
        cmocka_unit_test(latex_is_escaped),
        cmocka_unit_test(json_is_exact),
        cmocka_unit_test(one_table_is_printed),
        cmocka_unit_test(formats_have_names),
        cmocka_unit_test(texts_are_cut_between_characters),
        cmocka_unit_test(an_empty_table_says_so),
        cmocka_unit_test(sentences_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
