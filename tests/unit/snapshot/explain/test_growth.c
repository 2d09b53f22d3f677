/* test_growth.c - when memory counts as growing from one pass of a loop to the next: programs whose
 * passes keep blocks, and healthy programs that must not count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/explain/facts.h"
#include "snapshot/explain/words/growth_words.h"
#include "support/made_snapshot.h"

enum { MAX_ROWS = 1024 };

#define MIB (UINT64_C(1) << 20)

enum {
    MAIN = 0,
    CALL,
    APPLY,
    ADAM,
    MAIN_FILE,
    MODULE_FILE,
    ADAM_FILE,
    EVALUATE,
    EMPTY,
    CLOSURE_NAME,
    BACKWARD_NAME
};

static const char *const STRINGS[] = {
    "main",
    "Module._call_impl",
    "torch::autograd::generated::MulBackward0::apply(std::vector)",
    "Adam.step",
    "/me/train.py",
    "/opt/lib/python3.11/site-packages/torch/nn/modules/module.py",
    "/opt/lib/python3.11/site-packages/torch/optim/adam.py",
    "evaluate",
    "",
    "closure",
    "backward",
};

/* The program:
 *      8  for batch in loader:                    the lines of the loop
 *      9      loss = model(batch)
 *     10      loss.backward()
 *     11      optimizer.step()
 *     12      kept.append(...)
 */
enum { INPUT = 0, CALLER, FORWARD, BACKWARD, STEPPER, OPTIMIZER, KEEP, AFTER, CLOSURE, N_STACKS };

static const tide_frame_row FRAMES[] = {
    {.function = MAIN, .file = MAIN_FILE, .line = 8},
    {.function = MAIN, .file = MAIN_FILE, .line = 9},
    {.function = CALL, .file = MODULE_FILE, .line = 1700},
    {.function = APPLY, .file = EMPTY, .line = 0},
    {.function = MAIN, .file = MAIN_FILE, .line = 11},
    {.function = ADAM, .file = ADAM_FILE, .line = 90},
    {.function = MAIN, .file = MAIN_FILE, .line = 12},
    {.function = MAIN, .file = MAIN_FILE, .line = 15},
    {.function = CLOSURE_NAME, .file = MAIN_FILE, .line = 5},
};

static const tide_stack_row STACKS[N_STACKS] = {
    [INPUT] = {.parent = TIDE_NONE, .frame = 0},   [CALLER] = {.parent = TIDE_NONE, .frame = 1},
    [FORWARD] = {.parent = CALLER, .frame = 2},    [BACKWARD] = {.parent = TIDE_NONE, .frame = 3},
    [STEPPER] = {.parent = TIDE_NONE, .frame = 4}, [OPTIMIZER] = {.parent = STEPPER, .frame = 5},
    [KEEP] = {.parent = TIDE_NONE, .frame = 6},    [AFTER] = {.parent = TIDE_NONE, .frame = 7},
    [CLOSURE] = {.parent = OPTIMIZER, .frame = 8},
};

typedef struct run {
    tide_event events[MAX_ROWS];
    size_t n;
    uint64_t next;
    uint64_t held[64]; /* of programs that free later */
    bool is_inference;
} run;

static tide_event *add(run *of, tide_action action, uint64_t address, uint64_t n_bytes) {
    assert_true(of->n < MAX_ROWS);
    tide_event *row = &of->events[of->n];
    *row = made_event(action, address, n_bytes, n_bytes);
    row->time_ns = (int64_t)of->n++;
    return row;
}

static uint64_t alloc(run *of, uint64_t n_bytes, uint32_t stack) {
    uint64_t address = ++of->next << 32;
    add(of, TIDE_ACTION_ALLOC, address, n_bytes)->stack = stack;
    return address;
}

static void release(run *of, uint64_t address, uint64_t n_bytes) {
    add(of, TIDE_ACTION_FREE, address, n_bytes);
}

/* What a healthy pass does; `pass` adds what the program of the case does at its end. */
static void healthy(run *of) {
    uint64_t input = alloc(of, 2 * MIB, INPUT);
    uint64_t activation = alloc(of, 20 * MIB, FORWARD);
    if (!of->is_inference) {
        uint64_t gradient = alloc(of, 20 * MIB, BACKWARD);
        release(of, gradient, 20 * MIB);
    }
    release(of, activation, 20 * MIB);
    release(of, input, 2 * MIB);
}

/* ---- programs; each adds a pass ---- */

static void frees_all(run *of, size_t pass) {
    (void)pass;
    healthy(of);
}

static void keeps(run *of, size_t pass) {
    (void)pass;
    healthy(of);
    alloc(of, 6 * MIB, KEEP);
}

