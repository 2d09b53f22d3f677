"""NCCL with one rank: DistributedDataParallel, FSDP, and objects that travel as tensors of bytes, as `torchrun
--nproc-per-node 1` starts them.

A collective of one rank returns its input. DistributedDataParallel checks the shapes of its parameters by one.
"""
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29537")
os.environ.setdefault("RANK", "0")
os.environ.setdefault("WORLD_SIZE", "1")


def train(model):
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        model(torch.randn(8, 256, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


torch.cuda.set_device(0)
dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
wrapped = torch.nn.parallel.DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.BatchNorm1d(256)).cuda(), device_ids=[0])
train(wrapped)
print("gradients:", sum(p.grad.nbytes for p in wrapped.parameters()))
objects = [None]
dist.all_gather_object(objects, {"step": 3, "names": ["a", "b"]})
texts = ["from rank 0"]
dist.broadcast_object_list(texts, 0)
print("objects", objects, texts)
numbers, gathered = torch.arange(5).cuda(), [torch.zeros(5, dtype=torch.long, device="cuda")]
dist.all_reduce(numbers)
dist.all_gather(gathered, numbers)
print("numbers", numbers.tolist(), gathered[0].tolist())
sharded = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Linear(256, 256)).cuda()
fully_shard(sharded)
train(sharded)
print("shards:", sum(p.to_local().nbytes for p in sharded.parameters()))
dist.barrier()
dist.destroy_process_group()
