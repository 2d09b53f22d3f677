/* mma.h - tensor-core and copy instructions, each in a thin wrapper: products of bf16 and TF32
 * matrices, loads of their fragments, copies into shared memory that run while a kernel computes.
 * For .cu files; sm_80 and later. Under TIDE_CUDA_EMULATOR the same functions are in
 * emulator_mma.h.
 *
 *   tide_mma(d, a, b)                    d (16, 8) += a (16, 16) b (16, 8): bf16 in, fp32 sums
 *   tide_mma_tf32(d, a, b)               d (16, 8) += a (16, 8) b (8, 8): TF32 in, fp32 sums
 *   tide_to_tf32(x)                      the TF32 number nearest to x, as tide_mma_tf32 takes it
 *   tide_load_matrices(out, row)         2 or 4 matrices (8, 8) of 16-bit elements in shared
 *                                        memory, or (8, 4) of 32-bit elements
 *   tide_load_matrices_transposed(...)   the same, each transposed; only of 16-bit elements
 *   tide_copy_begin(to, from, n_bytes)   16 bytes from global to shared memory; beyond n_bytes
 *                                        zeros
 *   tide_copy_commit()                   makes a group of what this thread has begun
 *   tide_copy_wait<N>()                  until at most the N youngest groups of this thread are on
 *                                        their way; other threads see the bytes after a barrier
 *   tide_exp2(x)                         2^x; 2 units in the last place, subnormals are 0
 *
 * Products and loads are for whole warps: all 32 lanes call them together. With g = lane / 4 and
 * t = lane % 4 (PTX ISA, "Matrix Fragments for mma.m16n8k16" and "for mma.m16n8k8", "ldmatrix"), a
 * word has two neighbours of bf16, the first in its lower half:
 *
 *   a[0] = a (g, 2t..)      a[1] = a (g + 8, 2t..)
 *   a[2] = a (g, 2t + 8..)  a[3] = a (g + 8, 2t + 8..)
 *   b[0] = b (2t.., g)      b[1] = b (2t + 8.., g)
 *   d[0], d[1] = d (g, 2t..)   d[2], d[3] = d (g + 8, 2t..)
 *
 * or one number of TF32, with d as above:
 *
 *   a[0] = a (g, t)         a[1] = a (g + 8, t)
 *   a[2] = a (g, t + 4)     a[3] = a (g + 8, t + 4)
 *   b[0] = b (t, g)         b[1] = b (t + 4, g)
 *
 * and of loads
 *
 *   out[i] = matrix i at (g, 2t..), or (g, t) of 32-bit elements; transposed: at (2t.., g)
 *   row = of lane 8i + r: the address of row r of matrix i, a multiple of 16; with 2 matrices that
 *         of lanes 16 and up is not used
 *
 * So tide_load_matrices of the quarters (upper left, lower left, upper right, lower right) of a
 * row-major a returns `a`; of the upper and lower half of b it returns `b` transposed if b is
 * stored row-major (k, n), and untransposed if b is stored as (n, k).
 *
 * How fp32 becomes TF32. TF32 has the 8 bits of exponent of fp32 and 10 bits of fraction. Its
 * layout in a register is up to the implementation (PTX ISA, "Alternate Floating-Point Data
 * Formats"): an operand must be made by cvt. The effect of the lower 13 bits of any other operand
 * on mma is not documented; wgmma cuts them off (PTX ISA, "wgmma.mma_async"), which makes each
 * operand too small, by up to 2^-10 of itself. tide_to_tf32 is cvt.rna, to nearest, ties away from
 * zero: it errs by at most 2^-11, in either direction. (cvt.rn, with ties to even, needs compute
 * capability 9.0; only one fp32 number in 8192 is a tie.) ptxas 13.0 compiles it for 8.0 and 9.0 to
 * three instructions: 0x1000 is added to the bits of a finite number, and the lower 13 bits become
 * 0. cuBLAS may round or cut off, depending on its kernels
 * (model/reference/reference_tolerance_tf32.c). */
#ifndef TIDE_MODEL_OPS_CUDA_MMA_H
#define TIDE_MODEL_OPS_CUDA_MMA_H

#include "model/ops_cuda/gpu.h"

#ifdef TIDE_CUDA_EMULATOR

#include "emulator_mma.h"

#else

static __device__ __forceinline__ void tide_mma(float (&d)[4], const unsigned (&a)[4],
                                                const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ void tide_mma_tf32(float (&d)[4], const unsigned (&a)[4],
                                                     const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ unsigned tide_to_tf32(float x) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

/* The address in shared memory's own space, as instructions need it. */
static __device__ __forceinline__ unsigned tide_shared_address(const void *address) {
    return static_cast<unsigned>(__cvta_generic_to_shared(address));
}

static __device__ __forceinline__ void tide_load_matrices(unsigned (&out)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(tide_shared_address(row))
                 : "memory");
}

static __device__ __forceinline__ void tide_load_matrices(unsigned (&out)[2], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(out[0]), "=r"(out[1])
                 : "r"(tide_shared_address(row))
                 : "memory");
}

static __device__ __forceinline__ void tide_load_matrices_transposed(unsigned (&out)[4],
                                                                     const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(tide_shared_address(row))
                 : "memory");
}

static __device__ __forceinline__ void tide_load_matrices_transposed(unsigned (&out)[2],
                                                                     const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(out[0]), "=r"(out[1])
                 : "r"(tide_shared_address(row))
                 : "memory");
}

static __device__ __forceinline__ void tide_copy_begin(void *to, const void *from,
                                                       unsigned n_bytes = 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(tide_shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(n_bytes)
                 : "memory");
}

static __device__ __forceinline__ void tide_copy_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N> static __device__ __forceinline__ void tide_copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

static __device__ __forceinline__ float tide_exp2(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}

#endif

#endif
