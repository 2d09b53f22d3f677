"""numba-cuda: a kernel over 64 MiB, a stream, an event, pinned and managed memory."""
import numpy as np
from numba import cuda

N = 1 << 24


@cuda.jit
def add(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + 1


a = cuda.to_device(np.arange(N, dtype=np.float32))
b = cuda.device_array_like(a)
add[N // 256, 256](a, b)
cuda.synchronize()
stream, event = cuda.stream(), cuda.event()
event.record(stream)
event.synchronize()
pinned, managed = cuda.pinned_array(100), cuda.managed_array(100)
print(cuda.get_current_device().name, b.copy_to_host().shape)
