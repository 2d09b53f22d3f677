"""The programs that recorded ../shared/pytorch-snapshots, as far as their files show: recorded_programs.py NAME FOLDER

Facts missing from a file were inferred from it and is noted at the program.
"""
import sys
from pathlib import Path

import torch

from staff_model import AdamW, VOCABULARY, cross_entropy, make_model

BATCH = 4


def tokens(context, *n_steps):
    return torch.randint(0, VOCABULARY, (*n_steps, BATCH, context)).to("cuda")


def start_recording():
    torch.cuda.memory._record_memory_history(max_entries=1000000)


def dump(path):
    torch.cuda.memory._dump_snapshot(str(path))
    torch.cuda.memory._record_memory_history(enabled=None)


def forward_at_three_lengths(folder, name, precision):
    """Edition 2025, 2.7B: one model in one process, contexts 128, 256 and 512; two steps before what is recorded.

    The recorded forward pass begins with a loss and logits of an earlier step alive and gradients dropped. The lists of
    blocks show the rest: the table for 512 positions is before all weights (so one model served all contexts), a step
    forward and backward follows each recording (or the next context would not find the freed blocks that it reuses),
    and the logits of a recorded pass die before the next step while those of other steps live on.
    """
    model = make_model("2.7B", 512, 2025)
    autocast = torch.autocast("cuda", dtype=torch.bfloat16, enabled=precision == "bf16")
    for context in (128, 256, 512):
        inputs, targets = tokens(context), tokens(context)
        for recorded in (False, False, True, False):
            if recorded:
                start_recording()
                with autocast:
                    logits = model(inputs)
                dump(folder / f"{name}_ctx{context}_forward.pickle")
                del logits
                continue
            with autocast:
                logits = model(inputs)
                loss = cross_entropy(logits, targets)
            loss.backward()
            model.zero_grad(set_to_none=True)


def training(folder, name, size, context, n_warmup=5):
    """Edition 2026: full steps with AdamW; the file holds batches for five steps, and one more that is recorded."""
    model = make_model(size, context, 2026)
    optimizer = AdamW(model.parameters(), 2026)
    warmup_inputs, inputs = tokens(context, n_warmup), tokens(context)
    warmup_targets, targets = tokens(context, n_warmup), tokens(context)
    for i in range(n_warmup):
        optimizer.zero_grad(set_to_none=True)
        logits = model(warmup_inputs[i])
        loss = cross_entropy(logits, warmup_targets[i])
        loss.backward()
        optimizer.step()
        del logits, loss
    optimizer.zero_grad(set_to_none=True)
    start_recording()
    logits = model(inputs)
    loss = cross_entropy(logits, targets)
    loss.backward()
    optimizer.step()
    dump(folder / f"{name}.pickle")


PROGRAMS = {
    "2.7B_fp32_forward": lambda folder: forward_at_three_lengths(folder, "2.7B_fp32", "fp32"),
    "2.7B_bf16_forward": lambda folder: forward_at_three_lengths(folder, "2.7B_bf16", "bf16"),
    "medium_fp32_ctx128_training": lambda folder: training(folder, "medium_fp32_ctx128_training", "medium", 128),
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](Path(sys.argv[2]))
