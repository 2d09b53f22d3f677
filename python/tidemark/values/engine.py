"""The engine in Python: it notes operators, and computes them when the program reads what they made.

It serves where no compiler is, and PyTorch below 2.9. native.py has the same in C++, which is what nearly all programs use.
"""
import threading

import torch

from . import nodes
from .evaluation import Evaluation, unknown_value
from .nodes import DEPTH, Ref
from .table import Table, Value, as_assumed, known_to_card

ALL_HELD_BYTES = 128 << 20  # of floats of the host's
CUT_BYTES, CUT_OPERATIONS, CUT_NODES = 4 << 20, 1e7, 4 * DEPTH  # within which a long chain is computed


class Engine:
    is_native = False

    def __init__(self):
        self.unseen = None  # what writes by no operator (unseen.py)
        self.table = Table()
        self.lock = threading.RLock()
        self.promised = set()  # storages; some may be dead
        self.n_seeds = 0
        self.held, self.n_held_bytes = [], 0  # floats of the host's that are held, the oldest first
        self.counts = dict.fromkeys(("noted", "left", "reads", "evaluated", "windowed", "drawn", "cut"), 0)
        self.errors = {}  # operator -> what it said on the CPU; for tests

    # ---- noting

    def note(self, plan, args, kwargs, out):
        """Notes a call whose kernel has run, and which reads nothing of what it writes to."""
        node = self.begin(plan, args, kwargs)
        if node is not None:
            self.end(node, args, kwargs, out)

    def capturing(self, is_begin):
        """Captures of graphs begin and end: its reads ask PyTorch."""

    def begin(self, plan, args, kwargs):
        """A node of a call, with what its arguments are now. None: it cannot be noted, and its results are unknown."""
        try:
            with self.lock:
                self.unseen.forget()
                return nodes.make(self, plan, plan.with_numbers(args), kwargs, self._next_seed())
        except Exception as error:
            return self._fail(plan, args, kwargs, error)

    def end(self, node, args, kwargs, out):
        """The call's kernel has run."""
        try:
            with self.lock:
                nodes.put_results(self, node, args, kwargs, out)
                self.counts["noted"] += 1
                if node.depth > DEPTH:
                    self._cut(node)
        except Exception as error:
            self._fail(node.plan, args, kwargs, error)

    def _fail(self, plan, args, kwargs, error):
        """The program never sees what fails here."""
        self.note_error(plan, error)
        for tensor in plan.written(args, kwargs):
            self.forget(tensor)

    def _cut(self, node):
        """A long chain is computed if that is cheap, and else unknown from here on."""
        self.counts["cut"] += 1
        values = node.values()
        with Quiet():
            for value in values:
                Evaluation(self, CUT_BYTES, CUT_OPERATIONS, CUT_NODES).work_out(value)

    def value_of(self, tensor):
        """What is known of a tensor's storage. A storage that nothing is known of gets a Value, which is drawn at most
        once, so that all reads of it agree."""
        value = self.table.find(tensor)
        if value is None:
            value = known_to_card(tensor) or unknown_value(tensor.untyped_storage().nbytes())
            self.table.put(tensor, value)
        return value

    def has(self, tensor):
        """Whether something was noted of the tensor's storage."""
        return self.table.find(tensor) is not None

    def forget(self, tensor):
        key = tensor.untyped_storage()._cdata
        if key in self.table.rows:
            with self.lock:
                self.table.forget(key)

    def promise(self, tensor):
        """Another rank gives its bytes. The card gets them when something reads them, and loses them at the next kernel,
        which may write anywhere."""
        self.forget(tensor)
        self.promised.add(tensor.untyped_storage()._cdata)

    def keep_promises(self, given):
        """Before a kernel runs: promised tensors of its arguments get rows. May wait for another rank, without the lock."""
        for tensor in given:
            if tensor.is_cuda and tensor.layout is torch.strided and tensor.untyped_storage()._cdata in self.promised:
                self.promised.discard(tensor.untyped_storage()._cdata)
                value = known_to_card(tensor)
                with self.lock:
                    if value is not None and self.table.find(tensor) is None:
                        self.table.put(tensor, value)

    def written(self, tensor):
        """An operator wrote there that is not noted, such as an optimizer: floats count as they were, assumed."""
        key = tensor.untyped_storage()._cdata
        if key not in self.table.rows:
            return
        with self.lock:
            value = self.table.find(tensor) if tensor.dtype.is_floating_point else None
            if value is None:
                self.table.forget(key)
            else:
                self.table.put(tensor, as_assumed(value), True)

    def hint(self, tensor, kind):
        """The tensor is unknown, and an operator made it whose results have a range."""
        value = unknown_value(tensor.untyped_storage().nbytes())
        value.kind = kind
        with self.lock:
            self.table.put(tensor, value)

    def forget_addresses(self, addresses):
        """Something unseen has written where these addresses point to."""
        with self.lock:
            rows = sorted((address, address + value.n_bytes, key) for key, (value, *_, address) in self.table.rows.items())
            for low, high, key in rows:
                if any(low <= address < high for address in addresses):
                    self.table.forget(key)

    def forget_all(self):
        with self.lock:
            for key in list(self.table.rows):
                self.table.forget(key)

    # ---- what the host gives

    def sample(self, tensor, source):
        """Floats that are too large to be held. The engine in C++ keeps a part of them, which represents all."""
        self.forget(tensor)

    def put(self, tensor, values, is_assumed=False, is_copy=False):
        """The whole storage has these values, a tensor of the host's with the same shape. is_copy: PyTorch raises the version
        afterwards."""
        if tensor.numel() * tensor.itemsize < tensor.untyped_storage().nbytes():
            self.forget(tensor)  # a part: the rest is not known from it
            return
        value = Value(tensor.untyped_storage().nbytes())
        value.storage = torch.UntypedStorage(value.n_bytes, device="cpu")
        Ref(tensor, value).on(value.storage).copy_(values)
        value.is_assumed = is_assumed
        with self.lock:
            self.table.put(tensor, value, is_copy)

    def hold(self, tensor, source):
        """The whole storage has the values of a tensor of the host's, whose storage is laid out in the same way. The
        host's bytes are not copied: what it changes later counts as unknown."""
        value = Value(tensor.untyped_storage().nbytes())
        value.storage, value.host = source.untyped_storage(), (source.detach(), source._version)
        with self.lock:
            self.table.put(tensor, value, True)
            if tensor.is_floating_point():
                self._limit_held(value)

    def _limit_held(self, value):
        """The oldest floats are let go, and count as they were."""
        self.held.append(value)
        self.n_held_bytes += value.n_bytes
        while self.n_held_bytes > ALL_HELD_BYTES:
            old = self.held.pop(0)
            self.n_held_bytes -= old.n_bytes
            old.storage = old.host = None
            old.is_assumed = True

    # ---- reading

    def read(self, tensor):
        """The tensor on the CPU, and whether something was assumed. (None, True): it cannot be drawn."""
        try:
            with self.lock:
                self.counts["reads"] += 1
                self.unseen.forget()
                return self._read(tensor)
        except Exception as error:
            self.errors["read"] = f"{type(error).__name__}: {error}"[:200]
            return None, True

    def _read(self, tensor):
        ref = Ref(tensor, self.value_of(tensor))
        storage = Evaluation(self).bytes_of(ref)
        if storage is None:
            return None, True
        made = torch.empty(0, dtype=tensor.dtype, device="cpu").set_(storage, ref.offset, ref.size, ref.stride)
        if tensor.is_conj():
            made = made.conj()
        return (torch._neg_view(made) if tensor.is_neg() else made), ref.value.is_assumed

    def is_known(self, tensor):
        """Whether it is known, as far as that can be seen without working it out."""
        value = self.table.find(tensor)
        return value is not None and not value.is_assumed

    # ---- numbers

    def _next_seed(self):
        self.n_seeds += 1
        return self.n_seeds

    def seed_of(self, value):
        """One draw for each value."""
        if value.seed == 0:
            value.seed = self._next_seed()
        return value.seed

    def note_error(self, plan, error):
        self.errors[plan.full] = f"{type(error).__name__}: {error}"[:200]


_inside = threading.local()


def is_off():
    """Whether this thread works on the CPU for tidemark itself."""
    return getattr(_inside, "is_off", False)


class Quiet:
    """Within `with`, this thread's operators are tidemark's own: without autograd and modes, with nothing noted, and the
    program's random numbers are what they were."""

    def __enter__(self):
        self.had_grad = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        self.no_modes = torch._C._DisableTorchDispatch()
        self.was_off, _inside.is_off = is_off(), True
        self.random = None if self.was_off else torch.default_generator.get_state()

    def __exit__(self, *_):
        if self.random is not None:
            torch.default_generator.set_state(self.random)
        _inside.is_off = self.was_off
        self.no_modes = None
        torch._C._set_grad_enabled(self.had_grad)