static void keeps_since_two(run *of, size_t pass) {
    healthy(of);
    if (pass >= 2) {
        alloc(of, 4 * MIB, KEEP);
    }
}

static void keeps_every_third(run *of, size_t pass) {
    healthy(of);
    if (pass % 3 == 0) {
        alloc(of, 6 * MIB, KEEP);
    }
}

static void keeps_at_first(run *of, size_t pass) {
    healthy(of);
    if (pass < 4) {
        alloc(of, 6 * MIB, KEEP);
    }
}

static void keeps_little(run *of, size_t pass) {
    if (pass == 0) {
        alloc(of, 900 * MIB, AFTER);
    }
    healthy(of);
    alloc(of, 512, KEEP);
}

static void makes_state(run *of, size_t pass) {
    (void)pass;
    healthy(of);
    alloc(of, 8 * MIB, OPTIMIZER);
}

/* What the closure of `optimizer.step(closure)` makes is the program's. */
static void keeps_in_closure(run *of, size_t pass) {
    (void)pass;
    healthy(of);
    alloc(of, 8 * MIB, CLOSURE);
}

static void replaces(run *of, size_t pass) {
    uint64_t n_bytes = (pass + 1) * 10 * MIB;
    healthy(of);
    uint64_t next = alloc(of, n_bytes, KEEP);
    if (pass > 0) {
        release(of, of->held[0], n_bytes - 10 * MIB);
    }
    of->held[0] = next;
}

static void varies(run *of, size_t pass) {
    uint64_t n_bytes = (1 + pass * 7 % 5) * 10 * MIB;
    healthy(of);
    if (pass > 0) {
        release(of, of->held[0], of->held[1]);
    }
    of->held[0] = alloc(of, n_bytes, KEEP);
    of->held[1] = n_bytes;
}

/* The last n results. */
static void queues(run *of, size_t pass, size_t n) {
    healthy(of);
    if (pass >= n) {
        release(of, of->held[pass % n], 6 * MIB);
    }
    of->held[pass % n] = alloc(of, 6 * MIB, KEEP);
}

static void queues_five(run *of, size_t pass) {
    queues(of, pass, 5);
}

static void queues_ten(run *of, size_t pass) {
    queues(of, pass, 10);
}

static void only_loads(run *of, size_t pass) {
    (void)pass;
    alloc(of, 2 * MIB, INPUT);
    alloc(of, 6 * MIB, KEEP);
}

/* Longer and longer inputs: every line grows, and the result is replaced by a larger one. */
static void lengthens(run *of, size_t pass) {
    uint64_t n_bytes = (pass + 1) * 10 * MIB;
    release(of, alloc(of, 512, INPUT), 512);
    release(of, alloc(of, 2 * n_bytes, FORWARD), 2 * n_bytes);
    uint64_t next = alloc(of, n_bytes, KEEP);
    if (pass > 0) {
        release(of, of->held[0], n_bytes - 10 * MIB);
    }
    of->held[0] = next;
}

/* Models with their gradients, in a list. */
static void makes_models(run *of, size_t pass) {
    (void)pass;
    healthy(of);
    alloc(of, 8 * MIB, KEEP);
    of->events[of->n - 1].category = TIDE_PARAMETER;
    alloc(of, 8 * MIB, KEEP);
    of->events[of->n - 1].category = TIDE_GRADIENT;
}

/* A loop on one line, such as a list comprehension. */
static void collects_on_one_line(run *of, size_t pass) {
    of->held[pass] = alloc(of, 6 * MIB, CALLER);
    release(of, alloc(of, 20 * MIB, FORWARD), 20 * MIB);
}

/* ---- the rule ---- */

typedef struct judged {
    tide_snapshot *snapshot;
    tide_lifetimes lifetimes;
    tide_facts facts;
} judged;

static void judge_with(run *of, const tide_scope_row *scopes, size_t n_scopes, judged *ret) {
    const made_tables tables = {.strings = STRINGS,
                                .n_strings = sizeof(STRINGS) / sizeof(STRINGS[0]),
                                .frames = FRAMES,
                                .n_frames = sizeof(FRAMES) / sizeof(FRAMES[0]),
                                .stacks = STACKS,
                                .n_stacks = N_STACKS,
                                .scopes = scopes,
                                .n_scopes = n_scopes,
                                .n_devices = 1};
    ret->snapshot = made_snapshot(NULL, &tables, of->events, of->n);
    assert_int_equal(
        tide_lifetimes_init(&ret->lifetimes, ret->snapshot, tide_hostmem_default(), NULL), TIDE_OK);
    assert_int_equal(tide_facts_init(&ret->facts, ret->snapshot, &ret->lifetimes, 0), TIDE_OK);
}

