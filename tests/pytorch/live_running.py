"""What users of a running job ask for: snapshots by a signal, and what failed requests held. It runs a program of its own
by `tidemark run`: live_running.py TIDEMARK PYTHON. The program is this file, too, with the word of what it does.
"""
import fcntl
import gzip
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

MIB = 1 << 20


# ---- the programs ----

def train(folder):
    """Steps until a file says that it is enough; a file reports each, so that the test knows the current step."""
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
        time.sleep(0 if os.path.exists(f"{folder}/hurry") else 0.01)
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
    end = time.monotonic() + 300
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
    """Two snapshots of a program that continues; neither the signal nor its answer reaches it."""
    run = start(tidemark, python, folder, "train", "--signal", "USR1")
    wait_for(lambda: step_of(folder) >= 2, "two steps")
    for number in (1, 2):
        run.send_signal(signal.SIGUSR1)
        wait_for(lambda: os.path.exists(f"{folder}/out-at-{number}.json.gz"), "a snapshot")
        seen = step_of(folder)
        wait_for(lambda: step_of(folder) > seen + 1, "further steps")
    open(f"{folder}/enough", "w").close()
    output, errors = run.communicate(timeout=300)
    assert run.returncode == 0 and output == f"steps and bytes True {64 * MIB}\n", (run.returncode, output, errors)
    lines = [line for line in errors.splitlines() if "the snapshot that was asked for is out-at-" in line]
    assert len(lines) == 2 and "MiB allocated" in lines[0], errors
    first, second, end = (read(f"{folder}/{name}.json.gz") for name in ("out-at-1", "out-at-2", "out"))
    assert first["run"]["outcome"] == second["run"]["outcome"] == "running", first["run"]
    sizes = [len(snapshot["events"]["action"]) for snapshot in (first, second, end)]
    assert 0 < sizes[0] < sizes[1] < sizes[2], sizes
    print(f"asked for: {len(lines)} snapshots, events grow, the program went on")


def failed(tidemark, python, folder):
    """Three of five failures are reported with the memory held, while the program runs; the rest are counted."""
    run = start(tidemark, python, folder, "fail", "--on-oom")
    output, errors = run.communicate(timeout=300)
    assert run.returncode == 0 and output == f"went on with {300 * MIB}\n", (run.returncode, output, errors)
    told = [line for line in errors.splitlines() if "out of memory at fail (live_running.py" in line]
    assert len(told) == 3, errors
    for i, line in enumerate(told):
        assert f"{1 + i}.00 GiB asked for" in line and "PyTorch had allocated 300.00 MiB" in line, line
    held = [line for line in errors.splitlines() if "300.00 MiB allocated then: 300.00 MiB" in line]
    assert len(held) == 3 and "live_running.py:" in held[0] and "The snapshot is out-oom-1.json.gz" in held[0], errors
    assert "2 more requests for memory failed" in errors, errors
    assert read(f"{folder}/out-oom-1.json.gz")["run"]["outcome"] == "running"
    print("failed: 3 reported, 2 counted, the program went on")


def killed(tidemark, python, folder):
    """The failure is on disk before the program hears of it: it is reported, though the program ends immediately."""
    open(f"{folder}/kill", "w").close()
    run = start(tidemark, python, folder, "fail", "--on-oom")
    _, errors = run.communicate(timeout=300)
    assert run.returncode == -signal.SIGKILL, (run.returncode, errors)
    assert "1.00 GiB asked for" in errors and "300.00 MiB allocated then: 300.00 MiB" in errors, errors
    assert read(f"{folder}/out-oom-1.json.gz")["run"]["outcome"] in ("oom", "running")
    print("killed in the handler: reported all the same")


# ---- a terminal for tidemark top ----

class Terminal:
    """A program on a terminal of this many rows and columns; `page` has the rows as a user sees them."""

    def __init__(self, command, rows, columns, environment):
        self.ours, self.theirs = pty.openpty()
        self.resize(rows, columns)
        self.settings = termios.tcgetattr(self.theirs)
        self.bytes = b""
        environment = {**environment, "TERM": "xterm"}
        environment.pop("COLUMNS", None)
        self.process = subprocess.Popen(command, stdin=self.theirs, stdout=self.theirs, stderr=self.theirs, env=environment,
                                        preexec_fn=self.own)

    def own(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, rows, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, key):
        os.write(self.ours, key)

    def read(self):
        while select.select([self.ours], [], [], 0)[0]:
            self.bytes += os.read(self.ours, 65536)
        return self.bytes.decode()

    def page(self):
        """The newest page that is complete."""
        pages = [part for part in self.read().split("\033[H")[1:] if "\033[J" in part]
        return re.sub("\033[^a-zA-Z]*[a-zA-Z]", "", pages[-1]).replace("\r", "").split("\n") if pages else []

    def ended(self):
        """Its exit status, and what it left behind the second page."""
        wait_for(lambda: self.read() and self.process.poll() is not None, "the end of top")
        assert self.read().count("\033[?1049h") == 1 == self.read().count("\033[?1049l"), self.read()
        assert "\033[?25h" in self.read() and termios.tcgetattr(self.theirs) == self.settings, "the terminal is not as before"
        return self.process.returncode, self.read().split("\033[?1049l")[1].replace("\r", "")


