"""The recording of a black box (`tidemark env`): what a snapshot of the last minutes needs, and nothing that a step would feel.

The library records the events, their stacks and the paths of modules. This module marks steps and phases, and names all
tensors at the first failed requests. Nothing in the program is replaced but the entry of the backward pass, and no signal is
handled.
"""
import os
import threading

from . import live, live_names, modules, names, program, source, steps, telling, types_held

MOST_FAILURES = 3  # for which tensors are named: a program may fail and go on all day


class BlackBox:
    """The recording of this process."""

    def __init__(self):
        self.live = live.find()
        self.marks = steps.Marks(self.live)
        self.source = source.Source(self.live)
        self.types = types_held.Types(self.live)
        self.names = _Names(self.marks)
        self.n_failures = 0
        self.lock = threading.Lock()

    def begin(self):
        """CUDA is initialised, and nothing has been allocated yet."""
        import torch

        if self.live.attach() not in (live.ATTACHED, live.OTHER_ALLOCATOR):
            return
        self.live.watch_modules(torch, lambda module, arguments: None)
        self.live.watch_pools(torch)
        program.tell(torch, self.live)
        torch._C._cuda_attach_out_of_memory_observer(self._at_out_of_memory)
        modules.watch(self.names.modules)
        steps.watch(self.marks, self.names, _go_on)

    def _at_out_of_memory(self, device, asked, total, free):
        with self.lock:
            self.n_failures += 1
            if self.n_failures <= MOST_FAILURES:
                self.names.look_at_failure()
                self.types.tell()
                self.source.tell()
        self.live.named_all()


class _Names(live_names.LiveNames):
    """Names tensors at failures only."""

    def look_at_optimizer(self, optimizer, has_stepped=False):
        """In a step: nothing. look() names everything."""

    def look_at_call(self, module, arguments=()):
        pass

    def begin_backward(self, roots):
        self.walks.n_running += 1

    def end_backward(self):
        self.walks.n_running -= 1

    def look(self):
        import torch

        super().look()
        for optimizer in names.alive(torch.optim.Optimizer):
            super().look_at_optimizer(optimizer)
            super().look_at_optimizer(optimizer, has_stepped=True)


def _go_on():
    """No number of steps ends the program."""


_box = None


def prepare(cuda):
    """Queues the start after PyTorch's initialisation of CUDA, once."""
    global _box
    if _box is not None or live.find() is None:
        return
    _box = BlackBox()
    os.register_at_fork(after_in_child=_forget_parent)
    if cuda.is_initialized():
        _begin()
    else:  # cuda._lazy_call would wait for a lock that this thread may hold
        cuda._queued_calls.append((_begin, []))


def _begin():
    try:
        _box.begin()
    except Exception as error:  # the program must not see it
        telling.tell(f"the black box has no names: {type(error).__name__}: {error}")


def _forget_parent():
    """A forked child has a ring of its own, if it may use CUDA at all."""
    global _box
    _box = BlackBox()
