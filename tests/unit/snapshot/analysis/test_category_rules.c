#define _DEFAULT_SOURCE /* mkstemp */
/* test_category_rules.c - the categories that rules give to the blocks of a training run; files of
 * rules; and no host memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/text/text.h"
#include "snapshot/analysis/category_rules.h"
#include "support/event_rows.h"
#include "support/hostmem_fault.h"
#include "support/pickle_text.h"

enum { TEXT_BYTES = 8192 };

#define F(name, file) "{'name': '" name "', 'filename': '" file "', 'line': 7}"
#define MINE F("train", "/home/me/train.py")
#define NN "/v/site-packages/torch/nn/modules/"
#define CALL F("_call_impl", NN "module.py") ", " MINE
#define ENGINE F("torch::autograd::Engine::run(int)", "")
#define BACKWARD F("torch::autograd::generated::MulBackward0::apply(int)", "") ", " ENGINE
#define ACCUMULATE F("torch::autograd::AccumulateGrad::apply(int)", "") ", " ENGINE
#define OPTIM "/v/site-packages/torch/optim/"
#define STEP F("step", OPTIM "adamw.py") ", " MINE
#define DECORATOR F("decorate_context", "/v/site-packages/torch/utils/_contextlib.py")
#define INIT F("_init_group", OPTIM "adamw.py") ", " STEP
#define ZERO F("zero_grad", OPTIM "optimizer.py") ", " MINE

/* Imports a block made under `made` and released under `freed` (NULL: never), with the frames of
 * `between` in between, and applies the rules of `path`. */
static tide_snapshot *import(const char *made, const char *between, const char *freed,
                             const char *path) {
    char text[TEXT_BYTES];
    tide_snapshot *snapshot = NULL;
    tide_rules *rules = NULL;
    tide_error error;
    int n = snprintf(text, sizeof(text),
                     "{'segments': [], 'device_traces': [["
                     "{'action': 'segment_alloc', 'addr': 1048576, 'size': 2097152, 'frames': []}, "
                     "{'action': 'alloc', 'addr': 1048576, 'size': 512, 'frames': [%s]}",
                     made);
    if (between != NULL) {
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      ", {'action': 'alloc', 'addr': 2097152, 'size': 512, 'frames': [%s]}",
                      between);
    }
    if (freed != NULL) {
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      ", {'action': 'free', 'addr': 1048576, 'size': 512, 'frames': [%s]}", freed);
    }
    snprintf(text + n, sizeof(text) - (size_t)n, "]]}");
    assert_int_equal(pytorch_import_text(text, NULL, &snapshot, &error), TIDE_OK);
    assert_int_equal(tide_rules_create(path, NULL, &rules, &error), TIDE_OK);
    assert_int_equal(tide_rules_apply(rules, snapshot, &error), TIDE_OK);
    tide_rules_destroy(rules);
    return snapshot;
}

static void assert_category(const char *made, const char *between, const char *freed,
                            const char *expected) {
    tide_snapshot *snapshot = import(made, between, freed, NULL);
    size_t i = 0;
    while (snapshot->events.action[i] != TIDE_ACTION_ALLOC) {
        i++;
    }
    assert_string_equal(tide_snapshot_category(snapshot, snapshot->events.category[i]), expected);
    bool is_unknown = strcmp(expected, "unknown") == 0;
    assert_int_equal(snapshot->event_certainty[i],
                     is_unknown ? TIDE_CERTAINTY_UNKNOWN : TIDE_CERTAINTY_RULE);
    for (size_t k = 0; freed != NULL && k < snapshot->n_events; k++) {
        if (snapshot->events.action[k] == TIDE_ACTION_FREE) { /* repeats the block's */
            assert_int_equal(snapshot->events.category[k], snapshot->events.category[i]);
        }
    }
    tide_snapshot_destroy(snapshot);
}

