"""The launch log of real PyTorch programs on a virtual card (programs/wire/run_launches.h), compared with figures counted by
hand.

    python check_launches.py --tidemark TIDEMARK --python PYTHON

PYTHON has PyTorch and runs the programs below. What a launch costs with and without a log is printed, and not checked.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import launches

HERE = Path(__file__).resolve().parent
BATCH, IN, MIDDLE, OUT = 16, 64, 128, 32
ROWS, COLUMNS = 100, 256
LAUNCHES = 20_000


# ---- the programs, each of which marks what it does ----

def keep_log():
    """The run's folder ends with the run; the copy is the test's."""
    log = Path(os.environ["TIDEMARK_RUN_FOLDER"]) / f"{os.getpid()}.launches"
    if log.exists():
        shutil.copy(log, os.environ["LAUNCHES_OUT"])


def training():
    """Steps of a small net with an optimizer whose 15 operations were counted by hand: 140 bytes a parameter."""
    import staff_model
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(IN, MIDDLE), torch.nn.GELU(), torch.nn.LayerNorm(MIDDLE),
                              torch.nn.Linear(MIDDLE, OUT)).to("cuda")
    optimizer = staff_model.AdamW(net.parameters(), edition=2025)
    for _ in range(3):
        net(torch.zeros(BATCH, IN, device="cuda")).sum().backward()
        optimizer.step()
        net.zero_grad()


def operations():
    import torch
    from tidemark import card

    wide = torch.empty(ROWS, COLUMNS, device="cuda")
    row, half = torch.empty(COLUMNS, device="cuda"), torch.empty(ROWS, COLUMNS, device="cuda", dtype=torch.bfloat16)
    many, square = torch.empty(5, 32, 48, device="cuda"), torch.empty(COLUMNS, COLUMNS, device="cuda", dtype=torch.bfloat16)
    side = torch.cuda.Stream()
    event = torch.cuda.Event()

    def graph():
        made = torch.cuda.CUDAGraph()
        with torch.cuda.graph(made):
            wide.add_(1)
            wide.mul_(2)
        made.replay()
        made.replay()

    def on_two_streams():
        with torch.cuda.stream(side):
            wide.add_(1)
            event.record()
        torch.cuda.current_stream().wait_event(event)
        event.synchronize()

    def rounded():
        torch.backends.cuda.matmul.allow_tf32 = True
        wide @ wide.T

    picture, filters = torch.empty(4, 12, 20, 24, device="cuda"), torch.empty(18, 12, 3, 5, device="cuda")

    def convolve(allows_tf32, times_plans=False):
        torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark = allows_tf32, times_plans
        # PyTorch remembers the plans of a shape; another shape for those that it times
        torch.nn.functional.conv2d(picture[:2] if times_plans else picture, filters)

    for name, operation in {
        "fill": lambda: wide.fill_(1), "add": lambda: wide + wide, "compare": lambda: wide > 0, "cast": lambda: wide.to(torch.bfloat16),
        "mixed": lambda: wide + half, "broadcast": lambda: wide + row, "turn": lambda: wide.T.contiguous(),
        "sum of rows": lambda: wide.sum(1), "sum of columns": lambda: half.sum(0), "sum of all": lambda: half.sum(dtype=torch.float32),
        "product": lambda: wide @ wide.T, "products": lambda: torch.bmm(many, many.mT), "bf16 product": lambda: half @ square,
        "rounded product": rounded, "read": lambda: wide[0, 0].item(), "graph": graph, "streams": on_two_streams,
        "rounded convolution": lambda: convolve(True), "convolution": lambda: convolve(False),
        "timed rounded convolution": lambda: convolve(True, True), "timed convolution": lambda: convolve(False, True),
    }.items():
        card.mark(name)
        operation()
    card.mark("end")


def many_launches():
    """Prints the nanoseconds of a launch, which is all that this program does."""
    import time

    import torch

    value = torch.empty(1000, device="cuda")
    for _ in range(1000):
        value.add_(1)
    begin = time.perf_counter_ns()
    for _ in range(LAUNCHES):
        value.add_(1)
    print("took", (time.perf_counter_ns() - begin) // LAUNCHES)


# ---- checks ----

class Checks:
    def __init__(self):
        self.n, self.n_failed = 0, 0

    def equal(self, what, found, expected):
        self.n += 1
        if found != expected:
            self.n_failed += 1
            print(f"check_launches: {what}: {found}, and not {expected}", file=sys.stderr)


def run(options, program, with_log=True):
    """(what the program printed, the rows of its log)."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.launches"
        environment = dict(os.environ, LAUNCHES_OUT=str(out), TIDEMARK_LAUNCHES="1" if with_log else "0")
        done = subprocess.run([options.tidemark, "run", "--device", "virtual:h100-80", "--writes", "allow", "--",
                               options.python, "-B", __file__, "--program", program],
                              cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"check_launches: {program} failed:\n{done.stdout}{done.stderr}")
        return done.stdout, launches.read(out) if with_log else out.exists()


def between(rows, begin, end):
    """Lists of the rows between two marks, for each time that they follow each other."""
    found, inside = [], None
    for row in rows:
        if row.kind == "mark" and row.name == begin:
            inside = []
        elif row.kind == "mark" and row.name == end and inside is not None:
            found.append(inside)
            inside = None
        elif inside is not None and row.kind != "mark":
            inside.append(row)
    return found


def shapes(rows):
    return Counter((r.m, r.n, r.k, r.count) for r in rows if r.kind == "product")


