"""Computes what was noted, on the CPU and within budgets: the engine in Python, second part."""
import torch

from . import draws, windows
from .nodes import Ref, refs_of
from .overloads import tensors
from .table import Value

RESULT_BYTES = 384 << 20  # that one read may make
OPERATIONS = 2e9  # of products and solvers, in one read
DEAR_OPERATIONS = 2e7  # of a product with something unknown, which is as unknown as that: it is drawn
UNKNOWN_BYTES = 32 << 20  # of one operator's unknown arguments
NODES = 20000  # in one read
KEPT_BYTES = 1 << 20  # a larger draw is drawn again when it is needed
_HALVES = (torch.float16, torch.bfloat16)
_generator = None  # of random operators; made at the first one


class Evaluation:
    """One read. What is over its budgets is drawn."""

    def __init__(self, engine, n_bytes=RESULT_BYTES, n_operations=OPERATIONS, n_nodes=NODES):
        self.engine = engine
        self.n_bytes, self.n_operations, self.n_nodes = n_bytes, n_operations, n_nodes
        self.drawn = {}  # Value -> its bytes, of large draws

    def bytes_of(self, ref):
        """The bytes of the Ref's storage on the CPU; None: they are too many."""
        self.work_out(ref.value)
        return self.leaf(ref)

    def work_out(self, wanted):
        """Runs the nodes that it needs, without recursion: chains are long."""
        stack = [wanted]
        while stack:
            value = stack[-1]
            node = value.node
            if node is None or value.storage is not None:
                stack.pop()
                continue
            if self._is_dear(node):
                self.draw_results(node)
                stack.pop()
                continue
            needed = [] if windows.is_reduced(node) else [
                r.value for r in node.refs() if r.value.storage is None and r.value.node is not None and not node.is_overwritten(r)
            ]
            if needed:
                stack += needed
                continue
            self._run(node)
            assert value.node is None, "a node that ran has no results left to make"
            stack.pop()

    def _is_dear(self, node):
        if windows.is_reduced(node):
            return False  # it looks at a window of its argument
        if node.n_bytes > self.n_bytes or node.n_operations > self.n_operations or self.n_nodes <= 0:
            return True
        refs = [r for r in node.refs() if not node.is_overwritten(r)]
        if node.plan.is_product and node.n_operations > DEAR_OPERATIONS and \
                any(r.value.is_assumed and r.dtype.is_floating_point for r in refs):
            return True
        missing = [r.value for r in refs if r.value.storage is None]
        return sum(v.n_bytes for v in missing) > self.n_bytes or sum(v.n_bytes for v in missing if v.node is None) > UNKNOWN_BYTES

    # ---- unknown values

    def leaf(self, ref):
        """The bytes of a storage that no node makes. Unknown ones are drawn; None: they are too many."""
        value = ref.value
        if value.holds() is not None:
            return value.storage
        if value in self.drawn:
            return self.drawn[value]
        if value.n_bytes > RESULT_BYTES:
            return None
        storage = self.draw_all(value, ref.dtype)
        value.is_assumed = True
        self.n_bytes -= value.n_bytes
        if value.n_bytes <= KEPT_BYTES:
            value.storage = storage
        else:
            self.drawn[value] = storage
        return storage

    def draw_all(self, value, dtype):
        """A draw of a whole storage."""
        seed = self.engine.seed_of(value)
        storage = torch.UntypedStorage(value.n_bytes, device="cpu")
        n = value.n_bytes // dtype.itemsize
        made = draws.draw(value.kind or draws.NORMAL, n, dtype, seed, value.high)
        torch.empty(0, dtype=dtype, device="cpu").set_(storage, 0, (n,), (1,)).copy_(made)
        self.engine.counts["drawn"] += 1
        return storage

    def draw_results(self, node):
        """What the operator could have given, for a node that is too dear or fails on the CPU."""
        kind, high = draws.kind_of(node.plan.name), _high(node)
        for value in node.values():
            is_report = node.plan.is_solver and not (value.place.dtype.is_floating_point or value.place.dtype.is_complex)
            self.make_unknown(value, draws.ZERO if is_report else kind, high)
        node.args, node.kwargs = (), {}

    def make_unknown(self, value, kind=None, high=0):
        value.kind, value.high, value.is_assumed = kind, high, True
        value.node, value.depth = None, 0

    # ---- running a node

    def _run(self, node):
        self.n_nodes -= 1
        self.n_operations -= node.n_operations
        if windows.is_reduced(node):
            windows.reduce(self, node)
            return
        self.n_bytes -= node.n_bytes
        call = _Call(self, node)
        try:
            made, written = call.run()
        except Exception as error:  # an operator that the CPU has not, or not for this type
            self.engine.note_error(node.plan, error)
            self.draw_results(node)
            return
        self.engine.counts["evaluated"] += 1
        for value in node.values():
            self._take(value, written if value.place.is_write else made, call.is_assumed, node.plan.is_solver)
        node.args, node.kwargs = (), {}  # drops what only this node needed

    def _take(self, value, made, is_assumed, is_solver):
        """Keeps a result in the form that it has on the card."""
        place = value.place
        tensor = made[place.i]
        if is_assumed and tensor.is_floating_point() and tensor.isnan().any():
            tensor.nan_to_num_(nan=1.0, posinf=float("inf"), neginf=-float("inf"))  # such as the log of a drawn number
        if is_assumed and is_solver and not (tensor.is_floating_point() or tensor.is_complex()):
            tensor.zero_()  # its report: drawn matrices count as regular
        if place.is_write:
            value.storage = tensor.untyped_storage()
        else:
            value.storage = laid_out(tensor, place, value.n_bytes)
        if value.storage is None:
            self.make_unknown(value)  # such as a buffer that only the GPU leaves empty
            return
        value.is_assumed = value.is_assumed or is_assumed
        value.node, value.depth = None, 0


