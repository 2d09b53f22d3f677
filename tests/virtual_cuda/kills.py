#!/usr/bin/env python3
"""Kills runs at random instants and checks that nothing remains of them.

usage: kills.py TIDEMARK [--runs N] [--torch PYTHON --torch-runs M] [--seed S]

A run is `tidemark run` over a program that makes child processes, allocates memory of the card in each, writes files
and uses shared memory. At a random instant SIGKILL goes to tidemark, to the program, or to the whole group of
processes. Soon no folder of the run, no process of it and no file in /dev/shm may remain, except for one that the C
library leaves of any killed program. The logs are in the test's own folder: they stay if tidemark was killed, as they
should, and must be gone if it lives on. With --torch, more runs execute a PyTorch program with workers.
"""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

WAIT_S = 100  # for everything to be gone; the machine may be busy
LOG_BYTES = "8MiB"  # of each process; a log takes its room from the disk at once

PLAIN = """
import ctypes, os, tempfile, time
card = ctypes.CDLL(None)
for i in range(2):
    if os.fork() == 0:
        break
address = ctypes.c_void_p()
assert card.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(1 << 30)) == 0
open("left.bin", "wb").write(bytes(1 << 16))
with tempfile.TemporaryFile() as file:
    time.sleep(60)
"""

TORCH = """
import torch
from torch.utils.data import DataLoader
def main():
    model = torch.nn.Linear(512, 512).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    while True:
        for batch in DataLoader(torch.zeros(256, 512), batch_size=16, num_workers=2, pin_memory=True):
            model(batch.cuda()).sum().backward()
            optimizer.step()
if __name__ == "__main__":
    main()
"""


def processes_with(marker):
    """Numbers of the processes that have the marker in their environment."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if marker.encode() in file.read():
                        found.append(int(name))
            except OSError:
                pass  # gone, or of another user
    return found


def shared_files():
    """Names in /dev/shm, without the temporary name that the C library's sem_open uses while it makes a semaphore.

    sem_open writes the file sem.XXXXXX, links it to its own name (sem.mp-... for Python) and removes the first name. A
    kill between the two leaves it, with tidemark and without.
    """
    return {name for name in os.listdir("/dev/shm") if not re.fullmatch(r"sem\.\w{6}", name)}


def wait_until_empty(look):
    """What still exists when the time is over; [] as soon as nothing does."""
    end = time.monotonic() + WAIT_S
    while True:
        left = look()
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.02)


def kill_one(tidemark, command, delay_s, target, folder, uses_shared_memory):
    """One run and its end. Returns the remainders, as a list of texts."""
    shared = shared_files()
    state = os.path.join(folder, "state")
    environment = dict(os.environ, TMPDIR=folder, XDG_STATE_HOME=state)
    run = subprocess.Popen(
        [tidemark, "run", "--device", "virtual:h100-80", "--log-bytes", LOG_BYTES, "--", *command],
        cwd=folder, env=environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    time.sleep(delay_s)
    try:
        if target == "group":
            os.killpg(run.pid, signal.SIGKILL)
        elif target == "program":
            for pid in processes_with(f"TIDEMARK_RUN_FOLDER={folder}"):
                os.kill(pid, signal.SIGKILL)
        else:
            run.kill()
    except ProcessLookupError:
        pass  # it has just ended
    run.wait()
    left = wait_until_empty(lambda: processes_with(f"TIDEMARK_RUN_FOLDER={folder}"))
    left += wait_until_empty(lambda: [n for n in os.listdir(folder) if n.startswith("tidemark-run")])
    if target == "program":  # tidemark has made its snapshots
        left += [name for _, _, names in os.walk(state) for name in names]
    if uses_shared_memory:  # other programs may also make files there
        left += wait_until_empty(lambda: sorted(shared_files() - shared))
    if os.path.exists(os.path.join(folder, "left.bin")):
        left.append("left.bin in the user's folder")
    return left


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tidemark")
    parser.add_argument("--runs", type=int, default=90)
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--torch-runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    plan = [([sys.executable, "-c", PLAIN], 0.4)] * options.runs
    if options.torch:
        plan += [([options.torch, "program.py"], 8.0)] * options.torch_runs
    n_bad = 0
    for i, (command, longest_s) in enumerate(plan):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "program.py"), "w") as file:
                file.write(TORCH)
            delay_s = chance.uniform(0, longest_s)
            target = chance.choice(["tidemark", "program", "group"])
            left = kill_one(os.path.abspath(options.tidemark), command, delay_s, target, folder, longest_s > 1)
            if left:
                n_bad += 1
                print(f"run {i}: {target} killed after {delay_s:.3f} s left {left}")
    print(f"kills: {len(plan)} runs, {n_bad} left something")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
