"""Functions whose reads decide nothing that matters: PyTorch's checks of its own arguments, the text of a tensor, and what
writes tensors into a file.

A program's arguments are valid, as on a card. So `validate_args` of a distribution finds what it looks for.
"""
import functools

import torch

from .. import card
from ..imports import when_imported
from .assumed import Quietly


def watch(sites):
    _make_quiet(sites, torch._tensor_str, ("_str",))
    _make_quiet(sites, torch.serialization, ("_save", "_legacy_save"))
    when_imported({"safetensors.torch": lambda module: _make_quiet(sites, module, ("_to_ndarray", "_tobytes"))})  # by version
    kind = torch.distributions.Distribution
    for name in ("__init__", "_validate_sample"):
        setattr(kind, name, _within(functools.partial(card.Answers, n_true=100), getattr(kind, name)))


def _make_quiet(sites, module, names):
    for name in names:
        if hasattr(module, name):
            setattr(module, name, _within(lambda: Quietly(sites), getattr(module, name)))


def _within(context, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        if torch.compiler.is_compiling():
            return function(*args, **kwargs)
        with context():
            return function(*args, **kwargs)

    return call
