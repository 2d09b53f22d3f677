/* out (m, n) = a (m, k) b (n, k)^T, or a (m, k) b (k, n), or a (k, m)^T b (k, n); with accumulate
 * out += , with an addend out = addend + .
 *
 * Block by block of out and of k, the threads first copy both operands into panels in shared
 * scratch, then multiply tiles of panels. A bf16 or fp16 out is summed up in fp32 scratch and
 * rounded once. The addend comes after the whole sum over k, while the block is in the cache.
 */
#include <limits.h>

#include "model/ops_cpu/pieces.h"

/* How the work is divided. */
enum {
    SMALL = 1 << 18, /* products below which waking another thread is not worthwhile */
    PACK_BYTES =
        1 << 15, /* panels a thread copies at a time, so threads write to different pages */
    TILES_A = 8, /* panels of a that a thread takes at a time ... */
    TILES_B = 8  /* ... and of b: much more work than taking them */
};

/* One call and its current block. */
typedef struct product {
    const tide_matmul *call;          /* borrowed */
    const tide_gemm_kernels *kernels; /* static */
    tide_gemm_operand a, b;           /* of the call */
    tide_gemm_part part_a, part_b;    /* of the block */
    float *c;                         /* the block's elements: in out, or in scratch */
    size_t ldc;                       /* from row to row of c */
} product;

/* The length of equal blocks of at most `most` along a dimension n > 0, rounded up to a multiple of
 * 32. */
static size_t block_length(size_t n, size_t most) {
    size_t n_blocks = 1 + (n - 1) / most;
    return ((n + n_blocks - 1) / n_blocks + 31) / 32 * 32;
}

static size_t at_most(size_t n, size_t bound) {
    return n < bound ? n : bound;
}

static size_t n_panels(size_t n, size_t width) {
    return (n + width - 1) / width;
}

/* Groups of panels of both operands, one after the other. */
static void pack(const tide_ops_cpu *cpu, const product *p) {
    size_t n_l = p->part_a.n_l;
    size_t rows = p->kernels->rows;
    size_t columns = p->kernels->columns;
    size_t i_step = rows * (1 + PACK_BYTES / (rows * n_l * sizeof(float)));
    size_t j_step = columns * (1 + PACK_BYTES / (columns * n_l * sizeof(float)));
    size_t n_a = n_panels(p->part_a.n_i, i_step);
    size_t n_b = n_panels(p->part_b.n_i, j_step);
#pragma omp for schedule(dynamic)
    for (size_t group = 0; group < n_a + n_b; group++) {
        bool is_a = group < n_a;
        size_t i = is_a ? group * i_step : (group - n_a) * j_step;
        tide_gemm_part part = is_a ? p->part_a : p->part_b;
        part.i0 += i;
        part.n_i = at_most(part.n_i - i, is_a ? i_step : j_step);
        if (is_a) {
            p->kernels->pack_a(cpu->packed_a + i * n_l, &p->a, &part);
        } else {
            p->kernels->pack_b(cpu->packed_b + i * n_l, &p->b, &part);
        }
    }
}

/* c[i ..)[j ..) over TILES_A by TILES_B panels. */
static void multiply_tiles(const tide_ops_cpu *cpu, const product *p, bool add, size_t i0,
                           size_t j0) {
    size_t rows = p->kernels->rows;
    size_t columns = p->kernels->columns;
    size_t i1 = at_most(i0 + TILES_A * rows, p->part_a.n_i);
    size_t j1 = at_most(j0 + TILES_B * columns, p->part_b.n_i);
    tide_gemm_tile tile = {.n_l = p->part_a.n_l, .alpha = 1, .add = add, .ldc = p->ldc};
    for (size_t j = j0; j < j1; j += columns) {
        for (size_t i = i0; i < i1; i += rows) {
            tile.c = p->c + i * p->ldc + j;
            tile.n_rows = at_most(i1 - i, rows);
            tile.n_columns = at_most(j1 - j, columns);
            tide_gemm_multiply(p->kernels, &tile, cpu->packed_a + i * tile.n_l,
                               cpu->packed_b + j * tile.n_l);
        }
    }
}

static void multiply(const tide_ops_cpu *cpu, const product *p) {
    bool add = p->call->accumulate || p->part_a.l0 > 0;
    size_t i_step = TILES_A * p->kernels->rows;
    size_t j_step = TILES_B * p->kernels->columns;
    size_t n_i = n_panels(p->part_a.n_i, i_step);
    size_t n_j = n_panels(p->part_b.n_i, j_step);
#pragma omp for schedule(dynamic)
    for (size_t piece = 0; piece < n_i * n_j; piece++) { /* c[i_step][j_step] */
        multiply_tiles(cpu, p, add, piece % n_i * i_step, piece / n_i * j_step);
    }
}

