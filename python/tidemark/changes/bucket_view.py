"""Gradients of DistributedDataParallel as views of its buckets."""
from .row import Row

TEXT = '''import functools
from torch.nn.parallel import DistributedDataParallel

DistributedDataParallel.__init__ = functools.partialmethod(  # the same as the option where the model is wrapped
    DistributedDataParallel.__init__, gradient_as_bucket_view=True)'''


def refusal(now, applied):
    if not now.seen.reduces:
        return "no model is wrapped by DistributedDataParallel" if not applied else None
    if not applied and all(has_views for _, has_views in now.seen.reduces):
        return "gradients are views of the buckets already"
    return None


def can(now):
    return {"": " ".join(str(place) for place, _ in now.seen.reduces[:1]) or "?"}


ROW = Row("bucket_view", refusal, can)
