"""Operators that have as many rows as they find values, and what one row more would take.

`nonzero`, the `unique` family and torchvision's `nms` get the number that was computed on the CPU. Boolean indexing,
masked_select, repeat_interleave and bincount ask for it by nonzero and item within themselves.

A number of rows that rests on an assumption is watched: results of later operators with that many rows belong to it, and
their bytes are counted while they are alive. So the answer can say what all rows would take.
"""
import threading

import torch

from .. import card
from ..imports import when_imported
from .engine import Quiet, is_off
from .overloads import tensors
from .reads import safely

# The numbers that the operator reads within itself, of its arguments and its result on the CPU.
_NUMBERS = {
    "_unique": lambda args, made: [made[0].numel()],
    "_unique2": lambda args, made: [made[0].numel()],
    "unique_consecutive": lambda args, made: [made[0].numel()],
    "unique_dim": lambda args, made: [made[0].shape[args[1]]],
    "unique_dim_consecutive": lambda args, made: [made[0].shape[args[1]]],
}
_nms = threading.local()  # n: the number of boxes that nms keeps, while its kernel runs in this thread


def kernel(engine, plan, call, sites):
    make = _found if plan.name == "nonzero" else _distinct

    def kernel(keys, *args, **kwargs):
        if is_off() or torch.cuda.is_current_stream_capturing():
            return call(keys, *args, **kwargs)
        return make(engine, plan, call, sites, (keys, *args), kwargs)

    kernel.call = call
    return kernel


def _found(engine, plan, call, sites, args, kwargs):
    """nonzero: only the number of rows is computed now, since a mask may be large."""
    tensor = args[1]
    with Quiet():
        made, is_assumed = engine.read(tensor)
        n = _count(made) if made is not None else tensor.numel() // 2
    with card.Answers([n]):
        out = call(*args, **kwargs)
    if out.shape[0] != n:  # another kernel of PyTorch's, which counts in another way
        sites.rows_of("nonzero", out.shape[0], tensor.numel())
        return out
    if made is not None:
        engine.note(plan, args[1:], kwargs, out)
    else:
        is_assumed = True
    if is_assumed:
        sites.rows_of("mask" if tensor.dtype == torch.bool else "nonzero", n, tensor.numel())
    return out


def _count(made):
    n = getattr(_nms, "n", None)
    return int(made.count_nonzero()) if n is None else n


def _distinct(engine, plan, call, sites, args, kwargs):
    tensor = args[1]
    with Quiet():
        made, is_assumed = engine.read(tensor)
        exact = None if made is None else safely(lambda: plan.func(made, *args[2:], **kwargs))
    if exact is None:
        sites.rows_of("unique values", 0, tensor.numel())
        return call(*args, **kwargs)
    with card.Answers(_NUMBERS[plan.name]((made, *args[2:]), exact)):
        out = call(*args, **kwargs)
    out = _put(engine, out, exact, is_assumed)
    if is_assumed:
        sites.rows_of("unique values", exact[0].shape[0], tensor.numel())
    return out


def _put(engine, out, exact, is_assumed):
    """The results with the CPU's values. One whose kernel counts in another way is brought by a copy."""
    results, values = list(tensors(out)), list(tensors(exact))
    if any(a.shape != b.shape for a, b in zip(results, values)):
        results = [value.to(results[0].device) for value in values]
        out = tuple(results) if isinstance(exact, tuple) else results[0]
    with Quiet():
        for result, value in zip(results, values):
            engine.put(result, value, is_assumed)
    return out


# ---- torchvision


def watch_vision(engine, sites, libraries):
    """nms keeps the boxes that its CPU kernel keeps."""

    def change(_):
        func = torch.ops.torchvision.nms.default
        call = torch.library.get_kernel("torchvision::nms", "CUDA").call_boxed
        library = torch.library.Library("torchvision", "IMPL")
        library.m.impl("torchvision::nms", "CUDA", _kept(engine, sites, func, call), True)
        libraries.append(library)

    if hasattr(torch.library, "get_kernel"):
        when_imported({"torchvision.ops.boxes": change})


def _kept(engine, sites, func, call):
    def kernel(keys, boxes, scores, threshold):
        with Quiet():
            (corners, is_assumed), (confidence, is_other_assumed) = engine.read(boxes), engine.read(scores)
            is_there = corners is not None and confidence is not None
            keep = safely(func, _float(corners), _float(confidence), threshold) if is_there else None
        if keep is None:
            return call(keys, boxes, scores, threshold)
        _nms.n = keep.shape[0]
        try:
            out = call(keys, boxes, scores, threshold)
        finally:
            _nms.n = None
        out = _put(engine, out, keep, is_assumed or is_other_assumed)
        if is_assumed or is_other_assumed:
            sites.rows_of("detections", keep.shape[0], boxes.shape[0])
        return out

    return kernel


def _float(values):
    """The CPU's nms has no half precision."""
    return values.float() if values.dtype is torch.float16 else values


# ---- what all rows would take


class Watched:
    """Results with as many rows as an assumed read gave, by the site of the read."""

    def __init__(self):
        self.by_n = {}  # number of rows -> [site, rows that were possible, whether a result with so many was seen]
        self.live = {}  # site -> storage's key -> (number of rows, bytes of one row, bytes that all rows would take more)
        self.most = {}  # site -> the largest sums of the two that were alive at once
        self.most_of_one = {}  # the same of a single read

    @property
    def is_watching(self):
        return bool(self.by_n)

    def watch(self, site, n, possible):
        for other in [other for other, row in self.by_n.items() if row[0] == site and not self._has_alive(site, other)]:
            del self.by_n[other]  # a read of this line whose results are gone
        if 1 < n < possible:
            self.by_n[n] = [site, possible, False]

    def _has_alive(self, site, n):
        expired = torch.UntypedStorage._expired
        return any(part[0] == n and not expired(key) for key, part in self.live.get(site, {}).items())

    def look(self, out):
        for tensor in tensors(out if isinstance(out, (tuple, list)) else (out,)):
            row = self.by_n.get(tensor.size(0)) if tensor.dim() > 0 else None
            if row is None or not tensor.is_cuda or tensor.layout is not torch.strided:
                continue
            site, possible, is_begun = row
            if is_begun and not self._has_alive(site, tensor.size(0)):
                del self.by_n[tensor.size(0)]  # later tensors have as many rows for other reasons
                continue
            row[2] = True
            self._add(tensor, site, possible)

    def _add(self, tensor, site, possible):
        storage = tensor.untyped_storage()
        key, n = storage._cdata, tensor.size(0)
        live = self.live.setdefault(site, {})
        if key in live and not torch.UntypedStorage._expired(key):
            return
        for gone in [old for old in live if torch.UntypedStorage._expired(old)]:
            del live[gone]
            torch.UntypedStorage._free_weak_ref(gone)
        storage._weak_ref()
        live[key] = (n, storage.nbytes() / n, storage.nbytes() / n * (possible - n))
        _raise(self.most, site, live.values())
        _raise(self.most_of_one, site, [part for part in live.values() if part[0] == n])

    def bytes_of(self, site, is_of_one=False):
        """What one row more takes, and what all rows would take more, at the most. is_of_one: of a single read; else of all
        reads of the site together."""
        return tuple(int(n) for n in (self.most_of_one if is_of_one else self.most).get(site, (0, 0)))


def _raise(most, site, parts):
    sums = [sum(part[i] for part in parts) for i in (1, 2)]
    most[site] = tuple(map(max, most.get(site, (0, 0)), sums))