/* The block's elements of such an out into fp32 scratch, or back. */
static void widen_block(const tide_ops_cpu *cpu, const product *p) {
#pragma omp for schedule(static)
    for (size_t i = 0; i < p->part_a.n_i; i++) { /* c[i][:] */
        tide_widen(cpu, p->c + i * p->ldc, p->call->out,
                   (p->part_a.i0 + i) * p->call->n + p->part_b.i0, p->part_b.n_i);
    }
}

static void narrow_block(const tide_ops_cpu *cpu, const product *p) {
#pragma omp for schedule(static)
    for (size_t i = 0; i < p->part_a.n_i; i++) { /* out[i0 + i][j0 ..) */
        tide_narrow(cpu, p->call->out, (p->part_a.i0 + i) * p->call->n + p->part_b.i0,
                    p->c + i * p->ldc, p->part_b.n_i);
    }
}

static void add_block(const tide_ops_cpu *cpu, const product *p) {
    float buffer[TIDE_PIECE];
    size_t n;
#pragma omp for schedule(static)
    for (size_t i = 0; i < p->part_a.n_i; i++) { /* c[i][:] */
        size_t begin = (p->part_a.i0 + i) * p->call->n + p->part_b.i0;
        for (size_t j = 0; j < p->part_b.n_i; j += n) {
            n = tide_piece_length(j, p->part_b.n_i);
            cpu->kernels->add(p->c + i * p->ldc + j,
                              tide_piece_read(cpu, p->call->addend, begin + j, n, buffer), n);
        }
    }
}

/* One block of out, over all of k. Every thread of the region runs it. */
static void make_block(const tide_ops_cpu *cpu, product *p) {
    size_t k = p->call->k;
    size_t n_l = block_length(k, TIDE_GEMM_K);
    bool is_narrow = p->call->out.dtype != TIDE_FP32;
    if (is_narrow) {
        p->c = cpu->sums;
        p->ldc = p->part_b.n_i;
    } else {
        p->c = (float *)p->call->out.data + p->part_a.i0 * p->call->n + p->part_b.i0;
        p->ldc = p->call->n;
    }
    if (is_narrow && p->call->accumulate) {
        widen_block(cpu, p);
    }
    for (size_t l = 0; l < k; l += n_l) {
        p->part_a.l0 = p->part_b.l0 = l;
        p->part_a.n_l = p->part_b.n_l = at_most(k - l, n_l);
        pack(cpu, p);
        multiply(cpu, p);
    }
    if (p->call->addend.data != NULL) {
        add_block(cpu, p);
    }
    if (is_narrow) {
        narrow_block(cpu, p);
    }
}

static tide_status check(const tide_matmul *call, tide_error *error) {
    const tide_array arrays[] = {call->out, call->a, call->b};
    TIDE_TRY(tide_ops_cpu_need_floats("matmul", arrays, 3, error));
    TIDE_TRY(tide_ops_check_addend(call, error));
    const size_t sizes[] = {call->m, call->n, call->k};
    for (size_t i = 0; i < 3; i++) {
        if (sizes[i] == 0 || sizes[i] > INT_MAX) {
            return tide_fail(error, TIDE_LIMIT, "matmul: (%zu, %zu, %zu) is not in 1 .. 2^31 - 1",
                             call->m, call->n, call->k);
        }
    }
    return TIDE_OK;
}

tide_status tide_cpu_matmul(tide_ops *ops, const tide_matmul *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(check(call, error));
    bool is_tn = call->kind == TIDE_MATMUL_TN;
    bool is_nt = call->kind == TIDE_MATMUL_NT;
    const product whole = {
        .call = call,
        .kernels = cpu->gemm,
        .a = {call->a, is_tn ? call->m : call->k, !is_tn},
        .b = {call->b, is_nt ? call->k : call->n, is_nt},
    };
    size_t i_step = block_length(call->m, TIDE_OPS_CPU_GEMM_M);
    size_t j_step = block_length(call->n, TIDE_OPS_CPU_GEMM_N);
#pragma omp parallel num_threads(cpu->n_threads) if (call->m * call->n > SMALL / call->k)
    {
        product block = whole;
        for (size_t j = 0; j < call->n; j += j_step) {
            for (size_t i = 0; i < call->m; i += i_step) {
                block.part_a.i0 = i;
                block.part_a.n_i = at_most(call->m - i, i_step);
                block.part_b.i0 = j;
                block.part_b.n_i = at_most(call->n - j, j_step);
                make_block(cpu, &block);
            }
        }
    }
    return TIDE_OK;
}
