/* cuda.h - the part of the CUDA driver's virtual memory management that tidemark uses, declared
 * here under the toolkit's name. The functions are looked up by name
 * (cudaGetDriverEntryPointByVersion); those for tests are in tests/fake_cudart/.
 */
#ifndef TIDE_TESTS_CUDA_H
#define TIDE_TESTS_CUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cudaError_enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_NOT_SUPPORTED = 801,
} CUresult;

typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;

typedef enum CUmemAllocationHandleType_enum {
    CU_MEM_HANDLE_TYPE_NONE = 0,
} CUmemAllocationHandleType;

typedef enum CUmemAccess_flags_enum {
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
} CUmemAccess_flags;

typedef enum CUmemLocationType_enum {
    CU_MEM_LOCATION_TYPE_DEVICE = 1,
} CUmemLocationType;

typedef enum CUmemAllocationType_enum {
    CU_MEM_ALLOCATION_TYPE_PINNED = 1,
} CUmemAllocationType;

typedef enum CUmemAllocationGranularity_flags_enum {
    CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
} CUmemAllocationGranularity_flags;

typedef struct CUmemLocation_st {
    CUmemLocationType type; /* what id is */
    int id;                 /* a device's number */
} CUmemLocation;

typedef struct CUmemAllocationProp_st {
    CUmemAllocationType type;                       /* of the memory */
    CUmemAllocationHandleType requestedHandleTypes; /* for other processes */
    CUmemLocation location;                         /* where it is */
    void *win32HandleMetaData;                      /* Windows only */
    struct {
        unsigned char compressionType;      /* 0: none */
        unsigned char gpuDirectRDMACapable; /* 0: not requested */
        unsigned short usage;               /* 0: general */
        unsigned char reserved[4];          /* 0 */
    } allocFlags;
} CUmemAllocationProp;

typedef struct CUmemAccessDesc_st {
    CUmemLocation location;  /* who may access it */
    CUmemAccess_flags flags; /* how */
} CUmemAccessDesc;

#ifdef __cplusplus
}
#endif

#endif
