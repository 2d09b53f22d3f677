/* stub_friend.h - functions of NVIDIA's libraries, made from the rows of a table.
 *
 * A table (cublas.def and its neighbours) has one row for each function that NVIDIA's headers
 * declare: its effects on its arguments. Its prototype is in the table of the same name in
 * data/cuda_api/. A C file includes this header and then its table. HAND_WRITTEN names a function
 * that a C file of this folder or of api/ defines. LEFT_TO_REAL names one that the real library
 * answers, because it needs no card: versions and texts. SAME_AS names one that another function
 * answers: an older name, or the form of it for the stream of a thread (PER_THREAD). NOT_SIMULATED
 * names one of a feature that the virtual card does not have, and NOT_SERVED one that still waits
 * for its row: both refuse each call.
 *
 * Every function of a table has the same body: it takes 32 words, and the row names the words that
 * are addresses. This is sound on x86-64 under the System V calling convention, the only one
 * supported. Arguments of the integer class (integers, enumerations, pointers) arrive in rdi, rsi,
 * rdx, rcx, r8 and r9 and then on the stack in order, whatever their types. Floating-point ones
 * travel in their own registers and are not counted; no function here has more than the eight that
 * fit. A row reads only arguments that its function has. Words beyond them would be the caller's
 * own frame, and the compiler emits no read of a word that no effect names. Nor does the body write
 * there: the words are constant, and the functions that the effects call take their arguments in
 * registers, so even a tail call does not build its arguments in the caller's frame. A result of up
 * to 64 bits returns in rax. Structures by value break this order, so functions that take one are
 * written by hand, as are those that return a floating-point value.
 * tests/virtual_cuda/check_list.py compares every row with its prototype. The upper half of a
 * 32-bit argument is undefined; no effect reads one.
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
#include "programs/virtual_cuda/libraries/refusals_internal.h"
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
        const uintptr_t a24, const uintptr_t a25, const uintptr_t a26, const uintptr_t a27,        \
        const uintptr_t a28, const uintptr_t a29, const uintptr_t a30, const uintptr_t a31

#define TIDE_VC_IGNORE_WORDS                                                                       \
    (void)a0, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8,      \
        (void)a9, (void)a10, (void)a11, (void)a12, (void)a13, (void)a14, (void)a15, (void)a16,     \
        (void)a17, (void)a18, (void)a19, (void)a20, (void)a21, (void)a22, (void)a23, (void)a24,    \
        (void)a25, (void)a26, (void)a27, (void)a28, (void)a29, (void)a30, (void)a31

/* Argument i is an address, on the host or the card, that receives n_bytes. */
void tide_vc_stub_output(uintptr_t output, size_t n_bytes);
/* Argument i receives the address of a new handle. NULL is allowed. */
void tide_vc_stub_create(uintptr_t output);

/* Reports the call of a function that is not served. Returns the refusal. */
uintptr_t tide_vc_stub_refuse(const char *call, const char *why, int refusal);
#define TIDE_VC_WAITS "the virtual card does not serve it"

/* A number of rows or the like, from an argument of 32 bits or of 64; at most INT_MAX. */
int tide_vc_stub_size(uintptr_t argument, bool is_wide);

/* Argument i receives 0 as the size of a workspace; this is reported with a bound. */
void tide_vc_stub_work_area(const char *call, uintptr_t output, size_t n_bytes, uint64_t bound);
/* Bytes of a value of a cudaDataType. */
uint64_t tide_vc_stub_value_bytes(int type);
/* The bytes that the sparse matrix of a descriptor needs with the widest values and indices. */
uint64_t tide_vc_stub_sparse_bytes(uintptr_t descriptor);

/* The first n_data arrays that a descriptor describes were written: see described_internal.h. */
void tide_vc_stub_touch_described(uintptr_t descriptor, size_t n_data);
void tide_vc_stub_count_nonzero(uintptr_t descriptor);

