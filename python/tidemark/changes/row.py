"""A row of the table of changes, and reasons that several changes share."""
import sys

from . import models


class Row:
    def __init__(self, name, refusal, can, apply=None, takes=None, is_after=False):
        self.name, self.refusal, self.can, self.apply = name, refusal, can, apply
        self.takes, self.is_after = takes, is_after


def all_models(now):
    """The models of all optimizers, each once."""
    found = {}
    for made in now.seen.optimizers:
        found.update((id(root), root) for root in made.models())
    return list(found.values())


def holders(now):
    return set().union(*(made.holders for made in now.seen.optimizers)) if now.seen.optimizers else set()


def unknown_models(now):
    return optimizer_reason(now) or (None if all_models(now) else "no modules of an optimizer are known")


def unsuitable_models(now, applied):
    """Why the forward passes of modules cannot be replaced."""
    import torch

    kinds = set().union(set(), *(models.kinds(root) for root in all_models(now)))
    if unknown_models(now) is not None:
        return unknown_models(now)
    if now.seen.compiles and now.wants("compile") is None:
        return f"the model is compiled ({now.seen.compiles})"
    if now.seen.captures:
        return f"the program captures a CUDA graph ({now.seen.captures})"
    if "FullyShardedDataParallel" in kinds:
        return "the model is wrapped by FullyShardedDataParallel"
    if "DeepSpeed" in holders(now) or "DeepSpeedEngine" in kinds:
        return "DeepSpeed owns the model"
    if any(isinstance(module, torch.jit.ScriptModule) for root in all_models(now) for module in root.modules()):
        return "the model has TorchScript modules"
    return None


def is_sharded(now):
    """Whether the program shards a model by fully_shard itself."""
    kind = getattr(sys.modules.get("torch.distributed.fsdp"), "FSDPModule", None)
    return (kind is not None and not now.wants("fully_shard")
            and any(isinstance(module, kind) for root in all_models(now) for module in root.modules()))


def parallel_kind(now):
    """"DistributedDataParallel" or "DataParallel" if one wraps a model; "" otherwise."""
    kinds = [type(root).__name__ for root in all_models(now)]
    return next((kind for kind in kinds if kind in ("DistributedDataParallel", "DataParallel")), "")


def optimizer_reason(now):
    return None if now.seen.optimizers else "the program makes no optimizer of torch.optim"


def first_optimizer(now):
    return str(now.seen.optimizers[0])


def first_model(now):
    """The class of the first model, and its place."""
    root = all_models(now)[0]
    return f"{type(root).__name__} {models.place_of(now.seen, root) or '?'}"
