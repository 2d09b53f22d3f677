/* check_layouts.c - the virtual card's structs compared with NVIDIA's headers: run.sh compiles this
 * with the headers of the installed CUDA, links the preloaded object, and runs it.
 *
 * Each member of cudaDeviceProp must equal the matching attribute, so a wrong offset shows another
 * member's value.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

static int n_wrong;

static void expect(const char *what, long long is, long long should_be) {
    if (is != should_be) {
        fprintf(stderr, "%s is %lld, and should be %lld\n", what, is, should_be);
        n_wrong++;
    }
}

static int attribute(enum cudaDeviceAttr of) {
    int value = -1;
    (void)cudaDeviceGetAttribute(&value, of, 0);
    return value;
}

#define SAME(member, of) expect("cudaDeviceProp." #member, (long long)p.member, attribute(of))

static void check_properties(void) {
    struct cudaDeviceProp p;
    size_t n_free = 0;
    size_t n_total = 0;
    memset(&p, 0xAA, sizeof(p));
    expect("cudaGetDeviceProperties", cudaGetDeviceProperties(&p, 0), cudaSuccess);
    expect("cudaMemGetInfo", cudaMemGetInfo(&n_free, &n_total), cudaSuccess);
    expect("cudaDeviceProp.totalGlobalMem", (long long)p.totalGlobalMem, (long long)n_total);
    SAME(sharedMemPerBlock, cudaDevAttrMaxSharedMemoryPerBlock);
    SAME(regsPerBlock, cudaDevAttrMaxRegistersPerBlock);
    SAME(warpSize, cudaDevAttrWarpSize);
    SAME(memPitch, cudaDevAttrMaxPitch);
    SAME(maxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock);
    SAME(maxThreadsDim[0], cudaDevAttrMaxBlockDimX);
    SAME(maxThreadsDim[1], cudaDevAttrMaxBlockDimY);
    SAME(maxThreadsDim[2], cudaDevAttrMaxBlockDimZ);
    SAME(maxGridSize[0], cudaDevAttrMaxGridDimX);
    SAME(maxGridSize[1], cudaDevAttrMaxGridDimY);
    SAME(maxGridSize[2], cudaDevAttrMaxGridDimZ);
    SAME(totalConstMem, cudaDevAttrTotalConstantMemory);
    SAME(major, cudaDevAttrComputeCapabilityMajor);
    SAME(minor, cudaDevAttrComputeCapabilityMinor);
    SAME(textureAlignment, cudaDevAttrTextureAlignment);
    SAME(multiProcessorCount, cudaDevAttrMultiProcessorCount);
    SAME(canMapHostMemory, cudaDevAttrCanMapHostMemory);
    SAME(concurrentKernels, cudaDevAttrConcurrentKernels);
    SAME(pciBusID, cudaDevAttrPciBusId);
    SAME(asyncEngineCount, cudaDevAttrAsyncEngineCount);
    SAME(unifiedAddressing, cudaDevAttrUnifiedAddressing);
    SAME(memoryBusWidth, cudaDevAttrGlobalMemoryBusWidth);
    SAME(l2CacheSize, cudaDevAttrL2CacheSize);
    SAME(maxThreadsPerMultiProcessor, cudaDevAttrMaxThreadsPerMultiProcessor);
    SAME(sharedMemPerMultiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    SAME(regsPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor);
    SAME(managedMemory, cudaDevAttrManagedMemory);
    SAME(cooperativeLaunch, cudaDevAttrCooperativeLaunch);
    SAME(sharedMemPerBlockOptin, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    SAME(maxBlocksPerMultiProcessor, cudaDevAttrMaxBlocksPerMultiprocessor);
    SAME(reservedSharedMemPerBlock, cudaDevAttrReservedSharedMemoryPerBlock);
#if CUDART_VERSION >= 12000
    SAME(memoryPoolsSupported, cudaDevAttrMemoryPoolsSupported);
    SAME(clusterLaunch, cudaDevAttrClusterLaunch);
#endif
}

static void check_pointers(void) {
    struct cudaPointerAttributes of;
    void *address = NULL;
    expect("cudaMalloc", cudaMalloc(&address, 100), cudaSuccess);
    memset(&of, 0xAA, sizeof(of));
    expect("cudaPointerGetAttributes", cudaPointerGetAttributes(&of, address), cudaSuccess);
    expect("cudaPointerAttributes.type", of.type, cudaMemoryTypeDevice);
    expect("cudaPointerAttributes.device", of.device, 0);
    expect("cudaPointerAttributes.devicePointer", of.devicePointer == address, 1);
    expect("cudaPointerAttributes.hostPointer", of.hostPointer == NULL, 1);
    expect("cudaFree", cudaFree(address), cudaSuccess);
}

static void check_kernels(void) {
    struct cudaFuncAttributes of;
    memset(&of, 0xAA, sizeof(of));
    expect("cudaFuncGetAttributes", cudaFuncGetAttributes(&of, (const void *)check_kernels),
           cudaSuccess);
    expect("cudaFuncAttributes.ptxVersion", of.ptxVersion,
           10 * attribute(cudaDevAttrComputeCapabilityMajor) +
               attribute(cudaDevAttrComputeCapabilityMinor));
    expect("cudaFuncAttributes.binaryVersion", of.binaryVersion, of.ptxVersion);
    expect("cudaFuncAttributes.maxThreadsPerBlock", of.maxThreadsPerBlock,
           attribute(cudaDevAttrMaxThreadsPerBlock));
    expect("cudaFuncAttributes.maxDynamicSharedSizeBytes", of.maxDynamicSharedSizeBytes,
           attribute(cudaDevAttrMaxSharedMemoryPerBlock));
}

int main(void) {
    check_properties();
    check_pointers();
    check_kernels();
    if (n_wrong == 0) {
        printf("cudaDeviceProp (%zu bytes), cudaPointerAttributes and cudaFuncAttributes of CUDA "
               "%d agree\n",
               sizeof(struct cudaDeviceProp), CUDART_VERSION);
    }
    return n_wrong == 0 ? 0 : 1;
}
