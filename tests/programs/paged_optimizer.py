"""bitsandbytes: a paged optimizer, whose state is managed memory."""
import bitsandbytes
import torch

net = torch.nn.Linear(8192, 8192, device="cuda")
optimizer = bitsandbytes.optim.PagedAdamW8bit(net.parameters())
for _ in range(3):
    net(torch.randn(64, 8192, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print("steps done", torch.cuda.max_memory_allocated() >> 20, "MiB")
