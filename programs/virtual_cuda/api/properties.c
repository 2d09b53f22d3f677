/* cudaDeviceProp. CUDA 12 and 13 have the same members in different places; CUDA 11 has the layout
 * of 12 and ends earlier. Tests compare the offsets with NVIDIA's headers. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "programs/virtual_cuda/api/attributes.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/api/properties.h"
#include "programs/virtual_cuda/api/status.h"

enum { NAME_BYTES = 256, UUID_AT = 256 };

/* A member: its offset in both layouts, its size, and the attribute that is its value. */
typedef struct member {
    uint16_t at12, at13;
    uint8_t n_bytes;
    int attribute;
} member;

static const member MEMBERS[] = {
    {296, 296, 8, 8},                                       /* sharedMemPerBlock */
    {304, 304, 4, 12},                                      /* regsPerBlock */
    {308, 308, 4, 10},                                      /* warpSize */
    {312, 312, 8, 11},                                      /* memPitch */
    {320, 320, 4, 1},                                       /* maxThreadsPerBlock */
    {324, 324, 4, 2},                                       /* maxThreadsDim */
    {328, 328, 4, 3},   {332, 332, 4, 4}, {336, 336, 4, 5}, /* maxGridSize */
    {340, 340, 4, 6},   {344, 344, 4, 7}, {352, 352, 8, 9}, /* totalConstMem */
    {360, 360, 4, 75},                                      /* major */
    {364, 364, 4, 76},                                      /* minor */
    {368, 368, 8, 14},                                      /* textureAlignment */
    {388, 384, 4, 16},                                      /* multiProcessorCount */
    {396, 388, 4, 18},                                      /* integrated */
    {400, 392, 4, 19},                                      /* canMapHostMemory */
    {576, 560, 4, 31},                                      /* concurrentKernels */
    {584, 568, 4, 33},                                      /* pciBusID */
    {600, 584, 4, 40},                                      /* asyncEngineCount */
    {604, 588, 4, 41},                                      /* unifiedAddressing */
    {612, 592, 4, 37},                                      /* memoryBusWidth */
    {616, 596, 4, 38},                                      /* l2CacheSize */
    {624, 604, 4, 39},                                      /* maxThreadsPerMultiProcessor */
    {640, 624, 8, 81},                                      /* sharedMemPerMultiprocessor */
    {648, 632, 4, 82},                                      /* regsPerMultiprocessor */
    {652, 636, 4, 83},                                      /* managedMemory */
    {672, 652, 4, 88},                                      /* pageableMemoryAccess */
    {688, 668, 4, 95},                                      /* cooperativeLaunch */
    {696, 672, 8, 97},                                      /* sharedMemPerBlockOptin */
    {704, 680, 4, 100}, /* pageableMemoryAccessUsesHostPageTables */
    {712, 688, 4, 106}, /* maxBlocksPerMultiProcessor */
    {720, 696, 8, 111}, /* reservedSharedMemPerBlock */
    {744, 720, 4, 115}, /* memoryPoolsSupported */
    {772, 748, 4, 120}, /* clusterLaunch */
};

static void put(char *properties, size_t n_room, size_t at, size_t n_bytes, int64_t value) {
    int32_t narrow = (int32_t)value;
    if (at + n_bytes <= n_room) {
        memcpy(properties + at, n_bytes == 8 ? (const void *)&value : &narrow, n_bytes);
    }
}

void tide_vc_properties(void *ret_properties, int device, int cuda_major) {
    const tide_vc_card *card = tide_vc_card_of(device);
    char *properties = ret_properties;
    size_t n_room = cuda_major >= 13   ? TIDE_VC_PROPERTIES_BYTES_13
                    : cuda_major == 12 ? TIDE_VC_PROPERTIES_BYTES_12
                                       : TIDE_VC_PROPERTIES_BYTES_11;
    memset(properties, 0, n_room);
    (void)snprintf(properties, NAME_BYTES, "%s", card->card->title);
    properties[UUID_AT] = (char)(card->number + 1);
    put(properties, n_room, 288, 8, (int64_t)card->total_bytes); /* totalGlobalMem */
    for (size_t i = 0; i < sizeof(MEMBERS) / sizeof(MEMBERS[0]); i++) {
        const member *of = &MEMBERS[i];
        put(properties, n_room, cuda_major >= 13 ? of->at13 : of->at12, of->n_bytes,
            tide_vc_attribute(of->attribute, device));
    }
}

static int get(void *ret_properties, int device, int cuda_major) {
    if (ret_properties == NULL) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    if (device < 0 || device >= tide_vc_n_devices()) {
        return tide_vc_fail(TIDE_VC_INVALID_DEVICE);
    }
    tide_vc_properties(ret_properties, device, cuda_major);
    return TIDE_VC_OK;
}

/* CUDA 12's name; the name without a suffix is CUDA 13's and CUDA 11's. */
TIDE_VC_EXPORT int cudaGetDeviceProperties_v2(void *ret_properties, int device) {
    return get(ret_properties, device, 12);
}

TIDE_VC_EXPORT int cudaGetDeviceProperties(void *ret_properties, int device) {
    return get(ret_properties, device, tide_vc_runtime_major() >= 13 ? 13 : 11);
}

/* As in NVIDIA's headers: the bits of an element's parts, and their kind. */
typedef struct channels {
    int n_bits[4];
    int kind;
} channels;

TIDE_VC_EXPORT channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
    return (channels){{x, y, z, w}, kind};
}