static void judge(run *of, judged *ret) {
    judge_with(of, NULL, 0, ret);
}

static void forget(judged *of) {
    tide_facts_fini(&of->facts);
    tide_lifetimes_fini(&of->lifetimes);
    tide_snapshot_destroy(of->snapshot);
}

typedef struct expectation {
    void (*pass)(run *of, size_t pass);
    size_t n_passes;
    bool is_inference;
    const char *words; /* "": nothing grows */
} expectation;

static void growth_follows_the_rule(void **state) {
    (void)state;
    static const expectation CASES[] = {
        {frees_all, 12, false, ""},
        {keeps, 8, false,
         "by 6.00 MiB on each iteration of the loop at main (train.py:8-12), in 8 so far, "
         "allocated "
         "at main (train.py:12)"},
        {keeps, 8, true,
         "by 6.00 MiB on each iteration of the loop at main (train.py:8-12), in 8 so far, "
         "allocated "
         "at main (train.py:12)"},
        {keeps, 3, false, ""}, /* too few passes */
        {keeps_since_two, 8, false,
         "by 4.00 MiB on each iteration of the loop at main (train.py:8-12), in 6 so far, "
         "allocated "
         "at main (train.py:12)"},
        {keeps_every_third, 24, false,
         "by 6.00 MiB on every 3rd iteration of the loop at main (train.py:8-12), in 8 so far, "
         "allocated at main (train.py:12)"},
        {keeps_at_first, 24, false, ""},
        {keeps_little, 20, false, ""},
        {makes_state, 12, false, ""},
        {keeps_in_closure, 12, false,
         "by 8.00 MiB on each iteration of the loop at main (train.py:8-11), in 12 so far, "
         "allocated at closure (train.py:5)"},
        {replaces, 12, false,
         "by 10.00 MiB on each iteration of the loop at main (train.py:8-12), in 12 so far, "
         "allocated at main (train.py:12)"},
        {varies, 16, false, ""},
        {queues_five, 16, false, ""},
        {queues_ten, 30, false, ""},
        {only_loads, 16, false, ""},
        {lengthens, 12, false, ""},
        {makes_models, 12, false, ""},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        static run of;
        char text[512] = "";
        judged it;
        tide_text to = tide_text_in(text, sizeof(text));
        memset(&of, 0, sizeof(of));
        of.is_inference = CASES[i].is_inference;
        for (size_t pass = 0; pass < CASES[i].n_passes; pass++) {
            CASES[i].pass(&of, pass);
        }
        alloc(&of, 512, INPUT); /* the begin of one more pass */
        judge(&of, &it);
        if (it.facts.growth.n_facts > 0) {
            tide_growth_add_words(&it.facts, &it.facts.growth.facts[0], &to);
        }
        if (strcmp(text, CASES[i].words) != 0 || it.facts.growth.n_facts > 1) {
            fail_msg("case %zu: %zu facts, \"%s\"", i, it.facts.growth.n_facts, text);
        }
        forget(&it);
    }
}

/* The sentence quotes the line that keeps the blocks, if its text was recorded. */
static void the_line_is_quoted(void **state) {
    (void)state;
    static run of;
    char text[512] = "";
    judged it;
    const tide_source_row line = {MAIN_FILE, 12, "kept.append(loss)", false};
    tide_text to = tide_text_in(text, sizeof(text));
    memset(&of, 0, sizeof(of));
    for (size_t pass = 0; pass < 8; pass++) {
        keeps(&of, pass);
    }
    alloc(&of, 512, INPUT);
    judge(&of, &it);
    it.snapshot->source = &line;
    it.snapshot->n_source = 1;
    tide_growth_add_line(&it.facts, &it.facts.growth.facts[0], &to);
    assert_string_equal(text, ", allocated at main (train.py:12), `kept.append(loss)`");
    forget(&it);
}

/* What a loop on one line keeps counts if it outlives the loop: if much later it is still there. */
static void a_line_that_collects_must_outlive_it(void **state) {
    (void)state;
    for (int frees = 0; frees < 2; frees++) {
        static run of;
        judged it;
        memset(&of, 0, sizeof(of));
        for (size_t pass = 0; pass < 8; pass++) {
            collects_on_one_line(&of, pass);
        }
        for (size_t pass = 0; frees && pass < 8; pass++) {
            release(&of, of.held[pass], 6 * MIB);
        }
        for (size_t i = 0; i < 60; i++) {
            release(&of, alloc(&of, 512, AFTER), 512);
        }
        judge(&of, &it);
        assert_int_equal(it.facts.growth.n_facts, frees ? 0 : 1);
        assert_true(frees || it.facts.growth.facts[0].loop->is_one_line);
        forget(&it);
    }
}

