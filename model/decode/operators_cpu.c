/* operators_cpu.c - the operators of decode on the host: plain loops that sum in double, written as
 * a readable reference, not for speed. Contracts in operators.h. */
#include <math.h>
#include <string.h>

#include "model/bf16.h"
#include "model/decode/operators.h"
#include "model/philox.h"

static double get(tide_array array, size_t i) {
    if (array.dtype == TIDE_INT8) {
        return (double)((const int8_t *)array.data)[i];
    }
    return array.dtype == TIDE_BF16 ? (double)tide_bf16_to_fp32(((const uint16_t *)array.data)[i])
                                    : (double)((const float *)array.data)[i];
}

static void put(tide_array array, size_t i, double x) {
    if (array.dtype == TIDE_BF16) {
        ((uint16_t *)array.data)[i] = tide_fp32_to_bf16((float)x);
    } else {
        ((float *)array.data)[i] = (float)x;
    }
}

/* A tide_array's elements from `at` on. */
static void *from(tide_array array, size_t at) {
    return (char *)array.data + at * tide_dtype_bytes(array.dtype);
}

tide_status tide_cpu_decode_fill(tide_ops *ops, const tide_decode_fill *call, tide_error *error) {
    (void)ops;
    (void)error;
    for (size_t i = 0; i < call->n; i++) {
        uint64_t at = call->first + i;
        uint32_t word =
            tide_philox_elements(call->random.seed, call->random.stream, at / 4).words[at % 4];
        int64_t whole = call->n_values > 0 ? call->low + (int64_t)(word % call->n_values) : 0;
        if (call->out.dtype == TIDE_INT8) {
            ((int8_t *)call->out.data)[i] = (int8_t)whole;
        } else if (call->out.dtype == TIDE_INT32) {
            ((int32_t *)call->out.data)[i] = (int32_t)whole;
        } else {
            put(call->out, i, ((double)word / 4294967296.0 + call->offset) * call->scale);
        }
    }
    return TIDE_OK;
}

tide_status tide_cpu_decode_embed(tide_ops *ops, const tide_decode_embed *call, tide_error *error) {
    size_t n_bytes = call->C * tide_dtype_bytes(call->out.dtype);
    (void)ops;
    (void)error;
    for (size_t r = 0; r < call->B * call->n; r++) {
        size_t token = (size_t)call->tokens[r / call->n * call->stride + r % call->n];
        memcpy(from(call->out, r * call->C), from(call->table, token * call->C), n_bytes);
    }
    return TIDE_OK;
}

/* Row p and column i of out. */
static double multiply(const tide_decode_product *call, size_t p, size_t i) {
    size_t matrix = call->chosen != NULL ? (size_t)call->chosen[p] : 0;
    size_t row = matrix * call->m + i;
    double sum = 0;
    for (size_t j = 0; j < call->k; j++) {
        sum +=
            get(call->weight, row * call->k + j) * get(call->x, p / call->n_shares * call->k + j);
    }
    return call->scale != NULL ? sum * (double)tide_bf16_to_fp32(call->scale[row]) : sum;
}

tide_status tide_cpu_decode_product(tide_ops *ops, const tide_decode_product *call,
                                    tide_error *error) {
    (void)ops;
    (void)error;
    for (size_t at = 0; at < call->n_rows * call->m; at++) {
        double product = multiply(call, at / call->m, at % call->m);
        put(call->out, at, call->accumulate ? get(call->out, at) + product : product);
    }
    return TIDE_OK;
}

/* Rotates each pair of a head's channels by the angles of the position. */
static void rotate_head(const tide_decode_rotate *call, size_t position, size_t at) {
    const tide_decode_heads *heads = &call->heads;
    const float *cosines = call->table + position * heads->D / 2;
    const float *sines = cosines + heads->S * heads->D / 2;
    for (size_t i = 0; i < heads->D / 2; i++) {
        double a = get(heads->qkv, at + 2 * i);
        double b = get(heads->qkv, at + 2 * i + 1);
        put(heads->qkv, at + 2 * i, a * (double)cosines[i] - b * (double)sines[i]);
        put(heads->qkv, at + 2 * i + 1, b * (double)cosines[i] + a * (double)sines[i]);
    }
}

tide_status tide_cpu_decode_rotate(tide_ops *ops, const tide_decode_rotate *call,
                                   tide_error *error) {
    const tide_decode_heads *heads = &call->heads;
    size_t KD = heads->K * heads->D;
    size_t n_bytes = KD * tide_dtype_bytes(heads->qkv.dtype);
    (void)ops;
    (void)error;
    for (size_t r = 0; r < heads->B * heads->n; r++) {
        size_t row = r * (heads->H + 2 * heads->K) * heads->D;
        size_t position = heads->position + r % heads->n;
        size_t at = (r / heads->n * heads->S + position) * KD;
        size_t key = row + heads->H * heads->D;
        for (size_t h = 0; h < heads->H + heads->K; h++) {
            rotate_head(call, position, row + h * heads->D);
        }
        memcpy(from(heads->keys, at), from(heads->qkv, key), n_bytes);
        memcpy(from(heads->values, at), from(heads->qkv, key + KD), n_bytes);
    }
    return TIDE_OK;
}

