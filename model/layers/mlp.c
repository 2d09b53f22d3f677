#include "model/layers/mlp.h"

#include <math.h>
#include <stdio.h>

#include "model/layers/linear.h"
#include "model/optimizer/optimizer.h"
#include "model/precision.h"

/* The tensors that a layer makes in a step. */
typedef struct layer_tensors {
    tide_tensor linear; /* owned; (R, C): x W^T + bias; kept for backward */
    tide_tensor gelu;   /* owned; (R, C): the layer's output; the last one's becomes its gradient */
    tide_tensor dgelu;  /* owned; (R, C): gradient of `gelu` (the last layer has it in `gelu`
                           itself), then of `linear` in the same memory */
} layer_tensors;

struct tide_mlp {
    tide_mlp_config config;     /* as given */
    tide_cache *cache;          /* borrowed; outlives the model */
    tide_recorder *recorder;    /* borrowed; NULL: no scopes */
    tide_ops *ops;              /* owned */
    tide_dtype activation_type; /* of the tensors that layers make */
    tide_parameter *parameters; /* owned; weight and bias of each layer */
    size_t n_parameters;        /* 2 L */
    layer_tensors *layers;      /* owned; n_layers */
    tide_linears linears;       /* borrows the parameters */
    tide_optimizer optimizer;   /* the same */
    tide_tensor workspace;      /* owned; the GEMM library's */
    tide_tensor input;          /* owned; (R, C) */
    tide_tensor loss;           /* owned; (1) fp32 */
    tide_tensor loss_weights;   /* owned; (max(R, C)) fp32, while the loss is computed */
    tide_tensor loss_rows;      /* owned; (R) fp32, likewise */
};

void tide_mlp_config_init(tide_mlp_config *config) {
    *config = (tide_mlp_config){.C = 256,
                                .n_layers = 4,
                                .R = 256,
                                .precision = TIDE_PRECISION_FP32,
                                .keep_for_backward = true};
    tide_adamw_settings_init(&config->adamw);
}

tide_status tide_mlp_config_check(const tide_mlp_config *config, tide_error *error) {
    static const size_t MAX_DIMENSION = INT32_MAX;            /* of cuBLAS */
    static const size_t MAX_LAYERS = 1 << 16;                 /* of the host's tables */
    static const double MAX_ELEMENTS = 1152921504606846976.0; /* 2^60: bytes stay below 2^63 */
    if (config->C == 0 || config->n_layers == 0 || config->R == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "an MLP of width %zu, %zu layers and batch %zu: each must be at least 1",
                         config->C, config->n_layers, config->R);
    }
    if (config->C > MAX_DIMENSION || config->R > MAX_DIMENSION || config->n_layers > MAX_LAYERS) {
        return tide_fail(error, TIDE_LIMIT,
                         "an MLP of width %zu, %zu layers and batch %zu: the limits are %zu, %zu "
                         "and %zu",
                         config->C, config->n_layers, config->R, MAX_DIMENSION, MAX_LAYERS,
                         MAX_DIMENSION);
    }
    double C = (double)config->C;
    double n_elements =
        (double)config->n_layers * (5.0 * C * C + 4.0 * C * (1.0 + (double)config->R));
    if (n_elements >= MAX_ELEMENTS) {
        return tide_fail(error, TIDE_LIMIT,
                         "an MLP of width %zu, %zu layers and batch %zu needs more than the limit "
                         "of 2^60 array elements",
                         config->C, config->n_layers, config->R);
    }
    return TIDE_OK;
}

/* The index of the weight of layer l in the table; its bias comes next. */
static size_t weight_of(size_t l) {
    return 2 * l;
}

static tide_status make_parameters(tide_mlp *mlp, tide_error *error) {
    const tide_hostmem *mem = tide_cache_get_config(mlp->cache)->mem;
    size_t n = mlp->config.n_layers;
    mlp->n_parameters = 2 * n;
    mlp->parameters = tide_hostmem_zeroed(mem, mlp->n_parameters, sizeof(*mlp->parameters));
    mlp->layers = tide_hostmem_zeroed(mem, n, sizeof(*mlp->layers));
    if (mlp->parameters == NULL || mlp->layers == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for %zu layers", n);
    }
    for (size_t l = 0; l < n; l++) {
        tide_parameter *weight = &mlp->parameters[weight_of(l)];
        tide_parameter *bias = weight + 1;
        (void)snprintf(weight->name, sizeof(weight->name), "layers.%zu.linear.weight", l);
        (void)snprintf(bias->name, sizeof(bias->name), "layers.%zu.linear.bias", l);
        tide_parameter_set_linear(weight, mlp->config.C, mlp->config.C);
        tide_parameter_set_bias(bias, mlp->config.C, mlp->config.C);
    }
    return TIDE_OK;
}

