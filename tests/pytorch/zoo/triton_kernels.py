"""Kernels in Triton, one of them with a choice of configurations: compiled by Triton's own compiler, launched, never run.

Three vectors of 100,000 float32, 400,000 bytes, in blocks of 400,384.
"""
import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512}, num_warps=8)], key=["n"])
@triton.jit
def add_tuned(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


n = 100_000
x, y, out = (torch.empty(n, device="cuda") for _ in range(3))
kernel = add[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
print(f"allocated: {torch.cuda.memory_allocated()}")
print("machine code for", kernel.metadata.target.arch)
add_tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n)
print("one of two was chosen:", add_tuned.best_config.kwargs["BLOCK"] in (256, 512))
