"""Offload of activations: what autograd saves in a forward pass goes to pinned memory of the host."""
import sys

from . import lines, models, observe, paste
from .row import Row, all_models, first_model, holders, unsuitable_models

TEXT = '''import functools

def with_offload(model):
    forward = model.forward

    def pack(t):
        if not t.is_cuda or t.numel() * t.element_size() < 2**20 or t.untyped_storage().data_ptr() in pack.kept:
            return t
        host = torch.empty(t.size(), dtype=t.dtype, layout=t.layout, pin_memory=True)
        return t.device, host.copy_(t, non_blocking=True)

    def unpack(saved):
        return saved[1].to(saved[0], non_blocking=True) if isinstance(saved, tuple) else saved

    @functools.wraps(forward)
    def offloaded(*args, **kwargs):
        pack.kept = {p.untyped_storage().data_ptr() for p in model.parameters()}
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            return forward(*args, **kwargs)

    return offloaded

{model}.forward = with_offload({model})'''


_LEFT = 8  # a run ends while one part in so many of the host's memory is available


def is_full():
    """Whether the host has little memory left. Pinned memory is real, also on a virtual card."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            rows = dict(line.split(":") for line in file)
        total, available = (int(rows[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):
        return False
    return available * _LEFT < total


def _watch_host(now):
    """Ends the program before the lines of this change use up the host's memory."""
    import torch

    def make(empty):
        def call(*arguments, **named):
            if named.get("pin_memory") and sys._getframe(1).f_code.co_filename == lines.FILE and is_full():
                now.refuse("offload_activations", "this machine has too little memory for it")
                raise MemoryError("offload_activations: this machine has too little memory for it")
            return empty(*arguments, **named)

        return call

    observe.replace(torch, "empty", make)


def calls_forward(now):
    """Why a replaced forward pass of the outermost module would not be called."""
    return "Lightning calls training_step, not forward" if "Lightning" in holders(now) else None


def refusal(now, applied):
    return unsuitable_models(now, applied) or calls_forward(now)


def can(now):
    return {"": first_model(now)}


def apply(now, made, roots, argument):
    if "offload_activations" not in now.did:
        _watch_host(now)
    for root in roots:
        lines.run(TEXT, observe.original, model=root)
        what = f"activations of {type(root).__name__} of 1 MiB and more"
        paste.done_to_model(now, made, root, "offload_activations", "", what, TEXT)


ROW = Row("offload_activations", refusal, can, apply)
