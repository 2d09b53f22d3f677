/* test_options.c - the parser of command line options: every kind of value, every kind of mistake.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"
#include "cli/options/options.h"

typedef struct values {
    bool flag;
    const char *text;
    uint64_t count;
    uint64_t n_bytes;
    double real;
    double rate;
    const char *fruit;
    tide_option_list fruits;
    tide_option_list numbers;
    const char *output;
} values;

static const char *fruit_at(size_t i) {
    static const char *const FRUITS[] = {"apple", "pear", "quince"};
    return i < 3 ? FRUITS[i] : NULL;
}

static const tide_option OPTIONS[] = {
    {TIDE_OPTION_FLAG, "flag", NULL, NULL, "a flag", NULL, NULL, NULL, offsetof(values, flag), NULL,
     NULL},
    {TIDE_OPTION_TEXT, "text", NULL, "TEXT", "a text", NULL, NULL, NULL, offsetof(values, text),
     NULL, NULL},
    {TIDE_OPTION_COUNT, "count", NULL, "N", "a count", "how-many number", NULL, NULL,
     offsetof(values, count), NULL, NULL},
    {TIDE_OPTION_SIZE, "size", NULL, "SIZE", "bytes", NULL, NULL, NULL, offsetof(values, n_bytes),
     NULL, NULL},
    {TIDE_OPTION_REAL, "real", NULL, "X", "a number", NULL, NULL, NULL, offsetof(values, real),
     NULL, NULL},
    {TIDE_OPTION_POSITIVE, "rate", NULL, "X", "a rate", NULL, NULL, NULL, offsetof(values, rate),
     NULL, NULL},
    {TIDE_OPTION_CHOICE, "fruit", NULL, NULL, "one fruit", NULL, "malus=apple", fruit_at,
     offsetof(values, fruit), NULL, NULL},
    {TIDE_OPTION_CHOICES, "fruits", NULL, NULL, "some fruit", NULL, "malus=apple pyrus=pear",
     fruit_at, offsetof(values, fruits), NULL, NULL},
    {TIDE_OPTION_SHORTHAND, "only-pears", NULL, NULL, "the same as --fruits pear", NULL, "pear",
     NULL, offsetof(values, fruits), NULL, NULL},
    {TIDE_OPTION_COUNTS, "numbers", NULL, "N,...", "counts", NULL, NULL, NULL,
     offsetof(values, numbers), NULL, NULL},
    {TIDE_OPTION_TEXT, NULL, "o", "FILE", "a file", NULL, NULL, NULL, offsetof(values, output),
     NULL, NULL},
};

static const tide_option_table TABLE = {.command = "try",
                                        .operands = "FILE...",
                                        .intro = "Tries things.\n",
                                        .options = OPTIONS,
                                        .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
                                        .min_operands = 0,
                                        .max_operands = 2};

/* Parses a command line given as one text; words are split at blanks. */
static tide_status parse(const char *line, values *ret_values, tide_operands *ret_operands,
                         tide_error *error) {
    static char words[256]; /* operands and texts point into it */
    static char *argv[33];
    char program[] = "try";
    int argc = 1;
    snprintf(words, sizeof(words), "%s", line);
    argv[0] = program;
    char *rest = NULL;
    for (char *word = strtok_r(words, " ", &rest); word != NULL && argc < 32;
         word = strtok_r(NULL, " ", &rest)) {
        argv[argc++] = word;
    }
    return tide_options_parse(&TABLE, argc, argv, ret_values, ret_operands, error);
}

static void values_are_stored(void **state) {
    (void)state;
    values v = {0};
    tide_operands operands = {.n = 9};
    assert_int_equal(parse("a --flag --text=x=y --count 12 --size 2KiB --real -1.5 --rate 2.5 "
                           "--fruit malus "
                           "--fruits pear,malus --numbers 3,1,2 -o out b",
                           &v, &operands, NULL),
                     TIDE_OK);
    assert_true(v.flag);
    assert_string_equal(v.text, "x=y");
    assert_true(v.count == 12 && v.n_bytes == 2048 && v.real == -1.5 && v.rate == 2.5);
    assert_string_equal(v.fruit, "apple");
    assert_int_equal(v.fruits.n, 2);
    assert_string_equal(v.fruits.texts[0], "pear");
    assert_string_equal(v.fruits.texts[1], "apple");
    assert_int_equal(v.numbers.n, 3);
    assert_true(v.numbers.counts[0] == 3 && v.numbers.counts[1] == 1 && v.numbers.counts[2] == 2);
    assert_string_equal(v.output, "out");
    assert_int_equal(operands.n, 2);
    assert_string_equal(operands.texts[0], "a");
    assert_string_equal(operands.texts[1], "b");
    assert_false(operands.wants_help);
}

