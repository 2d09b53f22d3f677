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
_VLLM = "vllm.v1.worker.gpu.sample.sampler"
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
            setattr(module.GenerationMixin, _BEAMS, staticmethod(_answered(engine, has_more, True, until=_have_ended)))

    def change_vllm(module):
        kind = getattr(module, "Sampler", None)
        if kind is not None:
            kind.__call__ = _counted(engine, kind.__call__)

    when_imported({_CRITERIA: change_criteria, _GENERATION: change_beams, _VLLM: change_vllm})


def _counted(engine, sample):
    """vLLM's sampler, whose kernel counts the tokens that each request got: one, and none before its prompt is complete. The host
    has the lengths that decide it."""

    def call(sampler, logits, input_batch, *args, **kwargs):
        made = sample(sampler, logits, input_batch, *args, **kwargs)
        if not is_off() and not torch.compiler.is_compiling():
            with Quiet():
                counts = _n_sampled(input_batch)
                if counts is not None and made.num_sampled.is_cuda and made.num_sampled.shape == counts.shape:
                    engine.put(made.num_sampled, counts.to(made.num_sampled.dtype))
                    engine.put(made.num_rejected, torch.zeros(counts.shape, dtype=made.num_rejected.dtype, device="cpu"))
        return made

    return call


def _n_sampled(input_batch):
    """1 for each request of the batch that has its whole prompt, else 0; None if this version has other lengths."""
    lengths, prompts = getattr(input_batch, "seq_lens_cpu_upper_bound", None), getattr(input_batch, "prefill_len_np", None)
    if lengths is None or prompts is None:
        return None
    n = len(prompts)
    return (lengths[:n] >= torch.from_numpy(prompts).to(lengths.dtype)).to(torch.int64)


def _have_ended(engine, is_better_possible, is_complete, has_ended, *rest):
    """Whether every beam has reached its longest length, which no drawn token decides."""
    values, is_assumed = engine.read(has_ended)
    return values is not None and not is_assumed and bool(values.all())


def _answered(engine, function, answer, until=None):
    """The function's result where something was drawn: the answer, or its opposite where `until` is true of its arguments."""

    def call(*args, **kwargs):
        made = function(*args, **kwargs)
        if is_off() or torch.compiler.is_compiling() or not isinstance(made, torch.Tensor) or not made.is_cuda:
            return made
        with Quiet():
            values, is_assumed = engine.read(made)
            if is_assumed or values is None:
                is_over = until is not None and until(engine, *args, **kwargs)
                engine.put(made, torch.full(made.shape, answer != is_over, dtype=made.dtype, device="cpu"))
        if is_assumed:
            card.inexact("generate", "the tokens are drawn on the card: generation runs to its full length, and may end earlier there")
        return made

    return call
