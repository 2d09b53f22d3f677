/* test_causes_growth.c - why a loop keeps memory, with and without the recorded state of autograd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/explain/causes/causes.h"
#include "support/made_snapshot.h"

#define MIB (UINT64_C(1) << 20)

enum { MAX_ROWS = 256, N_PASSES = 8 };

enum { MAIN = 0, CALL, APPLY, MAIN_FILE, MODULE_FILE, EMPTY, CALLED };

static const char *const STRINGS[] = {
    [MAIN] = "main",
    [CALL] = "Module._call_impl",
    [APPLY] = "torch::autograd::generated::MulBackward0::apply(std::vector)",
    [MAIN_FILE] = "/me/train.py",
    [MODULE_FILE] = "/opt/lib/python3.11/site-packages/torch/nn/modules/module.py",
    [EMPTY] = "",
    [CALLED] = "policy",
};

/* The program: an input (line 8), a call of the model (line 9), a backward pass, and a function
 * that line 9 calls. */
enum { INPUT = 0, CALLER, FORWARD, BACKWARD, BELOW, N_STACKS };

static const tide_frame_row FRAMES[] = {{.function = MAIN, .file = MAIN_FILE, .line = 8},
                                        {.function = MAIN, .file = MAIN_FILE, .line = 9},
                                        {.function = CALL, .file = MODULE_FILE, .line = 1700},
                                        {.function = APPLY, .file = EMPTY, .line = 0},
                                        {.function = CALLED, .file = MAIN_FILE, .line = 40}};

static const tide_stack_row STACKS[N_STACKS] = {[INPUT] = {.parent = TIDE_NONE, .frame = 0},
                                                [CALLER] = {.parent = TIDE_NONE, .frame = 1},
                                                [FORWARD] = {.parent = CALLER, .frame = 2},
                                                [BACKWARD] = {.parent = TIDE_NONE, .frame = 3},
                                                [BELOW] = {.parent = CALLER, .frame = 4}};

/* A recording while it is made. `mode` is that of the rows that follow. */
typedef struct program {
    tide_event rows[MAX_ROWS];
    uint8_t modes[MAX_ROWS];
    size_t n;
    uint64_t next;
    uint8_t mode;
    tide_snapshot_at_failure at_failure; /* of a failed request; no holders: none failed */
} program;

static uint64_t alloc(program *of, uint64_t n_bytes, uint32_t stack) {
    assert_true(of->n < MAX_ROWS);
    uint64_t address = ++of->next << 32;
    tide_event *row = &of->rows[of->n];
    *row = made_event(TIDE_ACTION_ALLOC, address, n_bytes, n_bytes);
    row->time_ns = (int64_t)of->n;
    row->stack = stack;
    of->modes[of->n++] = of->mode;
    return address;
}

static void release(program *of, uint64_t address, uint64_t n_bytes) {
    assert_true(of->n < MAX_ROWS);
    of->rows[of->n] = made_event(TIDE_ACTION_FREE, address, n_bytes, n_bytes);
    of->rows[of->n].time_ns = (int64_t)of->n;
    of->n++;
}

/* Expects one cause of growth, NULL: none. `words`: a part of its sentence. */
static void expect(program *of, const char *id, const char *words) {
    const made_tables tables = {.strings = STRINGS,
                                .n_strings = sizeof(STRINGS) / sizeof(STRINGS[0]),
                                .frames = FRAMES,
                                .n_frames = sizeof(FRAMES) / sizeof(FRAMES[0]),
                                .stacks = STACKS,
                                .n_stacks = N_STACKS,
                                .n_devices = 1};
    tide_lifetimes lifetimes;
    tide_facts facts;
    tide_causes causes;
    bool has_modes = of->mode != TIDE_AUTOGRAD_UNKNOWN;
    (void)alloc(of, 512, INPUT); /* the begin of one more pass */
    if (of->at_failure.n_holders > 0) {
        (void)alloc(of, MIB, BELOW);
        of->rows[of->n - 1].action = TIDE_ACTION_OOM;
        of->rows[of->n - 1].address = 0;
    }
    tide_snapshot *snapshot = made_snapshot(NULL, &tables, of->rows, of->n);
    snapshot->event_mode = has_modes ? of->modes : NULL;
    if (of->at_failure.n_holders > 0) {
        snapshot->at_failure = of->at_failure;
    }
    assert_int_equal(tide_lifetimes_init(&lifetimes, snapshot, tide_hostmem_default(), NULL),
                     TIDE_OK);
    assert_int_equal(tide_facts_init(&facts, snapshot, &lifetimes, 0), TIDE_OK);
    assert_int_equal(tide_causes_init(&causes, &facts), TIDE_OK);
    const tide_cause *cause = id != NULL ? tide_causes_find(&causes, id) : NULL;
    const char *at = cause != NULL ? strstr(cause->words, words) : NULL;
    bool is_end = words[0] != '\0' && strcmp(words, "alive.") == 0; /* nothing follows */
    if (id != NULL && (at == NULL || (is_end && at[strlen(words)] != '\0'))) {
        fail_msg("%s, not %s: %s", causes.n_causes > 0 ? causes.causes[0].id : "nothing", id,
                 causes.n_causes > 0 ? causes.causes[0].words : "");
    }
    for (size_t i = 0; i < causes.n_causes; i++) {
        if (causes.causes[i].growth != NULL) {
            assert_string_equal(causes.causes[i].id, id != NULL ? id : "");
        }
    }
    tide_causes_fini(&causes);
    tide_facts_fini(&facts);
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(snapshot);
}

