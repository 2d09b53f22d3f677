"""liger.py of tests/published with a line NOTE for each time: how many operators the function called, views included

The host's time of a function follows from its operators, not from its launches: a view takes it as well.
"""
import gc
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import liger  # of tests/published/programs, in PYTHONPATH

counts = []


class Counting(TorchDispatchMode):
    n = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.n += 1
        return func(*args, **(kwargs or {}))


def counted(time_of):
    def time_and_count(function, case):
        found = time_of(function, case)
        with Counting() as counting:
            function()
        counts.append(counting.n)
        return found

    return time_and_count


def main():
    liger.time_of = counted(liger.time_of)
    for line in open(sys.argv[1]):
        key, program, config, _, what = line.split("\t")[:5]
        try:
            found = liger.answer(program, config, what)
            print(f"NOTE\t{key}\t{what}\toperators {counts[-1]}")
        except Exception as why:  # a row that cannot run is an answer
            found = f"FAILED\t{type(why).__name__}: {' '.join(str(why).split())[:150]}"
        print(f"ROW\t{key}\t{what}\t{found}", flush=True)
        gc.collect()
        torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
