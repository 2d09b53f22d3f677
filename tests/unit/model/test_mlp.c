/* test_mlp.c - the MLP: its loss and gradients compared with double, its memory equal to the closed
 * form to the byte, and the lifetimes of its tensors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/layers/mlp.h"
#include "recorded_run.h"
#include "support/hostmem_fault.h"

enum { C = 19, L = 3, R = 11, N_LAYER = C * C + C, N_PARAMETERS = L * N_LAYER };

/* One small model, computed in double. */
typedef struct reference {
    struct {
        double weight[C][C];
        double bias[C];
    } layers[L];
    double x[L + 1][R][C]; /* the input of each layer; the last one is the output */
    double h[L][R][C];     /* products */
} reference;

static double below(double x) {
    return erfc(-x / sqrt(2)) / 2;
}

/* The loss of the weights. */
static double forward(reference *of) {
    double loss = 0;
    for (size_t l = 0; l < L; l++) {
        for (size_t i = 0; i < (size_t)R * C; i++) {
            size_t r = i / C;
            size_t c = i % C;
            of->h[l][r][c] = of->layers[l].bias[c];
            for (size_t k = 0; k < C; k++) {
                of->h[l][r][c] += of->x[l][r][k] * of->layers[l].weight[c][k];
            }
            of->x[l + 1][r][c] = of->h[l][r][c] * below(of->h[l][r][c]);
            loss += l + 1 == L ? of->x[L][r][c] / (R * C) : 0;
        }
    }
    return loss;
}

typedef struct fixture {
    tide_device *device;
    tide_cache *cache;
    tide_mlp *mlp;
    reference *want;
} fixture;

static void read_into(double *to, const tide_tensor *tensor) {
    const float *from = tensor->array.data;
    for (size_t i = 0; i < tensor->n_elements; i++) {
        to[i] = (double)from[i];
    }
}

