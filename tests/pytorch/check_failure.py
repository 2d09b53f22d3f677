#!/usr/bin/env python3
"""Checks what a run on a virtual card finds out at its first failed request, and that the program sees nothing of it.

    python3 tests/pytorch/check_failure.py --tidemark TIDEMARK --python PYTHON [NAME...]
"""
import gzip
import json
import subprocess
import sys

import program_checks

# A loop of cycles.
CYCLES = """
import torch
class Node:
    def __init__(self, bytes_): self.tensor, self.link = torch.empty(bytes_, dtype=torch.uint8, device="cuda"), None
def pair():
    a, b = Node(400 << 20), Node(400 << 20)
    a.link, b.link = b, a
for i in range(40): pair()
"""
KEPT = """
import torch
kept = []
for i in range(40):
    kept.append(torch.empty(400 << 20, dtype=torch.uint8, device="cuda"))
    kept.append(torch.empty(400 << 20, dtype=torch.uint8, device="cuda"))
"""
# The copy collects; the program does not. Only the program's own collection finalizes, writes and prints.
CAUGHT = """
import atexit, gc, os, signal, sys, threading, torch
gc.disable()
signal.signal(signal.SIGCHLD, lambda *_: None)
class Node:
    def __init__(self): self.tensor, self.link = torch.empty(1 << 30, dtype=torch.uint8, device="cuda"), self
    def __del__(self):
        print("finalized in", "the program" if os.getpid() == pid else "a copy", flush=True)
        with open("finalized.txt", "a") as file: file.write("x")
pid = os.getpid()
os.register_at_fork(before=lambda: print("a fork is seen"))
threading.Thread(target=threading.Event().wait, daemon=True).start()
for i in range(3): Node()
before = torch.cuda.memory_allocated()
rows = []
for i in range(2):
    try: torch.empty(18 << 30, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError: pass
    rows.append(torch.cuda.memory_allocated() - before)
print("changed:", rows, "files:", os.path.exists("finalized.txt"))
try: os.wait()
except ChildProcessError: print("no child is left")
gc.collect()
print("after:", torch.cuda.memory_allocated(), "files:", os.path.getsize("finalized.txt"))
"""
# A request of a thread of autograd.
BACKWARD = """
import torch
class Node:
    def __init__(self, bytes_): self.tensor, self.link = torch.empty(bytes_, dtype=torch.uint8, device="cuda"), self
class Large(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x.clone()
    @staticmethod
    def backward(ctx, g): torch.empty(18 << 30, dtype=torch.uint8, device="cuda"); return g
Node(9 << 30)
x = torch.zeros(4, device="cuda", requires_grad=True)
Large.apply(x).sum().backward()
"""
# The request fails within a collection, which another collection does not interrupt.
INSIDE = """
import gc, torch
class Node:
    def __init__(self): self.tensor, self.link = torch.empty(1 << 30, dtype=torch.uint8, device="cuda"), self
    def __del__(self):
        try: torch.empty(30 << 30, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError: print("failed inside")
Node(); gc.collect()
"""
# A finalizer that never returns.
ENDLESS = """
import torch
class Node:
    def __init__(self): self.tensor, self.link = torch.empty(1 << 30, dtype=torch.uint8, device="cuda"), self
    def __del__(self):
        while is_first: pass
is_first = True
Node()
try: torch.empty(30 << 30, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError: print("goes on")
is_first = False
"""
# Who holds it: a sum in a function, an attribute with slices; the other process on the card.
SUM = """
import torch
net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096, device="cuda") for _ in range(4)])
def validate():
    total = 0
    for i in range(100):
        out = net(torch.randn(8192, 4096, device="cuda"))
        total += out.mean()
    return total
validate()
"""
# A hook that appends to a list of each of several layers: the model that the program holds is named, not the layers' own "self".
PARTS = """
import torch
class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.seen = torch.nn.Linear(1024, 1024), []
    def forward(self, x):
        self.seen.append(x.repeat(64, 1))
        return self.linear(x)
def run(model):
    with torch.no_grad():
        for i in range(100):
            model(torch.randn(1024, 1024, device="cuda"))
run(torch.nn.Sequential(Part(), torch.nn.Sequential(Part(), Part())).cuda())
"""
# The state is carried over; a variable of the called function has the same graph.
CARRIED = """
import torch
net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096, device="cuda") for _ in range(4)])
def policy(state):
    latent = net(state)
    return net(latent)
def play():
    state = torch.randn(8192, 4096, device="cuda")
    for i in range(100):
        action = policy(state)
        state = state + action
play()
"""
SLICES = """
import torch
class Cam:
    def __init__(self): self.feats = []
    def see(self, h): self.feats.append(h[:, 0])
cam, net = Cam(), torch.nn.Linear(4096, 4096, device="cuda")
with torch.no_grad():
    for i in range(200):
        x = torch.randn(8192, 4096, device="cuda")
        cam.see(net(x))
"""
OTHER = """
import subprocess, sys, torch
HOLD = "import torch, sys; x = torch.empty(15 << 30, dtype=torch.uint8, device='cuda'); print(1, flush=True); sys.stdin.read()"
other = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
other.stdout.readline()
x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
try: torch.empty(8 << 30, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError: print("failed beside", other.pid)
other.communicate(b"")
"""
PROGRAMS = {"sum": SUM, "parts": PARTS, "carried": CARRIED, "slices": SLICES, "other": OTHER, "cycles": CYCLES, "kept": KEPT, "caught": CAUGHT,
            "backward": BACKWARD, "inside": INSIDE, "endless": ENDLESS}
