/* out (R, C) = table (V, C) at tokens (R); backward: dtable (V, C) = 0, then += dout (R, C) at
 * tokens, rows in order.
 *
 * Backward needs no atomics: a warp owns a run of one word's channels, keeps it in registers, scans
 * all tokens 32 at a time, and adds the rows of its word in their order, in fp32. So the sum equals
 * the cpu twin's to the bit, and a bf16 result is rounded once. Scanning the tokens costs R / 32
 * steps per word and run, which is little compared with writing dtable as long as R is a few
 * thousand. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/vector.h"

/* Blocks of forward and backward; backward's has a warp per word and run. */
enum { FORWARD_BLOCK = 128, BACKWARD_BLOCK = 256, WARPS = BACKWARD_BLOCK / TIDE_WARP };

/* Channels that a lane of backward keeps in registers; a run is 32 times as many. */
enum { LANE_CHANNELS = 16 };

template <size_t N, typename Out, typename Table>
static __device__ __forceinline__ void copy(tide_view<Out> out, size_t to, tide_view<Table> table,
                                            size_t from) {
    float number[N];
    tide_load(number, table, from);
    tide_store(out, to, number);
}

/* A block takes rows blockIdx.x, blockIdx.x + gridDim.x, ... C % N is 0 unless n_packs is 0. */
template <typename Out, typename Table>
static __global__ void __launch_bounds__(FORWARD_BLOCK)
    tide_embedding_forward_kernel(tide_view<Out> out, tide_view<Table> table, const int32_t *tokens,
                                  size_t n_packs, size_t R, size_t C) {
    constexpr size_t N = TIDE_COMMON_PACK<Out, Table>;
    for (size_t r = blockIdx.x; r < R; r += gridDim.x) {
        const size_t word = static_cast<size_t>(tokens[r]);
        for (size_t i = threadIdx.x; i < n_packs; i += blockDim.x) {
            copy<N>(out, r * C + i * N, table, word * C + i * N);
        }
        for (size_t c = n_packs * N + threadIdx.x; c < C; c += blockDim.x) {
            copy<1>(out, r * C + c, table, word * C + c);
        }
    }
}

template <typename Out, typename Table>
static int launch_forward(const tide_ops *ops, const tide_embedding_forward *call) {
    constexpr size_t N = TIDE_COMMON_PACK<Out, Table>;
    const size_t C = call->C;
    const size_t n_packs = C % N == 0 ? tide_n_common_packs(C, N, call->out, call->table) : 0;
    return TIDE_LAUNCH((tide_embedding_forward_kernel<Out, Table>), tide_cuda_grid(ops, call->R, 1),
                       tide_row_threads(n_packs > 0 ? n_packs : C, FORWARD_BLOCK), 0,
                       tide_cuda_stream(ops), tide_view_of<Out>(call->out),
                       tide_view_of<Table>(call->table), call->tokens, n_packs, call->R, C);
}

template <typename Out>
static int launch_forward_of(const tide_ops *ops, const tide_embedding_forward *call) {
    return tide_by_type(call->table.dtype, [=](auto number) {
        return launch_forward<Out, decltype(number)>(ops, call);
    });
}

extern "C" tide_status
tide_cuda_embedding_forward(tide_ops *ops, const tide_embedding_forward *call, tide_error *error) {
    const tide_array arrays[] = {call->out, call->table};
    TIDE_TRY(tide_cuda_need_floats("embedding", arrays, 2, error));
    if (call->R * call->C == 0) {
        return TIDE_OK;
    }
    const int result = tide_by_type(call->out.dtype, [=](auto number) {
        return launch_forward_of<decltype(number)>(ops, call);
    });
    return tide_cuda_launched(ops, "embedding_forward", result, error);
}

/* The packs of N of one lane in a run that begins at channel c0: lane's, lane's + 32, ... */
template <size_t N> struct lane_packs {
    static constexpr size_t COUNT = LANE_CHANNELS / N;
    float sum[COUNT][N]; /* of the rows so far */
};

/* Channel of pack i of this lane. */
template <size_t N> static __device__ __forceinline__ size_t channel_of(size_t c0, size_t i) {
    return c0 + (i * TIDE_WARP + tide_lane()) * N;
}

