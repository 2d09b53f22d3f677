"""Llama-3.2-3B in bf16, batch 2, 4,096 tokens, fused AdamW: the table of torchtune's README in which each row adds one technique.

  torchtune_ladder.py ROWS

ROWS: rows of one configuration. The model is transformers' Llama of the same shape; torch.compile is left out.
"""
import os
import sys
import time
from pathlib import Path

import torch

os.environ["HF_HUB_OFFLINE"] = "1"
import transformers  # noqa: E402

B, T, STEPS, CHUNKS = 2, 4096, 4, 8
# A word of the row's name, and the techniques that it has by then.
LADDER = (("packed", ()), ("compile", ()), ("chunk", ("chunks",)), ("checkpoint", ("chunks", "checkpoint")), ("fuse", ("chunks", "checkpoint")),
          ("backward", ("chunks", "checkpoint", "backward")), ("offload", ("chunks", "checkpoint", "backward", "offload")))


def model_on_card():
    config = transformers.LlamaConfig(hidden_size=3072, intermediate_size=8192, num_hidden_layers=28, num_attention_heads=24, num_key_value_heads=8,
                                      vocab_size=128256, tie_word_embeddings=True, max_position_embeddings=131072, torch_dtype=torch.bfloat16)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, torch_dtype=torch.bfloat16, attn_implementation="sdpa")
    model.to_empty(device="cuda")
    model.tie_weights()
    return model


def loss_of(model, tokens, chunked: bool):
    """With chunks, the logits are made at once but go to fp32 one chunk after the other, as torchtune's CEWithChunkedOutputLoss does."""
    hidden = model.model(tokens, use_cache=False).last_hidden_state
    if not chunked:
        logits = model.lm_head(hidden).float()
        return torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), tokens.view(-1))
    parts = [model.lm_head(part) for part in hidden.chunk(CHUNKS, dim=1)]
    losses = [torch.nn.functional.cross_entropy(part.float().reshape(-1, part.shape[-1]), row.reshape(-1), reduction="sum")
              for part, row in zip(parts, tokens.chunk(CHUNKS, dim=1))]
    return torch.stack(losses).sum() / tokens.numel()


def step_in_backward(model) -> None:
    """An optimizer for each parameter, which steps and frees the gradient as soon as it is complete."""
    optimizers = {parameter: torch.optim.AdamW([parameter], lr=2e-5, fused=True) for parameter in model.parameters()}

    def step(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step)


def train(techniques: tuple) -> dict:
    model, times = model_on_card().train(), []
    if "checkpoint" in techniques:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    optimizer = None
    if "backward" in techniques:
        step_in_backward(model)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, fused=True)
    kept = torch.autograd.graph.save_on_cpu(pin_memory=True) if "offload" in techniques else torch.enable_grad()
    for _ in range(STEPS):
        tokens = torch.zeros(B, T, dtype=torch.long, device="cuda")
        with kept:
            loss = loss_of(model, tokens, "chunks" in techniques)
        loss.backward()
        if optimizer:
            optimizer.step()
            optimizer.zero_grad()
        torch.cuda.synchronize()
        times.append(time.perf_counter())
    step = min(b - a for a, b in zip(times[1:], times[2:]))
    return {"peak active": (torch.cuda.memory_stats()["active_bytes.all.peak"] / 2**30, "GiB"), "tokens/s": (B * T / step, "tok/s")}


def main() -> None:
    lines = [line.split("\t") for line in Path(sys.argv[1]).read_text().splitlines()]
    techniques = next((techniques for word, techniques in LADDER if word in lines[0][2].lower()), None)
    found = {} if techniques is None else train(techniques)
    for key, _, _, _, what, _ in lines:
        print("ROW", key, what, *found.get(what, ("FAILED", "it is not written yet")), sep="\t", flush=True)


if __name__ == "__main__":
    main()
