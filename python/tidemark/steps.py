"""Marks where steps and phases begin and end in PyTorch's history.

A place in the history is told by the number of blocks that each device has given out and taken back
so far. PyTorch counts them in its statistics, so that a mark costs one look and changes nothing.

A step ends when the first optimizer of the program has made its step. Gradient accumulation counts
once, because the optimizer then steps once. The first step begins with the first call of a module.
"""
import os
import threading


class Marks:
    """Places in the history: [name, rows so far by device]."""

    def __init__(self):
        self.rows = []
        self.n_steps = 0
        self.n_calls = 0
        self.ended_early = False  # by --steps or --calls

    def here(self):
        """Rows so far, by device: blocks given out and taken back, each of which is one."""
        import torch

        counts = []
        for device in range(torch.cuda.device_count()):
            blocks = torch._C._cuda_memoryStats(device)["allocation"]["all"]
            counts.append(blocks["allocated"] + blocks["freed"])
        return counts

    def add(self, name):
        self.rows.append([name, self.here()])


def watch(marks, names, end_now):
    """Hooks steps, backward passes and, with --calls, calls of the outermost module.

    end_now: called without arguments when as many of them have happened as were asked for.
    """
    _watch_first_call(marks)
    _watch_optimizers(marks, names, int(os.environ.get("TIDEMARK_STEPS", 0)), end_now)
    _watch_backward(marks)
    n_calls = int(os.environ.get("TIDEMARK_CALLS", 0))
    if n_calls > 0:
        _watch_calls(marks, n_calls, end_now)


def _watch_first_call(marks):
    from torch.nn.modules import module

    def begin(*_):
        handle.remove()  # a hook on every module costs time: this one is needed once
        marks.add("step begins")

    handle = module.register_module_forward_pre_hook(begin)


def _watch_optimizers(marks, names, n_steps, end_now):
    from torch.optim import optimizer as optimizers

    first = []  # the optimizer whose steps are counted; kept alive by the program

    def before(optimizer, args, kwargs):
        if not first:
            first.append(id(optimizer))
        if id(optimizer) == first[0]:
            marks.add("optimizer begins")
            names.look_at_optimizer(optimizer)

    def after(optimizer, args, kwargs):
        if id(optimizer) != first[0]:
            names.look_at_optimizer(optimizer)
            return
        names.look_at_optimizer(optimizer)
        marks.add("step ends")
        marks.n_steps += 1
        if marks.n_steps == n_steps:
            end_now()
        marks.add("step begins")

    optimizers.register_optimizer_step_pre_hook(before)
    optimizers.register_optimizer_step_post_hook(after)


def _watch_backward(marks):
    """PyTorch's Python functions all enter the engine by this one name."""
    import torch.autograd as autograd

    engine = getattr(autograd, "_engine_run_backward", None)
    if engine is None:
        return
    inside = threading.local()  # a backward pass inside of another belongs to that one

    def run(*args, **kwargs):
        depth = getattr(inside, "depth", 0)
        inside.depth = depth + 1
        if depth == 0:
            marks.add("backward begins")
        try:
            return engine(*args, **kwargs)
        finally:
            inside.depth = depth
            if depth == 0:
                marks.add("backward ends")

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