def check_training(checks, options):
    card, rows = run(options, "training")[1]
    checks.equal("the card", card, "h100-80")
    steps = between(rows, "step begins", "step ends")
    optimizers = between(rows, "optimizer begins", "step ends")
    checks.equal("steps", len(steps), 3)
    n_parameters = IN * MIDDLE + MIDDLE + 2 * MIDDLE + MIDDLE * OUT + OUT
    for step in optimizers[1:]:  # the first has no moments yet, and the same operations
        checks.equal("bytes of the optimizer", sum(r.bytes for r in step), 140 * n_parameters)
        checks.equal("flags of the optimizer's kernels", {r.flags for r in step}, {0})
    # cuBLAS has columns first: our product is its transpose there, so m and n are exchanged.
    forward = {(MIDDLE, BATCH, IN, 1): 1, (OUT, BATCH, MIDDLE, 1): 1}
    backward = {(MIDDLE, BATCH, OUT, 1): 1, (MIDDLE, OUT, BATCH, 1): 1, (IN, MIDDLE, BATCH, 1): 1}
    for back in between(rows, "backward begins", "backward ends"):
        checks.equal("products of a backward pass", shapes(back), backward)
    for step in steps:
        checks.equal("products of a step", shapes(step), Counter(forward) + Counter(backward))
    for row in rows:
        checks.equal("a product's types", (row.type, row.out_type) if row.kind == "product" else (0, 0), (0, 0))
    checks.equal("rows of the host in order", all(a.host_ns <= b.host_ns for a, b in zip(rows, rows[1:]) if a.thread == b.thread), True)


N = ROWS * COLUMNS
KERNELS = {  # family, bytes
    "fill": ("vectorised", 4 * N), "add": ("vectorised", 8 * N), "compare": ("vectorised", 5 * N), "cast": ("vectorised", 6 * N),
    "mixed": ("casting", 10 * N), "broadcast": ("strided", 8 * N + 4 * COLUMNS),
    "turn": ("strided", 8 * N),  # by the smaller stride of each: both are 4
    "sum of rows": ("reduction", 4 * N + 4 * ROWS), "sum of columns": ("reduction", 2 * N + 2 * COLUMNS),
    "sum of all": ("reduction", 2 * N + 4),
}
PRODUCTS = {  # m, n, k, count, types
    "product": (ROWS, ROWS, COLUMNS, 1, "fp32", "fp32"), "products": (32, 32, 48, 5, "fp32", "fp32"),
    "bf16 product": (COLUMNS, ROWS, COLUMNS, 1, "bf16", "bf16"), "rounded product": (ROWS, ROWS, COLUMNS, 1, "tf32", "fp32"),
}


def check_operations(checks, options):
    rows = run(options, "operations")[1][1]
    names = [r.name for r in rows if r.kind == "mark"]
    names = names[names.index("fill"):]
    of = {name: between(rows, name, after)[0] for name, after in zip(names, names[1:]) if after != "program ends"}
    for name in of:
        if name.endswith("convolution"):  # the plan of each of the engines that the program may take
            types = {launches.TYPES[r.type] for r in of[name] if r.kind == "convolution"}
            checks.equal(f"{name}'s types", types, {"tf32" if "rounded" in name else "fp32"})
    for name, (family, n_bytes) in KERNELS.items():
        checks.equal(name, [(launches.FAMILIES[r.family], r.bytes, r.flags) for r in of[name] if r.kind == "kernel"], [(family, n_bytes, 0)])
    for name, expected in PRODUCTS.items():
        checks.equal(name, [(r.m, r.n, r.k, r.count, launches.TYPES[r.type], launches.TYPES[r.out_type])
                            for r in of[name] if r.kind == "product"], [expected])
    read = [(r.kind, r.bytes, launches.COPIES[r.family] if r.kind == "copy" else "") for r in of["read"]]
    checks.equal("a value that is read", read[-2:], [("copy", 4, "from the card"), ("wait stream", 0, "")])
    captured = [r for r in of["graph"] if r.flags & launches.CAPTURED and r.kind == "kernel"]
    graphs = [r for r in of["graph"] if r.kind == "graph launch"]
    checks.equal("kernels of the graph", [r.bytes for r in captured], [8 * N, 8 * N])
    checks.equal("launches of the graph", [r.graph for r in graphs], [captured[0].graph] * 2 if captured else [])
    streams = [(r.kind, r.stream != 0) for r in of["streams"]]
    checks.equal("two streams", streams, [("kernel", True), ("record", True), ("stream wait", False), ("wait event", False)])


def check_cost(checks, options):
    def took(with_log):
        out, log = run(options, "many_launches", with_log)
        if with_log:
            checks.equal("launches of the loop", sum(r.kind == "kernel" for r in log[1]), LAUNCHES + 1000)
        else:
            checks.equal("a log that was not asked for", log, False)
        return int(out.split("took ")[1].split()[0])

    without, with_log = (min(took(log) for _ in range(2)) for log in (False, True))
    print(f"a launch takes {without} ns without a log and {with_log} ns with one")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tidemark", type=Path)
    parser.add_argument("--python")
    parser.add_argument("--program", choices=["training", "operations", "many_launches"])
    options = parser.parse_args()
    if options.program:
        globals()[options.program]()
        keep_log()
        return 0
    options.tidemark = options.tidemark.resolve()
    checks = Checks()
    check_training(checks, options)
    check_operations(checks, options)
    check_cost(checks, options)
    print(f"{checks.n} checks of launch logs, {checks.n_failed} failed")
    return 1 if checks.n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
