"""Large floats are computed on a part of their elements, the same part of all operands.

Pointwise operators commute with taking a part. So a chain of them over millions of elements, and a sum, product or norm
of all of them, agree with each other: `d.dot(-d)` is negative whatever d is. A reduction over n elements of which w were
looked at is scaled: a sum by n / w, a norm by the square root of that.
"""
import math

import torch

from . import draws
from .nodes import Ref

ELEMENTS = 1 << 16  # of a window
LARGE = 1 << 20  # elements from which a reduction looks at a window
_SUMS = {"sum", "dot", "vdot"}
_NORMS = {"norm", "linalg_vector_norm"}


def is_reduced(node):
    """Whether the node reduces all elements of large floats."""
    plan = node.plan
    if not plan.is_reduction or plan.writes:
        return False
    refs = list(node.refs())
    if not refs or any(not _is_large(ref) for ref in refs):
        return False
    dims = [a for a in node.args[1:] if isinstance(a, (list, tuple, bool)) or plan.name in ("max", "min") and type(a) is int]
    return not any(dims) or plan.name in _NORMS and dims == [[]]


def _is_large(ref):
    return ref.n() >= LARGE and ref.dtype.is_floating_point and ref.is_flat()


def reduce(evaluation, node):
    """Computes the reduction on windows of its arguments."""
    from .evaluation import laid_out

    refs = list(node.refs())
    n = refs[0].n()
    parts, is_assumed = [], False
    for ref in refs:
        part, is_part_assumed = window(evaluation, ref, ELEMENTS)
        parts.append(part)
        is_assumed = is_assumed or is_part_assumed
    w = min(part.numel() for part in parts)
    iterator = iter(parts)
    args = tuple(next(iterator)[:w] if isinstance(a, Ref) else a for a in node.args)
    try:
        made = node.plan.func(*args, **node.kwargs)
        made = made * _scale(node, n / w)
    except Exception as error:
        evaluation.engine.note_error(node.plan, error)
        evaluation.draw_results(node)
        return
    evaluation.engine.counts["windowed"] += 1
    for value in node.values():
        value.storage = laid_out(made.to(value.place.dtype), value.place, value.n_bytes)
        value.is_assumed = True if n > w else is_assumed
        value.node, value.depth = None, 0
    node.args, node.kwargs = (), {}


def _scale(node, ratio):
    if node.plan.name in _SUMS:
        return ratio
    if node.plan.name in _NORMS:
        order = next((a for a in node.args[1:] if isinstance(a, (int, float)) and not isinstance(a, bool)), 2)
        return 1 if math.isinf(order) or order <= 0 else ratio ** (1 / order)
    return 1


# ---- the elements of a window


def window(evaluation, ref, n):
    """The first n elements of a flat Ref, and whether something was assumed."""
    wanted = (ref.value, ref.offset, min(n, ref.n()), ref.dtype)
    stack, found = [wanted], {}
    while stack:
        at = stack[-1]
        if at in found:
            stack.pop()
            continue
        needed = [part for part in _parts(evaluation, at) if part not in found]
        if needed:
            stack += needed
            continue
        found[at] = _made(evaluation, at, found)
        stack.pop()
    return found[wanted]


def _parts(evaluation, at):
    """The windows that this one is made of."""
    value, start, n, dtype = at
    node = value.node
    if value.holds() is not None or node is None:
        return []
    if node.plan.name == "cat":
        return [part for part, _ in _pieces(node, at)]
    if not _is_pointwise(node, at):
        return []
    if not _is_inside(value.place, start, n):
        return [(ref.value, start, n, dtype) for ref in node.refs() if ref is node.args[0]]
    shift = start - value.place.offset
    over = [ref for ref in node.refs() if node.is_overwritten(ref) or node.plan.is_whole and ref is node.args[0]]
    return [(r.value, r.offset + shift, n, r.dtype) for r in node.refs() if r not in over and not _is_number(r)]


def _is_inside(place, start, n):
    return place.offset <= start and start + n <= place.offset + place.size.numel()


