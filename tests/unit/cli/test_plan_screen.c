/* test_plan_screen.c - a plan with everything that its report can have fits a screen, and what is
 * cut there is in the whole report. Attention and masks that no change replaces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "made_plan.h"

enum { LONG_REASON = 100 };

static made_plan plan;

static void has(const char *text, const char *words) {
    if (strstr(text, words) == NULL) {
        fail_msg("no \"%s\" in:\n%s", words, text);
    }
}

static void lacks(const char *text, const char *words) {
    if (strstr(text, words) != NULL) {
        fail_msg("\"%s\" in:\n%s", words, text);
    }
}

static size_t count_lines(const char *text) {
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += *text == '\n';
    }
    return n;
}

static void see(const char *name, const char *text) {
    static tide_snapshot_setting facts[2];
    plan.snapshot.plan = facts;
    facts[plan.snapshot.n_plan++] = (tide_snapshot_setting){.name = name, .text = text};
}

static int make(void **state) {
    (void)state;
    made_plan_init(&plan);
    return 0;
}

/* Everything at the same time: two answers, other ways, all kinds of what was left out. */
static int make_rich(void **state) {
    static const char *const REFUSED[] = {"checkpoint_library", "no_grad_eval", "bucket_view",
                                          "adamw8bit", "set_to_none"};
    static const tide_snapshot_setting LINES[] = {
        {.name = "lines.checkpoint:Block",
         .text = "for m in model.modules():\n    if type(m).__name__ == \"Block\":\n        m.a\n"
                 "        m.b\n        m.c\n        m.d\n        m.e\n        m.f\n        m.g"},
        {.name = "place.checkpoint:Block", .text = "train.py:50"},
        {.name = "lines.fused", .text = "for group in optimizer.param_groups: pass"},
        {.name = "place.fused", .text = "before train.py:52"}};
    (void)make(state);
    made_plan_save_lines(&plan, MADE_BOTH, LINES, sizeof(LINES) / sizeof(LINES[0]));
    (void)made_plan_add(&plan, "linear_loss", 8, 140.0);
    (void)made_plan_add(&plan, "chunked_loss", 9, 150.0);
    (void)made_plan_add(&plan, "checkpoint_half:Block", 9, 110.0);
    (void)made_plan_add(&plan, "checkpoint_selective:Block", 10, 108.0);
    (void)made_plan_add(&plan, "offload_activations", 6, 400.0);
    (void)made_plan_add(&plan, "bf16", 6, 60.0);
    for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++) {
        tide_plan_candidate *row = made_plan_add(&plan, REFUSED[i], 12, 100.0);
        row->state = i < 3 ? TIDE_PLAN_IMPOSSIBLE : i == 3 ? TIDE_PLAN_REFUSED : TIDE_PLAN_FAILED;
        (void)snprintf(row->reason, sizeof(row->reason), "%0*zu", LONG_REASON, i);
    }
    made_plan_add(&plan, "compile", 12, 100.0)->state = TIDE_PLAN_NOT_ALLOWED;
    made_plan_add(&plan, "optimizer_in_backward", 12, 100.0)->state = TIDE_PLAN_NOT_RUN;
    plan.plan.all = plan.plan.safe;
    plan.plan.all.set = 1;
    plan.plan.all.row = MADE_CHECKPOINT;
    plan.input.keeps_files = true;
    see("attention", "12 model.py:64 67108864");
    see("masks", "model.py:70 1073741824");
    return 0;
}

static int clean(void **state) {
    (void)state;
    made_plan_remove(&plan);
    return 0;
}

static void rich_plan_fits_a_screen(void **state) {
    (void)state;
    const char *text = made_plan_print(&plan, false);
    if (count_lines(text) > TIDE_PLAN_LINES) {
        fail_msg("%zu lines:\n%s", count_lines(text), text);
    }
    has(text,
        "fits, and is the fastest of what was tried and keeps the numbers: checkpoint each Block + "
        "optimizer with fused=True");
    has(text, "also fits: ");
    has(text, "with --allow precision: checkpoint each Block");
    has(text, "each by itself, the first ");
    has(text, "# 10 lines of checkpoint:Block: in /");
    has(text, "not run: optimizer with foreach=False (cannot lower the peak); the optimizer steps "
              "in the backward pass (--runs was reached); torch.compile (without --allow)");
    has(text, "not possible here: micro_batch (odd batch), the library's own checkpointing (00");
    has(text, "no_grad while the model evaluates, DDP"); /* there is no room for their reasons */
    has(text, "model.py:64 computes attention");
    has(text, "; their snapshots are in ");
    has(text, "/plan.html\n");
}

