"""A black box without PyTorch: check_box.py TIDEMARK OBJECTS [--kills N].

A program on a virtual card allocates memory, and is killed at N random moments: its snapshot must have every allocation that it
has reported, and those that it has released must not be there. OBJECTS holds the preloaded libraries.
"""
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = """
import ctypes, os, sys
cuda = ctypes.CDLL(None)
def take(n_bytes):
    at = ctypes.c_uint64()
    return cuda.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(n_bytes)), at
take(1 << 20)
print("begin", flush=True)
what = sys.argv[1]
if what == "refused":
    print(take(1 << 40)[0], flush=True)
    sys.exit(1)
if what == "forked" and os.fork() == 0:
    os._exit(0)
if what.startswith("left"):
    os._exit(int(what[4:]))
if what == "system call":
    cuda.syscall(231, 0)  # exit_group
if what.startswith("failed"):
    sys.stdin.readline()
    print(take(1 << 40)[0], flush=True)
    sys.stdin.readline()
if what == "failed and left":
    os._exit(0)
if what == "failed, system call":
    cuda.syscall(231, 0)
number = 0
while what == "for ever":
    status, at = take(4096)
    number += 1
    if number % 2:
        cuda.cudaFree(at)
    os.write(1, b"%d\\n" % number)
"""


# Linux keeps the status of a process after its parent has read it.
STATUS_IS_KEPT = tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) >= (6, 15)


def need(condition, *what):
    if not condition:
        sys.exit("WRONG: " + " ".join(str(part) for part in what))


