"""Rows of the launch log for operations whose shapes are given here: attention, convolutions, sorts, scans, Triton's
kernels and CUDA graphs.

    python check_shapes.py --tidemark TIDEMARK --python PYTHON

PYTHON has PyTorch and runs the programs below on a virtual card. Expected rows are computed from the shapes.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import launches  # noqa: E402

B, H, D = 3, 10, 96  # sequences, heads, channels
SORTED, ROWS, COLUMNS = 100_000, 64, 5000
CASES, EXPECTED = {}, {}


def case(name, *expected):
    """The rows that are no elementwise kernels: (m, n, k, count, type, backward, causal), or (family, bytes)."""
    def keep(function):
        CASES[name], EXPECTED[name] = function, list(expected)
        return function
    return keep


# ---- attention: forward, then backward ----

def attend(kernel, type_name, m, n, channels=D, values=None, n_key_heads=H, causal=False, gradient=True):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    kind = {"flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}[kernel]
    def empty(heads, length, width):
        return torch.empty(B, heads, length, width, device="cuda", dtype=getattr(torch, type_name), requires_grad=gradient)

    q, k, v = empty(H, m, channels), empty(n_key_heads, n, channels), empty(n_key_heads, n, values or channels)
    with sdpa_kernel(kind):
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=n_key_heads != H)
        if gradient:
            y.backward(torch.empty_like(y))


def both(m, n, k, of_type, causal=False):
    return (m, n, k, B * H, of_type, False, causal), (m, n, k, B * H, of_type, True, causal)


@case("flash", *both(777, 777, D, "bf16", causal=True))
def _():
    attend("flash", "bfloat16", 777, 777, causal=True)


@case("flash, grouped", *both(333, 1234, 64, "fp16"))
def _():
    attend("flash", "float16", 333, 1234, 64, n_key_heads=5)


@case("flash, one token", (1, 8192, 128, B * H, "fp16", False, False))
def _():
    attend("flash", "float16", 1, 8192, 128, gradient=False)


@case("efficient", *both(333, 1234, 56, "fp32"))
def _():
    attend("efficient", "float32", 333, 1234, 64, values=48)


@case("efficient, causal", *both(777, 777, D, "fp16", causal=True))
def _():
    attend("efficient", "float16", 777, 777, causal=True)


@case("cudnn", *both(640, 640, 64, "bf16", causal=True))
def _():
    attend("cudnn", "bfloat16", 640, 640, 64, causal=True)


@case("cudnn, grouped", *both(320, 640, 128, "fp16"))
def _():
    attend("cudnn", "float16", 320, 640, 128, n_key_heads=5)


# ---- convolutions: forward, and the gradients of input and filter ----

def convolve(shape, filters, type_name="float32", transposed=False, **options):
    import torch

    x = torch.empty(*shape, device="cuda", dtype=getattr(torch, type_name), requires_grad=True)
    w = torch.empty(*filters, device="cuda", dtype=getattr(torch, type_name), requires_grad=True)
    name = f"conv{'_transpose' if transposed else ''}{len(shape) - 2}d"
    y = getattr(torch.nn.functional, name)(x, w, **options)
    y.backward(torch.empty_like(y))


def thrice(m, n, k, count, of_type, forward=(False, True, True)):
    return [(m, n, k, count, of_type, backward, False) for backward in forward]


@case("groups", *thrice(4 * 10 * 11, 6, 4 * 3 * 5, 3, "tf32"))
def _():
    convolve((4, 12, 20, 24), (18, 4, 3, 5), stride=2, padding=1, groups=3)


@case("bf16", *thrice(4 * 20 * 24, 32, 16 * 3 * 3, 1, "bf16"))
def _():
    convolve((4, 16, 20, 24), (32, 16, 3, 3), "bfloat16", padding=1)


@case("transposed", *thrice(4 * 50, 16, 8 * 3, 1, "fp16", forward=(True, False, True)))
def _():
    convolve((4, 16, 50), (16, 8, 3), "float16", transposed=True)


@case("volumes", *thrice(2 * 10 * 12 * 14, 8, 8 * 27, 1, "tf32"))
def _():
    convolve((2, 8, 10, 12, 14), (8, 8, 3, 3, 3), padding=1)


@case("depthwise", *[("depthwise", 4 * (2 * 4 * 32 * 20 * 24 + 32 * 3 * 3))] * 3)
def _():
    convolve((4, 32, 20, 24), (32, 1, 3, 3), padding=1, groups=32)


@case("batch norm", ("norm", 3 * 4 * ROWS * 16 * 32 * 32))
def _():
    import torch

    torch.nn.functional.batch_norm(torch.empty(ROWS, 16, 32, 32, device="cuda"), *(torch.empty(16, device="cuda") for _ in range(4)), training=True)


# ---- sorts and scans ----

@case("sort", ("sort", 8 * SORTED), ("sort", 4 * SORTED), ("sort", None), *[("sort", 2 * (4 + 8) * SORTED)] * 4)
def _():
    import torch

    torch.empty(SORTED, device="cuda").sort()


@case("scan", ("scan", None), ("scan", 8 * SORTED))
def _():
    import torch

    torch.empty(SORTED, device="cuda").cumsum(0)


@case("scan of rows", ("scan", 8 * ROWS * COLUMNS))
def _():
    import torch

    torch.empty(ROWS, COLUMNS, device="cuda").cumsum(1)


# ---- Triton: reads fp32 and bf16, writes fp32; 391 blocks of 256 ----

@case("triton", ("generated", (4 + 2 + 4) * 391 * 256))
def _():
    import torch
    import triton

    x, y, out = (torch.empty(SORTED, device="cuda", dtype=t) for t in (torch.float32, torch.bfloat16, torch.float32))
    triton.jit(add)[(triton.cdiv(SORTED, 256),)](x, y, out, SORTED, BLOCK=256)


try:
    import triton.language as tl

    def add(x, y, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)
except ImportError:  # the interpreter that checks has no Triton
    pass


def shapes():
    from tidemark import card

    for name, function in CASES.items():
        card.mark(name)
        function()
    card.mark("end")


# ---- CUDA graphs ----

def steps(captured):
    """Three times ten kernels, from a graph or one by one."""
    import torch
    from tidemark import card

    x = torch.empty(1000, 1000, device="cuda")

    def work():
        for _ in range(10):
            x.mul_(2)

    graph = torch.cuda.CUDAGraph()
    if captured:
        with torch.cuda.graph(graph):
            work()
    torch.cuda.synchronize()
    card.mark("begin")
    for _ in range(3):
        if captured:
            graph.replay()
        else:
            work()
    card.mark("end")
def layer():
    import torch
    from tidemark import card

    graphed = torch.cuda.make_graphed_callables(torch.nn.Linear(64, 64).cuda(), (torch.empty(8, 64, device="cuda", requires_grad=True),))
    card.mark("begin")
    graphed(torch.empty(8, 64, device="cuda", requires_grad=True)).sum().backward()
    card.mark("end")


# ---- torch.compile: a product with a weight of each column, summed over rows ----

def compiled():
    import torch
    from torch._inductor import config

    config.compile_threads = 1
    a, b = torch.empty(ROWS, COLUMNS, device="cuda", dtype=torch.bfloat16), torch.empty(COLUMNS, device="cuda")
    torch.compile(lambda a, b: (a.float() * b).sum(1))(a, b)


# ---- checks ----

class Checks:
    def __init__(self):
        self.n, self.n_failed = 0, 0

    def equal(self, what, found, expected):
        self.n += 1
        if found != expected:
            self.n_failed += 1
            print(f"check_shapes: {what}: {found}, and not {expected}", file=sys.stderr)


def run(options, folder, program):
    """The launch log of a program of this file."""
    log = Path(folder) / f"{program}.launches"
    done = subprocess.run([options.tidemark, "run", "--device", "virtual:h100-80", "--launch-log", log, "-o", "s.json.gz", "--",
                           options.python, "-B", __file__, "--program", program], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not log.exists():
        sys.exit(f"check_shapes: {program} failed:\n{done.stdout}{done.stderr}")
    return log


def between(rows, begin):
    at = next(i for i, row in enumerate(rows) if row.kind == "mark" and row.name == begin)
    end = next(i for i in range(at + 1, len(rows)) if rows[i].kind == "mark" and rows[i].name in {*CASES, "end"})
    return rows[at + 1:end]


def short(row):
    if row.kind in ("attention", "convolution"):
        return (row.m, row.n, row.k, row.count, launches.TYPES[row.type], bool(row.flags & launches.BACKWARD), bool(row.flags & launches.CAUSAL))
    return (launches.FAMILIES[row.family], row.bytes)


def check_shapes(checks, options, folder):
    rows = launches.read(run(options, folder, "shapes"))[1]
    for name, expected in EXPECTED.items():
        families = {e[0] for e in expected if len(e) == 2}
        kinds = ("kernel",) if families else ("attention", "convolution")
        found = [r for r in between(rows, name) if r.kind in kinds and (not families or launches.FAMILIES[r.family] in families)]
        given = [short(r) if e[1] is not None else (short(r)[0], None) for r, e in zip(found, expected)]
        checks.equal(name, given + [short(r) for r in found[len(expected):]], expected)
        checks.equal(f"{name}: guesses", [r.name for r in found if r.flags & launches.GUESSED], [])
        checks.equal(f"{name}: what is named fmha or flash", [r.name for r in between(rows, name) if r.kind == "kernel" and
                     r.flags & launches.GUESSED and ("fmha" in r.name or "flash" in r.name)], [])


def busy_ms(options, log):
    """How long the card works on all of the log; the host is so fast that the card is the limit."""
    done = subprocess.run([options.tidemark, "time", "--format", "json", "--host-factor", "1e-9", log], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["tables"]["cards"]["rows"][0]["gpu_ms"]


def check_graphs(checks, options, folder):
    logs = {name: run(options, folder, name) for name in ("captured", "eager", "layer")}
    whole = {name: launches.read(log)[1] for name, log in logs.items()}
    rows = {name: between(whole[name], "begin") for name in logs}
    graphs = [r for r in rows["captured"] if r.kind == "graph launch"]
    checks.equal("launches of the graph", [r.kind for r in rows["captured"]], ["graph launch"] * 3)
    checks.equal("kernels one by one", len([r for r in rows["eager"] if r.kind == "kernel"]), 30)
    captured = [r for r in whole["captured"] if r.flags & launches.CAPTURED and r.graph == graphs[0].graph]
    checks.equal("kernels of the graph", [(r.kind, r.bytes) for r in captured], [("kernel", r.bytes) for r in rows["eager"][:10]])
    busy = {name: round(busy_ms(options, logs[name]), 9) for name in ("captured", "eager")}
    checks.equal("time of the graph's kernels", busy["captured"], busy["eager"])
    checks.equal("a graphed layer, forward and backward", [r.kind for r in rows["layer"]].count("graph launch"), 2)


def check_compiled(checks, options, folder):
    found = [r for r in launches.read(run(options, folder, "compiled"))[1] if launches.FAMILIES[r.family] == "generated" and r.kind == "kernel"]
    expected = 2 * ROWS * COLUMNS + 4 * COLUMNS + 4 * ROWS
    checks.equal("compiled: kernels", len(found) > 0, True)
    checks.equal("compiled: guesses", [r.name for r in found if r.flags & launches.GUESSED], [])
    # The last block of a row is filled up, and so is counted, to at most 8192 columns; sums may be in two parts.
    total = sum(r.bytes for r in found)
    checks.equal(f"compiled: {total} bytes, of {expected} that are moved", expected <= total <= expected * 8192 / COLUMNS, True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tidemark", type=Path)
    parser.add_argument("--python")
    parser.add_argument("--program", choices=["shapes", "captured", "eager", "layer", "compiled"])
    options = parser.parse_args()
    if options.program:
        programs = {"shapes": shapes, "captured": lambda: steps(True), "eager": lambda: steps(False), "layer": layer, "compiled": compiled}
        programs[options.program]()
        return 0
    options.tidemark = options.tidemark.resolve()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        check_shapes(checks, options, folder)
        check_graphs(checks, options, folder)
        check_compiled(checks, options, folder)
    print(f"{checks.n} checks of shapes, {checks.n_failed} failed")
    return 1 if checks.n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
