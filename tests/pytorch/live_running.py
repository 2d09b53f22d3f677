"""What users of a running job ask for: snapshots by a signal, and what failed requests held. It runs a program of its own
by `tidemark run`: live_running.py TIDEMARK PYTHON. The program is this file, too, with the word of what it does.
"""
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20


# ---- the programs ----

def train(folder):
    """Steps until a file says that it is enough; each is told by a file, so that the test knows where it is."""
    import torch
    model = torch.nn.Linear(1024, 1024).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    kept = [torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")]
    step = 0
    while not os.path.exists(f"{folder}/enough"):
        model(torch.zeros(256, 1024, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        open(f"{folder}/step", "w").write(str(step))
        time.sleep(0.01)
    print("steps and bytes", step > 3, sum(len(k) for k in kept))


def fail(folder):
    """Catches five failures, and is killed in the handler of the last if the folder says so."""
    import torch
    held = torch.empty(300 * MIB, dtype=torch.uint8, device="cuda")
    for i in range(5):
        try:
            torch.empty((1 + i) << 30, dtype=torch.uint8, device="cuda")
        except torch.cuda.OutOfMemoryError:
            if i == 0 and os.path.exists(f"{folder}/kill"):
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.3 if i == 0 else 0)
    print("went on with", held.numel())


# ---- the tests ----

def start(tidemark, python, folder, what, *options):
    command = [tidemark, "run", "--device", "virtual:h100-80", "--memory-limit", "1GiB", "--writes", "allow", *options,
               "-o", "out.json.gz", "--", python, "-B", os.path.abspath(__file__), what, folder]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "XDG_STATE_HOME": f"{folder}/state"})


def wait_for(condition, what):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def read(path):
    with gzip.open(path) as file:
        return json.load(file)


def step_of(folder):
    try:
        return int(open(f"{folder}/step").read() or 0)
    except OSError:
        return 0


def asked_for(tidemark, python, folder):
    """Two snapshots of a program that goes on; neither the signal nor its answer reaches it."""
    run = start(tidemark, python, folder, "train", "--signal", "USR1")
    wait_for(lambda: step_of(folder) >= 2, "two steps")
    for number in (1, 2):
        run.send_signal(signal.SIGUSR1)
        wait_for(lambda: os.path.exists(f"{folder}/out-at-{number}.json.gz"), "a snapshot")
        seen = step_of(folder)
        wait_for(lambda: step_of(folder) > seen + 1, "further steps")
    open(f"{folder}/enough", "w").close()
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 0 and output == f"steps and bytes True {64 * MIB}\n", (run.returncode, output, errors)
    lines = [line for line in errors.splitlines() if "the snapshot that was asked for is out-at-" in line]
    assert len(lines) == 2 and "MiB allocated" in lines[0], errors
    first, second, end = (read(f"{folder}/{name}.json.gz") for name in ("out-at-1", "out-at-2", "out"))
    assert first["run"]["outcome"] == second["run"]["outcome"] == "running", first["run"]
    sizes = [len(snapshot["events"]["action"]) for snapshot in (first, second, end)]
    assert 0 < sizes[0] < sizes[1] < sizes[2], sizes
    print(f"asked for: {len(lines)} snapshots, events grow, the program went on")


def failed(tidemark, python, folder):
    """Three of five failures are told with what was held, while the program runs; the rest are counted."""
    run = start(tidemark, python, folder, "fail", "--on-oom")
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 0 and output == f"went on with {300 * MIB}\n", (run.returncode, output, errors)
    told = [line for line in errors.splitlines() if "out of memory at live_running.py" in line]
    assert len(told) == 3, errors
    for i, line in enumerate(told):
        assert f"{1 + i}.00 GiB asked for" in line and "PyTorch had allocated 300.00 MiB" in line, line
    held = [line for line in errors.splitlines() if "it held 300.00 MiB of" in line]
    assert len(held) == 3 and "live_running.py:" in held[0] and "the snapshot is out-oom-1.json.gz" in held[0], errors
    assert "2 more requests for memory failed" in errors, errors
    assert read(f"{folder}/out-oom-1.json.gz")["run"]["outcome"] == "running"
    print("failed: 3 told, 2 counted, the program went on")


def killed(tidemark, python, folder):
    """The failure is on disk before the program hears of it: it is told, though the program is gone at once."""
    open(f"{folder}/kill", "w").close()
    run = start(tidemark, python, folder, "fail", "--on-oom")
    _, errors = run.communicate(timeout=60)
    assert run.returncode == -signal.SIGKILL, (run.returncode, errors)
    assert "1.00 GiB asked for" in errors and "it held 300.00 MiB of" in errors, errors
    assert read(f"{folder}/out-oom-1.json.gz")["run"]["outcome"] in ("oom", "running")
    print("killed in the handler: told all the same")


def main():
    tidemark, python = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    for test in (asked_for, failed, killed):
        with tempfile.TemporaryDirectory() as folder:
            test(tidemark, python, folder)


if __name__ == "__main__":
    if sys.argv[1] in ("train", "fail"):
        {"train": train, "fail": fail}[sys.argv[1]](sys.argv[2])
    else:
        main()