static void set_up(fixture *on) {
    tide_mlp_config config;
    tide_mlp_config_init(&config);
    config.C = C;
    config.n_layers = L;
    config.R = R;
    assert_int_equal(tide_device_open("cpu", NULL, &on->device, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(on->device, NULL, NULL, &on->cache, NULL), TIDE_OK);
    assert_int_equal(tide_mlp_create(&config, on->cache, NULL, &on->mlp, NULL), TIDE_OK);
    assert_int_equal(tide_mlp_setup(on->mlp, NULL), TIDE_OK);
    assert_int_equal(tide_mlp_fill(on->mlp, NULL), TIDE_OK);
    on->want = calloc(1, sizeof(*on->want));
    assert_non_null(on->want);
    for (size_t l = 0; l < L; l++) {
        read_into(&on->want->layers[l].weight[0][0], &tide_mlp_parameter(on->mlp, 2 * l)->value);
        read_into(on->want->layers[l].bias, &tide_mlp_parameter(on->mlp, 2 * l + 1)->value);
    }
    read_into(&on->want->x[0][0][0], tide_mlp_input(on->mlp));
}

static void tear_down(fixture *on) {
    free(on->want);
    tide_mlp_destroy(on->mlp);
    tide_cache_stats stats;
    tide_cache_get_stats(on->cache, &stats);
    assert_int_equal(stats.allocated_bytes[TIDE_POOL_ALL].current, 0);
    tide_cache_destroy(on->cache);
    tide_device_close(on->device);
}

/* Number i of the layers: a weight, row after row, or a bias. */
static double *number_at(reference *of, size_t i) {
    const size_t at = i % N_LAYER;
    return at < C * C ? &of->layers[i / N_LAYER].weight[at / C][at % C]
                      : &of->layers[i / N_LAYER].bias[at - C * C];
}

/* Slopes of the loss by differences in double, with an error of h^2, which is 1e-8 here. */
static void gradients_are_slopes(void **state) {
    (void)state;
    const double H = 1e-4;
    fixture on;
    set_up(&on);
    assert_int_equal(tide_mlp_forward(on.mlp, NULL), TIDE_OK);
    assert_int_equal(tide_mlp_loss(on.mlp, NULL), TIDE_OK);
    double loss = forward(on.want);
    double got = (double)*(const float *)tide_mlp_loss_value(on.mlp)->array.data;
    assert_true(fabs(loss) > 1e-3);
    assert_true(fabs(got - loss) < 1e-6 * fabs(loss) + 1e-7);
    assert_int_equal(tide_mlp_backward(on.mlp, NULL), TIDE_OK);
    for (size_t i = 0; i < N_PARAMETERS;
         i += 3) { /* C * C is not a multiple of 3: so biases are checked also */
        const size_t at = i % N_LAYER;
        const bool is_bias = at >= C * C;
        const size_t parameter = 2 * (i / N_LAYER) + (is_bias ? 1 : 0);
        const tide_tensor *gradient = &tide_mlp_parameter(on.mlp, parameter)->gradient;
        double *number = number_at(on.want, i);
        double kept = *number;
        *number = kept + H;
        double more = forward(on.want);
        *number = kept - H;
        double less = forward(on.want);
        *number = kept;
        double slope = (more - less) / (2 * H);
        const double got_slope =
            (double)((const float *)gradient->array.data)[is_bias ? at - C * C : at];
        assert_true(fabs(got_slope - slope) < 1e-5 * fabs(slope) + 2e-8);
    }
    assert_int_equal(tide_mlp_end_step(on.mlp, NULL), TIDE_OK);
    tear_down(&on);
}

/* The mean of GELUs decreases when the weights are moved against its slope. */
static void training_lowers_the_loss(void **state) {
    (void)state;
    fixture on;
    set_up(&on);
    float first = 0;
    float last = 0;
    for (int step = 0; step < 20; step++) {
        assert_int_equal(tide_mlp_forward(on.mlp, NULL), TIDE_OK);
        assert_int_equal(tide_mlp_loss(on.mlp, NULL), TIDE_OK);
        last = *(const float *)tide_mlp_loss_value(on.mlp)->array.data;
        first = step == 0 ? last : first;
        assert_int_equal(tide_mlp_backward(on.mlp, NULL), TIDE_OK);
        assert_int_equal(tide_mlp_optimize(on.mlp, NULL), TIDE_OK);
        assert_int_equal(tide_mlp_end_step(on.mlp, NULL), TIDE_OK);
    }
    assert_true(last < first - 0.01F);
    tear_down(&on);
}

/* The peak of requested bytes, from the rows of the recording. */
static uint64_t requested_peak(const tide_recording *recording) {
    uint64_t now = 0;
    uint64_t peak = 0;
    for (size_t i = 0; i < recording->n_events; i++) {
        const tide_event *event = &recording->events[i];
        if (event->category == TIDE_WORKSPACE) {
            continue;
        }
        now += event->action == TIDE_ACTION_ALLOC ? event->requested_bytes : 0;
        now -= event->action == TIDE_ACTION_FREE ? event->requested_bytes : 0;
        peak = now > peak ? now : peak;
    }
    return peak;
}

static void check_peak(const tide_workload_config *config) {
    recorded_run run;
    recorded_run_start(&run, "virtual", config, TIDE_UNLIMITED, TIDE_OK);
    uint64_t got = requested_peak(&run.state.recording);
    uint64_t want = tide_workload_requested_peak_bytes(config);
    if (got != want) {
        fail_msg("C %zu, L %zu, R %zu, %s, %s, %zu steps, clipping %g: %llu bytes requested at the "
                 "peak, %llu on paper",
                 config->model.d_model, config->model.n_layers, config->model.batch_size,
                 tide_mode_name((int)config->mode), tide_precision_name((int)config->precision),
                 config->warmup_steps + config->steps, config->clip_grad_norm,
                 (unsigned long long)got, (unsigned long long)want);
    }
    recorded_run_end(&run);
}

/* Narrow and wide, one layer and many, few rows and many: each term is the largest somewhere. */
static void peaks_are_those_on_paper(void **state) {
    (void)state;
    static const size_t SHAPES[][3] = {{1, 1, 1},      {8, 1, 1000}, {300, 1, 2},   {256, 4, 256},
                                       {128, 16, 128}, {512, 5, 3},  {16, 7, 3000}, {700, 2, 1}};
    for (size_t i = 0; i < 8 * TIDE_N_PRECISIONS * 4 * 4; i++) {
        tide_workload_config config;
        tide_workload_config_init(&config);
        config.architecture = TIDE_MLP;
        config.model.d_model = SHAPES[i / (16 * TIDE_N_PRECISIONS)][0];
        config.model.n_layers = SHAPES[i / (16 * TIDE_N_PRECISIONS)][1];
        config.model.batch_size = SHAPES[i / (16 * TIDE_N_PRECISIONS)][2];
        config.precision = (tide_precision)(i / 16 % TIDE_N_PRECISIONS);
        config.mode = i / 4 % 4 == 3 ? TIDE_FORWARD : (tide_mode)(i / 4 % 4);
        config.keep_graph = i / 4 % 4 == 3;
        config.warmup_steps = 0;
        config.steps = i % 2 + 1;
        config.clip_grad_norm = i % 4 < 2 ? 0 : 1;
        check_peak(&config);
    }
}

static tide_workload_config small_run(tide_mode mode, tide_precision precision) {
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.architecture = TIDE_MLP;
    config.model = (tide_model_config){.size = "mlp", .d_model = C, .n_layers = L, .batch_size = R};
    config.mode = mode;
    config.precision = precision;
    config.warmup_steps = 0;
    config.steps = 2;
    return config;
}

/* The row of the n-th event of that kind and name. */
static void assert_place(const tide_recording *recording, tide_action action, const char *name,
                         size_t n, const char *path, tide_category category) {
    char at[SCOPE_PATH];
    size_t i = find_event(recording, action, name, n);
    if (i == recording->n_events) {
        fail_msg("no event of %s", name);
    }
    scope_path(recording, recording->events[i].scope, at);
    assert_string_equal(at, path);
    assert_int_equal(recording->events[i].category, category);
}

static void tensors_live_where_they_should(void **state) {
    (void)state;
    const tide_workload_config config = small_run(TIDE_TRAIN, TIDE_PRECISION_BF16_MIXED);
    recorded_run run;
    recorded_run_start(&run, "virtual", &config, TIDE_UNLIMITED, TIDE_OK);
    const tide_recording *all = &run.state.recording;
    static const struct {
        tide_action action;
        const char *name;
        const char *path;
        tide_category category;
    } PLACES[] = {
        {TIDE_ACTION_ALLOC, "input", "setup", TIDE_INPUT},
        {TIDE_ACTION_ALLOC, "layers.1.linear.weight", "setup", TIDE_PARAMETER},
        {TIDE_ACTION_ALLOC, "layers.1.linear.weight.bf16", "step 0/forward/layer 1/linear",
         TIDE_WEIGHT_COPY},
        {TIDE_ACTION_FREE, "layers.1.linear.weight.bf16", "step 0/backward/layer 1/linear",
         TIDE_WEIGHT_COPY},
        {TIDE_ACTION_FREE, "layers.0.linear.weight.bf16", "step 0/backward/layer 0/linear",
         TIDE_WEIGHT_COPY},
        {TIDE_ACTION_ALLOC, "layers.1.linear", "step 0/forward/layer 1/linear", TIDE_ACTIVATION},
        {TIDE_ACTION_FREE, "layers.1.linear", "step 0/backward/layer 1/gelu", TIDE_ACTIVATION},
        {TIDE_ACTION_ALLOC, "layers.1.gelu", "step 0/forward/layer 1/gelu", TIDE_ACTIVATION},
        {TIDE_ACTION_FREE, "layers.1.gelu", "step 0/backward/layer 2/linear", TIDE_ACTIVATION},
        {TIDE_ACTION_FREE, "layers.2.gelu", "step 0/backward/layer 2/linear", TIDE_ACTIVATION},
        {TIDE_ACTION_ALLOC, "loss.weights", "step 0/forward/loss", TIDE_TEMPORARY},
        {TIDE_ACTION_ALLOC, "layers.1.gelu.grad", "step 0/backward/layer 2/linear", TIDE_TEMPORARY},
        {TIDE_ACTION_ALLOC, "layers.1.linear.weight.grad", "step 0/backward/layer 1/linear",
         TIDE_GRADIENT},
        {TIDE_ACTION_FREE, "layers.1.linear.weight.grad", "step 0/optimizer", TIDE_GRADIENT},
        {TIDE_ACTION_ALLOC, "layers.1.linear.bias", "setup", TIDE_PARAMETER},
        {TIDE_ACTION_ALLOC, "layers.1.linear.bias.grad", "step 0/backward/layer 1/linear",
         TIDE_GRADIENT},
        {TIDE_ACTION_FREE, "layers.1.linear.bias.grad", "step 0/optimizer", TIDE_GRADIENT},
        {TIDE_ACTION_ALLOC, "layers.1.linear.bias.exp_avg_sq", "step 0/optimizer/adamw",
         TIDE_OPTIMIZER_STATE},
        {TIDE_ACTION_ALLOC, "layers.1.linear.weight.exp_avg", "step 0/optimizer/adamw",
         TIDE_OPTIMIZER_STATE},
        {TIDE_ACTION_FREE, "loss", "step 0", TIDE_ACTIVATION},
    };
    for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++) {
        assert_place(all, PLACES[i].action, PLACES[i].name, 0, PLACES[i].path, PLACES[i].category);
    }
    recorded_run_end(&run);
}

