/* compute_cpu.c - a language model's operators on the host, for models whose arrays are fp32: plain
 * loops that sum in double, made to be read and compared with, not to be fast. Weights of linear
 * layers are fp32, or int8 with a bf16 scale for each output channel, applied to the sum. */
#include <math.h>
#include <string.h>

#include "model/bf16.h"
#include "model/decode/decode_internal.h"
#include "model/philox.h"

static float *floats(const tide_tensor *tensor) {
    return tensor->array.data;
}

/* ---- what the seed gives ---- */

/* Numbers of a stream, one after the other. */
typedef struct numbers {
    uint64_t seed, stream; /* of tide_philox_elements */
    uint64_t n;            /* taken so far */
    tide_philox_block block;
} numbers;

static uint32_t take(numbers *from) {
    if (from->n % 4 == 0) {
        from->block = tide_philox_elements(from->seed, from->stream, from->n / 4);
    }
    return from->block.words[from->n++ % 4];
}

/* In [0, 1). */
static double take_share(numbers *from) {
    return (double)take(from) / 4294967296.0;
}

static const double SQRT_3 = 1.7320508075688772; /* uniform in [-sqrt 3, sqrt 3): deviation 1 */

static void fill_uniform(numbers *from, tide_tensor *tensor, double deviation) {
    for (size_t i = 0; i < tensor->n_elements; i++) {
        floats(tensor)[i] = (float)((2 * take_share(from) - 1) * SQRT_3 * deviation);
    }
}

/* Weights of deviation 1 / sqrt(k), so that outputs are as large as inputs. */
static void fill_linear(numbers *from, tide_decode_linear *linear) {
    double deviation = 1 / sqrt((double)linear->k);
    if (linear->weight.address == 0) {
        return;
    }
    if (linear->scale.address == 0) {
        fill_uniform(from, &linear->weight, deviation);
        return;
    }
    int8_t *weights = linear->weight.array.data;
    uint16_t *scales = linear->scale.array.data;
    for (size_t i = 0; i < linear->weight.n_elements; i++) {
        weights[i] = (int8_t)((int)(take(from) % 255) - 127);
    }
    for (size_t i = 0; i < linear->scale.n_elements; i++) {
        scales[i] = tide_fp32_to_bf16((float)((0.5 + take_share(from)) * deviation * SQRT_3 / 127));
    }
}

static void fill_norm(numbers *from, tide_tensor *weight) {
    for (size_t i = 0; i < weight->n_elements; i++) {
        floats(weight)[i] = (float)(0.5 + take_share(from));
    }
}

static void fill_rope(tide_decode *decode) {
    size_t n_pairs = decode->config.C / decode->config.H / 2;
    size_t S = tide_decode_n_positions(&decode->config);
    for (size_t i = 0; i < S * n_pairs; i++) {
        size_t position = i / n_pairs;
        double angle = (double)position *
                       pow(decode->config.rope_theta, -(double)(i % n_pairs) / (double)n_pairs);
        floats(&decode->rope)[i] = (float)cos(angle);
        floats(&decode->rope)[S * n_pairs + i] = (float)sin(angle);
    }
}

static void fill(tide_decode *decode) {
    const tide_decode_config *config = &decode->config;
    numbers from = {.seed = config->seed};
    int32_t *tokens = decode->tokens.array.data;
    for (size_t i = 0; i < decode->tokens.n_elements; i++) {
        tokens[i] = (int32_t)(take(&from) % config->V);
    }
    fill_rope(decode);
    fill_uniform(&from, &decode->embedding, 1);
    fill_norm(&from, &decode->final_norm);
    fill_linear(&from, &decode->head);
    for (size_t l = 0; l < config->L; l++) {
        tide_decode_layer *layer = &decode->layers[l];
        tide_decode_linear *linears[] = {&layer->qkv, &layer->wo, &layer->gate,
                                         &layer->w1,  &layer->w3, &layer->w2};
        from = (numbers){.seed = config->seed, .stream = l + 1};
        fill_norm(&from, &layer->attention_norm);
        fill_norm(&from, &layer->ffn_norm);
        for (size_t i = 0; i < sizeof(linears) / sizeof(linears[0]); i++) {
            fill_linear(&from, linears[i]);
        }
        memset(layer->k_cache.array.data, 0, layer->k_cache.n_elements * sizeof(float));
        memset(layer->v_cache.array.data, 0, layer->v_cache.n_elements * sizeof(float));
    }
}

/* ---- operators ---- */