/* The places of the operands of one head of one query. */
typedef struct query {
    size_t q, out;   /* elements of qkv and out at which it begins */
    size_t at, step; /* of keys and values: that of position 0, and between positions */
    size_t n;        /* positions that it sees */
} query;

static double score_of(const tide_decode_heads *heads, const query *of, size_t s) {
    double score = 0;
    for (size_t d = 0; d < heads->D; d++) {
        score += get(heads->qkv, of->q + d) * get(heads->keys, of->at + s * of->step + d);
    }
    return score / sqrt((double)heads->D);
}

/* Scores are computed twice, to avoid storing them: once for their maximum, once for the sums. */
static void attend(const tide_decode_attention *call, const query *of) {
    const tide_decode_heads *heads = &call->heads;
    double sums[TIDE_DECODE_MAX_HEAD] = {0};
    double top = -INFINITY;
    double total = 0;
    for (size_t s = 0; s < of->n; s++) {
        top = fmax(top, score_of(heads, of, s));
    }
    for (size_t s = 0; s < of->n; s++) {
        double share = exp(score_of(heads, of, s) - top);
        total += share;
        for (size_t d = 0; d < heads->D; d++) {
            sums[d] += share * get(heads->values, of->at + s * of->step + d);
        }
    }
    for (size_t d = 0; d < heads->D; d++) {
        put(call->out, of->out + d, sums[d] / total);
    }
}

tide_status tide_cpu_decode_attention(tide_ops *ops, const tide_decode_attention *call,
                                      tide_error *error) {
    const tide_decode_heads *heads = &call->heads;
    size_t D = heads->D;
    (void)ops;
    (void)error;
    for (size_t r = 0; r < heads->B * heads->n; r++) {
        for (size_t h = 0; h < heads->H; h++) {
            size_t kv = h / (heads->H / heads->K);
            query of = {.q = (r * (heads->H + 2 * heads->K) + h) * D,
                        .out = (r * heads->H + h) * D,
                        .at = (r / heads->n * heads->S * heads->K + kv) * D,
                        .step = heads->K * D,
                        .n = heads->position + r % heads->n + 1};
            attend(call, &of);
        }
    }
    return TIDE_OK;
}

/* The A largest of a row, the first of equal ones; each is found by another pass over the row. */
static void choose_row(const tide_decode_choose *call, size_t r) {
    int32_t *chosen = call->chosen + r * call->A;
    double total = 0;
    for (size_t a = 0; a < call->A; a++) {
        size_t best = call->E;
        for (size_t e = 0; e < call->E; e++) {
            bool is_taken = false;
            for (size_t i = 0; i < a; i++) {
                is_taken = is_taken || chosen[i] == (int32_t)e;
            }
            if (!is_taken && (best == call->E || get(call->scores, r * call->E + e) >
                                                     get(call->scores, r * call->E + best))) {
                best = e;
            }
        }
        chosen[a] = (int32_t)best;
        total += exp(get(call->scores, r * call->E + best) -
                     get(call->scores, r * call->E + (size_t)chosen[0]));
    }
    for (size_t a = 0; a < call->A; a++) {
        call->shares[r * call->A + a] =
            (float)(exp(get(call->scores, r * call->E + (size_t)chosen[a]) -
                        get(call->scores, r * call->E + (size_t)chosen[0])) /
                    total);
    }
}

tide_status tide_cpu_decode_choose(tide_ops *ops, const tide_decode_choose *call,
                                   tide_error *error) {
    (void)ops;
    (void)error;
    for (size_t r = 0; r < call->R; r++) {
        choose_row(call, r);
    }
    return TIDE_OK;
}

tide_status tide_cpu_decode_combine(tide_ops *ops, const tide_decode_combine *call,
                                    tide_error *error) {
    (void)ops;
    (void)error;
    for (size_t i = 0; i < call->R * call->C; i++) {
        double sum = get(call->x, i);
        for (size_t a = 0; a < call->A; a++) {
            size_t pair = i / call->C * call->A + a;
            sum += (double)call->shares[pair] * get(call->outs, pair * call->C + i % call->C);
        }
        put(call->x, i, sum);
    }
    return TIDE_OK;
}

tide_status tide_cpu_decode_next(tide_ops *ops, const tide_decode_next *call, tide_error *error) {
    (void)ops;
    (void)error;
    for (size_t b = 0; b < call->B; b++) {
        size_t best = 0;
        for (size_t v = 1; v < call->V; v++) {
            best = get(call->logits, b * call->V + v) > get(call->logits, b * call->V + best)
                       ? v
                       : best;
        }
        call->tokens[b * call->stride] = (int32_t)best;
    }
    return TIDE_OK;
}
