"""Compares `tidemark study accumulation` with PyTorch: the sums with torch's on the CPU, the types under autocast with
those of the same small model on a virtual card.

    check_accumulation.py --tidemark PROGRAM        (run by a Python that has PyTorch)
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import torch

TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
NAMES = {str(type_): name for name, type_ in TYPES.items()}


def sum_of(sum_type, term_type, how):
    """The sum as the assignment's handout computes it."""
    total = torch.tensor(0, dtype=TYPES[sum_type])
    term = torch.tensor(0.01, dtype=TYPES[term_type])
    for _ in range(1000):
        total += term.type(TYPES[sum_type]) if how and how.startswith("converted") else term
    return total.item()


class Small(torch.nn.Module):
    """The handout's model."""

    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(8, 10, bias=False)
        self.ln = torch.nn.LayerNorm(10)
        self.fc2 = torch.nn.Linear(10, 4, bias=False)

    def forward(self, x):
        seen = {"parameters of the model": self.fc1.weight.dtype}
        x = self.fc1(x)
        seen["output of the first layer, fc1"] = x.dtype
        x = torch.relu(x)
        seen["output of the activation"] = x.dtype
        x = self.ln(x)
        seen["output of the norm, ln"] = x.dtype
        x = self.fc2(x)
        seen["logits, the output of fc2"] = x.dtype
        return x, seen


def print_types():
    """What the program on the virtual card prints: {type: {part: type}} as JSON."""
    found = {}
    for name in ("fp16", "bf16"):
        model = Small().cuda()
        with torch.autocast("cuda", dtype=TYPES[name]):
            logits, seen = model(torch.randn(2, 8, device="cuda"))
            loss = torch.nn.functional.cross_entropy(logits, torch.zeros(2, dtype=torch.long, device="cuda"))
        seen["loss"] = loss.dtype
        loss.backward()
        seen["gradients of the parameters"] = model.fc1.weight.grad.dtype
        found[name] = {part: NAMES[str(type_)] for part, type_ in seen.items()}
    print("types: " + json.dumps(found))


def types_on_a_virtual_card(tidemark):
    tidemark = os.path.abspath(tidemark)
    with tempfile.TemporaryDirectory() as folder:
        snapshot = os.path.join(folder, "types.json.gz")
        command = [tidemark, "run", "--device", "virtual:h100-80", "-o", snapshot]
        command += ["--", sys.executable, "-B", os.path.abspath(__file__), "--types"]
        printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    line = next(line for line in printed.splitlines() if line.startswith("types: "))
    return json.loads(line.removeprefix("types: "))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tidemark")
    options.add_argument("--types", action="store_true")
    given = options.parse_args()
    if given.types:
        print_types()
        return 0
    report = subprocess.run([given.tidemark, "study", "accumulation", "--format", "json"], check=True, capture_output=True)
    tables = json.loads(report.stdout)["tables"]
    types = types_on_a_virtual_card(given.tidemark)
    n_wrong = 0
    for row in tables["sums"]["rows"]:
        expected = sum_of(row["sum_type"], row["term_type"], row["how"])
        n_wrong += abs(row["sum"] - expected) > 5e-7  # half of the last digit that the report prints
        print(f"{row['sum_type']} of {row['term_type']}: {row['sum']:.6f}, torch {expected:.6f}")
    for row in tables["autocast"]["rows"]:
        for name in ("fp16", "bf16"):
            expected = types[name][row["part"]]
            n_wrong += row[name] != expected
            print(f"{row['part']} under {name}: {row[name]}, torch {expected}")
    print(f"accumulation: {n_wrong} differences")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
