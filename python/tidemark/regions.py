"""Functions that read values of the card in order to decide, and what is changed around them.

`generate` of transformers ends when a tensor says so; distributions, repeat_interleave and eig
check their arguments; a program asks its GradScaler for the scale. Within these, shadows.py sees every operator. A module that is imported later
is changed when it comes.
"""
import functools

import torch

from . import card, finite, masks, scaling
from .imports import when_imported

_GENERATION = "transformers.generation.utils"
_CRITERIA = "transformers.generation.stopping_criteria"


def _within(region, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        if torch.compiler.is_compiling():
            return function(*args, **kwargs)
        with region():
            return function(*args, **kwargs)

    return call


def watch(region):
    """Shadows only where a function is known to read values."""

    def change_generation(module):
        mixin = module.GenerationMixin
        mixin.generate = _within(region, mixin.generate)
        _search_on(module)

    when_imported({_GENERATION: change_generation, _CRITERIA: _never_drawn})
    masks.watch(functools.partial(_within, region))
    torch.repeat_interleave = _within(region, torch.repeat_interleave)
    torch.Tensor.repeat_interleave = _within(region, torch.Tensor.repeat_interleave)
    for name in ("eig", "eigvals"):
        setattr(torch.linalg, name, _within(region, getattr(torch.linalg, name)))
    scaling.watch()
    watch_checks()


def watch_generate():
    when_imported({_GENERATION: _search_on, _CRITERIA: _never_drawn})
    masks.watch(None)
    watch_checks()


def watch_checks():
    """Checks of distributions: what a program gives them is valid, as on a card. A tensor that is
    printed shows zeros, and decides nothing."""
    finite.watch()
    torch._tensor_str._str = _within(card.Quiet, torch._tensor_str._str)
    kind = torch.distributions.Distribution
    for name in ("__init__", "_validate_sample"):
        setattr(kind, name, _checked(getattr(kind, name)))


def _checked(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        if torch.compiler.is_compiling():
            return function(*args, **kwargs)
        with card.Answers(n_true=100):
            return function(*args, **kwargs)

    return call


def _never_drawn(module):
    """A token that nobody knows is not the one that ends the text: it runs to its full length."""
    for name in ("EosTokenCriteria", "StopStringCriteria"):
        kind = getattr(module, name, None)
        if kind is not None:
            kind.__call__ = _goes_on(kind.__call__)


def _search_on(module):
    """Beams go on while unknown scores, which are taken to be equal, leave something to find: to the full length."""
    name = "_beam_search_has_unfinished_sequences"
    has_more = getattr(module.GenerationMixin, name, None)
    if has_more is not None:
        setattr(module.GenerationMixin, name, staticmethod(_as_computed(has_more)))


def _as_computed(function):
    """Its result counts as known, whatever went into it."""
    from . import shadow

    @functools.wraps(function)
    def call(*args, **kwargs):
        result = function(*args, **kwargs)
        known = shadow.shadows().find(result) if isinstance(result, torch.Tensor) and result.is_cuda else None
        if known is not None:
            known.is_assumed = False
        return result

    return call


def _goes_on(function):
    from . import shadow

    @functools.wraps(function)
    def call(*args, **kwargs):
        is_done = function(*args, **kwargs)
        if torch.compiler.is_compiling() or not isinstance(is_done, torch.Tensor) or not is_done.is_cuda:
            return is_done
        known = shadow.shadows().find(is_done)
        if known is None or known.is_assumed:
            card.inexact(
                "generate",
                "the tokens are drawn on the card: generation runs to its full length, and may end "
                "earlier there",
            )
            shadow.shadows().keep(is_done, torch.zeros(is_done.shape, dtype=is_done.dtype), False)
            shadow.shadows().find(is_done).is_assumed = False
        return is_done

    return call
