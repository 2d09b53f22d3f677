/* mlp_memory.c - closed forms for an MLP: FLOP, parameters, and the peak of requested bytes. */
#include "model/layers/mlp.h"
#include "model/precision.h"

uint64_t tide_mlp_n_parameters(const tide_mlp_config *config) {
    return (uint64_t)config->n_layers * (config->C * config->C + config->C);
}

double tide_mlp_forward_flops(const tide_mlp_config *config) {
    double C = (double)config->C;
    return 2.0 * (double)config->R * C * C * (double)config->n_layers;
}

double tide_mlp_backward_flops(const tide_mlp_config *config) {
    double L = (double)config->n_layers;
    return tide_mlp_forward_flops(config) * (2.0 * L - 1.0) / L;
}

/* Bytes of one tensor of each kind. */
typedef struct pieces {
    uint64_t rows;  /* (R, C): input, linear, gelu and their gradients */
    uint64_t layer; /* (C, C) and (C): weight and bias, their gradients, one of the two moments */
    uint64_t copy;  /* the copy of a weight for GEMMs; 0: none is made */
    uint64_t L;     /* layers */
    uint64_t found_inf; /* flag of a skipped step; 0: the loss is not scaled */
} pieces;

static pieces pieces_of(const tide_mlp_config *config) {
    uint64_t C = config->C;
    bool copies = tide_precision_is_mixed(config->precision);
    return (pieces){
        .rows = config->R * C * tide_dtype_bytes(tide_precision_activation_type(config->precision)),
        .layer = (C * C + C) * tide_dtype_bytes(tide_precision_parameter_type(config->precision)),
        .copy = copies ? C * C * tide_dtype_bytes(tide_precision_activation_type(config->precision))
                       : 0,
        .L = config->n_layers,
        .found_inf = tide_precision_scales_loss(config->precision) ? 4 : 0};
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* The peak of a pass that keeps nothing. A layer first holds its input, its product and the bf16
 * copy of its weight, then its product and its GELU. The first layer's input is not an
 * activation. */
static uint64_t forward_alone(const pieces *of) {
    uint64_t in_product = (of->L > 1 ? 2 : 1) * of->rows + of->copy;
    return larger(in_product, 2 * of->rows);
}

enum { LOSS = sizeof(float) };

/* The peak without the tensors that stay from step to step. It is either at the end of forward,
 * with the temporaries of the loss, or in backward, when the gradients of a layer's parameters have
 * just been allocated. */
static uint64_t forward_and_backward(const tide_mlp_config *config, const pieces *of) {
    uint64_t longer = larger(config->R, config->C);
    uint64_t most =
        2 * of->L * of->rows + of->L * of->copy + LOSS + (longer + config->R) * sizeof(float);
    for (uint64_t l = 0; l < of->L; l++) { /* both tensors of the layers below, own gradient */
        most = larger(most,
                      (2 * l + 1) * of->rows + (of->L - l) * of->layer + LOSS + (l + 1) * of->copy);
    }
    return most;
}

static uint64_t chunks_of(uint64_t n_elements) {
    return n_elements / TIDE_NORM_CHUNK + (n_elements % TIDE_NORM_CHUNK != 0);
}

/* Scratch memory and result of the norm of all gradients. */
static uint64_t clipping(const tide_mlp_config *config, const pieces *of) {
    uint64_t C = config->C;
    uint64_t n_chunks = of->L * (chunks_of(C * C) + chunks_of(C));
    return config->clip_grad_norm > 0 ? (n_chunks + 1) * sizeof(float) : 0;
}

uint64_t tide_mlp_requested_peak_bytes(const tide_mlp_config *config, tide_mode mode,
                                       size_t n_steps) {
    const pieces of = pieces_of(config);
    uint64_t parameters = of.L * of.layer;
    uint64_t base = of.rows + parameters; /* including the input */
    if (mode == TIDE_FORWARD) {
        return base + (config->keep_for_backward ? 2 * of.L * of.rows + of.L * of.copy
                                                 : forward_alone(&of));
    }
    uint64_t passes = base + forward_and_backward(config, &of);
    if (mode == TIDE_FORWARD_BACKWARD) {
        return passes;
    }
    /* The moments are allocated after the first clipping and stay for every later step. */
    uint64_t gradients = parameters + LOSS + of.found_inf;
    uint64_t moments = 2 * parameters + (config->is_captured ? sizeof(float) : 0);
    uint64_t before = n_steps > 1 ? moments : 0;
    uint64_t clipped = base + gradients + before + clipping(config, &of);
    return larger(larger(passes + before, clipped), base + gradients + moments);
}