static void what_a_training_run_makes(void **state) {
    (void)state;
    assert_category(MINE, NULL, NULL, "unknown");
    assert_category(F("at::cuda::blas::gemm(int)", "") ", " CALL, NULL, NULL, "workspace");
    assert_category(F("run_conv_plan(int)", "") ", " CALL, NULL, CALL, "workspace");
    assert_category(ACCUMULATE, NULL, BACKWARD, "gradient");
    assert_category(CALL, NULL, CALL, "temporary");
    assert_category(CALL, NULL, BACKWARD, "activation");
    assert_category(CALL, NULL, MINE, "activation");
    assert_category(CALL, NULL, NULL, "activation");
    /* recomputed in the backward pass */
    assert_category(CALL ", " BACKWARD, NULL, CALL ", " BACKWARD, "temporary");
    assert_category(CALL ", " BACKWARD, NULL, BACKWARD, "activation");
    assert_category(BACKWARD, NULL, BACKWARD, "temporary");
    assert_category(BACKWARD, NULL, ZERO, "gradient");
    assert_category(BACKWARD, NULL, NULL, "gradient");
    assert_category(F("_apply", NN "module.py") ", " MINE, NULL, NULL, "parameter");
    assert_category(F("__init__", NN "linear.py") ", " MINE, NULL, NULL, "parameter");
    assert_category(F("_apply", NN "module.py") ", " MINE, NULL, MINE, "unknown");
}

#define MODULE NN "module.py"
#define MOVE(line)                                                                                 \
    "{'name': '_apply', 'filename': '" MODULE "', 'line': " line "}, {'name': '_apply', "          \
    "'filename': '" MODULE "', 'line': 5}, " MINE

/* Imports blocks of these sizes, each moved by a line of _apply, and asserts their categories. */
static void assert_moved(const char *expected, const char *const *lines, const int *n_bytes,
                         size_t n) {
    char text[TEXT_BYTES];
    char said[256] = "";
    tide_snapshot *snapshot = NULL;
    tide_rules *rules = NULL;
    tide_error error;
    tide_text made = tide_text_in(text, sizeof(text));
    tide_text words = tide_text_in(said, sizeof(said));
    tide_text_add(&made, "{'segments': [], 'device_traces': [[");
    for (size_t i = 0; i < n; i++) {
        tide_text_add(&made, "%s{'action': 'alloc', 'addr': %zu, 'size': %d, 'frames': [%s]}",
                      i > 0 ? ", " : "", (i + 1) << 20, n_bytes[i], lines[i]);
    }
    tide_text_add(&made, "]]}");
    assert_int_equal(pytorch_import_text(text, NULL, &snapshot, &error), TIDE_OK);
    assert_int_equal(tide_rules_create(NULL, NULL, &rules, &error), TIDE_OK);
    assert_int_equal(tide_rules_apply(rules, snapshot, &error), TIDE_OK);
    for (size_t i = 0; i < snapshot->n_events; i++) {
        tide_text_add(&words, "%s%s", i > 0 ? " " : "",
                      tide_snapshot_category(snapshot, snapshot->events.category[i]));
    }
    tide_rules_destroy(rules);
    tide_snapshot_destroy(snapshot);
    assert_string_equal(said, expected);
}

static void what_moves_with_a_module(void **state) {
    (void)state;
    const char *const trained[] = {MOVE("66"), MOVE("80"), MOVE("66"), MOVE("80"), MOVE("99")};
    assert_moved("parameter gradient parameter gradient buffer", trained,
                 (const int[]){4096, 4096, 512, 512, 1024}, 5);
    /* Running averages have the size of the last parameter, but there are two of them. */
    const char *const normed[] = {MOVE("66"), MOVE("66"), MOVE("99"), MOVE("99")};
    assert_moved("parameter parameter buffer buffer", normed, (const int[]){512, 512, 512, 512}, 4);
    const char *const alone[] = {MOVE("66"), MOVE("66")};
    assert_moved("parameter parameter", alone, (const int[]){512, 512}, 2);
}

