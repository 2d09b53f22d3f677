"""The scale of torch.amp.GradScaler, as in a run in which no gradient overflows.

Its scale and its counter of steps are one number each on the card, and a kernel updates them. No
kernel runs. Read as zero, the scale would look as if it had shrunk, and a program that compares it
with the one before takes the step for a skipped one. So the update is worked out on the host, and
the card is told what it has made.
"""
import functools

import torch
from torch.utils.weak import WeakIdKeyDictionary

from . import card, finite

_held = WeakIdKeyDictionary()  # scale or counter -> (version of the tensor, its copy on the host)


def watch():
    kind = torch.amp.GradScaler
    for name in ("_lazy_init_scale_growth_tracker", "update", "load_state_dict"):
        setattr(kind, name, _noted(getattr(kind, name)))
    for name in ("get_scale", "_get_growth_tracker"):
        setattr(kind, name, _told(getattr(kind, name)))
    torch._amp_update_scale_ = _updated(torch._amp_update_scale_)


def _state(scaler):
    """The two tensors, where they are on the card."""
    found = [getattr(scaler, name, None) for name in ("_scale", "_growth_tracker")]
    return [tensor for tensor in found if isinstance(tensor, torch.Tensor) and finite.is_of_card(tensor)]


def _noted(function):
    """Afterwards the card knows the tensors: they were filled, and no kernel has had them since."""

    @functools.wraps(function)
    def call(scaler, *args, **kwargs):
        result = function(scaler, *args, **kwargs)
        for tensor in _state(scaler):
            values = _read(tensor)
            if values is not None:
                _held[tensor] = (tensor._version, values)
        return result

    return call


def _told(function):
    """The card is told before the program reads: kernels have had the tensors since the update."""

    @functools.wraps(function)
    def call(scaler):
        for tensor in _state(scaler):
            _tell(tensor)
        return function(scaler)

    return call


def _updated(function):
    @functools.wraps(function)
    def call(scale, growth_tracker, found_inf, *factors):
        tensors = (scale, growth_tracker)
        is_known = all(map(finite.is_of_card, tensors)) and all(_find(t) is not None for t in tensors)
        result = function(scale, growth_tracker, found_inf, *factors)
        if is_known:
            values = [_held[tensor][1] for tensor in tensors]
            found = _read(found_inf)
            function(*values, torch.zeros(()) if found is None else found, *factors)
            for tensor, value in zip(tensors, values):
                _held[tensor] = (tensor._version, value)
                _tell(tensor)
        return result

    return call


def _find(tensor):
    """Its values on the host; None: the program has written to it since."""
    version, values = _held.get(tensor, (None, None))
    return values if version == tensor._version else None


def _read(tensor):
    """Its values, where the card knows its bytes."""
    values = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
    is_known = card.read(values.data_ptr(), tensor.data_ptr(), tensor.numel() * tensor.itemsize)
    return values if is_known else None


def _tell(tensor):
    values = _find(tensor)
    if values is not None:
        card.write(tensor.data_ptr(), values.data_ptr(), values.numel() * values.itemsize)
