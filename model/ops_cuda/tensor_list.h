/* tensor_list.h - one launch for the arrays of many parameters: a table of them that the kernel
 * gets by value, and the distribution of its blocks. For .cu files.
 *
 * Kernel arguments are at most 4096 bytes, so a list holds TIDE_LIST_TENSORS parameters, and longer
 * ones take several launches. A parameter has one block per n_chunk elements; block b finds its
 * parameter by bisection in the table, which is in constant memory. */
#ifndef TIDE_MODEL_OPS_CUDA_TENSOR_LIST_H
#define TIDE_MODEL_OPS_CUDA_TENSOR_LIST_H

#include "model/ops.h"
#include "model/ops_cuda/vector.h"

enum { TIDE_LIST_TENSORS = 64 };

/* The maker of the list numbers the arrays. */
template <size_t N_ARRAYS> struct tide_tensor_list {
    void *data[N_ARRAYS][TIDE_LIST_TENSORS];    /* device memory, borrowed */
    uint64_t n_elements[TIDE_LIST_TENSORS];     /* of each array of the parameter, above 0 */
    uint32_t end[TIDE_LIST_TENSORS];            /* one past the last block of the parameter */
    uint8_t types[N_ARRAYS][TIDE_LIST_TENSORS]; /* of each array */
    uint32_t n_tensors;                         /* parameters in the list */
};

/* What one block works on. */
struct tide_list_item {
    uint32_t tensor; /* parameter in the list */
    uint32_t chunk;  /* of it: elements [chunk n_chunk, (chunk + 1) n_chunk) */
};

template <size_t N_ARRAYS>
static __device__ __forceinline__ tide_list_item
tide_list_find(const tide_tensor_list<N_ARRAYS> &list, uint32_t block) {
    uint32_t low = 0; /* the first parameter that ends after the block is in [low, high] */
    uint32_t high = list.n_tensors - 1;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (list.end[middle] > block) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return {low, low == 0 ? block : block - list.end[low - 1]};
}

/* Array `a` of the item's parameter. */
template <typename T, size_t N_ARRAYS>
static __device__ __forceinline__ tide_view<T>
tide_list_view(const tide_tensor_list<N_ARRAYS> &list, size_t a, uint32_t tensor) {
    if constexpr (std::is_same<T, tide_any>::value) {
        return {list.data[a][tensor], list.types[a][tensor]};
    } else {
        return {static_cast<T *>(list.data[a][tensor])};
    }
}

/* Whether the item's parameter can be read by packs. */
template <size_t N_ARRAYS>
static __device__ __forceinline__ bool tide_list_is_aligned(const tide_tensor_list<N_ARRAYS> &list,
                                                            uint32_t tensor) {
    uintptr_t addresses = 0;
#pragma unroll
    for (size_t a = 0; a < N_ARRAYS; a++) {
        addresses |= reinterpret_cast<uintptr_t>(list.data[a][tensor]);
    }
    return addresses % 16 == 0;
}

/* On the host: adds a parameter of n_elements > 0 with blocks for chunks of n_chunk. False if the
 * table or a grid is full. */
template <size_t N_ARRAYS>
static inline bool tide_list_add(tide_tensor_list<N_ARRAYS> &list,
                                 const tide_array (&arrays)[N_ARRAYS], size_t n_elements,
                                 size_t n_chunk) {
    const uint64_t n_chunks = n_elements / n_chunk + (n_elements % n_chunk != 0);
    const uint32_t i = list.n_tensors;
    const uint64_t end = n_chunks + (i == 0 ? 0 : list.end[i - 1]);
    if (i == TIDE_LIST_TENSORS || end > INT32_MAX) {
        return false;
    }
    for (size_t a = 0; a < N_ARRAYS; a++) {
        list.data[a][i] = arrays[a].data;
        list.types[a][i] = static_cast<uint8_t>(arrays[a].dtype);
    }
    list.n_elements[i] = n_elements;
    list.end[i] = static_cast<uint32_t>(end);
    list.n_tensors = i + 1;
    return true;
}

/* Blocks of the launch. */
template <size_t N_ARRAYS>
static inline uint32_t tide_list_n_blocks(const tide_tensor_list<N_ARRAYS> &list) {
    return list.n_tensors == 0 ? 0 : list.end[list.n_tensors - 1];
}

/* On the host: calls launch(list) -> tide_status for the parameters that are not empty and for
 * which select(parameter, arrays) -> bool returns true and fills the arrays. Parameters keep their
 * order, and the lists are as few as possible. */
template <size_t N_ARRAYS, typename Select, typename Launch>
static inline tide_status tide_list_each(const tide_parameter_arrays *parameters,
                                         size_t n_parameters, size_t n_chunk, Select select,
                                         Launch launch) {
    tide_tensor_list<N_ARRAYS> list = {};
    for (size_t i = 0; i < n_parameters; i++) {
        tide_array arrays[N_ARRAYS] = {};
        const size_t n = parameters[i].n_elements;
        if (!select(parameters[i], arrays) || n == 0 || tide_list_add(list, arrays, n, n_chunk)) {
            continue;
        }
        TIDE_TRY(launch(list)); /* it is full */
        list.n_tensors = 0;
        (void)tide_list_add(list, arrays, n,
                            n_chunk); /* a grid has room for all blocks that fit memory */
    }
    return list.n_tensors == 0 ? TIDE_OK : launch(list);
}

/* The block's share of the item's parameter: elements [begin, begin + n), of which n_packs packs of
 * N can be moved by 16 bytes. */
struct tide_list_share {
    size_t begin, n, n_packs;
};

template <size_t N_ARRAYS>
static __device__ __forceinline__ tide_list_share tide_list_share_of(
    const tide_tensor_list<N_ARRAYS> &list, tide_list_item item, size_t n_chunk, size_t N) {
    const size_t begin = item.chunk * n_chunk;
    const size_t left = list.n_elements[item.tensor] - begin;
    const size_t n = left < n_chunk ? left : n_chunk;
    return {begin, n, tide_list_is_aligned(list, item.tensor) ? n / N : 0};
}

#endif
