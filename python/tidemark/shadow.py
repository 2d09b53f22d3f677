"""Works out small tensors on the CPU, beside a card that computes nothing.

Every operator runs on the virtual card as always, so that memory is what it was. Where what it
reads is known and small, it runs on the CPU too, and what it made there is its result's shadow: a
copy of the whole storage, so that all views of a storage share one. A program that reads a tensor
with a shadow gets the shadow's values; an operator whose result has as many rows as it finds values
is told the number that the CPU found.

A small tensor has a storage of at most LIMIT_BYTES. What is made of large or random tensors is
unknown. Where an operator reads something known beside something small and unknown, the unknown is
taken to be zero, as the card gives it; such a shadow is `assumed`, and so is what is made of it.

TIDEMARK_VALUES says where: "shadow", in all threads from the first CUDA call on; "auto", in the
functions of regions.py, which read values; "zero", nowhere. docs/decisions has the reasons.
"""
import threading
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import card, dynamic, schema, settings

LIMIT_BYTES = 1 << 19  # 65,536 elements of 8 bytes

_TENSORS = (torch.Tensor, torch.nn.Parameter)


class Shadow:
    """The values of one storage of the card's."""

    __slots__ = ("storage", "is_assumed")

    def __init__(self, storage, is_assumed):
        self.storage = storage  # of the CPU, as long as the card's
        self.is_assumed = is_assumed  # zeros that nobody knows went into it


