"""Names the tensors that autograd keeps for a backward pass, from the graph that it will walk.

Modules and optimizers do not hold these tensors, but each node of the graph does: the results of its own operator, and
the arguments of it. A node's saved tensors are read as they are (`_raw_saved_*`, and `.data`). Their other names,
`_saved_*`, would call the program's hooks, and compute again what a checkpoint left out.
"""
import gc
import re
import time

from . import tensors

MAX_NODES = 20_000
MAX_S = 0.2  # of one walk; of the processor
MAX_WALKS = 8
FIRST_WALKS = 2  # backward passes; of those after them, only ones that begin with more memory

# The arguments of PyTorch's operators by name: their places among the node's next functions.
PLACES = {"self": 0, "input": 0, "query": 0, "key": 1, "value": 2, "other": 1, "mat1": 1, "batch1": 1, "batch2": 2}
# Operators whose result has the memory of their argument.
VIEWS = frozenset(
    "Alias AsStrided Detach Diagonal Expand Permute ReshapeAlias Select Slice Split SplitWithSizes Squeeze T Transpose "
    "Unbind Unfold UnsafeSplit UnsafeView Unsqueeze View ViewAsComplex ViewAsReal Values".split()
)
ARGUMENT, MADE = 1, 2  # how much a name says: what reads the tensor, or what made it


class Walks:
    """The walks of one process."""

    def __init__(self, tell, tell_cut):
        self.tell = tell  # takes an address, a device and a name
        self.tell_cut = tell_cut  # called when a walk was ended early
        self.n_walks = 0
        self.most_bytes = 0
        self.n_running = 0  # backward passes

    def begin_backward(self, roots):
        """A backward pass of these tensors begins."""
        if self.n_walks < MAX_WALKS and self._is_new():
            self.n_walks += 1
            self._walk(roots)

    def fail(self):
        """A request failed. While a backward pass runs, its nodes are in use; it was walked when it began."""
        if self.n_running == 0:
            self._walk(_with_graph())

    def _is_new(self):
        """Whether it is one of the first, or more memory is in use than at those that were walked."""
        import torch

        n_bytes = torch.cuda.memory_allocated()
        is_new = self.n_walks < FIRST_WALKS or n_bytes > self.most_bytes * 1.05
        self.most_bytes = max(self.most_bytes, n_bytes)
        return is_new

    def _walk(self, roots):
        found, is_whole = read(roots)
        for address, device, name in in_order(found):
            self.tell(address, device, name)
        if not is_whole:
            self.tell_cut()


class NoWalks:
    """Operators are named as they end (operators.py)."""

    n_running = 0

    def begin_backward(self, roots):
        pass

    def fail(self):
        pass


class Found(dict):
    def __init__(self):
        super().__init__()
        self.results = {}


def in_order(found):
    """Yields the address, the device and the name of each tensor. Results come in the order in which they were made; a
    result that is not kept has address 0, and its place in this order shows which block it was."""
    places = sorted((node._sequence_nr(), i) for i, node in enumerate(found.results) if hasattr(node, "_sequence_nr"))
    nodes = list(found.results)
    named = set()
    for _, i in places:
        address = found.results[nodes[i]]
        if address in found:
            if address not in named:
                named.add(address)
                yield address, *found[address][1:]
        elif _bare(nodes[i]) not in VIEWS and not nodes[i].name().endswith("AccumulateGrad"):
            made = _made_by(nodes[i], 0)
            if made is not None and made.device.type == "cuda":
                yield 0, made.device.index, f"{operator_of(nodes[i])} {[int(size) for size in made.shape]} {_type_of(made)}"
    for address, (_, device, name) in found.items():
        if address not in named:
            yield address, device, name


def read(roots):
    """Returns what the graph of the tensors keeps: address -> (how much its name says, device, name), and node -> address
    of its result, 0 if that is not kept; and whether all of the graph was seen."""
    found = Found()
    stack = []
    for tensor in roots:
        if getattr(tensor, "grad_fn", None) is not None:
            _add_result(found, tensor, tensor.grad_fn, getattr(tensor, "output_nr", 0))
            stack.append(tensor.grad_fn)
    seen = set(stack)
    end = time.thread_time() + MAX_S
    n = 0
    while stack:
        n += 1
        if n > MAX_NODES or (n % 64 == 0 and time.thread_time() > end):
            return found, False
        node = stack.pop()
        found.results.setdefault(node, 0)
        following = node.next_functions
        _add_saved(found, node, following)
        for inner, _ in following:
            if inner is not None and inner not in seen:
                seen.add(inner)
                stack.append(inner)
    return found, True


