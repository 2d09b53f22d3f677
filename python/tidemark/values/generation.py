"""A text that the card would write runs to its full length.

Which token ends it is drawn on the card. A drawn one would end it at random, by chance sooner than the program plans for,
and memory grows with the text. So `generate` of transformers goes on until its length is reached, and beams go on while
they may find something better; the answer says so.
"""
import torch

from .. import card
from ..imports import when_imported
from .engine import Quiet, is_off

_GENERATION = "transformers.generation.utils"
_CRITERIA = "transformers.generation.stopping_criteria"
_BEAMS = "_beam_search_has_unfinished_sequences"


def watch(engine):
    def change_criteria(module):
        for name in ("EosTokenCriteria", "StopStringCriteria"):
            kind = getattr(module, name, None)
            if kind is not None:
                kind.__call__ = _answered(engine, kind.__call__, False)

    def change_beams(module):
        has_more = getattr(module.GenerationMixin, _BEAMS, None)
        if has_more is not None:
            setattr(module.GenerationMixin, _BEAMS, staticmethod(_answered(engine, has_more, True)))

    when_imported({_CRITERIA: change_criteria, _GENERATION: change_beams})


def _answered(engine, function, answer):
    """The function's result where something was drawn: the answer."""

    def call(*args, **kwargs):
        made = function(*args, **kwargs)
        if is_off() or torch.compiler.is_compiling() or not isinstance(made, torch.Tensor) or not made.is_cuda:
            return made
        with Quiet():
            values, is_assumed = engine.read(made)
            if is_assumed or values is None:
                engine.put(made, torch.full(made.shape, answer, dtype=made.dtype, device="cpu"))
        if is_assumed:
            card.inexact("generate", "the tokens are drawn on the card: generation runs to its full length, and may end earlier there")
        return made

    return call
