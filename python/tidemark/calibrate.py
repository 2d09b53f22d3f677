"""Measures the time of launches and kernels on a machine: calibrate.py host | gpu FORWARD BACKWARD.

`tidemark bench calibrate` runs this file with the user's Python. `host` runs on a virtual card, whose
launch log shows the host's time, in the same way as forecasts measure it. `gpu` runs on the GPU of the machine and
prints JSON; without a GPU it prints {}. programs/step_time/calibration.h reads both.
"""
import json
import os
import sys
import time

# This folder has modules whose names a library might use; Python searches it first for a script.
sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != os.path.dirname(os.path.abspath(__file__))]

REPEATS = 40  # bursts of each pass that count
WARM_UPS = 5
BLOCKS = 16  # of a burst: no pass launches more than 200 kernels, so a GPU's queue of 1024 never fills up
WIDTH = 64  # so small that a GPU is faster than any host
SIZE = 8192  # rows and columns of large products
LARGE = 16384  # rows and columns of copies in fp32: 1 GiB, many times any cache


class Burst:
    """Tiny operations like those of a model: linear layers, an activation, a norm and a residual sum."""

    def __init__(self, torch):
        nn = torch.nn
        self.layers = nn.ModuleList(
            nn.ModuleList([nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)])
            for _ in range(BLOCKS)).cuda()
        self.activate = torch.nn.functional.gelu
        self.x = torch.ones(WIDTH, WIDTH, device="cuda")

    def forward(self):
        x = self.x
        for norm, up, down in self.layers:
            x = x + down(self.activate(up(norm(x))))
        return x.sum()


def bursts(torch, begin, end):
    """Runs the bursts; begin and end are called with the name of the pass, while the card is idle."""
    burst = Burst(torch)
    for _ in range(WARM_UPS + REPEATS):
        burst.layers.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        begin("forward")
        loss = burst.forward()
        end("forward")
        torch.cuda.synchronize()
        begin("backward")
        loss.backward()
        end("backward")
    torch.cuda.synchronize()


def lower_quartile(values):
    """Other work on the machine can only make a time longer."""
    return sorted(values)[(len(values) - 1) // 4]


def measure_host(torch):
    import ctypes

    mark = ctypes.CDLL(None).tidemark_launches_mark
    bursts(torch, lambda name: mark(f"calibrate {name} begins".encode()),
           lambda name: mark(f"calibrate {name} ends".encode()))


def host_beside_gpu(torch):
    """Microseconds of a burst, by pass: until the host has launched all of it, not until the GPU has finished."""
    began, took = {}, {"forward": [], "backward": []}

    def begin(name):
        began[name] = time.perf_counter()

    def end(name):
        took[name].append(1e6 * (time.perf_counter() - began[name]))

    bursts(torch, begin, end)
    return {name: lower_quartile(times[WARM_UPS:]) for name, times in took.items()}


def time_of(torch, call):
    """Microseconds on the GPU: the median, because clocks of GPUs rise and fall."""
    times = []
    for _ in range(3):
        call()
    for _ in range(15):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(1e3 * begin.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def rows_that_fit(torch, rows, n_matrices):
    """As many rows and columns of fp32 matrices as fit in a quarter of the free memory: rows, or half of it, ..."""
    free, _ = torch.cuda.mem_get_info()
    while rows > 1024 and 4 * rows * rows * n_matrices > free // 4:
        rows //= 2
    return rows


def products(torch):
    """Microseconds of a product by type; the second factor is transposed, like a linear layer's weight."""
    rows = rows_that_fit(torch, SIZE, 3)
    found = {"rows": rows}
    for name, dtype in ("fp32", torch.float32), ("tf32", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16):
        capability = torch.cuda.get_device_capability()[0]
        if capability < 8 and name in ("tf32", "bf16"):
            continue  # the card computes these in another type
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        a, b = (torch.randn(rows, rows, device="cuda", dtype=dtype) for _ in range(2))
        result = torch.empty(rows, rows, device="cuda", dtype=dtype)
        found[name + "_us"] = time_of(torch, lambda: torch.mm(a, b.t(), out=result))
        del a, b, result
    torch.backends.cuda.matmul.allow_tf32 = False
    return found


def copies(torch):
    """Microseconds of a sum in place, with 16-byte loads, and of a copy with strides; bytes read and written."""
    rows = rows_that_fit(torch, LARGE, 2)
    a = torch.ones(rows, rows, device="cuda")
    b = torch.empty_like(a)
    n_bytes = 2 * a.numel() * a.element_size()
    cut = a[:, : rows // 2]  # rows with gaps: computed addresses, but whole cache lines
    part = torch.empty(rows, rows // 2, device="cuda")
    return {
        "contiguous": {"bytes": n_bytes, "elements": a.numel(), "us": time_of(torch, lambda: torch.add(a, 1.0, out=b))},
        "strided": {"bytes": n_bytes // 2, "elements": part.numel(),
                    "us": time_of(torch, lambda: torch.add(cut, 1.0, out=part))},
    }


def measure_gpu(torch, n_forward, n_backward):
    """n_forward, n_backward: launches of a burst, as the virtual card counted them."""
    if not torch.cuda.is_available():
        return {}
    host = host_beside_gpu(torch)
    return {"name": torch.cuda.get_device_name(), "forward_us": host["forward"] / n_forward,
            "backward_us": host["backward"] / n_backward,
            "products": products(torch), "copies": copies(torch)}


def main(what, *n_launches):
    import torch

    if what == "host":
        measure_host(torch)
    else:
        print("tidemark:" + json.dumps(measure_gpu(torch, *map(int, n_launches))))


if __name__ == "__main__":
    main(*sys.argv[1:])