_kept_names = {}  # class of a node -> names of what it keeps


def _add_saved(found, node, following):
    kept = _kept_names.get(type(node))
    if kept is None:
        kept = _kept_names[type(node)] = [name for name in dir(node) if name.startswith("_raw_saved_")]
    for name in kept:
        try:
            raw = getattr(node, name)
        except RuntimeError:  # the graph was freed
            continue
        for saved in raw if isinstance(raw, (list, tuple)) else (raw,):
            value = getattr(saved, "data", None)  # anything, if the program has hooks
            if hasattr(value, "untyped_storage"):
                _add_kept(found, value, node, name[len("_raw_saved_") :], following)


def _add_kept(found, tensor, node, attribute, following):
    if _is_result(attribute):
        own = attribute in ("result", "result0", "output", "out")
        if own:
            found.results[node] = tensors.address_of(tensor)
        _add(found, tensor, MADE, operator_of(node) + ("" if own else "." + attribute))
        return
    place = PLACES.get(attribute)
    if attribute == "mat2":
        place = 2 if _bare(node) == "Addmm" else 1
    maker, number = following[place] if place is not None and place < len(following) else (None, 0)
    if maker is None or not _add_result(found, tensor, maker, number):
        _add(found, tensor, ARGUMENT, f"{attribute if place is None else 'argument'} of {operator_of(node)}")


def _add_result(found, tensor, node, number):
    """Adds a tensor as the result of a node. False: it is a leaf, which modules name, or nothing made it here."""
    while _bare(node) in VIEWS and node.next_functions:
        node, number = node.next_functions[0]
        if node is None:
            return False
    if node.name().endswith("AccumulateGrad"):
        return False
    made = _made_by(node, number)
    if number == 0:
        found.results[node] = tensors.address_of(tensor)
    _add(found, tensor, MADE, operator_of(node) + (f".{number}" if number > 0 else ""), made)
    return True


def _made_by(node, number):
    """What the node knows of a result: its shape and its type; None."""
    try:
        return node._input_metadata[number]
    except (AttributeError, IndexError, RuntimeError):
        return None


def _add(found, tensor, how, operator, made=None):
    """`made` has the shape and the type of the tensor when it was made, before views of it."""
    address = tensors.address_of(tensor)
    if address == 0:
        return
    known = found.get(address)
    if known is None or known[0] < how or known[0] == how and "." in known[2] and "." not in operator:
        found[address] = (how, tensor.device.index, operator + shape_of(tensor, made))


def shape_of(tensor, made=None):
    """" [8, 1024] float32"; "" for a tensor that is only a part of its block."""
    n_bytes = tensor.untyped_storage().nbytes()
    for value in (made, tensor):
        if value is not None:
            sizes = [int(size) for size in value.shape]
            n = value.dtype.itemsize
            for size in sizes:
                n *= size
            if n == n_bytes:
                return f" {sizes} {_type_of(value)}"
    return ""


def _type_of(value):
    return str(value.dtype).rpartition(".")[2]


def _is_result(attribute):
    """Whether a node keeps it as a result of its own operator: PyTorch names these result, result1, or by their use."""
    return bool(_RESULTS.fullmatch(attribute))


_RESULTS = re.compile(r"result\d*|out|output|logsumexp|log_sumexp|total_weight|save_\w+|reserve\w*|philox_\w+|rng_state")


def _bare(node):
    """"Addmm" of a node AddmmBackward0."""
    return re.sub(r"Backward\d*$", "", node.name().rpartition("::")[2])


def operator_of(node):
    """The operator of a node: "log_softmax" for LogSoftmaxBackward0; the name of a Function of the program stays."""
    name = _bare(node)
    if hasattr(node, "_raw_saved_tensors"):
        return name
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _with_graph():
    """The tensors that are alive and have a graph, in no order. isinstance would wake objects that pretend to be
    others."""
    import torch

    return [found for found in gc.get_objects() if issubclass(type(found), torch.Tensor) and found.grad_fn is not None]