static void alternative_spellings_are_accepted(void **state) {
    (void)state;
    values v = {.count = 7};
    tide_operands operands;
    assert_int_equal(parse("--how-many=5", &v, &operands, NULL), TIDE_OK);
    assert_true(v.count == 5);
    assert_int_equal(parse("--number 6 --number 8", &v, &operands, NULL), TIDE_OK);
    assert_true(v.count == 8); /* the last wins */
    assert_int_equal(parse("--how_many=9", &v, &operands, NULL), TIDE_OK);
    assert_true(v.count == 9);
    assert_int_equal(parse("--only_pears", &v, &operands, NULL), TIDE_OK);
    assert_int_equal(v.fruits.n, 1);
    assert_string_equal(v.fruits.texts[0], "pear");
    assert_int_equal(parse("--only-pears --fruits pyrus", &v, &operands, NULL), TIDE_OK);
    assert_int_equal(parse("-oout.gz", &v, &operands, NULL), TIDE_OK);
    assert_string_equal(v.output, "out.gz");
    assert_int_equal(parse("-- --flag -", &v, &operands, NULL), TIDE_OK);
    assert_int_equal(operands.n, 2);
    assert_false(v.flag);
    assert_int_equal(parse("--nonsense --help", &v, &operands, NULL), TIDE_OK);
    assert_true(operands.wants_help);
    assert_int_equal(parse("-- --help", &v, &operands, NULL), TIDE_OK);
    assert_false(operands.wants_help);
}