static void whole_report_lacks_nothing(void **state) {
    (void)state;
    const char *text = made_plan_print(&plan, true);
    has(text, "    # after train.py:50\n    for m in model.modules():\n");
    has(text, "        m.g\n    # before train.py:52\n    for group in optimizer.param_groups");
    has(text, "    it also fits without this: optimizer with fused=True\n");
    has(text, "not run, because they cannot lower the peak: optimizer with foreach=False\n");
    has(text, "no_grad while the model evaluates (00");
    has(text, "optimizer with foreach=False");
    lacks(text, "the first ");
    lacks(text, "--format json prints them");
    has(text, "/plan.html has all of this plan\n");
}

/* Where the lines have room, all of them are printed, and the table has all its rows. */
static void small_plan_is_whole(void **state) {
    (void)state;
    static const tide_snapshot_setting LINES[] = {{.name = "lines.fused", .text = "a\nb\nc"},
                                                  {.name = "place.fused", .text = "train.py:52"}};
    made_plan_save_lines(&plan, MADE_BOTH, LINES, 2);
    const char *text = made_plan_print(&plan, false);
    has(text, "    # after train.py:52\n    a\n    b\n    c\n");
    has(text, "each by itself\n");
    lacks(text, "the first ");
    assert_true(count_lines(text) <= TIDE_PLAN_LINES);
}

/* Of three changes with two lines each, two lines for one and one about the others fit in four. */
static void lines_that_fit(void **state) {
    (void)state;
    const tide_plan_paste paste = {
        .rows = {{"a", "a1\na2", "", 2}, {"b", "b1\nb2", "", 2}, {"c", "c1\nc2", "", 2}},
        .n = 3,
        .n_lines = 6};
    static const size_t SENTENCES[] = {0, 1, 1, 3, 3, 5, 6};
    const char *key = NULL;
    for (size_t n_most = 0; n_most < sizeof(SENTENCES) / sizeof(SENTENCES[0]); n_most++) {
        tide_report report;
        size_t n = 0;
        tide_report_init(&report, "plan");
        plan.input.n_paste = n_most;
        tide_plan_report_paste(&plan.input, &paste, &report);
        while (tide_report_sentence_at(&report, n, &key) != NULL) {
            n++;
        }
        assert_int_equal(n, SENTENCES[n_most]);
        if (n_most == 4) {
            has(tide_report_sentence_at(&report, 2, &key),
                "    # 4 lines of b, c: --format json prints them, and -o FOLDER keeps them in "
                "plan.html");
        }
        tide_report_fini(&report);
    }
}

static void least_memory_comes_first(void **state) {
    (void)state;
    const char *text = made_plan_print(&plan, true);
    const char *table = strstr(text, "each by itself");
    assert_non_null(table);
    const char *offload = strstr(table, "activations in pinned host memory");
    const char *checkpoint = strstr(table, "\n  checkpoint each Block ");
    assert_true(offload != NULL && checkpoint != NULL && offload < checkpoint);
}

static void attention_by_hand(void **state) {
    (void)state;
    see("attention", "12 my model.py:64 67108864");
    has(made_plan_print(&plan, false),
        "my model.py:64 computes attention by a softmax of a square, which is kept (64.00 MiB); "
        "F.scaled_dot_product_attention would not keep it, and --patch tries your change\n");
    see("masks", "my model.py:70 134217728");
    has(made_plan_print(&plan, false),
        "my model.py:70 gives F.scaled_dot_product_attention a mask of 128.00 MiB; a causal one "
        "needs no tensor with is_causal=True, and --patch tries your change\n");
}

/* A mask of 12 GiB / 100 is worth a sentence; less is not, nor a place outside of the program. */
static void nothing_worth_a_sentence(void **state) {
    (void)state;
    see("masks", "model.py:70 128849018");
    lacks(made_plan_print(&plan, false), "a mask of");
    plan.snapshot.n_plan = 0;
    see("masks", "model.py:70 128849020");
    has(made_plan_print(&plan, false), "a mask of 122.88 MiB");
    plan.snapshot.n_plan = 0;
    see("masks", "? 1073741824");
    see("attention", "12 ? 67108864");
    lacks(made_plan_print(&plan, false), "attention");
    plan.snapshot.n_plan = 0;
    see("masks", "model.py:70");
    see("attention", "12");
    lacks(made_plan_print(&plan, false), "attention");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rich_plan_fits_a_screen, make_rich, clean),
        cmocka_unit_test_setup_teardown(whole_report_lacks_nothing, make_rich, clean),
        cmocka_unit_test_setup_teardown(small_plan_is_whole, make, clean),
        cmocka_unit_test_setup(lines_that_fit, make),
        cmocka_unit_test_setup_teardown(least_memory_comes_first, make_rich, clean),
        cmocka_unit_test_setup(attention_by_hand, make),
        cmocka_unit_test_setup(nothing_worth_a_sentence, make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
