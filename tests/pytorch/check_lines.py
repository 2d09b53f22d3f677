#!/usr/bin/env python3
"""Checks which line `tidemark run` and `tidemark explain` name, and the retries that they count.

    python3 tests/pytorch/check_lines.py --tidemark TIDEMARK --python PYTHON
"""
import gzip
import json
import re
import subprocess
import sys

import program_checks
import same_answer

RETRIES = """
import torch
def full(i, share): return torch.empty((share << 29) + (i << 27), dtype=torch.uint8, device="cuda")
keep = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(70)]
for i in range(5):
    for share in (3, 5, 7):
        a = full(i, share); del a
print("retries:", torch.cuda.memory_stats()["num_alloc_retries"])
"""
EMPTIED = """
import torch
for i in range(6):
    a = torch.empty((3 << 29) + (i << 27), dtype=torch.uint8, device="cuda"); del a
    torch.cuda.empty_cache(); b = torch.empty((5 << 29) + (i << 27), dtype=torch.uint8, device="cuda"); del b
print("retries:", torch.cuda.memory_stats()["num_alloc_retries"])
"""
# PyTorch 2.14 calls a router in Python for some products, also in threads of autograd.
ROUTER = """
import torch
x = torch.randn(2, 8, 64, 64, device="cuda", requires_grad=True)
y = torch.nn.functional.interpolate(x, scale_factor=2)
y = torch.bmm(y.flatten(2), y.flatten(2).transpose(1, 2)); y.sum().backward()
"""
# The sentence of a cause quotes the line.
LEAK = """
import torch
net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(6)]).cuda()
kept = []
for i in range(8):
    x = torch.randn(4096, 1024, device="cuda")
    kept.append(net(x).sum())
"""
# Nothing that is made in inference mode has a graph, however many tensors of a pass are kept.
INFERENCE = """
import torch
net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda().bfloat16()
kept = []
with torch.inference_mode():
    for i in range(10):
        x = torch.randn(4096, 1024, device="cuda", dtype=torch.bfloat16)
        h = net[0](x)
        kept.append((x, h, net[2](net[1](h))))
"""
# name -> (program, options)
PROGRAMS = {
    "retries": (RETRIES, []),
    "emptied": (EMPTIED, []),
    "router": (ROUTER, []),
    "both": (ROUTER, ["--stacks", "both"]),
    "quoted": (LEAK, []),
    "inference": (INFERENCE, []),
}


EXPECTED = {
    "quoted": "quoted.py:7, `kept.append(net(x).sum())`. It runs the model forward with gradients enabled and never",
    "inference": "Results are collected on the card, not graphs: gradients are disabled there.",
}
TYPES = {"quoted": {"float32": 6 * 1025 * 4096}, "inference": {"bfloat16": 4 * 1025 * 2048}}


def types(path):
    with gzip.open(path) as file:
        return {row["name"]: row["bytes"] for row in json.load(file)["parameter_types"]}


def count(text):
    found = re.search(r"at the card's limit, (\d+) retr", text, re.IGNORECASE)
    return int(found.group(1)) if found else 0


def check(name, tidemark, python, folder):
    program, options = PROGRAMS[name]
    (folder / f"{name}.py").write_text(program)
    done = subprocess.run([tidemark, "run", "--device", "virtual:h100-80", "-o", f"{name}.json.gz", *options, "--",
                           python, f"{name}.py"], cwd=folder, capture_output=True, text=True, check=False)
    explained = subprocess.run([tidemark, "explain", f"{name}.json.gz"], cwd=folder, capture_output=True, text=True,
                               check=False).stdout
    said = done.stdout + done.stderr
    faults = []
    theirs = re.search(r"retries: (\d+)", said)
    expected = int(theirs.group(1)) if theirs else 0
    if (name == "retries") != (expected > 0):
        faults.append(f"PyTorch counts {expected} retries")
    for who, text in (("run", said), ("explain", explained)):
        if count(text) != expected:
            faults.append(f"{who} counts {count(text)} retries, PyTorch {expected}")
    line = re.search(r"tidemark run: ((?:The|All of the|Nearly all of the) peak, .*)", said)
    faults += same_answer.differences(tidemark, done.stderr, [folder / f"{name}.json.gz"])
    if line is None or f"{name}.py" not in line.group(1):
        faults.append(f"the line is {line.group(1) if line else None}")
    for who, text in (("run", said), ("explain", explained)):
        if EXPECTED.get(name, "") not in text:
            faults.append(f"{who} does not say '{EXPECTED[name]}': {text.strip()}")
    if name in TYPES and types(folder / f"{name}.json.gz") != TYPES[name]:
        faults.append(f"the types of parameters are {types(folder / f'{name}.json.gz')}")
    for wrong in ("_ZN", "eager_router", "c10::cuda", "tidemark/"):
        if wrong in explained or wrong in (line.group(1) if line else ""):
            faults.append(f"'{wrong}' is named: {explained.strip()}")
    if done.returncode != 0 or explained == "":
        faults.append(f"status {done.returncode}: {said}")
    return program_checks.report(name, faults)


if __name__ == "__main__":
    sys.exit(program_checks.main(__doc__, PROGRAMS, check, "lines and retries"))