class Job:
    """A process with the variables of `tidemark env`, in a folder of its own."""

    def __init__(self, tidemark, objects, what):
        self.tidemark = tidemark
        self.owner = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.box = os.path.join(self.owner.name, "oom")
        printed = subprocess.run([tidemark, "env", "--on-oom", self.box, "--format", "env", "--log-bytes", "4MiB"],
                                 capture_output=True, text=True, check=True).stdout
        ours = dict(line.split("=", 1) for line in printed.splitlines())
        ours["LD_PRELOAD"] += f":{objects}/libtidemark_virtual_cuda.so"
        self.process = subprocess.Popen([sys.executable, "-S", "-c", PROGRAM, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=dict(os.environ, **ours, TIDEMARK_VIRTUAL_CARDS="h100-80"), text=True)

    def end(self):
        out, errors = self.process.stdout.read(), self.process.stderr.read()  # communicate() omits what was read ahead
        return self.process.wait(60), out.split(), errors

    def left(self):
        return sorted(os.listdir(self.box)) if os.path.isdir(self.box) else []

    def snapshot(self):
        """When it is written and the ring is removed."""
        end = time.monotonic() + 60
        while len(self.left()) != 2 or not self.left()[0].endswith(".digest.json.gz"):
            need(time.monotonic() < end, "left:", self.left())
            time.sleep(0.02)
        with gzip.open(os.path.join(self.box, self.left()[1])) as file:
            return json.load(file)


def n_allocated(snapshot):
    """Allocations and releases of 4096 bytes, and the blocks of that size that are in use at the end."""
    events, names = snapshot["events"], snapshot["actions"]
    rows = [names[action] for action, size in zip(events["action"], events["requested_bytes"]) if size == 4096]
    return rows.count("alloc"), rows.count("free")


def check_kill(tidemark, objects, number):
    chance = random.Random(number)
    job = Job(tidemark, objects, "for ever")
    need(job.process.stdout.readline() == "begin\n", "it did not begin")
    time.sleep(chance.uniform(0, 0.2))
    job.process.kill()
    status, printed, errors = job.end()
    need(status == -signal.SIGKILL and errors == "", status, errors)
    n_printed = int(printed[-1]) if printed else 0
    found = job.snapshot()
    need(not STATUS_IS_KEPT or " ended by SIGKILL" in ranks(tidemark, job.box), ranks(tidemark, job.box))
    n, n_freed = n_allocated(found)
    need(found["run"]["outcome"] == "crashed" and found["log"]["dropped_events"] in (0, n), found["log"])
    need(n_printed <= n <= n_printed + 1, "kill", number, ":", n, "allocations, but", n_printed, "printed")
    need(n // 2 <= n_freed <= n // 2 + 1, "kill", number, ":", n_freed, "of", n, "released")
    return n


def check_ends(tidemark, objects):
    job = Job(tidemark, objects, "")
    need(job.end() == (0, ["begin"], "") and job.left() == [], job.left())
    job = Job(tidemark, objects, "forked")
    need(job.end()[0] == 0 and job.left() == [], job.left())
    job = Job(tidemark, objects, "refused")
    need(job.end() == (1, ["begin", "2"], ""), "refused")
    job.snapshot()
    said = ranks(tidemark, job.box)
    need("ran out of memory first" in said and "1.00 TiB were asked for" in said, said)


def watcher_of(job):
    """The process that waits for the job's end in the background."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if f"-{job.process.pid}.ring".encode() in file.read():
                    return int(name)
        except OSError:
            pass  # ended
    return need(False, "no watcher")


def check_failed(tidemark, objects):
    """A failed request and a good end: the snapshot is written, also by a watcher that comes late and where another program has read
    the ring."""
    for how in ("failed", "failed and left", "failed, system call"):
        job = Job(tidemark, objects, how)
        need(job.process.stdout.readline() == "begin\n", "it did not begin")
        watcher = watcher_of(job)
        os.kill(watcher, signal.SIGSTOP)
        print(file=job.process.stdin, flush=True)
        need(job.process.stdout.readline() == "2\n", "not refused")
        if how != "failed, system call":
            with open(os.path.join(job.box, job.left()[0]), "rb") as file:
                file.read()
        print(file=job.process.stdin, flush=True)
        need(job.end() == (0, [], ""), how)
        os.kill(watcher, signal.SIGCONT)
        job.snapshot()
        said = ranks(tidemark, job.box)
        need("ran out of memory first" in said and "1.00 TiB were asked for" in said, how, said)


def check_left(tidemark, objects):
    """os._exit: with 0 the library removes the ring, else it is a failure."""
    job = Job(tidemark, objects, "left0")
    need(job.end() == (0, ["begin"], "") and job.left() == [], job.left())
    job = Job(tidemark, objects, "system call")
    need(job.end()[0] == 0, "status")
    end = time.monotonic() + 60
    while job.left() and STATUS_IS_KEPT:
        need(time.monotonic() < end, "left:", job.left())
        time.sleep(0.02)
    job = Job(tidemark, objects, "left3")
    need(job.end() == (3, ["begin"], ""), "status")
    job.snapshot()
    need(not STATUS_IS_KEPT or " ended with exit status 3" in ranks(tidemark, job.box), ranks(tidemark, job.box))


def check_template(tidemark):
    """The job of the page with Slurm's srun and the training as stand-ins: its status is that of the training."""
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/guide/black-box.md")
    with open(page, encoding="utf-8") as file:
        script = "#!/bin/bash" + file.read().split("\n#!/bin/bash")[1].split("\n```")[0] + "\n"
    stand_ins = {"srun": 'while case $1 in --*) true;; *) false;; esac; do shift; done; "$@"', "python": "exit $STATUS",
                 "tidemark": f'echo "$1" >>$CALLS; exec {tidemark} "$@"'}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in stand_ins.items():
            with open(os.path.join(folder, name), "w", opener=lambda path, flags: os.open(path, flags, 0o755)) as file:
                file.write(f"#!/bin/sh\n{text}\n")
        for status in (0, 3):
            calls = os.path.join(folder, f"calls{status}")
            need(script.count("/shared/oom") == 2, script)
            job = subprocess.run(["bash", "-c", script.replace("/shared/oom", folder).replace("/dev/shm", f"{folder}/rings")],
                                 env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", STATUS=str(status), CALLS=calls,
                                          SLURM_JOB_ID="7", SLURM_JOB_NUM_NODES="1"), capture_output=True, text=True)
            need(job.returncode == status, "status of the job:", job.returncode, job.stderr)
            with open(calls) as file:
                need(file.read().split() == ["env", "recover"], "calls")


def ranks(tidemark, folder):
    return subprocess.run([tidemark, "ranks", folder], capture_output=True, text=True).stdout


def main():
    tidemark, objects = map(os.path.abspath, sys.argv[1:3])
    n_kills = int(sys.argv[4]) if sys.argv[3:4] == ["--kills"] else 10
    check_ends(tidemark, objects)
    check_left(tidemark, objects)
    check_failed(tidemark, objects)
    check_template(tidemark)
    rows = [check_kill(tidemark, objects, number) for number in range(n_kills)]
    print(f"black box: {n_kills} kills after {min(rows)} to {max(rows)} allocations, 0 lost")


if __name__ == "__main__":
    main()