static void a_pass_that_keeps_nothing_releases_on_the_way(void **state) {
    (void)state;
    const tide_workload_config config = small_run(TIDE_FORWARD, TIDE_PRECISION_FP32);
    recorded_run run;
    recorded_run_start(&run, "virtual", &config, TIDE_UNLIMITED, TIDE_OK);
    const tide_recording *all = &run.state.recording;
    assert_place(all, TIDE_ACTION_FREE, "layers.1.linear", 0, "step 0/forward/layer 1/gelu",
                 TIDE_ACTIVATION);
    assert_place(all, TIDE_ACTION_FREE, "layers.0.gelu", 0, "step 0/forward/layer 1/linear",
                 TIDE_ACTIVATION);
    assert_place(all, TIDE_ACTION_FREE, "layers.2.gelu", 0, "step 0", TIDE_ACTIVATION);
    assert_int_equal(find_event(all, TIDE_ACTION_ALLOC, "loss", 0), all->n_events);
    recorded_run_end(&run);
}

static void flops(void **state) {
    (void)state;
    tide_mlp_config config;
    tide_mlp_config_init(&config); /* 256 x 4 layers x batch 256 */
    assert_true(tide_mlp_forward_flops(&config) == 2.0 * 256 * 256 * 256 * 4);
    assert_true(tide_mlp_backward_flops(&config) == 2.0 * 256 * 256 * 256 * 7);
    assert_int_equal(tide_mlp_n_parameters(&config), 4 * (256 * 256 + 256));
    tide_workload_config run = small_run(TIDE_TRAIN, TIDE_PRECISION_FP32);
    assert_true(tide_workload_step_flops(&run) == 2.0 * R * C * C * (3 * L - 1));
    run.mode = TIDE_FORWARD;
    assert_true(tide_workload_step_flops(&run) == 2.0 * R * C * C * L);
    assert_int_equal(tide_workload_n_parameters(&run), N_PARAMETERS);
}

