/* gpu.h - the one header that a kernel file (.cu) includes besides those of its operator: CUDA
 * under nvcc, and under TIDE_CUDA_EMULATOR the emulator of tests/cuda_emulator, in which the same
 * file runs on the host.
 *
 * Kernel files are standard CUDA C++17 except for these, which differ between the two builds:
 *
 *   TIDE_SHARED(float, tile, [32][33]);       static shared memory, aligned to 16 bytes
 *   TIDE_DYNAMIC_SHARED(float, buffer);       float *buffer = the launch's shared_bytes, likewise
 *   TIDE_LAUNCH((kernel<float>), grid, block, shared_bytes, stream, argument...)
 *                                             launches; a cudaError_t as an int
 *   tide_load16(address)                      the 16 bytes at an address that is a multiple of 16
 *   tide_store16(address, bytes)              writes them */
#ifndef TIDE_MODEL_OPS_CUDA_GPU_H
#define TIDE_MODEL_OPS_CUDA_GPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef TIDE_CUDA_EMULATOR

#include "emulator.h"

#else

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define TIDE_SHARED(type, name, dimensions) __shared__ __align__(16) type name dimensions

#define TIDE_DYNAMIC_SHARED(type, name)                                                            \
    extern __shared__ __align__(16) unsigned char tide_dynamic_shared[];                           \
    type *name = reinterpret_cast<type *>(tide_dynamic_shared)

/* The formatter mistakes the brackets of a launch for comparisons. */
/* clang-format off */
#define TIDE_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                \
    ((kernel)<<<(grid), (block), (shared_bytes), (stream)>>>(__VA_ARGS__),                         \
     static_cast<int>(cudaGetLastError()))
/* clang-format on */

static __device__ __forceinline__ uint4 tide_load16(const void *address) {
    return *static_cast<const uint4 *>(address);
}

static __device__ __forceinline__ void tide_store16(void *address, uint4 bytes) {
    *static_cast<uint4 *>(address) = bytes;
}

#endif

#endif
