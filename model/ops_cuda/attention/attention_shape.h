/* attention_shape.h - shared by the kernels of flash attention: the sizes of a call, the work of a
 * block, and the needs of launchers. For .cu files.
 */
#ifndef TIDE_MODEL_OPS_CUDA_ATTENTION_ATTENTION_SHAPE_H
#define TIDE_MODEL_OPS_CUDA_ATTENTION_ATTENTION_SHAPE_H

#include "model/ops_cuda/gpu.h"
#include "model/tensor.h"

/* Sizes of a call; every array (B, T, H, D), lse and delta (B, H, T). */
struct tide_attention_shape {
    size_t T, D, C; /* tokens, channels of a head, of all heads */
    size_t H;       /* heads */
    size_t n_heads; /* B H */
    float scale;    /* of scores: 1 / sqrt(D) */
    bool in_fours;  /* arrays can be accessed four elements at a time */
};

/* The place of a block's work. */
struct tide_attention_place {
    size_t at;     /* element (b, 0, h, 0) of arrays (B, T, H, D) */
    size_t row_at; /* element (b, h, 0) of arrays (B, H, T) */
    size_t own;    /* first token of its own tile */
};

/* Blocks are numbered head after head and then tile after tile, the longest tiles first, so no long
 * tile starts last and runs alone: the last tile comes first if a tile looks to the left, the first
 * if it looks down. */
template <unsigned ROWS>
static __device__ __forceinline__ tide_attention_place
tide_attention_place_of(const tide_attention_shape &shape, bool last_first) {
    const size_t head = blockIdx.x % shape.n_heads;
    const size_t tile = blockIdx.x / shape.n_heads;
    const size_t n_tiles = gridDim.x / shape.n_heads;
    const size_t b = head / shape.H;
    const size_t h = head % shape.H;
    return {b * shape.T * shape.C + h * shape.D, head * shape.T,
            (last_first ? n_tiles - 1 - tile : tile) * ROWS};
}

/* The sizes of a call whose arrays are these. */
template <size_t N>
static inline tide_attention_shape tide_attention_shape_of(const tide_array (&arrays)[N], size_t B,
                                                           size_t T, size_t H, size_t D) {
    const size_t n_bytes = 4 * tide_dtype_bytes(arrays[0].dtype);
    bool in_fours = D % 4 == 0;
    for (const tide_array &array : arrays) {
        in_fours = in_fours && reinterpret_cast<uintptr_t>(array.data) % n_bytes == 0;
    }
    return {T, D, H * D, H, B * H, 1.0F / sqrtf(static_cast<float>(D)), in_fours};
}

/* The number of blocks for tiles of n_rows rows. The caller has checked that they fit a grid. */
static inline unsigned tide_attention_n_blocks(const tide_attention_shape &shape, unsigned rows) {
    return static_cast<unsigned>((shape.T + rows - 1) / rows * shape.n_heads);
}

/* The most shared memory that a block may have on every GPU from compute capability 8.0 on: the
 * limit of 8.6 and 8.9 (the CUDA programming guide, technical specifications by compute
 * capability). */
static constexpr size_t MAX_SHARED_BYTES = static_cast<size_t>(99) << 10;

/* A kernel must request more than 48 KiB of shared memory explicitly. */
template <size_t N_BYTES, typename Kernel>
static inline int tide_attention_allow_shared(Kernel *kernel) {
    static_assert(N_BYTES <= MAX_SHARED_BYTES, "no launch would fit on some GPU");
    return static_cast<int>(cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(N_BYTES)));
}

#endif