/* Everything that create makes beyond the struct itself. On failure destroy undoes it. */
static tide_status build(tide_mlp *mlp, tide_error *error) {
    const tide_hostmem *mem = tide_cache_get_config(mlp->cache)->mem;
    const tide_mlp_config *config = &mlp->config;
    TIDE_TRY(
        tide_ops_open(mem, tide_cache_device(mlp->cache), config->precision, &mlp->ops, error));
    mlp->ops->recorder = mlp->recorder;
    if (config->stream != 0) {
        TIDE_TRY(tide_ops_use_stream(mlp->ops, config->stream, error));
    }
    TIDE_TRY(make_parameters(mlp, error));
    mlp->linears =
        (tide_linears){.cache = mlp->cache,
                       .ops = mlp->ops,
                       .parameters = mlp->parameters,
                       .has_biases = true,
                       .R = config->R,
                       .parameter_type = tide_precision_parameter_type(config->precision),
                       .copies_weights = tide_precision_is_mixed(config->precision),
                       .copy_type = tide_precision_activation_type(config->precision),
                       .keeps_copies = config->keep_for_backward};
    mlp->optimizer = (tide_optimizer){
        .cache = mlp->cache,
        .recorder = mlp->recorder,
        .ops = mlp->ops,
        .adamw = config->adamw,
        .is_capturable = config->is_captured,
        .clip_grad_norm = config->clip_grad_norm,
        .scaler = tide_loss_scaler_make(tide_precision_scales_loss(config->precision)),
        .parameters = mlp->parameters,
        .n_parameters = mlp->n_parameters};
    return tide_optimizer_init(&mlp->optimizer, error);
}

tide_status tide_mlp_create(const tide_mlp_config *config, tide_cache *cache,
                            tide_recorder *recorder, tide_mlp **ret_mlp, tide_error *error) {
    TIDE_TRY(tide_mlp_config_check(config, error));
    tide_mlp *mlp = tide_hostmem_zeroed(tide_cache_get_config(cache)->mem, 1, sizeof(*mlp));
    if (mlp == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the MLP");
    }
    mlp->config = *config;
    mlp->cache = cache;
    mlp->recorder = recorder;
    mlp->activation_type = tide_precision_activation_type(config->precision);
    tide_status status = build(mlp, error);
    if (status != TIDE_OK) {
        tide_mlp_destroy(mlp);
        return status;
    }
    *ret_mlp = mlp;
    return TIDE_OK;
}

static void drop_parameter(tide_mlp *mlp, tide_parameter *parameter) {
    tide_tensor_drop(mlp->cache, &parameter->gradient);
    tide_tensor_drop(mlp->cache, &parameter->copy);
    tide_tensor_drop(mlp->cache, &parameter->exp_avg);
    tide_tensor_drop(mlp->cache, &parameter->exp_avg_sq);
    tide_tensor_drop(mlp->cache, &parameter->value);
}

static void drop_layer(tide_mlp *mlp, size_t l) {
    layer_tensors *layer = &mlp->layers[l];
    tide_tensor_drop(mlp->cache, &layer->dgelu);
    tide_tensor_drop(mlp->cache, &layer->gelu);
    tide_tensor_drop(mlp->cache, &layer->linear);
    drop_parameter(mlp, &mlp->parameters[weight_of(l) + 1]);
    drop_parameter(mlp, &mlp->parameters[weight_of(l)]);
}

void tide_mlp_destroy(tide_mlp *mlp) {
    if (mlp == NULL) {
        return;
    }
    const tide_hostmem *mem = tide_cache_get_config(mlp->cache)->mem;
    tide_optimizer_fini(&mlp->optimizer);
    tide_tensor_drop(mlp->cache, &mlp->loss_rows);
    tide_tensor_drop(mlp->cache, &mlp->loss_weights);
    tide_tensor_drop(mlp->cache, &mlp->loss);
    for (size_t l = mlp->layers != NULL && mlp->parameters != NULL ? mlp->config.n_layers : 0;
         l > 0; l--) {
        drop_layer(mlp, l - 1);
    }
    tide_tensor_drop(mlp->cache, &mlp->input);
    tide_tensor_drop(mlp->cache, &mlp->workspace);
    mem->release(mem->ctx, mlp->layers);
    mem->release(mem->ctx, mlp->parameters);
    tide_ops_close(mlp->ops);
    mem->release(mem->ctx, mlp);
}

