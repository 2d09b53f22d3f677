#!/usr/bin/env python3
"""Programs under a black box (`tidemark env`): live_box.py TIDEMARK PYTHON [--kills N] [NAME...]

A job script on a virtual card evaluates what `tidemark env` prints, and then starts its program as it always does. NAME begins the
name of a check; with --kills N, N programs are killed at random moments, and none may be lost.
"""
import gzip
import json
import os
import queue
import random
import signal
import struct
import subprocess
import sys
import time

from live_runs import CARD, Folder, Runs, Snapshot, need, run_checks, wait_for

TRAIN = """
import os, sys, time
import torch
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for i in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
def steps(n):
    for step in range(n):
        model(torch.randn(8, 64, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
steps(3)
time.sleep(0.3)  # PyTorch's own thread for the backward pass may abort a process that ends immediately after one
print("trained", flush=True)
"""
FILL = """
kept = []
while True:
    kept.append(torch.empty(8 << 30, dtype=torch.uint8, device="cuda"))
"""
CAUGHT = TRAIN + """
try:
    torch.empty(100 << 30, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    print("caught", flush=True)
for _ in range(600):
    if any(name.endswith(".digest.json.gz") for name in os.listdir("oom")):
        print("written", flush=True)
        break
    time.sleep(0.1)
"""
FOREVER = TRAIN.replace("steps(3)", "print('begin', flush=True)") + """
while True:
    steps(1)
"""
# Imports PyTorch once; each line of its input makes a child, which trains for ever, and then reports how it ended.
SERVER = TRAIN.split("model =")[0] + """import torch._dynamo  # by the optimizer: takes a second
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        break
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit(0)
""" + "model =" + FOREVER.split("model =")[1].replace("print('begin', flush=True)", "").replace('print("trained", flush=True)', "")
WAIT = TRAIN + "time.sleep(60)\n"
WORKERS = TRAIN + """
from torch.utils.data import DataLoader
for batch in DataLoader(list(range(64)), batch_size=8, num_workers=2):
    pass
assert torch.multiprocessing.active_children() == []
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
try:
    os.waitpid(-1, os.WNOHANG)
    print("a child is there")
except ChildProcessError:
    print("no children")
"""
SPAWNED = TRAIN.replace("import torch\n", "import torch\ndef work(i):\n    torch.ones(8, device='cuda')\nif __name__ == '__main__':\n"
                        "    torch.multiprocessing.spawn(work, nprocs=2)\n    sys.exit(0)\n")
RANKS = """
import os, time
import torch
rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
kept = []
for step in range(100):
    kept.append(torch.empty((9 << 30) if rank == 1 else (1 << 28), dtype=torch.uint8, device="cuda"))
    time.sleep(0.1)
"""
DEEP = """
import os
import torch
def deep(n):
    return deep(n - 1) if n else torch.empty(9 << 20, dtype=torch.uint8, device="cuda")
kept = [deep(20), deep(1)]
del kept[1]
os.kill(os.getpid(), 9)
"""
LEFT = TRAIN + "os._exit(int(os.environ['STATUS']))\n"
LATE = """
import os, time
import torch
old = [torch.empty(1 << 20, dtype=torch.uint8, device="cuda") for i in range(50)]
time.sleep(2.5)
kept = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
os.kill(os.getpid(), 9)
"""


# Linux keeps the status of a process after its parent has read it.
STATUS_IS_KEPT = tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) >= (6, 15)


