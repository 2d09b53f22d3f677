"""Lower precision: autocast, and parameters in bf16."""
from . import lines, observe, paste
from .offload import calls_forward
from .row import Row, all_models, first_model, holders, unsuitable_models

_AUTOCAST = """{model}.forward = torch.autocast("cuda", dtype=torch.bfloat16)({model}.forward)"""
_BF16 = '''from torch.utils._pytree import tree_map

def to_bf16(module, args, kwargs):
    return tree_map(lambda x: x.bfloat16() if torch.is_tensor(x) and x.is_floating_point() else x, (args, kwargs))

{model}.to(torch.bfloat16)
{model}.register_forward_pre_hook(to_bf16, with_kwargs=True)'''


def _refusal(now, applied):
    import torch

    reason = unsuitable_models(now, applied) or calls_forward(now)
    if reason is None and now.seen.scales:
        reason = f"the program scales its loss for fp16 ({now.seen.scales})"
    if reason is None and not applied and not _has_float32(torch, now):
        reason = "the model has no parameters in fp32"
    if reason is None and torch.cuda.is_initialized() and torch.cuda.get_device_capability() < (8, 0):
        reason = "the card computes no products in bf16"
    return reason


def _has_float32(torch, now):
    return any(p.dtype == torch.float32 for root in all_models(now) for p in root.parameters())


def autocast_refusal(now, applied):
    reason = _refusal(now, applied)
    if reason is None and now.seen.autocasts and not applied:
        reason = f"the program has autocast on already ({now.seen.autocasts})"
    if reason is None and now.wants("bf16") is not None and not applied:
        reason = "the parameters are in bf16"
    return reason


def can(now):
    return {"": first_model(now)}


def _apply(name, text, moves, what):
    def apply(now, made, roots, argument):
        for root in roots:
            lines.run(text, observe.original, model=root)
            paste.done_to_model(now, made, root, name, "", what.format(type(root).__name__), text, moves)

    return apply


AUTOCAST = Row("autocast", autocast_refusal, can, _apply("autocast", _AUTOCAST, True, "the forward pass of {}"))
BF16 = Row("bf16", _refusal, can, _apply("bf16", _BF16, False, "parameters and buffers of {}"))
