/* test_causes_results.c - the causes of a failed request that repeats what its code already made,
 * and of one that finds the card full of activations.
 */
#include "causes_fixture.h"

#include <string.h>

#define FIRST (UINT64_C(1) << 40) /* an address */
#define NEXT (UINT64_C(1) << 36)  /* from one segment to the next */

static recording made;

static int start(void **state) {
    (void)state;
    begin_recording(&made);
    return 0;
}

/* The text of the line of run. */
static void write_line(const char *text) {
    static tide_source_row line;
    line = (tide_source_row){FIXTURE_MODEL, 5, text, false};
    made.source = &line;
    made.n_source = 1;
}

/* Data on the card, and a request that is so many times as large, of the same line. */
static void convert(const char *text, uint64_t times) {
    begin_recording(&made);
    write_line(text);
    alloc_alone(&made, FIRST, 6 * GIB, AT_RUN);
    fail_request(&made, times * 6 * GIB, 17 * GIB, AT_RUN);
}

static void conversion_of_all_data(void **state) {
    (void)state;
    convert("x = data.to(dev).float()", 4);
    explained of;
    explain(&made, &of);
    assert_string_equal(cause_of(&of, "whole_conversion")->words,
                        "The request for 24.00 GiB is 4 times a tensor of 6.00 GiB that the same "
                        "line made, run (model.py:5), `x = data.to(dev).float()`: all of it is "
                        "converted together to a wider type.");
    end_explained(&of);
    convert("x = data.to(dev).float()", 3); /* no type is so much wider */
    assert_silent(&made, "whole_conversion");
    convert("x = data[rows] * 2", 4);
    assert_silent(&made, "whole_conversion");
    convert("x = data.to(dev).float()", 4);
    made.n_source = 0; /* the text was not recorded */
    assert_silent(&made, "whole_conversion");
}

/* A large input, two tensors that the function of the request made, and the request. */
static void compute(const char *text, uint32_t input_at, uint64_t asked_bytes) {
    begin_recording(&made);
    write_line(text);
    alloc_alone(&made, FIRST, 6 * GIB, input_at);
    alloc_alone(&made, FIRST + NEXT, 6 * GIB, AT_RUN);
    alloc_alone(&made, FIRST + 2 * NEXT, 6 * GIB, AT_RUN);
    fail_request(&made, asked_bytes, 5 * GIB, AT_RUN);
}

static void steps_of_full_size(void **state) {
    (void)state;
    compute("s = (x - x.amax(-1)).exp()", AT_MAIN, 6 * GIB);
    explained of;
    explain(&made, &of);
    assert_string_equal(cause_of(&of, "full_size_steps")->words,
                        "2 tensors of 6.00 GiB, which the same code made, were alive when "
                        "run (model.py:5), `s = (x - x.amax(-1)).exp()`, asked for one more of "
                        "that size: each step of such a computation makes a tensor of its own.");
    end_explained(&of);
    compute("s = torch.empty(n, m)", AT_MAIN, 6 * GIB); /* buffers */
    assert_silent(&made, "full_size_steps");
    compute("s = (x - x.amax(-1)).exp()", AT_MAIN, 7 * GIB); /* another size */
    assert_silent(&made, "full_size_steps");
    begin_recording(&made); /* of another function */
    write_line("s = (x - x.amax(-1)).exp()");
    alloc_alone(&made, FIRST, 9 * GIB, AT_MAIN);
    alloc_alone(&made, FIRST + NEXT, 9 * GIB, AT_MAIN);
    fail_request(&made, 9 * GIB, 5 * GIB, AT_RUN);
    assert_silent(&made, "full_size_steps");
}

/* A buffer that a line allocates is no result of its inputs. */
static void a_large_buffer(void **state) {
    (void)state;
    static const char *const TEXTS[] = {"buffer = torch.zeros(n * 2, m)", "y = x[:, None] - x",
                                        "y = x[:, None] + torch.eye(n)"};
    for (size_t i = 0; i < 3; i++) {
        begin_recording(&made);
        write_line(TEXTS[i]);
        alloc_alone(&made, FIRST, 100 * MIB, AT_MAIN);
        fail_request(&made, 40 * GIB, 23 * GIB, AT_RUN);
        explained of;
        explain(&made, &of);
        const tide_cause *cause = cause_of(&of, "too_large_request");
        assert_true((strstr(cause->words, "pair, broadcast") != NULL) == (i > 0));
        assert_true((strstr(cause->cure, "allocates a buffer") != NULL) == (i == 0));
        end_explained(&of);
    }
}

