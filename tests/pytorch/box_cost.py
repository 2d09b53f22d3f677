#!/usr/bin/env python3
"""What a black box costs a training step: box_cost.py TIDEMARK PYTHON [--rounds N] [--steps N] [--most PERCENT]

A step of GPT-2 small (tests/pytorch/live_cost.py) on a virtual card, whose kernels do nothing, so that a step is nothing but
processor time: user and system time of the whole process, by rusage. Whole processes run in turns, without and with what `tidemark env`
prints; the first steps of each are not measured. Compared is the median of the steps. --most: fails above it.
"""
import argparse
import os
import statistics
import subprocess
import sys

from live_runs import CARD, Folder, Runs

STEP = """
import os, resource, statistics, sys
sys.path.insert(0, os.environ["HERE"])
import torch, torch.nn as nn
from live_cost import BATCH, CONTEXT, WORDS, Transformer
net = Transformer().cuda()
optimizer = torch.optim.AdamW(net.parameters())
def used():
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime
def step():
    x = torch.randint(0, WORDS, (BATCH, CONTEXT), device="cuda")
    loss = nn.functional.cross_entropy(net(x).view(-1, WORDS), x.view(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
def deep(n, act):  # a trainer's own calls: stacks of about 16 frames
    return act() if n == 0 else deep(n - 1, act)
times = []
for i in range(10 + int(os.environ["STEPS"])):
    begin = used()
    deep(8, step)
    torch.cuda.synchronize()
    times.append((used() - begin) * 1e3)
print(*times[10:], flush=True)
import time
time.sleep(0.5)  # PyTorch's own thread for the backward pass may abort a process that ends immediately after one
"""
WAYS = {"without": None, "events alone": "--stacks none", "python (the default)": ""}


def steps_of(runs, options, n_steps):
    """ms of processor time of each step of one process."""
    folder = Folder()
    program = folder.write("program.py", STEP)
    library = os.path.join(runs.objects, "libtidemark_virtual_cuda.so")
    links = os.path.join(folder.top, "links")
    os.mkdir(links)
    for name in ("libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"):
        os.symlink(library, os.path.join(links, name))
    card = dict(TIDEMARK_VIRTUAL_CARDS=CARD, LD_LIBRARY_PATH=links, LD_PRELOAD=library, STEPS=str(n_steps),
                HERE=os.path.dirname(os.path.abspath(__file__)))
    begin = "" if options is None else f'eval "$({runs.tidemark} env --on-oom oom {options})"; '
    done = subprocess.run(["sh", "-c", f"{begin}exec {runs.python} -B {program}"], env=folder.environment(**card), cwd=folder.work,
                          capture_output=True, text=True, check=True)
    return list(map(float, done.stdout.split()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tidemark")
    parser.add_argument("python")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--most", type=float)
    given = parser.parse_args()
    runs = Runs(given.tidemark, given.python)
    times = {way: [] for way in WAYS}
    for _ in range(given.rounds):
        for way, options in WAYS.items():
            times[way] += steps_of(runs, options, given.steps)
    base = statistics.median(times["without"])
    more = {}
    for way, found in times.items():
        quartiles = statistics.quantiles(found, n=4)
        more[way] = 100 * (statistics.median(found) / base - 1)
        print(f"{way:22} {statistics.median(found):7.2f} ms ({quartiles[0]:.2f} to {quartiles[2]:.2f})  {more[way]:+5.1f} %  "
              f"fastest {min(found):.2f} ms")
    worst = more["python (the default)"]
    if given.most is not None and worst > given.most:
        print(f"a black box costs {worst:.1f} %, and not at most {given.most} %")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