def on_top(tidemark, python, folder):
    """The table while the program runs, on terminals of several sizes; q, Ctrl-C and the program's end leave them as they were."""
    environment = {**os.environ, "XDG_STATE_HOME": f"{folder}/state"}
    none = subprocess.run([tidemark, "top"], env=environment, capture_output=True, text=True)
    assert none.returncode == 2 and "no run is going on" in none.stderr and none.stdout == "", none
    run = start(tidemark, python, folder, "train", "--log-bytes", "1MiB")
    wait_for(lambda: step_of(folder) >= 5, "five steps")
    table = json.loads(subprocess.run([tidemark, "top", "--format", "json"], env=environment, capture_output=True).stdout)
    table = {name: part["rows"] for name, part in table["tables"].items()}
    device = table["devices"][0]
    assert device["reserved_bytes"] >= device["allocated_bytes"] > 64 * MIB, device
    for shares in ("categories", "modules"):
        assert sum(row["allocated_bytes"] for row in table[shares]) == device["allocated_bytes"], table
    assert {"parameter", "optimizer_state"} <= {row["category"] for row in table["categories"]}, table

    # Only the terminal's size makes it show anew: the interval is longer than the test.
    top = Terminal([tidemark, "top", "--interval", "600"], 40, 100, environment)
    wait_for(lambda: any(line.startswith("Allocated now, by module") for line in top.page()), "a page")
    for rows, columns in ((24, 60), (12, 40), (5, 20), (3, 12), (2, 9)):
        n_before = top.read().count("\033[H")
        top.resize(rows, columns)
        wait_for(lambda: top.read().count("\033[H") > n_before and top.page(), "a page of the new size")
        page = top.page()
        assert len(page) <= rows and max(map(len, page)) <= columns, (rows, columns, page)
        assert "more" in page[-1] or columns < 16, page
    top.press(b"q")
    status, left = top.ended()
    assert status == 0 and "Allocated now, by module" in left and "which has ended" not in left, left

    top = Terminal([tidemark, "top", "--interval", "0.1"], 40, 100, environment)
    wait_for(lambda: top.read().count("\033[H") > 3, "pages")
    wait_for(lambda: "dropped the oldest events" in " ".join(top.page()), "a full log")
    top.press(b"\x03")
    assert top.ended()[0] == 0 and run.poll() is None
    top = Terminal([tidemark, "top", "--interval", "0.1"], 40, 100, environment)
    wait_for(lambda: top.page(), "a page")
    open(f"{folder}/enough", "w").close()
    output, errors = run.communicate(timeout=300)
    status, left = top.ended()
    assert status == 0 and "which has ended" in left and "no run" not in left, left
    assert run.returncode == 0 and output == f"steps and bytes True {64 * MIB}\n", (run.returncode, output, errors)
    print("top: bytes add up, pages of 5 sizes, q, Ctrl-C, a full log, the program's end")


def at_full_speed(tidemark, python, folder):
    """A full log can be read between any two rows, however fast the program overwrites the oldest ones."""
    environment = {**os.environ, "XDG_STATE_HOME": f"{folder}/state"}
    open(f"{folder}/hurry", "w").close()
    run = start(tidemark, python, folder, "train", "--log-bytes", "2MiB")
    wait_for(lambda: step_of(folder) >= 900, "a full log")
    for _ in range(30):
        seen = subprocess.run([tidemark, "top", "--format", "json"], env=environment, capture_output=True, text=True)
        assert seen.returncode == 0, seen.stderr
        table = {name: part["rows"] for name, part in json.loads(seen.stdout)["tables"].items()}
        assert table["processes"][0]["dropped_events"] > 0 and table["processes"][0]["steps"] >= 900, table["processes"]
        optimizer = [row["allocated_bytes"] for row in table["categories"] if row["category"] == "optimizer_state"]
        assert sum(optimizer) == 2 * (4 << 20) + 2 * 4096, table["categories"]
    open(f"{folder}/enough", "w").close()
    output, errors = run.communicate(timeout=300)
    assert run.returncode == 0 and output == f"steps and bytes True {64 * MIB}\n", (run.returncode, output, errors)
    print("at full speed: read 30 times, always whole")


def main():
    tidemark, python = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    for test in (asked_for, failed, killed, on_top, at_full_speed):
        with tempfile.TemporaryDirectory() as folder:
            test(tidemark, python, folder)


if __name__ == "__main__":
    if sys.argv[1] in ("train", "fail"):
        {"train": train, "fail": fail}[sys.argv[1]](sys.argv[2])
    else:
        main()