tide_status tide_mlp_setup(tide_mlp *mlp, tide_error *error) {
    TIDE_TRY(tide_ops_alloc_workspace(mlp->ops, mlp->cache, &mlp->workspace, error));
    TIDE_TRY(tide_tensor_alloc(mlp->cache, &mlp->input, mlp->config.R * mlp->config.C,
                               mlp->activation_type, TIDE_INPUT, "input", error));
    for (size_t i = 0; i < mlp->n_parameters; i++) {
        tide_parameter *parameter = &mlp->parameters[i];
        TIDE_TRY(tide_tensor_alloc(mlp->cache, &parameter->value, parameter->n_elements,
                                   mlp->linears.parameter_type, TIDE_PARAMETER, parameter->name,
                                   error));
    }
    return TIDE_OK;
}

tide_status tide_mlp_fill(tide_mlp *mlp, tide_error *error) {
    static const uint64_t INPUT_STREAM = UINT64_C(1) << 32; /* parameters use their index */
    const tide_ops_table *table = mlp->ops->table;
    for (size_t i = 0; i < mlp->n_parameters; i++) {
        const tide_parameter *parameter = &mlp->parameters[i];
        const tide_random random = {mlp->config.seed, i};
        const tide_fill_normal call = {
            .out = parameter->value.array,
            .sigma = parameter->sigma,
            .random = random,
            .n = parameter->n_elements,
        };
        TIDE_TRY(table->fill_normal(mlp->ops, &call, error));
    }
    const tide_random random = {mlp->config.seed, INPUT_STREAM};
    const tide_fill_normal call = {
        .out = mlp->input.array,
        .sigma = 1,
        .random = random,
        .n = mlp->input.n_elements,
    };
    return table->fill_normal(mlp->ops, &call, error);
}

/* ---- steps ---- */

static tide_scope begin(const tide_mlp *mlp, tide_scope_kind kind, const char *name, size_t layer) {
    return tide_scope_begin(mlp->recorder, kind, name,
                            kind == TIDE_SCOPE_LAYER ? (int32_t)layer : -1);
}

/* A tensor (R, C) of layer l. */
static tide_status alloc_rows(tide_mlp *mlp, tide_tensor *tensor, size_t l, const char *name,
                              tide_category category, tide_error *error) {
    char text[TIDE_PARAMETER_NAME];
    (void)snprintf(text, sizeof(text), "layers.%zu.%s", l, name);
    return tide_tensor_alloc(mlp->cache, tensor, mlp->config.R * mlp->config.C,
                             mlp->activation_type, category, text, error);
}

/* The input of layer l. */
static tide_tensor *input_of(tide_mlp *mlp, size_t l) {
    return l == 0 ? &mlp->input : &mlp->layers[l - 1].gelu;
}

static tide_status linear_forward(tide_mlp *mlp, size_t l, tide_error *error) {
    layer_tensors *layer = &mlp->layers[l];
    tide_scope scope = begin(mlp, TIDE_SCOPE_OPERATOR, "linear", l);
    TIDE_TRY(alloc_rows(mlp, &layer->linear, l, "linear", TIDE_ACTIVATION, error));
    TIDE_TRY(tide_linear_forward(&mlp->linears, weight_of(l), layer->linear.array,
                                 input_of(mlp, l)->array, (tide_array){.data = NULL}, error));
    if (!mlp->config.keep_for_backward && l > 0) {
        TIDE_TRY(tide_tensor_release(mlp->cache, input_of(mlp, l), error));
    }
    tide_scope_end(mlp->recorder, scope);
    return TIDE_OK;
}

