/* pieces.h - how operators read and write arrays of any type: in pieces of at most TIDE_PIECE
 * elements, as fp32 numbers. A piece of an fp32 array is the array itself; a piece of a bf16 or
 * fp16 array is a buffer on the caller's stack, widened on the way in and rounded once on the way
 * out.
 *
 *   float buffer[TIDE_PIECE];
 *   for (size_t at = begin; at < end; at += n) {
 *       n = tide_piece_length(at, end);
 *       float *piece = tide_piece_update(cpu, x, at, n, buffer);
 *       cpu->kernels->scale(piece, factor, n);
 *       tide_piece_store(cpu, x, at, n, piece);
 *   }
 */
#ifndef TIDE_MODEL_OPS_CPU_PIECES_H
#define TIDE_MODEL_OPS_CPU_PIECES_H

#include "model/ops_cpu/ops_cpu_internal.h"

/* Elements of a piece. It is even, a whole number of registers and cache lines, and small enough
 * that all buffers of AdamW or of SwiGLU's backward fit the first-level cache without evicting each
 * other. AdamW of 4 million bf16 parameters on one core of an AMD EPYC: 2.8 ms, with 512 elements
 * 3.6 ms, with 1024 4.2 ms. */
enum { TIDE_PIECE = 480 };

/* The length of the piece that begins at `at`. */
static inline size_t tide_piece_length(size_t at, size_t end) {
    return end - at < TIDE_PIECE ? end - at : TIDE_PIECE;
}

/* out (n) = x[at .. at + n); x is bf16 or fp16. */
static inline void tide_widen(const tide_ops_cpu *cpu, float *out, tide_array x, size_t at,
                              size_t n) {
    const uint16_t *from = (const uint16_t *)x.data + at;
    if (x.dtype == TIDE_FP16) {
        cpu->kernels->widen_fp16(out, from, n);
    } else {
        cpu->kernels->widen_bf16(out, from, n);
    }
}

/* x[at .. at + n) = in (n), rounded once; x is bf16 or fp16. */
static inline void tide_narrow(const tide_ops_cpu *cpu, tide_array x, size_t at, const float *in,
                               size_t n) {
    uint16_t *to = (uint16_t *)x.data + at;
    if (x.dtype == TIDE_FP16) {
        cpu->kernels->narrow_fp16(to, in, n);
    } else {
        cpu->kernels->narrow_bf16(to, in, n);
    }
}

/* x[at .. at + n), for reading. `buffer` holds n elements and must live as long as the result. */
static inline const float *tide_piece_read(const tide_ops_cpu *cpu, tide_array x, size_t at,
                                           size_t n, float *buffer) {
    if (x.dtype == TIDE_FP32) {
        return (const float *)x.data + at;
    }
    tide_widen(cpu, buffer, x, at, n);
    return buffer;
}

/* x[at .. at + n), for writing: the elements are undefined before. */
static inline float *tide_piece_write(tide_array x, size_t at, float *buffer) {
    return x.dtype == TIDE_FP32 ? (float *)x.data + at : buffer;
}

/* x[at .. at + n), for reading and writing. */
static inline float *tide_piece_update(const tide_ops_cpu *cpu, tide_array x, size_t at, size_t n,
                                       float *buffer) {
    if (x.dtype == TIDE_FP32) {
        return (float *)x.data + at;
    }
    tide_widen(cpu, buffer, x, at, n);
    return buffer;
}

/* x[at .. at + n) = piece; `piece` is the result of tide_piece_write or tide_piece_update. */
static inline void tide_piece_store(const tide_ops_cpu *cpu, tide_array x, size_t at, size_t n,
                                    const float *piece) {
    if (x.dtype != TIDE_FP32) {
        tide_narrow(cpu, x, at, piece, n);
    }
}

#endif
