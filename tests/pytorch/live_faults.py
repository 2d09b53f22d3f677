#!/usr/bin/env python3
"""Programs that go wrong while they are recorded: live_faults.py TIDEMARK PYTHON [NAME...]

Each program runs bare on the virtual card and by `tidemark run`. Its output, its error output but for our own lines, and
its status must be the same, and no file may be left that was not named. NAME begins the name of a check.
"""
import re
import sys

from live_runs import Folder, Runs, need, run_checks

TRAIN = """
import atexit, os, signal, sys, threading, time
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
def train(n):
    for step in range(n):
        model(torch.randn(8, 64, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    time.sleep(0.3)  # PyTorch's own thread for the backward pass may abort a process that ends at once after one
    print("trained", n, flush=True)
def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()
train(2)
"""

# What follows TRAIN, and how many steps it makes in all.
PROGRAMS = {
    "exception": ("raise RuntimeError('the end')", 2),
    "exception at exit": ("atexit.register(lambda: 1 / 0); train(1)", 3),
    "exception in a thread": ("in_thread(lambda: 1 / 0); train(1)", 3),
    "sys.exit": ("sys.exit(7)", 2),
    "sys.exit with a text": ("sys.exit('no more')", 2),
    "sys.exit in a thread": ("in_thread(lambda: sys.exit(7)); train(1)", 3),
    "training in a thread": ("in_thread(lambda: train(3)); in_thread(lambda: sys.exit(2)); train(1)", 6),
    "exit at once": ("os._exit(5)", 2),
    "exit at once from a thread": ("in_thread(lambda: os._exit(6))", 2),
    # The step that had begun is also reported.
    "abort": ("os.abort()", 3),
    "segmentation fault": ("os.kill(os.getpid(), signal.SIGSEGV)", 3),
    "killed by itself": ("os.kill(os.getpid(), signal.SIGKILL)", 3),
    "interrupt": ("os.kill(os.getpid(), signal.SIGINT); train(1)", 3),
    "caught out of memory": (
        "try:\n    torch.empty(200 << 30, dtype=torch.uint8, device='cuda')\n"
        "except torch.cuda.OutOfMemoryError as error:\n    print(str(error)[:60])\ntrain(1)", 3),
    "out of memory": ("kept = [torch.empty(30 << 30, dtype=torch.uint8, device='cuda') for i in range(9)]", 3),
    "all files closed": ("os.closerange(3, 65536); train(2)", 4),
    "stderr closed": ("os.close(2); train(2)", 4),
    "another folder": ("os.mkdir('below'); os.chdir('below'); train(1)", 3),
    "no environment": ("os.environ.clear(); train(1)", 3),
    "many forks": (
        "for i in range(3):\n    if os.fork() == 0:\n        print('child', i, flush=True)\n        os._exit(0)\n"
        "    os.wait()\n    train(1)", 5),
    "fork that ends as Python does": (
        "if os.fork() == 0:\n    sys.exit(0)\nprint(os.wait()[1])\ntrain(1)", 3),
    "fork that asks PyTorch for CUDA": (
        "if os.fork() == 0:\n    try:\n        torch.zeros(8, device='cuda')\n    except RuntimeError as error:\n"
        "        print(str(error)[:40], flush=True)\n    os._exit(0)\nprint(os.wait()[1])\ntrain(1)", 3),
    "subprocess": ("import subprocess\nprint(subprocess.run(['echo', 'a child'], capture_output=True).stdout)\ntrain(1)", 3),
    "named_modules raises": (
        "class Broken(torch.nn.Linear):\n    def named_modules(self, *rest, **named):\n        raise ValueError('no names')\n"
        "model = torch.nn.Sequential(Broken(64, 64)).cuda()\ntrain(2)\nmodel = Broken(64, 64).cuda()\ntrain(1)", 5),
    "a module's attributes raise": (
        "class Broken(torch.nn.Linear):\n    def __getattribute__(self, name):\n"
        "        if name in ('named_modules', 'named_parameters', 'named_buffers', '__class__'):\n"
        "            raise KeyError(name)\n        return super().__getattribute__(name)\n"
        "model = Broken(64, 64).cuda()\ntrain(1)", 3),
    "an object's class raises": (
        "class Odd:\n    @property\n    def __class__(self):\n        raise SystemError('odd')\n"
        "odd = Odd()\ntrain(1)", 3),
    "stdout replaced": ("import io\nsys.stderr = io.StringIO(); train(1); sys.stderr = None", 3),
    "module names that are no text": ("model._modules['\\udcff'] = torch.nn.Linear(64, 64).cuda(); train(1)", 3),
}