/* Effects. A row has one or several, in order, without commas. */
#define HARMLESS /* nothing that the caller could read */
/* a host output of n_bytes becomes zero; on the card its bytes become unknown */
#define OUTPUT(i, n_bytes) tide_vc_stub_output(a##i, n_bytes);
/* a host output whose size in bytes is argument j */
#define OUTPUT_OF(i, j) tide_vc_stub_output(a##i, a##j);
/* the same for a list: argument j is the number of its members, each of n_bytes */
#define OUTPUTS(i, n_bytes, j) tide_vc_stub_output(a##i, (n_bytes) * (size_t)(uint32_t)a##j);
/* the bytes on the card that argument i points to become unknown */
#define WRITES(i)                                                                                  \
    tide_vc_touch((const void *)a##i);                                                             \
    works = true;
/* the card has work of an unknown kind; WRITES implies it */
#define WORKS works = true;
/* The work is a product of matrices, C = A B. Arguments: the transposes of A and B, m, n and k;
 * then the type of all three, or as arguments the types of A and C and cuBLAS's computation type,
 * which SgemmEx leaves to the handle; last, for PRODUCTS, the number of products. Argument 0 is the
 * handle. */
#define PRODUCT(ta, tb, m, n, k, values)                                                           \
    TIDE_VC_PRODUCT(ta, tb, m, n, k, .type = TIDE_RUN_##values, .out_type = TIDE_RUN_##values,     \
                    .count = 1)
#define PRODUCTS(ta, tb, m, n, k, values, n_products)                                              \
    TIDE_VC_PRODUCT(ta, tb, m, n, k, .type = TIDE_RUN_##values, .out_type = TIDE_RUN_##values,     \
                    .count = tide_vc_stub_size(a##n_products, is_wide))
#define PRODUCT_TYPED(ta, tb, m, n, k, a_type, c_type, how)                                        \
    TIDE_VC_PRODUCT(ta, tb, m, n, k, .is_typed = true, .type = (int)a##a_type,                     \
                    .out_type = (int)a##c_type, .computation = (int)a##how, .count = 1)
#define PRODUCTS_TYPED(ta, tb, m, n, k, a_type, c_type, how, n_products)                           \
    TIDE_VC_PRODUCT(ta, tb, m, n, k, .is_typed = true, .type = (int)a##a_type,                     \
                    .out_type = (int)a##c_type, .computation = (int)a##how,                        \
                    .count = tide_vc_stub_size(a##n_products, is_wide))
#define PRODUCT_TYPED_BY_MODE(ta, tb, m, n, k, a_type, c_type)                                     \
    TIDE_VC_PRODUCT(ta, tb, m, n, k, .is_typed = true, .type = (int)a##a_type,                     \
                    .out_type = (int)a##c_type, .count = 1)
#define TIDE_VC_PRODUCT(transpose_a, transpose_b, of_m, of_n, of_k, ...)                           \
    tide_vc_blas_product((const void *)a0,                                                         \
                         &(tide_vc_product){.ta = (int)a##transpose_a,                             \
                                            .tb = (int)a##transpose_b,                             \
                                            .m = tide_vc_stub_size(a##of_m, is_wide),              \
                                            .n = tide_vc_stub_size(a##of_n, is_wide),              \
                                            .k = tide_vc_stub_size(a##of_k, is_wide),              \
                                            __VA_ARGS__});                                         \
    is_logged = true;
/* a product of cuBLASLt; arguments: its description, the layouts of A and D, and the stream */
#define PRODUCT_DESCRIBED(description, a_layout, d_layout, stream)                                 \
    tide_vc_described_product((const void *)a##description, (const void *)a##a_layout,             \
                              (const void *)a##d_layout, (void *)a##stream);                       \
    is_logged = true;
/* The work is a kernel that reads and writes n_bytes for each element of a vector, whose length is
 * an argument, or of a matrix. Argument 0 is the handle of cuBLAS. */
#define MOVES(n, n_bytes)                                                                          \
    tide_vc_blas_kernel((const void *)a0, __func__,                                                \
                        (uint64_t)(uint32_t)tide_vc_stub_size(a##n, is_wide), n_bytes);            \
    is_logged = true;
#define MOVES_MATRIX(n_rows, n_columns, n_bytes)                                                   \
    tide_vc_blas_kernel((const void *)a0, __func__,                                                \
                        (uint64_t)(uint32_t)tide_vc_stub_size(a##n_rows, is_wide) *                \
                            (uint32_t)tide_vc_stub_size(a##n_columns, is_wide),                    \
                        n_bytes);                                                                  \
    is_logged = true;
/* A convolution of cuDNN. Arguments: the descriptors of input, filter, convolution and output.
 * Argument 0 is the handle, and 8 the work area. */
#define CONVOLUTION(x, w, convolution, y)                                                          \
    TIDE_VC_CONVOLUTION(x, w, convolution, y, TIDE_VC_CUDNN_OUTPUT)
#define CONVOLUTION_DATA(x, w, convolution, y)                                                     \
    TIDE_VC_CONVOLUTION(x, w, convolution, y, TIDE_VC_CUDNN_DATA)
#define CONVOLUTION_FILTER(x, w, convolution, y)                                                   \
    TIDE_VC_CONVOLUTION(x, w, convolution, y, TIDE_VC_CUDNN_FILTER)
#define TIDE_VC_CONVOLUTION(x, w, convolution, y, way)                                             \
    tide_vc_cudnn_log_convolution((const void *)a0, __func__, (const shape *)a##x,                 \
                                  (const shape *)a##w, (const int *)a##convolution,                \
                                  (const shape *)a##y, way);                                       \
    tide_vc_cudnn_record_convolution((const void *)a0, (const void *)a8, (const shape *)a##x,      \
                                     (const shape *)a##w, (const int *)a##convolution,             \
                                     (const shape *)a##y, way);                                    \
    is_logged = true;
/* a kernel of cuDNN that passes n_passes times over the tensor whose descriptor is an argument */
#define PASSES(x, n_passes)                                                                        \
    tide_vc_cudnn_log_passes((const void *)a0, __func__, (const shape *)a##x, n_passes);           \
    is_logged = true;
/* argument i is memory of a##j bytes that the program lends to the library (workspaces.h) */
#define LENDS(i, j, lent) tide_vc_workspace_add((const void *)a##i, a##j, lent);
#define CREATES(i) tide_vc_stub_create(a##i);
#define DESTROYS(i) tide_vc_handle_release((void *)a##i);
/* argument i receives the size of a workspace that only the real library knows */
#define WORKSPACE(i, n_bytes)                                                                      \
    tide_vc_stub_output(a##i, n_bytes);                                                            \
    tide_vc_inexact(__func__, "the workspace is unknown and counted as 0");
/* The same with a bound: `copies` copies of a matrix of that many rows and columns, which are
 * arguments. Its values have `bytes` bytes, or the cudaDataType in argument `type`. AREAS: for each
 * matrix of a batch. */
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
/* the number of nonzero values of the matrix that argument i describes is computed on the card */
#define COUNTS_NONZERO(i) tide_vc_stub_count_nonzero(a##i);
/* the result is inexact; put it last */
#define SAYS(what) tide_vc_inexact(__func__, what);
/* the function ends with this status, which is not an error here */
#define ANSWERS(status) return (uintptr_t)(status);
#define REFUSED(why)                                                                               \
    tide_vc_refused(__func__, why);                                                                \
    return (uintptr_t)(intptr_t)refusal;

/* NOLINTBEGIN(readability-function-size): 32 words are the convention above. */
#define FUNCTION(name, effects) TIDE_VC_FUNCTION(name, effects, false)
/* The same for a function of cuBLAS whose sizes have 64 bits. */
#define FUNCTION_64(name, effects) TIDE_VC_FUNCTION(name, effects, true)
#define TIDE_VC_FUNCTION(name, effects, has_wide_sizes)                                            \
    TIDE_VC_EXPORT uintptr_t name(TIDE_VC_WORDS);                                                  \
    uintptr_t name(TIDE_VC_WORDS) {                                                                \
        enum { refusal = TIDE_VC_REFUSAL_##name, is_wide = (has_wide_sizes) };                     \
        bool works = false;                                                                        \
        bool is_logged = false;                                                                    \
        TIDE_VC_IGNORE_WORDS;                                                                      \
        effects if (works && !is_logged) {                                                         \
            tide_vc_other_work(__func__);                                                          \
        }                                                                                          \
        return 0; /* success of any status, no address, a count of 0 */                            \
    }
/* The section lets a lookup by name prefer another version of the function: api/entry.c. */
#define NOT_SERVED(name)                                                                           \
    TIDE_VC_EXPORT __attribute__((section("tide_vc_not_served"))) uintptr_t name(void);            \
    uintptr_t name(void) {                                                                         \
        return tide_vc_stub_refuse(#name, TIDE_VC_WAITS, TIDE_VC_REFUSAL_##name);                  \
    }
/* The same, with the reason for which it will stay so: a feature that is not simulated. */
#define NOT_SIMULATED(name, why)                                                                   \
    TIDE_VC_EXPORT __attribute__((section("tide_vc_not_served"))) uintptr_t name(void);            \
    uintptr_t name(void) {                                                                         \
        return tide_vc_stub_refuse(#name, why, TIDE_VC_REFUSAL_##name);                            \
    }
#define HAND_WRITTEN(name)
#define LEFT_TO_REAL(name)
/* api/same_as.c: another function answers */
#define SAME_AS(name, other)
#define PER_THREAD(name, other, stream)
#define PER_THREAD_NULL(name, other)
/* Rows for functions that a C file defines, in this folder or in programs/virtual_cuda/. Their code
 * is there; the list only describes them. */
#define WITHOUT_OUTPUT(name)
#define REFUSED_BY_HAND(name, error, why)
#define INEXACT_BY_HAND(name, what)
#define PARTLY_BY_HAND(name, why) /* some of its uses are refused */
/* NOLINTEND(readability-function-size) */

#endif
