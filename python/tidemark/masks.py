"""Attention masks of transformers, which decide by values whether a mask is needed at all.

A model asks whether its padding mask has any padding, and whether its batch is packed of several
sequences. By that it takes an attention with a mask or one without, and their memory differs. The
functions that ask are regions in which shadows.py sees every operator.

Position ids that a model makes itself count up from 0, by a kernel; so do those that nobody knows.
"""
import functools
import sys
import types

import torch

from . import card
from .imports import when_imported

_MASKS = "transformers.masking_utils"
_OLDER_MASKS = "transformers.modeling_attn_mask_utils"  # below transformers 4.53


def watch(within):
    """within(function): the function as a region; None where all operators are seen anyway."""

    def change(module):
        _wrap(module, "find_packed_sequence_indices", _with_positions)
        for name in list(vars(module)) if within is not None else ():
            if name.startswith(("create_", "_prepare_4d_")):
                _wrap(module, name, within)

    when_imported({_MASKS: change, _OLDER_MASKS: change})


def _wrap(module, name, change):
    """Changes a function wherever a module of the package has it."""
    function = getattr(module, name, None)
    if not isinstance(function, types.FunctionType):
        return
    changed = change(function)
    for other, holder in list(sys.modules.items()):
        if other.split(".")[0] == "transformers" and vars(holder).get(name) is function:
            setattr(holder, name, changed)


def _with_positions(function):
    from . import shadow

    @functools.wraps(function)
    def call(position_ids, *args, **kwargs):
        is_plain = isinstance(position_ids, torch.Tensor) and position_ids.is_cuda and position_ids.dim() == 2
        if is_plain and not torch.compiler.is_compiling() and shadow.is_small(position_ids):
            _know(shadow.shadows(), position_ids)
        return function(position_ids, *args, **kwargs)

    return call


def _know(shadows, position_ids):
    known = shadows.find(position_ids)
    if known is not None and not known.is_assumed:
        return
    if _is_given_by_program():
        card.inexact(
            "position_ids",
            "the position ids are computed on the card: the sequences are taken as not packed",
        )
    row = position_ids[:1] if position_ids.stride(0) == 0 else position_ids
    values = torch.arange(row.shape[1], dtype=row.dtype, device="cpu").expand(row.shape).contiguous()
    shadows.keep(row, values, False)
    shadows.find(row).is_assumed = False


def _is_given_by_program():
    """Whether the module that wants a mask was called with position ids."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "_call_impl":
        frame = frame.f_back
    return frame is not None and frame.f_locals.get("kwargs", {}).get("position_ids") is not None
