/* test_plan_words.c - how tidemark plan would try the cure of a cause: the command where the
 * recording shows that a plan can run it, and silence otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "peak_program.h"

static peak_program program;

/* AdamW's foreach step of a program that trains. */
static int train(void **state) {
    (void)state;
    memset(&program, 0, sizeof(program));
    program.command = "python train.py --batch 8";
    program.torch = "2.14.1";
    program.card = "rtx4090";
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "optimizer");
    uint32_t step = peak_call(&program, peak_at(&program, 20), "step", TORCH "optim/adamw.py", 200);
    uint32_t list = peak_call(&program, step, "_multi_tensor_adamw", TORCH "optim/adamw.py", 500);
    uint64_t blocks[4];
    peak_put(&program, 100, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    for (int i = 0; i < 4; i++) {
        blocks[i] = peak_put(&program, 25, list, phase, TIDE_TEMPORARY);
    }
    for (int i = 0; i < 4; i++) {
        peak_free(&program, blocks[i]);
    }
    peak_free(&program, peak_put(&program, 1, peak_at(&program, 21), NONE, TIDE_ACTIVATION));
    return 0;
}

/* Logits, what cross_entropy makes of them, and their gradient. */
static int train_with_logits(void **state) {
    (void)train(state);
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
    uint32_t head = peak_module(&program, peak_at(&program, 22), "LM.forward", USER, 15);
    uint32_t loss =
        peak_call(&program, peak_at(&program, 23), "cross_entropy", TORCH "nn/functional.py", 3000);
    uint32_t node = peak_scope(&program, phase, TIDE_SCOPE_OPERATOR, "LogSoftmaxBackward0");
    peak_put(&program, 200, head, NONE, TIDE_ACTIVATION);
    peak_put(&program, 200, loss, NONE, TIDE_ACTIVATION);
    peak_put(&program, 200, NONE, node, TIDE_TEMPORARY);
    return 0;
}

static void observe(const char *name) {
    program.plan[program.n_plan++] = (tide_snapshot_setting){.name = name, .text = "text"};
}

static void assert_words(const char *expected) {
    char words[PEAK_TEXT];
    peak_plan(&program, words);
    assert_string_equal(words, expected);
}

static void change_that_the_stacks_show(void **state) {
    (void)state;
    assert_words("To try it without a GPU: `tidemark plan --device virtual:rtx4090 --try fused -- "
                 "python train.py --batch 8` runs the program with this change: optimizer with "
                 "fused=True (same up to rounding).");
    program.card = NULL;
    assert_words("To try it without a GPU: `tidemark plan --device virtual:CARD --try fused -- "
                 "python train.py --batch 8` runs the program with this change: optimizer with "
                 "fused=True (same up to rounding).");
}

static void changes_that_an_observed_run_offers(void **state) {
    (void)state;
    observe("can.chunked_loss");
    observe("can.linear_loss");
    observe("cannot.fused");
    assert_words(
        "To try it without a GPU: `tidemark plan --device virtual:rtx4090 --try "
        "linear_loss --try chunked_loss -- python train.py --batch 8` runs the program "
        "with each of these changes: head and cross-entropy together, in chunks (same up to "
        "rounding), cross-entropy in 8 checkpointed chunks (same up to rounding).");
}

static void changes_that_are_not_known(void **state) {
    (void)state;
    assert_words("To try it without a GPU: `tidemark plan --device virtual:rtx4090 -- python "
                 "train.py --batch 8` runs the program with such changes, and prints the fastest "
                 "that fits.");
}

static void nothing_is_offered(void **state) {
    (void)state;
    observe("cannot.fused");
    assert_words("");
}

static void changed_run(void **state) {
    (void)state;
    observe("can.fused");
    observe("did.checkpoint:Block");
    assert_words("");
}

static void command_that_cannot_start_again(void **state) {
    (void)state;
    static const char *const COMMANDS[] = {NULL, "python", "python -c 'import train'",
                                           "python train.py --name 'a b'",
                                           "python -m ipykernel_launcher -f kernel.json"};
    for (size_t i = 0; i < sizeof(COMMANDS) / sizeof(COMMANDS[0]); i++) {
        program.command = COMMANDS[i];
        assert_words("");
    }
}

static void other_program(void **state) {
    (void)state;
    program.torch = NULL;
    assert_words("");
    program.torch = "2.14.1";
    program.rank = 1;
    assert_words("");
    program.rank = 0;
    program.is_pickle = true;
    assert_words("");
    program.is_pickle = false;
    program.scopes[0].kind = TIDE_SCOPE_USER; /* no phase of training */
    assert_words("");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(change_that_the_stacks_show, train),
        cmocka_unit_test_setup(changes_that_an_observed_run_offers, train_with_logits),
        cmocka_unit_test_setup(changes_that_are_not_known, train_with_logits),
        cmocka_unit_test_setup(nothing_is_offered, train),
        cmocka_unit_test_setup(changed_run, train),
        cmocka_unit_test_setup(command_that_cannot_start_again, train),
        cmocka_unit_test_setup(other_program, train)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
