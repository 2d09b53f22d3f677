/* fill.c - the contents of a language model from its seed: prompts, weights and scales. The numbers
 * are the same on every device. */
#include <math.h>

#include "model/decode/decode_internal.h"

static const double SQRT_3 = 1.7320508075688772; /* uniform in [-sqrt 3, sqrt 3): deviation 1 */

/* The numbers of a stream, one tensor after the other. */
typedef struct numbers {
    tide_decode *decode; /* borrowed, as error */
    uint64_t stream;     /* of tide_random */
    uint64_t n;          /* taken so far */
    tide_error *error;
} numbers;

static tide_status fill(numbers *of, tide_tensor *tensor, tide_decode_fill call) {
    call.out = tensor->array;
    call.n = tensor->n_elements;
    call.random = (tide_random){.seed = of->decode->config.seed, .stream = of->stream};
    call.first = of->n;
    of->n += call.n;
    return of->decode->table->fill(of->decode->ops, &call, of->error);
}

/* Uniform numbers with this standard deviation. */
static tide_status fill_uniform(numbers *of, tide_tensor *tensor, double deviation) {
    return fill(of, tensor, (tide_decode_fill){.offset = -0.5, .scale = 2 * SQRT_3 * deviation});
}

static tide_status fill_norm(numbers *of, tide_tensor *tensor) {
    return fill(of, tensor, (tide_decode_fill){.offset = 0.5, .scale = 1});
}

/* Weights of deviation 1 / sqrt(k), so outputs are as large as inputs. */
static tide_status fill_linear(numbers *of, tide_decode_linear *linear) {
    double deviation = 1 / sqrt((double)linear->k);
    if (linear->weight.address == 0) {
        return TIDE_OK;
    }
    if (linear->scale.address == 0) {
        return fill_uniform(of, &linear->weight, deviation);
    }
    TIDE_TRY(fill(of, &linear->weight, (tide_decode_fill){.n_values = 255, .low = -127}));
    return fill(of, &linear->scale,
                (tide_decode_fill){.offset = 0.5, .scale = deviation * SQRT_3 / 127});
}

static tide_status fill_layer(numbers *of, tide_decode_layer *layer) {
    tide_decode_linear *linears[] = {&layer->qkv, &layer->wo, &layer->gate,
                                     &layer->w1,  &layer->w3, &layer->w2};
    TIDE_TRY(fill_norm(of, &layer->attention_norm));
    TIDE_TRY(fill_norm(of, &layer->ffn_norm));
    for (size_t i = 0; i < sizeof(linears) / sizeof(linears[0]); i++) {
        TIDE_TRY(fill_linear(of, linears[i]));
    }
    TIDE_TRY(fill(of, &layer->k_cache, (tide_decode_fill){.scale = 0}));
    return fill(of, &layer->v_cache, (tide_decode_fill){.scale = 0});
}

tide_status tide_decode_fill_model(tide_decode *decode, tide_error *error) {
    const tide_decode_config *config = &decode->config;
    numbers of = {.decode = decode, .error = error};
    const tide_fill_rope angles = {.table = decode->rope.array.data,
                                   .T = tide_decode_n_positions(config),
                                   .D = config->C / config->H,
                                   .theta = config->rope_theta};
    if (decode->ops == NULL) {
        return TIDE_OK;
    }
    TIDE_TRY(fill(&of, &decode->tokens, (tide_decode_fill){.n_values = (uint32_t)config->V}));
    TIDE_TRY(decode->ops->table->fill_rope(decode->ops, &angles, error));
    TIDE_TRY(fill_uniform(&of, &decode->embedding, 1));
    TIDE_TRY(fill_norm(&of, &decode->final_norm));
    TIDE_TRY(fill_linear(&of, &decode->head));
    for (size_t l = 0; l < config->L; l++) {
        of.stream = l + 1;
        of.n = 0;
        TIDE_TRY(fill_layer(&of, &decode->layers[l]));
    }
    return TIDE_OK;
}
