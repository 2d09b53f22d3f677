"""How an optimizer steps: in one fused kernel, or parameter by parameter."""
from . import lines, observe, paste
from .row import Row, first_optimizer, optimizer_reason

_FUSED = """for group in {optimizer}.param_groups:  # the same as fused=True where the optimizer is made
    group["fused"], group["foreach"] = True, False
{optimizer}._step_supports_amp_scaling = True"""
_NO_FOREACH = """for group in {optimizer}.param_groups:  # the same as foreach=False where the optimizer is made
    group.update({key: False for key in ("foreach", "fused") if key in group})"""


def _refusal(option):
    def refusal(now, applied):
        reason = optimizer_reason(now)
        if reason is not None:
            return reason
        swapped = now.wants("adafactor") is not None or now.wants("adamw8bit") is not None
        kinds = [made for made in now.seen.optimizers if option in made.defaults]
        if swapped:
            return "another optimizer takes its place"
        if not kinds:
            return f"{now.seen.optimizers[0].kind} has no option {option}"
        if option == "fused" and all(made.defaults.get("fused") for made in kinds):
            return "the optimizer is fused already"
        if option == "foreach" and all(made.defaults.get("fused") or made.defaults.get("foreach") is False for made in kinds):
            return "the optimizer does not step by foreach"
        if any(made.defaults.get("differentiable") for made in kinds):
            return "the optimizer is differentiable"
        return None

    return refusal


def can(now):
    return {"": first_optimizer(now)}


def _row(name, option, text, what):
    def apply(now, made, roots, argument):
        if option in made.defaults:
            lines.run(text, observe.original, optimizer=made.optimizer())
            paste.done_to_optimizer(now, made, name, "", what.format(made.kind), text)

    return Row(name, _refusal(option), can, apply, is_after=True)


FUSED = _row("fused", "fused", _FUSED, "{} steps in one kernel")
NO_FOREACH = _row("no_foreach", "foreach", _NO_FOREACH, "{} steps parameter by parameter")
