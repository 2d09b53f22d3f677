"""Which variables and attributes of the program hold its largest tensors.

The search begins at the variables of the program, in its running functions, the outermost first, because what they have lives longest,
and in its modules, and follows what they refer to, nearest first. A tensor belongs to the first name that leads to it: "losses" in
validate (train.py:12), "cam.activations" (train.py), or "model.*.activations" for the same attribute of several parts of a model. It
holds its storage, and those that its graph of autograd has saved. Parameters, buffers and the state of optimizers are left out: they
have names already.

This reads every object that the program can reach, so it runs in a copy of the process (failure.py), for a limited time.
"""
import collections
import gc
import os
import sys
import types

from . import card, program

MOST_DOTS = 2  # of a name: deeper attributes belong to the name of their object
MOST_HOLDERS = 4  # that are reported
LEAST_SHARE = 0.01  # of the allocated bytes, that a reported holder holds
_EVERY = 256  # objects between two looks at the clock
_CONTAINERS = (list, tuple, set, frozenset, collections.deque)


class Clock:
    """The end of a search."""

    def __init__(self, seconds):
        self.end_us = card.real_unix_us() + int(seconds * 1e6)
        self.n = 0

    def is_over(self):
        self.n += 1
        return self.n % _EVERY == 0 and card.real_unix_us() > self.end_us


def find(torch, allocated, clock):
    """Returns the holders of the most bytes, and the number of tensors that were not found because the time was over."""
    seen, holders = _Search(torch, clock).run()
    weights = _weights(torch)
    rows = []
    for (name, place), tensors in sorted(holders.items(), key=lambda item: -len(item[1])):
        held = _held(torch, tensors, weights, clock)
        if held >= max(1, allocated * LEAST_SHARE):
            rows.append({"name": name, "place": place, "held": held, "own": sum(t.numel() * t.itemsize for t in tensors if t.is_cuda),
                         "tensors": len(tensors), "graphs": sum(t.grad_fn is not None for t in tensors)})
    rows.sort(key=lambda row: -row["held"])
    is_cut = card.real_unix_us() > clock.end_us
    return rows[:MOST_HOLDERS], _n_unseen(torch, seen) if is_cut else 0


class _Search:
    """Follows references from the program's variables, nearest first."""

    def __init__(self, torch, clock):
        self.torch = torch
        self.clock = clock
        self.seen = set()
        self.kept = []  # objects made by the search: no other may get their ids
        self.queue = collections.deque()
        self.holders = collections.defaultdict(list)  # (name, place) -> tensors
        self.models = {}  # (name, place) of a part of a model -> name of the model
        self.parts = {}  # (name, place) of an attribute of a part of a model -> the name with "*" for the part

    def run(self):
        parts = []  # a model that a variable holds is a better name for its parts than their own "self"
        for place, variables in _roots():
            self.kept.append(variables)
            for name, value in variables.items():
                if name == "self" and isinstance(value, self.torch.nn.Module):
                    parts.append((value, (name, place)))
                else:
                    self.add(value, (name, place))
        self.follow_all()
        for value, name in parts:
            self.add(value, name)
        self.follow_all()
        return self.seen, self.joined()

    def follow_all(self):
        while self.queue and not self.clock.is_over():
            value, name = self.queue.popleft()
            self.follow(value, name)

    def joined(self):
        """The holders, with one name for the same attribute of several parts of a model."""
        n_of = collections.Counter(self.parts[name] for name in self.holders if name in self.parts)
        found = collections.defaultdict(list)
        for name, tensors in self.holders.items():
            whole = self.parts.get(name)
            found[whole if n_of[whole] > 1 else name].extend(tensors)
        return found

    def add(self, value, name):
        kind = type(value)
        if kind in (int, str, float, bool, bytes, type(None)) or id(value) in self.seen:
            return
        if issubclass(kind, (types.ModuleType, types.FrameType)) or issubclass(kind, self.torch.optim.Optimizer):
            return
        self.seen.add(id(value))
        if issubclass(kind, self.torch.Tensor):
            if not issubclass(kind, self.torch.nn.Parameter) and (value.is_cuda or value.grad_fn is not None):
                self.holders[name].append(value)
        else:
            self.queue.append((value, name))

    def follow(self, value, name):
        kind = type(value)
        if issubclass(kind, dict):
            values = list(dict.values(value))
        elif issubclass(kind, _CONTAINERS):
            values = list(value) if kind in _CONTAINERS else gc.get_referents(value)
        elif kind is types.FunctionType:
            values = [value.__closure__, value.__defaults__, value.__kwdefaults__]
        elif issubclass(kind, type):
            self.follow_attributes(value, name if _is_program(sys.modules.get(value.__module__)) else None)
            return
        else:
            values = self.follow_attributes(value, name)
        self.kept.append(values)
        for one in values:
            self.add(one, name)

    def follow_attributes(self, value, name):
        """Queues the attributes under names of their own, and returns what else the object refers to."""
        if name is None:
            return []
        try:
            attributes = dict(object.__getattribute__(value, "__dict__"))
        except AttributeError:
            attributes = {}
        self.kept.append(attributes)
        skipped = ("_parameters", "_buffers") if isinstance(value, self.torch.nn.Module) else ()
        text, place = name
        for key, one in attributes.items():
            if key == "_modules":
                self.follow_parts(one, text, place)
            elif key not in skipped:
                self.add(one, self.name_attribute(value, key, name))
        if issubclass(type(value), type) or skipped:
            return []
        held = getattr(value, "__dict__", None)
        return [one for one in gc.get_referents(value) if one is not held and not isinstance(one, type)]

    def follow_parts(self, modules, text, place):
        """Queues the parts of a model, each under its whole path: "model.layers.3"."""
        root = self.models.get((text, place), text)
        for key, one in modules.items():
            part = (f"{text}.{key}", place)
            self.models[part] = root
            self.add(one, part)

    def name_attribute(self, value, key, name):
        text, place = name
        root = self.models.get(name)
        if root is not None and isinstance(value, self.torch.nn.Module):
            named = (f"{text}.{key}", place)
            self.parts[named] = (f"{root}.*.{key}", place)
            return named
        return (f"{text}.{key}" if text.count(".") < MOST_DOTS else text, place)


