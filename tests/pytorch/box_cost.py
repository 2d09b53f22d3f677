#!/usr/bin/env python3
"""What a black box costs a training step: box_cost.py TIDEMARK PYTHON [--turns N] [--starts N] [--most PERCENT]

A step of GPT-2 small (tests/pytorch/live_cost.py) on a virtual card, whose kernels do nothing, so a step is nothing but processor
time: user and system time of the whole process, by rusage. One process for each way runs with what `tidemark env` prints, or without.
Each first makes so many steps that its ring is full, which it is for the rest of a job. Then they take turns of some steps, so all
of them see the same machine. Each turn is compared with that of the process without a black box, and the median of these counts. A
second process without one shows the error. --starts: processes of a few steps, with and without, for the cost of the start and the
end. --most: fails above it.
"""
import argparse
import os
import random
import statistics
import subprocess
import sys

from live_runs import CARD, Folder, Runs

STEP = """
import os, resource, sys
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
if os.environ["PAUSED"] == "1":
    import ctypes
    ctypes.CDLL(None).tidemark_live_pause(1, 0)
for line in sys.stdin:
    begin = used()
    for i in range(int(line)):
        deep(8, step)
    torch.cuda.synchronize()
    print((used() - begin) * 1e3 / int(line), flush=True)
import time
time.sleep(0.5)  # PyTorch's own thread for the backward pass may abort a process that ends immediately after one
"""
WAYS = {"without": None, "without, again": None, "attached, not recording": "", "events alone": "--stacks none",
        "python (the default)": "", "python, ring in memory": "--ring /dev/shm/tidemark-cost"}
WARM_UP = 340  # 64 MiB hold about 330 steps
TURN = 3
FEW_STEPS = 10


def start(runs, folder, options, is_paused):
    """A process that makes a step for each line of its input."""
    program = folder.write("program.py", STEP)
    library = os.path.join(runs.objects, "libtidemark_virtual_cuda.so")
    links = os.path.join(folder.top, "links")
    os.mkdir(links)
    for name in ("libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"):
        os.symlink(library, os.path.join(links, name))
    card = dict(TIDEMARK_VIRTUAL_CARDS=CARD, LD_LIBRARY_PATH=links, LD_PRELOAD=library, PAUSED=str(int(is_paused)),
                HERE=os.path.dirname(os.path.abspath(__file__)))
    begin = "" if options is None else f'eval "$({runs.tidemark} env --on-oom oom {options})"; '
    return subprocess.Popen(["sh", "-c", f"{begin}exec {runs.python} -B {program}"], env=folder.environment(**card), cwd=folder.work,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def steps_of(process, n):
    """ms of processor time a step."""
    process.stdin.write(f"{n}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def whole(runs, options):
    """Seconds of processor time of a process of a few steps, and those of the second process until then."""
    folder = Folder()
    process = start(runs, folder, options, False)
    steps_of(process, FEW_STEPS)
    helper = sum(map(run_time, helpers(folder)))
    process.stdin.close()
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return used.ru_utime + used.ru_stime, helper


def helpers(folder):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read()
        except OSError:
            continue  # gone
        if b"--watch" in words and folder.top.encode() in words:
            found.append(name)
    return found


def run_time(process):
    with open(f"/proc/{process}/schedstat") as file:
        return int(file.read().split()[0]) / 1e9


def report_starts(runs, n, more_ms):
    """Interleaved. more_ms: that a step takes more."""
    used = {True: [], False: []}
    for _ in range(n):
        for is_recorded in random.sample([True, False], 2):
            used[is_recorded].append(whole(runs, "" if is_recorded else None))
    recorded, bare = (statistics.median(seconds for seconds, _ in used[way]) for way in (True, False))
    helper = statistics.median(seconds for _, seconds in used[True])
    fixed = recorded - bare - FEW_STEPS * more_ms / 1e3
    spread = max(seconds for seconds, _ in used[False]) - min(seconds for seconds, _ in used[False])
    print(f"start and end, {n} processes each: {recorded:.2f} s and {bare:.2f} s without, so {fixed:+.2f} s more without the steps "
          f"(those without spread by {spread:.2f} s); the second process {helper * 1e3:.0f} ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tidemark")
    parser.add_argument("python")
    parser.add_argument("--turns", type=int, default=150)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--most", type=float)
    given = parser.parse_args()
    runs = Runs(given.tidemark, given.python)
    folders = {way: Folder() for way in WAYS}
    processes = {way: start(runs, folders[way], options, "not" in way) for way, options in WAYS.items()}
    times = {way: [] for way in WAYS}
    for process in processes.values():
        steps_of(process, WARM_UP)
    for _ in range(given.turns):
        for way in random.sample(sorted(WAYS), len(WAYS)):
            times[way].append(steps_of(processes[way], TURN))
    for process in processes.values():
        process.stdin.close()
        process.wait()
    more = {}
    for way, found in times.items():
        more[way] = 100 * (statistics.median(ms / base for ms, base in zip(found, times["without"])) - 1)
        quartiles = statistics.quantiles(found, n=4)
        over = 100 * (statistics.median(ms / base for ms, base in zip(found, times["attached, not recording"])) - 1)
        print(f"{way:24} {statistics.median(found):7.2f} ms ({quartiles[0]:.2f} to {quartiles[2]:.2f})  {more[way]:+5.1f} %  ({over:+5.1f} % over attached)")
    report_starts(runs, given.starts, statistics.median(times["python (the default)"]) - statistics.median(times["without"]))
    worst = more["python (the default)"]
    if given.most is not None and worst > given.most:
        print(f"a black box costs {worst:.1f} %, and not at most {given.most} %")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
