"""A stand-in for PyTorch on a GPU: shapes and devices of tensors, and no numbers in them.

Enough of it for model/bench/pytorch/pytorch_steps.py, so that the benchmark's whole command line runs on a machine
with neither. It is as strict as a GPU: tensors of one operator are on one device, shapes fit, and a weight's
random numbers are made on the GPU, not on the CPU. STUB_TORCH_CUBLAS names the cuBLAS that it loads, as
PyTorch loads the one that it brings.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
import time
import types

__version__ = "0.stub"
float64, float32, bfloat16, int32, bool_ = "float64", "float32", "bfloat16", "int32", "bool"
globals()["bool"] = bool_
_library = ctypes.CDLL(os.environ["STUB_TORCH_CUBLAS"])
_default = []  # devices of `with torch.device(...)`, the innermost last
_parameters = []  # all that are alive: backward gives each a gradient


class device:
    """cpu or cuda[:N]; a context in which tensors are made on it."""

    def __init__(self, name):
        kind, _, number = str(name).partition(":")
        if kind not in ("cpu", "cuda"):
            raise RuntimeError(f"unknown device {name}")
        self.type = kind
        self.index = int(number) if number else None

    def __enter__(self):
        _default.append(self)
        return self

    def __exit__(self, *_):
        _default.pop()

    def __str__(self):
        return self.type


def _here(given=None):
    return given or (_default[-1] if _default else device("cpu"))


def _broadcast(*shapes):
    length = max(len(shape) for shape in shapes)
    padded = [(1,) * (length - len(shape)) + tuple(shape) for shape in shapes]
    for sizes in zip(*padded):
        if len(set(sizes) - {1}) > 1:
            raise RuntimeError(f"shapes {shapes} do not fit")
    return tuple(max(sizes) for sizes in zip(*padded))


class Tensor:
    """A shape on a device."""

    def __init__(self, shape, where=None, dtype=float32):
        self.shape, self.device, self.dtype = tuple(shape), _here(where), dtype
        self.grad = None

    @property
    def data(self):
        return self

    @data.setter
    def data(self, other):
        self.shape, self.device, self.dtype = other.shape, other.device, other.dtype

    def _like(self, shape=None, dtype=None):
        return Tensor(self.shape if shape is None else shape, self.device, dtype or self.dtype)

    def _with(self, *others, **_):
        tensors = [one for one in (self, *others) if isinstance(one, Tensor)]
        if len({one.device.type for one in tensors if one.shape != ()}) > 1:
            raise RuntimeError("Expected all tensors to be on the same device")
        return self._like(_broadcast(*(one.shape for one in tensors)))

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _with
    __pow__ = __rpow__ = pow = masked_fill = add_ = mul_ = addcmul_ = addcdiv_ = _with
    cos = sin = sqrt = sqrt_ = _with

    def __neg__(self):
        return self._like()

    def __matmul__(self, other):
        self._with(Tensor((), self.device) if other.device.type == self.device.type else other)
        if self.shape[-1] != other.shape[-2]:
            raise RuntimeError(f"{self.shape} @ {other.shape}")
        return self._like((*self.shape[:-1], other.shape[-1]))

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        shape = list(self.shape)
        at = len(shape) - len(index) + 1 if Ellipsis in index else 0
        for one in (part for part in index if part is not Ellipsis):
            shape[at] = len(range(*one.indices(shape[at])))
            at += 1
        return self._like(shape)

    def view(self, *sizes):
        known = math.prod(size for size in sizes if size != -1)
        shape = [self.numel() // known if size == -1 else size for size in sizes]
        if math.prod(shape) != self.numel():
            raise RuntimeError(f"view {sizes} of {self.shape}")
        return self._like(shape)

    def transpose(self, a, b):
        shape = list(self.shape)
        shape[a], shape[b] = shape[b], shape[a]
        return self._like(shape)

    def flatten(self, first=0, last=-1):
        first, last = first % len(self.shape), last % len(self.shape)
        middle = math.prod(self.shape[first : last + 1])
        return self._like((*self.shape[:first], middle, *self.shape[last + 1 :]))

    def mean(self, _axis, keepdim):
        return self._like((*self.shape[:-1], 1)) if keepdim else self._like(self.shape[:-1])

    def triu(self, diagonal=0):
        return self._like()

    def float(self):
        return self._like(dtype=float32)

    def to(self, target):
        if isinstance(target, device):
            return Tensor(self.shape, target, self.dtype)
        return self._like(dtype=target)

    def numel(self):
        return math.prod(self.shape)

    def item(self):
        return 1.0

    def backward(self):
        for parameter in _parameters:
            parameter.grad = parameter._like()

    __hash__ = object.__hash__


class Parameter(Tensor):
    """A tensor that backward gives a gradient."""

    def __init__(self, tensor):
        super().__init__(tensor.shape, tensor.device, tensor.dtype)
        _parameters.append(self)


class Module:
    """Finds its parameters in its attributes, as PyTorch's does."""

    def _children(self):
        for one in vars(self).values():
            yield from one if isinstance(one, ModuleList) else [one]

    def _tensors(self):
        for one in self._children():
            if isinstance(one, Tensor):
                yield one
            elif isinstance(one, Module):
                yield from one._tensors()

    def parameters(self):
        return (one for one in self._tensors() if isinstance(one, Parameter))

    def register_buffer(self, name, tensor, persistent=True):
        setattr(self, name, tensor)

    def to(self, where):
        for one in self._tensors():
            one.device = where
        return self

    def __call__(self, *inputs):
        return self.forward(*inputs)


