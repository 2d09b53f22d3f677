/* stub_friend.h - functions of NVIDIA's libraries, made from the rows of a table.
 *
 * A table (cublas.def and its neighbours) has one row a function: what it returns, and what it does
 * to its arguments. A C file includes this header and then its table. HAND_WRITTEN names a function
 * that a C file of this folder defines; LEFT_TO_REAL one that the real library answers, without a
 * card, as the program would hear it with one: versions and texts.
 *
 * Every function of a table has the same body: 28 words come in, and the row says which of them are
 * addresses. This is sound on x86-64 under the System V calling convention, the only one served:
 * arguments of the integer class (integers, enumerations, pointers) arrive in rdi, rsi, rdx, rcx,
 * r8 and r9 and then on the stack in order, whatever their types; floating ones travel in registers
 * of their own and are not counted, and no function here has more than the eight that fit. A row
 * reads only arguments that its function has; words beyond them would be the caller's own frame,
 * and the compiler emits no read of a word that no effect names. Nor does it write there: the words
 * are constant, and what the effects call takes its arguments in registers, so that not even a call
 * in tail position would build its arguments on the caller's. A result of up to 64 bits returns
 * in rax. Structures by value break this order, so that functions with one are written by hand, and
 * so are those that return a floating value. tests/virtual_cuda/make_tables.py compares every row
 * with the prototype in NVIDIA's headers. The upper half of a 32-bit argument is not defined; no
 * effect reads one.
 */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_STUB_FRIEND_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_STUB_FRIEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/api/handle.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/libraries/cudnn/work_friend.h"
#include "programs/virtual_cuda/libraries/products_internal.h"
#include "programs/virtual_cuda/card/workspaces.h"

#if !defined(__x86_64__) || !defined(__linux__)
#error "the virtual card serves Linux on x86-64 only"
#endif

#define TIDE_VC_WORDS                                                                              \
    const uintptr_t a0, const uintptr_t a1, const uintptr_t a2, const uintptr_t a3,                \
        const uintptr_t a4, const uintptr_t a5, const uintptr_t a6, const uintptr_t a7,            \
        const uintptr_t a8, const uintptr_t a9, const uintptr_t a10, const uintptr_t a11,          \
        const uintptr_t a12, const uintptr_t a13, const uintptr_t a14, const uintptr_t a15,        \
        const uintptr_t a16, const uintptr_t a17, const uintptr_t a18, const uintptr_t a19,        \
        const uintptr_t a20, const uintptr_t a21, const uintptr_t a22, const uintptr_t a23,        \
        const uintptr_t a24, const uintptr_t a25, const uintptr_t a26, const uintptr_t a27

#define TIDE_VC_IGNORE_WORDS                                                                       \
    (void)a0, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8,      \
        (void)a9, (void)a10, (void)a11, (void)a12, (void)a13, (void)a14, (void)a15, (void)a16,     \
        (void)a17, (void)a18, (void)a19, (void)a20, (void)a21, (void)a22, (void)a23, (void)a24,    \
        (void)a25, (void)a26, (void)a27

/* What a function returns where it is not refused. */
#define STATUS 0              /* the library's enumeration: success */
#define VOID 0                /* nothing; rax may hold anything */
#define SIZE 0                /* size_t, ssize_t or another count */
#define POINTER 0             /* NULL */
#define TEXT ((uintptr_t) "") /* const char * */

/* Argument i is an address of the host that receives n_bytes, or of the card. */
void tide_vc_stub_output(uintptr_t output, size_t n_bytes);
/* Argument i is where the address of a new handle goes. NULL is allowed. */
void tide_vc_stub_create(uintptr_t output);

/* Argument i receives 0 as the size of a work area; it is said, with a bound. */
void tide_vc_stub_work_area(const char *call, uintptr_t output, size_t n_bytes, uint64_t bound);
/* Of a cudaDataType. */
uint64_t tide_vc_stub_value_bytes(int type);
/* What the sparse matrix of a descriptor takes with the widest values and indices. */
uint64_t tide_vc_stub_sparse_bytes(uintptr_t descriptor);

/* The first n_data arrays that a descriptor describes were written: see described_internal.h. */
void tide_vc_stub_touch_described(uintptr_t descriptor, size_t n_data);

