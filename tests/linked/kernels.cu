// A library or program that nvcc builds: memory, a variable, launches, a graph, properties.
#include <cstdio>
#include <cuda_runtime.h>

__device__ float table[256];

__global__ void fill(float *a) {
    a[threadIdx.x] = table[threadIdx.x];
}

// Calls in constructors come before main, and before the kernels are registered.
struct early {
    early() {
        int n = -1;
        cudaError_t status = cudaGetDeviceCount(&n);
        printf("constructor %d %d\n", status, n);
    }
} now;

static float *take_memory(size_t n_bytes) {
    float *a = nullptr;
    printf("malloc %d\n", cudaMalloc(&a, n_bytes));
    return a;
}

static void run_graph(float *a) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t made;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    fill<<<1, 256, 0, stream>>>(a);
    cudaStreamEndCapture(stream, &graph);
    printf("graph %d\n", cudaGraphInstantiate(&made, graph, 0));
    printf("graph launch %d\n", cudaGraphLaunch(made, stream));
}

// Frees and allocates again in one function, as a program without a cache does.
__attribute__((noinline)) static void reuse(size_t n_bytes) {
    for (int i = 0; i < 3; i++) {
        float *a = nullptr;
        cudaMalloc(&a, n_bytes);
        cudaFree(a);
    }
}

extern "C" int library_work(void) {
    float host[256] = {1};
    cudaFuncAttributes attributes;
    cudaDeviceProp properties;
    printf("symbol %d\n", cudaMemcpyToSymbol(table, host, sizeof(host)));
    reuse(size_t(1) << 20);
    float *a = take_memory(size_t(256) << 20);
    fill<<<1, 256>>>(a);
    printf("launch %d\n", cudaGetLastError());
    run_graph(a);
    cudaError_t status = cudaFuncGetAttributes(&attributes, fill);
    printf("attributes %d %d\n", status, attributes.numRegs > 0);
    printf("properties %d\n", cudaGetDeviceProperties(&properties, 0));
    printf("card %s %d\n", properties.name, properties.multiProcessorCount);
    take_memory(size_t(1) << 45);
    printf("last %d\n", cudaGetLastError());
    float *managed = nullptr;
    cudaMallocManaged(&managed, size_t(3) << 20);
    cudaFree(managed);
    cudaMallocManaged(&managed, size_t(5) << 20);
    if (managed != nullptr) {
        managed[0] = 1;
    }
    cudaFree(managed);
    printf("wait %d\n", cudaDeviceSynchronize());
    return 0;
}

#ifdef WITH_MAIN
int main() {
    return library_work();
}
#endif
