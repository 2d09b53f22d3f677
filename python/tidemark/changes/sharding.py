"""Fully sharded data parallel, applied to a program that does not spread its model; and what DistributedDataParallel is given."""
import os

from . import bucket_view, checkpoint, lines, models, observe, paste, places
from .row import Row, all_models, holders, is_sharded, parallel_kind, unsuitable_models

_TEXT = '''import os
from torch.distributed.fsdp import fully_shard

if not torch.distributed.is_initialized():
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    torch.distributed.init_process_group("nccl")
for m in list({model}.modules()):
    if type(m).__name__ == "CLASS":
        fully_shard(m)
fully_shard({model})'''


def refusal(now, applied):
    import torch

    reason = unsuitable_models(now, applied)
    roots = all_models(now)
    has_group = torch.distributed.is_available() and torch.distributed.is_initialized()
    rules = [
        (int(os.environ.get("WORLD_SIZE", "1")) < 2, "it needs ranks (--world)"),
        (not applied and (has_group or parallel_kind(now) or is_sharded(now)), "the program spreads its model itself"),
        (bool(holders(now)), f"{' and '.join(sorted(holders(now)))} spreads the model"),
        (len(now.seen.optimizers) > 1, f"the program has {len(now.seen.optimizers)} optimizers"),
        (len(roots) > 1, "the optimizer has the parameters of several models"),
    ]
    return reason or next((why for holds, why in rules if holds), None)


def _is_tied(root, kind):
    """Whether a parameter belongs to two blocks, or to a block and to the rest of the model."""
    blocks = models.instances(root, kind)
    inside = {id(module) for block in blocks for module in block.modules()}
    owned = {id(p) for block in blocks for p in block.parameters()}
    rest = {id(p) for m in root.modules() if id(m) not in inside for p in m._parameters.values() if p is not None}
    return models.shared_parameters(blocks) or bool(owned & rest)


def can(now):
    """The class whose instances own most parameters; of those that own the same, the outermost."""
    root = all_models(now)[0]
    kinds = [kind for kind in models.repeated(root) if not models.is_nested(root, kind) and not _is_tied(root, kind)]
    blocks = {kind: models.instances(root, kind) for kind in kinds}
    best = max(kinds, key=lambda kind: (sum(p.numel() for block in blocks[kind] for p in block.parameters()), -len(blocks[kind])), default=None)
    return {best: " ".join(checkpoint.path_of(root, block) for block in blocks[best])} if best else {}


def apply(now, made, roots, kind):
    root = roots[0] if roots else None
    if root is None or not models.instances(root, kind):
        now.refuse("fully_shard", f"no module of the class {kind} is trained")
    elif _is_tied(root, kind):
        now.refuse("fully_shard", f"modules {kind} share parameters")
    else:
        n = len(models.instances(root, kind))
        text = _TEXT.replace("CLASS", kind)
        shard(root, made, text)
        paste.done_to_model(now, made, root, "fully_shard", kind, f"{n} modules {kind}, and {type(root).__name__}", text, moves=False)


def shard(root, made, text):
    """Shards the model while nothing holds a parameter, and puts the new parameters where the old ones were."""
    names = {id(p): name for name, p in root.named_parameters(remove_duplicate=False)}
    lists = [group["params"] for group in made.parameters if isinstance(group, dict)] or [made.parameters]
    kept = [[_name(p, names) for p in params] for params in lists]
    for params in lists:
        params.clear()
    lines.run(text, observe.original, model=root)
    new = dict(root.named_parameters(remove_duplicate=False))
    for params, items in zip(lists, kept):
        params.extend(_again(item, new) for item in items)


def _name(item, names):
    """What takes the place of a parameter, or of a pair of name and parameter, meanwhile."""
    if isinstance(item, tuple):
        return item[0], names.get(id(item[1]), item[1])
    return names.get(id(item), item)


def _again(item, new):
    if isinstance(item, tuple):
        return item[0], new[item[1]] if isinstance(item[1], str) else item[1]
    return new[item] if isinstance(item, str) else item


def watch_ddp(torch, now):
    def make(base):
        def init(self, *arguments, **named):
            now.seen.reduces.append((places.of_frame(places.own_frame()), bool(named.get("gradient_as_bucket_view"))))
            if now.wants("bucket_view") is None or named.get("gradient_as_bucket_view"):
                return base(self, *arguments, **named)
            _with_views(now, kind, base, self, arguments, named)

        return init

    kind = torch.nn.parallel.DistributedDataParallel
    observe.replace(kind, "__init__", make)


def _with_views(now, kind, base, self, arguments, named):
    """Executes the printed lines, which replace the constructor, and calls theirs."""
    present = kind.__init__
    kind.__init__ = base
    try:
        lines.run(bucket_view.TEXT, observe.original)
        kind.__init__(self, *arguments, **named)
    finally:
        kind.__init__ = present
    place = now.seen.reduces[-1][0]
    now.note_done("bucket_view", "", "gradients of DistributedDataParallel", bucket_view.TEXT, places.before(place) if place else "")


ROW = Row("fully_shard", refusal, can, apply, takes="class")
