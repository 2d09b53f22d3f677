"""torchao's benchmarks of optimizers and of training with quantised weights: a vision transformer of timm, and Llama 2 of 1B.

  torchao_runs.py ROWS

ROWS: rows of one configuration. Weights and inputs are made.
"""
import os
import re
import sys
import time
import traceback
from functools import partial
from pathlib import Path

import torch

from unused import pretend

pretend("datasets")

STEPS, CLASSES = 5, 45
TOKENS = 580_000_000  # of TinyStories, which is on the card as 16-bit numbers: assumed
OTHERS = {"470M": dict(n_layer=24, n_head=16, dim=1024, intermediate_size=4096), "1B": dict(n_layer=24, n_head=24, dim=1536, intermediate_size=6144)}


def optimizer_of(text: str):
    from torchao import optim
    if "bnb" in text:
        import bitsandbytes
        return bitsandbytes.optim.AdamW8bit
    if "ao 8-bit" in text:
        return optim.AdamW8bit
    if "ao 4-bit" in text:
        return optim.AdamW4bit
    if "ao fp8" in text:
        return optim.AdamWFp8
    whole = partial(torch.optim.AdamW, fused=True)
    if "offload" not in text or "no offload" in text:
        return whole
    gradients = {"offload_gradients": True} if "offload gradients" in text or "offload (gradients" in text else {}
    return partial(optim.CPUOffloadOptimizer, optimizer_class=whole, **gradients)


def timed(step, count: int = STEPS) -> float:
    """Seconds of a step: the least, after two that are not measured."""
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return min(times[2:])


def vision(text: str) -> dict:
    """benchmarks/benchmark_low_bit_adam.py."""
    import timm
    giant = "giant" in text or text.startswith("same")
    found = re.search(r"bs ?(\d+)", text)
    batch = int(found.group(1)) if found else 32 if giant else 8
    half = giant or "full bf16" in text
    name, more = ("vit_giant_patch14_dinov2.lvd142m", {"img_size": 224}) if giant else ("vit_huge_patch14_224.orig_in21k", {})
    linspace = torch.linspace
    torch.linspace = lambda *args, **named: linspace(*args, **(named | {"device": "cpu"}))  # timm reads its values
    with torch.device("meta"):
        model = timm.create_model(name, pretrained=False, num_classes=CLASSES, **more)
    if half:
        model.bfloat16()
    if giant:
        model.set_grad_checkpointing()
    model.to_empty(device="cuda").train()
    if "compiled" in text or not giant:
        model.compile(fullgraph=True)
    optimizer = optimizer_of(text)(model.parameters(), lr=1e-4, weight_decay=0)

    def step():
        images = torch.zeros(batch, 3, 224, 224, dtype=torch.bfloat16 if half else torch.float32).cuda()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=not half):
            loss = torch.nn.functional.cross_entropy(model(images), torch.zeros(batch, dtype=torch.long).cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    seconds = timed(step)
    memory = (f"{torch.cuda.max_memory_allocated() / 1e9:.6g}", "GB")
    return {"peak allocated": memory, "max memory": memory, "imgs/s": (f"{batch / seconds:.6g}", "img/s"), "s/iteration": (f"{seconds:.6g}", "s")}


def pretrain(text: str) -> dict:
    """benchmarks/quantized_training/pretrain_llama2.py with --bf16_model --activation_checkpointing."""
    from torch.utils.checkpoint import checkpoint
    from torchao import optim, quantize_
    from torchao._models.llama.model import ModelArgs, Transformer, transformer_configs
    from torchao.prototype.quantized_training import int8_mixed_precision_training, int8_weight_only_quantized_training
    transformer_configs.update(OTHERS)
    config = ModelArgs.from_name(next((name for name in OTHERS if name.lower() in text), "1B"))
    batch, length = 4, 2048
    config.block_size = length
    with torch.device("meta"):
        model = Transformer(config)
    model.bfloat16().to_empty(device="cuda")
    with torch.device("cuda"):
        model.setup_caches(batch, length, training=True)
    for layer in model.layers:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)
    if "mixed" in text:
        quantize_(model.layers, int8_mixed_precision_training())
    elif "int8" in text:
        quantize_(model, int8_weight_only_quantized_training())
    torch.cuda.reset_peak_memory_stats()
    optimizer = optim._AdamW(model.parameters(), lr=3e-4, weight_decay=1e-2)
    tokens = torch.zeros(TOKENS, dtype=torch.uint16, device="cuda")

    def loss_of(model, rows):
        logits = model(rows)[:, :-1].float().flatten(0, 1)
        return torch.nn.functional.cross_entropy(logits, rows[:, 1:].flatten())

    loss_of = torch.compile(loss_of) if "compile" in text else loss_of
    model.train()

    def step():
        rows = tokens[:batch * length].view(batch, length).long()
        loss_of(model, rows).backward()
        optimizer.step()
        optimizer.zero_grad()

    seconds = timed(step)
    return {"peak memory": (f"{torch.cuda.max_memory_allocated() / 1e9:.6g}", "GB"), "tokens/s": (f"{batch * length / seconds:.6g}", "tok/s")}


def not_here(text: str) -> str:
    names = {"lpmm": "the package of lpmm's optimizers", "deepspeed": "DeepSpeed's optimizer on the host"}
    return next((f"{what} is not run" for word, what in names.items() if word in text), "")


def main() -> None:
    lines = [line.split("\t") for line in Path(sys.argv[1]).read_text().splitlines()]
    _, program, config, _, _, _ = lines[0]
    text = config.lower()
    why = not_here(text)
    try:
        found = {"": ("FAILED", why)} if why else pretrain(text) if "pretrain" in program else vision(text)
    except Exception as error:  # a row needs an answer
        traceback.print_exc()
        found = {"": ("FAILED", f"{type(error).__name__}: {' '.join(str(error).split())[:150]}")}
    for key, _, _, _, what, _ in lines if os.environ.get("RANK", "0") == "0" else ():
        print("ROW", key, what, *found.get(what, found.get("", ("FAILED", "it does not say this"))), sep="\t", flush=True)


if __name__ == "__main__":
    main()
