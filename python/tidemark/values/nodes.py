"""Notes operators and their arguments, with nothing computed: the engine in Python, first part.

A node holds no tensor of the card's: an argument of the card's is a Ref to the Value that its storage had. So memory on the
card is what it was without tidemark.
"""
import weakref

import torch

from .overloads import tensors
from .table import Value

SMALL = 1 << 18  # elements: larger results of floats are noted only where something is known of what goes in
DEPTH = 256  # of a chain of nodes, such as a counter's; then it is computed, or unknown


class Ref:
    """A tensor of the card's among a node's arguments."""

    __slots__ = ("value", "dtype", "size", "stride", "offset", "is_marked")

    def __init__(self, tensor, value):
        self.value = value
        self.dtype, self.size, self.stride, self.offset = tensor.dtype, tensor.size(), tensor.stride(), tensor.storage_offset()
        self.is_marked = tensor.is_conj() or tensor.is_neg()

    def n(self):
        return self.size.numel()

    def is_flat(self):
        """Whether its elements follow each other in the storage."""
        expected = 1
        for size, stride in zip(reversed(self.size), reversed(self.stride)):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True

    def on(self, storage):
        made = torch.empty(0, dtype=self.dtype, device="cpu").set_(storage, self.offset, self.size, self.stride)
        return made.conj() if self.is_marked and self.dtype.is_complex else made


class Place:
    """Where a node's result is in its storage."""

    __slots__ = ("is_write", "i", "dtype", "size", "stride", "offset")

    def __init__(self, tensor, i, is_write):
        self.is_write, self.i = is_write, i  # the i-th tensor that is written, or that is new
        self.dtype, self.size, self.stride, self.offset = tensor.dtype, tensor.size(), tensor.stride(), tensor.storage_offset()


class Node:
    """One call of an operator. Once it is computed, its arguments are dropped."""

    __slots__ = ("plan", "args", "kwargs", "over", "results", "depth", "n_bytes", "n_operations", "seed")

    def values(self):
        """The values that it makes and that something still needs."""
        return [value for value in (result() for result in self.results) if value is not None]

    def refs(self):
        yield from refs_of(self.args)
        for value in self.kwargs.values():
            yield from refs_of(value)

    def is_overwritten(self, ref):
        """Whether the call overwrites this whole storage without reading it."""
        return ref is self.over


def refs_of(value):
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from refs_of(inner)


def make(engine, plan, args, kwargs, seed):
    """A node of a call. The values of what it writes are still those of before."""
    over = _overwritten(plan, args, kwargs)
    node = Node()
    node.plan, node.seed, node.results, node.n_bytes = plan, seed, [], 0
    node.args = tuple(_freeze(engine, a, over) for a in args)
    node.kwargs = {name: _freeze(engine, value, over) for name, value in kwargs.items()}
    node.over = None
    if over is not None:
        node.over = node.args[0] if plan.is_whole else node.kwargs[plan.outs[0]]
    refs = list(node.refs())
    node.depth = 1 + max((ref.value.depth for ref in refs), default=0)
    node.n_operations = _count_operations(plan, refs)
    return node


def _overwritten(plan, args, kwargs):
    """The one argument whose former bytes do not count; None if there is none or several."""
    if plan.is_whole:
        over = args[0]
    elif len(plan.outs) == 1:
        over = kwargs.get(plan.outs[0])
    else:
        return None
    if not isinstance(over, torch.Tensor) or over.numel() * over.itemsize < over.untyped_storage().nbytes():
        return None  # a part of the storage: the rest stays
    key = over.untyped_storage()._cdata
    is_only = sum(t.untyped_storage()._cdata == key for t in tensors(args, list(kwargs.values())) if t.is_cuda) == 1
    return over if is_only else None  # kernels in place call others with the tensor as an input and as the result


def _freeze(engine, value, over):
    if isinstance(value, torch.Tensor):
        if value.is_cuda:
            return Ref(value, Value(value.untyped_storage().nbytes()) if value is over else engine.value_of(value))
        is_small = value.device.type == "cpu" and value.layout is torch.strided and value.numel() <= SMALL
        return value.detach().clone() if is_small else value
    if isinstance(value, (list, tuple)):
        made = [_freeze(engine, inner, over) for inner in value]
        return tuple(made) if isinstance(value, tuple) else made
    return value


def _count_operations(plan, refs):
    """Of a product or a solver: what else is linear in its bytes."""
    if not refs or not (plan.is_product or plan.is_solver):
        return 0
    largest = max(ref.n() for ref in refs)
    if plan.is_solver:
        return 4 * largest**1.5
    matrices = [ref.size for ref in refs if len(ref.size) > 1]
    return 2 * largest * (max(min(size[-2:]) for size in matrices) if len(matrices) > 1 else 1)


def put_results(engine, node, args, kwargs, out):
    """The node's results become the values of their storages."""
    written = list(node.plan.written(args, kwargs))
    for i, tensor in enumerate(written):
        _put(engine, node, tensor, i, True)
    own = {id(tensor) for tensor in written}
    fresh = [t for t in tensors(out) if id(t) not in own]
    for i, tensor in enumerate(fresh):
        if tensor.is_cuda and tensor.layout is torch.strided:
            _put(engine, node, tensor, i, False)


def _put(engine, node, tensor, i, is_write):
    n_bytes = tensor.untyped_storage().nbytes()
    value = Value(n_bytes, node, Place(tensor, i, is_write))
    node.results.append(weakref.ref(value))  # a value holds its node
    node.n_bytes += n_bytes
    engine.table.put(tensor, value, is_write)

