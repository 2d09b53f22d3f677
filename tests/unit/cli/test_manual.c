/* test_manual.c - the manual page and the completion of a small program with deliberately awkward
 * texts.
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

#include "cli/options/manual.h"

static const char *fruit_at(size_t i) {
    static const char *const FRUITS[] = {"apple", "d'anjou", "$quince"};
    return i < sizeof(FRUITS) / sizeof(FRUITS[0]) ? FRUITS[i] : NULL;
}

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_HEADING, .help = ".Heading"},
    {.kind = TIDE_OPTION_CHOICES,
     .name = "fruit-kind",
     .help = "'one' \\ of ~^`",
     .aliases = "kind sort-of",
     .choice_at = fruit_at},
    {.kind = TIDE_OPTION_TEXT, .name = "all", .letter = "a", .value = "FILE", .help = ".in"},
    {.kind = TIDE_OPTION_TEXT, .name = "pairs", .value = "NAME:VALUE,...", .help = "no file"},
    {.kind = TIDE_OPTION_FLAG, .name = "quiet", .help = "say nothing"},
};

static const tide_option_table TABLE = {
    .command = "eat-up",
    .operands = "PAGE.html...",
    .intro = "First line,\nsecond line.\n\n.Next paragraph.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .max_operands = 1,
    .notes = "A note.\n",
};
static const tide_option_table BARE_TABLE = {.command = "bare", .intro = "Takes nothing.\n"};

static const tide_command EAT = {.name = "eat-up", .summary = "eats", .options = &TABLE};
static const tide_command BARE = {.name = "bare", .summary = "does", .options = &BARE_TABLE};
static const tide_command *const COMMANDS[] = {&EAT, &BARE};

static const tide_command_group GROUPS[] = {{"Food", 1}, {"The rest's", 1}};

static const tide_program_item ENVIRONMENT[] = {{"A_NAME", ".what it's for"}, {NULL, NULL}};
static const tide_program_item FILES[] = {{"a-b.html", "a page"}, {NULL, NULL}};
static const tide_program_item EXAMPLES[] = {
    {"eat-up --all 'x'", "All"}, {"bare", "None"}, {NULL, NULL}};

static const tide_program PROGRAM = {
    .version = "1.2.3",
    .title = "a title",
    .intro = "An intro.\n",
    .syntax = "Any order.\n",
    .exit_statuses = "0 success.\n",
    .environment = ENVIRONMENT,
    .files = FILES,
    .examples = EXAMPLES,
    .commands = COMMANDS,
    .n_commands = 2,
    .groups = GROUPS,
    .n_groups = 2,
};

/* What the printer writes; the caller frees it. */
static char *print(void (*printer)(const tide_program *, FILE *)) {
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&text, &n_bytes);
    assert_non_null(out);
    printer(&PROGRAM, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_holds(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fail_msg("missing: %s\nin: %s", part, text);
    }
}

static void test_manual_escapes(void **state) {
    (void)state;
    char *page = print(tide_manual_print);
    assert_holds(page, ".TH TIDEMARK 1 \"\" \"tidemark 1.2.3\" \"User Commands\"\n");
    assert_holds(page, ".SH NAME\ntidemark \\- a title\n");
    assert_holds(page, ".SS Food\n.TP\n\\fBeat\\-up\\fR\neats\n"
                       ".SS The rest\\(aqs\n.TP\n\\fBbare\\fR\ndoes\n");
    assert_holds(page, ".SH OPTIONS\nAny order.\n.TP\n");
    assert_holds(page, ".SS \"tidemark eat\\-up\"\n"
                       "\\fBtidemark eat\\-up\\fR [options] \\fIPAGE.html...\\fR\n.PP\n"
                       "First line,\nsecond line.\n.PP\n\\&.Next paragraph.\n"
                       ".PP\n\\fB\\&.Heading\\fR\n");
    assert_holds(page, ".TP\n\\fB\\-\\-fruit\\-kind\\fR "
                       "\\fIapple|\\:d\\(aqanjou|\\:$quince\\fR\n"
                       "\\&\\(aqone\\(aq \\e of \\(ti\\(ha\\(ga "
                       "(also \\-\\-kind, \\-\\-sort\\-of)\n");
    assert_holds(page, ".TP\n\\fB\\-a\\fR, \\fB\\-\\-all\\fR \\fIFILE\\fR\n\\&.in\n");
    assert_holds(page, "this text\n.PP\nA note.\n.SS \"tidemark bare\"\n");
    assert_holds(page, ".SH \"EXIT STATUS\"\n0 success.\n"
                       ".SH ENVIRONMENT\n.TP\n\\fBA_NAME\\fR\n\\&.what it\\(aqs for\n"
                       ".SH FILES\n.TP\n\\fBa\\-b.html\\fR\na page\n"
                       ".SH EXAMPLES\nAll:\n.PP\n.RS 4\n.nf\n"
                       "eat\\-up \\-\\-all \\(aqx\\(aq\n.fi\n.RE\n"
                       ".PP\nNone:\n.PP\n.RS 4\n.nf\nbare\n");
    free(page);
}

/* The page contains every option that --help shows once, and no hidden option. */
static void test_manual_options(void **state) {
    (void)state;
    char *page = print(tide_manual_print);
    for (size_t i = 0; i < TABLE.n_options; i++) {
        if (OPTIONS[i].kind != TIDE_OPTION_HEADING) {
            char usage[64];
            /* Only the first word of a name: dashes are escaped. */
            snprintf(usage, sizeof(usage), "\\fB\\-\\-%.*s", (int)strcspn(OPTIONS[i].name, "-"),
                     OPTIONS[i].name);
            assert_holds(page, usage);
            assert_null(strstr(strstr(page, usage) + 1, usage));
        }
    }
    free(page);
}

static void test_completion(void **state) {
    (void)state;
    char *script = print(tide_completion_print);
    assert_holds(script, "words=( 'eat-up' 'bare' 'help' 'version' )\n");
    assert_holds(script, "    eat-up) words=( '--fruit-kind' '--all' '-a' '--pairs' '--quiet' "
                         "'--help' ) ;;\n");
    assert_holds(script, "    bare) words=( '--help' ) ;;\n");
    assert_holds(script, "    'eat-up --fruit-kind' | 'eat-up --kind' | 'eat-up --sort-of') "
                         "kind=list words=( 'apple' 'd'\\''anjou' '$quince' ) ;;\n");
    assert_holds(script, "    'eat-up --all' | 'eat-up -a') kind=file ;;\n");
    assert_holds(script, "    'eat-up --pairs') kind=word ;;\n");
    assert_holds(script, "    'eat-up') kind=file ;;\n");
    assert_null(strstr(script, "'bare')"));
    free(script);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manual_escapes),
        cmocka_unit_test(test_manual_options),
        cmocka_unit_test(test_completion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