class ModuleList(list):
    """Modules in a row."""


class Linear(Module):
    """x weight^T."""

    def __init__(self, n_in, n_out, bias):
        self.weight = Parameter(Tensor((n_out, n_in)))

    def forward(self, x):
        return x @ self.weight.transpose(0, 1)


class Embedding(Module):
    """Rows of the weight."""

    def __init__(self, n_rows, width):
        self.weight = Parameter(Tensor((n_rows, width)))

    def forward(self, tokens):
        tokens._with(Tensor((1,), self.weight.device))
        return Tensor((*tokens.shape, self.weight.shape[1]), tokens.device)


def _trunc_normal(weight, *_):
    if weight.device.type == "cpu":
        raise RuntimeError("a weight's random numbers are made on the cpu, which takes minutes")


def _make(*sizes, dtype=float32, device=None):
    shape = sizes[0] if isinstance(sizes[0], tuple) else sizes
    return Tensor(shape, device, dtype)


def arange(first, last=None, step=1, dtype=float32):
    count = range(first) if last is None else range(first, last, step)
    return Tensor((len(count),), None, dtype)


def _same(x, *_, **__):
    return x._like()


def _loss(logits, targets):
    logits._with(Tensor((1,), targets.device))
    return logits._like(())


def _scaled_dot_product_attention(q, k, v, is_causal):
    return q @ k.transpose(-1, -2) @ v


class _Event:
    """A point of the host's clock."""

    def __init__(self, enable_timing):
        self.ns = 0

    def record(self):
        self.ns = time.perf_counter_ns()

    def elapsed_time(self, end):
        return max(end.ns - self.ns, 1) / 1e6


class no_grad(contextlib.ContextDecorator):
    """Nothing here has a graph."""

    __enter__ = __exit__ = lambda self, *_: None


ones, zeros = _make, _make
randint = lambda low, high, size, device: Tensor(size, device, int32)
outer = lambda x, y: x._like((x.shape[0], y.shape[0]))
stack = lambda parts, dim: parts[0]._with(*parts)._like((*parts[0].shape, len(parts)))
zeros_like = rsqrt = sqrt = softmax = _same
autocast = lambda kind, dtype: contextlib.nullcontext()
compile = lambda model: model
manual_seed = get_num_threads = set_num_threads = lambda *_: 1
cuda = types.SimpleNamespace(
    device_count=lambda: 1,
    synchronize=lambda where: None,
    Event=_Event,
    max_memory_allocated=lambda where: 1 << 20,
)
backends = types.SimpleNamespace(
    cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()), cudnn=types.SimpleNamespace()
)
nn = types.ModuleType("torch.nn")
nn.Module, nn.ModuleList, nn.Parameter = Module, ModuleList, Parameter
nn.Linear, nn.Embedding = Linear, Embedding
nn.init = types.SimpleNamespace(trunc_normal_=_trunc_normal)
nn.functional = types.ModuleType("torch.nn.functional")
nn.functional.silu, nn.functional.cross_entropy = _same, _loss
nn.functional.scaled_dot_product_attention = _scaled_dot_product_attention
sys.modules.update({"torch.nn": nn, "torch.nn.functional": nn.functional})
