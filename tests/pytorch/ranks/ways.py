"""Trains a small model for three steps, spread over ranks in one of the ways that PyTorch has.

  torchrun --nproc-per-node N ways.py WAY [OPTION...]

WAY is a function of this file. Each rank prints its figures as "rank R: NAME: BYTES".
"""
import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn

import model as spread
from model import Model, loss_of, tokens_on

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
LOCAL = int(os.environ["LOCAL_RANK"])
DEVICE = torch.device("cuda", LOCAL)
OPTIONS = set(sys.argv[2:])


def say(name, n_bytes):
    sys.stdout.write(f"rank {RANK}: {name}: {n_bytes}\n")  # one write: lines of ranks must not mix
    sys.stdout.flush()


def train(model, optimizer, n_steps=3):
    tokens = tokens_on(DEVICE)
    for _ in range(n_steps):
        loss = loss_of(model(tokens), tokens)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    loss.item()


def local_bytes(model):
    """Bytes of this rank's part of the parameters, as it holds them."""
    parts = [p.to_local() if hasattr(p, "to_local") else p for p in model.parameters()]
    return sum(part.nbytes for part in parts)


def ddp():
    from torch.nn.parallel import DistributedDataParallel

    made = Model("recompute" in OPTIONS).cuda()
    made = DistributedDataParallel(made, device_ids=[LOCAL], gradient_as_bucket_view="views" in OPTIONS)
    train(made, torch.optim.AdamW(made.parameters()))
    return made


def zero():
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.nn.parallel import DistributedDataParallel

    made = DistributedDataParallel(Model().cuda(), device_ids=[LOCAL])
    optimizer = ZeroRedundancyOptimizer(made.parameters(), optimizer_class=torch.optim.AdamW)
    train(made, optimizer)
    optimizer.consolidate_state_dict(to=0)
    return made


def fsdp1():
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    mixed = MixedPrecision(torch.bfloat16, torch.bfloat16, torch.bfloat16) if "mixed" in OPTIONS else None
    made = FullyShardedDataParallel(Model(), auto_wrap_policy=ModuleWrapPolicy({spread.Block}), mixed_precision=mixed,
                                    device_id=LOCAL, sync_module_states=True)
    train(made, torch.optim.AdamW(made.parameters()))
    made.clip_grad_norm_(1.0)
    return made


def shard(made, mesh=None):
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard

    given = {"reshard_after_forward": "keep" not in OPTIONS}
    if "mixed" in OPTIONS:
        given["mp_policy"] = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    if "offload" in OPTIONS:
        given["offload_policy"] = CPUOffloadPolicy()
    if mesh is not None:
        given["mesh"] = mesh
    for block in made.blocks:
        fully_shard(block, **given)
    return fully_shard(made, **given)


def fsdp2():
    home = "cpu" if "offload" in OPTIONS else DEVICE
    if "meta" in OPTIONS:
        with torch.device("meta"):
            made = Model("recompute" in OPTIONS)
        shard(made).to_empty(device=home)
    else:
        made = shard(Model("recompute" in OPTIONS).to(home))
    optimizer = torch.optim.AdamW(made.parameters())
    train(made, optimizer)
    if "save" in OPTIONS:
        save_and_load(made, optimizer)
    return made


def save_and_load(made, optimizer):
    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.checkpoint.state_dict import get_state_dict

    model_state, optimizer_state = get_state_dict(made, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state}
    checkpoint.save(state, checkpoint_id="checkpoint")
    checkpoint.load(state, checkpoint_id="checkpoint")


def split_layers(made, mesh):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    for block in made.blocks:
        plan = {name: ColwiseParallel() for name in ("query", "key", "value", "up")}
        parallelize_module(block, mesh, plan | {"out": RowwiseParallel(), "down": RowwiseParallel()})


def tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh

    made = Model().to(DEVICE)
    split_layers(made, init_device_mesh("cuda", (WORLD,)))
    train(made, torch.optim.AdamW(made.parameters(), foreach=False))
    return made


def tensor_and_fsdp():
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cuda", (WORLD // 2, 2), mesh_dim_names=("data", "tensor"))
    made = Model().to(DEVICE)
    split_layers(made, mesh["tensor"])
    shard(made, mesh["data"])
    train(made, torch.optim.AdamW(made.parameters()))
    return made


class Stage(nn.Module):
    """The blocks of one rank; the first has the embedding and the last the head."""

    def __init__(self, whole):
        super().__init__()
        n = spread.LAYERS // WORLD
        last = spread.LAYERS if RANK == WORLD - 1 else (RANK + 1) * n
        self.tokens = whole.tokens if RANK == 0 else None
        self.blocks = nn.ModuleList(whole.blocks[RANK * n : last])
        self.head = whole.head if RANK == WORLD - 1 else None

    def forward(self, x):
        x = self.tokens(x) if self.tokens is not None else x
        for block in self.blocks:
            x = block(x)
        return self.head(x) if self.head is not None else x


def known_shapes():
    """The inputs and outputs of a stage: ranks need not exchange them. Where one needs a gradient, PyTorch has it sent back."""
    n = spread.BATCH // 4
    tokens = torch.empty(n, spread.CONTEXT, dtype=torch.long, device="meta")
    between = torch.empty(n, spread.CONTEXT, spread.WIDTH, device="meta", requires_grad=True)
    logits = torch.empty(n, spread.CONTEXT, spread.VOCABULARY, device="meta", requires_grad=True)
    return {"input_args": (tokens if RANK == 0 else between,), "output_args": (logits if RANK == WORLD - 1 else between,)}


def pipeline():
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

    made = Stage(Model()).to(DEVICE)
    stage = PipelineStage(made, RANK, WORLD, DEVICE, **(known_shapes() if "known" in OPTIONS else {}))
    kind = Schedule1F1B if "1f1b" in OPTIONS else ScheduleGPipe
    schedule = kind(stage, 4, loss_fn=loss_of)
    optimizer = torch.optim.AdamW(made.parameters())
    tokens = tokens_on(DEVICE)
    for _ in range(3):
        given = [tokens] if RANK == 0 else []
        schedule.step(*given, **({"target": tokens, "losses": []} if RANK == WORLD - 1 else {}))
        optimizer.step()
        optimizer.zero_grad()
    return made


def context_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.experimental import context_parallel as spread_context

    mesh = init_device_mesh("cuda", (WORLD,))
    heads = [torch.randn(2, 8, 512, 64, device=DEVICE, dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
    with spread_context(mesh, buffers=[head.detach() for head in heads], buffer_seq_dims=[2, 2, 2]):
        nn.functional.scaled_dot_product_attention(*heads, is_causal=True).sum().backward()


def start():
    """PyTorch's "fake" backend has no other ranks, and its collectives do nothing."""
    if "fake" in OPTIONS:
        from torch.testing._internal.distributed.fake_pg import FakeStore

        dist.init_process_group("fake", store=FakeStore(), rank=RANK, world_size=WORLD)
        return
    backend = "cpu:gloo,cuda:nccl" if OPTIONS & {"offload", "save"} else "nccl"
    dist.init_process_group(backend, device_id=DEVICE if "eager" in OPTIONS else None)


def main():
    torch.cuda.set_device(LOCAL)
    start()
    made = globals()[sys.argv[1]]()
    torch.cuda.synchronize()
    dist.barrier()
    say("peak", torch.cuda.max_memory_allocated())
    if made is not None:
        say("parameters", local_bytes(made))
    dist.destroy_process_group()


main()
