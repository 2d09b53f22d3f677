/* row_losses (R) = log(sum_v exp(logits (R, V))) - logits at targets (R); loss (1) = their mean;
 * logits = (softmax - onehot) / R in place.
 *
 * A block per row, which it reads twice: once for the maximum and the sum of exponentials together
 * (when the maximum grows, the sum is rescaled), once for the gradient. A separate pass for the
 * maximum would read the row a third time. Sums of exponentials are fp32 within a pack and double
 * beyond, so their error does not grow with V; the mean is a sum in double over a tree that depends
 * only on R.
 *
 * A row that does not begin at a multiple of 16 bytes has a head of single elements before its
 * packs; the elements after the last whole pack are its tail. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/vector.h"

enum { BLOCK = 512, MEAN_BLOCK = 256 };

/* The sum of exp(x - max) over a part of a row. */
struct exponentials {
    float max;  /* of them; -infinity if there are none; fmaxf ignores NaN */
    double sum; /* NaN if one of them is */
};

/* The base of the differences: max, or 0 if all numbers are -infinity, because -infinity minus
 * itself is NaN. */
static __device__ __forceinline__ float base_of(float max) {
    return max == -INFINITY ? 0.0F : max;
}

static __device__ __forceinline__ exponentials join(exponentials a, exponentials b) {
    const float max = fmaxf(a.max, b.max);
    const float base = base_of(max);
    return {max, a.sum * static_cast<double>(expf(a.max - base)) +
                     b.sum * static_cast<double>(expf(b.max - base))};
}

template <size_t N>
static __device__ __forceinline__ void include(exponentials &so_far, const float (&x)[N]) {
    float max = so_far.max;
#pragma unroll
    for (size_t k = 0; k < N; k++) {
        max = fmaxf(max, x[k]);
    }
    const float base = base_of(max);
    float sum = 0;
#pragma unroll
    for (size_t k = 0; k < N; k++) {
        sum += expf(x[k] - base);
    }
    so_far.sum =
        so_far.sum * static_cast<double>(expf(so_far.max - base)) + static_cast<double>(sum);
    so_far.max = max;
}

static __device__ __forceinline__ exponentials warp_join(exponentials x) {
#pragma unroll
    for (int distance = TIDE_WARP / 2; distance > 0; distance /= 2) {
        const exponentials other = {__shfl_xor_sync(TIDE_ALL_LANES, x.max, distance),
                                    __shfl_xor_sync(TIDE_ALL_LANES, x.sum, distance)};
        x = join(x, other);
    }
    return x;
}

static __device__ __forceinline__ exponentials block_join(exponentials x) {
    TIDE_SHARED(float, maxima, [TIDE_WARP]);
    TIDE_SHARED(double, sums, [TIDE_WARP]);
    x = warp_join(x);
    __syncthreads(); /* another warp may still read both for the row before */
    if (tide_lane() == 0) {
        maxima[threadIdx.x / TIDE_WARP] = x.max;
        sums[threadIdx.x / TIDE_WARP] = x.sum;
    }
    __syncthreads();
    const bool is_used = tide_lane() < blockDim.x / TIDE_WARP;
    return warp_join({is_used ? maxima[tide_lane()] : -INFINITY, is_used ? sums[tide_lane()] : 0});
}

/* One row of logits. */
template <typename T> struct logits_row {
    tide_view<T> x; /* (V) */
    size_t head;    /* single elements before the first pack */
    size_t n_packs; /* after them */
    size_t V;       /* elements in all */
};

template <typename T>
static __device__ __forceinline__ logits_row<T> row_of(tide_view<T> logits, size_t r, size_t V) {
    T *begin = logits.data + r * V;
    const size_t past = reinterpret_cast<uintptr_t>(begin) % 16 / sizeof(T);
    const size_t wanted = past == 0 ? 0 : TIDE_PACK<T> - past;
    const size_t head = wanted < V ? wanted : V;
    return {{begin}, head, (V - head) / TIDE_PACK<T>, V};
}

template <typename T>
static __device__ __forceinline__ exponentials read_row(const logits_row<T> &row) {
    constexpr size_t N = TIDE_PACK<T>;
    exponentials all = {-INFINITY, 0};
    for (size_t i = threadIdx.x; i < row.n_packs; i += blockDim.x) {
        float x[N];
        tide_load(x, row.x, row.head + i * N);
        include(all, x);
    }
    /* Head and tail as one run: an index beyond the head skips the packs. */
    for (size_t i = threadIdx.x; i < row.V - row.n_packs * N; i += blockDim.x) {
        float x[1];
        tide_load(x, row.x, i < row.head ? i : i + row.n_packs * N);
        include(all, x);
    }
    return all;
}