/* Effects. A row has one or several, in order, without commas. */
#define HARMLESS /* nothing that the caller could read */
/* a host output of n_bytes becomes zero; on the card its bytes become unknown */
#define OUTPUT(i, n_bytes) tide_vc_stub_output(a##i, n_bytes);
/* a host output whose size in bytes is argument j */
#define OUTPUT_OF(i, j) tide_vc_stub_output(a##i, a##j);
/* the bytes on the card behind argument i become unknown */
#define WRITES(i)                                                                                  \
    tide_vc_touch((const void *)a##i);                                                             \
    works = true;
/* the card has work to do, of which nothing more is known; WRITES says so too */
#define WORKS works = true;
/* The work is a product of matrices, C = A B: transposes of A and B, m, n and k are arguments; then
 * the type of all three, or as arguments the types of A and C and cuBLAS's kind of computation,
 * which SgemmEx leaves to the handle; last, of PRODUCTS, how many products. Argument 0 is the
 * handle. */
#define PRODUCT(ta, tb, m, n, k, values)                                                           \
    TIDE_VC_PRODUCT(ta, tb, m, n, k, .type = TIDE_RUN_##values, .out_type = TIDE_RUN_##values,     \
                    .count = 1)
#define PRODUCTS(ta, tb, m, n, k, values, n_products)                                              \
    TIDE_VC_PRODUCT(ta, tb, m, n, k, .type = TIDE_RUN_##values, .out_type = TIDE_RUN_##values,     \
                    .count = (int)a##n_products)
#define PRODUCT_TYPED(ta, tb, m, n, k, a_type, c_type, how)                                        \
    TIDE_VC_PRODUCT(ta, tb, m, n, k, .is_typed = true, .type = (int)a##a_type,                     \
                    .out_type = (int)a##c_type, .computation = (int)a##how, .count = 1)
#define PRODUCTS_TYPED(ta, tb, m, n, k, a_type, c_type, how, n_products)                           \
    TIDE_VC_PRODUCT(ta, tb, m, n, k, .is_typed = true, .type = (int)a##a_type,                     \
                    .out_type = (int)a##c_type, .computation = (int)a##how,                        \
                    .count = (int)a##n_products)
#define PRODUCT_TYPED_BY_MODE(ta, tb, m, n, k, a_type, c_type)                                     \
    TIDE_VC_PRODUCT(ta, tb, m, n, k, .is_typed = true, .type = (int)a##a_type,                     \
                    .out_type = (int)a##c_type, .count = 1)
#define TIDE_VC_PRODUCT(transpose_a, transpose_b, of_m, of_n, of_k, ...)                           \
    tide_vc_blas_product((const void *)a0, &(tide_vc_product){.ta = (int)a##transpose_a,           \
                                                              .tb = (int)a##transpose_b,           \
                                                              .m = (int)a##of_m,                   \
                                                              .n = (int)a##of_n,                   \
                                                              .k = (int)a##of_k,                   \
                                                              __VA_ARGS__});                       \
    is_logged = true;
/* a product of cuBLASLt: arguments are its description, the layouts of A and D, and the stream */
#define PRODUCT_DESCRIBED(description, a_layout, d_layout, stream)                                 \
    tide_vc_described_product((const void *)a##description, (const void *)a##a_layout,             \
                              (const void *)a##d_layout, (void *)a##stream);                       \
    is_logged = true;
/* The work is a kernel that reads and writes n_bytes for each element of a vector, whose length is
 * an argument, or of a matrix. Argument 0 is the handle of cuBLAS. */
#define MOVES(n, n_bytes)                                                                          \
    tide_vc_blas_kernel((const void *)a0, __func__, (uint64_t)(uint32_t)a##n, n_bytes);            \
    is_logged = true;
#define MOVES_MATRIX(n_rows, n_columns, n_bytes)                                                   \
    tide_vc_blas_kernel((const void *)a0, __func__,                                                \
                        (uint64_t)(uint32_t)a##n_rows *(uint32_t)a##n_columns, n_bytes);           \
    is_logged = true;
/* A convolution of cuDNN: arguments are the descriptors of input, filter, convolution and output.
 * Argument 0 is the handle. */
#define CONVOLUTION(x, w, convolution, y)                                                          \
    TIDE_VC_CONVOLUTION(x, w, convolution, y, TIDE_VC_CUDNN_FORWARD)
#define CONVOLUTION_DATA(x, w, convolution, y)                                                     \
    TIDE_VC_CONVOLUTION(x, w, convolution, y, TIDE_VC_CUDNN_BACKWARD)
#define CONVOLUTION_FILTER(x, w, convolution, y)                                                   \
    TIDE_VC_CONVOLUTION(x, w, convolution, y, TIDE_VC_CUDNN_BACKWARD)
#define TIDE_VC_CONVOLUTION(x, w, convolution, y, direction)                                       \
    tide_vc_cudnn_log_convolution((const void *)a0, __func__, (const shape *)a##x,                 \
                                  (const shape *)a##w, (const int *)a##convolution,                \
                                  (const shape *)a##y, direction);                                 \
    is_logged = true;
/* a kernel of cuDNN that goes so many times over the tensor whose descriptor is an argument */
#define PASSES(x, n_passes)                                                                        \
    tide_vc_cudnn_log_passes((const void *)a0, __func__, (const shape *)a##x, n_passes);           \
    is_logged = true;
/* argument i is memory of a##j bytes that the program lends to the library (workspaces.h) */
#define LENDS(i, j, lent) tide_vc_workspace_add((const void *)a##i, a##j, lent);
#define CREATES(i) tide_vc_stub_create(a##i);
#define DESTROYS(i) tide_vc_handle_release((void *)a##i);
/* argument i receives the size of a work area that only the real library knows */
#define WORKSPACE(i, n_bytes)                                                                      \
    tide_vc_stub_output(a##i, n_bytes);                                                            \
    tide_vc_inexact(__func__, "the workspace is unknown and counted as 0");
/* The same with a bound: copies of a matrix of that many rows and columns, which are arguments, of
 * `bytes` each or of the cudaDataType that argument `type` is; in AREAS for each of a batch. */
#define WORK_AREA(i, n_bytes, copies, bytes, rows, columns)                                        \
    tide_vc_stub_work_area(__func__, a##i, n_bytes,                                                \
                           (uint64_t)(copies) * (bytes) * (uint32_t)a##rows *                      \
                               (uint32_t)a##columns);
#define WORK_AREAS(i, n_bytes, copies, bytes, rows, columns, batch)                                \
    WORK_AREA(i, n_bytes, (uint64_t)(uint32_t)a##batch *(copies), bytes, rows, columns)
#define WORK_AREA_TYPED(i, n_bytes, copies, type, rows, columns)                                   \
    WORK_AREA(i, n_bytes, copies, tide_vc_stub_value_bytes((int)a##type), rows, columns)
#define WORK_AREAS_TYPED(i, n_bytes, copies, type, rows, columns, batch)                           \
    WORK_AREAS(i, n_bytes, copies, tide_vc_stub_value_bytes((int)a##type), rows, columns, batch)
/* the same, of a copy of the sparse matrix that argument j describes */
#define WORK_AREA_OF(i, n_bytes, j)                                                                \
    tide_vc_stub_work_area(__func__, a##i, n_bytes, tide_vc_stub_sparse_bytes(a##j));
/* the first n_data arrays of the descriptor that argument i is become unknown */
#define WRITES_DESCRIBED(i, n_data)                                                                \
    tide_vc_stub_touch_described(a##i, n_data);                                                    \
    works = true;
/* what an answer cannot mean; last */
#define SAYS(what) tide_vc_inexact(__func__, what);
/* the function ends with this status, which is not an error here */
#define ANSWERS(status) return (uintptr_t)(status);
#define REFUSED(status, why)                                                                       \
    tide_vc_refused(__func__, why);                                                                \
    return (uintptr_t)(status);

/* NOLINTBEGIN(readability-function-size): 28 words are the convention above. */
#define TIDE_VC_STUB(name, returns, effects)                                                       \
    TIDE_VC_EXPORT uintptr_t name(TIDE_VC_WORDS);                                                  \
    uintptr_t name(TIDE_VC_WORDS) {                                                                \
        bool works = false;                                                                        \
        bool is_logged = false;                                                                    \
        TIDE_VC_IGNORE_WORDS;                                                                      \
        effects if (works && !is_logged) {                                                         \
            tide_vc_other_work(__func__);                                                          \
        }                                                                                          \
        return (uintptr_t)(returns);                                                               \
    }
#define FUNCTION(name, returns, effects) TIDE_VC_STUB(name, returns, effects)
#define HAND_WRITTEN(name)
#define LEFT_TO_REAL(name)
/* Rows for functions that a C file defines, of this folder or of programs/virtual_cuda/: what they
 * do is their own affair, and the list says it. */
#define WITHOUT_OUTPUT(name)
#define REFUSED_BY_HAND(name, error, why)
#define INEXACT_BY_HAND(name, what)
#define PARTLY_BY_HAND(name, why) /* some of its uses are refused */
/* NOLINTEND(readability-function-size) */

#endif