/* By the text of the line, and by the call of the model. */
static void cures_of_a_large_request(void **state) {
    (void)state;
    static const tide_source_row PAIRS = {FIXTURE_MODEL, 5, "d = (a.unsqueeze(1) - b).pow(2)",
                                          false};
    static const tide_source_row CAT = {FIXTURE_MODEL, 5, "return torch.cat(parts, -1)", false};
    for (size_t i = 0; i < 2; i++) {
        begin_recording(&made);
        made.source = i == 0 ? &PAIRS : &CAT;
        made.n_source = 1;
        alloc_alone(&made, FIRST, MIB, AT_MAIN);
        fail_request(&made, 40 * GIB, 23 * GIB, i == 0 ? AT_RUN : AT_OPERATOR);
        explained of;
        explain(&made, &of);
        const tide_cause *cause = cause_of(&of, "too_large_request");
        assert_non_null(
            strstr(cause->words, i == 0 ? "One request, of `d = (a.unsqueeze(1) - b).pow(2)`, is"
                                        : " The model was called at run (model.py:5)"));
        assert_non_null(strstr(cause->cure, i == 0 ? "`torch.cdist(x, y)` or `|x|^2"
                                                   : "call the model on parts of its input"));
        end_explained(&of);
    }
}

/* Layers of a model, each with a result that waits for the backward pass. */
static void layers(uint64_t n_layers, uint64_t n_bytes, uint32_t stack) {
    begin_recording(&made);
    alloc_alone(&made, FIRST, GIB, AT_MAIN);
    for (uint64_t i = 1; i <= n_layers; i++) {
        alloc_alone(&made, FIRST + i * NEXT, n_bytes, stack);
        made.rows[made.n - 1].scope = (uint32_t)(i % 10);
    }
    fail_request(&made, GIB, 512 * MIB, stack);
}

static void activations_of_a_batch(void **state) {
    (void)state;
    static tide_scope_row scopes[10]; /* of ten layers */
    for (uint32_t i = 0; i < 10; i++) {
        scopes[i] = (tide_scope_row){.parent = TIDE_NONE, .kind = TIDE_SCOPE_LAYER, .name = i};
    }
    layers(22, GIB, AT_FORWARD);
    made.scopes = scopes;
    made.n_scopes = 10;
    explained of;
    explain(&made, &of);
    assert_string_equal(cause_of(&of, "activations")->words,
                        "22.00 GiB of the 23.00 GiB allocated were results of 10 places inside the "
                        "model, such as autograd keeps for a backward pass. They grow with the "
                        "batch.");
    end_explained(&of);
    for (size_t i = 0; i < made.n; i++) { /* results of one place */
        made.rows[i].scope = 1;
    }
    assert_silent(&made, "activations");
    layers(22, GIB, AT_RUN); /* outside of the model */
    made.scopes = scopes;
    made.n_scopes = 10;
    assert_silent(&made, "activations");
    layers(10, 4 * MIB, AT_FORWARD); /* little */
    made.scopes = scopes;
    made.n_scopes = 10;
    assert_silent(&made, "activations");
}

/* The same results, if they are a cache of keys and values, which no backward pass reads. */
static void a_cache_of_keys_and_values(void **state) {
    (void)state;
    static const size_t N_CACHES[] = {22, 9, 8}; /* of 23 GiB; 40 % are 9.2 GiB */
    static tide_scope_row scopes[10];
    for (uint32_t i = 0; i < 10; i++) {
        scopes[i] = (tide_scope_row){.parent = TIDE_NONE, .kind = TIDE_SCOPE_LAYER, .name = i};
    }
    for (size_t k = 0; k < 3; k++) {
        layers(22, GIB, AT_FORWARD);
        made.scopes = scopes;
        made.n_scopes = 10;
        for (size_t i = 0, n = 0; i < made.n && n <= N_CACHES[k]; i++) {
            if (made.rows[i].action == TIDE_ACTION_ALLOC) {
                made.rows[i].category = n > 0 || k == 1 ? TIDE_KV_CACHE : TIDE_PARAMETER;
                n++;
            }
        }
        explained of;
        explain(&made, &of);
        if (k == 2) { /* a small cache does not count as activations either */
            assert_int_equal(cause_of(&of, "activations")->bytes, (int64_t)(14 * GIB));
            end_explained(&of);
            assert_silent(&made, "kv_cache");
            continue;
        }
        const tide_cause *cause = cause_of(&of, "kv_cache");
        if (k == 0) {
            assert_string_equal(cause->words,
                                "22.00 GiB of the 23.00 GiB allocated were the KV cache, the keys "
                                "and values of all tokens so far. It grows with the batch and with "
                                "the length.");
        } else {
            assert_int_equal(cause->bytes, (int64_t)(10 * GIB));
        }
        end_explained(&of);
        assert_silent(&made, "activations");
    }
}

