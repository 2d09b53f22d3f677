"""Notes what the program does, by functions of PyTorch that are replaced by ones that pass the call on.

Nothing here holds a tensor, so the program's memory is the same to the byte.
"""
import contextlib
import functools
import sys
import threading
import weakref

from . import losses, places

_SQUARE = 64  # rows of a softmax over a square that is attention made by hand

_originals = []  # (object, name, PyTorch's own function, the replacement)


def replace(owner, name, make):
    """Replaces an attribute by make(the present one), unless the owner lacks it."""
    present = getattr(owner, name, None)
    if present is None:
        return
    new = make(present)
    if not isinstance(new, functools.partialmethod):
        functools.update_wrapper(new, present)
    setattr(owner, name, new)
    _originals.append((owner, name, present, new))


@contextlib.contextmanager
def original():
    """Within it, PyTorch's functions are its own again: lines of changes are not noted as the program's."""
    held = [(owner, name, new) for owner, name, present, new in _originals if getattr(owner, name) is new]
    for owner, name, present, new in _originals:
        if (owner, name, new) in held and owner is sys.modules.get("torch.utils.checkpoint"):
            setattr(owner, name, present)
    try:
        yield
    finally:
        for owner, name, new in held:
            if owner is sys.modules.get("torch.utils.checkpoint"):
                setattr(owner, name, new)


def watch(torch, seen):
    _watch_modules(torch, seen)
    _watch_attention(torch, seen)
    _watch_loop(torch, seen)
    _watch_precision(torch, seen)
    _watch_checkpoints(torch, seen)
    _watch_compilers(torch, seen)


def is_compiling(torch):
    return torch.compiler.is_compiling()


def _noting(torch, note):
    """A replacement that notes the call and passes it on. What a compiler traces is not noted: it would trace that,
    too."""

    def make(function):
        def call(*arguments, **named):
            if not is_compiling(torch):
                try:
                    note(*arguments, **named)
                except Exception:  # the call itself raises what is wrong with its arguments
                    pass
            return function(*arguments, **named)

        return call

    return make


def _watch_modules(torch, seen):
    def keep(module):
        key = id(module)
        if key not in seen.modules:
            seen.modules[key] = weakref.ref(module, lambda _: seen.modules.pop(key, None)), places.of_construction(module)

    def after(make):
        def call(self, *arguments, **named):
            make(self, *arguments, **named)
            keep(self)

        return call

    replace(torch.nn.Module, "__init__", after)
    replace(torch.nn.Module, "__setstate__", after)  # of a copy


def _watch_attention(torch, seen):
    functional = torch.nn.functional

    def softmax(input, *_, **__):  # PyTorch's name of the argument
        if not isinstance(input, torch.Tensor) or input.dim() < 3:
            return
        if input.shape[-1] == input.shape[-2] >= _SQUARE and input.requires_grad:
            row = seen.attention.setdefault(places.here(), [0, 0])
            row[0] += 1
            row[1] = max(row[1], input.numel() * input.element_size())

    def attention(query, key, value, attn_mask=None, *_, **__):
        if attn_mask is not None:
            place = places.here()
            seen.masks[place] = max(seen.masks.get(place, 0), attn_mask.numel() * attn_mask.element_size())

    for owner, name in ((functional, "softmax"), (torch, "softmax"), (torch.Tensor, "softmax")):
        replace(owner, name, _noting(torch, softmax))
    replace(functional, "scaled_dot_product_attention", _noting(torch, attention))


def _watch_loop(torch, seen):
    inside = threading.local()

    def engine(run):
        def call(*arguments, **named):
            depth = getattr(inside, "depth", 0)
            inside.depth = depth + 1
            seen.n_backwards += depth == 0
            if depth == 0 and not seen.sums and losses.has_sum(arguments[0] if arguments else named.get("t_outputs")):
                seen.sums = places.here() or "a library"
            try:
                return run(*arguments, **named)
            finally:
                inside.depth = depth

        return call

    def clips(*_, **__):
        seen.clips = seen.clips or places.here() or "a library"

    def zero_grad(self, set_to_none=True):
        if not set_to_none:
            seen.keeps_zeros = seen.keeps_zeros or places.here() or "a library"

    def clears(self, *_, **__):
        seen.clears_by_model = seen.clears_by_model or places.here() or "a library"

    def schedules(self, *_, **__):
        if sys._getframe(2).f_code.co_name != "_initial_step" and seen.n_steps < 3:
            seen.schedules = seen.schedules or places.here() or "a library"

    replace(torch.autograd, "_engine_run_backward", engine)
    for owner in (torch.nn.utils, sys.modules.get("torch.nn.utils.clip_grad")):
        for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_"):
            replace(owner, name, _noting(torch, clips))
    replace(torch.optim.Optimizer, "zero_grad", _noting(torch, zero_grad))
    replace(torch.nn.Module, "zero_grad", _noting(torch, clears))
    replace(torch.optim.lr_scheduler.LRScheduler, "step", _noting(torch, schedules))
    for kind in vars(torch.optim.lr_scheduler).values():
        if isinstance(kind, type) and issubclass(kind, torch.optim.lr_scheduler.LRScheduler) and "step" in vars(kind):
            if kind is not torch.optim.lr_scheduler.LRScheduler:
                replace(kind, "step", _noting(torch, schedules))


def _watch_precision(torch, seen):
    def enters(self, *_):
        if self._enabled and self.device == "cuda":
            seen.autocasts = seen.autocasts or places.here() or "a library"

    def scales(self, *arguments, **named):
        if named.get("enabled", True):
            seen.scales = seen.scales or places.here() or "a library"

    replace(torch.autocast, "__enter__", _noting(torch, enters))
    replace(torch.amp.GradScaler, "__init__", _noting(torch, scales))


def _watch_checkpoints(torch, seen):
    from torch.utils import checkpoint

    def checkpoints(*_, **__):
        seen.checkpoints = seen.checkpoints or places.here() or "a library"

    replace(checkpoint, "checkpoint", _noting(torch, checkpoints))


def _watch_compilers(torch, seen):
    def compiles(model=None, *_, **__):
        if isinstance(model, torch.nn.Module):
            seen.compiles = seen.compiles or places.here() or "a library"

    def captures(*_, **__):
        seen.captures = seen.captures or places.here() or "a library"

    replace(torch, "compile", _noting(torch, compiles))
    replace(torch.nn.Module, "compile", _noting(torch, compiles))
    replace(torch.cuda.CUDAGraph, "capture_begin", _noting(torch, captures))


def watch_root(torch, seen, root):
    """Notes forward passes of an outermost module in eval mode whose graph is kept."""

    def after(module, arguments, output):
        if is_compiling(torch):
            return
        seen.forward_place = seen.forward_place or places.here()
        if module.training or not torch.is_grad_enabled():
            return
        first = _first_tensor(torch, output)
        if first is not None and first.requires_grad:
            seen.n_evaluations += 1
            first.register_hook(reached)

    def reached(gradient):
        seen.evaluation_reaches_backward = True

    root.register_forward_hook(_Hook(after))


class _Hook:
    """A hook of a model that can be saved: in the file it is one that does nothing."""

    def __init__(self, call):
        self.call = call

    def __call__(self, *arguments):
        self.call(*arguments)

    def __reduce__(self):
        return getattr, (contextlib.nullcontext(), "__exit__")  # takes three arguments, returns None


def _first_tensor(torch, value):
    if isinstance(value, torch.Tensor):
        return value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return next((found for found in (_first_tensor(torch, item) for item in inner) if found is not None), None)
