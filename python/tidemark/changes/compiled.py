"""torch.compile of the model, in place."""
from . import lines, observe, paste
from .offload import calls_forward
from .row import Row, first_model, unsuitable_models

_TEXT = "{model}.compile()"


def refusal(now, applied):
    import torch

    if not hasattr(torch.nn.Module, "compile"):
        return "this PyTorch has no Module.compile"
    if now.seen.compiles and not applied:
        return f"the model is compiled already ({now.seen.compiles})"
    return unsuitable_models(now, applied) or calls_forward(now)


def can(now):
    return {"": first_model(now)}


def apply(now, made, roots, argument):
    for root in roots:
        before = now.seen.compiles
        lines.run(_TEXT, observe.original, model=root)
        now.seen.compiles = before
        paste.done_to_model(now, made, root, "compile", "", type(root).__name__, _TEXT, moves=False)


ROW = Row("compile", refusal, can, apply)