def _roots():
    """Pairs of a place and its variables: running functions of the program, the outermost first, and its modules."""
    for frame in sys._current_frames().values():
        frames = []
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        for frame in reversed(frames):
            code = frame.f_code
            if _is_program_file(code.co_filename) and code.co_name != "<module>":
                name = getattr(code, "co_qualname", code.co_name)  # Python 3.10 has no other
                yield f"{name} ({os.path.basename(code.co_filename)}:{frame.f_lineno})", dict(frame.f_locals)
    for module in list(sys.modules.values()):
        if _is_program(module):
            yield os.path.basename(module.__file__), dict(vars(module))


def _is_program(module):
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and _is_program_file(file)


def _is_program_file(file):
    return not any(part in file for part in program.LIBRARIES)


def _weights(torch):
    """Addresses of the storages of all parameters, which graphs save."""
    found = set()
    for value in gc.get_objects():
        if issubclass(type(value), torch.nn.Parameter):
            found.update(_storage(value))
    return found


def _storage(tensor):
    """{address: bytes} of the storage of a tensor on the card; empty for others."""
    try:
        storage = tensor.untyped_storage()
        return {storage.data_ptr(): storage.nbytes()} if tensor.is_cuda else {}
    except (AttributeError, RuntimeError, NotImplementedError):
        return {}  # sparse, of a subclass, or freed


def _held(torch, tensors, weights, clock):
    """Bytes of the storages of the tensors and of those that their graphs have saved."""
    found, seen = {}, set()
    nodes = []
    for tensor in tensors:
        found.update(_storage(tensor))
        nodes.append(tensor.grad_fn)
    while nodes and not clock.is_over():
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for tensor in _saved(torch, node):
            found.update(_storage(tensor))
        nodes.extend(after for after, _ in node.next_functions)
    return sum(n_bytes for address, n_bytes in found.items() if address not in weights)


_names_of = {}  # type of a node -> names of what it saves


def _saved(torch, node):
    """The tensors that a node has saved, as they are: a checkpoint is not computed again."""
    names = _names_of.get(type(node))
    if names is None:
        names = _names_of[type(node)] = [name for name in dir(type(node)) if name.startswith("_raw_saved_")]
    for name in names:
        try:
            saved = getattr(node, name)
            for one in saved if isinstance(saved, (list, tuple)) else [saved]:
                data = getattr(one, "data", None)
                if isinstance(data, torch.Tensor):
                    yield data
        except RuntimeError:
            pass  # it was released


def _n_unseen(torch, seen):
    return sum(issubclass(type(value), torch.Tensor) and not issubclass(type(value), torch.nn.Parameter) and value.is_cuda
               and id(value) not in seen for value in gc.get_objects())
