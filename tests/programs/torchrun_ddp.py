"""torchrun with DDP: one process per card, three steps."""
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

D = 4096
dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
net = torch.nn.Sequential(torch.nn.Linear(D, 4 * D), torch.nn.GELU(), torch.nn.Linear(4 * D, D)).cuda()
ddp = DistributedDataParallel(net, device_ids=[rank])
optimizer = torch.optim.AdamW(ddp.parameters(), lr=1e-4)
for _ in range(3):
    loss = ddp(torch.randn(512, D, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
print(f"rank {rank} of {dist.get_world_size()}: {torch.cuda.max_memory_allocated()} bytes", flush=True)
dist.destroy_process_group()
