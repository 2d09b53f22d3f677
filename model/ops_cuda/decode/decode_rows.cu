/* The small operators of decode (model/decode/operators.h), which move and compare numbers: embed,
 * rotate, choose, combine, next. Arithmetic is fp32, and stored results are rounded once. */
#include "model/decode/operators.h"
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/vector.h"

/* A logit or score, and its number in its row. */
typedef struct candidate {
    float logit;
    int number;
} candidate;

/* ---- embed: a thread has an element ---- */

template <typename T>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_decode_embed_kernel(T *out, const T *table, tide_decode_embed given) {
    for (size_t i = tide_thread(); i < given.B * given.n * given.C; i += tide_n_threads()) {
        const size_t r = i / given.C;
        const int32_t token = given.tokens[r / given.n * given.stride + r % given.n];
        out[i] = table[static_cast<size_t>(token) * given.C + i % given.C];
    }
}

template <typename T> static int launch_embed(const tide_ops *ops, const tide_decode_embed *call) {
    return TIDE_LAUNCH(tide_decode_embed_kernel<T>,
                       tide_cuda_grid(ops, call->B * call->n * call->C, TIDE_BLOCK), TIDE_BLOCK, 0,
                       tide_cuda_stream(ops), static_cast<T *>(call->out.data),
                       static_cast<const T *>(call->table.data), *call);
}

extern "C" tide_status tide_cuda_decode_embed(tide_ops *ops, const tide_decode_embed *call,
                                              tide_error *error) {
    const tide_array arrays[] = {call->out, call->table};
    TIDE_TRY(tide_cuda_need_one_type("embed", arrays, 2, error));
    const int result = call->out.dtype == TIDE_BF16 ? launch_embed<__nv_bfloat16>(ops, call)
                                                    : launch_embed<float>(ops, call);
    return tide_cuda_launched(ops, "decode_embed", result, error);
}

/* ---- rotate: a thread has a pair of channels of a query, a key or a value ---- */

template <typename T> struct heads {
    T *qkv;           /* (R, H + 2 K, D) */
    T *keys, *values; /* (B, S, K, D) */
};

template <typename T>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_decode_rotate_kernel(heads<T> arrays, tide_decode_rotate given) {
    const tide_decode_heads &shape = given.heads;
    const size_t n_pairs = shape.D / 2;
    const size_t n_heads = shape.H + 2 * shape.K;
    for (size_t i = tide_thread(); i < shape.B * shape.n * n_heads * n_pairs;
         i += tide_n_threads()) {
        const size_t r = i / n_pairs / n_heads;
        const size_t h = i / n_pairs % n_heads;
        const size_t position = shape.position + r % shape.n;
        T *pair = arrays.qkv + 2 * i;
        if (h < shape.H + shape.K) {
            const float cosine = given.table[position * n_pairs + i % n_pairs];
            const float sine = given.table[(shape.S + position) * n_pairs + i % n_pairs];
            const float a = tide_read(pair);
            const float b = tide_read(pair + 1);
            tide_write(pair, a * cosine - b * sine);
            tide_write(pair + 1, b * cosine + a * sine);
        }
        if (h >= shape.H) {
            const bool is_key = h < shape.H + shape.K;
            const size_t head = h - shape.H - (is_key ? 0 : shape.K);
            const size_t at = (r / shape.n * shape.S + position) * shape.K + head;
            T *to = (is_key ? arrays.keys : arrays.values) + at * shape.D + 2 * (i % n_pairs);
            to[0] = pair[0];
            to[1] = pair[1];
        }
    }
}

template <typename T>
static int launch_rotate(const tide_ops *ops, const tide_decode_rotate *call) {
    const tide_decode_heads *shape = &call->heads;
    const size_t n = shape->B * shape->n * (shape->H + 2 * shape->K) * (shape->D / 2);
    const heads<T> arrays = {static_cast<T *>(shape->qkv.data), static_cast<T *>(shape->keys.data),
                             static_cast<T *>(shape->values.data)};
    return TIDE_LAUNCH(tide_decode_rotate_kernel<T>, tide_cuda_grid(ops, n, TIDE_BLOCK), TIDE_BLOCK,
                       0, tide_cuda_stream(ops), arrays, *call);
}

extern "C" tide_status tide_cuda_decode_rotate(tide_ops *ops, const tide_decode_rotate *call,
                                               tide_error *error) {
    const tide_array arrays[] = {call->heads.qkv, call->heads.keys, call->heads.values};
    TIDE_TRY(tide_cuda_need_one_type("rotate", arrays, 3, error));
    const int result = call->heads.qkv.dtype == TIDE_BF16 ? launch_rotate<__nv_bfloat16>(ops, call)
                                                          : launch_rotate<float>(ops, call);
    return tide_cuda_launched(ops, "decode_rotate", result, error);
}

/* ---- choose: a thread has a row ---- */

/* The largest score of a row that is not among the first n chosen, and its number. */
template <typename T>
static __device__ __forceinline__ candidate find_best(const T *scores, int E, const int32_t *chosen,
                                                      size_t n) {
    candidate best = {0, -1};
    for (int e = 0; e < E; e++) {
        bool is_taken = false;
        for (size_t i = 0; i < n; i++) {
            is_taken = is_taken || chosen[i] == e;
        }
        const float score = tide_read(scores + e);
        if (!is_taken && (best.number < 0 || score > best.logit)) {
            best = {score, e};
        }
    }
    return best;
}

