/* matrix.cpp - products of matrices spread over the lanes of a warp, and their loads. Layouts:
 * model/ops_cuda/mma.h. */
#include "machine.h"

#include <cstring>

#include "emulator_mma.h"

namespace tide_emulator {

namespace {

constexpr unsigned ALL_LANES = 0xFFFFFFFFU;

struct product {
    float *d;          /* [4] */
    const unsigned *a; /* [4] */
    const unsigned *b; /* [2] */
};

struct load {
    unsigned *out;       /* [n_matrices] */
    const void *row;     /* of the lane's matrix */
    unsigned n_matrices; /* 2 or 4 */
    bool transposed;     /* each matrix */
    bool ok;             /* whether the row may be read */
};

/* Half `which` of a word, as a number. */
double half(unsigned word, unsigned which) {
    const unsigned short bits = static_cast<unsigned short>(word >> (16 * which));
    return static_cast<double>(__bfloat162float(__ushort_as_bfloat16(bits)));
}

/* d += a b, each lane its four elements: summed in double and rounded once. */
template <unsigned K>
void add_products(void *const *data, const double (&a)[16][K], const double (&b)[K][8]) {
    for (unsigned lane_index = 0; lane_index < 32; lane_index++) {
        const product &part = *static_cast<product *>(data[lane_index]);
        for (unsigned i = 0; i < 4; i++) {
            const unsigned row = lane_index / 4 + i / 2 * 8;
            const unsigned column = lane_index % 4 * 2 + i % 2;
            double sum = static_cast<double>(part.d[i]);
            for (unsigned k = 0; k < K; k++) {
                sum += a[row][k] * b[k][column];
            }
            part.d[i] = static_cast<float>(sum);
        }
    }
}

void combine_product(void *const *data, unsigned mask) {
    double a[16][16];
    double b[16][8];
    if (mask != ALL_LANES) {
        return;
    }
    for (unsigned lane_index = 0; lane_index < 32; lane_index++) {
        const product &part = *static_cast<product *>(data[lane_index]);
        const unsigned g = lane_index / 4;
        const unsigned t = lane_index % 4 * 2;
        for (unsigned i = 0; i < 4; i++) {
            for (unsigned k = 0; k < 2; k++) {
                a[g + i % 2 * 8][t + i / 2 * 8 + k] = half(part.a[i], k);
            }
        }
        for (unsigned i = 0; i < 2; i++) {
            for (unsigned k = 0; k < 2; k++) {
                b[t + i * 8 + k][g] = half(part.b[i], k);
            }
        }
    }
    add_products(data, a, b);
}

void combine_tf32(void *const *data, unsigned mask) {
    double a[16][8];
    double b[8][8];
    if (mask != ALL_LANES) {
        return;
    }
    for (unsigned lane_index = 0; lane_index < 32; lane_index++) {
        const product &part = *static_cast<product *>(data[lane_index]);
        const unsigned g = lane_index / 4;
        const unsigned t = lane_index % 4;
        for (unsigned i = 0; i < 4; i++) {
            a[g + i % 2 * 8][t + i / 2 * 4] = static_cast<double>(__uint_as_float(part.a[i]));
        }
        for (unsigned i = 0; i < 2; i++) {
            b[t + i * 4][g] = static_cast<double>(__uint_as_float(part.b[i]));
        }
    }
    add_products(data, a, b);
}

/* Reports an operand that has more than TF32's 10 bits of fraction. */
void check_tf32(const unsigned *words, unsigned n, const char *file, int line) {
    for (unsigned i = 0; i < n; i++) {
        if ((words[i] & 0x1FFFU) != 0) {
            report(file, line,
                   "multiplies %08x as TF32, which has no lower 13 bits: round it with "
                   "tide_to_tf32",
                   words[i]);
            return;
        }
    }
}

void combine_load(void *const *data, unsigned mask) {
    unsigned short matrices[4][8][8];
    const unsigned n_matrices = static_cast<load *>(data[0])->n_matrices;
    if (mask != ALL_LANES) {
        return;
    }
    std::memset(matrices, 0xFF, sizeof(matrices));
    for (unsigned i = 0; i < n_matrices * 8; i++) {
        const load &part = *static_cast<load *>(data[i]);
        if (part.ok) {
            std::memcpy(matrices[i / 8][i % 8], part.row, 16);
        }
    }
    for (unsigned lane_index = 0; lane_index < 32; lane_index++) {
        const load &part = *static_cast<load *>(data[lane_index]);
        const unsigned g = lane_index / 4;
        const unsigned t = lane_index % 4 * 2;
        for (unsigned i = 0; i < n_matrices; i++) {
            const auto &from = matrices[i];
            const unsigned low = part.transposed ? from[t][g] : from[g][t];
            const unsigned high = part.transposed ? from[t + 1][g] : from[g][t + 1];
            part.out[i] = low | high << 16;
        }
    }
}

} /* namespace */

void mma(float *d, const unsigned *a, const unsigned *b, const char *file, int line) {
    product mine = {d, a, b};
    meet(meeting::matrix, ALL_LANES, &mine, combine_product, file, line);
}

void mma_tf32(float *d, const unsigned *a, const unsigned *b, const char *file, int line) {
    product mine = {d, a, b};
    check_tf32(a, 4, file, line);
    check_tf32(b, 2, file, line);
    meet(meeting::matrix, ALL_LANES, &mine, combine_tf32, file, line);
}

void load_matrices(unsigned *out, unsigned n_matrices, const void *row, bool transposed,
                   const char *file, int line) {
    load mine = {out, row, n_matrices, transposed, true};
    if (lane() < n_matrices * 8) {
        if (!shared_arena_holds(row)) {
            report(file, line, "loads a matrix from %p, which is not shared memory", row);
        }
        mine.ok = touch(row, 16, access::read, 16, file, line);
    }
    meet(meeting::matrix, ALL_LANES, &mine, combine_load, file, line);
}

} /* namespace tide_emulator */
