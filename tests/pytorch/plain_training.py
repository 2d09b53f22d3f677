"""Trains the staff model on the card in the way that `tidemark forecast` describes, and prints the peaks as JSON.

  plain_training.py '[{"size": "small", "context": 128, ...}, ...]'

Each case has a process of its own, forked before CUDA is initialised, so that PyTorch is imported once. A case with
"history" writes every event of the allocator to that file.
"""
import json
import os
import sys

import torch

from staff_model import AdamW, SIZES, VOCABULARY, cross_entropy, make_model

CASTS_TO = {"bf16-mixed": torch.bfloat16, "fp16-mixed": torch.float16}  # in fp16 the loss is scaled


def make(case):
    """The model, its optimizer, tokens and targets, in this order."""
    size = case["size"] if case["size"] in SIZES else tuple(case[k] for k in ("d-model", "d-ff", "layers", "heads"))
    model = make_model(size, case["context"], case["edition"], n_tokens=case.get("vocab", VOCABULARY),
                       has_head=not case["no_head"])
    optimizer = AdamW(model.parameters(), case["edition"])
    shape = (case["batch"], case["context"])
    inputs, targets = (torch.zeros(shape, dtype=torch.int64).to("cuda") for _ in range(2))
    return model, optimizer, inputs, targets


def train(case):
    """Logits and loss stay alive until the next ones replace them; gradients end before the forward pass.

    Where a step is a forward pass alone, its logits end with it.
    """
    if "history" in case:
        torch.cuda.memory._record_memory_history(context=None, max_entries=10_000_000)
    model, optimizer, inputs, targets = make(case)
    casts_to = CASTS_TO.get(case["precision"])
    autocast = torch.autocast("cuda", dtype=casts_to or torch.bfloat16, enabled=casts_to is not None)
    scaler = torch.amp.GradScaler("cuda", enabled=casts_to is torch.float16)  # not enabled, it passes everything on
    for _ in range(case["steps"]):
        optimizer.zero_grad(set_to_none=True)
        if case["mode"] == "forward":
            with autocast, torch.set_grad_enabled(case["keep_graph"]):
                logits = model(inputs)
            del logits
            continue
        with autocast:
            logits = model(inputs)
            loss = cross_entropy(logits, targets)
        scaler.scale(loss).backward()
        if case["mode"] == "train":
            scaler.step(optimizer)
            scaler.update()
    torch.cuda.synchronize()
    if "history" in case:
        torch.cuda.memory._dump_snapshot(case["history"])
    return {"allocated_peak_bytes": torch.cuda.max_memory_allocated(),
            "reserved_peak_bytes": torch.cuda.max_memory_reserved()}


def main():
    for case in json.loads(sys.argv[1]):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            print(json.dumps(train(case)), flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            sys.exit(1)


if __name__ == "__main__":
    main()