static tide_status gelu_forward(tide_mlp *mlp, size_t l, tide_error *error) {
    layer_tensors *layer = &mlp->layers[l];
    tide_scope scope = begin(mlp, TIDE_SCOPE_OPERATOR, "gelu", l);
    TIDE_TRY(alloc_rows(mlp, &layer->gelu, l, "gelu", TIDE_ACTIVATION, error));
    const tide_gelu_forward call = {
        .out = layer->gelu.array,
        .x = layer->linear.array,
        .n = layer->gelu.n_elements,
    };
    TIDE_TRY(mlp->ops->table->gelu_forward(mlp->ops, &call, error));
    if (!mlp->config.keep_for_backward) {
        TIDE_TRY(tide_tensor_release(mlp->cache, &layer->linear, error));
    }
    tide_scope_end(mlp->recorder, scope);
    return TIDE_OK;
}

tide_status tide_mlp_forward(tide_mlp *mlp, tide_error *error) {
    for (size_t l = 0; l < mlp->config.n_layers; l++) {
        tide_scope scope = begin(mlp, TIDE_SCOPE_LAYER, "layer", l);
        TIDE_TRY(linear_forward(mlp, l, error));
        TIDE_TRY(gelu_forward(mlp, l, error));
        tide_scope_end(mlp->recorder, scope);
    }
    return TIDE_OK;
}

/* loss = sum_r (sum_c y_rc / C) / R: two products with a vector of equal numbers. */
static tide_status mean_of_output(tide_mlp *mlp, tide_error *error) {
    const tide_ops_table *table = mlp->ops->table;
    size_t R = mlp->config.R;
    size_t C = mlp->config.C;
    const tide_gemv rows = {.out = mlp->loss_rows.array,
                            .weight = mlp->layers[mlp->config.n_layers - 1].gelu.array,
                            .x = mlp->loss_weights.array,
                            .n_chosen = 1,
                            .m = R,
                            .k = C};
    const tide_gemv mean = {.out = mlp->loss.array,
                            .weight = mlp->loss_rows.array,
                            .x = mlp->loss_weights.array,
                            .n_chosen = 1,
                            .m = 1,
                            .k = R};
    TIDE_TRY(table->fill(
        mlp->ops, &(tide_fill){.out = mlp->loss_weights.array, .value = 1.0 / (double)C, .n = C},
        error));
    TIDE_TRY(table->gemv(mlp->ops, &rows, error));
    TIDE_TRY(table->fill(
        mlp->ops, &(tide_fill){.out = mlp->loss_weights.array, .value = 1.0 / (double)R, .n = R},
        error));
    return table->gemv(mlp->ops, &mean, error);
}

tide_status tide_mlp_loss(tide_mlp *mlp, tide_error *error) {
    size_t R = mlp->config.R;
    size_t C = mlp->config.C;
    tide_tensor *output = &mlp->layers[mlp->config.n_layers - 1].gelu;
    tide_scope scope = begin(mlp, TIDE_SCOPE_OPERATOR, "loss", 0);
    TIDE_TRY(
        tide_tensor_alloc(mlp->cache, &mlp->loss, 1, TIDE_FP32, TIDE_ACTIVATION, "loss", error));
    TIDE_TRY(tide_tensor_alloc(mlp->cache, &mlp->loss_weights, R > C ? R : C, TIDE_FP32,
                               TIDE_TEMPORARY, "loss.weights", error));
    TIDE_TRY(tide_tensor_alloc(mlp->cache, &mlp->loss_rows, R, TIDE_FP32, TIDE_TEMPORARY,
                               "loss.rows", error));
    TIDE_TRY(mean_of_output(mlp, error));
    TIDE_TRY(tide_tensor_release(mlp->cache, &mlp->loss_rows, error));
    TIDE_TRY(tide_tensor_release(mlp->cache, &mlp->loss_weights, error));
    const tide_fill call = {
        .out = output->array,
        .value = (double)mlp->optimizer.scaler.scale / ((double)R * (double)C),
        .n = R * C,
    };
    TIDE_TRY(mlp->ops->table->fill(mlp->ops, &call, error));
    tide_scope_end(mlp->recorder, scope);
    return TIDE_OK;
}

/* The tensor of the gradient of layer l's output, which the gradient of its product overwrites. */
static tide_tensor *gradient_of(tide_mlp *mlp, size_t l) {
    return l + 1 == mlp->config.n_layers ? &mlp->layers[l].gelu : &mlp->layers[l].dgelu;
}

