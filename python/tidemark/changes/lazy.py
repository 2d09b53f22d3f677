"""Logits that are not computed yet. Views, slices and .float() keep them so; cross_entropy computes head and loss
together in chunks; anything else computes them, as if the head had been called then."""
import torch
from torch.utils._pytree import tree_map

_QUESTIONS = (torch.Tensor.size, torch.Tensor.dim, torch.Tensor.numel, torch.Tensor.element_size, torch.Tensor.is_floating_point)


class Lazy(torch.Tensor):
    """The logits of a head for x (..., features)."""

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), named=None):
        raise RuntimeError(f"tidemark: {function} reached logits that are not computed")

    def _like(self, x):
        return _made(x, self.of)

    def compute(self):
        if self.done is None:
            self.done = self.of.compute(self.x)
        return self.done

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        named = named or {}
        self = arguments[0] if arguments else named.get("input")
        if isinstance(self, Lazy):
            if getattr(function, "__name__", "") == "__get__" or function in _QUESTIONS:
                with torch._C.DisableTorchFunctionSubclass():
                    return function(*arguments, **named)
            found = self._stays_lazy(function, arguments) if not named else None
            if found is None and function is torch.nn.functional.cross_entropy:
                found = self._loss(arguments, named)
            if found is None and getattr(function, "__name__", "") == "cross_entropy":
                found = self._loss(arguments, named)
            if found is not None:
                return found
        real = lambda value: value.compute() if isinstance(value, Lazy) else value
        return function(*tree_map(real, arguments), **tree_map(real, named))

    def _stays_lazy(self, function, arguments):
        """The result of a view that is as lazy; None if it is none."""
        name = getattr(function, "__name__", "")
        rest = arguments[1:]
        if name in ("float", "contiguous") and not rest:
            return self
        if name == "flatten" and rest in ((0, 1), (0, -2)) and self.dim() == 3:
            return self._like(self.x.flatten(0, 1))
        if name in ("view", "reshape") and rest:
            shape = tuple(rest[0]) if isinstance(rest[0], (tuple, list)) else rest
            is_flat = len(shape) == 2 and (shape[1] == self.shape[-1] or shape[1] == -1 and shape[0] != -1)
            return self._like(self.x.reshape(-1, self.x.shape[-1])) if is_flat and self._fits(shape) else None
        if name == "__getitem__" and isinstance(rest[0], tuple) and self.dim() == 3:
            return self._slice(rest[0])
        return None

    def _fits(self, shape):
        rows = self.numel() // self.shape[-1]
        return shape[0] in (-1, rows)

    def _slice(self, index):
        whole = slice(None)
        if len(index) == 3 and index[0] is Ellipsis and isinstance(index[1], slice) and index[2] == whole:
            return self._like(self.x[:, index[1]])
        if len(index) == 3 and all(isinstance(part, slice) for part in index) and index[2] == whole:
            return self._like(self.x[index[:2]])
        if len(index) == 2 and all(isinstance(part, slice) for part in index):
            return self._like(self.x[index])
        return None

    def _loss(self, arguments, named):
        """The chunked head and loss; None if the call has options that the lines do not have."""
        if len(arguments) > 2 or self.dim() != 2 or self.done is not None:
            return None
        target = arguments[1] if len(arguments) == 2 else named.get("target")
        options = {key: value for key, value in named.items() if key not in ("input", "target")}
        ignored, reduction = options.pop("ignore_index", -100), options.pop("reduction", "mean")
        if any(value for value in options.values() if value is not None) or reduction == "none" or target.dim() != 1:
            return None
        return self.of.loss(self.x, self.of.compute, target, ignore_index=ignored, reduction=reduction)


class _Head:
    """The head's own forward pass, with the autocast that was on when it was called, and the printed function."""

    def __init__(self, head, forward, loss):
        self.n_classes, self.forward, self.loss = head.out_features, forward, loss
        self.is_autocast = torch.is_autocast_enabled("cuda")
        self.kind = torch.get_autocast_dtype("cuda") if self.is_autocast else None

    def compute(self, x):
        if torch.is_autocast_enabled("cuda") == self.is_autocast:
            return self.forward(x)
        with torch.autocast("cuda", dtype=self.kind or torch.bfloat16, enabled=self.is_autocast):
            return self.forward(x)


def make(x, head, forward, loss):
    """The logits forward(x) of a head. loss: the printed function of head and loss."""
    return _made(x, _Head(head, forward, loss))


def _made(x, of):
    logits = torch.Tensor._make_wrapper_subclass(
        Lazy, (*x.shape[:-1], of.n_classes), dtype=of.kind or x.dtype, device=x.device, requires_grad=True
    )
    logits.x, logits.of, logits.done = x, of, None
    return logits