static void calls_of_modules_are_distinguished(void **state) {
    (void)state;
    assert_category(CALL, NULL, CALL, "temporary");
    assert_category(CALL, MINE, CALL, "activation"); /* such as a cache of keys and values */
    const int of_hopper = 32 << 20;
    const char *const made = CALL;
    assert_moved("unknown", &made, &of_hopper, 1); /* may be the workspace of cuBLAS */
    assert_category(F("__init__", NN "batchnorm.py") ", " MINE, NULL, NULL, "unknown");
    /* a closure that the optimizer calls */
    assert_category(CALL ", " STEP, NULL, STEP, "activation");
    assert_category(CALL ", " STEP, NULL, CALL ", " STEP, "temporary");
    assert_category(F("closure", "/home/me/train.py") ", " STEP, NULL, NULL, "unknown");
    assert_category(F("wrap", "/home/me/train.py") ", " DECORATOR ", " STEP, NULL, NULL, "unknown");
    /* an optimizer of the program, which PyTorch wraps, and its decorated method */
    assert_category(F("step", "/home/me/train.py") ", " STEP, NULL, NULL, "optimizer_state");
    assert_category(F("init_state", "/home/me/train.py") ", " DECORATOR ", " F(
                        "step", "/home/me/train.py") ", " STEP,
                    NULL, NULL, "optimizer_state");
}

static void what_an_optimizer_makes(void **state) {
    (void)state;
    assert_category(INIT, NULL, NULL, "optimizer_state");
    assert_category(INIT, NULL, STEP, "optimizer_state");
    assert_category(STEP, NULL, STEP, "temporary");
    assert_category(STEP, NULL, NULL, "optimizer_state");
    /* released by the next call of the optimizer, which replaces it */
    assert_category(STEP, CALL, STEP, "optimizer_state");
    assert_category(STEP, CALL, ZERO, "optimizer_state");
}

/* The category of a block that an optimizer's call makes and that is never released. duration_ns
 * -1: the phase does not end within the recording. */
static const char *category_in_phase(int64_t duration_ns) {
    const char *const strings[] = {"optimizer"};
    tide_scope_row phase = {
        .parent = TIDE_NONE, .kind = TIDE_SCOPE_PHASE, .name = 0, .duration_ns = duration_ns};
    tide_event event = {
        .action = TIDE_ACTION_ALLOC, .stack = TIDE_NONE, .scope = 0, .name = TIDE_NONE};
    tide_snapshot snapshot = {.strings = strings, .n_strings = 1, .scopes = &phase, .n_scopes = 1};
    tide_arena_init(&snapshot.arena, tide_hostmem_default());
    event_rows_set(&snapshot, &event, 1);
    const tide_lifetime block = {.born = 1,
                                 .freed = TIDE_LIFETIME_FOREVER,
                                 .stack = TIDE_NONE,
                                 .scope = 0,
                                 .name = TIDE_NONE};
    tide_rules *rules = NULL;
    tide_error error;
    uint8_t rule = 0;
    assert_int_equal(tide_rules_create(NULL, NULL, &rules, &error), TIDE_OK);
    assert_int_equal(tide_rules_match(rules, &snapshot, &block, 1, &rule), TIDE_OK);
    const char *category = rule == TIDE_NO_RULE ? "" : tide_rules_category(rules, rule);
    tide_rules_destroy(rules);
    tide_arena_fini(&snapshot.arena);
    return category;
}

/* A recording that ends within the optimizer's call, as of a running program, cannot distinguish
 * scratch from state. */
static void an_optimizers_call_that_has_not_ended(void **state) {
    (void)state;
    assert_string_equal(category_in_phase(1000), "optimizer_state");
    assert_string_equal(category_in_phase(-1), "");
}