static void shapes_that_cannot_be_are_refused(void **state) {
    (void)state;
    tide_mlp_config config;
    tide_error error = {""};
    tide_mlp_config_init(&config);
    config.n_layers = 0;
    assert_int_equal(tide_mlp_config_check(&config, &error), TIDE_INVALID);
    tide_mlp_config_init(&config);
    config.C = (size_t)1 << 32;
    assert_int_equal(tide_mlp_config_check(&config, &error), TIDE_LIMIT);
    tide_mlp_config_init(&config);
    config.C = INT32_MAX;
    config.n_layers = 1 << 16;
    assert_int_equal(tide_mlp_config_check(&config, &error), TIDE_LIMIT);
    tide_workload_config run = small_run(TIDE_TRAIN, TIDE_PRECISION_FP32);
    run.model.d_model = 0;
    assert_int_equal(tide_workload_requested_peak_bytes(&run), 0);
}

/* A training run of two steps with its own host memory and limit; everything is released. */
static tide_status run_within(tide_hostmem_fault *heap, size_t width, size_t limit_bytes) {
    tide_workload_config config = small_run(TIDE_TRAIN, TIDE_PRECISION_BF16_MIXED);
    tide_cache_config settings;
    tide_device *device = NULL;
    tide_cache *cache = NULL;
    tide_workload *workload = NULL;
    tide_workload_result result = {.mem = NULL};
    config.model.d_model = width;
    tide_cache_config_init(&settings);
    settings.mem = &heap->mem;
    settings.memory_limit_bytes = limit_bytes;
    assert_int_equal(tide_device_open("virtual", NULL, &device, NULL), TIDE_OK);
    tide_status status = tide_cache_create(device, NULL, &settings, &cache, NULL);
    if (status == TIDE_OK) {
        status = tide_workload_create(&config, cache, NULL, &workload, NULL);
    }
    if (status == TIDE_OK) {
        status = tide_workload_run(workload, &result, NULL);
    }
    tide_workload_result_fini(&result);
    tide_workload_destroy(workload);
    if (cache != NULL) {
        tide_cache_stats stats;
        tide_cache_get_stats(cache, &stats);
        assert_int_equal(stats.allocated_bytes[TIDE_POOL_ALL].current, 0);
    }
    tide_cache_destroy(cache);
    tide_device_close(device);
    assert_int_equal(heap->n_live, 0);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    tide_hostmem_fault heap;
    tide_status status = TIDE_NO_MEMORY;
    size_t n_calls = 0;
    while (status != TIDE_OK) {
        tide_hostmem_fault_init(&heap, ++n_calls);
        status = run_within(&heap, C, TIDE_UNLIMITED);
        assert_true(status == TIDE_OK || status == TIDE_NO_MEMORY);
    }
    assert_true(n_calls > 10);
    /* Wide enough for several segments: each higher limit lets the run buy one more segment. */
    const size_t STEP = (size_t)2 << 20;
    size_t n_limits = 0;
    for (status = TIDE_DEVICE_OOM; status != TIDE_OK; n_limits++) {
        tide_hostmem_fault_init(&heap, 0);
        status = run_within(&heap, 1100, (n_limits + 1) * STEP);
        assert_true(status == TIDE_OK || status == TIDE_DEVICE_OOM);
    }
    assert_true(n_limits > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(training_lowers_the_loss),
        cmocka_unit_test(peaks_are_those_on_paper),
        cmocka_unit_test(tensors_live_where_they_should),
        cmocka_unit_test(a_pass_that_keeps_nothing_releases_on_the_way),
        cmocka_unit_test(flops),
        cmocka_unit_test(shapes_that_cannot_be_are_refused),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("model.mlp", tests, NULL, NULL);
}
