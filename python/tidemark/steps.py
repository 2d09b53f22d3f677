"""Marks where steps and phases begin and end in PyTorch's history.

A place in the history is the number of its rows so far: blocks allocated and freed on each device, and
failed allocations. PyTorch counts them in its statistics, so a mark costs one query and changes nothing.

A step ends when the first optimizer of the program has stepped. Gradient accumulation counts once, because
the optimizer then steps once. The first step begins with the first call of a module. Without an optimizer, a
step begins with each call of the module that was called first. A program that calls tidemark.step() has only
the steps that it marks.
"""
import sys
import threading

from . import card, settings, values

MAX_CALLS = 20_000  # that are marked: a server may make millions


class Marks:
    """Places in the history: [name, rows so far by device]."""

    def __init__(self, live=None):
        self.live = live  # gets the marks instead of `rows`; None: PyTorch keeps the history
        self.ranges = None  # of NVTX (ranges.py)
        self.rows = []
        self.n_steps = 0
        self.n_calls = 0
        self.has_optimizer = False
        self.has_own = False  # the program marks its own steps
        self.ended_early = False  # by --steps or --calls
        self.n_forgotten = {}  # device -> rows that the program made PyTorch forget

    def here(self):
        """Rows so far, by device: blocks allocated and freed, and failures, one row each."""
        import torch

        return [self.of_device(device) for device in range(torch.cuda.device_count())]

    def of_device(self, device):
        import torch

        try:
            stats = torch._C._cuda_memoryStats(device)
        except RuntimeError:  # a pluggable allocator keeps none, and has no history
            return 0
        blocks = stats["allocation"]["all"]
        counted = blocks["allocated"] + blocks["freed"] + stats["num_ooms"]
        return self.n_forgotten.get(device, 0) + counted

    def add(self, name):
        card.mark(name)
        if self.live is not None:
            self.live.mark(name)
            if self.ranges is not None:
                self.ranges.reopen()
        else:
            self.rows.append([name, self.here()])

    def valid(self):
        """The valid marks: steps are those that the program marks, or they end with an optimizer's step, or
        they begin with calls if there is no optimizer."""
        if self.has_own:
            return self._valid_by_program()
        other = "call begins" if self.has_optimizer else "step begins"
        return [row for row in self.rows if row[0] != other]

    def _valid_by_program(self):
        valid = []
        is_open = False
        for name, here in self.rows:
            if name == "own step":
                valid += [["step ends", here]] if is_open else []
                name = "step begins"
            elif name == "step begins" and is_open or name == "call begins":
                continue
            is_open = is_open or name == "step begins"
            valid.append(["optimizer ends" if name == "step ends" else name, here])
        return valid


def watch(marks, names, end_now):
    """Hooks steps, backward passes and, with --calls, calls of the outermost module.

    end_now: called without arguments after the requested number of them.
    """
    _watch_first_call(marks, names)
    _watch_optimizers(marks, names, end_now)
    _watch_backward(marks, names)
    _watch_forgetting(marks)
    n_calls = int(settings.get("TIDEMARK_CALLS", 0))
    if n_calls > 0:
        _watch_calls(marks, n_calls, end_now)


class _Call:
    """Replaces the method __call__ of a class of modules, and sees which modules are called.

    The method is looked up before it is called, and only the look-up is seen here: none of our frames is in
    the program's calls, and a compiler that compares methods finds the class's own.
    """

    def __init__(self, function, then):
        self.function = function
        self.then = then

    def __get__(self, module, kind=None):
        if module is not None:
            self.then(module)
        return self.function.__get__(module, kind)


def _watch_first_call(marks, names):
    import torch

    original = torch.nn.Module.__call__

    def first(module):
        torch.nn.Module.__call__ = original
        marks.add("step begins")
        names.look_at_call(module)
        kind = type(module)
        if kind.__call__ is original:  # else the class has a method of its own
            kind.__call__ = _Call(original, _marked_calls(marks, id(module)))
        marks.add("call begins")

    torch.nn.Module.__call__ = _Call(original, first)


def _marked_calls(marks, which):
    n = 0

    def then(module):
        nonlocal n
        n += 1
        if id(module) == which and n < MAX_CALLS and not marks.has_optimizer:
            marks.add("call begins")

    return then


def mark_own(marks, end_now):
    """The program ends a step. The first time, the optimizer's steps so far no longer count."""
    if not marks.has_own:
        marks.has_own, marks.n_steps = True, 0
    marks.add("own step")
    _count(marks, end_now)


def _count(marks, end_now):
    marks.n_steps += 1
    if marks.n_steps == int(settings.get("TIDEMARK_STEPS", 0)):
        end_now()


def _watch_optimizers(marks, names, end_now):
    from torch.optim import optimizer as optimizers

    first = []  # the optimizer whose steps are counted; kept alive by the program

    def before(optimizer, args, kwargs):
        marks.has_optimizer = True
        if not first:
            first.append(id(optimizer))
        marks.add("optimizer begins")
        names.look_at_optimizer(optimizer)

    def after(optimizer, args, kwargs):
        names.look_at_optimizer(optimizer, has_stepped=True)
        if id(optimizer) != first[0]:
            marks.add("optimizer ends")
            return
        marks.add("step ends")
        card.end_step()
        values.end_step()
        if not marks.has_own and not _are_marked_by_change():
            _count(marks, end_now)
        marks.add("step begins")

    optimizers.register_optimizer_step_pre_hook(before)
    optimizers.register_optimizer_step_post_hook(after)


def _are_marked_by_change():
    """Whether a change of `tidemark plan` ends the steps, because optimizers step within the backward pass."""
    changes = sys.modules.get(__package__ + ".changes")
    return changes is not None and changes.marks_steps()


def _watch_forgetting(marks):
    """Follows a program that resets PyTorch's statistics."""
    import torch

    reset = torch._C._cuda_resetAccumulatedMemoryStats

    def reset_and_remember(device):
        marks.n_forgotten[device] = marks.of_device(device)
        reset(device)

    torch._C._cuda_resetAccumulatedMemoryStats = reset_and_remember


def _watch_backward(marks, names):
    """Hooks the one name by which all of PyTorch's Python functions enter the engine."""
    import torch.autograd as autograd

    engine = getattr(autograd, "_engine_run_backward", None)
    if engine is None:
        return
    inside = threading.local()  # a backward pass inside another belongs to the outer one

    def run(*args, **kwargs):
        depth = getattr(inside, "depth", 0)
        inside.depth = depth + 1
        if depth == 0:
            names.begin_backward(args[0] if args else ())
            marks.add("backward begins")
        try:
            return engine(*args, **kwargs)
        finally:
            inside.depth = depth
            if depth == 0:
                marks.add("backward ends")
                names.end_backward()

    autograd._engine_run_backward = run


def _watch_calls(marks, n_calls, end_now):
    from torch.nn.modules import module

    inside = threading.local()

    def before(*_):
        inside.depth = getattr(inside, "depth", 0) + 1

    def after(*_):
        inside.depth -= 1
        if inside.depth == 0:
            marks.n_calls += 1
            if marks.n_calls == n_calls:
                end_now()

    module.register_module_forward_pre_hook(before)
    module.register_module_forward_hook(after, always_call=True)
