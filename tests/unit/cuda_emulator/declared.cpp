/* declared.cpp - see declared.h. declared_names.inc lists every constant and function that the
 * emulator's cuda_runtime_api.h declares, and every constant of its cuda.h. */
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime_api.h>
#include <vector_types.h>

#include <cstring>
#include <typeinfo>

#include "declared.h"

#define CONSTANT(what) {#what, static_cast<long long>(what), ""},
#define FUNCTION(what) {#what, 0, typeid(decltype(what)).name()},
#define TYPE(name)                                                                                 \
    {"sizeof " #name, static_cast<long long>(sizeof(name)), ""},                                   \
        {"alignof " #name, static_cast<long long>(alignof(name)), ""},
#define MEMBER(type, name)                                                                         \
    {#type "." #name, static_cast<long long>(offsetof(type, name)), ""},                           \
        {"sizeof " #type "." #name, static_cast<long long>(sizeof(type::name)), ""},

static const declared_value values[] = {
#include "declared_names.inc"
    TYPE(uint2) TYPE(uint3) TYPE(uint4) TYPE(int2) TYPE(int4) TYPE(float2) TYPE(float4) TYPE(dim3)
        TYPE(cudaUUID_t) TYPE(__nv_bfloat16) TYPE(__nv_bfloat162) MEMBER(uint4, w) MEMBER(float4, w)
            MEMBER(dim3, z) MEMBER(cudaDeviceProp, name) MEMBER(cudaDeviceProp, uuid)
                MEMBER(cudaDeviceProp, luid) MEMBER(cudaDeviceProp, luidDeviceNodeMask)
                    MEMBER(cudaDeviceProp, totalGlobalMem) TYPE(CUmemLocation)
                        TYPE(CUmemAllocationProp) TYPE(CUmemAccessDesc) MEMBER(CUmemLocation, id)
                            MEMBER(CUmemAllocationProp, requestedHandleTypes)
                                MEMBER(CUmemAllocationProp, location)
                                    MEMBER(CUmemAllocationProp, win32HandleMetaData)
                                        MEMBER(CUmemAllocationProp, allocFlags)
                                            MEMBER(CUmemAccessDesc, location)
                                                MEMBER(CUmemAccessDesc, flags)};

static uint16_t to_bf16(float x) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(x));
}

static float to_fp32(uint16_t bits) {
    return __bfloat162float(__ushort_as_bfloat16(bits));
}

static uint32_t two_bf16(float x, float y) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(x, y);
    uint32_t bits;
    std::memcpy(&bits, &pair, sizeof(bits));
    return bits;
}

const declared_headers *DECLARED_BY(void) {
    static const declared_headers all = {values, sizeof(values) / sizeof(values[0]), to_bf16,
                                         to_fp32, two_bf16};
    return &all;
}
