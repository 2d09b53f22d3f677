"""The engine of engine.py in C++ (native/*.cpp), built for the program's PyTorch at its first use.

It notes operators in its own kernels, without Python, and computes them in microseconds, as well as numbers that are read
and small copies between the host and the card. Python keeps large copies, draws, and the lines of what is assumed, for
which the engine asks by operators such as `tidemark_values::drawn`.
"""
import atexit
import collections
import glob
import json
import os

import torch

from .. import built, card, telling
from . import copies, draws
from .overloads import NOTED, SEEN

# As in native/values.h.
RANDOM, PRODUCT, SOLVER, POINTWISE, REDUCTION, WHOLE, OBSERVED, SUM_OVER_DIMS, SCALES, SCALES_BY_ROOT, COPY, IN_DIM, RANGED, JOINS, LISTS = (
    1 << i for i in range(15)
)
_SUMS, _NORMS = {"sum", "dot", "vdot"}, {"norm", "linalg_vector_norm"}


def engine():
    """The engine; None: PyTorch is too old, or no compiler is there."""
    if not hasattr(torch.library, "get_kernel"):
        return None
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native")
    sources, headers = sorted(glob.glob(os.path.join(folder, "*.cpp"))), sorted(glob.glob(os.path.join(folder, "*.h")))
    try:
        built.load(torch, "values", sources, headers, "values of the card", "-O2")
        return Engine()
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        telling.tell(f"values of the card are computed in Python, which is slower: {reason}")
        return None


class Engine:
    """The same functions as those of engine.Engine."""

    is_native = True
    promised = ()  # its kernels keep them

    def __init__(self):
        self.unseen = None
        self.ops = torch.ops.tidemark_values
        self.library = None  # of the operators that Python implements; PyTorch takes them away as the interpreter ends
        atexit.register(self.ops.pause, True)
        self.forget, self.forget_addresses, self.forget_all = self.ops.forget, self.ops.forget_addresses, self.ops.forget_all
        self.read, self.written, self.promise, self.capturing = self.ops.read, self.ops.written, self.ops.promise, self.ops.capturing

    def replace(self, plans, sites):
        """Replaces the kernels of the plans that it can serve, and returns the other plans."""
        own = [plan for plan in plans if (plan.role in (NOTED, SEEN) or plan.name in ("copy_", "_local_scalar_dense")) and plan.name != "zero_"]
        self._implement(next(plan for plan in own if plan.name == "copy_"), sites)
        failed = self.ops.replace([p.full for p in own], [_flags(p) for p in own], [draws.DRAWS.get(p.name, "") for p in own])
        if failed:
            raise RuntimeError(f"these kernels cannot be replaced: {failed}")
        self.ops.answer_card()
        sites.rows, sites.n_inputs = Watched(self.ops), self.ops.n_inputs
        mine = set(map(id, own))
        return [plan for plan in plans if id(plan) not in mine and plan.name != "zero_"]  # its kernel calls fill_

    def _implement(self, copy, sites):
        def call(_, to, source, non_blocking=False):
            self.ops.real_copy(to, source, non_blocking)
            return to

        kernel = copies.kernel(self, copy, call, sites)

        def copy_host(to, source, non_blocking):
            kernel(None, to, source, non_blocking)

        def said_number(value):
            """Whether the value is to be true: PyTorch checks its arguments, which are valid."""
            if type(value) is bool and card.is_checking():
                return True
            sites.number(value)
            return False

        self.library = torch.library.Library("tidemark_values", "IMPL")
        for name, function in (("copy_host", copy_host), ("drawn", draws.draw), ("said_number", said_number), ("said_copied", sites.copied),
                               ("is_capturing", torch.cuda.is_current_stream_capturing)):
            self.library.impl(name, function, "CompositeImplicitAutograd")

    def note(self, plan, args, kwargs, out):
        """The call of an operator whose arguments are tensors. Others are noted by the engine's own kernels."""
        self.ops.note_call(plan.full, [a for a in args if isinstance(a, torch.Tensor)], [out])

    def has(self, tensor):
        """Whether something was noted of the tensor's storage."""
        return self.ops.find(tensor) != 0

    def is_known(self, tensor):
        return self.ops.find(tensor) == 2

    def put(self, tensor, values, is_assumed=False, is_copy=False):
        self.ops.put(tensor, values, is_assumed, is_copy)

    def hold(self, tensor, source):
        """It copies what it holds, and keeps the sum below the limit itself."""
        self.ops.put(tensor, source, False, True)

    def sample(self, tensor, source):
        """Of floats that are too large to be kept, a part represents all."""
        self.ops.put_sample(tensor, source)

    # ---- for tests

    def statistics(self):
        """Counts by operator."""
        return json.loads(self.ops.statistics())

    @property
    def counts(self):
        return dict(sum((collections.Counter({name: n for name, n in row.items() if name != "error"}) for row in self.statistics().values()),
                        collections.Counter()))

    @property
    def errors(self):
        """Operator -> what it said on the CPU."""
        return {name: row["error"] for name, row in self.statistics().items() if row["errors"]}


def _flags(plan):
    is_list = plan.name.startswith(("_foreach_", "_fused_ada", "_fused_sgd"))
    of = (
        (RANDOM, plan.is_random), (PRODUCT, plan.is_product), (SOLVER, plan.is_solver), (POINTWISE, plan.is_pointwise),
        (REDUCTION, plan.is_reduction), (WHOLE, plan.is_whole), (OBSERVED, plan.role == SEEN and not is_list), (SUM_OVER_DIMS, plan.is_sum_of_rows),
        (SCALES, plan.name in _SUMS), (SCALES_BY_ROOT, plan.name in _NORMS), (COPY, plan.name == "copy_"),
        (IN_DIM, draws.DRAWS.get(plan.name) == draws.IN_RANGE), (RANGED, plan.name in draws.DRAWS), (JOINS, plan.name == "cat"), (LISTS, is_list),
    )
    return sum(bit for bit, is_set in of if is_set)


class Watched:
    """As rows.Watched, in the engine's kernels."""

    is_watching = False  # the kernels look themselves

    def __init__(self, ops):
        self.ops, self.numbers = ops, {}

    def watch(self, site, n, possible):
        self.ops.watch_rows(self.numbers.setdefault(site, len(self.numbers)), n, possible)

    def bytes_of(self, site, is_of_one=False):
        return self.ops.rows_bytes(self.numbers[site], is_of_one) if site in self.numbers else (0, 0)
