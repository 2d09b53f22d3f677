"""Programs that check their loss for NaN and infinity find neither.

`torch.isfinite(loss)` is computed by a kernel, and no kernel runs. Read as false, it would end many a
program. So the numbers of an unknown tensor count as finite, as in a run that goes well, and the check
says so; `any` and `all` of a check say the same. What the host gave is looked at on the host.
"""
import functools

import torch
from torch.utils.weak import WeakIdKeyDictionary

from . import card, shadow

_checks = {"isfinite": True, "isnan": False, "isinf": False, "isposinf": False, "isneginf": False}
_answers = WeakIdKeyDictionary()  # result of a check -> (version of the tensor, what it says)
_given = WeakIdKeyDictionary()  # tensor that the host gave -> (version of the tensor, its copy)


def watch():
    for name, answer in _checks.items():
        for place in (torch, torch.Tensor):
            _replace(place, name, _check(getattr(place, name, None), answer))
    for name in ("any", "all"):
        for place in (torch, torch.Tensor):
            _replace(place, name, _reduction(getattr(place, name)))


def _replace(place, name, function):
    if function is None:
        return
    setattr(place, name, function)
    if place is torch:  # torch.jit.script knows its functions by identity
        torch.jit._builtins._register_builtin(function, f"aten::{name}")


def _check(function, answer):
    if function is None:
        return None

    @functools.wraps(function)
    def call(tensor, *args, **kwargs):
        if args or kwargs or not is_of_card(tensor):
            return function(tensor, *args, **kwargs)
        held = _look(tensor)
        result = function(tensor)
        worked_out = shadow.shadows().find(result)
        if worked_out is None or worked_out.is_assumed:
            _say(result, None if held is None else function(held), answer)
        return result

    return call


def _reduction(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        if not args or not is_of_card(args[0]) or "out" in kwargs:
            return function(*args, **kwargs)
        held = _look(args[0])
        result = function(*args, **kwargs)
        version, answer = _answers.get(args[0], (None, None))
        if held is not None:
            _say(result, function(held, *args[1:], **kwargs), None)
        elif version == args[0]._version and args[0].numel() > 0:
            _say(result, None, answer)
        return result

    return call


def is_of_card(tensor):
    """Whether a program may read what is made of it: no compiler and no graph makes it again."""
    if torch.compiler.is_compiling() or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return False
    return tensor.is_cuda and not shadow.is_traced() and not torch.cuda.is_current_stream_capturing()


def _look(tensor):
    """The tensor on the host, where the card knows its bytes. None: they are not known."""
    version, held = _given.get(tensor, (None, None))
    if version == tensor._version:
        return held  # a check makes the card forget it: its kernel might have changed it
    n_bytes = tensor.numel() * tensor.itemsize
    if not 0 < n_bytes <= shadow.LIMIT_BYTES or not tensor.is_contiguous() or shadow.is_marked(tensor):
        return None
    held = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
    if not card.read(held.data_ptr(), tensor.data_ptr(), n_bytes):
        return None
    _given[tensor] = (tensor._version, held)
    return held


def _say(result, known, answer):
    """Makes the card know the result. A fill takes no memory on the card."""
    with torch.no_grad():
        if known is not None:
            result.copy_(known)
            return
        result.fill_(answer)
        _answers[result] = (result._version, answer)