/* Small results of ten layers, and large ones of the operators of one function. */
static void few_large_results_are_no_batch(void **state) {
    (void)state;
    static tide_scope_row scopes[10];
    for (uint32_t i = 0; i < 10; i++) {
        scopes[i] = (tide_scope_row){.parent = TIDE_NONE, .kind = TIDE_SCOPE_LAYER, .name = i};
    }
    for (size_t n_operators = 0; n_operators < 2; n_operators++) {
        layers(10, 512 * MIB, AT_FORWARD);
        made.scopes = scopes;
        made.n_scopes = 10;
        made.n--;
        for (uint64_t i = 1; i <= 6; i++) {
            alloc_alone(&made, FIRST + (20 + i) * NEXT, 3 * GIB,
                        n_operators > 0 ? AT_OPERATOR : AT_FORWARD);
        }
        fail_request(&made, GIB, 0, AT_FORWARD);
        if (n_operators > 0) {
            assert_silent(&made, "activations");
        } else {
            explained of;
            explain(&made, &of);
            assert_non_null(cause_of(&of, "activations"));
            end_explained(&of);
        }
    }
}

/* Two tensors and a request. */
static void ask_for_more(uint64_t asked_bytes, uint32_t first, uint32_t stack) {
    begin_recording(&made);
    alloc_alone(&made, FIRST, 8 * GIB, first);
    alloc_alone(&made, FIRST + NEXT, 8 * GIB, stack);
    fail_request(&made, asked_bytes, 7 * GIB, stack);
}

static void equal_tensors(void **state) {
    (void)state;
    ask_for_more(8 * GIB, AT_MAIN, AT_RUN);
    explained of;
    explain(&made, &of);
    assert_string_equal(cause_of(&of, "equal_tensors")->words,
                        "2 tensors of 8.00 GiB hold 16.00 GiB of the 16.00 GiB allocated, and "
                        "another one of that size was asked for at run (model.py:5). They were "
                        "made at main (train.py:10) and on that line.");
    end_explained(&of);
    ask_for_more(6 * GIB, AT_MAIN, AT_RUN); /* another size */
    assert_silent(&made, "equal_tensors");
    ask_for_more(8 * GIB, AT_MAIN, AT_BUILD); /* weights */
    assert_silent(&made, "equal_tensors");
    ask_for_more(8 * GIB, AT_MAIN, AT_RUN);
    made.rows[1].category = made.rows[3].category = TIDE_PARAMETER;
    assert_silent(&made, "equal_tensors");
    ask_for_more(8 * GIB, AT_MAIN, AT_FORWARD); /* layers, whose results wait for their gradients */
    assert_silent(&made, "equal_tensors");
    ask_for_more(8 * GIB, AT_FORWARD, AT_RUN);
    assert_silent(&made, "equal_tensors");
    ask_for_more(8 * GIB, AT_MAIN, AT_RUN);
    made.n--;
    fail_request(&made, 8 * GIB, 7 * GIB, AT_FORWARD);
    assert_silent(&made, "equal_tensors");
    begin_recording(&made); /* it would have fitted in one piece */
    alloc_alone(&made, FIRST, 7 * GIB, AT_MAIN);
    alloc_alone(&made, FIRST + NEXT, 7 * GIB, AT_RUN);
    buy(&made, FIRST + 2 * NEXT, 2600 * MIB, AT_RUN);
    fail_request(&made, 7 * GIB, 6 * GIB, AT_RUN);
    assert_silent(&made, "equal_tensors");
}

