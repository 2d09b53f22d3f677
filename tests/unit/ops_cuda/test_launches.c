/* test_launches.c - the launches of our model that the virtual device reports, compared with those
 * of the cuda device in the emulator: launch for launch, by name and order, with the shapes, types
 * and layouts of products. If the race detector watches the kernels, the bytes of each are compared
 * also: it counts the device memory that a launch reads and writes, each byte once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "programs/wire/launch_list.h"
#include "cuda_emulator/cuda_emulator.h"
#include "fake_cublas/fake_cublas.h"
#include "fake_cudart/fake_cudart.h"
#include "support/same_recordings.h"
#include "unit/model/recorded_run.h"

enum { MAX_LAUNCHES = 4096, NAME_BYTES = 96 };

/* What the cuda device has launched. */
typedef struct seen {
    struct {
        char what[NAME_BYTES];
        size_t bytes; /* that it touched; 0: unknown */
    } launches[MAX_LAUNCHES];
    size_t n;
} seen;

static bool is_product(const char *what) {
    return strncmp(what, "GEMM", 4) == 0;
}

/* The bytes of the last launch are known once the next one begins. */
static void note_bytes(seen *to) {
    if (to->n > 0 && !is_product(to->launches[to->n - 1].what)) {
        to->launches[to->n - 1].bytes = tide_emulator_touched_bytes();
    }
}

/* "(tide_x_kernel<T>)" is tide_x_kernel. */
static void note(void *ctx, const char *what) {
    seen *to = ctx;
    assert_true(to->n < MAX_LAUNCHES);
    note_bytes(to);
    what += what[0] == '(';
    size_t n = is_product(what) ? strlen(what) : strcspn(what, "<)");
    (void)snprintf(to->launches[to->n++].what, NAME_BYTES, "%.*s", (int)n, what);
}

static const char *type_name(uint8_t type) {
    return type == TIDE_RUN_FP32   ? "fp32"
           : type == TIDE_RUN_TF32 ? "tf32"
           : type == TIDE_RUN_BF16 ? "bf16"
           : type == TIDE_RUN_FP16 ? "fp16"
                                   : "?";
}

/* A row in the format of `note`. */
static void say(const tide_launch_list *list, const tide_run_launch *row, char what[NAME_BYTES]) {
    if (row->kind == TIDE_RUN_PRODUCT) {
        (void)snprintf(what, NAME_BYTES, "GEMM %u x %u x %u, %u times, %c%c, %s to %s", row->m,
                       row->n, row->k, row->count,
                       (row->flags & TIDE_RUN_TRANSPOSED_A) != 0 ? 'T' : 'N',
                       (row->flags & TIDE_RUN_TRANSPOSED_B) != 0 ? 'T' : 'N', type_name(row->type),
                       type_name(row->out_type));
        return;
    }
    const char *name = tide_strings_text(&list->texts, row->name);
    (void)snprintf(what, NAME_BYTES, "%.*s", (int)strcspn(name, "<"), name);
}

/* Kernels whose bytes also depend on values: tokens may name one row of the table more than once,
 * and the bytes of the optimizer are unknown if the loss was scaled, because an infinite gradient
 * sets a flag that stops AdamW. */
static bool depends_on_values(const char *what, const tide_workload_config *config) {
    static const char *const OPTIMIZER[] = {"tide_unscale_kernel", "tide_clip_kernel",
                                            "tide_adamw_kernel"};
    for (size_t i = 0; i < sizeof(OPTIMIZER) / sizeof(OPTIMIZER[0]); i++) {
        if (config->precision == TIDE_PRECISION_FP16_MIXED && strcmp(what, OPTIMIZER[i]) == 0) {
            return true;
        }
    }
    return strcmp(what, "tide_embedding_forward_kernel") == 0;
}

static void expect_same(const seen *cuda, const tide_launch_list *list,
                        const tide_workload_config *config) {
    size_t k = 0;
    for (size_t i = 0; i < list->n_rows; i++) {
        const tide_run_launch *row = &list->rows[i];
        char what[NAME_BYTES];
        if (row->kind == TIDE_RUN_LAUNCH_MARK || row->kind == TIDE_RUN_RECORD ||
            row->kind == TIDE_RUN_STREAM_WAIT) {
            continue;
        }
        assert_true(k < cuda->n);
        say(list, row, what);
        if (strcmp(what, cuda->launches[k].what) != 0) {
            fail_msg("launch %zu: virtual has %s, cuda %s", k, what, cuda->launches[k].what);
        }
        size_t touched = cuda->launches[k].bytes;
        bool has_bytes = tide_emulator_detects_races() && row->kind != TIDE_RUN_PRODUCT;
        if (has_bytes &&
            (touched > row->bytes || (touched < row->bytes && !depends_on_values(what, config)))) {
            fail_msg("launch %zu, %s: virtual has %zu bytes, cuda touches %zu", k, what,
                     (size_t)row->bytes, touched);
        }
        k++;
    }
    assert_int_equal(k, cuda->n);
}