static void state_of_a_healthy_program_does_not_count(void **state) {
    (void)state;
    static const uint8_t CATEGORIES[] = {TIDE_PARAMETER, TIDE_OPTIMIZER_STATE, TIDE_WORKSPACE,
                                         TIDE_WEIGHT_COPY};
    for (size_t i = 0; i < sizeof(CATEGORIES); i++) {
        static run of;
        judged it;
        memset(&of, 0, sizeof(of));
        for (size_t pass = 0; pass < 8; pass++) {
            keeps(&of, pass);
            of.events[of.n - 1].category = CATEGORIES[i];
        }
        judge(&of, &it);
        assert_int_equal(it.facts.growth.n_facts, 0);
        forget(&it);
    }
}

/* A loop without forward and backward counts only if it filled the device. */
static void a_filled_device_is_a_fact(void **state) {
    (void)state;
    static run of;
    judged it;
    memset(&of, 0, sizeof(of));
    for (size_t pass = 0; pass < 16; pass++) {
        only_loads(&of, pass);
    }
    tide_event *failed = add(&of, TIDE_ACTION_OOM, 0, 6 * MIB);
    failed->stack = KEEP;
    judge(&of, &it);
    assert_int_equal(it.facts.growth.n_facts, 1);
    assert_int_equal(it.facts.growth.facts[0].kind, TIDE_GROWTH_FILLS);
    assert_int_equal(it.facts.failure.event, (int64_t)of.n - 1);
    forget(&it);
}

/* A backward pass or a step of an optimizer on each pass makes a loop one that trains, whatever it
 * allocates. */
static void a_loop_that_trains_needs_no_module(void **state) {
    (void)state;
    for (size_t every = 1; every <= 2; every++) {
        static run of;
        static tide_scope_row scopes[16];
        judged it;
        memset(&of, 0, sizeof(of));
        size_t n = 0;
        for (size_t pass = 0; pass < 16; pass++) {
            if (pass % every == 0) {
                scopes[n++] = (tide_scope_row){.parent = TIDE_NONE,
                                               .kind = TIDE_SCOPE_PHASE,
                                               .name = BACKWARD_NAME,
                                               .begin_ns = (int64_t)of.n + 1};
            }
            only_loads(&of, pass);
        }
        judge_with(&of, scopes, n, &it);
        assert_int_equal(it.facts.growth.n_facts, every == 1);
        forget(&it);
    }
}

/* Time steps that keep what the backward pass after them needs, in three iterations. */
static void unroll(run *of, uint32_t freed_in) {
    memset(of, 0, sizeof(*of));
    for (size_t iteration = 0; iteration < 3; iteration++) {
        for (size_t step = 0; step < 8; step++) {
            release(of, alloc(of, 512, INPUT), 512);
            of->held[step] = alloc(of, 6 * MIB, FORWARD);
            release(of, alloc(of, 512, KEEP), 512);
        }
        alloc(of, 512, AFTER);
        for (size_t step = 0; step < 8; step++) {
            release(of, of->held[step], 6 * MIB);
            of->events[of->n - 1].scope = freed_in;
        }
        release(of, alloc(of, 512, AFTER), 512);
    }
}

/* What a backward pass frees was kept for it. */
static void what_a_backward_pass_consumes_does_not_grow(void **state) {
    (void)state;
    static run of;
    static const tide_scope_row SCOPES[] = {
        {.parent = TIDE_NONE, .kind = TIDE_SCOPE_PHASE, .name = BACKWARD_NAME, .begin_ns = 1000}};
    judged it;
    unroll(&of, 0);
    judge_with(&of, SCOPES, 1, &it);
    assert_int_equal(it.facts.growth.n_facts, 0);
    forget(&it);
    unroll(&of, TIDE_NONE); /* the program frees it, as after an evaluation */
    judge_with(&of, SCOPES, 1, &it);
    assert_true(it.facts.growth.n_facts > 0);
    forget(&it);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth_follows_the_rule),
        cmocka_unit_test(the_line_is_quoted),
        cmocka_unit_test(a_line_that_collects_must_outlive_it),
        cmocka_unit_test(state_of_a_healthy_program_does_not_count),
        cmocka_unit_test(a_filled_device_is_a_fact),
        cmocka_unit_test(a_loop_that_trains_needs_no_module),
        cmocka_unit_test(what_a_backward_pass_consumes_does_not_grow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