static tide_status gelu_backward(tide_mlp *mlp, size_t l, tide_error *error) {
    tide_array dout = gradient_of(mlp, l)->array;
    tide_tensor *linear = &mlp->layers[l].linear;
    tide_scope scope = begin(mlp, TIDE_SCOPE_OPERATOR, "gelu", l);
    const tide_gelu_backward call = {
        .dx = dout,
        .dout = dout,
        .x = linear->array,
        .n = linear->n_elements,
    };
    TIDE_TRY(mlp->ops->table->gelu_backward(mlp->ops, &call, error));
    TIDE_TRY(tide_tensor_release(mlp->cache, linear, error));
    tide_scope_end(mlp->recorder, scope);
    return TIDE_OK;
}

/* The gradient of the layer's input. The first layer needs none: no parameter is below it. */
static tide_status input_backward(tide_mlp *mlp, size_t l, tide_error *error) {
    if (l == 0) {
        return tide_tensor_release(mlp->cache, &mlp->parameters[weight_of(l)].copy, error);
    }
    TIDE_TRY(tide_tensor_release(mlp->cache, input_of(mlp, l), error));
    TIDE_TRY(alloc_rows(mlp, &mlp->layers[l - 1].dgelu, l - 1, "gelu.grad", TIDE_TEMPORARY, error));
    return tide_linear_backward_input(&mlp->linears, weight_of(l), mlp->layers[l - 1].dgelu.array,
                                      gradient_of(mlp, l)->array, false, error);
}

static tide_status linear_backward(tide_mlp *mlp, size_t l, tide_error *error) {
    tide_scope scope = begin(mlp, TIDE_SCOPE_OPERATOR, "linear", l);
    TIDE_TRY(tide_linear_backward_weight(&mlp->linears, weight_of(l), gradient_of(mlp, l)->array,
                                         input_of(mlp, l)->array, error));
    TIDE_TRY(input_backward(mlp, l, error));
    TIDE_TRY(tide_tensor_release(mlp->cache, gradient_of(mlp, l), error));
    tide_scope_end(mlp->recorder, scope);
    return TIDE_OK;
}

tide_status tide_mlp_backward(tide_mlp *mlp, tide_error *error) {
    for (size_t l = mlp->config.n_layers; l > 0; l--) {
        tide_scope scope = begin(mlp, TIDE_SCOPE_LAYER, "layer", l - 1);
        TIDE_TRY(gelu_backward(mlp, l - 1, error));
        TIDE_TRY(linear_backward(mlp, l - 1, error));
        tide_scope_end(mlp->recorder, scope);
    }
    return TIDE_OK;
}

tide_status tide_mlp_optimize(tide_mlp *mlp, tide_error *error) {
    TIDE_TRY(tide_optimizer_step(&mlp->optimizer, error));
    return tide_optimizer_release_gradients(&mlp->optimizer, error);
}

tide_status tide_mlp_begin_replay(tide_mlp *mlp, tide_error *error) {
    return tide_optimizer_begin_replay(&mlp->optimizer, error);
}

tide_status tide_mlp_end_step(tide_mlp *mlp, tide_error *error) {
    TIDE_TRY(tide_optimizer_end_step(&mlp->optimizer, error));
    TIDE_TRY(tide_tensor_release(mlp->cache, &mlp->loss, error));
    for (size_t l = mlp->config.n_layers; l > 0; l--) {
        layer_tensors *layer = &mlp->layers[l - 1];
        TIDE_TRY(tide_tensor_release(mlp->cache, &layer->dgelu, error));
        TIDE_TRY(tide_tensor_release(mlp->cache, &layer->gelu, error));
        TIDE_TRY(tide_tensor_release(mlp->cache, &layer->linear, error));
        TIDE_TRY(tide_tensor_release(mlp->cache, &mlp->parameters[weight_of(l - 1)].copy, error));
    }
    return tide_optimizer_release_gradients(&mlp->optimizer, error);
}

tide_ops *tide_mlp_ops(const tide_mlp *mlp) {
    return mlp->ops;
}

const tide_parameter *tide_mlp_parameter(const tide_mlp *mlp, size_t i) {
    return i < mlp->n_parameters ? &mlp->parameters[i] : NULL;
}

const tide_tensor *tide_mlp_input(const tide_mlp *mlp) {
    return &mlp->input;
}

const tide_tensor *tide_mlp_loss_value(const tide_mlp *mlp) {
    return &mlp->loss;
}

const tide_loss_scaler *tide_mlp_loss_scaler(const tide_mlp *mlp) {
    return &mlp->optimizer.scaler;
}
