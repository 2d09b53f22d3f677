#!/usr/bin/env python3
"""Times PyTorch's pickles in one or several builds of tidemark, in turns: summary, view, export --to pytorch-json.

  bench_pickle.py PROGRAM... [--rounds N] [--folder FOLDER]     (the made pickles stay in the folder)
"""
import argparse
import os
import statistics
import subprocess
import time

from make_pickle import write

EVENTS = {"large": 1_000_000, "small": 24_000}


def commands(folder):
    paths = {}
    for name, n_events in EVENTS.items():
        paths[name] = os.path.join(folder, f"{name}.pickle")
        if not os.path.exists(paths[name]):
            write(paths[name], n_events, 1)
    out = os.path.join(folder, "out")
    return {
        "summary": ["summary", paths["large"]],
        "view": ["view", paths["large"], "-o", f"{out}.html"],
        "pytorch-json": ["export", "--to", "pytorch-json", paths["small"], "-o", f"{out}.json"],
    }


def measured(command):
    """Wall clock and processor time in seconds, and the largest resident memory in MB."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)}: status {status}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--folder", default=".")
    given = parser.parse_args()
    for name, arguments in commands(given.folder).items():
        samples = {program: [] for program in given.programs}
        for _ in range(given.rounds):
            for program in given.programs:
                samples[program].append(measured([program, *arguments]))
        for program, rows in samples.items():
            wall, cpu, memory = zip(*rows)
            print(f"{name:13} {program}: wall {statistics.median(wall):.2f} s ({min(wall):.2f} to {max(wall):.2f}), "
                  f"processor {statistics.median(cpu):.2f} s, {statistics.median(memory):.0f} MB")


if __name__ == "__main__":
    main()
