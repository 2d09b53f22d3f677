"""Functions whose reads decide nothing that matters: PyTorch's checks of its own arguments, and the text of a tensor.

A program's arguments are valid, as on a card. So `validate_args` of a distribution finds what it looks for.
"""
import functools

import torch

from .. import card
from .assumed import Quietly


def watch(sites):
    torch._tensor_str._str = _within(lambda: Quietly(sites), torch._tensor_str._str)
    kind = torch.distributions.Distribution
    for name in ("__init__", "_validate_sample"):
        setattr(kind, name, _within(functools.partial(card.Answers, n_true=100), getattr(kind, name)))


def _within(context, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        if torch.compiler.is_compiling():
            return function(*args, **kwargs)
        with context():
            return function(*args, **kwargs)

    return call
