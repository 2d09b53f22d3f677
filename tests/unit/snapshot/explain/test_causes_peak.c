/* test_causes_peak.c - the patterns of what the peak is made of: each fires on the facts of its
 * program and is silent on those of the cured one, and of programs that resemble it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "peak_program.h"

static peak_program program;

static int clear(void **state) {
    (void)state;
    memset(&program, 0, sizeof(program));
    return 0;
}

/* ---- optimizers ---- */

/* A step of AdamW: state and temporaries, which are freed when the function returns. */
static void step(const char *inner, bool is_freed) {
    uint32_t optimizer =
        peak_call(&program, peak_at(&program, 20), "step", TORCH "optim/adamw.py", 200);
    uint32_t list = peak_call(&program, optimizer, inner, TORCH "optim/adamw.py", 500);
    uint64_t blocks[4];
    peak_put(&program, 100, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    for (int i = 0; i < 4; i++) {
        blocks[i] = peak_put(&program, 25, list, NONE, TIDE_TEMPORARY);
    }
    for (int i = 0; i < 4 && is_freed; i++) {
        peak_free(&program, blocks[i]);
    }
    peak_free(&program, peak_put(&program, 1, peak_at(&program, 21), NONE, TIDE_ACTIVATION));
}

static void foreach_fires(void **state) {
    (void)state;
    step("_multi_tensor_adamw", true);
    peak_has(&program, "foreach_temporaries",
             "make up 100.00 MiB of the peak (50 %), at main (train.py:20)");
}

static void foreach_is_silent_without_lists(void **state) {
    (void)state;
    step("_single_tensor_adamw", true);
    peak_lacks(&program, "foreach_temporaries");
}

/* Momentum that the same function makes in the first step stays. */
static void foreach_is_silent_on_state(void **state) {
    (void)state;
    step("_multi_tensor_adamw", false);
    peak_lacks(&program, "foreach_temporaries");
}

static void lbfgs(int n) {
    uint32_t optimizer =
        peak_call(&program, peak_at(&program, 8), "step", TORCH "optim/lbfgs.py", 410);
    peak_put(&program, 50, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    for (int i = 0; i < n; i++) {
        peak_put(&program, 50, optimizer, NONE, TIDE_OPTIMIZER_STATE);
    }
}

static void lbfgs_fires(void **state) {
    (void)state;
    lbfgs(8);
    peak_has(&program, "lbfgs_history", "8 vectors of 50.00 MiB");
    peak_has(&program, "lbfgs_history", "default of 100, 9.77 GiB");
}

static void lbfgs_is_silent_without_history(void **state) {
    (void)state;
    lbfgs(3);
    peak_lacks(&program, "lbfgs_history");
}

/* ---- copies ---- */

static void load(bool has_twins) {
    uint32_t file =
        peak_call(&program, peak_at(&program, 14), "load", TORCH "serialization.py", 1500);
    for (int i = 0; i < 4; i++) {
        peak_put(&program, 40, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    }
    for (int i = 0; i < 4; i++) {
        peak_put(&program, has_twins ? 40 : 30, file, NONE, TIDE_UNKNOWN);
    }
}

static void loaded_fires(void **state) {
    (void)state;
    load(true);
    peak_has(&program, "loaded_on_the_card",
             "160.00 MiB of the peak (50 %) was read from a file straight onto the card at main "
             "(train.py:14)");
}

/* Data that is loaded to be used there. */
static void loaded_is_silent_on_data(void **state) {
    (void)state;
    load(false);
    peak_lacks(&program, "loaded_on_the_card");
}

static void copy(int n_originals, int n_copies) {
    uint32_t deep =
        peak_call(&program, peak_at(&program, 5), "deepcopy", "/opt/lib/python3.11/copy.py", 140);
    for (int i = 0; i < n_originals; i++) {
        peak_put(&program, 40, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    }
    for (int i = 0; i < n_copies; i++) {
        peak_put(&program, 40, deep, NONE, TIDE_PARAMETER);
    }
}

static void copy_fires(void **state) {
    (void)state;
    copy(4, 4);
    peak_has(&program, "model_copy",
             "A deep copy of a model, made at main (train.py:5), makes up 160.00 MiB");
}

/* Layers that are copies of one another are the model itself. */
static void copy_is_silent_on_layers(void **state) {
    (void)state;
    copy(1, 6);
    peak_lacks(&program, "model_copy");
}

static void convert(const char *function) {
    uint32_t call =
        peak_call(&program, peak_at(&program, 3), function, TORCH "nn/modules/module.py", 1200);
    uint32_t apply = peak_call(&program, call, "Module._apply", TORCH "nn/modules/module.py", 900);
    peak_put(&program, 100, apply, NONE, TIDE_PARAMETER);
    peak_put(&program, 50, peak_at(&program, 9), NONE, TIDE_ACTIVATION);
}

static void double_fires(void **state) {
    (void)state;
    convert("Module.double");
    peak_has(&program, "float64", "converted to float64 at main (train.py:3)");
}

static void double_is_silent_on_float(void **state) {
    (void)state;
    convert("Module.float");
    peak_lacks(&program, "float64");
}

/* Each of n modules converts its weight; `gap` events pass between two releases. */
static void autocast(int n, int gap) {
    static const char *const MODULES[] = {"a", "b", "c", "d"};
    static const char *const WEIGHTS[] = {"a.weight", "b.weight", "c.weight", "d.weight"};
    uint64_t copies[4];
    uint32_t line = peak_module(&program, peak_at(&program, 9), "Net.forward", USER, 30);
    for (int i = 0; i < n; i++) {
        const peak_block weight = {64 * MIB, peak_at(&program, 3), NONE, TIDE_PARAMETER,
                                   WEIGHTS[i]};
        peak_alloc(&program, &weight);
    }
    for (int i = 0; i < n; i++) {
        uint32_t scope = peak_scope(&program, NONE, TIDE_SCOPE_LAYER, MODULES[i]);
        copies[i] = peak_put(&program, 32, line, scope, TIDE_ACTIVATION);
    }
    for (int i = 0; i < n; i++) {
        peak_free(&program, copies[i]);
        for (int j = 0; j < gap; j++) {
            peak_free(&program, peak_put(&program, 1, peak_at(&program, 10), NONE, TIDE_TEMPORARY));
        }
    }
}

static void autocast_fires(void **state) {
    (void)state;
    autocast(4, 0);
    peak_has(&program, "autocast_cache",
             "Copies of 4 weights in half precision make up 128.00 MiB of the peak (33 %), made at "
             "Net.forward (train.py:30)");
}

/* Results that are half as large as the weight are released one by one. */
static void autocast_is_silent_on_results(void **state) {
    (void)state;
    autocast(4, 20);
    peak_lacks(&program, "autocast_cache");
}

/* ---- gradients ---- */

static void reduce(bool has_gradients) {
    uint32_t buckets =
        peak_call(&program, peak_at(&program, 5), "DistributedDataParallel._ddp_init_helper",
                  TORCH "nn/parallel/distributed.py", 1300);
    uint32_t built = peak_call(&program, peak_at(&program, 3), "Linear.__init__",
                               TORCH "nn/modules/linear.py", 9);
    peak_put(&program, 100, built, NONE, TIDE_PARAMETER);
    peak_put(&program, 100, buckets, NONE, TIDE_UNKNOWN);
    if (has_gradients) {
        peak_put(&program, 100, NONE, NONE, TIDE_GRADIENT);
    }
}

static void buckets_fire(void **state) {
    (void)state;
    reduce(true);
    peak_has(&program, "ddp_buckets",
             "make up 100.00 MiB of the peak (33 %): a second copy of all gradients, "
             "made at main (train.py:5)");
}

/* With gradient_as_bucket_view=True the buckets are the gradients. */
static void buckets_are_silent_as_views(void **state) {
    (void)state;
    reduce(false);
    peak_lacks(&program, "ddp_buckets");
}

/* The gradient of a table of 200 MiB, of which a batch uses `used` MiB. */
static void embed(uint64_t used, const char *other) {
    uint32_t line = peak_module(&program, peak_at(&program, 9), "Net.forward", USER, 70);
    uint32_t layer = peak_scope(&program, NONE, TIDE_SCOPE_LAYER, "emb");
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
    uint32_t module = peak_scope(&program, phase, TIDE_SCOPE_LAYER, "emb");
    uint32_t node = peak_scope(&program, module, TIDE_SCOPE_OPERATOR, "EmbeddingBackward0");
    peak_put(&program, 200, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    peak_put(&program, used, line, layer, TIDE_ACTIVATION);
    if (other != NULL) {
        uint32_t head = peak_scope(&program, phase, TIDE_SCOPE_OPERATOR, other);
        peak_free(&program, peak_put(&program, 200, NONE, head, TIDE_TEMPORARY));
    }
    peak_put(&program, 200, NONE, node, TIDE_GRADIENT);
    peak_put(&program, 1, peak_at(&program, 9), NONE, TIDE_TEMPORARY);
}

static void dense_gradient_fires(void **state) {
    (void)state;
    embed(10, NULL);
    peak_has(&program, "dense_embedding_gradient",
             "makes up 200.00 MiB of the peak (49 %), from Net.forward "
             "(train.py:70)");
}

/* A batch that uses most rows; a table that is also the weight of the head. */
static void dense_gradient_is_silent_if_needed(void **state) {
    (void)state;
    embed(100, NULL);
    peak_lacks(&program, "dense_embedding_gradient");
    clear(NULL);
    embed(10, "MmBackward0");
    peak_lacks(&program, "dense_embedding_gradient");
}

/* A base model of 100 MiB with an adapter of 10 MiB, and the state of their optimizer. The backward
 * pass of the peak has not come to the adapter yet. */
static void adapt(int n_steps, const uint64_t *state_mib, size_t n_states) {
    clear(NULL);
    for (int i = 0; i < n_steps; i++) {
        uint32_t scope = peak_scope(&program, NONE, TIDE_SCOPE_STEP, "step");
        peak_scope(&program, scope, TIDE_SCOPE_PHASE, "optimizer");
    }
    peak_put(&program, 100, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    peak_put(&program, 100, NONE, NONE, TIDE_GRADIENT);
    uint64_t adapter = peak_put(&program, 10, NONE, NONE, TIDE_GRADIENT);
    for (size_t i = 0; i < n_states; i++) {
        peak_put(&program, state_mib[i], peak_at(&program, 12), NONE, TIDE_OPTIMIZER_STATE);
    }
    peak_free(&program, adapter);
    peak_put(&program, 50, peak_at(&program, 9), NONE, TIDE_ACTIVATION);
}

static void unused_gradients_fire(void **state) {
    (void)state;
    static const uint64_t ADAM[] = {10, 10};
    adapt(2, ADAM, 2);
    peak_has(&program, "unused_gradients",
             "Gradients of weights that the optimizer does not update make up 100.00 MiB of the "
             "peak (37 %): its state, 20.00 MiB, has the sizes of other gradients");
}

static void used_gradients_are_silent(void **state) {
    (void)state;
    static const uint64_t ADAM[] = {10, 10, 100, 100};
    static const uint64_t FACTORED[] = {10, 10, 10};
    static const uint64_t QUANTIZED[] = {25, 25};
    adapt(2, ADAM, 4);
    peak_lacks(&program, "unused_gradients");
    adapt(2, FACTORED, 3);
    peak_lacks(&program, "unused_gradients");
    adapt(2, QUANTIZED, 2);
    peak_lacks(&program, "unused_gradients");
    adapt(2, ADAM, 0); /* no optimizer with state */
    peak_lacks(&program, "unused_gradients");
    adapt(1, ADAM, 2); /* the first step of the first of several optimizers */
    peak_lacks(&program, "unused_gradients");
    adapt(2, ADAM, 2); /* of each sample: no weight has this size */
    program.events[0].requested_bytes = program.events[0].block_bytes = 90 * MIB;
    peak_lacks(&program, "unused_gradients");
}

/* Steps of a forward pass with 100 MiB of older gradients; `n_backward` backward passes each. */
static void train(int n_backward) {
    uint32_t forward = NONE;
    for (int i = 0; i < 3; i++) {
        uint32_t scope = peak_scope(&program, NONE, TIDE_SCOPE_STEP, "step");
        forward = peak_scope(&program, scope, TIDE_SCOPE_PHASE, "forward");
        for (int j = 0; j < n_backward; j++) {
            peak_scope(&program, scope, TIDE_SCOPE_PHASE, "backward");
        }
        peak_scope(&program, scope, TIDE_SCOPE_PHASE, "optimizer");
    }
    peak_put(&program, 100, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    peak_put(&program, 100, NONE, NONE, TIDE_GRADIENT);
    peak_put(&program, 100, peak_at(&program, 9), forward, TIDE_ACTIVATION);
}

static void stale_gradients_fire(void **state) {
    (void)state;
    train(1);
    peak_has(&program, "gradients_in_forward",
             "Gradients of the last step make up 100.00 MiB of the peak (33 %)");
}

static void stale_gradients_are_silent_when_accumulated(void **state) {
    (void)state;
    train(4);
    peak_lacks(&program, "gradients_in_forward");
}

/* A backward pass computes n_layers layers again in each of n_calls calls of checkpoint. */
static void compute_again(int n_layers, int n_calls) {
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
    uint32_t node = peak_scope(&program, phase, TIDE_SCOPE_OPERATOR, "MmBackward0");
    uint32_t hook = peak_call(&program, NONE, "unpack_hook", TORCH "utils/checkpoint.py", 1100);
    uint32_t line = peak_module(&program, hook, "Net.forward", USER, 80);
    peak_put(&program, 100, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    for (int i = 0; i < n_calls; i++) {
        uint64_t blocks[16];
        for (int j = 0; j < n_layers; j++) {
            blocks[j] = peak_put(&program, 40, line, phase, TIDE_ACTIVATION);
        }
        for (int j = 0; j < n_layers; j++) {
            peak_free(&program, peak_put(&program, 1, NONE, node, TIDE_TEMPORARY));
            peak_free(&program, blocks[j]);
        }
    }
}

static void recomputed_fires(void **state) {
    (void)state;
    compute_again(10, 1);
    peak_has(&program, "recomputed_together",
             "One call of checkpoint, around Net.forward (train.py:80), computed "
             "400.00 MiB of the peak");
}

static void recomputed_is_silent_block_by_block(void **state) {
    (void)state;
    compute_again(10, 3);
    peak_lacks(&program, "recomputed_together");
}

#define TEST(name) cmocka_unit_test_setup(name, clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(foreach_fires),
        TEST(foreach_is_silent_without_lists),
        TEST(foreach_is_silent_on_state),
        TEST(lbfgs_fires),
        TEST(lbfgs_is_silent_without_history),
        TEST(loaded_fires),
        TEST(loaded_is_silent_on_data),
        TEST(copy_fires),
        TEST(copy_is_silent_on_layers),
        TEST(double_fires),
        TEST(double_is_silent_on_float),
        TEST(autocast_fires),
        TEST(autocast_is_silent_on_results),
        TEST(buckets_fire),
        TEST(buckets_are_silent_as_views),
        TEST(dense_gradient_fires),
        TEST(dense_gradient_is_silent_if_needed),
        TEST(unused_gradients_fire),
        TEST(used_gradients_are_silent),
        TEST(stale_gradients_fire),
        TEST(stale_gradients_are_silent_when_accumulated),
        TEST(recomputed_fires),
        TEST(recomputed_is_silent_block_by_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
