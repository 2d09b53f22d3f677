#!/usr/bin/env python3
"""Kills recorded programs, and takes away the room for their logs: live_kills.py TIDEMARK PYTHON [NAME...]

NAME begins the name of a check.
"""
import os
import random
import resource
import signal
import subprocess
import sys
import time

from live_runs import Folder, Runs, need, run_checks, wait_for

N_KILLS = 20

FOREVER = """
import os, torch
print(os.getpid(), flush=True)
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for i in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
step = 0
while True:
    model(torch.randn(8, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    step += 1
    print(step, flush=True)
"""

# More events than a small log has rows: 600 steps of some forty. Its blocks at the end, as PyTorch knows them.
MANY = """
import json, torch
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for i in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
kept = []
for step in range(600):
    model(torch.randn(8, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        kept.append(torch.empty(1000 * step + 1, dtype=torch.uint8, device="cuda"))
    if step % 30 == 29:
        del kept[::3]
blocks = [(block["address"], block["size"], block["state"].startswith("active"))
          for segment in torch.cuda.memory_snapshot() for block in segment["blocks"]]
print(json.dumps(sorted(blocks)), flush=True)
import os
os.kill(os.getpid(), 9)
"""

# PyTorch's own thread for the backward pass may abort a process that ends immediately after one.
FEW = """
import time, torch
layer = torch.nn.Linear(64, 64).cuda()
layer(torch.randn(8, 64, device="cuda")).sum().backward()
print("done")
time.sleep(0.5)
"""


def processes_of(folder):
    """Processes of runs in the folder."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if f"TIDEMARK_RUN_FOLDER={folder.temporary}".encode() in file.read():
                    found.append(int(name))
        except OSError:
            pass  # gone
    return found


def start(runs, folder, text):
    command = runs.command([], [runs.python, folder.write("program.py", text)])
    run = subprocess.Popen(command, cwd=folder.work, env=folder.environment(), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    return run, int(run.stdout.readline())


def check_kill(runs, number):
    """The program, at any instant from its first step on."""
    folder, chance = Folder(), random.Random(number)
    run, pid = start(runs, folder, FOREVER)
    run.stdout.readline()
    time.sleep(chance.uniform(0, 1.5))
    os.kill(pid, signal.SIGKILL)
    out, errors = run.communicate(timeout=300)
    n_printed = int(out.split("\n")[-2]) if "\n" in out else 1
    need(run.returncode == -signal.SIGKILL, "status", run.returncode, errors)
    snapshots = folder.snapshots()
    need(len(snapshots) == 1 and "signal 9 ended the program" in errors, folder.outputs(), errors)
    found = snapshots[0]
    need(found.outcome == "crashed" and found.is_live and found.dropped == 0, found.outcome, found.dropped)
    need(n_printed <= found.n_steps <= n_printed + 2, "steps", found.n_steps, "but printed", n_printed)
    need({"0.weight", "3.bias.exp_avg"} <= found.names, "names of tensors are missing")
    need(not wait_for(processes_of(folder).__len__, 0) and not folder.left(), "left:", folder.left())
    return f"{found.n_events} events, {found.n_steps} steps, {n_printed} printed"


def check_kill_of_command(runs):
    """`tidemark run` itself: its program ends, and the log stays for `tidemark recover`."""
    folder = Folder()
    run, pid = start(runs, folder, FOREVER)
    run.stdout.readline()
    time.sleep(0.3)
    run.kill()
    out = run.communicate(timeout=300)[0]
    need(wait_for(lambda: not processes_of(folder)), "processes are left")
    need(wait_for(lambda: not os.listdir(folder.temporary)), "left:", os.listdir(folder.temporary))
    left = sorted(os.path.basename(path) for path in folder.left()[1:])
    need(left == [f"{pid}.log", "command"], "logs:", folder.left())
    done = subprocess.run([runs.tidemark, "recover", "--last", "-o", "last.json.gz"], cwd=folder.work, capture_output=True,
                          text=True, env=folder.environment())
    need(done.returncode == 0, done.stderr)
    found = folder.snapshots()[0]
    n_printed = int(out.split("\n")[-2])
    need(n_printed <= found.n_steps <= n_printed + 2 and "0.weight" in found.names, found.n_steps, n_printed)
    return f"{found.n_events} events, {found.n_steps} steps, {n_printed} printed"


def check_full(runs, policy, totals={}):
    """A log of 1 MiB: what was dropped is counted, and the newest rows end where PyTorch ended."""
    folder = Folder()
    options = ["--full", policy, "--log-bytes", "1MiB"] if policy else []
    done = runs.recorded(folder, [runs.python, folder.write("program.py", MANY)], options)
    need(done.status == -signal.SIGKILL and len(done.snapshots) == 1, done.status, done.ours)
    found = done.snapshots[0]
    need(found.is_live and (found.dropped > 0) == bool(policy), "dropped", found.dropped)
    if policy != "stop":
        import json
        true = [tuple(block) for block in json.loads(done.stdout)]
        ours = found.blocks()
        need(ours == true, "blocks at the end:", len(ours), "of", len(true), set(ours) ^ set(true))
    need(policy != "stop" or not found.blocks("start"), "a log that stops begins at the beginning")
    need(policy != "keep-newest" or found.blocks("start"), "the state at the start")
    need(not folder.left(), "left:", folder.left())
    return f"{found.n_events} events, {found.dropped} dropped, {len(found.blocks())} blocks"


def check_few(runs, options, environment, says, is_live=False, **named):
    """The log cannot be made: the program runs on, and PyTorch keeps its history."""
    folder, bare = Folder(), Folder()
    wanted = runs.bare(bare, [runs.python, bare.write("program.py", FEW)])
    done = runs.recorded(folder, [runs.python, folder.write("program.py", FEW)], options, environment, **named)
    for what in ("status", "stdout", "errors"):
        need(getattr(done, what) == getattr(wanted, what), what, repr(getattr(done, what)), "is not", repr(getattr(wanted, what)), done.ours)
    told = [line for line in done.ours if not line.startswith("tidemark run:")]
    need(len(told) == bool(says) and says in "".join(told), "our lines:", told)
    need(len(done.snapshots) == 1 and done.snapshots[0].is_live == is_live, "snapshots:", folder.outputs(), done.ours)
    need(done.snapshots[0].n_events > 5, done.snapshots[0].n_events)
    need(set(folder.outputs()) == {"program.py", "program-h100-80.json.gz", "program-h100-80.html"}, folder.outputs())
    need(not folder.left(), "left:", folder.left())
    return "".join(told).strip()[:60]


def check_full_disk(runs):
    small = Folder()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", small.state], stderr=subprocess.DEVNULL).returncode:
        return "skipped: a small file system cannot be mounted here; the limit of a file's size is tried instead"
    try:
        return check_few(runs, [], {"XDG_STATE_HOME": small.state}, "is not recorded")
    finally:
        subprocess.run(["umount", small.state], check=True)


def limit_files():
    """A file of more than 64 MiB would be a signal that ends the program: the log is made smaller."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))


