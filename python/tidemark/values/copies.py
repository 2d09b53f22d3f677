"""Copies between the host and the card, and on the card."""
import torch

from . import reads
from .engine import Quiet, is_off
from .nodes import SMALL
from .table import version_of

COPIED_BYTES = 1 << 20  # of floats; larger ones are held
HELD_BYTES = 4 << 20  # of one tensor of floats that is held
INTEGERS_BYTES = 64 << 20  # up to which integers are copied
LARGEST_BYTES = 1 << 30  # larger ones are not kept


def kernel(engine, plan, call, sites):
    def kernel(keys, to, source, *more, **kwargs):
        if is_off():
            return call(keys, to, source, *more, **kwargs)
        if not to.is_cuda:
            return reads.copy_to_host(engine, call, sites, (keys, to, source, *more), kwargs)
        if engine.promised:
            engine.keep_promises((source,))
        call(keys, to, source, *more, **kwargs)
        if to.layout is not torch.strided or source.layout is not torch.strided:
            return to
        if source.is_cuda:
            _on_card(engine, plan, to, source)
        elif source.device.type == "cpu" and to.numel() > 0:
            _to_card(engine, plan, to, source)
            sites.n_steps += to.numel() > 1  # a loop that waits may copy single numbers
        return to

    kernel.call = call
    return kernel


def _on_card(engine, plan, to, source):
    is_large = source.numel() > SMALL and source.dtype.is_floating_point
    if source.dtype.is_floating_point and (not engine.has(source) or is_large and not engine.is_known(source)):
        engine.forget(to)  # a cast of something unknown
        return
    engine.note(plan, (to, source), {}, to)


def _to_card(engine, plan, to, source):
    n_bytes = to.numel() * to.itemsize
    if n_bytes != to.untyped_storage().nbytes():
        if to.is_floating_point() and n_bytes > COPIED_BYTES or n_bytes > INTEGERS_BYTES:
            engine.written(to)  # a node would hold the host's bytes
        else:
            engine.note(plan, (to, source), {}, to)
        return
    if n_bytes > LARGEST_BYTES:
        engine.forget(to)  # a data set
        return
    is_by_reference = n_bytes > (COPIED_BYTES if to.is_floating_point() else INTEGERS_BYTES)
    if not is_by_reference:
        with Quiet():
            engine.put(to, source, is_copy=True)
        return
    if not _is_same_layout(to, source):
        engine.forget(to)
        return
    if to.is_floating_point() and n_bytes > HELD_BYTES:
        engine.sample(to, source)
        return
    engine.hold(to, source)


def _is_same_layout(to, source):
    is_whole = source.untyped_storage().nbytes() == to.untyped_storage().nbytes() and source.storage_offset() == to.storage_offset()
    return source.dtype == to.dtype and source.stride() == to.stride() and is_whole and version_of(source) >= 0
