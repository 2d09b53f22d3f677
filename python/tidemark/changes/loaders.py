"""Smaller batches of a DataLoader, and an optimizer that steps after several of them."""
import weakref

from .. import imports
from . import lines, observe, paste, places, models
from .row import Row, all_models, holders, optimizer_reason, unsuitable_models

_LOADER = "{loader}.batch_sampler.batch_size //= NUMBER  # the same as batch_size=SMALL where the DataLoader is made"
_OPTIMIZER = '''import types

def accumulate(optimizer, n=NUMBER):
    step, zero_grad, calls = optimizer.step, optimizer.zero_grad, 0

    def step_at_nth(self, *args, **kwargs):
        nonlocal calls
        calls += 1
        if calls % n == 0:
            grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
            torch._foreach_div_(grads, n)  # the mean over all batches of a step
            step()

    def zero_at_nth(*args, **kwargs):
        if calls % n == 0:
            zero_grad(*args, **kwargs)

    optimizer.step, optimizer.zero_grad = types.MethodType(step_at_nth, optimizer), zero_at_nth

accumulate({optimizer})'''


class Loader:
    """A DataLoader that the program makes."""

    def __init__(self, loader, batch, place):
        self.batch, self.place = batch, place
        self.of = weakref.ref(loader)
        self.is_read = False  # before the first step
        self.rest = _rest(loader, batch)  # samples after the last full batch; None: unknown
        self.drops = getattr(loader, "drop_last", False)

    def why_not(self, n):
        """Why n smaller batches would not always make up one of the program's; None if they do."""
        if self.rest is None:
            return f"the number of samples of the DataLoader is unknown ({self.place or '?'})"
        if self.rest and not (self.drops and self.rest < self.batch // n):
            return f"the last batch of the DataLoader is incomplete ({self.place or '?'})"
        return None


def _rest(loader, batch):
    try:
        return len(loader.sampler) % batch if batch else 0
    except (TypeError, NotImplementedError):
        return None


def watch(now):
    imports.when_imported({"torch.utils.data.dataloader": lambda module: _watch_loaders(now, module.DataLoader)})


def _watch_loaders(now, kind):
    def make(base):
        def init(self, *arguments, **named):
            base(self, *arguments, **named)
            frame = places.own_frame()
            batch = getattr(self, "batch_size", None)
            now.seen.loaders.append(Loader(self, batch, places.of_frame(frame)))
            wanted = now.wants("micro_batch")
            if wanted is not None:
                _make_smaller(now, self, batch, int(wanted), frame)

        return init

    def reads(base):
        def iterate(self):
            if now.seen.n_steps == 0:
                for loader in now.seen.loaders:
                    loader.is_read = loader.is_read or loader.of() is self
            return base(self)

        return iterate

    observe.replace(kind, "__init__", make)
    observe.replace(kind, "__iter__", reads)


def _make_smaller(now, loader, batch, n, frame):
    if batch is None or batch % n != 0 or not hasattr(loader.batch_sampler, "batch_size"):
        if not any(key.startswith("micro_batch") for key in now.did):
            now.refuse("micro_batch", _batch_reason(batch, n))
        return
    text = _LOADER.replace("NUMBER", str(n)).replace("SMALL", str(batch // n))
    lines.run(text, observe.original, loader=loader)
    place = places.of_frame(frame)
    variable = places.assigned(place) if place is not None else None
    after = places.after(place) if place is not None else None
    now.note_done("micro_batch", str(n), f"batches of {batch // n} instead of {batch}", lines.filled(text, loader=variable), after or "")


def _batch_reason(batch, n):
    return "the DataLoader gets its batches from a sampler" if batch is None else f"a batch of {batch} has no {n} equal parts"


def _incomplete(now):
    """Why batches that are read before the first step cannot be made smaller; None if they can."""
    n = int(now.wants("micro_batch") or 2)
    return next((why for why in (loader.why_not(n) for loader in now.seen.loaders if loader.is_read) if why), None)


def refusal(now, applied):
    import torch

    seen = now.seen
    reason = optimizer_reason(now)
    who = " and ".join(sorted(holders(now)))
    rules = [
        (bool(who), f"{who} makes the steps: its own option for accumulation"),
        (not seen.loaders and seen.n_steps > 0, f"{seen.forward_place or 'the program'} makes its batches itself"),
        (seen.loaders and not any(loader.batch and loader.batch % 2 == 0 for loader in seen.loaders) and not applied,
         "no DataLoader has an even batch"),
        (len(seen.optimizers) > 1, f"the program has {len(seen.optimizers)} optimizers"),
        (seen.clips, f"the program clips gradients ({seen.clips})"),
        (seen.scales, f"a GradScaler unscales gradients at each batch ({seen.scales})"),
        (seen.closes, f"the optimizer calls a closure ({seen.closes})"),
        (seen.schedules, f"a scheduler steps with each batch ({seen.schedules})"),
        (seen.clears_by_model, f"the program clears gradients by its model ({seen.clears_by_model})"),
        (seen.sums, f"a term of the loss is a sum ({seen.sums})"),
        (_incomplete(now), _incomplete(now)),
        (any(models.has_batch_norm(torch, root) for root in all_models(now)), "BatchNorm would see smaller batches"),
        (now.wants("optimizer_in_backward") is not None, "the optimizer steps in the backward pass"),
        (not applied and seen.n_steps > 0 and seen.n_backwards > seen.n_steps + 1, "the program accumulates gradients already"),
    ]
    return reason or next((why for holds, why in rules if holds), None)


def can(now):
    even = [loader for loader in now.seen.loaders if loader.batch and loader.batch % 2 == 0]
    return {"2": f"{even[0].batch} {even[0].place or '?'}"} if even else {}


def apply(now, made, roots, argument):
    text = _OPTIMIZER.replace("NUMBER", argument)
    lines.run(text, observe.original, optimizer=made.optimizer())
    paste.done_to_optimizer(now, made, "micro_batch", argument, f"{made.kind} steps after {argument}", text)


ROW = Row("micro_batch", refusal, can, apply, takes="number", is_after=True)