class _Call:
    """A node's operator with arguments of the CPU's."""

    def __init__(self, evaluation, node):
        self.evaluation, self.node, self.plan = evaluation, node, node.plan
        self.is_assumed = node.plan.is_random
        written = [ref for i, name in self.plan.writes for ref in refs_of(node.args[i] if i < len(node.args) else node.kwargs.get(name))]
        self.written = {ref.value for ref in written}
        self.copies = {}  # Value -> the storage that this call gets; written ones are copies

    def run(self):
        """The new results, and the tensors that were written."""
        args = self._change(self.node.args)
        kwargs = {name: self._change(value) for name, value in self.node.kwargs.items()}
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        kwargs.pop("pin_memory", None)
        if self.plan.is_random:
            self._seed(kwargs)
        out = _on_cpu(self.plan, args, kwargs)
        written = list(self.plan.written(args, kwargs))
        own = {id(t) for t in written}
        return [t for t in tensors(out) if id(t) not in own], written

    def _change(self, value):
        if isinstance(value, Ref):
            return value.on(self._storage(value))
        if isinstance(value, tuple):
            return tuple(self._change(inner) for inner in value)
        if isinstance(value, list):
            return [self._change(inner) for inner in value]
        if isinstance(value, torch.device):
            return torch.device("cpu")
        return None if isinstance(value, torch.Generator) else value

    def _storage(self, ref):
        value = ref.value
        is_over = self.node.is_overwritten(ref)
        storage = self.copies.get(value)
        if storage is None:
            if is_over and value.storage is None:
                storage = torch.UntypedStorage(value.n_bytes, device="cpu")
            else:
                storage = self.evaluation.leaf(ref)
                if storage is None:
                    raise MemoryError("an argument is larger than a read may make")
                storage = storage.clone() if value in self.written else storage
            self.copies[value] = storage
        self.is_assumed = self.is_assumed or (value.is_assumed and not is_over)
        return storage

    def _seed(self, kwargs):
        """The node's own random numbers, or the program's generator with the node's seed: engine.Quiet restores it."""
        global _generator
        if self.plan.generator is None:
            torch.default_generator.manual_seed(self.node.seed)
            return
        _generator = _generator or torch.Generator()
        kwargs["generator"] = _generator.manual_seed(self.node.seed)


def _on_cpu(plan, args, kwargs):
    """The CPU has not every operator for every type: then in float."""
    try:
        return plan.func(*args, **kwargs)
    except RuntimeError:
        if plan.writes:
            raise

    def widened(value):
        if isinstance(value, torch.Tensor):
            return value.float() if value.dtype in _HALVES else value
        return type(value)([widened(inner) for inner in value]) if isinstance(value, (list, tuple)) else value

    args = widened(args)
    if plan.name in ("_log_softmax", "_softmax"):
        args = (*args[:2], False)  # from half to float is the GPU's own
    return plan.func(*args, **kwargs)


def laid_out(made, place, n_bytes):
    """A storage of n_bytes with the tensor at its place; None if the CPU's result has another shape or type."""
    if made.dtype != place.dtype and made.dtype.is_floating_point and place.dtype.is_floating_point:
        made = made.to(place.dtype)
    if made.dtype != place.dtype or made.size() != place.size:
        return None
    held = made.untyped_storage()
    if held.nbytes() == n_bytes and made.stride() == place.stride and made.storage_offset() == place.offset:
        return held
    held = torch.UntypedStorage(n_bytes, device="cpu")
    torch.empty(0, dtype=place.dtype, device="cpu").set_(held, place.offset, place.size, place.stride).copy_(made)
    return held


def _high(node):
    """The size of the dimension in which the operator finds its indices; 0: it finds none."""
    if draws.kind_of(node.plan.name) != draws.IN_RANGE:
        return 0
    first = next(node.refs(), None)
    if node.plan.name == "randperm" or first is None or not first.size:
        return next((a for a in node.args if type(a) is int), 0)
    dims = [a for a in node.args[1:] if type(a) is int] if node.plan.name not in ("topk", "kthvalue", "multinomial") else []
    dim = dims[0] if dims else -1
    return first.size[dim] if -len(first.size) <= dim < len(first.size) else 0


def unknown_value(n_bytes):
    value = Value(n_bytes)
    value.is_assumed = True
    return value
