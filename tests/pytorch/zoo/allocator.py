"""PyTorch's allocator under the settings of PYTORCH_CUDA_ALLOC_CONF: what is reserved follows from its own rules.

  small    1000 tensors of 300 bytes: blocks of 512 bytes in segments of 2 MiB, so one segment
  large    twenty tensors of 30 MiB each; every second one is dropped, then one of 50 MiB is asked for

Allocated is 1000 * 512 + 10 * 30 MiB + 50 MiB; at its peak, before any was dropped, 1000 * 512 + 20 * 30 MiB. Reserved:

  native                 2 MiB + 20 * 30 MiB, and 50 MiB that fit in no hole
  expandable_segments    the twenty lie side by side in one range, which grows by 20 MiB at a time; no hole is larger than
                         30 MiB, so that 50 MiB more are mapped after it: 2 MiB + rounded(20 * 30 + 50 MiB, 20 MiB)
  roundup_power2         with 4 divisions 30 MiB becomes 32 MiB and 50 MiB becomes 56 MiB; the block is rounded up as well
  cudaMallocAsync        has no segments; blocks are multiples of 512 bytes alike, and what the pool holds is the driver's affair
"""
import torch

MIB = 1 << 20
few = [torch.empty(300, dtype=torch.uint8, device="cuda") for _ in range(1000)]
many = [torch.empty(30 * MIB, dtype=torch.uint8, device="cuda") for _ in range(20)]
del many[::2]
one = torch.empty(50 * MIB, dtype=torch.uint8, device="cuda")
print("backend", torch.cuda.get_allocator_backend())
print(f"allocated: {torch.cuda.memory_allocated()}")
print(f"reserved: {torch.cuda.memory_reserved()}")
print(f"peak so far: {torch.cuda.max_memory_allocated()}")
del few, many, one
torch.cuda.synchronize()
torch.cuda.empty_cache()
print(f"allocated at the end: {torch.cuda.memory_allocated()}")
print(f"reserved at the end: {torch.cuda.memory_reserved()}")
try:
    torch.empty(200 << 30, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    print("200 GiB do not fit")
torch.empty(40 << 30, dtype=torch.uint8, device="cuda")
print("40 GiB fit")