static void mistakes_are_named(void **state) {
    (void)state;
    static const struct {
        const char *line;
        tide_status status;
        const char *says; /* part of the message */
    } CASES[] = {
        {"--cuont 5", TIDE_INVALID, "unknown option '--cuont': did you mean --count?"},
        {"--only-pears --fruits malus", TIDE_INVALID,
         "--only-pears means pear, but another option says apple: leave one of the two out"},
        {"--fruits apple,pear --only-pears", TIDE_INVALID,
         "--only-pears means pear, but another option says apple and more"},
        {"--only-pears=1", TIDE_INVALID, "--only-pears takes no value, but '1' was given"},
        {"--cou=5", TIDE_INVALID, "unknown option '--cou': did you mean --count?"},
        {"--xylophone", TIDE_INVALID, "unknown option '--xylophone' (valid: --flag --text"},
        {"-x", TIDE_INVALID, "unknown option '-x' (valid: --flag --text"},
        {"-y", TIDE_INVALID, " --help -o)"},
        {"--fruit aple", TIDE_INVALID,
         "--fruit: unknown value 'aple': did you mean apple? (valid: apple, pear, quince)"},
        {"--fruit stone", TIDE_INVALID, "'stone' (valid: apple, pear, quince)"},
        {"--fruits pear,,apple", TIDE_INVALID, "comma list"},
        {"--fruits pear,", TIDE_INVALID, "comma list"},
        {"--fruits pear,pyrus", TIDE_INVALID, "pear is in the list twice"},
        {"--numbers 4,8,04", TIDE_INVALID, "04 is in the list twice"},
        {"--numbers 1,2,x", TIDE_INVALID, "--numbers: 'x' is not a whole number"},
        {"--numbers 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", TIDE_LIMIT, "at most 16 values"},
        {"--count", TIDE_INVALID, "--count needs a value: N"},
        {"--count -5", TIDE_INVALID, "--count: '-5' is not a whole number"},
        {"--count=", TIDE_INVALID, "--count: '' is not"},
        {"--count 1.5", TIDE_INVALID, "--count: '1.5' is not"},
        {"--count 99999999999999999999", TIDE_LIMIT, "2^63 - 1"},
        {"--count 9223372036854775808", TIDE_LIMIT, "2^63 - 1"},
        {"--size 12parsecs", TIDE_INVALID, "--size: '12parsecs' is not a size"},
        {"--real x", TIDE_INVALID, "--real: 'x' is not a number"},
        {"--real nan", TIDE_INVALID, "--real: 'nan' is not a number"},
        {"--rate 0", TIDE_INVALID, "--rate must be above 0"},
        {"--rate -1.5", TIDE_INVALID, "--rate must be above 0"},
        {"--real 1e999", TIDE_INVALID, "--real: '1e999' is not a number"},
        {"--flag=yes", TIDE_INVALID, "--flag takes no value"},
        {"a b c", TIDE_INVALID, "'c' is one argument too many"},
        {"-o", TIDE_INVALID, "-o needs a value: FILE"},
        {"-o --flag", TIDE_INVALID, "-o needs a value, but the option --flag follows"},
        {"--text -o", TIDE_INVALID, "--text needs a value, but the option -o follows"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        values v = {0};
        tide_operands operands;
        tide_error error = {""};
        tide_status status = parse(CASES[i].line, &v, &operands, &error);
        if (status != CASES[i].status || strstr(error.message, CASES[i].says) == NULL) {
            fail_msg("%s: %s: %s", CASES[i].line, tide_status_text(status), error.message);
        }
        assert_null(strchr(error.message, '\n'));
    }
}

static void long_words_do_no_harm(void **state) {
    (void)state;
    char long_option[600] = "--";
    memset(long_option + 2, 'a', sizeof(long_option) - 3);
    char program[] = "try";
    char count[] = "--count";
    char fruits[] = "--fruits";
    char *cases[][4] = {{program, long_option, NULL, NULL},
                        {program, count, long_option, NULL},
                        {program, fruits, long_option, NULL}};
    for (size_t i = 0; i < 3; i++) {
        values v = {0};
        tide_operands operands;
        tide_error error = {""};
        int argc = i == 0 ? 2 : 3;
        assert_int_equal(tide_options_parse(&TABLE, argc, cases[i], &v, &operands, &error),
                         TIDE_INVALID);
    }
}

static void missing_operands_are_named(void **state) {
    (void)state;
    tide_option_table table = TABLE;
    table.min_operands = 1;
    char program[] = "try";
    char *argv[] = {program, NULL};
    values v = {0};
    tide_operands operands;
    tide_error error = {""};
    assert_int_equal(tide_options_parse(&table, 1, argv, &v, &operands, &error), TIDE_INVALID);
    assert_string_equal(error.message, "FILE... is missing: tidemark try [options] FILE...");
    table.min_operands = 2;
    char file[] = "file";
    char *one[] = {program, file, NULL};
    assert_int_equal(tide_options_parse(&table, 2, one, &v, &operands, &error), TIDE_INVALID);
    assert_string_equal(error.message, "1 argument where at least 2 are needed: tidemark try "
                                       "[options] FILE...");
}

static void unused_options_are_found(void **state) {
    (void)state;
    values v = {0};
    tide_operands operands;
    tide_error error = {""};
    /* The first of the table's order, whatever its value, spelling and place. */
    assert_int_equal(parse("--real 0 --how-many 0 -o x", &v, &operands, &error), TIDE_OK);
    assert_string_equal(tide_options_find_unused(&TABLE, &operands, "")->name, "count");
    assert_string_equal(tide_options_find_unused(&TABLE, &operands, "o count")->name, "real");
    assert_string_equal(tide_options_find_unused(&TABLE, &operands, "real count")->letter, "o");
    assert_null(tide_options_find_unused(&TABLE, &operands, "real o count"));
    assert_true(tide_options_is_given(&TABLE, &operands, "count") &&
                tide_options_is_given(&TABLE, &operands, "o"));
    assert_false(tide_options_is_given(&TABLE, &operands, "counts") ||
                 tide_options_is_given(&TABLE, &operands, "flag"));
    /* A word of the list is a whole name, and what follows "--" is not an option. */
    assert_string_equal(tide_options_find_unused(&TABLE, &operands, "o real counts")->name,
                        "count");
    assert_int_equal(parse("-- --flag --real", &v, &operands, &error), TIDE_OK);
    assert_null(tide_options_find_unused(&TABLE, &operands, ""));
}

static void tables_that_are_too_long_are_refused(void **state) {
    (void)state;
    tide_option_table table = TABLE;
    table.n_options = TIDE_OPTION_ROWS + 1;
    char program[] = "try";
    char *argv[] = {program, NULL};
    values v = {0};
    tide_operands operands;
    tide_error error = {""};
    assert_int_equal(tide_options_parse(&table, 1, argv, &v, &operands, &error), TIDE_LIMIT);
}

static void help_comes_from_the_table(void **state) {
    (void)state;
    char *text = NULL;
    size_t n_text = 0;
    FILE *out = open_memstream(&text, &n_text);
    assert_non_null(out);
    tide_options_print_help(&TABLE, out);
    assert_int_equal(fclose(out), 0);
    for (size_t i = 0; i < TABLE.n_options; i++) {
        const tide_option *option = &OPTIONS[i];
        bool is_shown = option->name == NULL || strstr(text, option->name) != NULL;
        assert_true(is_shown);
    }
    assert_non_null(strstr(text, "--count N                 a count (also --how-many, --number)"));
    assert_non_null(strstr(text, "--fruit apple|pear|quince"));
    assert_non_null(strstr(text, "-o FILE"));
    free(text);
}

static void statuses_become_exit_statuses(void **state) {
    (void)state;
    assert_int_equal(tide_exit_status(TIDE_OK), 0);
    assert_int_equal(tide_exit_status(TIDE_INVALID), 2);
    assert_int_equal(tide_exit_status(TIDE_DEVICE_OOM), 3);
    assert_int_equal(tide_exit_status(TIDE_GATE), 4);
    static const tide_status FAILURES[] = {
        TIDE_NO_MEMORY,   TIDE_DEVICE_LOST, TIDE_DEVICE_ABSENT, TIDE_DEVICE_FAILED, TIDE_NOT_READY,
        TIDE_UNSUPPORTED, TIDE_IO,          TIDE_FORMAT,        TIDE_LIMIT};
    for (size_t i = 0; i < sizeof(FAILURES) / sizeof(FAILURES[0]); i++) {
        assert_int_equal(tide_exit_status(FAILURES[i]), 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_stored),
        cmocka_unit_test(alternative_spellings_are_accepted),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(long_words_do_no_harm),
        cmocka_unit_test(missing_operands_are_named),
        cmocka_unit_test(unused_options_are_found),
        cmocka_unit_test(tables_that_are_too_long_are_refused),
        cmocka_unit_test(help_comes_from_the_table),
        cmocka_unit_test(statuses_become_exit_statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