template <typename T>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_decode_choose_kernel(const T *scores, tide_decode_choose given) {
    for (size_t r = tide_thread(); r < given.R; r += tide_n_threads()) {
        int32_t *chosen = given.chosen + r * given.A;
        float *shares = given.shares + r * given.A;
        float top = 0;
        float total = 0;
        for (size_t a = 0; a < given.A; a++) {
            const candidate best =
                find_best(scores + r * given.E, static_cast<int>(given.E), chosen, a);
            top = a == 0 ? best.logit : top;
            const float share = expf(best.logit - top);
            chosen[a] = best.number;
            shares[a] = share;
            total += share;
        }
        for (size_t a = 0; a < given.A; a++) {
            shares[a] /= total;
        }
    }
}

template <typename T>
static int launch_choose(const tide_ops *ops, const tide_decode_choose *call) {
    return TIDE_LAUNCH(tide_decode_choose_kernel<T>, tide_cuda_grid(ops, call->R, TIDE_BLOCK),
                       TIDE_BLOCK, 0, tide_cuda_stream(ops),
                       static_cast<const T *>(call->scores.data), *call);
}

extern "C" tide_status tide_cuda_decode_choose(tide_ops *ops, const tide_decode_choose *call,
                                               tide_error *error) {
    TIDE_TRY(tide_cuda_need_floats("choose", &call->scores, 1, error));
    const int result = call->scores.dtype == TIDE_BF16 ? launch_choose<__nv_bfloat16>(ops, call)
                                                       : launch_choose<float>(ops, call);
    return tide_cuda_launched(ops, "decode_choose", result, error);
}

/* ---- combine: a thread has an element ---- */

template <typename T>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_decode_combine_kernel(T *x, const T *outs, tide_decode_combine given) {
    for (size_t i = tide_thread(); i < given.R * given.C; i += tide_n_threads()) {
        const size_t first = i / given.C * given.A;
        float sum = tide_read(x + i);
        for (size_t a = 0; a < given.A; a++) {
            sum += given.shares[first + a] * tide_read(outs + (first + a) * given.C + i % given.C);
        }
        tide_write(x + i, sum);
    }
}

template <typename T>
static int launch_combine(const tide_ops *ops, const tide_decode_combine *call) {
    return TIDE_LAUNCH(tide_decode_combine_kernel<T>,
                       tide_cuda_grid(ops, call->R * call->C, TIDE_BLOCK), TIDE_BLOCK, 0,
                       tide_cuda_stream(ops), static_cast<T *>(call->x.data),
                       static_cast<const T *>(call->outs.data), *call);
}

extern "C" tide_status tide_cuda_decode_combine(tide_ops *ops, const tide_decode_combine *call,
                                                tide_error *error) {
    const tide_array arrays[] = {call->x, call->outs};
    TIDE_TRY(tide_cuda_need_one_type("combine", arrays, 2, error));
    const int result = call->x.dtype == TIDE_BF16 ? launch_combine<__nv_bfloat16>(ops, call)
                                                  : launch_combine<float>(ops, call);
    return tide_cuda_launched(ops, "decode_combine", result, error);
}

/* ---- next: a block has a sequence ---- */

/* Of equal logits the lower number is larger. */
static __device__ __forceinline__ candidate larger(candidate a, candidate b) {
    return b.logit > a.logit || (b.logit == a.logit && b.number < a.number) ? b : a;
}

static __device__ __forceinline__ candidate warp_largest(candidate mine) {
#pragma unroll
    for (int distance = TIDE_WARP / 2; distance > 0; distance /= 2) {
        const candidate other = {__shfl_xor_sync(TIDE_ALL_LANES, mine.logit, distance),
                                 __shfl_xor_sync(TIDE_ALL_LANES, mine.number, distance)};
        mine = larger(mine, other);
    }
    return mine;
}

template <typename T>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_decode_next_kernel(const T *logits, tide_decode_next given) {
    TIDE_SHARED(float, tops, [TIDE_BLOCK / TIDE_WARP]);
    TIDE_SHARED(int, numbers, [TIDE_BLOCK / TIDE_WARP]);
    for (size_t b = blockIdx.x; b < given.B; b += gridDim.x) {
        candidate mine = {-INFINITY, static_cast<int>(given.V)};
        for (size_t v = threadIdx.x; v < given.V; v += TIDE_BLOCK) {
            mine = larger(mine, {tide_read(logits + b * given.V + v), static_cast<int>(v)});
        }
        mine = warp_largest(mine);
        __syncthreads(); /* the previous sequence has been read */
        if (tide_lane() == 0) {
            tops[threadIdx.x / TIDE_WARP] = mine.logit;
            numbers[threadIdx.x / TIDE_WARP] = mine.number;
        }
        __syncthreads(); /* all warps have written */
        if (threadIdx.x == 0) {
            for (unsigned w = 1; w < TIDE_BLOCK / TIDE_WARP; w++) {
                mine = larger(mine, {tops[w], numbers[w]});
            }
            /* If no logit is a number, none is larger than another: the first one wins, as on the
             * cpu device. */
            given.tokens[b * given.stride] =
                mine.number < static_cast<int>(given.V) ? mine.number : 0;
        }
    }
}

template <typename T> static int launch_next(const tide_ops *ops, const tide_decode_next *call) {
    return TIDE_LAUNCH(tide_decode_next_kernel<T>, tide_cuda_grid(ops, call->B, 1), TIDE_BLOCK, 0,
                       tide_cuda_stream(ops), static_cast<const T *>(call->logits.data), *call);
}

extern "C" tide_status tide_cuda_decode_next(tide_ops *ops, const tide_decode_next *call,
                                             tide_error *error) {
    TIDE_TRY(tide_cuda_need_floats("next", &call->logits, 1, error));
    const int result = call->logits.dtype == TIDE_BF16 ? launch_next<__nv_bfloat16>(ops, call)
                                                       : launch_next<float>(ops, call);
    return tide_cuda_launched(ops, "decode_next", result, error);
}