template <size_t N, typename Dout>
static __device__ __forceinline__ void add_row(lane_packs<N> &packs, tide_view<Dout> dout, size_t r,
                                               size_t c0, size_t C) {
#pragma unroll
    for (size_t i = 0; i < lane_packs<N>::COUNT; i++) {
        const size_t c = channel_of<N>(c0, i);
        if (c < C) {
            float row[N];
            tide_load(row, dout, r * C + c);
#pragma unroll
            for (size_t k = 0; k < N; k++) {
                packs.sum[i][k] += row[k];
            }
        }
    }
}

/* dtable[word][c0 .. c0 + 32 LANE_CHANNELS) of this warp; C % N is 0. */
template <size_t N, typename Dtable, typename Dout>
static __device__ __forceinline__ void sum_run(tide_view<Dtable> dtable, tide_view<Dout> dout,
                                               const int32_t *tokens, size_t word, size_t c0,
                                               size_t R, size_t C) {
    lane_packs<N> packs = {};
    for (size_t r0 = 0; r0 < R; r0 += TIDE_WARP) {
        const size_t r = r0 + tide_lane();
        const bool is_hit = r < R && static_cast<size_t>(tokens[r]) == word;
        /* Lane by lane is row by row, the order of the cpu twin. */
        for (unsigned hits = __ballot_sync(TIDE_ALL_LANES, is_hit); hits != 0; hits &= hits - 1) {
            const int first = __ffs(static_cast<int>(hits)) - 1;
            add_row<N>(packs, dout, r0 + static_cast<size_t>(first), c0, C);
        }
    }
#pragma unroll
    for (size_t i = 0; i < lane_packs<N>::COUNT; i++) {
        const size_t c = channel_of<N>(c0, i);
        if (c < C) {
            tide_store(dtable, word * C + c, packs.sum[i]);
        }
    }
}

template <typename Dtable, typename Dout>
static __global__ void __launch_bounds__(BACKWARD_BLOCK)
    tide_embedding_backward_kernel(tide_view<Dtable> dtable, tide_view<Dout> dout,
                                   const int32_t *tokens, bool is_packed, size_t R, size_t C,
                                   size_t V) {
    constexpr size_t RUN = static_cast<size_t>(LANE_CHANNELS) * TIDE_WARP;
    const size_t n_runs = (C + RUN - 1) / RUN;
    const size_t step = static_cast<size_t>(gridDim.x) * WARPS;
    for (size_t i = static_cast<size_t>(blockIdx.x) * WARPS + threadIdx.x / TIDE_WARP;
         i < V * n_runs; i += step) {
        const size_t word = i / n_runs;
        const size_t c0 = i % n_runs * RUN;
        if (is_packed) {
            sum_run<TIDE_COMMON_PACK<Dtable, Dout>>(dtable, dout, tokens, word, c0, R, C);
        } else {
            sum_run<1>(dtable, dout, tokens, word, c0, R, C);
        }
    }
}

template <typename Dtable, typename Dout>
static int launch_backward(const tide_ops *ops, const tide_embedding_backward *call) {
    constexpr size_t N = TIDE_COMMON_PACK<Dtable, Dout>;
    const size_t C = call->C;
    const bool is_packed = C % N == 0 && tide_n_common_packs(C, N, call->dtable, call->dout) > 0;
    const size_t n_runs = (C + LANE_CHANNELS * TIDE_WARP - 1) / (LANE_CHANNELS * TIDE_WARP);
    return TIDE_LAUNCH((tide_embedding_backward_kernel<Dtable, Dout>),
                       tide_cuda_grid(ops, call->V * n_runs, WARPS), BACKWARD_BLOCK, 0,
                       tide_cuda_stream(ops), tide_view_of<Dtable>(call->dtable),
                       tide_view_of<Dout>(call->dout), call->tokens, is_packed, call->R, C,
                       call->V);
}

template <typename Dtable>
static int launch_backward_of(const tide_ops *ops, const tide_embedding_backward *call) {
    return tide_by_type(call->dout.dtype, [=](auto number) {
        return launch_backward<Dtable, decltype(number)>(ops, call);
    });
}

extern "C" tide_status tide_cuda_embedding_backward(tide_ops *ops,
                                                    const tide_embedding_backward *call,
                                                    tide_error *error) {
    const tide_array arrays[] = {call->dtable, call->dout};
    TIDE_TRY(tide_cuda_need_floats("embedding", arrays, 2, error));
    if (call->V * call->C == 0) {
        return TIDE_OK;
    }
    const int result = tide_by_type(call->dtable.dtype, [=](auto number) {
        return launch_backward_of<decltype(number)>(ops, call);
    });
    return tide_cuda_launched(ops, "embedding_backward", result, error);
}
