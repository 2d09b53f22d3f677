#!/usr/bin/env python3
"""Checks `tidemark run` with a real PyTorch: command.py TIDEMARK PYTHON

Each check runs a small program and compares what the command prints, writes and returns with what
follows from the program's text.
"""
import gzip
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
WORKSPACE = 33_554_432  # cuBLAS's on compute capability 9.0, one for each thread that multiplies

# Linear layers of 1024 x 1024 without bias: 4 MiB of parameters each, and as much for every gradient and for both
# states of AdamW. An input of 512 x 1024 takes 2 MiB, like every layer's output.
TRAIN = """
import sys, torch
layers = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024, bias=False) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(layers.parameters(), foreach=False)
x = torch.zeros(512, 1024, device="cuda")
for step in range(int(sys.argv[1])):
    layers(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step, flush=True)
torch.save(layers.state_dict(), "model.pt")
"""

HISTORY = """
import sys, torch
a = torch.zeros(1000, 1000, device="cuda")
torch.cuda.memory._record_memory_history(max_entries=100000)
layer = torch.nn.Linear(1000, 1000).cuda()
layer(a).sum().backward()
torch.cuda.memory._dump_snapshot(sys.argv[1])
torch.cuda.memory._record_memory_history(enabled=None)
"""

SPLIT = """
import torch
print("begins")
open("runs.txt", "a").write("x")
def take(mib): return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")
t = take(1000); del t
stay = [take(16) for _ in range(8)]
t = take(1000); del t
"""
OUT_OF_MEMORY = """
import torch
kept = []
def fill():
    kept.append(torch.empty(256 << 20, dtype=torch.uint8, device="cuda"))
for i in range(100):
    fill()
"""

# The cache is released before the request fails, so nothing is reserved then.
CACHED = """
import torch
kept = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for i in range(2)]
del kept
torch.empty(7 << 29, dtype=torch.uint8, device="cuda")
"""

CAUGHT = """
import torch
try:
    torch.empty(8 << 30, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    print("caught")
torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
"""

SEVERAL = """
import torch, torch.multiprocessing as mp
def work(rank):
    torch.empty((rank + 1) << 20, dtype=torch.uint8, device="cuda")
if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
"""

# 6 MiB more in every step.
GROWS = """
import torch
layer = torch.nn.Linear(1024, 1024, device="cuda")
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
kept = []
for step in range(8):
    kept.append(torch.empty(6 << 20, dtype=torch.uint8, device="cuda"))
    layer(torch.ones(8, 1024, device="cuda")).sum().backward()
    optimizer.step()
"""

TWO_CARDS = """
import torch
small = torch.empty(8 << 20, dtype=torch.uint8, device="cuda:0")
large = torch.empty(int(__import__("sys").argv[1]) << 20, dtype=torch.uint8, device="cuda:1")
"""

# The library's file is where pip puts it.
LIBRARY = """
import torch
text = "import torch\\ndef forward():\\n    return torch.empty(64 << 20, dtype=torch.uint8, device='cuda')\\n"
library = {}
exec(compile(text, "/usr/lib/site-packages/models/model.py", "exec"), library)
def generate():
    return library["forward"]()
kept = generate()
"""

SLEEP = """
import time, torch
torch.zeros(1 << 20, device="cuda")
print("ready", flush=True)
time.sleep(1000)
"""


class Wrong(Exception):
    """A check failed."""


# Two optimizers, of which the first ends a step: the second has its own phase.
TWO_OPTIMIZERS = """
import torch
a, b = (torch.nn.Linear(1024, 1024, bias=False).cuda() for _ in range(2))
first, second = (torch.optim.AdamW(m.parameters(), foreach=False) for m in (a, b))
for step in range(2):
    for module, optimizer in ((b, second), (a, first)):
        module(torch.zeros(8, 1024, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""

INFERENCE = """
import torch
layer = torch.nn.Linear(1024, 1024, bias=False).cuda()
kept = []
with torch.inference_mode():
    for i in range(5):
        kept.append(layer(torch.zeros(512, 1024, device="cuda")))
