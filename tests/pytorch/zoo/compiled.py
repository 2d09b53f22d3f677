"""torch.compile: compiled.py [MODE]. Triton compiles for the card that the process sees, and nothing of it runs.

A network of 256 -> 512 -> 256 with a normalisation: 131,072 + 512, 512 + 512, 131,072 + 256 parameters of 4 bytes, each
with a gradient and two moments, all kept after the last step. All are multiples of 512 bytes, so that what is allocated is
their sum, batch and target of 64 x 256 floats, and a cuBLAS workspace for the main thread and that of the backward pass.
(With reduce-overhead, gradients lie in the memory of a CUDA graph, which PyTorch does not count.)
"""
import sys

import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512), torch.nn.Linear(512, 256)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
compiled = torch.compile(model, mode=sys.argv[1] if len(sys.argv) > 1 else None)
for step in range(4):
    optimizer.zero_grad()
    batch, target = torch.randn(64, 256, device="cuda"), torch.randn(64, 256, device="cuda")
    torch.nn.functional.mse_loss(compiled(batch), target).backward()
    optimizer.step()
torch.cuda.synchronize()
n_bytes = sum(t.nbytes for p in model.parameters() for t in (p, p.grad, optimizer.state[p]["exp_avg"], optimizer.state[p]["exp_avg_sq"]))
print(f"kept by the model: {n_bytes}")
print(f"parameters: {sum(p.numel() for p in model.parameters())}")
print(f"allocated: {torch.cuda.memory_allocated()}")
print(f"graphs compiled: {torch._dynamo.utils.counters['stats']['unique_graphs']}")
