"""Operators of PyTorch, and Liger's kernels, measured as Liger-Kernel's benchmarks do: liger.py ROWS

Memory is the peak of allocated bytes, in 2^20 bytes, of the median of the repetitions. Times are of do_bench: the cache is
overwritten, and two events enclose the function. The published scripts changed over the years; a comment names the difference.
"""
import contextlib
import gc
import json
import re
import statistics
import sys

import torch

from liger_losses import LOSSES
from liger_modules import MODULES

REPETITIONS = {"memory": 5, "speed": 6}
TYPES = {"torch.float32": torch.float32, "torch.bfloat16": torch.bfloat16}
PRODUCTS = ("geglu", "swiglu", "tiled_geglu", "tiled_swiglu", "fused_linear_cross_entropy", "fused_linear_jsd", "fused_neighborhood_attention",
            "fused_moe")
TURNS = ("rope", "llama4_rope")  # PyTorch of their dates asked cuBLAS for the angles, an outer product
BY_MODE = ("geglu", "swiglu", "tiled_geglu", "tiled_swiglu", "softmax", "relu_squared", "fused_moe")  # whose memory has modes
SCRATCH_BYTES = 256 << 20  # what do_bench overwrites before each repetition


class Config:
    """A row: "V=8192 {json} 2024-09-03" of "cross_entropy liger"."""

    def __init__(self, program, config, what):
        found = re.match(r"(\w+)=(\S+) (\{.*\}) (\d{4}-\d\d-\d\d)$", config)
        self.kernel, self.provider = program.split(" ")
        self.metric, self.mode = what.split(" ")
        if self.metric == "memory" and self.kernel not in BY_MODE:
            self.mode = "full"  # their scripts measure both passes, whatever the mode of the row
        self.date = found[4]
        settings = json.loads(found[3])
        self.values = settings | ({found[1]: int(float(found[2]))} if settings.get(found[1]) is None else {})
        self.x = int(float(found[2]))
        self.dtype = TYPES[settings.get("dtype", "torch.float32")]

    def __getattr__(self, name):
        if name in self.__dict__.get("values", {}):
            return self.values[name]
        raise AttributeError(name)

    def has(self, name):
        return self.values.get(name) is not None


def measured(case, config):
    """What is measured: a function without arguments. Backward passes of losses have no gradient."""
    if config.mode == "forward":
        return case.forward
    if config.mode == "full":
        return lambda: case.backward(case.forward())
    if case.backward_with_forward:
        return lambda: case.backward(case.forward())
    result = case.forward()
    gradient = case.gradient(result)
    return lambda: case.backward(result, gradient)


def peak_of(function):
    peaks = []
    for _ in range(REPETITIONS["memory"]):
        torch.cuda.memory.reset_peak_memory_stats()
        function()
        peaks.append(torch.cuda.max_memory_allocated() / 2**20)
    return statistics.median(peaks)


def time_of(function, case):
    """In milliseconds. The events are read after all repetitions.

    do_bench takes the median. A virtual card takes the same time for each repetition, and what a busy machine adds is not the
    card's: the least counts here.
    """
    function()
    torch.cuda.synchronize()
    scratch = torch.empty(SCRATCH_BYTES // 4, dtype=torch.int, device="cuda")
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(REPETITIONS["speed"])]
    for begin, end in events:
        for tensor in case.cleared:
            tensor.grad = None
        scratch.zero_()
        begin.record()
        function()
        end.record()
    torch.cuda.synchronize()
    return min(begin.elapsed_time(end) for begin, end in events)


def warm_products(backward):
    """The threads of forward and backward passes have a workspace of cuBLAS each. In a script, other rows came before."""
    x = torch.randn(64, 64, device="cuda", requires_grad=True)
    result = (x @ x).sum()
    if backward:
        result.backward()


def answer(program, config, what):
    row = Config(program, config, what)
    if row.kernel in PRODUCTS + TURNS:
        warm_products(row.kernel in PRODUCTS)
    # For times the modules are made on the card: drawing weights of some GB takes minutes on the host. The scripts move modules to
    # the card, which leaves other free blocks, so memory is measured as they do.
    with torch.device("cuda") if row.metric == "speed" else contextlib.nullcontext():
        case = (MODULES | LOSSES)[row.kernel](row)
    function = measured(case, row)
    if row.metric == "memory":
        return f"{peak_of(function):.10g}\tMB"
    return f"{time_of(function, case):.6g}\tms"


def main():
    for line in open(sys.argv[1]):
        key, program, config, _, what = line.split("\t")[:5]
        try:
            found = answer(program, config, what)
        except Exception as why:  # a row that cannot run is an answer
            found = f"FAILED\t{type(why).__name__}: {' '.join(str(why).split())[:150]}"
        print(f"ROW\t{key}\t{what}\t{found}", flush=True)
        gc.collect()
        torch._C._cuda_clearCublasWorkspaces()  # each published script is a process, with a workspace of its own
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