/* Other code than a backward pass has freed such results of layers: autograd does not keep them. */
static void equal_tensors_of_layers(void **state) {
    (void)state;
    begin_recording(&made);
    alloc_alone(&made, FIRST, 8 * GIB, AT_FORWARD);
    drop(&made, FIRST, 8 * GIB);
    alloc(&made, FIRST, 8 * GIB, AT_FORWARD);
    alloc_alone(&made, FIRST + NEXT, 8 * GIB, AT_FORWARD);
    fail_request(&made, 8 * GIB, 7 * GIB, AT_FORWARD);
    explained of;
    explain(&made, &of);
    assert_non_null(strstr(cause_of(&of, "equal_tensors")->cure, "a smaller batch for this call"));
    end_explained(&of);
}

/* By the text of the line, one tensor has a value for each pair of rows. */
static void equal_tensors_of_pairs(void **state) {
    (void)state;
    static const char *const TEXTS[] = {"lt = torch.max(a[:, None], b)", "lt = torch.max(a, b)"};
    for (size_t i = 0; i < 2; i++) {
        ask_for_more(8 * GIB, AT_OPERATOR, AT_OPERATOR);
        write_line(TEXTS[i]);
        explained of;
        explain(&made, &of);
        const tide_cause *cause = cause_of(&of, "equal_tensors");
        assert_true((strstr(cause->words, " each pair of rows.") != NULL) == (i == 0));
        assert_true((strstr(cause->cure, "`backward()` on each part") != NULL) == (i == 0));
        end_explained(&of);
    }
}

/* Data, and a request of other code. */
static void move_data(const char *text, tide_category category) {
    begin_recording(&made);
    write_line(text);
    alloc_alone(&made, FIRST, 12 * GIB, AT_RUN)->category = (uint8_t)category;
    alloc_alone(&made, FIRST + NEXT, 8 * GIB, AT_MAIN);
    fail_request(&made, 5 * GIB, 3 * GIB, AT_MAIN);
}

static void data_moved_as_a_whole(void **state) {
    (void)state;
    move_data("rays = rays.to(device)", TIDE_INPUT);
    explained of;
    explain(&made, &of);
    assert_string_equal(cause_of(&of, "data_on_card")->words,
                        "12.00 GiB of the 20.00 GiB allocated are data that the program moved to "
                        "the card as a whole, 12.00 GiB of it at run (model.py:5), `rays = "
                        "rays.to(device)`.");
    end_explained(&of);
    move_data("rays = torch.zeros(n, 6)", TIDE_INPUT); /* made there */
    assert_silent(&made, "data_on_card");
    move_data("rays = rays.to(device)", TIDE_TEMPORARY);
    assert_silent(&made, "data_on_card");
}

/* Iterations that keep tensors of one layer, from the forward and from the backward pass. */
static void keep_in_passes(size_t n_forward, size_t n_backward, bool keeps_input) {
    static const tide_scope_row LAYER = {.parent = TIDE_NONE, .kind = TIDE_SCOPE_LAYER, .name = 1};
    uint64_t next = FIRST;
    begin_recording(&made);
    made.scopes = &LAYER;
    made.n_scopes = 1;
    for (size_t pass = 0; pass < 8; pass++) {
        alloc_alone(&made, next, MIB, AT_MAIN);
        if (!keeps_input) {
            drop(&made, next, MIB);
        }
        for (size_t i = 0; i < n_forward + n_backward; i++) {
            next += NEXT;
            alloc_alone(&made, next, 64 * MIB, i < n_forward ? AT_FORWARD : AT_BACKWARD);
            made.rows[made.n - 1].scope = 0;
        }
        next += NEXT;
        alloc_alone(&made, next, MIB, AT_EXCEPT);
        drop(&made, next, MIB);
        next += NEXT;
    }
    alloc_alone(&made, next, MIB, AT_MAIN);
}

/* A hook keeps an output and its gradient, create_graph=True the graph of both passes. */
static void graphs_of_second_order(void **state) {
    (void)state;
    keep_in_passes(6, 4, false);
    explained of;
    explain(&made, &of);
    assert_non_null(strstr(cause_of(&of, "second_order_graph")->words,
                           "40 % of it made in backward passes. With `create_graph=True`"));
    assert_null(tide_causes_find(&of.causes, "activations_held"));
    end_explained(&of);
    keep_in_passes(1, 1, false);
    assert_silent(&made, "second_order_graph");
    explain(&made, &of);
    assert_non_null(cause_of(&of, "activations_held"));
    end_explained(&of);
    keep_in_passes(6, 0, false);
    assert_silent(&made, "second_order_graph");
}

