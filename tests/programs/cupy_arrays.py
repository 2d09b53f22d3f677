"""CuPy: a product, a sine and a sort, and a request that fails."""
import cupy

a = cupy.ones((4096, 4096), dtype=cupy.float32)
b = cupy.sin(a)
print("product", (a @ b).shape, "sorted", cupy.sort(b.ravel()).shape)
try:
    cupy.empty((1 << 40,), dtype=cupy.float32)
except cupy.cuda.memory.OutOfMemoryError:
    print("out of memory")
