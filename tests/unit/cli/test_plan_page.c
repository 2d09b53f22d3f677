/* test_plan_page.c - the page of a plan: well-formed, with every run, and no text of the program is
 * a command of the page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/files/text_file.h"
#include "common/hostmem.h"
#include "made_plan.h"

enum { DEPTH = 64, NAME = 32, MOST_BYTES = 1 << 20 };

static made_plan plan;
static char *page;

static void has(const char *words) {
    if (strstr(page, words) == NULL) {
        fail_msg("no \"%s\" in:\n%s", words, page);
    }
}

static void lacks(const char *words) {
    if (strstr(page, words) != NULL) {
        fail_msg("\"%s\" in:\n%s", words, page);
    }
}

static void save(void) {
    char path[MADE_PATH + 32];
    tide_error error = {""};
    tide_status status = tide_plan_save_front(&plan.input, &error);
    status = status == TIDE_OK ? tide_plan_save_page(&plan.input, &error) : status;
    (void)snprintf(path, sizeof(path), "%s/" TIDE_PLAN_PAGE, plan.folder);
    status =
        status == TIDE_OK ? tide_text_file_read(path, MOST_BYTES, &page, NULL, &error) : status;
    if (status != TIDE_OK) {
        fail_msg("%s", error.message);
    }
}

static int make(void **state) {
    (void)state;
    static const tide_snapshot_setting LINES[] = {
        {.name = "lines.fused", .text = "if a < b and c > \"d\":\n    pass"},
        {.name = "place.fused", .text = "train.py:52"}};
    made_plan_init(&plan);
    made_plan_save_lines(&plan, MADE_BOTH, LINES, 2);
    plan.input.keeps_files = true;
    return 0;
}

static int clean(void **state) {
    (void)state;
    const tide_hostmem *mem = tide_hostmem_default();
    mem->release(mem->ctx, page);
    page = NULL;
    made_plan_remove(&plan);
    return 0;
}

static bool is_void(const char *name) {
    return strcmp(name, "meta") == 0 || strcmp(name, "!doctype") == 0;
}

/* Each element that begins also ends, in its place. */
static void assert_well_formed(const char *text) {
    char open[DEPTH][NAME];
    size_t n = 0;
    for (const char *at = strchr(text, '<'); at != NULL; at = strchr(at, '<')) {
        char name[NAME];
        const char *end = strchr(at, '>');
        bool is_end = at[1] == '/';
        assert_non_null(end);
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 1 + is_end, " >/"),
                       at + 1 + is_end);
        if (is_end) {
            assert_true(n > 0);
            assert_string_equal(name, open[--n]);
        } else if (end[-1] != '/' && !is_void(name)) {
            assert_true(n < DEPTH);
            (void)snprintf(open[n++], NAME, "%s", name);
        }
        at = end;
    }
    assert_int_equal(n, 0);
}

static void page_is_well_formed_and_alone(void **state) {
    (void)state;
    save();
    assert_int_equal(strncmp(page, "<!doctype html>\n", 16), 0);
    assert_well_formed(page);
    lacks("<script");
    lacks("<link");
    lacks("src=");
    lacks("url(");
    lacks("@import");
    has("<svg xmlns=");
    has("prefers-color-scheme:dark");
}

static void every_run_is_a_row(void **state) {
    (void)state;
    save();
    size_t n_rows = 0;
    for (const char *at = strstr(page, "<tr><td"); at != NULL; at = strstr(at + 1, "<tr><td")) {
        n_rows++;
    }
    assert_int_equal(n_rows, MADE_PROOF + 1);
    has("<td data-name=\"point\" class=\"n\">1</td><td data-name=\"changes\">unchanged</td><td "
        "data-name=\"limit\">none</td><td data-name=\"allocated\" class=\"n\">12.00 GiB</td><td "
        "data-name=\"reserved\" class=\"n\">14.00 GiB</td><td data-name=\"card a step\" "
        "class=\"n\">100 ms (90.0 to 110)</td><td data-name=\"fits\">no: more than is there for "
        "PyTorch</td>");
    has("<td data-name=\"point\" class=\"n\"></td><td data-name=\"changes\">unchanged</td><td "
        "data-name=\"limit\">the card&#39;s</td>");
    has("<td data-name=\"fits\" class=\"yes\">yes</td><td data-name=\"snapshot\"><a "
        "href=\"004.json.gz\">004.json.gz</a></td>");
}

static void ways_to_fit(void **state) {
    (void)state;
    tide_plan_run *with_setting = &plan.rows[MADE_FUSED];
    tide_plan_run *refuted = &plan.rows[MADE_CHECKPOINT];
    (void)snprintf(with_setting->fitting_setting, sizeof(with_setting->fitting_setting),
                   "expandable_segments:True");
    refuted->is_refuted = true;
    (void)snprintf(plan.rows[MADE_LIMITED].reason, sizeof(plan.rows[MADE_LIMITED].reason),
                   "in step 1");
    plan.rows[MADE_LIMITED].outcome = TIDE_OUTCOME_OOM;
    save();
    has("class=\"yes\">with expandable_segments:True</td>");
    has("\"fits\">no: it failed under the card&#39;s limit</td>");
    has("\"fits\">no: out of memory, in step 1</td>");
}

static void sentences_and_lines_are_there(void **state) {
    (void)state;
    save();
    has("<p>train.py does not fit virtual:rtx4090");
    has("<p>fits, and is the fastest of what was tried: checkpoint each Block + optimizer with "
        "fused=True");
    has("<p>optimizer with fused=True:</p>\n<pre tabindex=\"0\"># after train.py:52\n"
        "if a &lt; b and c &gt; &quot;d&quot;:\n    pass\n</pre>");
    has("<p>not possible here: micro_batch (odd batch)</p>");
    has("6 runs in 12 s");
}

/* Names of the program and its messages may have any character. */
static void texts_are_escaped(void **state) {
    (void)state;
    plan.input.program = "<script>alert('1')</script>.py";
    (void)snprintf(plan.rows[MADE_LIMITED].reason, sizeof(plan.rows[MADE_LIMITED].reason),
                   "</td><b onclick=\"x\">\x1b[1m & more");
    (void)snprintf(plan.candidates[3].reason, sizeof(plan.candidates[3].reason), "<img src=x>");
    (void)snprintf(plan.rows[MADE_FUSED].snapshot_path, sizeof(plan.rows[MADE_FUSED].snapshot_path),
                   "a/\"onclick=\"x.json.gz");
    save();
    assert_well_formed(page);
    lacks("<script");
    lacks("<b ");
    lacks("<img");
    lacks("\x1b");
    lacks("\"onclick");
    has("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;.py");
    has("&lt;/td&gt;&lt;b onclick=&quot;x&quot;&gt;?[1m &amp; more");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(page_is_well_formed_and_alone, make, clean),
        cmocka_unit_test_setup_teardown(every_run_is_a_row, make, clean),
        cmocka_unit_test_setup_teardown(ways_to_fit, make, clean),
        cmocka_unit_test_setup_teardown(sentences_and_lines_are_there, make, clean),
        cmocka_unit_test_setup_teardown(texts_are_escaped, make, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