# name -> (bytes collected in MiB, None: unknown; parts of the explanation; parts that it must not have)
EXPECTED = {
    "sum": (0, ["`total` in validate (sum.py:7) holds", "through 1 tensor with a graph of autograd"], []),
    "parts": (0, ["`model.*.seen` in run (parts.py:13) holds nearly all of it"], ["`self.seen` in"]),
    "carried": (0, ["`state` in play (carried.py:10) holds most of it"], ["`latent`"]),
    "slices": (0, ["`cam.feats` (slices.py) holds nearly all of it", "which are slices", "Cure: copy each slice"], []),
    "other": (0, ["The driver listed process", "with 15."], []),
    "cycles": (48 * 400, ["garbage in reference cycles", "break the cycle"], ["if the program no longer"]),
    "kept": (0, ["still referenced", "freed nothing"], ["cycle"]),
    "caught": (3 << 10, ["freed 3.00 GiB of the 3.00 GiB allocated"], ["still referenced"]),
    "backward": (9 << 10, ["freed 9.00 GiB of the 9.00 GiB allocated"], []),
    "inside": (None, [], ["garbage", "cycle"]),
    "endless": (None, [], ["garbage", "cycle"]),
}
SAID = {
    "caught": ["changed: [0, 0] files: False", "no child is left", "after: 0 files: 3", "finalized in the program"],
    "inside": ["failed inside"],
    "endless": ["goes on"],
}
MEMORY = "20GiB"
N_PROCESSES = {"other": 2}  # with a snapshot


def check(name, tidemark, python, folder):
    (folder / f"{name}.py").write_text(PROGRAMS[name])
    done = subprocess.run([tidemark, "run", "--device", "virtual:h100-80", "--memory-limit", MEMORY, "-o", f"{name}.json.gz",
                           "--", python, f"{name}.py"], cwd=folder, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    found = {path: json.loads(gzip.open(path).read()).get("at_failure", {}) for path in folder.glob(f"{name}*.json.gz")}
    path = next((path for path in found if found[path]), folder / f"{name}.json.gz")
    if len(found) != N_PROCESSES.get(name, 1) or path not in found:
        return program_checks.report(name, [f"the snapshots are {list(found)}: {said}"])
    at = found[path]
    explained = subprocess.run([tidemark, "explain", path.name], cwd=folder, capture_output=True, text=True, check=False).stdout
    faults = []
    collected, parts, others = EXPECTED[name]
    found = at.get("collected_bytes", -1)
    if found != (-1 if collected is None else collected << 20):
        faults.append(f"{found} bytes were collected, expected {collected} MiB")
    faults += [f"'{part}' is missing: {explained}" for part in parts if part not in explained]
    faults += [f"'{part}' is said: {explained}" for part in others if part in explained]
    faults += [f"the program did not print '{part}': {said}" for part in SAID.get(name, []) if part not in said]
    faults += [f"the program printed '{part}'" for part in ("a fork is seen", "finalized in a copy", "Warning") if part in said]
    return program_checks.report(name, faults)


if __name__ == "__main__":
    sys.exit(program_checks.main(__doc__, PROGRAMS, check, "the first failed request"))
