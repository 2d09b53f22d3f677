"""PyCUDA: a context, copies, a kernel compiled by nvcc, and a rectangle."""
import numpy as np
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

cuda.init()
device = cuda.Device(0)
context = device.make_context()
a = cuda.mem_alloc(256 << 20)
given, read = np.arange(16, dtype=np.float32), np.empty(16, np.float32)
cuda.memcpy_htod(a, given)
cuda.memcpy_dtoh(read, a)
kernel = SourceModule("__global__ void f(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }").get_function("f")
kernel(a, np.int32(16), block=(32, 1, 1), grid=(4, 1))
cuda.memset_d32(int(a), 3, 100)
print(device.name(), (given == read).all(), cuda.mem_alloc_pitch(100, 100, 4)[1])
a.free()
context.pop()
