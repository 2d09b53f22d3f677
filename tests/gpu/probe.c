/* probe.c - whether kernels can be launched here: exit status 0, or 77 with the reason. */
#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void) {
    int n_devices = 0;
    struct cudaDeviceProp properties;
    cudaError_t result = cudaGetDeviceCount(&n_devices);
    if (result == cudaSuccess && n_devices > 0) {
        result = cudaGetDeviceProperties(&properties, 0);
    }
    if (result != cudaSuccess || n_devices == 0) {
        fprintf(stderr, "skipped, no GPU: %s\n",
                result != cudaSuccess ? cudaGetErrorString(result) : "the driver shows none");
        return 77;
    }
    printf("%s, compute capability %d.%d\n", properties.name, properties.major, properties.minor);
    return 0;
}
