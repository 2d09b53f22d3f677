"""What the program reads of the card: numbers, truth values, comparisons, copies on the host.

Each read is computed. One that rests on an assumption is named by the program's line (assumed.py).
"""
import torch

from .. import card
from . import draws
from .engine import Quiet, is_off

DRAWN_BYTES = 1 << 20  # a larger copy of unknown floats, such as a checkpoint, is drawn and not kept


def safely(function, *args):
    """What it returns; None if it fails, such as for a type that the CPU does not have: the program does not see that."""
    try:
        return function(*args)
    except Exception:
        return None


def item(engine, plan, call, sites):
    """One number or truth value: `.item()`, `bool(x)`, `if x:`."""

    def kernel(keys, tensor):
        if is_off():
            return call(keys, tensor)
        with card.Quiet():
            given = call(keys, tensor)
        if torch.cuda.is_current_stream_capturing():
            return given
        with Quiet():
            made, is_assumed = engine.read(tensor)
            value = safely(plan.func, made) if made is not None else None
        if value is None:
            return given
        if is_assumed:
            if type(value) is bool and card.is_checking():
                return True  # PyTorch checks its arguments, which are valid
            sites.number(value)
        return value

    kernel.call = call
    return kernel


def equal(engine, plan, call, sites):
    """torch.equal: whether two tensors have the same elements."""

    def kernel(keys, one, other):
        with card.Quiet():
            given = call(keys, one, other)
        if is_off() or one.size() != other.size():
            return given
        with Quiet():
            (mine, is_assumed), (theirs, is_other_assumed) = engine.read(one), engine.read(other)
            value = safely(plan.func, mine, theirs) if mine is not None and theirs is not None else None
        if value is None:
            return given
        if is_assumed or is_other_assumed:
            sites.number(value)
        return value

    kernel.call = call
    return kernel


def _drawn_part(to):
    """The elements that are drawn. Page-locked memory mostly keeps activations or states until the card needs them again:
    there the rest stays zero, which takes no memory of the host (programs/virtual_cuda/card/pinned.h)."""
    return to.view(-1)[: DRAWN_BYTES // to.itemsize] if to.is_contiguous() and to.is_pinned() else to


def copy_to_host(engine, call, sites, args, kwargs):
    """`.cpu()`, `.tolist()`, `.numpy()`, printing."""
    keys, to, source, *more = args
    with card.Quiet():
        call(keys, to, source, *more, **kwargs)
    if source.numel() == 0 or source.layout is not torch.strided:
        return to
    n_bytes = source.numel() * source.itemsize
    is_dear = source.is_floating_point() and n_bytes > DRAWN_BYTES and not engine.is_known(source)
    with Quiet():
        made, is_assumed = (None, True) if is_dear else engine.read(source)
        if made is not None:
            safely(to.copy_, made)
        elif source.is_floating_point():
            safely(draws.fill, _drawn_part(to), source.untyped_storage().data_ptr() >> 9)
    if is_assumed:
        sites.copied()
    return to