static void embed(const tide_decode *decode, const tide_decode_range *range, tide_tensor *out) {
    const tide_decode_config *config = &decode->config;
    const int32_t *tokens = decode->tokens.array.data;
    size_t n = range->n_tokens;
    for (size_t r = 0; r < config->B * n; r++) {
        size_t at = r / n * (config->P + config->N) + range->position + r % n;
        memcpy(floats(out) + r * config->C,
               floats(&decode->embedding) + (size_t)tokens[at] * config->C,
               config->C * sizeof(float));
    }
}

static void norm(const tide_decode *decode, const tide_tensor *x, const tide_tensor *weight,
                 size_t stride, tide_tensor *out) {
    static const double EPSILON = 1e-5;
    size_t C = decode->config.C;
    for (size_t r = 0; r < out->n_elements / C; r++) {
        const float *row = floats(x) + ((r + 1) * stride - 1) * C;
        double sum = 0;
        for (size_t c = 0; c < C; c++) {
            sum += (double)row[c] * (double)row[c];
        }
        double rstd = 1 / sqrt(sum / (double)C + EPSILON);
        for (size_t c = 0; c < C; c++) {
            floats(out)[r * C + c] = (float)((double)row[c] * rstd * (double)floats(weight)[c]);
        }
    }
}

/* Row i of matrix `number`, times x. */
static double product(const tide_decode_linear *linear, size_t number, size_t i, const float *x) {
    size_t row = number * linear->m + i;
    double sum = 0;
    if (linear->scale.address == 0) {
        const float *weights = floats(&linear->weight) + row * linear->k;
        for (size_t j = 0; j < linear->k; j++) {
            sum += (double)weights[j] * (double)x[j];
        }
        return sum;
    }
    const int8_t *weights = (const int8_t *)linear->weight.array.data + row * linear->k;
    const uint16_t *scales = linear->scale.array.data;
    for (size_t j = 0; j < linear->k; j++) {
        sum += (double)weights[j] * (double)x[j];
    }
    return sum * (double)tide_bf16_to_fp32(scales[row]);
}

static void linear_rows(const tide_decode_linear *linear, const tide_tensor *x, bool accumulate,
                        tide_tensor *out) {
    for (size_t i = 0; i < out->n_elements; i++) {
        double sum = product(linear, 0, i % linear->m, floats(x) + i / linear->m * linear->k);
        floats(out)[i] = (float)(accumulate ? (double)floats(out)[i] + sum : sum);
    }
}

static void expert(const tide_decode_linear *linear, const tide_tensor *x,
                   const tide_tensor *chosen, size_t A, tide_tensor *out) {
    const int32_t *numbers_of = chosen->array.data;
    bool has_own_rows = x->n_elements / linear->k == chosen->n_elements;
    for (size_t i = 0; i < out->n_elements; i++) {
        size_t pair = i / linear->m; /* a row and one of its experts */
        const float *row = floats(x) + (has_own_rows ? pair : pair / A) * linear->k;
        floats(out)[i] = (float)product(linear, (size_t)numbers_of[pair], i % linear->m, row);
    }
}

/* Rotates each pair of a head's channels by the angles of the position. */
static void rotate_head(const tide_decode *decode, size_t position, float *x) {
    size_t n_pairs = decode->config.C / decode->config.H / 2;
    const float *cosines = floats(&decode->rope) + position * n_pairs;
    const float *sines = cosines + tide_decode_n_positions(&decode->config) * n_pairs;
    for (size_t i = 0; i < n_pairs; i++) {
        float a = x[2 * i];
        float b = x[2 * i + 1];
        x[2 * i] = a * cosines[i] - b * sines[i];
        x[2 * i + 1] = b * cosines[i] + a * sines[i];
    }
}

static void rotate(const tide_decode *decode, const tide_decode_range *range,
                   tide_decode_layer *layer, tide_tensor *qkv) {
    const tide_decode_config *config = &decode->config;
    size_t D = config->C / config->H;
    size_t KD = config->K * D;
    size_t S = tide_decode_n_positions(config);
    for (size_t r = 0; r < config->B * range->n_tokens; r++) {
        float *row = floats(qkv) + r * (config->C + 2 * KD);
        size_t position = range->position + r % range->n_tokens;
        size_t at = (r / range->n_tokens * S + position) * KD;
        for (size_t h = 0; h < config->H + config->K; h++) {
            rotate_head(decode, position, row + h * D);
        }
        memcpy(floats(&layer->k_cache) + at, row + config->C, KD * sizeof(float));
        memcpy(floats(&layer->v_cache) + at, row + config->C + KD, KD * sizeof(float));
    }
}

/* One head of one query over keys and values `stride` elements apart. Scores are computed twice, so
 * that none need be kept: once for their largest, once for the sums. */
