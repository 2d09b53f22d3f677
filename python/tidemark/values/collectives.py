"""Ranks exchange what the card knows: before a collective it gets what was computed, and afterwards its results are
whatever the other ranks gave.
"""
import torch

from .. import card
from .engine import Quiet, is_off
from .overloads import KEY, Plan, full_name, tensors

VALUE_BYTES = 1 << 19  # of a tensor whose values are exchanged; gradients are not read
OBJECT_BYTES = 256 << 20  # of one that carries objects, as in programs/virtual_cuda/values/known.h


class Objects:
    """Whether this process sends objects to other ranks: then larger tensors are exchanged."""

    depth = 0

    def __enter__(self):
        Objects.depth += 1

    def __exit__(self, *_):
        Objects.depth -= 1


def watch(engine, original):
    """Replaces the collectives' kernels; None where PyTorch was built without them."""
    if not torch.distributed.is_available():
        return None
    library = torch.library.Library("c10d", "IMPL")
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("c10d::") and torch._C._dispatch_has_kernel_for_dispatch_key(full_name(schema), "CUDA"):
            func = getattr(getattr(torch.ops.c10d, schema.name[len("c10d::"):]), schema.overload_name or "default")
            plan = Plan(schema.name[len("c10d::"):], schema, func)
            library.m.impl(full_name(schema), KEY, _kernel(engine, original(plan)), True)
    return library


def _kernel(engine, call):
    def kernel(keys, *args, **kwargs):
        given = [t for t in tensors(*args) if t.is_cuda] if not is_off() else []
        for tensor in given:
            _give(engine, tensor)
        result = call(keys, *args, **kwargs)
        for tensor in given:
            engine.promise(tensor)
        return result

    return kernel


def _give(engine, tensor):
    """The card gets the tensor's values."""
    storage = tensor.untyped_storage()
    n, limit = storage.nbytes(), OBJECT_BYTES if Objects.depth else VALUE_BYTES
    if 0 < n <= limit and engine.is_known(tensor):
        with Quiet():
            values, is_assumed = engine.read(tensor)
        if values is not None and not is_assumed and values.numel() * values.itemsize == n and values.is_contiguous():
            card.write(storage.data_ptr(), values.data_ptr(), n)
    if Objects.depth:  # a tensor that grew for the largest of all ranks has bytes that no rank wrote: any will do
        card.settle(storage.data_ptr(), n)
        if n > OBJECT_BYTES:
            card.inexact("objects", "ranks send each other objects of more than 256 MiB, which do not travel between virtual cards; "
                         "they are read as zeros")
