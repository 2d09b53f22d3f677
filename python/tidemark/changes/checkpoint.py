"""Checkpointing of the instances of a class: their forward pass runs again in the backward pass."""
import functools

from . import lines, models, observe, paste, session
from .row import Row, all_models, is_sharded, unsuitable_models

_IMPORTS = "import functools\nfrom torch.utils.checkpoint import checkpoint"
_BLOCKS = """blocks = [m for m in {model}.modules() if type(m).__name__ == "CLASS"]"""
_OUTERMOST = """
inner = {m for block in blocks for m in block.modules() if m is not block}
blocks = [block for block in blocks if block not in inner]"""
_WRAP = """
for m in blocks:
    m.forward = functools.partial(checkpoint, m.forward, use_reentrant=FalseMORE)"""
_SELECTIVE = """
aten = torch.ops.aten
kept = [aten.mm.default, aten.addmm.default, aten.bmm.default, aten.convolution.default,
        aten._scaled_dot_product_flash_attention.default, aten._scaled_dot_product_efficient_attention.default,
        aten._scaled_dot_product_cudnn_attention.default]
keep = functools.partial(create_selective_checkpoint_contexts, kept)"""
_NAMES = {"checkpoint": "modules", "checkpoint_half": "modules, every second,", "checkpoint_selective": "modules, selectively,"}


def text(root, name, kind):
    selective = name == "checkpoint_selective"
    imports = _IMPORTS + (", create_selective_checkpoint_contexts" if selective else "")
    blocks = _BLOCKS.replace("CLASS", kind) + (_OUTERMOST if models.is_nested(root, kind) else "")
    wrap = _WRAP.replace("MORE", ", context_fn=keep" if selective else "")
    if name == "checkpoint_half":
        wrap = wrap.replace("in blocks:", "in blocks[::2]:")
    return f"{imports}\n{blocks}{_SELECTIVE if selective else ''}{wrap}"


def refusal(now, applied):
    reason = unsuitable_models(now, applied)
    if reason is None and is_sharded(now):
        reason = "the model is sharded by fully_shard: checkpoint it before"
    if reason is None and now.wants("checkpoint_library") is not None:
        reason = "checkpoint_library is applied"
    if reason is None and now.seen.checkpoints:
        reason = f"the program checkpoints already ({now.seen.checkpoints})"
    if reason is None and any(_writes_cache(root) for root in all_models(now)):
        reason = "its blocks write to a cache of keys and values: checkpoint_library, or use_cache=False"
    return reason


def _writes_cache(root):
    """Whether blocks of a model of transformers write to a cache also in training: run twice, they would write
    twice."""
    return any(getattr(getattr(m, "config", None), "use_cache", False) and hasattr(m, "_supports_sdpa") for m in root.modules())


def _selective_refusal(now, applied):
    import torch.utils.checkpoint as of_torch

    if not hasattr(of_torch, "create_selective_checkpoint_contexts"):
        return "this PyTorch has no create_selective_checkpoint_contexts"
    return refusal(now, applied)


def path_of(root, module):
    """The path of a module as in the scopes of the snapshot."""
    recording = session.recorder()
    live = getattr(recording, "live", None)
    path = live.path_of(module) if live is not None else None
    return path or models.module_path(root, module)


def can(now):
    found = {}
    for root in all_models(now):
        for kind in models.repeated(root):
            blocks = models.instances(root, kind)
            found[kind] = (found.get(kind, "") + " " + " ".join(path_of(root, block) for block in blocks)).strip()
    return found


def _row(name, why=refusal):
    def apply(now, made, roots, kind):
        for root in roots:
            blocks = models.instances(root, kind)
            if any(isinstance(vars(block).get("forward"), functools.partial) for block in blocks):
                now.refuse(name, f"another change checkpoints {kind}")
            elif blocks:
                code = text(root, name, kind)
                lines.run(code, observe.original, model=root)
                n = len(blocks[::2]) if name == "checkpoint_half" else len(blocks)
                paste.done_to_model(now, made, root, name, kind, f"{n} {_NAMES[name]} {kind}", code)

    return Row(name, why, can, apply, takes="class")


def changes_numbers(torch, root, kind):
    """Whether running statistics are updated twice."""
    return any(models.has_batch_norm(torch, block) for block in models.instances(root, kind))


ALL = _row("checkpoint")
HALF = _row("checkpoint_half")
SELECTIVE = _row("checkpoint_selective", _selective_refusal)
