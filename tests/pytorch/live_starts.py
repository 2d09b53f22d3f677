#!/usr/bin/env python3
"""Ways to start a program that is recorded: live_starts.py TIDEMARK PYTHON [NAME...]

Each program must run as it does without us, and each of its processes that trains has a snapshot of its own, made from the
log of that process, with its steps and the names of its tensors. NAME begins the name of a check.
"""
import os
import shutil
import subprocess
import sys

from live_runs import Folder, Runs, need, run_checks

TRAIN = """
import os, sys, time
import torch
def train(n=2, device=0):
    torch.cuda.set_device(device)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(n):
        model(torch.randn(8, 64, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    time.sleep(0.3)  # PyTorch's own thread for the backward pass may abort a process that ends at once after one
    print("trained", n, flush=True)
"""
MAIN = "if __name__ == '__main__':\n    "

FORKED = TRAIN + """
child = os.fork()
train()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
SPAWNED = TRAIN + "\ndef work(i):\n    train(2, i)\n" + MAIN + "torch.multiprocessing.spawn(work, nprocs=2)\n"
POOLED = TRAIN + "\n" + MAIN + (
    "import multiprocessing\n    pool = multiprocessing.get_context('forkserver').Pool(1)\n    pool.map(train, [2])\n"
    "    pool.close()\n    pool.join()\n")
RANKED = TRAIN + "\ntrain(2, int(os.environ['LOCAL_RANK']))\n"
CLEAN = TRAIN + """
import subprocess
train()
if len(sys.argv) == 1:
    sys.exit(subprocess.run([sys.executable, __file__, "child"], env={}).returncode)
