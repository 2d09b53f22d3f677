"""Names the weights of a served model as soon as they are loaded.

vLLM replaces parameters after it has loaded them, as when it quantizes them, and its workers are killed at the end. Without this,
a worker that ends before its first request has no names.
"""
import functools

from ..imports import when_imported

MODULE = "vllm.model_executor.model_loader.base_loader"


def watch(look):
    """Changes vLLM's loader, now or when it is imported.

    look: a function of a module whose tensors are complete.
    """
    when_imported({MODULE: functools.partial(_change, look)})


def _change(look, module):
    loader = getattr(module, "BaseModelLoader", None)
    load = getattr(loader, "load_model", None)
    if load is None:
        return

    @functools.wraps(load)
    def load_model(*arguments, **named):
        model = load(*arguments, **named)
        look(model)
        return model

    loader.load_model = load_model