class Job:
    """A job script in folders of its own, on a virtual card."""

    def __init__(self, runs, text, options="", card=CARD, command="$PYTHON program.py", before=""):
        self.runs, self.folder = runs, Folder()
        self.folder.write("program.py", text)
        self.box = os.path.join(self.folder.work, "oom")
        script = (f'{before}\neval "$("$TIDEMARK" env --on-oom oom {options})"\nexec {command}\n')
        self.script = self.folder.write("job.sh", script)
        library = os.path.join(runs.objects, "libtidemark_virtual_cuda.so")
        links = os.path.join(self.folder.top, "links")
        os.mkdir(links)
        for name in ("libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"):
            os.symlink(library, os.path.join(links, name))
        self.card = dict(TIDEMARK_VIRTUAL_CARDS=card, LD_LIBRARY_PATH=links, LD_PRELOAD=library, TIDEMARK=runs.tidemark,
                         PYTHON=runs.python)

    def start(self, stdin=subprocess.DEVNULL, **more):
        environment = self.folder.environment(**dict(self.card, **more))
        return subprocess.Popen(["sh", self.script], cwd=self.folder.work, env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, stdin=stdin, text=True)

    def run(self, **more):
        job = self.start(**more)
        out, errors = job.communicate(timeout=300)
        return job.returncode, out, errors

    def left(self, ending=""):
        names = sorted(os.listdir(self.box)) if os.path.isdir(self.box) else []
        return [name for name in names if name.endswith(ending)]

    def wait_written(self, n=1):
        """Until n processes have their digests and no ring is left."""
        need(wait_for(lambda: len(self.left(".digest.json.gz")) == n and not self.left(".ring"), 60), "left:", self.left())
        need(len(self.left()) == 2 * n, "left:", self.left())

    def ranks(self):
        return tidemark(self.runs, self.folder, "ranks", self.box)

    def explain(self):
        snapshot = [name for name in self.left(".json.gz") if ".digest." not in name][0]
        return tidemark(self.runs, self.folder, "explain", os.path.join(self.box, snapshot))

    def summary(self):
        snapshot = [name for name in self.left(".json.gz") if ".digest." not in name][0]
        return tidemark(self.runs, self.folder, "summary", os.path.join(self.box, snapshot))


def tidemark(runs, folder, *arguments):
    done = subprocess.run([runs.tidemark, *arguments], capture_output=True, text=True, env=folder.environment(), cwd=folder.work)
    need(done.returncode == 0, arguments, done.stdout, done.stderr)
    return done.stdout