/* An evaluation whose passes keep an input and two results of the model. */
static void evaluate_some(program *of, uint8_t mode, size_t n_passes) {
    *of = (program){.mode = mode};
    for (size_t pass = 0; pass < n_passes; pass++) {
        (void)alloc(of, 2 * MIB, INPUT);
        (void)alloc(of, 6 * MIB, FORWARD);
        (void)alloc(of, 6 * MIB, FORWARD);
    }
}

static void evaluate(program *of, uint8_t mode) {
    evaluate_some(of, mode, N_PASSES);
}

static void what_an_evaluation_keeps(void **state) {
    (void)state;
    static program of;
    evaluate(&of, TIDE_AUTOGRAD_UNKNOWN);
    expect(&of, "graph_kept", "runs the model forward and never backward");
    evaluate(&of, TIDE_AUTOGRAD_ON);
    expect(&of, "graph_kept", "runs the model forward with gradients enabled and never backward");
    evaluate(&of, TIDE_AUTOGRAD_OFF);
    expect(&of, "results_collected", "not graphs: gradients are disabled there.");
    evaluate(&of, TIDE_AUTOGRAD_INFERENCE);
    expect(&of, "results_collected", "not graphs: gradients are disabled there.");
}

/* A training whose passes keep a gradient, made in that mode, or an input that was made while
 * gradients were disabled. */
static void train(program *of, uint8_t mode, bool keeps_gradient) {
    *of = (program){.mode = mode};
    for (size_t pass = 0; pass < N_PASSES; pass++) {
        uint64_t input = alloc(of, 4 * MIB, INPUT);
        uint64_t activation = alloc(of, 20 * MIB, FORWARD);
        uint64_t gradient = alloc(of, 6 * MIB, BACKWARD);
        release(of, activation, 20 * MIB);
        release(of, keeps_gradient ? input : gradient, keeps_gradient ? 4 * MIB : 6 * MIB);
    }
}

static void what_a_training_keeps(void **state) {
    (void)state;
    static program of;
    train(&of, TIDE_AUTOGRAD_UNKNOWN, true);
    expect(&of, "create_graph_cycle", "create_graph=True");
    train(&of, TIDE_AUTOGRAD_ON, true);
    expect(&of, "create_graph_cycle", "create_graph=True");
    train(&of, TIDE_AUTOGRAD_OFF, true); /* gradients without a graph */
    expect(&of, "results_collected", "are collected on the card, not graphs.");
    train(&of, TIDE_AUTOGRAD_ON, false);
    expect(&of, "training_graph_kept", "a graph that needs");
    train(&of, TIDE_AUTOGRAD_OFF, false);
    expect(&of, "results_collected", "gradients are disabled there");
}

/* A loop that makes a result of the model anew on each pass, `more` larger than the last one. The
 * line also makes temporaries of `times` the size. */
