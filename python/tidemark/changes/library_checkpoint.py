"""The checkpointing that a library's model brings."""
from . import lines, models, observe, paste
from .row import Row, all_models, is_sharded, unsuitable_models

_CALLS = {
    "gradient_checkpointing_enable": "gradient_checkpointing_enable(gradient_checkpointing_kwargs={\"use_reentrant\": False})",
    "enable_gradient_checkpointing": "enable_gradient_checkpointing()",
    "set_grad_checkpointing": "set_grad_checkpointing(True)",
}


def _found(root):
    """The path of the outermost module with such a method, and the method; None without one."""
    for path, module in root.named_modules():
        for method in _CALLS:
            is_supported = getattr(module, "supports_gradient_checkpointing", getattr(module, "_supports_gradient_checkpointing", True))
            if callable(getattr(type(module), method, None)) and is_supported:
                return path, method
    return None


def refusal(now, applied):
    reason = unsuitable_models(now, applied)
    if reason is None and is_sharded(now):
        reason = "the model is sharded by fully_shard: checkpoint it before"
    if reason is None and not any(_found(root) for root in all_models(now)):
        reason = "the model has no method of its own for it"
    if reason is None and now.seen.checkpoints and not applied:
        reason = f"the program checkpoints already ({now.seen.checkpoints})"
    return reason


def can(now):
    return {"": " ".join(sorted({_found(root)[1] for root in all_models(now) if _found(root)}))}


def apply(now, made, roots, argument):
    for root in roots:
        found = _found(root)
        if found is not None:
            path, method = found
            inner = "".join(f".{part}" if not part.isdigit() else f"[{part}]" for part in path.split(".")) if path else ""
            code = "{model}" + inner + "." + _CALLS[method]
            lines.run(code, observe.original, model=root)
            what = f"{method} of {type(root.get_submodule(path)).__name__}"
            paste.done_to_model(now, made, root, "checkpoint_library", "", what, code)


ROW = Row("checkpoint_library", refusal, can, apply)