class Table:
    """Shadows by the storage that they belong to."""

    def __init__(self):
        self.rows = {}  # address of the storage's description -> Shadow
        self.n_next_sweep = 1024

    def add(self, tensor, shadow):
        """Replaces what is known of the tensor's storage."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self.rows:
            if len(self.rows) >= self.n_next_sweep:
                self._sweep()
            storage._weak_ref()  # keeps the description, so that no other has its address
        self.rows[storage._cdata] = shadow

    def forget(self, tensor):
        key = tensor.untyped_storage()._cdata
        if self.rows.pop(key, None) is not None:
            torch.UntypedStorage._free_weak_ref(key)

    def clear(self):
        for key in list(self.rows):
            if self.rows.pop(key, None) is not None:
                torch.UntypedStorage._free_weak_ref(key)

    def _sweep(self):
        """Drops the shadows of storages that are gone."""
        for key in list(self.rows):
            if torch.UntypedStorage._expired(key) and self.rows.pop(key, None) is not None:
                torch.UntypedStorage._free_weak_ref(key)
        self.n_next_sweep = max(1024, 2 * len(self.rows))


def on_cpu(shadow, tensor):
    """The shadow as a tensor of the same shape and strides."""
    made = torch.empty(0, dtype=tensor.dtype, device="cpu")
    return made.set_(shadow.storage, tensor.storage_offset(), tensor.size(), tensor.stride())


class Shadows(TorchDispatchMode):
    """Sees every operator of the threads that it is pushed to."""

    def __init__(self):
        super().__init__()
        self.table = Table()
        self.limit_bytes = LIMIT_BYTES  # of a storage that is small
        self.n_generated = 0  # kernels so far when the table was last used
        self.n_operators = 0  # seen
        self.n_worked_out = 0

    @classmethod
    def ignore_compile_internals(cls):
        """torch.compile compiles as if the mode were not there."""
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.n_operators += 1
        plan = schema.plan_of(func)
        if plan.is_collective:
            return self._run_collective(func, args, kwargs)
        if plan.is_new_copy and not types and args[0].is_cuda and self.is_small(args[0]):
            self.ask_card(args[0])
        if types or plan.is_view:
            return func(*args, **kwargs)  # a view has its base's shadow
        if plan.is_usual and args and self._is_large(args[0]):  # most operators of a training step
            return self.run_unknown(func, plan, args, kwargs)
        self._forget_generated()
        reads = self._read(plan, args, kwargs)
        if is_traced():
            return func(*args, **kwargs)
        if reads is not None:
            return dynamic.run(self, func, plan, args, kwargs, reads)
        if plan.has_rows or plan.is_checked:
            return dynamic.run_unknown_rows(self, func, plan, args, kwargs)
        return self.run_unknown(func, plan, args, kwargs)

    def _forget_generated(self):
        """A compiled function or a Triton kernel may have written into anything."""
        if self.table.rows:
            n = card.n_generated()
            if n != self.n_generated:
                self.n_generated = n
                self.table.clear()

    def _is_large(self, value):
        kind = type(value)
        if kind is list and value:
            value = value[0]
            kind = type(value)
        return kind in _TENSORS and value.numel() * value.itemsize > self.limit_bytes

    def is_small(self, tensor):
        return is_small(tensor, self.limit_bytes)

    def _run_collective(self, func, args, kwargs):
        """Ranks exchange what the card knows: it is told first what was worked out. A tensor that grew
        for the largest of all ranks has bytes that nobody wrote: any will do."""
        tensors = [t for t in schema.tensors_of(args, kwargs) if t.is_cuda]
        for tensor in tensors:
            storage = tensor.untyped_storage()
            shadow = self.table.rows.get(storage._cdata)
            if shadow is not None and shadow.storage.nbytes() == storage.nbytes():
                card.write(storage.data_ptr(), shadow.storage.data_ptr(), storage.nbytes())
            if self.limit_bytes > LIMIT_BYTES:  # the tensor carries objects
                card.settle(storage.data_ptr(), storage.nbytes())
                if storage.nbytes() > self.limit_bytes:
                    _name_large_objects()
        result = func(*args, **kwargs)
        for tensor in tensors:
            self.table.forget(tensor)
        return result

    def run_unknown(self, func, plan, args, kwargs):
        """Nothing is known of what it writes."""
        result = func(*args, **kwargs)
        if plan.places and self.table.rows:
            for tensor in plan.written(args, kwargs):
                self.forget(tensor)
        return result

    def forget(self, tensor):
        if tensor.numel() * tensor.itemsize > self.limit_bytes:
            return  # it had no shadow
        try:
            self.table.forget(tensor)
        except (RuntimeError, NotImplementedError):
            pass  # it has no storage: sparse, or of a subclass

    def _read(self, plan, args, kwargs):
        """Shadows of the tensors that the operator reads, by id. None: its result is unknown."""
        tensors = schema.tensors_of(args, kwargs)
        if plan.is_random or not (plan.is_whole or tensors or schema.is_for_card(kwargs)):
            return None
        if plan.needs_shape_only and tensors:
            return self._shape_only(plan, args, kwargs, tensors)
        reads, unknown, is_any_known, is_card = {}, [], not tensors, schema.is_for_card(kwargs)
        for tensor in tensors:
            if not tensor.is_cuda:
                if tensor.device.type != "cpu" or tensor.numel() * tensor.itemsize > self.limit_bytes:
                    return None
                is_any_known = is_any_known or plan.is_copy or tensor.dim() > 0
                continue
            is_card = True
            shadow = self.find(tensor)
            if shadow is None:
                if not self.is_small(tensor) or plan.reads_only_known:
                    return None
                unknown.append(tensor)
            else:
                is_any_known = True
                reads[id(tensor)] = shadow
        if not is_card or not (is_any_known or self._is_overwritten(plan, unknown, tensors)):
            return None
        for tensor in unknown:
            reads[id(tensor)] = self.assume(tensor)
        first = tensors[0] if plan.is_whole else None
        if first is not None and first.numel() * first.itemsize == first.untyped_storage().nbytes():
            reads[id(first)].is_assumed = False  # nothing of what lay there is left
        return reads

    def _is_overwritten(self, plan, unknown, tensors):
        return plan.is_whole and len(unknown) == len(tensors) == 1

    def _shape_only(self, plan, args, kwargs, tensors):
        first = tensors[0]
        is_card = first.is_cuda or schema.is_for_card(kwargs)
        if not is_card or not schema.is_result_small(plan, args, kwargs, self.limit_bytes):
            return None
        return {id(t): None for t in tensors if t.is_cuda}

    def find(self, tensor):
        """The tensor's shadow; None: it is unknown. Whole numbers and truth values may be known to
        the card: what the host copied there before the shadows began, or a fill."""
        try:
            storage = tensor.untyped_storage()
        except (RuntimeError, NotImplementedError):
            return None
        shadow = self.table.rows.get(storage._cdata)
        if shadow is not None:
            if shadow.storage.nbytes() == storage.nbytes() and not is_marked(tensor):
                return shadow
            self.table.forget(tensor)  # it was resized
            return None
        if tensor.dtype.is_floating_point or not 0 < storage.nbytes() <= self.limit_bytes:
            return None
        return self.ask_card(tensor)

    def ask_card(self, tensor):
        """Its shadow, where the card knows its bytes: what the host copied there, and fills."""
        storage = tensor.untyped_storage()
        held = torch.UntypedStorage(storage.nbytes(), device="cpu")
        if is_marked(tensor) or not card.read(held.data_ptr(), storage.data_ptr(), storage.nbytes()):
            return None
        shadow = Shadow(held, False)
        self.table.add(tensor, shadow)
        return shadow

    def assume(self, tensor):
        """Zeros, or what the card knows, for a small tensor that nobody knows."""
        storage = tensor.untyped_storage()
        held = torch.UntypedStorage(storage.nbytes(), device="cpu")
        is_known = card.read(held.data_ptr(), storage.data_ptr(), storage.nbytes())
        shadow = Shadow(held, not is_known)
        if not is_known:
            torch.empty(0, dtype=torch.uint8).set_(held).zero_()
        self.table.add(tensor, shadow)
        return shadow

    def keep(self, tensor, values, is_assumed):
        """The CPU made these values where the card made the tensor."""
        shadow = self.table.rows.get(tensor.untyped_storage()._cdata)
        if shadow is not None:  # a view of something known
            on_cpu(shadow, tensor).copy_(values)
            shadow.is_assumed = shadow.is_assumed or is_assumed
            return
        n_bytes = tensor.untyped_storage().nbytes()
        held = values.untyped_storage()
        if values.stride() != tensor.stride() or held.nbytes() != n_bytes or values.storage_offset():
            held = torch.UntypedStorage(n_bytes, device="cpu")
            on_cpu(Shadow(held, False), tensor).copy_(values)
        self.table.add(tensor, Shadow(held, is_assumed))


def _name_large_objects():
    card.inexact(
        "objects",
        "ranks send each other objects of more than 256 MiB, which do not travel between virtual cards; they are "
        "read as zeros",
    )


def is_small(tensor, limit_bytes=LIMIT_BYTES):
    """Whether an unknown tensor may be taken to be zeros."""
    try:
        return tensor.untyped_storage().nbytes() <= limit_bytes and not is_marked(tensor)
    except (RuntimeError, NotImplementedError):
        return False


def is_marked(tensor):
    """Conjugated or negated when it is read: its bytes are not its values."""
    return tensor.is_conj() or tensor.is_neg()


_KEYS = [
    getattr(torch._C._TorchDispatchModeKey, name)
    for name in ("FAKE", "PROXY", "FUNCTIONAL")
    if hasattr(torch._C._TorchDispatchModeKey, name)
]


def is_traced():
    """Whether a compiler looks at the operators, which then make nothing."""
    return any(torch._C._get_dispatch_mode(key) is not None for key in _KEYS)


_shadows = None
_inside = threading.local()


def shadows():
    """The process' one table of values."""
    global _shadows
    if _shadows is None:
        _shadows = Shadows()
        _watch_what_no_operator_tells(weakref.ref(_shadows))
    return _shadows


