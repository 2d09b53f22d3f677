"""A program that reads what collectives give: every value must be right, as between real cards.

Run by torchrun on virtual cards, with any number of ranks from 2 on. It ends with status 1 and names
the first value that is wrong.
"""
import os

import torch
import torch.distributed as dist

LONG = list(range(300_000))  # pickled, more than 1 MiB
LARGE = 80 << 20  # bytes of an object, as when a rank sends an optimizer's state


def same(what, got, wanted):
    assert got == wanted, f"rank {dist.get_rank()}: {what}: {got}, not {wanted}"


def tensor(values, dtype=None):
    return torch.tensor(values, device="cuda", dtype=dtype)


def reductions(rank, world):
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8):
        given = tensor([rank + 1, 2], dtype)
        dist.all_reduce(given)
        same(f"all_reduce of {dtype}", given.tolist(), [world * (world + 1) / 2, 2 * world])
    for operation, wanted in (("MAX", world - 1), ("MIN", 0), ("AVG", (world - 1) / 2), ("PRODUCT", 0)):
        given = tensor([float(rank)])
        dist.all_reduce(given, op=getattr(dist.ReduceOp, operation))
        same(f"all_reduce {operation}", given.item(), wanted)
    ones = torch.ones(3, device="cuda")
    dist.all_reduce(ones)
    same("all_reduce of ones", ones.tolist(), [world] * 3)
    given = tensor([rank])
    dist.reduce(given, dst=world - 1)
    if rank == world - 1:
        same("reduce", given.item(), world * (world - 1) // 2)
    part = torch.empty(1, dtype=torch.long, device="cuda")
    dist.reduce_scatter_tensor(part, tensor([i * 10 for i in range(world)]))
    same("reduce_scatter", part.item(), rank * 10 * world)


def exchanges(rank, world):
    all_ranks = torch.empty(world, dtype=torch.long, device="cuda")
    dist.all_gather_into_tensor(all_ranks, tensor([rank]))
    same("all_gather_into_tensor", all_ranks.tolist(), list(range(world)))
    parts = [torch.empty(2, dtype=torch.long, device="cuda") for _ in range(world)]
    dist.all_gather(parts, tensor([rank, -rank]))
    same("all_gather", [part.tolist() for part in parts], [[i, -i] for i in range(world)])
    got = torch.empty(world, dtype=torch.long, device="cuda")
    dist.all_to_all_single(got, tensor([10 * rank + i for i in range(world)]))
    same("all_to_all_single", got.tolist(), [10 * i + rank for i in range(world)])
    given = tensor([rank + 7])
    dist.broadcast(given, src=1)
    same("broadcast", given.item(), 8)
    chained = tensor([rank])  # the second reads what the first has promised
    dist.broadcast(chained, src=1)
    dist.all_reduce(chained)
    same("a chain", chained.item(), world)
    voted = tensor([rank + 1])
    dist.broadcast(voted, src=1)
    same("an operator on what another rank gave", (voted * tensor([10])).sum().item(), 20)
    if rank == 0:
        dist.send(tensor([42]), 1)
    elif rank == 1:
        got = torch.zeros(1, dtype=torch.long, device="cuda")
        dist.recv(got, 0)
        same("recv", got.item(), 42)
    dist.barrier()


def objects(rank, world):
    got = [None] * world
    dist.all_gather_object(got, {"rank": rank, "pad": "x" * (rank * 50)})
    same("all_gather_object", [(one["rank"], len(one["pad"])) for one in got], [(i, 50 * i) for i in range(world)])
    given = [{"seed": 17}, "two", LONG] if rank == 0 else [None] * 3
    dist.broadcast_object_list(given, src=0)
    same("broadcast_object_list", given, [{"seed": 17}, "two", LONG])
    given = ["z" * LARGE] if rank == 0 else [None]
    dist.broadcast_object_list(given, src=0)
    same("the length of a large object", len(given[0]), LARGE)
    got = [None] * world if rank == 0 else None
    dist.gather_object("y" * (rank + 1), got, dst=0)
    if rank == 0:
        same("gather_object", got, ["y" * (i + 1) for i in range(world)])
    got = [None]
    dist.scatter_object_list(got, [f"for {'rank' * i} {i}" for i in range(world)] if rank == 0 else None, src=0)
    same("scatter_object_list", got, [f"for {'rank' * rank} {rank}"])
    if rank == 0 and hasattr(dist, "send_object_list"):
        dist.send_object_list(["hello", 3, (None,)], dst=1)
    elif rank == 1 and hasattr(dist, "recv_object_list"):
        got = [None] * 3
        dist.recv_object_list(got, src=0)
        same("recv_object_list", got, ["hello", 3, (None,)])


def groups(rank, world):
    pair = dist.new_group([0, 1])
    if rank < 2:
        given = tensor([rank + 5])
        dist.all_reduce(given, group=pair)
        same("all_reduce of a group", given.item(), 11)
    evens = dist.new_group(range(0, world, 2))
    if rank % 2 == 0:
        got = [None] * dist.get_world_size(evens)
        dist.all_gather_object(got, rank, group=evens)
        same("all_gather_object of a group", got, list(range(0, world, 2)))


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=device if os.environ.get("EAGER") else None)
    rank, world = dist.get_rank(), dist.get_world_size()
    for part in (reductions, exchanges, objects, groups):
        part(rank, world)
    dist.barrier()
    print(f"rank {rank} of {world}: every value is right", flush=True)
    dist.destroy_process_group()


main()
