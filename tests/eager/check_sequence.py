#!/usr/bin/env python3
"""Compares a forecast of PyTorch with a real snapshot of the same step: the size of every allocation
and the allocation that every release ends, in order. Prints the first difference and exits 1.

check_sequence.py TIDEMARK OURS.json.gz THEIRS.pickle

The script reads both through `tidemark dump`. From ours it takes the events in the phases of the last
step, from the embedding's output on; from theirs it takes the whole file. On both sides it ignores
where the logits and the loss of the previous step end, because that depends on the loop around the
model.
"""
import argparse
import subprocess
import sys

PHASES = ("forward", "backward", "optimizer")

def rows(tidemark, path):
    text = subprocess.run([tidemark, "dump", path], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        _, _, action, _, address, requested, _, _, name, scope, frame = line.split("\t")[:11]
        if action in ("alloc", "free", "free_requested"):
            yield action[:4], address, int(requested), name, scope, frame


def last_step(rows):
    rows = list(rows)
    first = max(i for i, row in enumerate(rows) if row[0] == "allo" and row[3] == "embedded")
    return [row for row in rows[first:] if row[4].split(" > ")[0] in PHASES]


def sequence(rows, variables):
    """("alloc", size) and ("free", number of the allocation it ends, or "before" and its size)."""
    numbers = {}
    n = 0
    for action, address, size, name, scope, frame in rows:
        if action == "allo":
            numbers[address] = n
            n += 1
            yield ("alloc", size), (name, scope, frame)
        else:
            number = numbers.pop(address, None)
            if number is None and size in variables:
                continue
            yield ("free", ("before", size) if number is None else number), (name, scope, frame)


def show(label, item):
    if item is None:
        return f"  {label}: nothing more"
    (action, what), (name, scope, frame) = item
    return f"  {label}: {action} {what}  {name}  {scope}  {frame}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tidemark")
    parser.add_argument("ours")
    parser.add_argument("theirs")
    parser.add_argument("--context", type=int, default=4, help="rows before the difference to show")
    options = parser.parse_args()
    ours = last_step(rows(options.tidemark, options.ours))
    variables = {row[2] for row in ours if row[0] == "allo" and row[3] in ("logits", "loss")}
    mine = list(sequence(ours, variables))
    real = list(sequence(rows(options.tidemark, options.theirs), variables))
    n = min(len(mine), len(real))
    for i in range(n):
        if mine[i][0] != real[i][0]:
            break
    else:
        i = n
    if i == len(mine) == len(real):
        print(f"{n} rows are the same")
        return 0
    print(f"row {i} of {len(mine)} and {len(real)} differs:")
    for k in range(max(0, i - options.context), min(i + options.context, max(len(mine), len(real)))):
        print(f" {k}")
        print(show("forecast", mine[k] if k < len(mine) else None))
        print(show("PyTorch ", real[k] if k < len(real) else None))
    return 1


if __name__ == "__main__":
    sys.exit(main())