def helpers(job):
    """Processes that watch rings of the job."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if job.box.encode() in file.read():
                    found.append(int(name))
        except OSError:
            pass  # gone
    return found


def check_clean(runs):
    job = Job(runs, TRAIN)
    status, out, errors = job.run()
    need((status, out, errors) == (0, "trained\n", ""), status, out, errors)
    need(job.left() == [], "left:", job.left())
    need(wait_for(lambda: not helpers(job), 20), "a process is left")


def check_exception(runs):
    """An error that has nothing to do with memory leaves nothing."""
    job = Job(runs, TRAIN + "raise SystemExit(7)\n")
    need(job.run()[0] == 7 and job.left() == [], "left:", job.left())


def check_oom(runs):
    job = Job(runs, TRAIN + FILL)
    status, out, errors = job.run()
    bare = runs.bare(Folder(), [runs.python, job.folder.write("program.py", TRAIN + FILL)])
    need(status == bare.status == 1 and out == bare.stdout and "tidemark" not in errors, status, errors)
    need(errors.count("\n") == bare.errors.count("\n"), errors, bare.errors)
    job.wait_written()
    said = job.ranks()
    line = len((TRAIN + FILL).splitlines())
    need(f"ran out of memory first at program.py:{line}: 8.00 GiB were asked for" in said, said)
    need("kept.append(torch.empty(8 << 30" in job.explain(), job.explain())
    need("0.weight" in job.summary(), job.summary())
    need("optimizer_state" in job.summary(), job.summary())
    need(wait_for(lambda: not helpers(job), 20), "a process is left")


def check_caught(runs):
    """The snapshot is there while the program goes on, and stays after its good end; the ring does not."""
    job = Job(runs, CAUGHT)
    status, out, errors = job.run()
    need(status == 0 and out == "trained\ncaught\nwritten\n", status, out, errors)
    job.wait_written()


def check_signal(runs, number):
    """The line of the peak is known after a signal that ends the program, which has its own status."""
    job = Job(runs, WAIT)
    started = job.start()
    need(started.stdout.readline() == "trained\n", "not trained")
    os.kill(started.pid, number)
    out, errors = started.communicate(timeout=300)
    need(started.returncode == -number, "status", started.returncode, errors)
    job.wait_written()
    need("program.py" in job.ranks(), job.ranks())
    need(not STATUS_IS_KEPT or f" ended by {signal.Signals(number).name}" in job.ranks(), job.ranks())


def check_frames(runs, options, expected):
    """Allocations have the innermost frames; frees have none."""
    job = Job(runs, DEEP, options)
    job.run()
    job.wait_written()
    [found] = snapshots_of(job)
    stacks = found.stacks_of("alloc", 9 << 20)
    need([len(stack) for stack in stacks] == expected and all(stack[0][0] == "deep" for stack in stacks), stacks)
    need(found.stacks_of("free", 9 << 20) == [[]], found.stacks_of("free", 9 << 20))


def check_left(runs):
    """os._exit with another status than 0 is a failure."""
    job = Job(runs, LEFT)
    need(job.run(STATUS="0")[0] == 0 and job.left() == [], "left:", job.left())
    job = Job(runs, LEFT)
    need(job.run(STATUS="3")[0] == 3, "status")
    job.wait_written()
    need(not STATUS_IS_KEPT or " ended with exit status 3" in job.ranks(), job.ranks())


def check_ring(runs, command):
    """Process and watcher end together, as with a container: the ring stays, and the command makes the files."""
    job = Job(runs, WAIT)
    started = job.start()
    need(started.stdout.readline() == "trained\n", "not trained")
    watchers = [pid for pid in helpers(job)]
    need(len(watchers) == 1, "watchers:", watchers)
    os.kill(watchers[0], signal.SIGKILL)
    started.kill()
    started.communicate(timeout=300)
    need(len(job.left()) == len(job.left(".ring")) == 1, "left:", job.left())
    said = tidemark(runs, job.folder, command, job.box)
    need(command != "recover" or "1 of 1 ring recovered, 0 still written" in said, said)
    job.wait_written()
    need("program.py" in job.ranks(), job.ranks())


def check_tmpfs(runs):
    """The ring in another folder is linked, and goes with its link."""
    folder = Folder()
    job = Job(runs, WAIT, f"--ring {folder.work}/rings")
    started = job.start()
    need(started.stdout.readline() == "trained\n", "not trained")
    need(os.path.islink(os.path.join(job.box, job.left(".ring")[0])), job.left())
    need(len(os.listdir(f"{folder.work}/rings")) == 1, "no ring")
    started.terminate()
    started.communicate(timeout=300)
    job.wait_written()
    need(os.listdir(f"{folder.work}/rings") == [], "left:", os.listdir(f"{folder.work}/rings"))
    clean = Job(runs, TRAIN, f"--ring {folder.work}/rings")
    need(clean.run()[0] == 0 and clean.left() == [] and os.listdir(f"{folder.work}/rings") == [], "left:", clean.left())


def check_ranks(runs):
    job = Job(runs, RANKS, card=CARD + "+" + CARD, command="$PYTHON -m torch.distributed.run --nproc-per-node 2 program.py")
    status, _, errors = job.run()
    need(status == 1 and "OutOfMemoryError" in errors, status, errors)
    job.wait_written(2)
    need(all("-rank" in name for name in job.left()), job.left())
    said = job.ranks()
    need("rank 1 ran out of memory first at program.py:8: 9.00 GiB were asked for" in said, said)
    need(not STATUS_IS_KEPT or "rank 1 failed first, with exit status 1" in said, said)


def check_keep(runs):
    """Events before the window are left out, and what they left alive is there."""
    job = Job(runs, LATE, "--keep 1s")
    job.run()
    job.wait_written()
    [found] = [found for found in snapshots_of(job)]
    need(found.dropped >= 50, "dropped", found.dropped)
    need(sum(size == 1 << 20 and used for _, size, used in found.blocks("start")) == 50, found.blocks("start"))
    need(sum(size == 1 << 20 and used for _, size, used in found.blocks("end")) == 50, found.blocks("end"))


def check_whole_window(runs):
    job = Job(runs, LATE, "--keep 10min")
    job.run()
    job.wait_written()
    need(snapshots_of(job)[0].dropped == 0, "dropped", snapshots_of(job)[0].dropped)


def snapshots_of(job):
    found = []
    for name in job.left(".json.gz"):
        if ".digest." not in name:
            with gzip.open(os.path.join(job.box, name)) as file:
                found.append(Snapshot(name, json.load(file)))
    return found


def check_unwritable(runs):
    """One line, and the program runs on; later, when the folder has gone, one line of the process."""
    job = Job(runs, TRAIN, before="touch oom")
    status, out, errors = job.run()
    need((status, out) == (0, "trained\n") and errors.count("\n") == 1 and "nothing is recorded" in errors, status, out, errors)
    job = Job(runs, TRAIN, command='sh -c "rmdir oom; touch oom; $PYTHON program.py"')
    status, out, errors = job.run()
    need((status, out) == (0, "trained\n") and errors.count("\n") == 1 and "is not recorded" in errors, status, out, errors)
    need(os.path.getsize(job.box) == 0, "the file was changed")


def check_kept(runs):
    """What is in the folder stays, also files with the names that a process would use."""
    job = Job(runs, TRAIN + FILL, before='mkdir oom; for n in $(seq $$ $(($$ + 3))); do for e in ring json.gz digest.json.gz; do '
                                        'echo mine >oom/$(hostname -s)-$n.$e; done; done')
    need(job.run()[0] == 1, "status")
    need(wait_for(lambda: any(name.endswith("-2.digest.json.gz") for name in job.left()), 60), job.left())
    need(wait_for(lambda: not any(name.endswith("-2.ring") for name in job.left()), 60), job.left())
    theirs = [name for name in job.left() if "-2." not in name]
    need(len(theirs) == 12 and all(open(os.path.join(job.box, name)).read() == "mine\n" for name in theirs), theirs)


def check_workers(runs):
    job = Job(runs, WORKERS)
    status, out, errors = job.run()
    need((status, out, errors) == (0, "trained\nno children\n", "") and job.left() == [], status, out, errors, job.left())


def check_spawned(runs):
    """Children of multiprocessing end with os._exit."""
    job = Job(runs, SPAWNED, card=CARD + "+" + CARD)
    status, out, errors = job.run()
    need((status, errors) == (0, "") and job.left() == [], status, out, errors, job.left())


def check_variables(runs):
    """What LD_PRELOAD has stays, and a program without CUDA leaves nothing."""
    job = Job(runs, "", command='sh -c "echo $LD_PRELOAD; ls oom"')
    status, out, errors = job.run()
    ours = os.path.join(runs.objects, "libtidemark_live.so")
    need(out == f"{ours}:{job.card['LD_PRELOAD']}\n" and errors == "", out, errors)


def check_in_run(runs, text, options=()):
    """Within `tidemark run`, the black box is the recording."""
    folder = Folder()
    folder.write("program.py", text)
    os.mkdir(os.path.join(folder.work, "oom"))
    script = folder.write("job.sh", 'eval "$("$TIDEMARK" env --on-oom oom)"\nexec $PYTHON program.py\n')
    done = runs.recorded(folder, ["sh", script], options, dict(TIDEMARK=runs.tidemark, PYTHON=runs.python))
    names = lambda: sorted(os.listdir(os.path.join(folder.work, "oom")))
    if text is TRAIN:
        need(done.status == 0 and names() == [], done.stderr, names())
        return
    need(wait_for(lambda: len(names()) == 2 and names()[0].endswith(".digest.json.gz"), 60), names(), done.stderr)
    said = tidemark(runs, folder, "ranks", os.path.join(folder.work, "oom"))
    need("ran out of memory first" in said, said)


def check_run_in_job(runs):
    """`tidemark run` in the job wins: its snapshot is written with all frames, and the black box leaves nothing."""
    job = Job(runs, DEEP.replace("os.kill(os.getpid(), 9)", ""), "--frames 3",
              command=f"env LD_LIBRARY_PATH= $TIDEMARK run --device virtual:{CARD} -- $PYTHON program.py")
    status, out, errors = job.run()
    need(status == 0 and job.left() == [] and len(job.folder.snapshots()) == 1, status, errors, job.left())
    [found] = job.folder.snapshots()
    n_frames = [len(stack) for stack in found.stacks_of("alloc", 9 << 20)]
    need(n_frames == [22, 3], n_frames)


def n_events(ring):
    with open(ring, "rb") as file:
        return struct.unpack_from("Q", file.read(264), 256)[0]  # docs/reference/log-format.md


class Killer:
    """Kills children of one process, which has imported PyTorch for all of them."""

    def __init__(self, runs):
        self.job, self.process = Job(runs, SERVER), None

    def start(self):
        self.process = self.job.start(stdin=subprocess.PIPE)

    def kill(self, number):
        """SIGKILL at any moment from the first event on: snapshot and digest are written."""
        if self.process is None:
            self.start()
        chance = random.Random(number)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        child = self.process.stdout.readline().strip()
        name = lambda ending: [name for name in self.job.left(ending) if name.endswith(f"-{child}{ending}")]
        need(child.isdigit() and wait_for(lambda: name(".ring") and n_events(os.path.join(self.job.box, name(".ring")[0])) > 0, 60),
             "no event of", child)
        time.sleep(chance.uniform(0, 2))
        os.kill(int(child), signal.SIGKILL)
        need(self.process.stdout.readline() == f"{-signal.SIGKILL}\n", "status")
        need(wait_for(lambda: name(".digest.json.gz") and not name(".ring"), 60), "left:", self.job.left())
        with gzip.open(os.path.join(self.job.box, name(".json.gz")[0])) as file:
            found = Snapshot(child, json.load(file))
        need(found.outcome == "crashed" and found.dropped == 0 and found.n_events > 0, found.outcome, found.dropped)
        for left in name(".json.gz") + name(".digest.json.gz"):
            os.remove(os.path.join(self.job.box, left))
        return f"{found.n_events} events"

    def end(self):
        if self.process is not None:
            need(self.process.communicate(timeout=60)[1] == "" and self.process.returncode == 0, "the parent of the killed")


def check_kill(free, number):
    killer = free.get()
    try:
        return killer.kill(number)
    finally:
        free.put(killer)


def main():
    runs = Runs(sys.argv[1], sys.argv[2])
    names = sys.argv[3:]
    n_kills = 6
    if names[:1] == ["--kills"]:
        n_kills, names = int(names[1]), names[2:]
    checks = [
        ("clean exit", lambda: check_clean(runs)),
        ("other exit", lambda: check_exception(runs)),
        ("out of memory", lambda: check_oom(runs)),
        ("caught out of memory", lambda: check_caught(runs)),
        ("SIGKILL", lambda: check_signal(runs, signal.SIGKILL)),
        ("SIGTERM", lambda: check_signal(runs, signal.SIGTERM)),
        ("SIGSEGV", lambda: check_signal(runs, signal.SIGSEGV)),
        ("SIGABRT", lambda: check_signal(runs, signal.SIGABRT)),
        ("all frames", lambda: check_frames(runs, "", [22, 3])),
        ("3 frames", lambda: check_frames(runs, "--frames 3", [3, 3])),
        ("os._exit", lambda: check_left(runs)),
        ("ring and recover", lambda: check_ring(runs, "recover")),
        ("ring and ranks", lambda: check_ring(runs, "ranks")),
        ("ring in another folder", lambda: check_tmpfs(runs)),
        ("ranks of torchrun", lambda: check_ranks(runs)),
        ("window", lambda: check_keep(runs)),
        ("whole window", lambda: check_whole_window(runs)),
        ("unwritable folder", lambda: check_unwritable(runs)),
        ("files of the user", lambda: check_kept(runs)),
        ("workers", lambda: check_workers(runs)),
        ("spawned", lambda: check_spawned(runs)),
        ("variables", lambda: check_variables(runs)),
        ("within run, clean", lambda: check_in_run(runs, TRAIN)),
        ("within run, out of memory", lambda: check_in_run(runs, TRAIN + FILL)),
        ("run in the job", lambda: check_run_in_job(runs)),
    ]
    killers = [Killer(runs), Killer(runs)]
    free = queue.SimpleQueue()
    for killer in killers:
        free.put(killer)
    checks += [(f"kill {i}", lambda i=i: check_kill(free, i)) for i in range(n_kills)]
    n_bad = run_checks(checks, names)
    for killer in killers:
        killer.end()
    print(f"black box: {n_kills} kills and {len(checks) - n_kills} other checks, {n_bad} wrong")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
