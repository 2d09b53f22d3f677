/* test_document.c - steps, phases, names and categories that are added to PyTorch's history.
 *
 * A history is a text with one word for each event: "+1" allocates block 1, "-1" frees it, "!" is a
 * failed allocation, "[" and "]" begin and end an annotation of the program. The result is also a
 * text: the step and the first letter of the phase of each event, "." for neither, with "u" if the
 * annotation is the innermost scope; or the first letter of each allocation's category.
 */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <cmocka.h>

#include "common/text/text.h"
#include "programs/launch/document/document.h"
#include "snapshot/document/categories.h"

enum { MAX_MARKS = 32, MAX_DEVICES = 2, TEXT_BYTES = 16384 };

typedef struct history {
    const char *words[MAX_DEVICES]; /* by device; NULL: there is no such device */
    const tide_left_mark *marks;
    size_t n_marks;
    const tide_left_name *names;
    size_t n_names;
    int64_t n_dropped; /* rows of device 0 before its first word */
    bool is_out_of_memory;
} history;

#define MARKS(...)                                                                                 \
    .marks = (const tide_left_mark[]){__VA_ARGS__},                                                \
    .n_marks = sizeof((const tide_left_mark[]){__VA_ARGS__}) / sizeof(tide_left_mark)
#define NAMES(...)                                                                                 \
    .names = (const tide_left_name[]){__VA_ARGS__},                                                \
    .n_names = sizeof((const tide_left_name[]){__VA_ARGS__}) / sizeof(tide_left_name)
