"""Steps of GPT-2 small (batch 8 of 512 tokens, float32, AdamW), timed: virtual_card_steps.py N_WARM N

Prints "warm" after the first steps and then the seconds of each step, so that a program that watches can begin there.
"""
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "pytorch" / "zoo"))
from gpt2 import GPT2  # noqa: E402


def main():
    n_warm, n_steps = map(int, sys.argv[1:])
    with torch.device("cuda"):
        model = GPT2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step in range(n_warm + n_steps):
        if step == n_warm:
            print("warm", flush=True)
        started = time.perf_counter()
        tokens, targets = torch.randint(0, 50257, (2, 8, 512)).cuda()
        loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
        if step >= n_warm:
            print(f"step {time.perf_counter() - started:.6f}", flush=True)


main()
