/* emulator_mma.h - the emulated twins of model/ops_cuda/mma.h, which documents them.
 *
 * Lanes really meet, and fragments have the device's layout. Products of bf16 and of TF32 numbers
 * are exact on both. The products of an element are added in double and rounded once; the device's
 * own order and rounding are not documented. An operand of a product in TF32 that has not been
 * rounded to TF32 is reported: PTX does not define its value. A copy takes effect at the wait that
 * covers it, not before. */
#ifndef TIDE_TESTS_EMULATOR_MMA_H
#define TIDE_TESTS_EMULATOR_MMA_H

#include "emulator.h"

namespace tide_emulator {

void mma(float *d, const unsigned *a, const unsigned *b, const char *file, int line);
void mma_tf32(float *d, const unsigned *a, const unsigned *b, const char *file, int line);
/* n_matrices: 2 or 4. */
void load_matrices(unsigned *out, unsigned n_matrices, const void *row, bool transposed,
                   const char *file, int line);
void copy_begin(void *to, const void *from, unsigned n_bytes, const char *file, int line);
void copy_commit();
void copy_wait(unsigned n_groups, const char *file, int line);

} /* namespace tide_emulator */

inline void tide_mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                     TIDE_EMULATOR_PLACE) {
    tide_emulator::mma(d, a, b, file, line);
}

inline void tide_mma_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                          TIDE_EMULATOR_PLACE) {
    tide_emulator::mma_tf32(d, a, b, file, line);
}

/* cvt.rna.tf32.f32, as ptxas compiles it (mma.h): NaN and infinity only lose their lower bits. */
inline unsigned tide_to_tf32(float x) {
    const unsigned bits = __float_as_uint(x);
    return (fabsf(x) < INFINITY ? bits + 0x1000U : bits) & 0xFFFFE000U;
}

inline void tide_load_matrices(unsigned (&out)[4], const void *row, TIDE_EMULATOR_PLACE) {
    tide_emulator::load_matrices(out, 4, row, false, file, line);
}

inline void tide_load_matrices(unsigned (&out)[2], const void *row, TIDE_EMULATOR_PLACE) {
    tide_emulator::load_matrices(out, 2, row, false, file, line);
}

inline void tide_load_matrices_transposed(unsigned (&out)[4], const void *row,
                                          TIDE_EMULATOR_PLACE) {
    tide_emulator::load_matrices(out, 4, row, true, file, line);
}

inline void tide_load_matrices_transposed(unsigned (&out)[2], const void *row,
                                          TIDE_EMULATOR_PLACE) {
    tide_emulator::load_matrices(out, 2, row, true, file, line);
}

inline void tide_copy_begin(void *to, const void *from, unsigned n_bytes = 16,
                            TIDE_EMULATOR_PLACE) {
    tide_emulator::copy_begin(to, from, n_bytes, file, line);
}

inline void tide_copy_commit() {
    tide_emulator::copy_commit();
}

template <int N> inline void tide_copy_wait(TIDE_EMULATOR_PLACE) {
    tide_emulator::copy_wait(N, file, line);
}

inline float tide_exp2(float x) {
    const float power = exp2f(x);
    return power < 1.17549435e-38F ? 0.0F : power;
}

#endif