#define MARK(text, ...)                                                                            \
    {                                                                                              \
        .name = (text), .rows = (const int64_t[MAX_DEVICES]) {                                     \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define ADDRESS(block) ((uint64_t)(block) << 20)

/* ---- the file of a history ---- */

/* Words that are rows. Each word advances the time by 1 us. */
static int64_t add_trace(tide_text *to, size_t device, const char *words) {
    int64_t n_rows = 0;
    int time_us = 1000 + (int)device;
    const char *comma = "";
    tide_text_add(to, "[");
    for (const char *word = words; *word != '\0';
         word += strcspn(word, " "), word += *word == ' ') {
        unsigned long long address = ADDRESS(strtoul(word + 1, NULL, 10));
        time_us += 10;
        if (*word == '[' || *word == ']') {
            continue; /* an annotation */
        }
        if (*word == '!') {
            tide_text_add(to,
                          "%s{\"action\":\"oom\",\"device_free\":1024,\"size\":4096,\"stream\":0,"
                          "\"time_us\":%d,\"frames\":[]}",
                          comma, time_us);
        } else {
            const char *const ACTIONS[2] = {*word == '+' ? "alloc" : "free_requested",
                                            *word == '+' ? NULL : "free_completed"};
            for (size_t i = 0; i < 2 && ACTIONS[i] != NULL; i++) {
                tide_text_add(to,
                              "%s{\"action\":\"%s\",\"addr\":%llu,\"size\":512,\"stream\":0,"
                              "\"time_us\":%d,\"frames\":[]}",
                              comma, ACTIONS[i], address, time_us);
                comma = ",";
            }
        }
        comma = ",";
        n_rows++;
    }
    tide_text_add(to, "]");
    return n_rows;
}

static void add_annotations(tide_text *to, const char *words) {
    int time_us = 1000;
    const char *comma = "";
    for (const char *word = words; *word != '\0';
         word += strcspn(word, " "), word += *word == ' ') {
        time_us += 10;
        if (*word == '[' || *word == ']') {
            tide_text_add(to, "%s{\"name\":\"mine\",\"stage\":\"%s\",\"device\":0,\"time_us\":%d}",
                          comma, *word == '[' ? "START" : "END", time_us);
            comma = ",";
        }
    }
}

/* The document of the history, read from a file that is then removed. */
static tide_status try_read(const history *of, tide_snapshot **ret_snapshot, tide_error *error) {
    char path[] = "/tmp/tidemark-test-XXXXXX";
    static char content[TEXT_BYTES];
    tide_left_peak peaks[MAX_DEVICES] = {{0}};
    size_t n_devices = of->words[1] != NULL ? 2 : 1;
    tide_text text = tide_text_in(content, sizeof(content));
    tide_text_add(&text, "{\"segments\":[],\"device_traces\":[");
    for (size_t i = 0; i < n_devices; i++) {
        tide_text_add(&text, "%s", i > 0 ? "," : "");
        peaks[i].n_rows = add_trace(&text, i, of->words[i]);
    }
    tide_text_add(&text, "],\"external_annotations\":[");
    add_annotations(&text, of->words[0]);
    tide_text_add(&text, "]}");
    peaks[0].n_rows += of->n_dropped;
    int number = mkstemp(path);
    assert_true(number >= 0);
    assert_int_equal(write(number, content, text.n_used), (ssize_t)text.n_used);
    assert_int_equal(close(number), 0);
    const tide_left process = {.pid = 7,
                               .snapshot_path = path,
                               .command = "p",
                               .torch = "2.14.1",
                               .cuda = "13.0",
                               .python = "3.12",
                               .backend = "native",
                               .exception = "",
                               .is_out_of_memory = of->is_out_of_memory,
                               .peaks = peaks,
                               .n_devices = n_devices,
                               .marks = of->marks,
                               .n_marks = of->n_marks,
                               .names = of->names,
                               .n_names = of->n_names};
    const tide_left_list list = {.n_inexact = 0};
    const tide_launch_config config = {.cards = "h100-80+h100-80"};
    tide_status status = tide_launch_document(&process, &list, &config, ret_snapshot, error);
    (void)unlink(path);
    return status;
}

/* ---- what became of it ---- */

static void say_scope(const tide_snapshot *snapshot, uint32_t scope, tide_text *to) {
    int step = -1;
    char phase = '\0';
    bool is_user = scope != TIDE_NONE && snapshot->scopes[scope].kind == TIDE_SCOPE_USER;
    for (; scope != TIDE_NONE; scope = snapshot->scopes[scope].parent) {
        const tide_scope_row *row = &snapshot->scopes[scope];
        if (row->kind == TIDE_SCOPE_STEP) {
            step = (int)row->index;
        } else if (row->kind == TIDE_SCOPE_PHASE && phase == '\0') {
            phase = tide_snapshot_text(snapshot, row->name)[0];
        }
    }
    tide_text_add(to, "%s", to->n_used > 0 ? " " : "");
    if (step >= 0) {
        tide_text_add(to, "%d", step);
    }
    if (phase != '\0') {
        tide_text_add(to, "%c", phase);
    }
    tide_text_add(to, "%s", is_user ? "u" : step < 0 ? "." : "");
}

/* The scopes of the device's events. */
static void assert_scopes(const history *of, size_t device, const char *expected) {
    char found[512];
    tide_error error;
    tide_snapshot *snapshot = NULL;
    tide_text text = tide_text_in(found, sizeof(found));
    if (try_read(of, &snapshot, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (snapshot->events.device[i] == device) {
            say_scope(snapshot, tide_index_at(&snapshot->events.scope, i), &text);
        }
    }
    tide_snapshot_destroy(snapshot);
    assert_string_equal(found, expected);
}

/* The categories and names of the allocations: "parameter w, unknown -". */
static void assert_tensors(const history *of, const char *expected) {
    char found[512];
    tide_error error;
    tide_snapshot *snapshot = NULL;
    tide_text text = tide_text_in(found, sizeof(found));
    if (try_read(of, &snapshot, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        if (event.action == TIDE_ACTION_ALLOC) {
            const char *name =
                event.name == TIDE_NONE ? "-" : tide_snapshot_text(snapshot, event.name);
            tide_text_add(&text, "%s%s %s", text.n_used > 0 ? ", " : "",
                          tide_snapshot_category(snapshot, event.category), name);
        }
    }
    tide_snapshot_destroy(snapshot);
    assert_string_equal(found, expected);
}

/* ---- steps and phases ---- */

static void a_step_has_three_phases(void **state) {
    (void)state;
    const history of = {.words = {"+1 +2 +3 -2 +4 -3 +5 -4"},
                        MARKS(MARK("step begins", 1), MARK("backward begins", 3),
                              MARK("backward ends", 5), MARK("optimizer begins", 6),
                              MARK("step ends", 7), MARK("step begins", 7))};
    /* Events between backward and optimizer have only a step, and events after the last step have
     * none. */
    assert_scopes(&of, 0, ". 0f 0f 0b 0b 0 0o .");
}

static void gradient_accumulation_is_one_step(void **state) {
    (void)state;
    const history of = {.words = {"+1 +2 +3 +4 +5 +6"},
                        MARKS(MARK("step begins", 0), MARK("backward begins", 1),
                              MARK("backward ends", 2), MARK("backward begins", 3),
                              MARK("backward ends", 4), MARK("optimizer begins", 4),
                              MARK("step ends", 5), MARK("step begins", 5),
                              MARK("optimizer begins", 5), MARK("step ends", 6))};
    assert_scopes(&of, 0, "0f 0b 0f 0b 0o 1o");
}

static void every_optimizer_has_its_phase(void **state) {
    (void)state;
    const history of = {.words = {"+1 +2 +3 +4 +5"},
                        MARKS(MARK("step begins", 0), MARK("optimizer begins", 1),
                              MARK("optimizer ends", 2), MARK("backward begins", 3),
                              MARK("backward ends", 4), MARK("optimizer begins", 4),
                              MARK("step ends", 5))};
    assert_scopes(&of, 0, "0f 0o 0f 0b 0o");
}

/* The first step begins with the first call of a module, which is within the optimizer's. */
static void an_optimizer_that_calls_its_closure_is_not_a_forward_pass(void **state) {
    (void)state;
    const history of = {
        .words = {"+1 +2 +3 +4 +5 +6 +7"},
        MARKS(MARK("optimizer begins", 0), MARK("step begins", 0), MARK("backward begins", 1),
              MARK("backward ends", 2), MARK("step ends", 3), MARK("step begins", 3),
              MARK("optimizer begins", 3), MARK("backward begins", 4), MARK("backward ends", 5),
              MARK("step ends", 6), MARK("step begins", 6), MARK("backward begins", 6),
              MARK("backward ends", 7), MARK("optimizer begins", 7), MARK("step ends", 7))};
    assert_scopes(&of, 0, "0f 0b 0o 1f 1b 1o 2b");
    const history nested = {.words = {"+1 +2 +3 +4 +5"},
                            MARKS(MARK("step begins", 0), MARK("optimizer begins", 0),
                                  MARK("backward begins", 1), MARK("backward begins", 2),
                                  MARK("backward ends", 3), MARK("backward ends", 4),
                                  MARK("step ends", 5))};
    assert_scopes(&nested, 0, "0f 0b 0b 0o 0o");
}

static void calls_are_steps_where_nothing_is_optimised(void **state) {
    (void)state;
    const history calls = {
        .words = {"+1 +2 +3 +4"},
        MARKS(MARK("call begins", 1), MARK("call begins", 2), MARK("program ends", 4))};
    assert_scopes(&calls, 0, ". 0 1 1");
    const history trained = {.words = {"+1 +2 +3 +4"},
                             MARKS(MARK("call begins", 0), MARK("backward begins", 1),
                                   MARK("backward ends", 2), MARK("call begins", 3),
                                   MARK("program ends", 4))};
    assert_scopes(&trained, 0, "0f 0b 0f 1f");
}

static void a_failure_keeps_its_phase_and_its_step(void **state) {
    (void)state;
    const history of = {
        .words = {"+1 +2 !"},
        MARKS(MARK("step begins", 0), MARK("backward begins", 1), MARK("backward ends", 3)),
        .is_out_of_memory = true};
    assert_scopes(&of, 0, "0f 0b 0b");
    const history caught = {
        .words = {"+1 ! +2 +3"},
        MARKS(MARK("step begins", 0), MARK("optimizer begins", 3), MARK("step ends", 4))};
    assert_scopes(&caught, 0, "0f 0f 0f 0o");
}

static void rows_that_were_dropped_count(void **state) {
    (void)state;
    const history of = {
        .words = {"+1 +2 +3"},
        MARKS(MARK("step begins", 3), MARK("optimizer begins", 12), MARK("step ends", 13)),
        .n_dropped = 10};
    assert_scopes(&of, 0, "0f 0f 0o");
}

static void each_device_has_rows_of_its_own(void **state) {
    (void)state;
    const history of = {
        .words = {"+1 +2 +3", "+4 +5"},
        MARKS(MARK("step begins", 0, 0), MARK("optimizer begins", 2, 0), MARK("step ends", 3, 1))};
    assert_scopes(&of, 0, "0f 0f 0o");
    assert_scopes(&of, 1, "0o .");
}

static void marks_behind_the_last_event_do_no_harm(void **state) {
    (void)state;
    const history of = {.words = {"+1"},
                        MARKS(MARK("step begins", 0), MARK("optimizer begins", 5),
                              MARK("step ends", 9), MARK("step begins", 9))};
    assert_scopes(&of, 0, "0f");
}

static void unknown_marks_and_ends_without_begins(void **state) {
    (void)state;
    const history of = {.words = {"+1 +2"},
                        MARKS(MARK("step ends", 0), MARK("backward ends", 0), MARK("lunch", 0),
                              MARK("backward begins", 1))};
    assert_scopes(&of, 0, ". .");
}

static void an_annotation_lies_in_the_phase_that_it_begins_in(void **state) {
    (void)state;
    const history inside = {
        .words = {"+1 [ +2 ] +3 +4"},
        MARKS(MARK("step begins", 0), MARK("optimizer begins", 3), MARK("step ends", 4))};
    assert_scopes(&inside, 0, "0f 0fu 0f 0o");
    const history across = {
        .words = {"+1 [ +2 +3 +4 ]"},
        MARKS(MARK("step begins", 0), MARK("optimizer begins", 2), MARK("step ends", 4))};
    assert_scopes(&across, 0, "0f 0fu 0o 0o");
    const history without = {.words = {"[ +1 ] +2"}, .n_marks = 0};
    assert_scopes(&without, 0, "u .");
}

/* ---- names and categories ---- */

static void a_name_is_of_the_block_that_lives_then(void **state) {
    (void)state;
    const history of = {.words = {"+1 +2 -1 +1 +3"},
                        NAMES({0, 2, ADDRESS(1), "parameter", "w", false},
                              {0, 5, ADDRESS(1), "workspace", "workspace of cuBLAS", false},
                              {0, 5, ADDRESS(2), "optimizer_state", "w.exp_avg", false},
                              {0, 5, ADDRESS(9), "gradient", "of nothing", false})};
    assert_tensors(&of, "parameter w, optimizer_state w.exp_avg, workspace workspace of cuBLAS, "
                        "unknown -");
}

static void what_nobody_names_is_known_by_its_lifetime(void **state) {
    (void)state;
    const history of = {.words = {"+1 +2 +3 +4 -3 -2 -4 +5 +6"},
                        MARKS(MARK("step begins", 1), MARK("backward begins", 3),
                              MARK("backward ends", 7), MARK("optimizer begins", 7),
                              MARK("step ends", 8))};
    /* 1 existed before; the backward pass finds 2 and 3; it makes and frees 4; the optimizer makes
     * and keeps 5. */
    assert_tensors(&of, "unknown -, activation -, activation -, temporary -, optimizer_state -, "
                        "unknown -");
}

static void what_outlives_its_step_is_not_temporary(void **state) {
    (void)state;
    const history of = {.words = {"+1 +2 -2 -1"},
                        MARKS(MARK("step begins", 0), MARK("optimizer begins", 3),
                              MARK("step ends", 3), MARK("step begins", 3),
                              MARK("optimizer begins", 4), MARK("step ends", 4))};
    assert_tensors(&of, "unknown -, temporary -");
}

/* For example an average of the weights, made after the first step of the optimizer. */
static void what_lives_on_for_steps_is_no_activation(void **state) {
    (void)state;
    const history of = {
        .words = {"+1 +2 -2 +3 -3 +4 -4"},
        MARKS(MARK("step begins", 0), MARK("backward begins", 2), MARK("step ends", 3),
              MARK("step begins", 3), MARK("backward begins", 4), MARK("step ends", 5),
              MARK("step begins", 5), MARK("backward begins", 6), MARK("step ends", 7))};
    assert_tensors(&of, "unknown -, activation -, activation -, activation -");
}

static void what_the_host_fills_is_an_input_if_it_is_soon_replaced(void **state) {
    (void)state;
    const history of = {
        .words = {"+1 +2 +3 +4 -4 +5 -5 -3 +6 -6"},
        MARKS(MARK("step begins", 2), MARK("step ends", 5), MARK("step begins", 5),
              MARK("step ends", 7), MARK("step begins", 7), MARK("step ends", 10),
              MARK("step begins", 10), MARK("step ends", 10)),
        NAMES({0, 1, ADDRESS(1), "input", "", true}, {0, 2, ADDRESS(2), "input", "", true},
              {0, 2, ADDRESS(2), "input", "x", true}, /* it was passed to a module */
              {0, 3, ADDRESS(3), "input", "", true}, {0, 4, ADDRESS(4), "input", "y", true})};
    /* 1 may be a weight; 2 is passed to a module; 3 is replaced; the host did not fill 4. */
    assert_tensors(&of, "unknown -, input x, input -, temporary -, temporary -, temporary -");
}

static void a_failure_leaves_activations(void **state) {
    (void)state;
    const history of = {
        .words = {"+1 +2 -2 !"}, MARKS(MARK("step begins", 0)), .is_out_of_memory = true};
    assert_tensors(&of, "activation -, temporary -");
}

static void names_of_another_device_are_not_taken(void **state) {
    (void)state;
    const history of = {.words = {"+1", "+1"},
                        NAMES({1, 1, ADDRESS(1), "parameter", "b", false},
                              {0, 1, ADDRESS(1), "parameter", "a", false})};
    assert_tensors(&of, "parameter a, parameter b");
}

static void a_category_of_the_programs_own(void **state) {
    (void)state;
    const history of = {.words = {"+1"}, NAMES({0, 1, ADDRESS(1), "cache", "keys", false})};
    assert_tensors(&of, "cache keys");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_three_phases),
        cmocka_unit_test(gradient_accumulation_is_one_step),
        cmocka_unit_test(every_optimizer_has_its_phase),
        cmocka_unit_test(an_optimizer_that_calls_its_closure_is_not_a_forward_pass),
        cmocka_unit_test(calls_are_steps_where_nothing_is_optimised),
        cmocka_unit_test(a_failure_keeps_its_phase_and_its_step),
        cmocka_unit_test(rows_that_were_dropped_count),
        cmocka_unit_test(each_device_has_rows_of_its_own),
        cmocka_unit_test(marks_behind_the_last_event_do_no_harm),
        cmocka_unit_test(unknown_marks_and_ends_without_begins),
        cmocka_unit_test(an_annotation_lies_in_the_phase_that_it_begins_in),
        cmocka_unit_test(a_name_is_of_the_block_that_lives_then),
        cmocka_unit_test(what_nobody_names_is_known_by_its_lifetime),
        cmocka_unit_test(what_outlives_its_step_is_not_temporary),
        cmocka_unit_test(what_lives_on_for_steps_is_no_activation),
        cmocka_unit_test(what_the_host_fills_is_an_input_if_it_is_soon_replaced),
        cmocka_unit_test(a_failure_leaves_activations),
        cmocka_unit_test(names_of_another_device_are_not_taken),
        cmocka_unit_test(a_category_of_the_programs_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
