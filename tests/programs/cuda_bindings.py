"""cuda.bindings.runtime: 256 MiB, properties, a stream, and a request that fails."""
from cuda.bindings import runtime

error, n = runtime.cudaGetDeviceCount()
error, address = runtime.cudaMalloc(256 << 20)
error, stream = runtime.cudaStreamCreate()
runtime.cudaMemsetAsync(address, 0, 1024, stream)
error, properties = runtime.cudaGetDeviceProperties(0)
print(n, properties.name.decode(), runtime.cudaMalloc(1 << 45)[0].name, runtime.cudaDeviceSynchronize()[0].name)