def check_relative_log(runs):
    """The log is in the folder in which the command was given, wherever the program goes."""
    folder = Folder()
    text = "import os\nos.mkdir('below')\nos.chdir('below')\n" + FEW
    done = runs.recorded(folder, [runs.python, folder.write("program.py", text)], ["--log", "named-%p.log"])
    names = [name for name in folder.outputs() if name.endswith(".log")]
    need(done.status == 0 and len(names) == 1, folder.outputs(), done.ours)
    need(len(done.snapshots) == 1 and done.snapshots[0].is_live, done.ours)


def main():
    runs = Runs(sys.argv[1], sys.argv[2])
    checks = [(f"kill {i}", lambda i=i: check_kill(runs, i)) for i in range(N_KILLS)]
    checks += [
        ("killed command", lambda: check_kill_of_command(runs)),
        ("large log", lambda: check_full(runs, None)),
        ("full log keep-newest", lambda: check_full(runs, "keep-newest")),
        ("full log stop", lambda: check_full(runs, "stop")),
        ("full disk", lambda: check_full_disk(runs)),
        ("limit of files", lambda: check_few(runs, [], {}, "", is_live=True, preexec_fn=limit_files)),
        ("no such folder", lambda: check_few(runs, ["--log", "/nowhere/%p.log"], {}, "is not recorded")),
        ("no state folder", lambda: check_few(runs, [], {"XDG_STATE_HOME": "/dev/null/x"}, "", is_live=True)),
        ("relative log", lambda: check_relative_log(runs)),
    ]
    n_bad = run_checks(checks, sys.argv[3:])
    print(f"kills: {len(checks)} checks, {n_bad} wrong")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
