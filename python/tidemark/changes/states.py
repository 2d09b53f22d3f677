"""Optimizers with smaller states in place of Adam and AdamW."""
import importlib.util
import inspect
import weakref

from . import lines, observe, paste
from .row import Row, first_optimizer, optimizer_reason

_GROUPS = """{optimizer} = KIND(
    [{key: group[key] for key in ("params", OPTIONS)} for group in {optimizer}.param_groups])"""
_ADAFACTOR = _GROUPS.replace("KIND", "torch.optim.Adafactor").replace("OPTIONS", '"lr", "weight_decay"')
_ADAMW8BIT = "import bitsandbytes\n" + _GROUPS.replace("KIND", "bitsandbytes.optim.AdamW8bit").replace(
    "OPTIONS", '"lr", "betas", "weight_decay"')
_TEXTS = {"adafactor": _ADAFACTOR, "adamw8bit": _ADAMW8BIT}


def _refusal(name):
    def refusal(now, applied):
        import torch

        reason = optimizer_reason(now)
        kinds = {made.kind for made in now.seen.optimizers}
        if reason is None and not applied and not kinds & {"Adam", "AdamW"}:
            reason = f"the optimizer is {' and '.join(sorted(kinds))}"
        if reason is None and name == "adafactor" and not hasattr(torch.optim, "Adafactor"):
            reason = "this PyTorch has no Adafactor"
        if reason is None and name == "adamw8bit" and importlib.util.find_spec("bitsandbytes") is None:
            reason = "bitsandbytes is not installed"
        if reason is None and any("DeepSpeed" in made.holders for made in now.seen.optimizers):
            reason = "DeepSpeed owns the optimizer"
        return reason

    return refusal


def can(now):
    return {"": first_optimizer(now)}


def watch(torch, now):
    """A call of Adam or AdamW makes the other optimizer if it is asked for: Python then does not call __init__."""
    for kind in (torch.optim.Adam, torch.optim.AdamW):
        maker = _maker(now, kind)
        maker.__signature__ = inspect.signature(kind.__init__)  # programs look for options such as fused
        kind.__new__ = staticmethod(maker)


def _maker(now, kind):
    def new(cls, *arguments, **named):
        made = object.__new__(cls)
        name = next((name for name in _TEXTS if now.wants(name) is not None), None)
        if cls is not kind or name is None or now.is_inner or not (arguments or named):
            return made
        from . import made as making, table

        known = making.made_by(now, kind, made, arguments, named)
        reason = _refusal(name)(now, False)
        if reason is not None:
            now.refuse(name, reason)
            now.seen.optimizers.pop()  # it is made again, by its own constructor
            return object.__new__(cls)
        now.is_inner = True
        try:
            other = lines.run(_TEXTS[name], observe.original, optimizer=made)["optimizer"]
        finally:
            now.is_inner = False
        known.optimizer = weakref.ref(other)
        table.apply(now, known, known.new, is_made=True)
        what = f"{type(other).__name__} in place of {kind.__name__}"
        paste.done_to_optimizer(now, known, name, "", what, _TEXTS[name])
        return other

    return new


def apply(now, made, roots, argument):
    """Nothing is left to do: _maker() has made the other optimizer, unless the change was refused."""


ADAFACTOR = Row("adafactor", _refusal("adafactor"), can, apply)
ADAMW8BIT = Row("adamw8bit", _refusal("adamw8bit"), can, apply)
