"""A small model of decoder layers, two steps of training: what one rank of a larger world runs.

    world.py data        sharded over all ranks (FSDP2)
    world.py pipeline    a mesh of pipeline, data and tensor parts; stages send each other what they computed
    world.py gloo        asks for a group over gloo, too
    world.py key         waits for a key that rank 1 would have written
    world.py fail        rank 7 raises an exception
    world.py large       rank 3 asks for more than its card has, before the others have done anything else
    world.py split       a mesh and a group of a communicator that is made at once: NCCL splits it
    world.py ipc         ranks of one node share a tensor by a handle, and copy between cards

It prints FIGURES RANK SHARD_BYTES PEAK_BYTES.
"""
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh

WIDTH, N_LAYERS, VOCABULARY, TOKENS = 512, 4, 8192, 128


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def train(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ids = torch.randint(0, VOCABULARY, (1, TOKENS)).cuda()
    for _ in range(2):
        loss = nn.functional.cross_entropy(model(ids).float().view(-1, VOCABULARY), ids.view(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def data(rank):
    from torch.distributed.fsdp import fully_shard

    with torch.device("meta"):
        layers = [Layer() for _ in range(N_LAYERS)]
        model = nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), *layers, nn.Linear(WIDTH, VOCABULARY, bias=False))
    for layer in layers:
        fully_shard(layer)
    fully_shard(model)
    model.to_empty(device="cuda")
    shard = torch.cuda.memory_allocated()
    train(model)
    return shard


def pipeline(rank):
    """The last stage has the output matrix, and so is larger."""
    mesh = init_device_mesh("cuda", (2, dist.get_world_size() // 4, 2), mesh_dim_names=("pp", "dp", "tp"))
    group = mesh.get_group("pp")
    stage, other = mesh.get_local_rank("pp"), dist.get_global_rank(group, 1 - mesh.get_local_rank("pp"))
    layer = Layer().cuda()
    x = torch.zeros(TOKENS, WIDTH, device="cuda")
    if stage == 0:
        dist.send(layer(x).detach(), other, group=group)
    else:
        dist.recv(x, other, group=group)
        nn.Linear(WIDTH, VOCABULARY, device="cuda")(layer(x)).sum().backward()
    for name in ("dp", "tp"):
        dist.all_reduce(x.detach(), group=mesh.get_group(name))
    return 0


def gloo(rank):
    dist.new_group(backend="gloo")
    return 0


def key(rank):
    torch.zeros(1, device="cuda")
    dist.distributed_c10d._get_default_store().wait(["what rank 1 says"])
    return 0


def fail(rank):
    torch.zeros(1 << 20, device="cuda")
    if rank == 7:
        raise ValueError("rank 7 is at fault")
    time.sleep(600)
    return 0


def large(rank):
    torch.zeros(1 << 20, device="cuda")
    if rank == 3:
        torch.empty(1 << 40, device="cuda")
    time.sleep(600)
    return 0


def ipc(rank):
    from torch.multiprocessing.reductions import reduce_tensor

    local = int(os.environ["LOCAL_RANK"])
    own = torch.tensor([rank + 5], device="cuda")
    handles = [None] * dist.get_world_size()
    dist.all_gather_object(handles, reduce_tensor(own))
    make, arguments = handles[(rank + 1) % len(handles)]
    dist.barrier()
    other = own if len(handles) == 1 else make(*arguments)
    assert other.device.index == (local + 1) % int(os.environ["LOCAL_WORLD_SIZE"]), other.device
    assert own.to(other.device).item() == rank + 5, own
    assert other.to(f"cuda:{local}").device.index == local
    assert torch.cuda.device_count() == int(os.environ["LOCAL_WORLD_SIZE"])
    dist.barrier()
    return 0


def split(rank):
    mesh = init_device_mesh("cuda", (2, 8), mesh_dim_names=("column", "row"))
    sums = []
    for group in (mesh["column"].get_group(), mesh["row"].get_group(), dist.new_group([0, 7, 8])):
        given = torch.tensor([rank + 1.0], device="cuda")
        dist.all_reduce(given, group=group)
        sums.append(str(given.item()))
    print(f"SUMS {rank} {' '.join(sums)}\n", end="", flush=True)
    return 0


def main():
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if sys.argv[1] == "split" else None
    dist.init_process_group("nccl", device_id=device)
    shard = globals()[sys.argv[1]](rank)
    print(f"FIGURES {rank} {shard} {torch.cuda.max_memory_allocated()}\n", end="", flush=True)
    dist.destroy_process_group()


main()