"""

FAILS_IN_BACKWARD = """
import torch
class Wide(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        torch.empty(90 << 30, dtype=torch.uint8, device="cuda")
        return gradient
layer = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.AdamW(layer.parameters())
for step in range(3):
    made = layer(torch.randn(8, 64, device="cuda"))
    (Wide.apply(made) if step == 1 else made).sum().backward()
    optimizer.step()
"""

COMPILED = """
import torch
x = torch.zeros(512, 1024, device="cuda")
layer = torch.compile(torch.nn.Linear(1024, 1024).cuda())
for i in range(3):
    layer(x).sum().backward()
"""


def need(condition, *what):
    if not condition:
        raise Wrong(" ".join(str(part) for part in what))


class Runner:
    """Runs programs in their own folder."""

    def __init__(self, tidemark, python):
        self.tidemark = tidemark
        self.python = python
        self.folder = tempfile.mkdtemp()
        os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()  # without logs of other runs
        os.environ["XDG_CACHE_HOME"] = os.path.join(os.environ["XDG_STATE_HOME"], "cache")  # and without their compiled files

    def write(self, text):
        path = os.path.join(self.folder, "program.py")
        with open(path, "w") as file:
            file.write(text)
        return path

    def command(self, options, text, *arguments):
        return [self.tidemark, "run", *options, "--", self.python, self.write(text), *arguments]

    def run(self, options, text, *arguments, **named):
        for name in os.listdir(self.folder):
            os.remove(os.path.join(self.folder, name))
        command = self.command(["--device", "virtual:h100-80", *options], text, *arguments)
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, **named)

    def snapshot(self, name="program-h100-80.json.gz"):
        with gzip.open(os.path.join(self.folder, name)) as file:
            return json.load(file)


def check_answer(runner):
    """Peak: 4 layers of parameters, gradients and two states, input, and AdamW's temporary memory."""
    done = runner.run([], TRAIN, "3")
    need(done.returncode == 0, "status", done.returncode, done.stderr)
    need(done.stdout == "step 0\nstep 1\nstep 2\n", "the program's output:", done.stdout)
    lines = [line for line in done.stderr.splitlines() if line.startswith("tidemark run: ")]
    need(len(lines) == 6, "six lines, not", lines)
    need("it fits virtual:h100-80" in lines[0], lines[0])
    need("in step " in lines[1] and "program.py:" in lines[1], lines[1])
    snapshot = runner.snapshot()
    peak = snapshot["summary"][0]["peak"]
    parts = {name: part["bytes"] for name, part in peak["by_category"].items()}
    need(parts["parameter"] == 4 * 4 * MIB, "parameters", parts)
    need(parts["gradient"] == 4 * 4 * MIB, "gradients", parts)
    need(parts["optimizer_state"] == 8 * 4 * MIB, "states", parts)
    steps = [kind for kind in snapshot["scopes"]["kind"] if snapshot["scope_kinds"][kind] == "step"]
    need(len(steps) == 3, "three steps, not", len(steps))
    software = snapshot["software"]
    need(set(software) == {"python", "torch", "cuda"} and software["torch"].startswith("2."), software)


def check_steps(runner):
    done = runner.run(["--steps", "2"], TRAIN, "1000000")
    need(done.returncode == 0, "status", done.returncode, done.stderr)
    need(done.stdout == "step 0\n", "the program ends inside of its second step:", done.stdout)


def check_status(runner):
    need(runner.run([], "import sys; sys.exit(7)").returncode == 7, "status of the program")
    done = runner.run([], "import os; os.kill(os.getpid(), 9)")
    need(done.returncode == -signal.SIGKILL, "signal of the program:", done.returncode)
    done = runner.run([], "print(input())", input="what is read\n")
    need(done.stdout == "what is read\n", "input of the program:", done.stdout)


def check_signal(runner):
    """SIGTERM reaches the program; the recording up to then is reported."""
    command = runner.command(["--device", "virtual:h100-80"], SLEEP)
    run = subprocess.Popen(command, cwd=runner.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    need(run.stdout.readline() == "ready\n", "the program starts")
    time.sleep(0.2)
    run.send_signal(signal.SIGTERM)
    _, errors = run.communicate(timeout=300)
    need(run.returncode == -signal.SIGTERM, "status after SIGTERM:", run.returncode)
    need("signal 15 ended the program" in errors and "PyTorch allocated 4.00 MiB" in errors, errors)


def check_history(runner):
    """The program's own dump is the same with and without us, except for addresses."""
    events = []
    for options in (["--writes", "allow"], None):
        path = os.path.join(tempfile.gettempdir(), f"own-history-{os.getpid()}.pickle")
        if options is not None:
            done = runner.run(options, HISTORY, path)
            need(done.returncode == 0, done.stderr)
        else:
            run_bare(runner, HISTORY, path)
        with open(path, "rb") as file:
            trace = pickle.load(file)["device_traces"][0]
        os.remove(path)
        events.append([(e["action"], e["size"], [(f["name"], f["line"]) for f in e["frames"]
                                                 if f["filename"].endswith("program.py")]) for e in trace])
    need(len(events[0]) > 10, "events:", len(events[0]))
    need(events[0] == events[1], "the program's own history differs")


def run_bare(runner, text, *arguments):
    """The virtual card without the command, and so without our recording."""
    library = os.path.join(os.path.dirname(runner.tidemark), "../programs/libtidemark_virtual_cuda.so")
    with tempfile.TemporaryDirectory() as links:
        for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
            os.symlink(os.path.realpath(library), os.path.join(links, name))
        environment = dict(os.environ, TIDEMARK_VIRTUAL_CARDS="h100-80", LD_LIBRARY_PATH=links,
                           LD_PRELOAD=os.path.realpath(library))
        done = subprocess.run([runner.python, runner.write(text), *arguments], env=environment, cwd=runner.folder,
                              capture_output=True, text=True)
        need(done.returncode == 0, done.stderr)


def check_out_of_memory(runner):
    """Fifteen blocks of 256 MiB fit 4 GiB less the card's context; --need reports all hundred."""
    done = runner.run(["--memory-limit", "4GiB", "--need"], OUT_OF_MEMORY)
    need(done.returncode == 1, "status", done.returncode)
    need("it does not fit virtual:h100-80 with a limit of 4.00 GiB: out of memory" in done.stderr, done.stderr)
    need("256.00 MiB were asked for" in done.stderr, done.stderr)
    need("tidemark plan" not in done.stderr, "no plan cures what is never released:", done.stderr)
    need("program.py:5" in done.stderr, "the failing line:", done.stderr)
    need("it needs 25.00 GiB allocated and 25.00 GiB reserved" in done.stderr, done.stderr)
    need(runner.snapshot()["run"]["outcome"] == "oom", "outcome")


    need("where the peak is, too" in done.stderr and "the peak is at" not in done.stderr, "one line says both:", done.stderr)


def check_verify(runner):
    """A segment of 1 GiB is split by small blocks that stay. A limit on splitting helps, and the second run's files are
    kept away too. A program that sets the variable itself, and growth, are no case for it."""
    done = runner.run(["--memory-limit", "2500MiB", "--verify"], SPLIT)
    need(done.returncode == 1 and "it does not fit" in done.stderr, done.stderr)
    found = re.search(r"verified: with PYTORCH_CUDA_ALLOC_CONF=(\S+) the same program did not run out of memory, and reserved",
                      done.stderr)
    need(found is not None, done.stderr)
    need(f"It would help to set PYTORCH_CUDA_ALLOC_CONF={found[1]}: with it all recorded requests" in done.stderr, done.stderr)
    need("tidemark plan with the same card and command" in done.stderr, done.stderr)
    need(not os.path.exists(os.path.join(runner.folder, "runs.txt")), "a run wrote to the user's files")
    need(done.stdout.count("begins") == 1, "the output of the second run:", done.stdout)
    fits = runner.run(["--memory-limit", "6GiB", "--verify"], SPLIT)
    need(fits.returncode == 0 and re.search(r"verified: .* reserved 1\.1\d GiB at its peak instead of 1\.95 GiB", fits.stderr), fits.stderr)
    own = runner.run(["--memory-limit", "2500MiB", "--verify"],
                     "import os; os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'max_split_size_mb:4096'\n" + SPLIT)
    need("not verified: " in own.stderr and "the program sets the variable itself" in own.stderr, own.stderr)
    grown = runner.run(["--memory-limit", "4GiB", "--verify"], OUT_OF_MEMORY)
    need("nothing was verified: no setting of the allocator is a cure for this failure" in grown.stderr, grown.stderr)
    need("It would help" not in grown.stderr, grown.stderr)
    refused = runner.run(["--writes", "allow", "--verify"], SPLIT)
    need(refused.returncode == 125 and "--verify needs --writes scratch" in refused.stderr, refused.stderr)


def check_growing(runner):
    done = runner.run([], GROWS)
    need(" keeps 6.00 MiB on each iteration, " in done.stderr, done.stderr)
    need(" keeps " not in runner.run(["--steps", "5"], TRAIN, "9").stderr, "what repeats does not grow")


    grown = runner.run(["--memory-limit", "800MiB", "--need"], GROWS.replace("range(8)", "range(80)"))
    need("its need depends on the number of steps, because memory grows by 6.00 MiB on each iteration" in grown.stderr, grown.stderr)
    need("the smallest card" not in grown.stderr, grown.stderr)


def check_one_instant(runner):
    done = runner.run(["--memory-limit", "4GiB"], CACHED)
    need("3.50 GiB were asked for" in done.stderr and "beside the 0 B that PyTorch had reserved" in done.stderr, done.stderr)


def check_cards(runner):
    done = runner.run(["--device", "virtual:h100-80+a100-40"], TWO_CARDS, "100")
    need("it fits virtual:a100-40 as card 1: PyTorch allocated 100.00 MiB" in done.stderr, done.stderr)
    need("card 0 (virtual:h100-80): PyTorch allocated 8.00 MiB and reserved 20.00 MiB" in done.stderr, done.stderr)
    done = runner.run(["--device", "virtual:h100-80+a100-40"], TWO_CARDS, "41000")
    need("it does not fit virtual:a100-40: out of memory" in done.stderr, "the card that failed:", done.stderr)


def check_library(runner):
    done = runner.run([], LIBRARY)
    need("at generate (program.py:7), in forward (model.py:3)" in done.stderr, done.stderr)


def check_caught(runner):
    done = runner.run(["--memory-limit", "4GiB"], CAUGHT)
    need(done.returncode == 0 and done.stdout == "caught\n", done.stdout, done.stderr)
    need("it fits" in done.stderr and "caught 1 out-of-memory error" in done.stderr, done.stderr)
    need("Out of memory at program.py:4: 8.00 GiB asked for, " in done.stderr, "the caught request, as explain prints it:", done.stderr)


def check_several(runner):
    done = runner.run([], SEVERAL)
    need(done.returncode == 0, done.stderr)
    names = sorted(n for n in os.listdir(runner.folder) if n.endswith(".json.gz"))
    need(len(names) == 2 and all(n.startswith("program-h100-80-process") for n in names), names)
    peaks = sorted(runner.snapshot(n)["summary"][0]["peak"]["allocated_bytes"] for n in names)
    need(peaks == [MIB, 2 * MIB], "peaks", peaks)


def check_recorders(runner):
    """The package is also imported under -E, -I and -S."""
    for flags in (["-E"], ["-I"]):
        command = [runner.tidemark, "run", "--device", "virtual:h100-80", "--", runner.python, *flags,
                   runner.write(TRAIN), "1"]
        done = subprocess.run(command, cwd=runner.folder, capture_output=True, text=True)
        need("it fits" in done.stderr, flags, done.stderr)


def check_writes(runner):
    """A checkpoint of zeros does not replace the user's; --keep-writes keeps it."""
    for options in ([], ["--keep-writes", "kept"], ["--writes", "allow"]):
        command = runner.command(["--device", "virtual:h100-80", *options], TRAIN, "1")
        path = os.path.join(runner.folder, "model.pt")
        with open(path, "w") as file:
            file.write("weights")
        done = subprocess.run(command, cwd=runner.folder, capture_output=True, text=True)
        need(done.returncode == 0, done.stderr)
        with open(path, "rb") as file:
            content = file.read()
        if "allow" in options:
            need(content[:2] == b"PK" and "not written" not in done.stderr, done.stderr)
            continue
        need(content == b"weights", "the user's checkpoint is", content[:20])
        fate = "written to kept instead" if options else "not written to your disk (`--keep-writes DIR` keeps it)"
        need("model.pt (16.00 MiB) was " + fate in done.stderr, done.stderr)
        need("model.pt" in os.listdir(runner.folder) and os.path.exists(runner.folder + "/kept") == bool(options), options)
        if options:
            need(os.path.getsize(runner.folder + "/kept/model.pt") > 16 * MIB, "what was kept")
            done = subprocess.run(command, cwd=runner.folder, capture_output=True, text=True)
            need(done.returncode == 125 and "kept is not empty" in done.stderr, done.stderr)
            shutil.rmtree(runner.folder + "/kept")


def phases_of(runner, category):
    """The phases of the allocations of a category, as `tidemark dump` writes them."""
    done = subprocess.run([runner.tidemark, "dump", "program-h100-80.json.gz"], cwd=runner.folder, capture_output=True, text=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [row[9].split(" > ")[0] for row in rows if row[2] == "alloc" and row[7] == category]


def check_phases(runner):
    need(runner.run([], TWO_OPTIMIZERS).returncode == 0, "two optimizers")
    found = phases_of(runner, "optimizer_state")
    need(found == ["optimizer"] * 4, "both optimizers make their state in their own phase:", found)
    done = runner.run([], INFERENCE)
    need("the peak is in step 4, at program.py:7" in done.stderr, done.stderr)
    need(len([k for k in runner.snapshot()["scopes"]["kind"] if k == 0]) == 5, "a step for each call")
    need("32.00 MiB of workspaces" in done.stderr, done.stderr)


def check_backward(runner):
    """An error in a backward pass is reported as one, and none of our frames is in the program's traceback."""
    done = runner.run([], FAILS_IN_BACKWARD)
    need("out of memory in step 1, in the backward pass, at Wide.backward (program.py:9): 90.00 GiB" in done.stderr, done.stderr)
    need("Traceback" in done.stderr and "steps.py" not in done.stderr, done.stderr)
    done = runner.run([], "import torch\ntorch.cuda.get_device_name()\n")  # without a context, what is left is not known
    need("reserved 0 B at their peaks\n" in done.stderr and "left" not in done.stderr, done.stderr)


def check_compiled(runner):
    """A compiler neither warns about us nor leaves a report for its worker processes."""
    done = runner.run([], COMPILED)
    need(done.returncode == 0 and "Warning" not in done.stderr, done.stderr)
    need("processes" not in done.stderr, done.stderr)
    need([n for n in os.listdir(runner.folder) if n.endswith(".gz")] == ["program-h100-80.json.gz"], os.listdir(runner.folder))


def check_async(runner):
    """An allocator other than PyTorch's own has no events: its CUDA calls replace them, with stacks and names."""
    environment = dict(os.environ, PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
    done = runner.run([], TRAIN, "3", env=environment)
    need(done.returncode == 0 and "in step " in done.stderr and "program.py:" in done.stderr, done.stderr)
    snapshot = runner.snapshot()
    parts = snapshot["summary"][0]["peak"]["by_category"]
    need(parts["parameter"]["bytes"] == 4 * 4 * MIB and parts["optimizer_state"]["bytes"] == 8 * 4 * MIB, parts)
    kinds = {snapshot["scope_kinds"][kind] for kind in snapshot["scopes"]["kind"]}
    need("layer" in kinds, "modules are missing:", kinds)


WORKSPACES = """
import torch
linear, network = torch.nn.Linear(1024, 1024).cuda(), torch.nn.LSTM(256, 512, 2).cuda()
for i in range(2):
    torch.nn.functional.gelu(linear(torch.randn(512, 1024, device="cuda"))).sum().backward()
    network(torch.randn(20, 8, 256, device="cuda"))[0].sum().backward()
"""


def check_workspaces(runner):
    """Memory that PyTorch lends to a library has its name, even if it lives for only one call."""
    done = runner.run([], WORKSPACES)
    snapshot = runner.snapshot()
    events, strings = snapshot["events"], snapshot["strings"]
    freed = snapshot["actions"].index("free")
    names = [strings[name] for name in events["name"] if name is not None and strings[name].startswith("workspace")]
    whose = [strings[name] for name, action in zip(events["name"], events["action"])
             if action == freed and name is not None and strings[name] == "workspace of cuDNN"]
    need(done.returncode == 0 and "workspace of cuBLAS" in names and len(whose) == 2, names, done.stderr)


CHECKS = [
    check_phases, check_backward, check_compiled, check_answer, check_steps, check_status, check_signal,
    check_history, check_out_of_memory, check_verify, check_growing, check_one_instant, check_cards, check_library, check_caught, check_several,
    check_recorders, check_writes, check_async,
    check_workspaces]


def main():
    runner = Runner(os.path.abspath(sys.argv[1]), sys.argv[2])
    n_bad = 0
    for check in [c for c in CHECKS if not sys.argv[3:] or c.__name__ in sys.argv[3:]]:
        begin = time.monotonic()
        try:
            check(runner)
            print(f"{check.__name__}: right, {time.monotonic() - begin:.1f} s", flush=True)
        except Wrong as wrong:
            n_bad += 1
            print(f"{check.__name__}: WRONG: {wrong}", flush=True)
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