static void what_is_sent_to_other_ranks(void **state) {
    (void)state;
    assert_category(F("c10d::Reducer::f()", "") ", " MINE, NULL, NULL, "communication");
    assert_category(F("all_gather", "/v/site-packages/torch/distributed/fsdp/x.py") ", " CALL, NULL,
                    CALL, "communication");
    /* the wrapper's forward calls the whole model */
    assert_category(F("linear", "/home/me/model.py") ", " F(
                        "forward", "/v/site-packages/torch/distributed/fsdp/x.py") ", " CALL,
                    NULL, BACKWARD, "activation");
}

/* A recording with context="alloc" has no call stacks at releases: they take the place of the
 * previous event. */
static void releases_without_a_call_stack(void **state) {
    (void)state;
    assert_category(CALL, CALL, "", "temporary");
    assert_category(CALL, "", "", "activation"); /* a thread of autograd, without Python */
    assert_category(BACKWARD, BACKWARD, "", "temporary");
    assert_category(STEP, STEP, "", "temporary");
}

#define HF "/v/site-packages/transformers/"
#define GENERATE F("generate", HF "generation/utils.py") ", " MINE
#define IN_LAYER(where)                                                                            \
    F("update", HF "cache_utils.py") ", " F("_call_impl", NN "module.py") ", " where

/* Caches of keys and values, and what is made beside them. */
static void what_a_cache_keeps(void **state) {
    (void)state;
    static const char POOL[] =
        F("_allocate_kv_cache_tensors", "/v/vllm/v1/worker/gpu_model_runner.py");
    static const char OTHER[] = F("_dummy_run", "/v/vllm/v1/worker/gpu_model_runner.py");
    static const char SGLANG[] = F("_create_buffers", "/v/sglang/srt/mem_cache/memory_pool.py");
    assert_category(IN_LAYER(GENERATE), MINE, NULL, "kv_cache");
    assert_category(IN_LAYER(GENERATE), MINE, IN_LAYER(GENERATE), "kv_cache"); /* in a later call */
    assert_category(IN_LAYER(GENERATE), NULL, IN_LAYER(GENERATE), "temporary"); /* in the same */
    assert_category(IN_LAYER(MINE), MINE, BACKWARD, "activation"); /* a training with use_cache */
    assert_category(CALL ", " GENERATE, MINE, NULL, "activation"); /* a result beside the cache */
    assert_category(F("reorder_cache", HF "cache_utils.py") ", " GENERATE, MINE, GENERATE,
                    "kv_cache");
    assert_category(POOL, MINE, NULL, "kv_cache");
    assert_category(SGLANG, MINE, NULL, "kv_cache");
    assert_category(OTHER, MINE, NULL, "unknown");
    assert_category(F("_allocate_kv_cache_tensors", "/home/me/train.py"), MINE, NULL, "unknown");
}

/* llama.cpp has no names of tensors for the card, but a function for each of its buffers. */
static void what_llama_cpp_allocates(void **state) {
    (void)state;
#define N(name) F(name, "index.node")
    static const char LOAD[] = N("llama_model_base::load_tensors(llama_model_loader&)") ", " MINE;
    static const char CACHE[] = N("llama_kv_cache::llama_kv_cache(llama_model const&)") ", " MINE;
    static const char COMPUTE[] = N("ggml_backend_sched_reserve") ", " MINE;
    assert_category(LOAD, MINE, NULL, "parameter");
    assert_category(CACHE, MINE, NULL, "kv_cache");
    assert_category(COMPUTE, MINE, NULL, "compute_buffer");
    assert_category(N("ggml_cuda_pool_vmm::alloc(unsigned long, unsigned long*)"), MINE, NULL,
                    "compute_buffer");
    assert_category(N("ggml_backend_sched_alloc_graph"), MINE, NULL, "compute_buffer");
    assert_category(N("my_kv_cache()"), MINE, NULL, "unknown");
    assert_category(N("my_model::load_tensors(int)"), MINE, NULL, "unknown");
    assert_category(N("llama_model_base::print_info()"), MINE, NULL, "unknown");
#undef N
}

