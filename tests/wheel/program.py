"""Asks the driver for the memory of the card, and imports the package."""
import ctypes

import tidemark

cuda = ctypes.CDLL("libcuda.so.1")
n_bytes = ctypes.c_size_t()
assert cuda.cuInit(0) == 0
assert cuda.cuDeviceTotalMem_v2(ctypes.byref(n_bytes), 0) == 0
with tidemark.scope("nothing"):
    tidemark.step()
print(f"{n_bytes.value} bytes, known as {tidemark.__name__}")