# Our lines other than those of the answer.
SAYS = {"named_modules raises": ["some modules have no names: ValueError: no names"],
        "a module's attributes raise": ["some modules have no names: KeyError: "]}

# Before the first call of CUDA.
EARLY = {
    "another folder first": "import os; os.mkdir('below'); os.chdir('below')",
    "no environment first": "import os; os.environ.clear()",
    "all files closed first": "import os; os.closerange(3, 65536)",
    "no temporary folder": "import os; os.environ['TMPDIR'] = '/nowhere'",
}


def comparable(text, folder):
    """Without the parts that differ in every process: folders, addresses, times, process ids."""
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", text.replace(folder.top, "TOP"))
    return re.sub(r"\[W\d+ [\d:.]+ ", "[W ", text)


def compare(runs, text, n_steps, options=(), environment=None, says=()):
    """Runs it twice. Returns what the recorded one left, after the checks that all have in common."""
    folders = [Folder(), Folder()]
    paths = [folder.write("program.py", text) for folder in folders]
    bare = runs.bare(folders[0], [runs.python, paths[0]], environment)
    done = runs.recorded(folders[1], [runs.python, paths[1]], options, environment)
    for what in ("stdout", "errors"):
        same = [comparable(getattr(of, what), of.folder) for of in (bare, done)]
        need(same[0] == same[1], what, "differs:", repr(same[0]), "is now", repr(same[1]), done.ours)
    need(bare.status == done.status, "status", bare.status, "is now", done.status, done.ours)
    need(bare.stdout.count("trained") > 0, "the program did not run:", bare.stderr[-300:])
    need(not folders[1].left(), "left behind:", folders[1].left())
    new = set(folders[1].outputs()) - set(folders[0].outputs())
    need(new == {"program-h100-80.json.gz", "program-h100-80.html"}, "files:", new, done.stderr[-500:])
    told = [line for line in done.ours if not line.startswith("tidemark run:")]
    need(len(told) == len(says) and all(said in line for said, line in zip(says, told)), "our lines:", told)
    snapshot = done.snapshots[0]
    need(n_steps is None or snapshot.n_steps == n_steps, "steps:", snapshot.n_steps, "of", n_steps)
    return done, snapshot


def check_program(runs, name):
    rest, n_steps = PROGRAMS[name]
    done, snapshot = compare(runs, TRAIN + rest, n_steps, says=SAYS.get(name, ()))
    need(snapshot.is_live, "it was not recorded by the log")
    return f"status {done.status}, {snapshot.n_events} events, {snapshot.n_steps} steps"


def check_early(runs, name):
    done, snapshot = compare(runs, EARLY[name] + "\n" + TRAIN, 2)
    need(snapshot.is_live, "it was not recorded by the log")
    return f"status {done.status}, {snapshot.n_events} events"


def main():
    runs = Runs(sys.argv[1], sys.argv[2])
    checks = [(name, lambda name=name: check_program(runs, name)) for name in PROGRAMS]
    checks += [(name, lambda name=name: check_early(runs, name)) for name in EARLY]
    n_bad = run_checks(checks, sys.argv[3:])
    print(f"faults: {len(checks)} checks, {n_bad} wrong")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
