"""Offload of activations: what autograd saves in a forward pass goes to pinned memory of the host."""
from . import lines, models, observe, paste
from .row import Row, all_models, first_model, holders, unsuitable_models

TEXT = '''import functools

def with_offload(model):
    forward = model.forward

    def pack(t):
        if not t.is_cuda or t.numel() * t.element_size() < 2**20 or t.untyped_storage().data_ptr() in pack.kept:
            return t
        host = torch.empty(t.size(), dtype=t.dtype, layout=t.layout, pin_memory=True)
        return t.device, host.copy_(t, non_blocking=True)

    def unpack(saved):
        return saved[1].to(saved[0], non_blocking=True) if isinstance(saved, tuple) else saved

    @functools.wraps(forward)
    def offloaded(*args, **kwargs):
        pack.kept = {p.untyped_storage().data_ptr() for p in model.parameters()}
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            return forward(*args, **kwargs)

    return offloaded

{model}.forward = with_offload({model})'''


def calls_forward(now):
    """Why a replaced forward pass of the outermost module would not be called."""
    return "Lightning calls training_step, not forward" if "Lightning" in holders(now) else None


def refusal(now, applied):
    return unsuitable_models(now, applied) or calls_forward(now)


def can(now):
    return {"": first_model(now)}


def apply(now, made, roots, argument):
    for root in roots:
        lines.run(TEXT, observe.original, model=root)
        what = f"activations of {type(root).__name__} of 1 MiB and more"
        paste.done_to_model(now, made, root, "offload_activations", "", what, TEXT)


ROW = Row("offload_activations", refusal, can, apply)