/* The factors of a row's gradient. */
struct gradient_factors {
    float max;     /* of the row */
    float scale;   /* factor / sum of exponentials */
    float factor;  /* subtracted from the target's element */
    size_t target; /* element of the row */
};

template <size_t N, typename T>
static __device__ __forceinline__ void write_gradient(const logits_row<T> &row, size_t at,
                                                      const gradient_factors &factors) {
    float x[N];
    tide_load(x, row.x, at);
#pragma unroll
    for (size_t k = 0; k < N; k++) {
        x[k] = expf(x[k] - factors.max) * factors.scale;
        x[k] -= at + k == factors.target ? factors.factor : 0.0F;
    }
    tide_store(row.x, at, x);
}

template <typename T>
static __device__ __forceinline__ void write_row(const logits_row<T> &row,
                                                 const gradient_factors &factors) {
    constexpr size_t N = TIDE_PACK<T>;
    for (size_t i = threadIdx.x; i < row.n_packs; i += blockDim.x) {
        write_gradient<N>(row, row.head + i * N, factors);
    }
    for (size_t i = threadIdx.x; i < row.V - row.n_packs * N; i += blockDim.x) {
        write_gradient<1>(row, i < row.head ? i : i + row.n_packs * N, factors);
    }
}

/* A block takes rows blockIdx.x, blockIdx.x + gridDim.x, ... */
template <typename T>
static __global__ void __launch_bounds__(BLOCK)
    tide_cross_entropy_rows_kernel(tide_view<T> logits, float *row_losses, const int32_t *targets,
                                   float factor, size_t R, size_t V) {
    for (size_t r = blockIdx.x; r < R; r += gridDim.x) {
        const logits_row<T> row = row_of(logits, r, V);
        const size_t target = static_cast<size_t>(targets[r]);
        const float target_logit = tide_read(row.x.data + target); /* before it is overwritten */
        const exponentials all = block_join(read_row(row));
        if (threadIdx.x == 0) {
            row_losses[r] = static_cast<float>(
                log(all.sum) - (static_cast<double>(target_logit) - static_cast<double>(all.max)));
        }
        /* logits - max <= 0, so no exponential overflows; dividing by the sum and by R, and
         * the scale, are one factor. */
        write_row(row, {all.max, static_cast<float>(1 / all.sum) * factor, factor, target});
    }
}

static __global__ void __launch_bounds__(MEAN_BLOCK)
    tide_cross_entropy_mean_kernel(float *loss, const float *row_losses, size_t R) {
    double sum = 0;
    for (size_t r = threadIdx.x; r < R; r += MEAN_BLOCK) {
        sum += static_cast<double>(row_losses[r]);
    }
    sum = tide_block_sum(sum);
    if (threadIdx.x == 0) {
        *loss = static_cast<float>(sum / static_cast<double>(R));
    }
}

template <typename T> static int launch_rows(const tide_ops *ops, const tide_cross_entropy *call) {
    return TIDE_LAUNCH((tide_cross_entropy_rows_kernel<T>), tide_cuda_grid(ops, call->R, 1),
                       tide_row_threads(call->V / TIDE_PACK<T>, BLOCK), 0, tide_cuda_stream(ops),
                       tide_view_of<T>(call->logits), call->row_losses, call->targets,
                       static_cast<float>(call->scale / static_cast<double>(call->R)), call->R,
                       call->V);
}

extern "C" tide_status tide_cuda_cross_entropy(tide_ops *ops, const tide_cross_entropy *call,
                                               tide_error *error) {
    TIDE_TRY(tide_cuda_need_floats("cross_entropy", &call->logits, 1, error));
    if (call->R * call->V == 0) {
        return TIDE_OK;
    }
    const int result = tide_by_type(
        call->logits.dtype, [=](auto number) { return launch_rows<decltype(number)>(ops, call); });
    TIDE_TRY(tide_cuda_launched(ops, "cross_entropy", result, error));
    const int mean_result =
        TIDE_LAUNCH(tide_cross_entropy_mean_kernel, 1, MEAN_BLOCK, 0, tide_cuda_stream(ops),
                    call->loss, static_cast<const float *>(call->row_losses), call->R);
    return tide_cuda_launched(ops, "cross_entropy: mean", mean_result, error);
}
