"""Trains the small model for three steps with the packages that people spread models with.

  torchrun --nproc-per-node N packages.py WAY [OPTION...]

WAY is a function of this file. Each rank prints its figures as "rank R: NAME: BYTES".
"""
import os
import sys

import torch
import torch.distributed as dist

import model as spread
from model import Model, loss_of, tokens_on

RANK, WORLD, LOCAL = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
DEVICE = torch.device("cuda", LOCAL)
OPTIONS = sys.argv[2:]


def say(name, n_bytes):
    sys.stdout.write(f"rank {RANK}: {name}: {n_bytes}\n")  # one write: lines of ranks must not mix
    sys.stdout.flush()


def accelerate():
    from accelerate import Accelerator

    accelerator = Accelerator(mixed_precision="bf16")
    made = Model()
    made, optimizer = accelerator.prepare(made, torch.optim.AdamW(made.parameters()))
    tokens = tokens_on(accelerator.device)
    for _ in range(3):
        loss = loss_of(made(tokens), tokens)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(made.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    ranks = accelerator.gather(torch.tensor([RANK], device=accelerator.device))
    assert ranks.tolist() == list(range(WORLD)), ranks
    return sum(p.nbytes for p in made.parameters())


def deepspeed():
    import deepspeed as ds

    stage = int(OPTIONS[0])
    config = {
        "train_micro_batch_size_per_gpu": spread.BATCH,
        "bf16": {"enabled": True},
        "gradient_clipping": 1.0,
        "zero_optimization": {"stage": stage},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
    }
    engine, *_ = ds.initialize(model=Model(), config=config)
    tokens = tokens_on(DEVICE)
    for _ in range(3):
        engine.backward(loss_of(engine(tokens), tokens))
        engine.step()
    if stage == 3:
        return sum(p.ds_tensor.nbytes for p in engine.module.parameters())
    return sum(p.nbytes for p in engine.module.parameters())


def megatron():
    from megatron.core import parallel_state, tensor_parallel
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.transformer.transformer_config import TransformerConfig

    parallel_state.initialize_model_parallel(tensor_model_parallel_size=WORLD)
    tensor_parallel.model_parallel_cuda_manual_seed(1)
    config = TransformerConfig(num_layers=spread.LAYERS, hidden_size=spread.WIDTH, num_attention_heads=spread.HEADS,
                               tensor_model_parallel_size=WORLD)
    made = GPTModel(config, get_gpt_layer_local_spec(), vocab_size=spread.VOCABULARY, max_sequence_length=spread.CONTEXT).cuda()
    optimizer = torch.optim.AdamW(made.parameters())
    tokens = tokens_on(DEVICE)
    positions = torch.arange(spread.CONTEXT, device=DEVICE).expand_as(tokens)
    mask = torch.ones(1, 1, spread.CONTEXT, spread.CONTEXT, device=DEVICE).triu(1).bool()
    for _ in range(3):
        made(tokens, positions, mask, labels=tokens).float().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return sum(p.nbytes for p in made.parameters())


def main():
    torch.cuda.set_device(LOCAL)
    if sys.argv[1] == "megatron":
        dist.init_process_group("nccl")
    n_bytes = globals()[sys.argv[1]]()
    dist.barrier()
    say("parameters", n_bytes)
    say("peak", torch.cuda.max_memory_allocated())
    dist.destroy_process_group()


main()