class Region:
    """Operators of this thread are seen, within `with`. Regions within regions are one, with the limit
    of the innermost."""

    def __init__(self, limit_bytes=LIMIT_BYTES):
        self.limit_bytes = limit_bytes

    def __enter__(self):
        _inside.depth = getattr(_inside, "depth", 0) + 1
        self.outer_limit_bytes, shadows().limit_bytes = shadows().limit_bytes, self.limit_bytes
        if _inside.depth == 1:
            _push(shadows())

    def __exit__(self, *_):
        shadows().limit_bytes = self.outer_limit_bytes
        _inside.depth -= 1
        if _inside.depth == 0:
            _take_out(shadows())


def _push(mode):
    """Puts it below the program's own modes, which take themselves off in their own order."""
    above = [torch._C._pop_torch_dispatch_stack(None) for _ in range(_n_modes())]
    torch._C._push_on_torch_dispatch_stack(mode)
    for other in reversed(above):
        torch._C._push_on_torch_dispatch_stack(other)


def _take_out(mode):
    above = [torch._C._pop_torch_dispatch_stack(None) for _ in range(_n_modes())]
    for other in reversed([found for found in above if found is not mode]):
        torch._C._push_on_torch_dispatch_stack(other)


def _n_modes():
    """Modes of the thread without those of a compiler, which PyTorch keeps apart."""
    n_compiler = sum(torch._C._get_dispatch_mode(key) is not None for key in _KEYS)
    return torch._C._len_torch_dispatch_stack() - n_compiler


def _watch_what_no_operator_tells(ref):
    """Graphs and compiled code write without an operator: what they may write is forgotten."""
    replay = torch.cuda.CUDAGraph.replay

    def forget_and_replay(graph):
        ref().table.clear()
        return replay(graph)

    torch.cuda.CUDAGraph.replay = forget_and_replay


def start(values=None):
    """Begins what TIDEMARK_VALUES asks for. CUDA is about to be initialised, or is."""
    values = values or settings.get("TIDEMARK_VALUES") or "auto"
    if values == "zero" or not card.is_virtual():
        return
    from . import regions

    if values == "auto":
        regions.watch(Region)
        return
    regions.watch_generate()
    _push(shadows())
    _inside.depth = 1
    begin = threading.Thread._bootstrap_inner

    def begin_with_shadows(thread):
        _push(shadows())
        _inside.depth = 1
        begin(thread)

    threading.Thread._bootstrap_inner = begin_with_shadows
