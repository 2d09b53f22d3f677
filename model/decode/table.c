/* table.c - the operators of decode for each kind of device. */
#include "model/decode/operators.h"

#ifndef TIDEMARK_HAVE_CUDA
#define TIDEMARK_HAVE_CUDA 0
#endif

#define CPU_ENTRY(x) .x = tide_cpu_decode_##x,
static const tide_decode_table CPU = {TIDE_DECODE_OPERATORS(CPU_ENTRY)};
#undef CPU_ENTRY

#if TIDEMARK_HAVE_CUDA
#define CUDA_ENTRY(x) .x = tide_cuda_decode_##x,
static const tide_decode_table CUDA = {TIDE_DECODE_OPERATORS(CUDA_ENTRY)};
#undef CUDA_ENTRY
#endif

tide_status tide_decode_find_table(const tide_device_info *device,
                                   const tide_decode_table **ret_table, tide_error *error) {
    if (device->kind == TIDE_DEVICE_CPU) {
        *ret_table = &CPU;
        return TIDE_OK;
    }
#if TIDEMARK_HAVE_CUDA
    if (device->kind == TIDE_DEVICE_CUDA) {
        *ret_table = &CUDA;
        return TIDE_OK;
    }
#endif
    return tide_fail(error, TIDE_UNSUPPORTED,
                     "this build computes no language model on device %s: use cpu or virtual",
                     device->spec);
}