/* Autograd keeps the input of a pass and some tensors of a layer; many of one place are a cache. */
static void a_cache_is_no_graph(void **state) {
    (void)state;
    keep_in_passes(4, 0, true);
    explained of;
    explain(&made, &of);
    assert_non_null(cause_of(&of, "graph_kept"));
    end_explained(&of);
    keep_in_passes(10, 0, true);
    assert_silent(&made, "graph_kept");
    explain(&made, &of);
    assert_non_null(strstr(cause_of(&of, "results_collected")->words, "11 tensors each time"));
    end_explained(&of);
}

/* ---- sheer size ---- */

/* A card with that many GiB at line 14, when a call of the model asks for some at `asked_at`. */
static void ask(uint64_t gib, uint64_t asked_gib, uint32_t asked_at) {
    begin_recording(&made);
    for (uint64_t i = 0; i < 2; i++) {
        alloc_alone(&made, FIRST + i * NEXT, gib / 2 * GIB, AT_EXCEPT);
    }
    fail_request(&made, asked_gib * GIB, (23 - gib) * GIB, asked_at);
}

static void expect_sheer(const char *words, const char *cure) {
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "sheer_size");
    if (strcmp(cause->words, words) != 0 || strncmp(cause->cure, cure, strlen(cure)) != 0) {
        fail_msg("%s Cure: %s", cause->words, cause->cure);
    }
    end_explained(&of);
}

static void sheer_size(void **state) {
    (void)state;
    static const tide_source_row MAKES[] = {
        {FIXTURE_TRAIN, 10, "out = torch.zeros(shape, device=d)", false},
        {FIXTURE_TRAIN, 14, "tiles = rows.repeat(n, 1)", false}};
    ask(10, 14, AT_RUN);
    expect_sheer("run (model.py:5) asks for 14.00 GiB, 60 % of the 23.00 GiB that PyTorch could "
                 "have, beside 10.00 GiB that was allocated.",
                 "make these tensors smaller (a smaller batch, length or resolution)");
    ask(10, 14, AT_OPERATOR);
    expect_sheer("run (model.py:5) asks for 14.00 GiB, 60 % of the 23.00 GiB that PyTorch could "
                 "have, beside 10.00 GiB that was allocated. The model was called at run "
                 "(model.py:5).",
                 "call the model on a smaller batch");
    ask(20, 4, AT_RUN);
    expect_sheer("20.00 GiB of the 20.00 GiB allocated is at main (train.py:14).",
                 "make these tensors smaller");
    made.source = MAKES;
    made.n_source = 2;
    expect_sheer("20.00 GiB of the 20.00 GiB allocated is at main (train.py:14), `tiles = "
                 "rows.repeat(n, 1)`.",
                 "leave out `.repeat`");
    ask(10, 14, AT_MAIN);
    made.source = MAKES;
    made.n_source = 2;
    expect_sheer("main (train.py:10), `out = torch.zeros(shape, device=d)`, asks for 14.00 GiB, 60 "
                 "% of the 23.00 GiB that PyTorch could have, beside 10.00 GiB that was allocated.",
                 "keep this tensor on the host");
    ask(4, 2, AT_RUN); /* room is left: another cause */
    assert_silent(&made, "sheer_size");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sheer_size),
        cmocka_unit_test_setup(conversion_of_all_data, start),
        cmocka_unit_test_setup(steps_of_full_size, start),
        cmocka_unit_test_setup(a_large_buffer, start),
        cmocka_unit_test_setup(cures_of_a_large_request, start),
        cmocka_unit_test_setup(activations_of_a_batch, start),
        cmocka_unit_test_setup(a_cache_of_keys_and_values, start),
        cmocka_unit_test_setup(few_large_results_are_no_batch, start),
        cmocka_unit_test_setup(equal_tensors, start),
        cmocka_unit_test_setup(equal_tensors_of_layers, start),
        cmocka_unit_test_setup(equal_tensors_of_pairs, start),
        cmocka_unit_test_setup(data_moved_as_a_whole, start),
        cmocka_unit_test_setup(graphs_of_second_order, start),
        cmocka_unit_test_setup(a_cache_is_no_graph, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