static void make_beside(program *of, uint64_t more, bool trains, uint64_t times) {
    *of = (program){.mode = TIDE_AUTOGRAD_UNKNOWN};
    uint64_t old = 0;
    for (size_t pass = 0; pass < N_PASSES; pass++) {
        uint64_t n_bytes = 16 * MIB + pass * more;
        uint64_t input = alloc(of, 4 * MIB, INPUT);
        if (times > 0) {
            release(of, alloc(of, times * n_bytes, FORWARD), times * n_bytes);
        }
        uint64_t made = alloc(of, n_bytes, FORWARD);
        if (old != 0) {
            release(of, old, n_bytes - more);
        }
        if (trains) {
            release(of, alloc(of, MIB, BACKWARD), MIB);
        }
        release(of, input, 4 * MIB);
        old = made;
    }
}

static void make_anew(program *of, uint64_t more, bool trains) {
    make_beside(of, more, trains, 0);
}

/* `hist = F.normalize(torch.cat([hist, y]))` makes some temporaries of the size of `hist`; a model
 * that gets larger and larger images makes many. */
static void what_is_made_anew_by_more_work(void **state) {
    (void)state;
    static program of;
    make_beside(&of, 8 * MIB, false, 1);
    expect(&of, "growing_cache", "8.00 MiB larger than the last one");
    make_beside(&of, 8 * MIB, false, 10);
    expect(&of, NULL, "");
}

static void what_is_made_anew(void **state) {
    (void)state;
    static program of;
    make_anew(&of, 8 * MIB, false);
    expect(&of, "growing_cache", "8.00 MiB larger than the last one");
    make_anew(&of, 8 * MIB, true);
    expect(&of, "replaced_by_larger", "8.00 MiB larger than the last one");
    make_anew(&of, 0, false);
    expect(&of, NULL, "");
    make_anew(&of, 0, true);
    expect(&of, NULL, "");
}

/* ---- who holds it ---- */

/* An evaluation that ran out of memory after `n` passes of 14 MiB each. */
static void hold(program *of, size_t n, const tide_snapshot_holder *holders, size_t n_holders,
                 int64_t others) {
    evaluate_some(of, TIDE_AUTOGRAD_ON, n);
    of->at_failure = (tide_snapshot_at_failure){.allocated_bytes = (int64_t)(n * 14 * MIB) + others,
                                                .holders = holders,
                                                .n_holders = n_holders};
}

/* A variable of a function that the loop calls is a new one in each pass. */
static void a_holder_outlives_the_pass(void **state) {
    (void)state;
    static program of;
    const int64_t bytes = (int64_t)(N_PASSES * 14 * MIB);
    const tide_snapshot_holder holders[] = {
        {"latent", "policy (train.py:40)", bytes, 512, 1, 1},
        {"obs", "main (train.py:9)", bytes, 512, 1, 1},
    };
    hold(&of, N_PASSES, holders, 2, 0);
    expect(&of, "graph_kept", "`obs` in main (train.py:9) holds nearly all of it");
    hold(&of, N_PASSES, holders, 1, 0);
    expect(&of, "graph_kept", "alive."); /* and no holder is named: the words end there */
    const tide_snapshot_holder attribute = {"self.state", "policy (train.py:40)", bytes, 512, 1, 1};
    hold(&of, N_PASSES, &attribute, 1, 0);
    expect(&of, "graph_kept", "`self.state` in policy (train.py:40) holds nearly all of it");
}

/* Beside much other memory, the bytes of many passes are the evidence. */
static void a_holder_of_the_same_bytes(void **state) {
    (void)state;
    static program of;
    enum { N_MANY = 20 };
    const int64_t bytes = (int64_t)(N_MANY * 14 * MIB);
    tide_snapshot_holder list = {"LOSSES", "train.py", 2 * bytes, bytes, N_MANY, N_MANY};
    hold(&of, N_MANY, &list, 1, 8 * bytes);
    expect(&of, "graph_kept",
           "`LOSSES` (train.py) holds nearly all of it: when the request failed, 280.00 MiB");
    list.own_bytes = bytes / 2;
    hold(&of, N_MANY, &list, 1, 8 * bytes);
    expect(&of, "graph_kept", "alive.");
    list.own_bytes = (int64_t)(N_PASSES * 14 * MIB); /* equal, but of few passes */
    hold(&of, N_PASSES, &list, 1, 8 * bytes);
    expect(&of, "graph_kept", "alive.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_evaluation_keeps),
        cmocka_unit_test(what_a_training_keeps),
        cmocka_unit_test(what_is_made_anew),
        cmocka_unit_test(a_holder_outlives_the_pass),
        cmocka_unit_test(a_holder_of_the_same_bytes),
        cmocka_unit_test(what_is_made_anew_by_more_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