static void rules_of_a_file_come_first(void **state) {
    (void)state;
    char path[] = "/tmp/tidemark-rules-XXXXXX";
    int file = mkstemp(path);
    static const char RULES[] = "# mine\n\n kv_cache \t _call_(impl|x)$ \nparameter train\\.py:\n";
    assert_true(file >= 0 && write(file, RULES, sizeof(RULES) - 1) == (ssize_t)sizeof(RULES) - 1);
    close(file);
    tide_snapshot *snapshot = import(CALL, MINE, NULL, path);
    assert_string_equal(tide_snapshot_category(snapshot, snapshot->events.category[1]), "kv_cache");
    assert_string_equal(tide_snapshot_category(snapshot, snapshot->events.category[2]),
                        "parameter");
    tide_snapshot_destroy(snapshot);
    unlink(path);
}

static void assert_refused(const char *content, tide_status status, const char *message) {
    char path[] = "/tmp/tidemark-rules-XXXXXX";
    tide_rules *rules = NULL;
    tide_error error;
    int file = mkstemp(path);
    ssize_t n = (ssize_t)strlen(content);
    assert_true(file >= 0 && write(file, content, (size_t)n) == n);
    close(file);
    assert_int_equal(tide_rules_create(path, NULL, &rules, &error), status);
    assert_non_null(strstr(error.message, message));
    unlink(path);
}

static void other_files_are_refused_with_the_line(void **state) {
    (void)state;
    char many[TIDE_MAX_OWN_RULES * 8 + 16] = "";
    char wide[8192];
    for (int i = 0; i <= TIDE_MAX_OWN_RULES; i++) {
        strcat(many, "a b\n");
    }
    memset(wide, 'a', sizeof(wide) - 1);
    wide[sizeof(wide) - 1] = '\0';
    assert_refused("a b\nkv_cache\n", TIDE_INVALID, ":2: 'kv_cache' has no regular expression");
    assert_refused("kv_cache (\n", TIDE_INVALID, ":1: '(' is no regular expression");
    assert_refused(many, TIDE_LIMIT, ":65: there are more than 64 rules");
    assert_refused(wide, TIDE_INVALID, ":1: the line has more than");
    tide_rules *rules = NULL;
    tide_error error;
    assert_int_equal(tide_rules_create("/nowhere/x", NULL, &rules, &error), TIDE_IO);
}

/* Each allocation of the rules fails in turn: nothing is lost, and the next try succeeds. */
static void no_host_memory(void **state) {
    (void)state;
    size_t n_failed = 0;
    tide_snapshot *snapshot = import(CALL, STEP, BACKWARD, NULL);
    for (size_t call = 1;; call++) {
        tide_hostmem_fault fault;
        tide_rules *rules = NULL;
        tide_hostmem_fault_init(&fault, call);
        tide_status status = tide_rules_create(NULL, &fault.mem, &rules, NULL);
        if (status == TIDE_OK) {
            status = tide_rules_apply(rules, snapshot, NULL);
            tide_rules_destroy(rules);
        }
        assert_int_equal(fault.n_live, 0);
        if (status == TIDE_OK) {
            break;
        }
        assert_int_equal(status, TIDE_NO_MEMORY);
        n_failed++;
    }
    assert_true(n_failed > 8);
    tide_snapshot_destroy(snapshot);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_training_run_makes),
        cmocka_unit_test(what_moves_with_a_module),
        cmocka_unit_test(calls_of_modules_are_distinguished),
        cmocka_unit_test(what_an_optimizer_makes),
        cmocka_unit_test(an_optimizers_call_that_has_not_ended),
        cmocka_unit_test(what_is_sent_to_other_ranks),
        cmocka_unit_test(releases_without_a_call_stack),
        cmocka_unit_test(what_a_cache_keeps),
        cmocka_unit_test(what_llama_cpp_allocates),
        cmocka_unit_test(rules_of_a_file_come_first),
        cmocka_unit_test(other_files_are_refused_with_the_line),
        cmocka_unit_test(no_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
