"""Gradients that are freed between steps instead of filled with zeros."""
from . import lines, observe, paste
from .row import Row, first_optimizer, optimizer_reason

_TEXT = """{optimizer}.zero_grad = lambda *args, zero_grad={optimizer}.zero_grad, **kwargs: zero_grad(set_to_none=True)"""


def refusal(now, applied):
    reason = optimizer_reason(now)
    if reason is None and not applied and now.seen.n_steps > 0 and not now.seen.keeps_zeros:
        reason = "gradients are set to None already"
    return reason


def can(now):
    return {"": f"{first_optimizer(now)}, zero_grad {now.seen.keeps_zeros}"} if now.seen.keeps_zeros else {}


def apply(now, made, roots, argument):
    lines.run(_TEXT, observe.original, optimizer=made.optimizer())
    paste.done_to_optimizer(now, made, "set_to_none", "", f"gradients of {made.kind}", _TEXT)


ROW = Row("set_to_none", refusal, can, apply, is_after=True)