def _is_pointwise(node, at):
    """Whether the window can be made of windows of the arguments."""
    value, start, n, _ = at
    place = value.place
    if not node.plan.is_pointwise or node.plan.is_random and not place.is_write:
        return False
    if not _is_inside(place, start, n):
        is_outside = start + n <= place.offset or start >= place.offset + place.size.numel()
        return is_outside and place.is_write and isinstance(node.args[0], Ref)
    return all(_is_number(r) or r.n() == place.size.numel() and r.is_flat() for r in node.refs())


def _is_number(ref):
    """Whether all its elements are one, such as the gradient of a sum."""
    return ref.n() == 1 or not any(ref.stride)


def _pieces(node, at):
    """Of a concatenation of flat tensors: the windows, with their lengths."""
    value, start, n, dtype = at
    pieces, begin = [], value.place.offset
    for ref in node.args[0]:
        length = ref.n()
        low, high = max(start, begin), min(start + n, begin + length)
        if low < high:
            pieces.append(((ref.value, ref.offset + low - begin, high - low, ref.dtype), high - low))
        begin += length
    return pieces


def _made(evaluation, at, found):
    """The window itself: its elements, and whether something was assumed."""
    value, start, n, dtype = at
    node = value.node
    if value.holds() is not None:
        return torch.empty(0, dtype=dtype, device="cpu").set_(value.storage, start, (n,), (1,)), value.is_assumed
    if node is None:
        return draws.draw(value.kind or draws.NORMAL, n, dtype, evaluation.engine.seed_of(value), value.high, start), True
    parts = _parts(evaluation, at)
    if not parts and node.plan.is_random and node.plan.is_whole:
        return _random(evaluation, node, value, n, dtype), True
    if not parts and not (node.plan.is_pointwise and node.plan.is_whole):
        kind = draws.kind_of(node.plan.name)
        return draws.draw(kind, n, dtype, evaluation.engine.seed_of(value), 0, start), True
    made = [found[part] for part in parts]
    is_assumed = any(is_part_assumed for _, is_part_assumed in made) or value.is_assumed
    if node.plan.name == "cat":
        return torch.cat([part.to(dtype) for part, _ in made]), is_assumed
    if not _is_inside(value.place, start, n):
        return made[0][0], is_assumed
    call = _Pointwise(evaluation, value, n, {part[:2]: elements for part, (elements, _) in zip(parts, made)}, start - value.place.offset)
    return call.run(), is_assumed or call.is_assumed


class _Pointwise:
    """Runs an operator on windows of its arguments. Single numbers are computed whole."""

    def __init__(self, evaluation, value, n, parts, shift):
        self.evaluation, self.value, self.n = evaluation, value, n
        self.parts, self.shift = parts, shift
        self.is_assumed = False

    def run(self):
        node = self.value.node
        kwargs = {name: self._change(value) for name, value in node.kwargs.items()}
        for name in node.plan.outs:
            kwargs[name] = torch.empty(0, dtype=node.kwargs[name].dtype, device="cpu")
        made = node.plan.func(*map(self._change, node.args), **kwargs)
        made = made[0] if isinstance(made, (tuple, list)) else made
        made = made.to(self.value.place.dtype)
        return made.nan_to_num_(nan=1.0) if made.is_floating_point() else made

    def _change(self, a):
        if not isinstance(a, Ref):
            return a
        part = self.parts.get((a.value, a.offset + self.shift))
        if part is not None and not _is_number(a):
            return part.clone() if self.value.place.is_write else part
        if not _is_number(a):
            return torch.empty(self.n, dtype=a.dtype, device="cpu")  # it is overwritten
        storage = self.evaluation.bytes_of(a)
        self.is_assumed = self.is_assumed or a.value.is_assumed
        return a.on(storage).reshape(-1)[0]


def _random(evaluation, node, value, n, dtype):
    generator = torch.Generator().manual_seed(node.seed)
    return node.plan.func(torch.empty(n, dtype=dtype, device="cpu"), *node.args[1:], generator=generator)