static void attend_head(const float *q, const float *k, const float *v, size_t stride, size_t n,
                        size_t D, float *out) {
    double scale = 1 / sqrt((double)D);
    double top = -INFINITY;
    double total = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t s = 0; s < n; s++) {
            double score = 0;
            for (size_t d = 0; d < D; d++) {
                score += (double)q[d] * (double)k[s * stride + d];
            }
            score *= scale;
            if (turn == 0) {
                top = score > top ? score : top;
                continue;
            }
            double share = exp(score - top);
            total += share;
            for (size_t d = 0; d < D; d++) {
                out[d] =
                    (float)((s > 0 ? (double)out[d] : 0.0) + share * (double)v[s * stride + d]);
            }
        }
    }
    for (size_t d = 0; d < D; d++) {
        out[d] = (float)((double)out[d] / total);
    }
}

static void attend(const tide_decode *decode, const tide_decode_range *range,
                   const tide_decode_layer *layer, const tide_tensor *qkv, tide_tensor *out) {
    const tide_decode_config *config = &decode->config;
    size_t D = config->C / config->H;
    size_t KD = config->K * D;
    size_t S = tide_decode_n_positions(config);
    for (size_t r = 0; r < config->B * range->n_tokens; r++) {
        size_t n = range->position + r % range->n_tokens + 1;
        for (size_t h = 0; h < config->H; h++) {
            size_t at = r / range->n_tokens * S * KD + h / (config->H / config->K) * D;
            attend_head(floats(qkv) + r * (config->C + 2 * KD) + h * D,
                        floats(&layer->k_cache) + at, floats(&layer->v_cache) + at, KD, n, D,
                        floats(out) + r * config->C + h * D);
        }
    }
}

static void swiglu(tide_tensor *gate, const tide_tensor *up) {
    for (size_t i = 0; i < gate->n_elements; i++) {
        double x = (double)floats(gate)[i];
        floats(gate)[i] = (float)(x / (1 + exp(-x)) * (double)floats(up)[i]);
    }
}

/* The A largest of a row, the first of equal ones; each is found by going through the row again. */
static void choose_row(const float *scores, size_t E, size_t A, int32_t *chosen, float *shares) {
    double total = 0;
    for (size_t a = 0; a < A; a++) {
        size_t best = E;
        for (size_t e = 0; e < E; e++) {
            bool is_taken = false;
            for (size_t i = 0; i < a; i++) {
                is_taken = is_taken || chosen[i] == (int32_t)e;
            }
            if (!is_taken && (best == E || scores[e] > scores[best])) {
                best = e;
            }
        }
        chosen[a] = (int32_t)best;
        shares[a] = (float)exp((double)scores[best] - (double)scores[chosen[0]]);
        total += (double)shares[a];
    }
    for (size_t a = 0; a < A; a++) {
        shares[a] = (float)((double)shares[a] / total);
    }
}

static void choose(const tide_decode *decode, const tide_tensor *scores, tide_tensor *chosen,
                   tide_tensor *shares) {
    size_t E = decode->config.E;
    size_t A = decode->config.A;
    int32_t *numbers_of = chosen->array.data;
    for (size_t r = 0; r < scores->n_elements / E; r++) {
        choose_row(floats(scores) + r * E, E, A, numbers_of + r * A, floats(shares) + r * A);
    }
}

static void combine(const tide_decode *decode, const tide_tensor *outs, const tide_tensor *shares,
                    tide_tensor *x) {
    size_t C = decode->config.C;
    size_t A = decode->config.A;
    for (size_t i = 0; i < x->n_elements; i++) {
        double sum = (double)floats(x)[i];
        for (size_t a = 0; a < A; a++) {
            size_t pair = i / C * A + a;
            sum += (double)floats(shares)[pair] * (double)floats(outs)[pair * C + i % C];
        }
        floats(x)[i] = (float)sum;
    }
}

static void next(tide_decode *decode, const tide_decode_range *range, const tide_tensor *logits) {
    const tide_decode_config *config = &decode->config;
    int32_t *tokens = decode->tokens.array.data;
    for (size_t b = 0; b < config->B; b++) {
        const float *row = floats(logits) + b * config->V;
        size_t best = 0;
        for (size_t v = 1; v < config->V; v++) {
            best = row[v] > row[best] ? v : best;
        }
        tokens[b * (config->P + config->N) + range->position + range->n_tokens] = (int32_t)best;
    }
}

const tide_decode_ops tide_decode_ops_cpu = {.fill = fill,
                                             .embed = embed,
                                             .norm = norm,
                                             .linear = linear_rows,
                                             .expert = expert,
                                             .rotate = rotate,
                                             .attend = attend,
                                             .swiglu = swiglu,
                                             .choose = choose,
                                             .combine = combine,
                                             .next = next};