print("a child", flush=True)
"""
THREADS = TRAIN + """
import threading
threads = [threading.Thread(target=train, args=(3, i % 2)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
HISTORY = TRAIN + """
torch.cuda.memory._record_memory_history(max_entries=10000)
train()
events = torch.cuda.memory._snapshot()["device_traces"][0]
print(len(events) > 50 and any(frame["filename"].endswith("program.py") for frame in events[-1]["frames"]))
torch.cuda.memory._record_memory_history(enabled=None)
"""

POOL = """
#include <stddef.h>
int cudaMalloc(void **at, size_t n);
int cudaFree(void *at);
void *take(size_t n, int device, void *stream) {
    void *at = NULL;
    return n > 0 && cudaMalloc(&at, n) == 0 ? at : NULL;
}
void give(void *at, size_t n, int device, void *stream) {
    cudaFree(at);
}
"""
PLUGGABLE = TRAIN + """
memory = torch.cuda.memory
memory.change_current_allocator(memory.CUDAPluggableAllocator(os.path.abspath("pool.so"), "take", "give"))
train()
kept = torch.empty(3 << 20, device="cuda")
"""
KEPT_BYTES = 12 << 20  # of `kept`


class Start:
    """arguments: of Python; text: of program.py; n: snapshots; steps: of each; said: a line of stdout."""

    def __init__(self, arguments=("program.py",), text=TRAIN + "\ntrain()\n", n=1, steps=2, said="trained 2", cards="h100-80",
                 files=(), environment=(), stdin=None):
        self.arguments, self.text, self.n, self.steps, self.said = list(arguments), text, n, steps, said
        self.cards, self.files, self.environment, self.stdin = cards, dict(files), dict(environment), stdin


def starts(site_packages):
    """By name. `site_packages`: where PyTorch is, for interpreters that do not look there by themselves."""
    add_site = f"import sys; sys.path.insert(0, {site_packages!r})\n"
    plain = TRAIN + "\ntrain()\n"
    sitecustomize = {"own/sitecustomize.py": "import sys\nprint('my own', flush=True)\nsys.my_own = 1\n"}
    return {
        "script": Start(),
        "-m": Start(["-m", "program"]),
        "-c": Start(["-c", plain]),
        "stdin": Start(["-"], stdin=plain),
        "-E": Start(["-E", "program.py"]),
        "-I": Start(["-I", "program.py"]),
        "-S": Start(["-S", "program.py"], add_site + plain),
        "-I -S": Start(["-I", "-S", "program.py"], add_site + plain),
        "-O -u -X": Start(["-OO", "-u", "-X", "faulthandler", "-W", "ignore", "program.py"]),
        "torchrun": Start(["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "program.py"], RANKED, n=2,
                          cards="h100-80x2"),
        "spawn": Start(text=SPAWNED, n=2, cards="h100-80x2"),
        "fork": Start(text=FORKED, n=2),
        "fork server": Start(text=POOLED, n=1),
        "clean environment": Start(text=CLEAN, n=2, said="a child"),
        "sitecustomize": Start(text=plain + "print('it ran', sys.my_own)\n", said="it ran 1", files=sitecustomize,
                               environment={"PYTHONPATH": "own"}),
        "threads and cards": Start(text=THREADS, cards="h100-80x2", steps=None, said="trained 3"),
        "own history": Start(text=HISTORY, said="True"),
    }


def check(runs, python, start):
    folder = Folder()
    folder.write("program.py", start.text)
    for name, text in start.files.items():
        os.makedirs(os.path.dirname(os.path.join(folder.work, name)), exist_ok=True)
        folder.write(name, text)
    environment = folder.environment(**{k: os.path.join(folder.work, v) for k, v in start.environment.items()})
    command = [runs.tidemark, "run", "--device", f"virtual:{start.cards}", "-o", "out.json.gz", "--", python, *start.arguments]
    done = subprocess.run(command, cwd=folder.work, env=environment, capture_output=True, text=True, timeout=240,
                          input=start.stdin)
    need(done.returncode == 0, "status", done.returncode, done.stderr[-1500:])
    need(start.said in done.stdout.splitlines(), "stdout:", done.stdout, done.stderr[-500:])
    found = folder.snapshots()
    need(len(found) == start.n, "snapshots:", [snapshot.name for snapshot in found], done.stderr[-800:])
    for snapshot in found:
        need(snapshot.is_live and snapshot.outcome == "completed", snapshot.name, snapshot.is_live, snapshot.outcome)
        need(start.steps in (None, snapshot.n_steps), snapshot.name, "steps", snapshot.n_steps)
        need({"0.weight", "2.bias.exp_avg"} <= snapshot.names, snapshot.name, "names of tensors are missing")
        n_devices = len({device for device in snapshot.content["events"]["device"]})
        need(start.steps is not None or n_devices == 2, snapshot.name, "devices", n_devices)
    need(not folder.left(), "left:", folder.left())
    return ", ".join(snapshot.name for snapshot in found)


def check_other_layout(runs, site_packages):
    """An interpreter with its libraries under a prefix of its own, as conda has them."""
    folder = Folder()
    facts = "import sys, sysconfig; print(sys.base_prefix); print(sysconfig.get_config_var('LIBDIR'))"
    base, libraries = subprocess.run([runs.python, "-c", facts], capture_output=True, text=True, check=True).stdout.split()
    version = os.path.basename(os.path.dirname(os.path.dirname(site_packages + "/")))
    prefix = os.path.join(folder.top, "envs", "own")
    os.makedirs(os.path.join(prefix, "bin"))
    os.makedirs(os.path.join(prefix, "lib"))
    shutil.copy(os.path.join(base, "bin", version), os.path.join(prefix, "bin", version))
    os.symlink(os.path.join(base, "lib", version), os.path.join(prefix, "lib", version))
    for name in os.listdir(libraries):
        if name.startswith("libpython"):
            os.symlink(os.path.join(libraries, name), os.path.join(prefix, "lib", name))
    text = f"import sys; sys.path.insert(0, {site_packages!r})\n" + TRAIN + "\ntrain()\nprint(sys.prefix)\n"
    return check(runs, os.path.join(prefix, "bin", version), Start(text=text, said=prefix))


def check_pluggable(runs):
    """The program's own allocator: its runtime calls replace PyTorch's blocks, with their stacks."""
    folder = Folder()
    source = folder.write("pool.c", POOL)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", source[:-2] + ".so", source], check=True)
    folder.write("program.py", PLUGGABLE)
    done = runs.recorded(folder, [runs.python, "program.py"])
    need(done.status == 0 and len(done.snapshots) == 1, "status", done.status, done.stderr[-1500:])
    need("another allocator than PyTorch's own" in done.stderr, "nothing is said:", done.stderr[-800:])
    snapshot, = done.snapshots
    need(any("another allocator" in row["what"] for row in snapshot.content["inexact"]), "inexact:", snapshot.content["inexact"])
    need(snapshot.n_steps == 2 and {"0.weight", "2.bias.exp_avg"} <= snapshot.names, "steps", snapshot.n_steps, "or names")
    stacks = snapshot.stacks_of("alloc", KEPT_BYTES)
    line = PLUGGABLE.splitlines().index('kept = torch.empty(3 << 20, device="cuda")') + 1
    need(stacks == [[("<module>", "program.py", line)]], "Python's stack of the block:", stacks)
    return "1 stack"


def main():
    runs = Runs(sys.argv[1], sys.argv[2])
    ask = "import torch, os; print(os.path.dirname(os.path.dirname(torch.__file__)))"
    site_packages = subprocess.run([runs.python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    checks = [(name, lambda start=start: check(runs, runs.python, start)) for name, start in starts(site_packages).items()]
    checks.append(("other layout", lambda: check_other_layout(runs, site_packages)))
    checks.append(("pluggable allocator", lambda: check_pluggable(runs)))
    n_bad = run_checks(checks, sys.argv[3:])
    print(f"starts: {len(checks)} checks, {n_bad} wrong")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