/* Runs it on both devices; the caller finishes the list and releases the rows. */
static seen *run_both(const tide_workload_config *config, tide_launch_list *ret_list) {
    recorded_run runs[2];
    tide_workload_config logged = *config;
    seen *cuda = calloc(1, sizeof(*cuda));
    assert_non_null(cuda);
    tide_fake_cudart_reset();
    tide_fake_cublas_reset();
    tide_fake_cudart_state()->launched = note;
    tide_fake_cudart_state()->launched_ctx = cuda;
    recorded_run_start(&runs[0], "cuda", config, TIDE_UNLIMITED, TIDE_OK);
    note_bytes(cuda);
    tide_fake_cudart_state()->launched = NULL;
    tide_launch_list_init(ret_list, tide_hostmem_default());
    logged.launches = ret_list;
    recorded_run_start(&runs[1], "virtual:h100-80", &logged, TIDE_UNLIMITED, TIDE_OK);
    recorded_run_end(&runs[0]);
    recorded_run_end(&runs[1]);
    return cuda;
}

static void expect_same_launches(const tide_workload_config *config) {
    tide_launch_list list;
    seen *cuda = run_both(config, &list);
    expect_same(cuda, &list, config);
    tide_launch_list_fini(&list);
    free(cuda);
}

static void every_variant(const tide_model_config *model, tide_precision precision, int step) {
    for (int variant = 0; variant < 16; variant += step) {
        tide_workload_config config = workload_variant(model, precision, variant);
        config.clip_grad_norm = config.clip_grad_norm > 0 ? 1e-3 : 0; /* so that it clips */
        config.warmup_steps = 0;
        config.steps = 2;
        expect_same_launches(&config);
    }
}

static void every_precision(void **state) {
    (void)state;
    const tide_model_config model = tiny_model();
    for (int precision = 0; precision < TIDE_N_PRECISIONS; precision++) {
        every_variant(
            &model, (tide_precision)precision,
            precision == TIDE_PRECISION_FP32 || precision == TIDE_PRECISION_BF16_MIXED ? 1 : 3);
    }
}

/* Rows of whole packs, heads that tensor cores do not support, more than one group of rows and more
 * tensors than a list holds. */
static void other_shapes(void **state) {
    (void)state;
    const tide_model_config model = {.size = "custom",
                                     .vocab_size = 40,
                                     .d_model = 24,
                                     .d_ff = 32,
                                     .n_layers = 9,
                                     .n_heads = 2,
                                     .context_length = 40,
                                     .batch_size = 2,
                                     .rope_theta = 10000};
    every_variant(&model, TIDE_PRECISION_FP32, 5);
    every_variant(&model, TIDE_PRECISION_BF16_MIXED, 5);
    every_variant(&model, TIDE_PRECISION_BF16_TRUE, 7);
}

static void mlps(void **state) {
    (void)state;
    for (int i = 0; i < 3 * TIDE_N_PRECISIONS; i++) {
        tide_workload_config config;
        tide_workload_config_init(&config);
        config.architecture = TIDE_MLP;
        config.model =
            (tide_model_config){.size = "mlp", .d_model = 24, .n_layers = 3, .batch_size = 10};
        config.precision = (tide_precision)(i / 3);
        config.mode = (tide_mode)(i % 3);
        config.clip_grad_norm = i % 2 == 0 && config.mode == TIDE_TRAIN ? 1e-3 : 0;
        config.warmup_steps = 0;
        config.steps = 2;
        expect_same_launches(&config);
    }
}

static size_t n_launches_before(const tide_launch_list *list, const char *mark) {
    size_t n = 0;
    for (size_t i = 0; i < list->n_rows; i++) {
        bool is_mark = list->rows[i].kind == TIDE_RUN_LAUNCH_MARK;
        if (is_mark && strcmp(tide_strings_text(&list->texts, list->rows[i].name), mark) == 0) {
            return n;
        }
        n += !is_mark;
    }
    fail_msg("there is no mark \"%s\"", mark);
    return 0;
}

/* The marks of phases: on cuda a step without its optimizer launches what a training step launches
 * before that mark, and the loss is the last launch before the backward pass.
 */
static void marks(void **state) {
    (void)state;
    const tide_model_config model = tiny_model();
    tide_workload_config config = workload_variant(&model, TIDE_PRECISION_FP32, 0);
    tide_launch_list train;
    tide_launch_list list;
    config.warmup_steps = 0;
    config.steps = 1;
    config.mode = TIDE_TRAIN;
    seen *cuda = run_both(&config, &train);
    size_t n_before = n_launches_before(&train, "optimizer begins");
    size_t n_forward = n_launches_before(&train, "backward begins");
    assert_string_equal(cuda->launches[n_forward - 1].what, "tide_cross_entropy_mean_kernel");
    assert_true(is_product(cuda->launches[n_forward].what)); /* the gradient of the head */
    assert_int_equal(n_launches_before(&train, "step ends"), cuda->n);
    assert_true(n_before < cuda->n);
    free(cuda);
    config.mode = TIDE_FORWARD_BACKWARD;
    cuda = run_both(&config, &list);
    assert_int_equal(cuda->n, n_before);
    assert_int_equal(n_launches_before(&list, "step begins"),
                     n_launches_before(&train, "step begins"));
    tide_launch_list_fini(&list);
    tide_launch_list_fini(&train);
    free(cuda);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_precision),
        cmocka_unit_test(other_shapes),
        cmocka_unit_test(mlps),
        cmocka_unit_test(marks),
    };
    return cmocka_run_group_tests_name("ops_cuda.launches", tests, NULL, NULL);
}
